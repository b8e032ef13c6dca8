//! Requests to answers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::log::{Event, Log};
use super::reply::Performance;
use super::script::Ending;
use super::settings::Settings;
use super::turns::Turns;
use super::wire::Format;

pub(super) struct Shared {
    pub(super) log: Log,
    pub(super) settings: Settings,
    pub(super) turns: Mutex<Turns>,
    pub(super) exchanges: AtomicU64,
}

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(shared)
}

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asks {
    Reply(Format),
    Count(Format),
    Models,
    Other,
}

fn asks(method: &Method, path: &str) -> Asks {
    if method == Method::POST {
        let table = [
            ("/messages/count_tokens", Asks::Count(Format::Anthropic)),
            ("/messages", Asks::Reply(Format::Anthropic)),
            ("/responses", Asks::Reply(Format::Responses)),
            ("/chat/completions", Asks::Reply(Format::Chat)),
            (":streamGenerateContent", Asks::Reply(Format::Google)),
            (":generateContent", Asks::Reply(Format::Google)),
            (":countTokens", Asks::Count(Format::Google)),
        ];
        table.into_iter().find(|(end, _)| path.ends_with(end)).map_or(Asks::Other, |(_, asks)| asks)
    } else if path.ends_with("/models") {
        Asks::Models
    } else {
        Asks::Other
    }
}

async fn answer(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let exchange = shared.exchanges.fetch_add(1, Ordering::Relaxed) + 1;
    match asks(&method, uri.path()) {
        Asks::Reply(format) => {
            let watched = watched(&shared.settings.watch, &body);
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            reply(&shared, exchange, format, uri.path(), &body, watched).await
        }
        Asks::Count(Format::Google) => axum::Json(json!({"totalTokens": 100})).into_response(),
        Asks::Count(_) => axum::Json(json!({"input_tokens": 100})).into_response(),
        Asks::Models => {
            let model = |name: &str| json!({"id": name, "object": "model", "type": "model", "created": 0, "owned_by": "script"});
            axum::Json(json!({"object": "list", "data": [model("scripted")], "has_more": false}))
                .into_response()
        }
        Asks::Other => {
            shared.log.write(
                exchange,
                Event::Received {
                    path: format!("{method} {}", uri.path()),
                    turn: None,
                    reply: None,
                    user: String::new(),
                    fresh: Vec::new(),
                    prompts: 0,
                    tools: Vec::new(),
                    watched: BTreeMap::new(),
                },
            );
            (StatusCode::NOT_FOUND, axum::Json(json!({"error": {"message": "not found"}}))).into_response()
        }
    }
}

/// How often each text is in a request, where it is at all.
fn watched(texts: &[String], body: &[u8]) -> BTreeMap<String, usize> {
    let body = String::from_utf8_lossy(body);
    let count = |text: &String| (text.clone(), body.matches(text.as_str()).count());
    texts.iter().map(count).filter(|(_, times)| *times > 0).collect()
}

async fn reply(
    shared: &Shared,
    exchange: u64,
    format: Format,
    path: &str,
    body: &Value,
    watched: BTreeMap<String, usize>,
) -> Response {
    let asked = format.read(path, body);
    let answer = shared.turns.lock().unwrap_or_else(PoisonError::into_inner).answer(&asked, &shared.settings);
    shared.log.write(
        exchange,
        Event::Received {
            path: path.to_owned(),
            turn: answer.place.map(|place| place.0),
            reply: answer.place.map(|place| place.1),
            user: answer.user.clone(),
            fresh: asked.fresh(),
            prompts: asked.prompts(),
            tools: asked.tools.iter().map(|tool| tool.name.clone()).collect(),
            watched,
        },
    );
    let performance = Performance::new(exchange, shared.log.clone(), &answer, &asked, &shared.settings);
    if let Ending::Status { code, retry_after, usage_limit } = answer.reply.ending {
        let until = usage_limit.map(|seconds| shared.log.seconds().saturating_add(seconds));
        let body = performance.fail(code, format, until).await;
        let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(body)).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        for (name, value) in until.into_iter().flat_map(|until| format.limit_headers(until)) {
            response.headers_mut().insert(name, value);
        }
        return response;
    }
    if !asked.stream {
        return axum::Json(performance.whole(format, &asked).await).into_response();
    }
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(performance.stream(format.stream(exchange, &asked), sender));
    let chunks = ReceiverStream::new(receiver).map(Ok::<_, Infallible>);
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(chunks)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watched_texts_are_counted() {
        let found = watched(&["one".into(), "two".into()], br#"{"a": "one one", "b": ["none"]}"#);
        assert_eq!(found, BTreeMap::from([("one".to_owned(), 3)]));
    }

    #[test]
    fn paths_are_known_by_their_end() {
        let post = Method::POST;
        assert_eq!(asks(&post, "/v1/messages"), Asks::Reply(Format::Anthropic));
        assert_eq!(asks(&post, "/v1/messages/count_tokens"), Asks::Count(Format::Anthropic));
        assert_eq!(asks(&post, "/v1beta/models/m:streamGenerateContent"), Asks::Reply(Format::Google));
        assert_eq!(asks(&Method::GET, "/v1/models"), Asks::Models);
        assert_eq!(asks(&Method::HEAD, "/"), Asks::Other);
    }
}
