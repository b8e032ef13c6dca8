//! The tools, as an agent is told of them. All of it is in the context of every conversation, so it is short.

use serde_json::{Value, json};

/// What an agent is told of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolText {
    /// Its name.
    pub name: &'static str,
    /// What it does, and when to use it.
    pub description: &'static str,
    /// The schema of its arguments.
    pub arguments: Value,
    /// It changes nothing.
    pub reads: bool,
}

/// What the agent is told of all of them together.
pub(crate) const INSTRUCTIONS: &str = "ostler supervises this session.";

/// All tools.
pub fn tools() -> Vec<ToolText> {
    let text = || json!({ "type": "string" });
    let tool = |name, description, required: &[&str], properties: Value, reads| ToolText {
        name,
        description,
        arguments: json!({ "type": "object", "properties": properties, "required": required }),
        reads,
    };
    vec![
        tool(
            "ack",
            "Confirm a message that asks you to acknowledge it.",
            &["id"],
            json!({ "id": { "type": "string", "description": "the id in the message" } }),
            false,
        ),
        tool(
            "context_load",
            "Read what is known of this project: earlier work, open points, texts kept for you. Use it at the start, and when \
             you have lost the thread.",
            &[],
            json!({ "task": { "type": "string", "description": "finds related code" } }),
            true,
        ),
        tool(
            "context_save",
            "Keep what was done and what is left for later sessions. Use it before you finish or run out of context.",
            &["summary"],
            json!({ "summary": text(), "open": { "type": "array", "items": text() } }),
            false,
        ),
        tool(
            "task_status",
            "Read your task: its goal, the attempt, what failed before.",
            &[],
            json!({}),
            true,
        ),
        tool(
            "send_message",
            "Send a message to another session of this project.",
            &["to", "text"],
            json!({ "to": { "type": "string", "description": "its name" }, "text": text() }),
            false,
        ),
        tool(
            "report_progress",
            "Tell your owner how far you are. Use it after each larger step.",
            &["text"],
            json!({ "text": text(), "percent": { "type": "integer", "minimum": 0, "maximum": 100 } }),
            false,
        ),
        tool(
            "request_continuation",
            "Ask to be prompted again after this turn because work is left. Not when you are done or waiting.",
            &["reason"],
            json!({ "reason": text() }),
            false,
        ),
        tool(
            "ask_owner",
            "Ask your owner what you cannot decide. You get an id at once: work on what does not depend on it. The answer comes as a \
             message, and by ask_status.",
            &["question"],
            json!({ "question": text(), "choices": { "type": "array", "items": text() } }),
            false,
        ),
        tool("ask_status", "Read whether a question was answered.", &["id"], json!({ "id": text() }), true),
        tool(
            "wait_for",
            "Before you end your turn to wait: say for what. One of pid, shell or file, or a time alone.",
            &[],
            json!({
                "pid": { "type": "integer", "description": "until this process ends" },
                "shell": { "type": "string", "description": "until your background shell of this name ends" },
                "file": { "type": "string", "description": "until it is made or changed" },
                "seconds": { "type": "integer", "description": "at most" },
                "until": { "type": "string", "description": "at most, RFC 3339" },
                "note": text(),
            }),
            false,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::read_call;

    /// About so many bytes are a token of English and JSON.
    const BYTES_PER_TOKEN: usize = 4;
    /// What the tools may cost every conversation.
    const TOKENS: usize = 1_000;

    #[test]
    fn the_tools_cost_little_context() {
        let told: usize = tools()
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.arguments.to_string().len())
            .sum();
        assert!(told / BYTES_PER_TOKEN < TOKENS, "about {} tokens", told / BYTES_PER_TOKEN);
    }

    #[test]
    fn names_are_told_apart() {
        let names: BTreeSet<&str> = tools().iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), tools().len());
    }

    /// An argument as the schema has it.
    fn example(schema: &Value) -> Value {
        match schema["type"].as_str().unwrap() {
            "integer" => json!(7),
            "array" => json!(["x"]),
            _ if schema["description"].as_str().is_some_and(|text| text.contains("RFC 3339")) => {
                json!("2030-01-02T03:04:05Z")
            }
            _ => json!("x"),
        }
    }

    #[test]
    fn what_the_schemas_allow_is_understood() {
        for tool in tools() {
            let properties = tool.arguments["properties"].as_object().unwrap();
            let all: serde_json::Map<_, _> =
                properties.iter().map(|(name, schema)| (name.clone(), example(schema))).collect();
            read_call(tool.name, &all).unwrap();
            let required: BTreeSet<&str> = tool.arguments["required"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap())
                .collect();
            let least = all.iter().filter(|(name, _)| required.contains(name.as_str()));
            let least: serde_json::Map<_, _> =
                least.map(|(name, value)| (name.clone(), value.clone())).collect();
            read_call(tool.name, &least).unwrap();
            for name in required {
                let mut less = least.clone();
                less.remove(name);
                assert!(
                    read_call(tool.name, &less).unwrap_err().contains(name),
                    "{} without {name}",
                    tool.name
                );
            }
        }
    }
}
