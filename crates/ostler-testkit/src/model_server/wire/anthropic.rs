//! Anthropic Messages.

use serde_json::{Value, json};

use super::super::reading::{Asked, Item, user_item};
use super::super::tools::Call;
use super::{Said, Stream, event, tools};

pub(super) fn read(body: &Value) -> Asked {
    let mut items = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("user") => items.extend(user_items(&message["content"])),
            Some("assistant") => items.push(Item::Model),
            _ => {}
        }
    }
    Asked {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        stream: body["stream"] == true,
        items,
        tools: tools(&body["tools"], "/name", "/input_schema")
            .map(|tool| super::Tool { freeform: false, ..tool })
            .collect(),
    }
}

fn user_items(content: &Value) -> Vec<Item> {
    let item = |block: &Value| match block["type"].as_str() {
        Some("text") => user_item(block["text"].as_str()?),
        Some("tool_result") => Some(Item::Result),
        _ => None,
    };
    match content {
        Value::String(text) => user_item(text).into_iter().collect(),
        _ => content.as_array().into_iter().flatten().filter_map(item).collect(),
    }
}

pub(super) struct Events {
    id: u64,
    model: String,
    index: usize,
    text_open: bool,
    written: usize,
}

impl Events {
    pub(super) fn new(id: u64, model: String) -> Self {
        Self { id, model, index: 0, text_open: false, written: 0 }
    }

    fn block(&self, block: &Value) -> String {
        event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": self.index, "content_block": block}),
        )
    }

    fn delta(&self, delta: &Value) -> String {
        event(
            "content_block_delta",
            &json!({"type": "content_block_delta", "index": self.index, "delta": delta}),
        )
    }

    fn close(&mut self) -> String {
        let stop = event("content_block_stop", &json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
        stop
    }
}

impl Stream for Events {
    fn begin(&mut self) -> String {
        let mut message = whole(self.id, &self.model, &Said::default());
        message["content"] = json!([]);
        message["stop_reason"] = Value::Null;
        event("message_start", &json!({"type": "message_start", "message": message}))
    }

    fn text(&mut self, text: &str) -> String {
        let mut out = String::new();
        if !self.text_open {
            self.text_open = true;
            out += &self.block(&json!({"type": "text", "text": ""}));
        }
        self.written += 1;
        out + &self.delta(&json!({"type": "text_delta", "text": text}))
    }

    fn end(&mut self, call: Option<&Call>) -> String {
        let mut out = if self.text_open { self.close() } else { String::new() };
        if let Some(call) = call {
            out += &self
                .block(&json!({"type": "tool_use", "id": call_id(self.id), "name": call.name, "input": {}}));
            out +=
                &self.delta(&json!({"type": "input_json_delta", "partial_json": call.arguments.to_string()}));
            out += &self.close();
        }
        let delta = json!({"stop_reason": stop_reason(call), "stop_sequence": null});
        let usage = json!({"output_tokens": self.written});
        out += &event("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage}));
        out + &event("message_stop", &json!({"type": "message_stop"}))
    }
}

pub(super) fn whole(id: u64, model: &str, said: &Said) -> Value {
    let mut content = vec![json!({"type": "text", "text": said.text})];
    if let Some(call) = &said.call {
        content
            .push(json!({"type": "tool_use", "id": call_id(id), "name": call.name, "input": call.arguments}));
    }
    json!({
        "id": format!("msg_{id:08}"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop_reason(said.call.as_ref()), "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": said.text.split_whitespace().count()}
    })
}

fn stop_reason(call: Option<&Call>) -> &'static str {
    if call.is_some() { "tool_use" } else { "end_turn" }
}

fn call_id(id: u64) -> String {
    format!("toolu_{id:08}")
}
