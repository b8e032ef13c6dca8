//! Reading a call: what an agent says is checked before anything is done.

use ostler_protocol::{MAX_TOOL_TEXT, ToolCall};
use serde_json::{Map, Value, json};

use crate::tools;

/// Reads a call, or says what is wrong with it, in words for a model.
pub fn read_call(name: &str, arguments: &Map<String, Value>) -> Result<ToolCall, String> {
    if !tools().iter().any(|tool| tool.name == name) {
        let known: Vec<&str> = tools().iter().map(|tool| tool.name).collect();
        return Err(format!("there is no such tool; there are {}", known.join(", ")));
    }
    let length = json!(arguments).to_string().len();
    if length > MAX_TOOL_TEXT {
        return Err(format!("the arguments have {length} bytes; at most {MAX_TOOL_TEXT} are taken"));
    }
    let call = json!({ "tool": name, "arguments": arguments });
    serde_json::from_value(call).map_err(|error| format!("the arguments of {name} are wrong: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        let long = "x".repeat(MAX_TOOL_TEXT);
        let table = [
            ("ack", json!({}), "missing field `id`"),
            ("ack", json!({ "id": 5 }), "invalid type: integer `5`, expected a string"),
            ("ack", json!({ "id": "a", "force": true }), "unknown field `force`"),
            ("ack", json!({ "id": long }), "at most 65536 are taken"),
            ("report_progress", json!({ "text": "x", "percent": -1 }), "expected u8"),
            ("wait_for", json!({ "until": "tomorrow" }), "wrong"),
            ("wait_for", json!({ "pid": 1e99 }), "expected u32"),
            ("context_save", json!({ "summary": "x", "open": "y" }), "expected a sequence"),
            ("rm -rf /", json!({}), "there is no such tool"),
            ("misunderstood", json!({}), "there is no such tool"),
        ];
        for (name, arguments, said) in table {
            let Value::Object(arguments) = arguments else { panic!("not an object") };
            let error = read_call(name, &arguments).unwrap_err();
            assert!(error.contains(said), "{name}: {error}");
        }
    }
}
