//! Generative language models of Google.

use serde_json::{Value, json};

use super::super::reading::{Asked, Item, user_item};
use super::super::tools::{Call, Tool};
use super::{Said, Stream, data};

pub(super) fn read(path: &str, body: &Value) -> Asked {
    let mut items = Vec::new();
    for content in body["contents"].as_array().into_iter().flatten() {
        if content["role"] == "model" {
            items.push(Item::Model);
            continue;
        }
        items.extend(content["parts"].as_array().into_iter().flatten().filter_map(|part| {
            if part.get("functionResponse").is_some() {
                Some(Item::Result)
            } else {
                part["text"].as_str().and_then(user_item)
            }
        }));
    }
    let declared = body["tools"].as_array().into_iter().flatten();
    let declared = declared.flat_map(|tool| tool["functionDeclarations"].as_array().into_iter().flatten());
    let tools = declared.filter_map(|function| {
        let schema = function.get("parametersJsonSchema").or_else(|| function.get("parameters"));
        let name = function["name"].as_str()?.to_owned();
        Some(Tool { name, schema: schema.cloned().unwrap_or(Value::Null), freeform: false, namespace: None })
    });
    let model = path.rsplit('/').next().and_then(|last| last.split(':').next()).unwrap_or_default();
    Asked { model: model.to_owned(), stream: path.contains(":stream"), items, tools: tools.collect() }
}

pub(super) struct Events {
    model: String,
}

impl Events {
    pub(super) fn new(model: String) -> Self {
        Self { model }
    }

    fn chunk(&self, parts: &[Value], last: bool) -> String {
        data(&candidate(&self.model, parts, last))
    }
}

impl Stream for Events {
    fn begin(&mut self) -> String {
        String::new()
    }

    fn text(&mut self, text: &str) -> String {
        self.chunk(&[json!({"text": text})], false)
    }

    fn end(&mut self, call: Option<&Call>) -> String {
        match call {
            Some(call) => self.chunk(&[function_call(call)], true),
            None => self.chunk(&[json!({"text": ""})], true),
        }
    }
}

pub(super) fn whole(model: &str, said: &Said) -> Value {
    let mut parts = vec![json!({"text": said.text})];
    parts.extend(said.call.iter().map(function_call));
    candidate(model, &parts, true)
}

fn candidate(model: &str, parts: &[Value], last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if last {
        candidate["finishReason"] = json!("STOP");
    }
    json!({"candidates": [candidate], "modelVersion": model,
           "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}})
}

fn function_call(call: &Call) -> Value {
    json!({"functionCall": {"name": call.name, "args": call.arguments}})
}
