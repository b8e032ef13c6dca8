//! Outcomes for people.

use std::fmt::Write as _;

use super::job::Part;
use super::run::Row;
use super::tally::Tally;
use crate::score::quantile;

const HEAD: &str = "\
| agent | part | n | lost | doubled | merged | corrupted | false | denied | failed | early | dialogs answered | restless | first try | median s | p95 s | load |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
";
const GOALS: &str = "\
| agent | first try (goal > 95 %) | overall (goal 100 %) | confirmed (goal > 80 %) | context known (goal 100 %) | cold starts | kills | to idle, median s |
|---|---|---|---|---|---|---|---|
";

/// One line for a part.
pub fn line(row: &Row) -> String {
    let tally = &row.outcome.tally;
    let time = |q| seconds(quantile(&tally.seconds, q));
    format!(
        "| {} {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} |",
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
        share(tally.first_try, tally.sent),
        time(0.5),
        time(0.95),
        row.outcome.load,
    )
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.2}"))
}

fn share(part: usize, whole: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "they are few")]
    match whole {
        0 => "–".to_owned(),
        whole => format!("{:.1} %", (part as f64 / whole as f64 * 1000.0).floor() / 10.0),
    }
}

/// A race in a sentence.
pub fn race(row: &Row) -> Option<String> {
    let outcome = &row.outcome;
    let ours = quantile(&outcome.tally.seconds, 0.5)?;
    let theirs = quantile(&outcome.rival, 0.5)?;
    let mut text = format!(
        "{} {}: ostler send {ours:.3} s, tmux paste + 300 ms + Enter {theirs:.3} s (medians of {} and {}; tmux lost {}): {:.2} of it; load {:.1}.",
        row.agent,
        row.version,
        outcome.tally.seconds.len(),
        outcome.rival.len(),
        outcome.rival_lost,
        ours / theirs,
        outcome.load,
    );
    if let Some(bare) = quantile(&outcome.bare, 0.5) {
        let _ = write!(
            text,
            " A bare terminal that presses Enter after 5 ms without looking {bare:.3} s (median of {}; it lost {}): ostler {:.3} s over.",
            outcome.bare.len(),
            outcome.bare_lost,
            ours - bare
        );
    }
    if let (Some(cold), Some(own)) = (quantile(&outcome.cold, 0.5), quantile(&outcome.own_start, 0.5)) {
        let _ = write!(
            text,
            " Start to first message at the model {cold:.2} s; the agent by itself shows its prompt after {own:.2} s (medians of {}): {:.2} s over.",
            outcome.cold.len(),
            cold - own
        );
    }
    Some(text)
}

/// The table of all parts, and what went wrong.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(HEAD);
    for row in rows {
        let _ = writeln!(text, "{}", line(row));
    }
    let races: Vec<String> = rows.iter().filter_map(race).map(|race| format!("- {race}")).collect();
    if !races.is_empty() {
        let _ = write!(text, "\n{}\n", races.join("\n"));
    }
    text
}

/// The goals and how near they are, an agent a line.
pub fn goals(rows: &[Row]) -> String {
    let mut text = String::from(GOALS);
    let mut agents: Vec<(&str, &str)> =
        rows.iter().map(|row| (row.agent.as_str(), row.version.as_str())).collect();
    agents.dedup();
    for (agent, version) in agents {
        let own = || rows.iter().filter(|row| (row.agent.as_str(), row.version.as_str()) == (agent, version));
        let sum = |parts: &[Part]| {
            let mut sum = Tally::default();
            own().filter(|row| parts.contains(&row.part)).for_each(|row| sum.add(&row.outcome.tally));
            sum
        };
        // Through a kill, a key may have to be pressed again.
        let calm = sum(&[Part::Messages, Part::Cold, Part::Busy, Part::Dialog, Part::Ack, Part::Race]);
        let all = sum(&Part::ALL);
        let (cold, kills) = (sum(&[Part::Cold]), sum(&[Part::Kills]));
        let _ = writeln!(
            text,
            "| {agent} {version} | {} of {} | {} of {} | {} of {} | {} of {} | {} of {} | {} with {} messages | {} |",
            share(calm.first_try, calm.sent),
            calm.sent,
            share(all.arrived, all.sent),
            all.sent,
            share(all.acknowledged, all.asked),
            all.asked,
            share(all.visible, all.contexts),
            all.contexts,
            cold.arrived,
            cold.sent,
            kills.kills,
            kills.sent,
            seconds(quantile(&all.to_idle, 0.5)),
        );
    }
    text
}

