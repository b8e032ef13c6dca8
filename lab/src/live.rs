//! What ostler said while it happened.

use jiff::Timestamp;
use serde_json::Value;

use crate::score::Said;

/// Reads the states out of what `ostler events --json` printed, in seconds of the recording.
///
/// Lines that say nothing about a state, or are about another session than the one that is named, are passed over, and so are those that are not understood: an
/// event is added more often than this program is changed.
pub fn timeline(events: &str, session: Option<&str>, zero: f64) -> Vec<Said> {
    let said = |line: &str| {
        let event: Value = serde_json::from_str(line).ok()?;
        if session.zip(event["session"].as_str()).is_some_and(|(wanted, name)| wanted != name) {
            return None;
        }
        let details = &event["details"];
        let state = details["state"].as_str()?.to_owned();
        let kind = details["kind"].as_str().map(str::to_owned);
        Some(Said { t: seconds(&event["at"])? - zero, state, kind })
    };
    events.lines().filter_map(said).collect()
}

/// A time as a number of seconds or as text.
fn seconds(at: &Value) -> Option<f64> {
    let text = || at.as_str()?.parse::<Timestamp>().ok().map(|at| at.as_duration().as_secs_f64());
    at.as_f64().or_else(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_states_are_taken() {
        let events = concat!(
            "{\"seq\":1,\"at\":\"1970-01-01T00:01:40.500Z\",\"event\":\"daemon.started\",\"details\":{\"pid\":2}}\n",
            "{\"at\":\"1970-01-01T00:01:41.500Z\",\"event\":\"session.state\",\"details\":{\"state\":\"idle\"}}\n",
            "not JSON\n",
            "{\"at\":102.0,\"session\":\"b\",\"event\":\"session.state\",\"details\":{\"state\":\"exited\"}}\n",
            "{\"at\":102.5,\"event\":\"session.state\",\"details\":{\"state\":\"blocked\",\"kind\":\"trust\"}}\n",
        );
        let said = timeline(events, Some("a"), 100.0);
        assert_eq!(said.len(), 2);
        assert_eq!((said[0].t, said[0].state.as_str()), (1.5, "idle"));
        assert_eq!((said[1].t, said[1].kind.as_deref()), (2.5, Some("trust")));
    }
}
