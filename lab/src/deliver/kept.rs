//! The last outcome of every part, in a file: no run tries them all.

use std::path::Path;

use anyhow::{Context, Result};

use super::run::Row;

/// Puts these rows in the place of older ones of the same part and release; returns all there are.
pub fn merge(file: &Path, rows: &[Row]) -> Result<Vec<Row>> {
    let mut kept: Vec<Row> = match std::fs::read(file) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| format!("{} is broken", file.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", file.display())),
    };
    let same = |a: &Row, b: &Row| (&a.agent, &a.version, a.part) == (&b.agent, &b.version, b.part);
    kept.retain(|old| !rows.iter().any(|new| same(old, new)));
    kept.extend(rows.iter().map(brief));
    kept.sort_by(|a, b| (&a.agent, &a.version, a.part).cmp(&(&b.agent, &b.version, b.part)));
    let lines: Vec<String> = kept.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    std::fs::write(file, format!("[\n{}\n]\n", lines.join(",\n")))?;
    Ok(kept)
}

/// A row without what became of each message, and without more digits than mean something.
fn brief(row: &Row) -> Row {
    let mut row = row.clone();
    row.outcome.messages.clear();
    let outcome = &mut row.outcome;
    let times = [
        &mut outcome.tally.seconds,
        &mut outcome.tally.to_idle,
        &mut outcome.rival,
        &mut outcome.bare,
        &mut outcome.own_start,
        &mut outcome.cold,
    ];
    for time in times.into_iter().flatten() {
        *time = (*time * 1000.0).round() / 1000.0;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::job::{Outcome, Part};
    use crate::deliver::tally::Tally;

    fn row(version: &str, part: Part, sent: usize) -> Row {
        let tally = Tally { sent, seconds: vec![0.123_456], ..Tally::default() };
        let outcome = Outcome { tally, ..Outcome::default() };
        Row { agent: "a".into(), version: version.into(), part, outcome, seed: 1, error: None }
    }

    #[test]
    fn a_part_that_was_tried_again_takes_the_place_of_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kept.json");
        merge(&file, &[row("1", Part::Race, 1), row("1", Part::Messages, 2)]).unwrap();
        let kept = merge(&file, &[row("1", Part::Messages, 3), row("2", Part::Messages, 4)]).unwrap();
        let counts: Vec<usize> = kept.iter().map(|row| row.outcome.tally.sent).collect();
        assert_eq!(counts, [3, 1, 4]);
        assert_eq!(kept[1].outcome.tally.seconds, [0.123]);
        std::fs::write(&file, "not JSON").unwrap();
        assert!(merge(&file, &[]).is_err());
    }
}
