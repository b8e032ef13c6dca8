//! Chat Completions of `OpenAI`.

use serde_json::{Value, json};

use super::super::reading::{Asked, Item, user_item};
use super::super::tools::Call;
use super::{Said, Stream, data, tools};

pub(super) fn read(body: &Value) -> Asked {
    let item = |message: &Value| match message["role"].as_str() {
        Some("user") => match &message["content"] {
            Value::String(text) => user_item(text),
            blocks => {
                let texts =
                    blocks.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
                let texts: Vec<&str> = texts.filter(|text| user_item(text).is_some()).collect();
                user_item(&texts.join("\n"))
            }
        },
        Some("assistant") => Some(Item::Model),
        Some("tool") => Some(Item::Result),
        _ => None,
    };
    Asked {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        stream: body["stream"] == true,
        items: body["messages"].as_array().into_iter().flatten().filter_map(item).collect(),
        tools: tools(&body["tools"], "/function/name", "/function/parameters").collect(),
    }
}

pub(super) struct Events {
    id: u64,
    model: String,
}

impl Events {
    pub(super) fn new(id: u64, model: String) -> Self {
        Self { id, model }
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> String {
        let mut chunk = frame(self.id, &self.model, "chat.completion.chunk");
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        if finish.is_some() {
            chunk["usage"] = usage();
        }
        data(&chunk)
    }
}

impl Stream for Events {
    fn begin(&mut self) -> String {
        self.chunk(&json!({"role": "assistant", "content": ""}), None)
    }

    fn text(&mut self, text: &str) -> String {
        self.chunk(&json!({"content": text}), None)
    }

    fn end(&mut self, call: Option<&Call>) -> String {
        let mut out = String::new();
        if let Some(call) = call {
            let mut call = tool_call(self.id, call);
            call["index"] = json!(0);
            out += &self.chunk(&json!({"tool_calls": [call]}), None);
        }
        out + &self.chunk(&json!({}), Some(finish(call))) + "data: [DONE]\n\n"
    }
}

pub(super) fn whole(id: u64, model: &str, said: &Said) -> Value {
    let mut message = json!({"role": "assistant", "content": said.text});
    if let Some(call) = &said.call {
        message["tool_calls"] = json!([tool_call(id, call)]);
    }
    let mut answer = frame(id, model, "chat.completion");
    answer["choices"] =
        json!([{"index": 0, "message": message, "finish_reason": finish(said.call.as_ref())}]);
    answer["usage"] = usage();
    answer
}

fn frame(id: u64, model: &str, object: &str) -> Value {
    json!({"id": format!("chatcmpl-{id:08}"), "object": object, "created": 1_700_000_000, "model": model})
}

fn tool_call(id: u64, call: &Call) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
    json!({"id": format!("call_{id:08}"), "type": "function", "function": function})
}

fn finish(call: Option<&Call>) -> &'static str {
    if call.is_some() { "tool_calls" } else { "stop" }
}

fn usage() -> Value {
    json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110})
}
