//! The scripted model server, spoken to as agents do.

use std::io::{Read, Write};
use std::net::TcpStream;

use ostler_testkit::model_server::{Event, ModelServer, Settings};
use ostler_testkit::wait::until;
use serde_json::{Value, json};

fn start() -> ModelServer {
    ModelServer::start(0, Settings::default(), None).unwrap()
}

fn open(server: &ModelServer, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// The whole answer: head and body, chunk marks and all.
fn ask(server: &ModelServer, path: &str, body: &Value) -> String {
    let mut answer = String::new();
    open(server, path, body).read_to_string(&mut answer).unwrap();
    answer
}

/// The JSON behind every `data:` of a stream.
fn events(answer: &str) -> Vec<Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

fn json_body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]})
}

const TOOL_TURN: &str = "please [[say 2 words]] [[tool make]] [[quote done]]";

#[test]
fn anthropic_streams_text_and_tool_calls() {
    let server = start();
    let tools = json!([{"name": "Bash", "input_schema": schema()}]);
    let user = json!({"role": "user", "content": [{"type": "text", "text": TOOL_TURN}]});
    let body = json!({"model": "m", "stream": true, "tools": tools, "messages": [user]});
    let events = events(&ask(&server, "/v1/messages?beta=true", &body));
    assert_eq!(events[0]["type"], "message_start");
    let text: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(text, "the stable ");
    let call = events.iter().find(|event| event["content_block"]["type"] == "tool_use").unwrap();
    assert_eq!((&call["index"], &call["content_block"]["name"]), (&json!(1), &json!("Bash")));
    assert!(events.iter().any(|event| event["delta"]["partial_json"] == "{\"command\":\"make\"}"));
    assert!(events.iter().any(|event| event["delta"]["stop_reason"] == "tool_use"));
    assert_eq!(events.last().unwrap()["type"], "message_stop");

    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "ok"},
                        {"type": "text", "text": "<reminder>[[say 9 words]]</reminder>"}]});
    let body = json!({"model": "m", "tools": tools, "messages": [user, {"role": "assistant", "content": []}, result]});
    let answer = json_body(&ask(&server, "/v1/messages", &body));
    assert_eq!((&answer["content"][0]["text"], &answer["stop_reason"]), (&json!("done"), &json!("end_turn")));
    let count = json_body(&ask(&server, "/v1/messages/count_tokens", &body));
    assert_eq!(count["input_tokens"], 100);
}

#[test]
fn responses_stream_text_and_tool_calls() {
    let server = start();
    let tools = json!([{"type": "function", "name": "exec_command", "parameters": schema()}]);
    let user =
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": TOOL_TURN}]});
    let body = json!({"model": "m", "stream": true, "tools": tools, "input": [user]});
    let first = events(&ask(&server, "/v1/responses", &body));
    let kinds: Vec<&str> = first.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!((kinds[0], kinds[1]), ("response.created", "response.output_item.added"));
    assert_eq!(*kinds.last().unwrap(), "response.completed");
    let output = &first.last().unwrap()["response"]["output"];
    assert_eq!(output[0]["content"][0]["text"], "the stable ");
    assert_eq!(
        (&output[1]["name"], &output[1]["arguments"]),
        (&json!("exec_command"), &json!("{\"command\":\"make\"}"))
    );
    let result = json!({"type": "function_call_output", "call_id": "x", "output": "ok"});
    let body = json!({"model": "m", "stream": true, "tools": tools, "input": [user, output[1], result]});
    let second = events(&ask(&server, "/v1/responses", &body));
    assert_eq!(second.last().unwrap()["response"]["output"][0]["content"][0]["text"], "done");
}

#[test]
fn a_tool_that_takes_a_text_is_called_with_one() {
    let server = start();
    let body = json!({"model": "m", "stream": true, "tools": [{"type": "custom", "name": "shell"}],
                      "input": [{"role": "user", "content": "[[tool make]]"}]});
    let events = events(&ask(&server, "/v1/responses", &body));
    let item = &events.last().unwrap()["response"]["output"][0];
    assert_eq!((&item["type"], &item["input"]), (&json!("custom_tool_call"), &json!("make")));
}

