//! Fingerprints by which an agent knows the hooks that it may run.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::spec::TrustSpec;

/// What the agent calls the hook of an event, and its fingerprint.
///
/// `group` is the only one of its event and has one handler.
pub(super) fn entry(trust: &TrustSpec, event: &str, group: &Value) -> (String, String) {
    let name = snake_case(event);
    let mut handler = group["hooks"][0].as_object().cloned().unwrap_or_default();
    for (key, value) in &trust.handler {
        handler.entry(key.clone()).or_insert_with(|| value.clone());
    }
    let mut hashed = Map::new();
    hashed.insert("event_name".into(), json!(name));
    hashed.insert("hooks".into(), json!([sorted(&Value::Object(handler))]));
    if let Some(matcher) =
        group.get("matcher").filter(|_| !trust.without_matcher.iter().any(|name| name == event))
    {
        hashed.insert("matcher".into(), matcher.clone());
    }
    (trust.key.replace("{event}", &name), sha256(&Value::Object(hashed).to_string()))
}

/// The fingerprint of a text.
fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold("sha256:".to_owned(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The same value with the keys of its objects in order, whatever order the map type keeps.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut pairs: Vec<_> = object.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect())
        }
        other => other.clone(),
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// A value on one line, as TOML.
pub(super) fn toml_inline(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let pair = |(key, value): (&String, &Value)| format!("{}={}", json!(key), toml_inline(value));
            format!("{{{}}}", object.iter().map(pair).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml_inline).collect::<Vec<_>>().join(","))
        }
        // A JSON string is a basic string of TOML; DEL, which is not, has no place in a command.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_in_toml() {
        let value = json!({ "a b": [1, true, { "c": "d\"\\\n'é" }] });
        let text = format!("x = {}", toml_inline(&value));
        let read: Value = toml::from_str(&text).unwrap();
        assert_eq!(read["x"], value);
    }

    #[test]
    fn a_fingerprint_is_in_lower_case() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(""), empty);
    }

    #[test]
    fn the_fingerprint_is_of_the_handler_as_the_agent_completes_it() {
        let trust = TrustSpec {
            key: "/<flags>:{event}:0:0".into(),
            without_matcher: vec!["Stop".into()],
            handler: json!({ "async": false, "timeout": 600 }).as_object().cloned().unwrap(),
        };
        let group = json!({ "matcher": "*", "hooks": [{ "type": "command", "command": "x", "timeout": 5 }] });
        assert_eq!(
            entry(&trust, "PreToolUse", &group),
            (
                "/<flags>:pre_tool_use:0:0".into(),
                sha256(
                    r#"{"event_name":"pre_tool_use","hooks":[{"async":false,"command":"x","timeout":5,"type":"command"}],"matcher":"*"}"#
                )
            )
        );
        assert_eq!(
            entry(&trust, "Stop", &group).1,
            sha256(
                r#"{"event_name":"stop","hooks":[{"async":false,"command":"x","timeout":5,"type":"command"}]}"#
            )
        );
    }
}
