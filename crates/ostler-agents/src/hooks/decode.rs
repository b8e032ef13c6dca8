//! What a payload says.

use ostler_core::Fact;
use serde_json::Value;

use super::salvage::whole_members;
use super::spec::{EventSpec, HookSpec};

/// Longest payload that is looked at; what is longer is cut.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// Longest prompt that is kept: as long as anything that is delivered by keystrokes.
const MAX_TEXT: usize = 256 << 10;
/// Longest word on a failure that is kept.
const MAX_DETAIL: usize = 2 << 10;
/// Longest id that is believed to be one.
const MAX_ID: usize = 128;
/// Longest path: the kernel's limit.
const MAX_PATH: usize = 4_096;

/// What a hook said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decoded {
    /// What happened.
    pub facts: Vec<Fact>,
    /// The agent's own id of the session.
    pub agent_session: Option<String>,
    /// Where it says its transcript is: untrusted, to be opened beneath the agent's own directory.
    pub transcript: Option<String>,
    /// Where it says it works.
    pub cwd: Option<String>,
    /// The conversation begins anew: the agent has forgotten what it was given before.
    pub begins_anew: bool,
}

/// Reads what the hook of an event said.
///
/// Nothing in a payload is relied on: fields that are missing or of another type are as good as absent, and an
/// event whose payload cannot be read at all still happened.
pub fn decode(spec: &HookSpec, event: &str, payload: &[u8]) -> Decoded {
    let payload = read(payload);
    let about_else = spec.ignore.iter().any(|(at, beginning)| {
        payload.pointer(at).and_then(Value::as_str).is_some_and(|text| text.starts_with(beginning))
    });
    if about_else {
        return Decoded::default();
    }
    Decoded {
        facts: spec.event(event).and_then(|event| fact(event, &payload)).into_iter().collect(),
        agent_session: string(&payload, spec.session_id.as_ref()).filter(|id| is_id(id)).map(str::to_owned),
        transcript: path(&payload, spec.transcript.as_ref()),
        cwd: path(&payload, spec.cwd.as_ref()),
        begins_anew: spec.event(event).is_some_and(|event| begins_anew(event, &payload)),
    }
}

fn begins_anew(event: &EventSpec, payload: &Value) -> bool {
    event.anew.iter().any(|(at, values)| {
        let found = payload.pointer(at).and_then(Value::as_str);
        found.is_some_and(|found| values.iter().any(|value| value == found))
    })
}

/// The payload, or as much of it as can be read.
fn read(payload: &[u8]) -> Value {
    let cut = &payload[..payload.len().min(MAX_PAYLOAD)];
    let parse = |bytes: &[u8]| serde_json::from_slice(bytes).ok();
    parse(cut).or_else(|| parse(&whole_members(cut)?)).unwrap_or_default()
}

fn fact(event: &EventSpec, payload: &Value) -> Option<Fact> {
    let case = string(payload, event.by.as_ref()).and_then(|found| event.cases.get(found));
    let mut fact = case.or(event.fact.as_ref())?.fact.clone()?;
    match &mut fact {
        Fact::PromptSubmitted { text } => {
            *text = string(payload, event.text.as_ref()).map(|text| shortened(text, MAX_TEXT));
        }
        Fact::ToolStarted { id } | Fact::ToolEnded { id } => {
            *id = string(payload, event.id.as_ref()).filter(|id| is_id(id)).map(str::to_owned);
        }
        Fact::TurnFailed { detail, .. } => {
            *detail = string(payload, event.detail.as_ref()).map(|text| shortened(text, MAX_DETAIL));
        }
        Fact::TurnEnded { background } => {
            *background = event.background.as_ref().map_or(0, |at| count(payload.pointer(at)));
        }
        _ => {}
    }
    Some(fact)
}

fn string<'a>(payload: &'a Value, at: Option<&String>) -> Option<&'a str> {
    payload.pointer(at?)?.as_str()
}

/// A path without what no path has, and what would steer a terminal that it is shown on.
fn path(payload: &Value, at: Option<&String>) -> Option<String> {
    let path = string(payload, at)?;
    let plausible = path.starts_with('/') && path.len() <= MAX_PATH && !path.chars().any(char::is_control);
    plausible.then(|| path.to_owned())
}