/// The page for the repository.
pub fn page(rows: &[Row]) -> String {
    let mut seeds: Vec<String> = rows.iter().map(|row| row.seed.to_string()).collect();
    seeds.sort();
    seeds.dedup();
    let passed = rows.iter().filter(|row| row.passes()).count();
    format!(
        "{PAGE}\n## Goals\n\n{}\n## Parts\n\n{}\n{passed} of {} parts are without fault. Seeds: {}.\n",
        goals(rows),
        table(rows),
        rows.len(),
        seeds.join(", "),
    )
}

const PAGE: &str = "# Delivery

What `ostler send` does with the real agent programs, offline, against a scripted model that logs what it is told.
conformance/README.md says what is tried. Each part that is tried with `--write` takes its place here:

    cargo lab deliver --write                                  # messages, cold starts, busy, dialogs, confirmations, context, starts
    cargo lab deliver AGENT… --race --write                    # against a paste with tmux, and a bare terminal
    cargo lab deliver --part kills --write                     # the daemon is killed 50 times
    cargo lab deliver --part messages --messages 1000 --write  # a thousand messages an agent

*lost*: never reached the model. *false*: said to be submitted, and did not. *denied*: said to have failed, and did not.
*failed*: said so, or that it cannot be told. *early*: reached the model before the turn was over that it should have
waited for. *restless*: the agent was not seen to come to rest. *first try*: typed once, Enter pressed once. *overall*:
said to be submitted, and received once and whole. *confirmed*: the agent said that it has the message, of those where it
was asked to and its model obeys. *context known*: the model had what `ostler start --context` gave, once, when it read
the prompt. *to idle*: from the model's last byte to ostler's saying so. Times are from the start of the command to the
model's reading the request; in the part *cold*, from the start of the agent. *load* is that of the machine, which has 2
cores.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::job::Outcome;

    fn row(part: Part, tally: Tally) -> Row {
        let outcome = Outcome { tally, rival: vec![0.6], ..Outcome::default() };
        Row { agent: "a".into(), version: "1".into(), part, outcome, seed: 1, error: None }
    }

    #[test]
    fn a_row_per_part() {
        let tally = Tally { sent: 4, first_try: 3, seconds: vec![0.2, 0.4, 0.3], ..Tally::default() };
        let mut row = row(Part::Race, tally);
        row.outcome.bare = vec![0.25];
        let text = table(&[row]);
        assert!(
            text.contains("| a 1 | race | 4 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 75.0 % | 0.30 |"),
            "{text}"
        );
        assert!(text.contains("- a 1: ostler send 0.300 s") && text.contains("0.50 of it"), "{text}");
        assert!(text.contains("(median of 1; it lost 0): ostler 0.050 s over"), "{text}");
    }

    #[test]
    fn a_goal_is_never_rounded_up() {
        let messages = Tally { sent: 3000, first_try: 2999, arrived: 3000, ..Tally::default() };
        let context = Tally { sent: 2, arrived: 2, contexts: 2, visible: 1, ..Tally::default() };
        let text = goals(&[row(Part::Messages, messages), row(Part::Context, context)]);
        assert!(
            text.contains("| a 1 | 99.9 % of 3000 | 100.0 % of 3002 | – of 0 | 50.0 % of 2 | 0 of 0 |"),
            "{text}"
        );
    }
}