#[test]
fn chat_streams_text_and_tool_calls() {
    let server = start();
    let tools = json!([{"type": "function", "function": {"name": "bash", "parameters": schema()}}]);
    let user = json!({"role": "user", "content": TOOL_TURN});
    let body = json!({"model": "m", "stream": true, "tools": tools, "messages": [user]});
    let answer = ask(&server, "/v1/chat/completions", &body);
    let chunks = events(&answer);
    let text: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "the stable ");
    let call = chunks.iter().find_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0")).unwrap();
    assert_eq!(call["function"], json!({"name": "bash", "arguments": "{\"command\":\"make\"}"}));
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
    assert!(answer.contains("data: [DONE]"));
    let result = json!({"role": "tool", "tool_call_id": "x", "content": "ok"});
    let body = json!({"model": "m", "tools": tools, "messages": [user, {"role": "assistant"}, result]});
    let answer = json_body(&ask(&server, "/v1/chat/completions", &body));
    assert_eq!(answer["choices"][0]["message"]["content"], "done");
}

#[test]
fn google_streams_text_and_tool_calls() {
    let server = start();
    let function = json!({"name": "run_shell_command", "parametersJsonSchema": schema()});
    let tools = json!([{"functionDeclarations": [function]}]);
    let user = json!({"role": "user", "parts": [{"text": TOOL_TURN}]});
    let body = json!({"tools": tools, "contents": [user]});
    let chunks = events(&ask(&server, "/v1beta/models/m:streamGenerateContent?alt=sse", &body));
    let parts: Vec<&Value> =
        chunks.iter().map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]).collect();
    let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(text, "the stable ");
    let call = json!({"name": "run_shell_command", "args": {"command": "make"}});
    assert_eq!(parts.last().unwrap()["functionCall"], call);
    assert_eq!(chunks.last().unwrap()["candidates"][0]["finishReason"], "STOP");
    let result = json!({"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {}}}]});
    let body = json!({"tools": tools, "contents": [user, {"role": "model", "parts": []}, result]});
    let answer = json_body(&ask(&server, "/v1beta/models/m:generateContent", &body));
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "done");
    assert_eq!(json_body(&ask(&server, "/v1beta/models/m:countTokens", &body))["totalTokens"], 100);
}

#[test]
fn errors_have_their_status_and_are_told_in_the_format() {
    let server = start();
    let tools = json!([{"name": "Bash", "input_schema": schema()}]);
    let messages = json!([{"role": "user", "content": "[[status 429 retry-after 2]] [[say 1 words]]"}]);
    let body = json!({"model": "m", "stream": true, "tools": tools, "messages": messages});
    let answer = ask(&server, "/v1/messages", &body);
    assert!(
        answer.starts_with("HTTP/1.1 429 ") && answer.to_lowercase().contains("retry-after: 2\r\n"),
        "{answer}"
    );
    assert_eq!(json_body(&answer)["error"]["type"], "rate_limit_error");
    assert!(ask(&server, "/v1/messages", &body).starts_with("HTTP/1.1 200 "));
}

#[test]
fn the_log_tells_when_and_what() {
    let server = start();
    let user = "please [[silence 200ms]] [[say 3 words]]";
    let tools = json!([{"type": "function", "function": {"name": "bash", "parameters": schema()}}]);
    let body = json!({"stream": true, "tools": tools, "messages": [{"role": "user", "content": user}]});
    ask(&server, "/v1/chat/completions", &body);
    let log = server.log().entries();
    assert!(
        matches!(&log[0].event, Event::Received { turn: Some(1), reply: Some(1), user: heard, .. } if heard == user)
    );
    assert_eq!(log[1].event, Event::FirstByte);
    assert!(log[1].at - log[0].at >= 0.2, "{log:?}");
    assert!(
        matches!(&log[2].event, Event::LastByte { status: 200, more: false, text, .. } if text == "the stable is ")
    );
}

#[test]
fn a_client_that_hangs_up_is_noticed_in_the_middle_of_silence() {
    let server = start();
    let tools = json!([{"type": "function", "function": {"name": "bash", "parameters": schema()}}]);
    let messages = json!([{"role": "user", "content": "[[say 1 words]] [[silence 60s]]"}]);
    let body = json!({"stream": true, "tools": tools, "messages": messages});
    let mut stream = open(&server, "/v1/chat/completions", &body);
    stream.read_exact(&mut [0; 16]).unwrap();
    drop(stream);
    let left = || server.log().entries().iter().any(|entry| entry.event == Event::ClientLeft);
    until("the client is missed", || left().then_some(()));
}
