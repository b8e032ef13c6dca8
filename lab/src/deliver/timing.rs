//! What the logs say about when things happened.

use ostler_testkit::model_server::{Entry, Event};

use crate::live;

/// Seconds after which rest has another reason than the end of the turn.
const LATE: f64 = 30.0;

/// The log with the contents of files that messages were put into, where prompts only say where they are.
pub fn unfolded(mut log: Vec<Entry>) -> Vec<Entry> {
    for entry in &mut log {
        let Event::Received { fresh, .. } = &mut entry.event else { continue };
        for text in fresh {
            let file =
                text.split_once("Read the file ").and_then(|(_, rest)| rest.split_once(" and do what"));
            if let Some(contents) = file.and_then(|(file, _)| std::fs::read_to_string(file).ok()) {
                *text = contents;
            }
        }
    }
    log
}

/// When the last byte of the turn went out whose first request was read at this moment.
#[expect(clippy::float_cmp, reason = "it is the same entry")]
pub fn turn_end(log: &[Entry], heard: f64) -> Option<f64> {
    let (exchange, turn) = log.iter().find_map(|entry| match &entry.event {
        Event::Received { turn, user, .. } if entry.at == heard => {
            Some((entry.exchange, turn.zip(Some(user))))
        }
        _ => None,
    })?;
    // Turns are counted by conversation, and a trial may have several.
    let same = |entry: &&Entry| match &entry.event {
        Event::Received { turn: other, user, .. } => {
            entry.exchange == exchange || (turn.is_some() && turn == other.zip(Some(user)))
        }
        _ => false,
    };
    let exchanges: Vec<u64> = log.iter().filter(same).map(|entry| entry.exchange).collect();
    let last =
        |entry: &&Entry| exchanges.contains(&entry.exchange) && matches!(entry.event, Event::LastByte { .. });
    log.iter().rfind(last).map(|entry| entry.at)
}

/// Seconds from the end of a turn to the first word that the agent is at rest; none if it went to work again before.
pub fn to_idle(events: &str, end: f64) -> Option<f64> {
    // A moment before the end is still the rest that came before the turn.
    let said = live::timeline(events, None, end).into_iter().find(|said| said.t > 0.0)?;
    (said.state == "idle" && said.t < LATE).then_some(said.t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_counts_from_the_end_of_its_own_turn() {
        let event = |at: &str, state: &str| {
            format!("{{\"at\":\"1970-01-01T00:00:{at}Z\",\"details\":{{\"state\":\"{state}\"}}}}\n")
        };
        let events = event("01.000", "working") + &event("03.100", "idle") + &event("04.000", "working");
        assert!(to_idle(&events, 3.0).is_some_and(|seconds| (seconds - 0.1).abs() < 1e-6));
        assert_eq!(to_idle(&events, 3.5), None);
        assert_eq!(to_idle(&events, 5.0), None);
    }
}
