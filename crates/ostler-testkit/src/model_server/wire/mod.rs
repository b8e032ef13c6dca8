//! The formats models are spoken to in.

pub(super) mod anthropic;
pub(super) mod chat;
pub(super) mod google;
pub(super) mod responses;

use axum::http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::reading::Asked;
use super::tools::{Call, Tool};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anthropic Messages.
    Anthropic,
    /// Responses of `OpenAI`.
    Responses,
    /// Chat Completions of `OpenAI`.
    Chat,
    /// Generative language models of Google.
    Google,
}

/// What was said, when all of it is known at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) call: Option<Call>,
}

/// Turns what is said into the events of a stream, in order.
pub(super) trait Stream: Send {
    /// The stream's beginning.
    fn begin(&mut self) -> String;
    /// More text.
    fn text(&mut self, text: &str) -> String;
    /// The end, with a call of a tool if there is one.
    fn end(&mut self, call: Option<&Call>) -> String;
}

impl Format {
    pub(super) fn read(self, path: &str, body: &Value) -> Asked {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Google => google::read(path, body),
        }
    }

    /// Starts a stream; `id` makes its identifiers unique.
    pub(super) fn stream(self, id: u64, asked: &Asked) -> Box<dyn Stream> {
        let model = asked.model.clone();
        match self {
            Self::Anthropic => Box::new(anthropic::Events::new(id, model)),
            Self::Responses => Box::new(responses::Events::new(id, model, &asked.tools)),
            Self::Chat => Box::new(chat::Events::new(id, model)),
            Self::Google => Box::new(google::Events::new(model)),
        }
    }

    /// The answer as one JSON document.
    pub(super) fn whole(self, id: u64, asked: &Asked, said: &Said) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(id, &asked.model, said),
            Self::Responses => responses::whole(id, &asked.model, said, &asked.tools),
            Self::Chat => chat::whole(id, &asked.model, said),
            Self::Google => google::whole(&asked.model, said),
        }
    }

    /// The body of an error.
    pub(super) fn error(self, status: u16) -> Value {
        let (kind, message) = match status {
            401 => ("authentication_error", "invalid x-api-key"),
            403 => ("permission_error", "forbidden"),
            429 => (
                "rate_limit_error",
                "This request would exceed your account's rate limit. Please try again later.",
            ),
            529 => ("overloaded_error", "Overloaded"),
            _ => ("api_error", "Internal server error"),
        };
        match self {
            Self::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Google => {
                let code = match status {
                    401 => "UNAUTHENTICATED",
                    403 => "PERMISSION_DENIED",
                    429 => "RESOURCE_EXHAUSTED",
                    _ => "UNAVAILABLE",
                };
                json!({"error": {"code": status, "message": message, "status": code}})
            }
            Self::Responses | Self::Chat => {
                json!({"error": {"message": message, "type": kind, "code": kind}})
            }
        }
    }

    /// The body of an error that says that a plan is used up until a moment, in seconds of the Unix epoch.
    pub(super) fn usage_limit(self, until: u64) -> Value {
        match self {
            Self::Responses | Self::Chat => json!({"error": {
                "type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "pro",
                "resets_at": until,
            }}),
            Self::Anthropic | Self::Google => self.error(429),
        }
    }

    /// Headers that say the same, where there are any.
    pub(super) fn limit_headers(self, until: u64) -> Vec<(HeaderName, HeaderValue)> {
        let text = |name, value| (HeaderName::from_static(name), HeaderValue::from_static(value));
        match self {
            Self::Anthropic => vec![
                text("anthropic-ratelimit-unified-status", "rejected"),
                text("anthropic-ratelimit-unified-representative-claim", "five_hour"),
                (HeaderName::from_static("anthropic-ratelimit-unified-reset"), until.into()),
            ],
            Self::Responses | Self::Chat | Self::Google => vec![],
        }
    }
}

/// Reads a list of tools, each with its name and schema at these places.
fn tools<'a>(list: &'a Value, name: &str, schema: &str) -> impl Iterator<Item = Tool> + 'a {
    let (name, schema) = (name.to_owned(), schema.to_owned());
    list.as_array().into_iter().flatten().filter_map(move |tool| {
        let freeform = tool["type"] == "custom";
        let schema = tool.pointer(&schema).cloned().unwrap_or(Value::Null);
        Some(Tool { name: tool.pointer(&name)?.as_str()?.to_owned(), schema, freeform, namespace: None })
    })
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn data(data: &Value) -> String {
    format!("data: {data}\n\n")
}
