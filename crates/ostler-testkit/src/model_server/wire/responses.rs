//! Responses of `OpenAI`.

use serde_json::{Value, json};

use super::super::reading::{Asked, Item, user_item};
use super::super::tools::{Call, Tool};
use super::{Said, Stream, event, tools};

pub(super) fn read(body: &Value) -> Asked {
    let mut items = Vec::new();
    match &body["input"] {
        Value::String(text) => items.extend(user_item(text)),
        input => items.extend(input.as_array().into_iter().flatten().filter_map(item)),
    }
    Asked {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        stream: body["stream"] == true,
        items,
        tools: tools(&body["tools"], "/name", "/parameters")
            .collect::<Vec<_>>()
            .into_iter()
            .chain(grouped(body))
            .collect(),
    }
}

/// The tools that are offered in groups.
fn grouped(body: &Value) -> impl Iterator<Item = Tool> + '_ {
    let groups = body["tools"].as_array().into_iter().flatten().filter(|tool| tool["type"] == "namespace");
    groups.flat_map(|group| {
        let namespace = group["name"].as_str().map(str::to_owned);
        let inner = tools(&group["tools"], "/name", "/parameters").collect::<Vec<_>>();
        inner.into_iter().map(move |tool| Tool { namespace: namespace.clone(), ..tool })
    })
}

fn item(value: &Value) -> Option<Item> {
    let kind = value["type"].as_str().unwrap_or("message");
    match (kind, value["role"].as_str()) {
        ("message", Some("user")) => match &value["content"] {
            Value::String(text) => user_item(text),
            blocks => {
                let texts: Vec<&str> = blocks
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|block| block["text"].as_str())
                    .collect();
                user_item(&texts.join("\n"))
            }
        },
        ("message", Some("assistant")) => Some(Item::Model),
        ("message", _) => None,
        (kind, _) if kind.ends_with("_output") => Some(Item::Result),
        (kind, _) if kind.ends_with("_call") => Some(Item::Model),
        _ => None,
    }
}

pub(super) struct Events {
    id: u64,
    model: String,
    sequence: u64,
    text: String,
    offered: Vec<Tool>,
}

impl Events {
    pub(super) fn new(id: u64, model: String, tools: &[Tool]) -> Self {
        Self { id, model, sequence: 0, text: String::new(), offered: tools.to_vec() }
    }

    fn event(&mut self, name: &str, mut body: Value) -> String {
        body["type"] = json!(name);
        body["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        event(name, &body)
    }

    fn added(&mut self, index: usize, item: &Value) -> String {
        self.event("response.output_item.added", json!({"output_index": index, "item": item}))
    }

    fn done(&mut self, index: usize, item: &Value) -> String {
        self.event("response.output_item.done", json!({"output_index": index, "item": item}))
    }
}

impl Stream for Events {
    fn begin(&mut self) -> String {
        let mut response = whole(self.id, &self.model, &Said::default(), &[]);
        response["status"] = json!("in_progress");
        response["output"] = json!([]);
        response["usage"] = Value::Null;
        self.event("response.created", json!({"response": response}))
    }

    fn text(&mut self, text: &str) -> String {
        let mut out = String::new();
        if self.text.is_empty() {
            let mut item = message_item(self.id, "");
            item["status"] = json!("in_progress");
            item["content"] = json!([]);
            out += &self.added(0, &item);
        }
        self.text += text;
        let body =
            json!({"item_id": message_id(self.id), "output_index": 0, "content_index": 0, "delta": text});
        out + &self.event("response.output_text.delta", body)
    }

    fn end(&mut self, call: Option<&Call>) -> String {
        let said = Said { text: std::mem::take(&mut self.text), call: call.cloned() };
        let items = output(self.id, &said, &self.offered);
        let mut out = String::new();
        for (index, item) in items.iter().enumerate() {
            if item["type"] != "message" {
                out += &self.added(index, item);
            }
            out += &self.done(index, item);
        }
        let mut response = whole(self.id, &self.model, &said, &[]);
        response["output"] = json!(items);
        out + &self.event("response.completed", json!({"response": response}))
    }
}

pub(super) fn whole(id: u64, model: &str, said: &Said, tools: &[Tool]) -> Value {
    json!({
        "id": format!("resp_{id:08}"), "object": "response", "created_at": 1_700_000_000, "status": "completed",
        "model": model, "output": output(id, said, tools),
        "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                  "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}
    })
}

fn output(id: u64, said: &Said, offered: &[Tool]) -> Vec<Value> {
    let mut items = Vec::new();
    if !said.text.is_empty() {
        items.push(message_item(id, &said.text));
    }
    if let Some(call) = &said.call {
        let (item_id, call_id) = (format!("fc_{id:08}"), format!("call_{id:08}"));
        let tool = offered.iter().find(|tool| tool.name == call.name);
        let mut item = if tool.is_some_and(|tool| tool.freeform) {
            json!({"type": "custom_tool_call", "id": item_id, "call_id": call_id, "status": "completed",
                   "name": call.name, "input": call.arguments.as_str().unwrap_or_default()})
        } else {
            json!({"type": "function_call", "id": item_id, "call_id": call_id, "status": "completed",
                   "name": call.name, "arguments": call.arguments.to_string()})
        };
        if let Some(namespace) = tool.and_then(|tool| tool.namespace.as_ref()) {
            item["namespace"] = json!(namespace);
        }
        items.push(item);
    }
    items
}

fn message_item(id: u64, text: &str) -> Value {
    json!({"type": "message", "id": message_id(id), "role": "assistant", "status": "completed",
           "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn message_id(id: u64) -> String {
    format!("msg_{id:08}")
}