fn count(found: Option<&Value>) -> u32 {
    let count = match found {
        Some(Value::Array(list)) => u64::try_from(list.len()).unwrap_or(u64::MAX),
        Some(Value::Number(number)) => number.as_u64().unwrap_or(0),
        _ => 0,
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Ids end up in file names, arguments and the record: only what is plainly one is taken for one.
fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (1..=MAX_ID).contains(&text.len())
        && text.bytes().all(plain)
        && text.as_bytes()[0].is_ascii_alphanumeric()
}

fn shortened(text: &str, limit: usize) -> String {
    text[..text.floor_char_boundary(limit)].to_owned()
}

/// Decodes arbitrary bytes with a spec that looks everywhere: for fuzzing, it must not panic.
pub fn fuzz_decode(bytes: &[u8]) {
    const SPEC: &str = r#"
        session_id = "/session_id"
        transcript = "/transcript_path"
        cwd = "/cwd"
        ignore = { "/prompt" = "ignore" }
        [events]
        Prompt = { fact = "prompt_submitted", text = "/prompt" }
        Stop = { fact = "turn_ended", background = "/background_tasks" }
        Failed = { fact = "turn_failed", by = "/error", cases = { rate = "turn_failed:rate_limit" }, detail = "/m" }
        Tool = { fact = "tool_started", id = "/tool_use_id" }
        Notify = { by = "/type", cases = { idle = "idle_notified", ask = "asked:permission" } }
    "#;
    let Ok(spec) = toml::from_str::<HookSpec>(SPEC) else { return };
    for event in spec.events.keys().map(String::as_str).chain(["unknown"]) {
        let decoded = decode(&spec, event, bytes);
        debug_assert!(decoded.facts.len() <= 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(text: &str) -> HookSpec {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_payload_that_was_cut_still_says_what_it_is_about() {
        let spec = spec(
            "session_id = '/session_id'\n[events]\nTool = { fact = 'tool_started', id = '/tool_use_id' }\n",
        );
        let mut payload = br#"{"session_id":"s-1","tool_use_id":"t1","tool_input":{"content":""#.to_vec();
        payload.resize(100 << 20, b'x');
        let decoded = decode(&spec, "Tool", &payload);
        assert_eq!(decoded.facts, [Fact::ToolStarted { id: Some("t1".into()) }]);
        assert_eq!(decoded.agent_session.as_deref(), Some("s-1"));
    }

    #[test]
    fn ids_and_paths_that_are_none_are_dropped() {
        let spec = spec("session_id = '/s'\ntranscript = '/t'\ncwd = '/c'\n");
        let long = "x".repeat(200);
        for id in ["", "-rf", "../etc", "a b", "a\nb", "é", &long] {
            let payload = serde_json::json!({ "s": id }).to_string();
            assert_eq!(decode(&spec, "E", payload.as_bytes()).agent_session, None, "{id:?}");
        }
        for path in ["relative", "", "/a\u{1b}[2J", "/a\nb"] {
            let payload = serde_json::json!({ "t": path, "c": path }).to_string();
            let decoded = decode(&spec, "E", payload.as_bytes());
            assert_eq!((decoded.transcript, decoded.cwd), (None, None), "{path:?}");
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let spec = spec("[events]\nP = { fact = 'prompt_submitted', text = '/p' }\n");
        let payload = serde_json::json!({ "p": "é".repeat(MAX_TEXT) }).to_string();
        let decoded = decode(&spec, "P", payload.as_bytes());
        let [Fact::PromptSubmitted { text: Some(text) }] = &decoded.facts[..] else { panic!("{decoded:?}") };
        assert_eq!(text.len(), MAX_TEXT);
    }

    #[test]
    fn a_corpus_of_nonsense_does_no_harm() {
        let deep = "[".repeat(200_000);
        let deep_member = format!("{{\"a\":{}", "{\"a\":".repeat(100_000));
        for text in
            ["", "null", "[]", "{", "{\"a\"", "\u{0}", "{\"prompt\":1}", "{\"type\":{}}", &deep, &deep_member]
        {
            fuzz_decode(text.as_bytes());
        }
        fuzz_decode(&[0xff; 1_000]);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            fuzz_decode(&bytes);
        }

        #[test]
        fn any_cut_of_a_payload_can_be_decoded(at in 0_usize..400, value in "\\PC{0,80}") {
            let payload = serde_json::json!({
                "session_id": "abc", "prompt": value, "background_tasks": [1, {"a": value}], "type": "idle",
            }).to_string().into_bytes();
            fuzz_decode(&payload[..at.min(payload.len())]);
        }
    }
}
