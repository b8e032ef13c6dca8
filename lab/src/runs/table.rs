//! Outcomes for people.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::play::Row;

/// One line for a scene.
pub fn line(row: &Row) -> String {
    let verdict = match (row.passes(), row.skipped) {
        (true, _) => "right",
        (false, true) => "not played",
        (false, false) => "wrong",
    };
    let switch = row.outcome.switch.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.1}"));
    format!("| {} | {} | {verdict} | {:.0} | {switch} |", row.scene, row.shows, row.outcome.seconds)
}

/// The table of all scenes.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| scene | what it shows | verdict | seconds | to the next agent |\n|---|---|---|---|---|\n",
    );
    for row in rows {
        let _ = writeln!(text, "{}", line(row));
    }
    text
}

/// The page for the repository.
pub fn page(rows: &[Row]) -> String {
    let agents: BTreeSet<&String> = rows.iter().flat_map(|row| &row.agents).collect();
    let agents: Vec<&str> = agents.into_iter().map(String::as_str).collect();
    let right = rows.iter().filter(|row| row.passes()).count();
    format!(
        "{PAGE}\n{}\n{right} of {} scenes are right, with {}.\n",
        table(rows),
        rows.len(),
        agents.join(", ")
    )
}

const PAGE: &str = "# Runs with the real agents

What `ostler run` does when providers fail, with the real agent programs, offline, against scripted models. Written by
`cargo lab runs --write`. A scene (`conformance/runs/NAME.toml`) is a task for several agents, each with a model
server of its own, and says what has to come of it: how the run ends, who worked and why each stopped, what every model
was asked and in which words (the block that stands before the task included), which breakers are open and for how long.
After each scene the daemon is killed with `kill -9`; the next one must know the same of the providers, and where the
scene says so a second run shows that it acts on it. *To the next agent*: seconds from the first failed request to the
first request of another agent.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::stage::Outcome;

    #[test]
    fn a_line_per_scene_and_what_was_tried() {
        let outcome = Outcome { faults: vec![], seconds: 12.4, switch: Some(3.21) };
        let agents = vec!["a 1".to_owned(), "b 2".to_owned()];
        let row = Row {
            scene: "limit".into(),
            shows: "b goes on".into(),
            agents,
            outcome,
            error: None,
            skipped: false,
        };
        let wrong = Row { error: Some("it broke".into()), outcome: Outcome::default(), ..row.clone() };
        let text = page(&[row, wrong]);
        assert!(text.contains("| limit | b goes on | right | 12 | 3.2 |"), "{text}");
        assert!(
            text.contains("| wrong | 0 | – |") && text.ends_with("1 of 2 scenes are right, with a 1, b 2.\n")
        );
    }
}
