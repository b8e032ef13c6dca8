//! Outcomes for people.

use std::fmt::Write as _;

use super::run::Row;
use crate::score::quantile;

const HEAD: &str = "\
| agent | part | n | lost | doubled | merged | corrupted | false | denied | failed | early | dialogs answered | restless | first try | median s | p95 s |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// One line for a part.
pub fn line(row: &Row) -> String {
    let tally = &row.outcome.tally;
    let share = |part: usize| match tally.sent {
        0 => "–".to_owned(),
        #[expect(clippy::cast_precision_loss, reason = "they are few")]
        sent => format!("{:.0} %", part as f64 / sent as f64 * 100.0),
    };
    let time =
        |q| quantile(&tally.seconds, q).map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.2}"));
    format!(
        "| {} {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        row.agent,
        row.version,
        row.part.name(),
        tally.sent,
        tally.lost,
        tally.doubled,
        tally.merged,
        tally.corrupted,
        tally.falsely,
        tally.denied,
        tally.failed,
        tally.early,
        tally.answered,
        tally.restless,
        share(tally.first_try),
        time(0.5),
        time(0.95),
    )
}

/// A race in a sentence.
pub fn race(row: &Row) -> Option<String> {
    let ours = quantile(&row.outcome.tally.seconds, 0.5)?;
    let theirs = quantile(&row.outcome.rival, 0.5)?;
    Some(format!(
        "{} {}: ostler send {ours:.3} s, tmux paste + 300 ms + Enter {theirs:.3} s (medians of {} and {}; tmux lost {}): {:.2} of it",
        row.agent,
        row.version,
        row.outcome.tally.seconds.len(),
        row.outcome.rival.len(),
        row.outcome.rival_lost,
        ours / theirs
    ))
}

/// The table of all parts, and what went wrong.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(HEAD);
    for row in rows {
        let _ = writeln!(text, "{}", line(row));
    }
    let races: Vec<String> = rows.iter().filter_map(race).collect();
    if !races.is_empty() {
        let _ = write!(text, "\n{}\n", races.join("\n"));
    }
    text
}

/// The page for the repository.
pub fn page(rows: &[Row], seed: u64) -> String {
    let loads: Vec<f64> = rows.iter().map(|row| row.outcome.load).collect();
    let load = match (quantile(&loads, 0.0), quantile(&loads, 1.0)) {
        (Some(low), Some(high)) => format!("{low:.1} to {high:.1}"),
        _ => "unknown".to_owned(),
    };
    let passed = rows.iter().filter(|row| row.passes()).count();
    format!(
        "{PAGE}\n{}\n{passed} of {} parts are without fault. Seed {seed}; load of the machine {load}.\n",
        table(rows),
        rows.len()
    )
}

const PAGE: &str = "# Delivery

What `ostler send` does with the real agent programs, offline, against a scripted model. Written by
`cargo xtask deliver --write`; conformance/README.md says what is tried. *lost*: never reached the model. *false*: said
to be submitted, and did not. *denied*: said to have failed, and did not. *failed*: said so, or that it cannot be told.
*early*: reached the model before the turn was over that it should have waited for. *restless*: the agent was not seen to
come to rest. Times are from the start of the
command to the model's reading the request; in the part *cold*, from the start of the agent.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::job::{Outcome, Part};
    use crate::deliver::tally::Tally;

    #[test]
    fn a_row_per_part() {
        let tally = Tally { sent: 4, first_try: 3, seconds: vec![0.2, 0.4, 0.3], ..Tally::default() };
        let outcome = Outcome { tally, rival: vec![0.6], ..Outcome::default() };
        let row = Row { agent: "a".into(), version: "1".into(), part: Part::Race, outcome, error: None };
        let text = table(&[row]);
        assert!(
            text.contains("| a 1 | race | 4 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 75 % | 0.30 |"),
            "{text}"
        );
        assert!(text.contains("a 1: ostler send 0.300 s") && text.ends_with("0.50 of it\n"), "{text}");
    }
}
