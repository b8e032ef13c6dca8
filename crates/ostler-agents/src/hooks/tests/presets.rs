//! The built-in presets' hooks, with payloads of the real programs.

use std::path::Path;

use ostler_core::{Asking, Fact, Failure};
use serde_json::{Value, json};

use crate::BUILT_IN;
use crate::hooks::*;

fn spec(agent: &str) -> HookSpec {
    let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == agent).unwrap();
    let table: toml::Table = text.parse().unwrap();
    table["hooks"].clone().try_into().unwrap()
}

fn all() -> Vec<(&'static str, HookSpec)> {
    let with_hooks = |text: &str| text.parse::<toml::Table>().unwrap().contains_key("hooks");
    BUILT_IN.iter().filter(|(_, text)| with_hooks(text)).map(|(name, _)| (*name, spec(name))).collect()
}

fn facts(agent: &str, event: &str, payload: &Value) -> Vec<Fact> {
    decode(&spec(agent), event, payload.to_string().as_bytes()).facts
}

#[test]
fn events_mean_what_the_real_programs_mean() {
    let prompt = |text: &str| Fact::PromptSubmitted { text: Some(text.into()) };
    let asked = |kind| Fact::Asked { kind };
    let failed = |failure, detail: Option<&str>| Fact::TurnFailed { failure, detail: detail.map(Into::into) };
    let tool = |id: &str| Fact::ToolStarted { id: Some(id.into()) };
    let ended = Fact::TurnEnded { background: 0 };
    let table: Vec<(&str, &str, Value, Option<Fact>)> = vec![
        ("claude", "SessionStart", json!({ "source": "startup", "model": "m" }), Some(Fact::SessionStarted)),
        ("claude", "UserPromptSubmit", json!({ "prompt": "do it", "prompt_id": "p" }), Some(prompt("do it"))),
        (
            "claude",
            "PreToolUse",
            json!({ "tool_name": "Bash", "tool_use_id": "toolu_01" }),
            Some(tool("toolu_01")),
        ),
        ("claude", "PermissionRequest", json!({ "tool_name": "Bash" }), Some(asked(Asking::Permission))),
        ("claude", "PermissionRequest", json!({ "tool_name": "ExitPlanMode" }), Some(asked(Asking::Plan))),
        ("claude", "Notification", json!({ "notification_type": "idle_prompt" }), Some(Fact::IdleNotified)),
        ("claude", "Notification", json!({ "notification_type": "auth_success" }), None),
        ("claude", "Notification", json!({ "notification_type": 7 }), None),
        ("claude", "Stop", json!({ "stop_hook_active": false, "background_tasks": [] }), Some(ended.clone())),
        ("claude", "Stop", json!({ "background_tasks": [{}, {}] }), Some(Fact::TurnEnded { background: 2 })),
        (
            "claude",
            "StopFailure",
            json!({ "error": "rate_limit", "last_assistant_message": "API Error" }),
            Some(failed(Failure::RateLimit, Some("API Error"))),
        ),
        ("claude", "StopFailure", json!({ "error": "new_kind" }), Some(failed(Failure::Other, None))),
        ("claude", "SessionEnd", json!({ "reason": "prompt_input_exit" }), Some(Fact::SessionEnded)),
        ("claude", "SessionEnd", json!({ "reason": "clear" }), None),
        ("claude", "NoSuchEvent", json!({}), None),
        ("codex", "UserPromptSubmit", json!({ "prompt": "p", "turn_id": "t" }), Some(prompt("p"))),
        (
            "codex",
            "UserPromptSubmit",
            json!({ "prompt": "Generate a concise, single-line task title for…" }),
            None,
        ),
        ("codex", "Stop", json!({ "last_assistant_message": "done" }), Some(ended.clone())),
        ("codex", "Interrupt", json!({}), Some(Fact::Interrupted)),
        ("codex", "PermissionRequest", json!({ "tool_name": "Bash" }), Some(asked(Asking::Permission))),
        ("gemini", "BeforeAgent", json!({ "prompt": "p" }), Some(prompt("p"))),
        ("gemini", "BeforeModel", json!({ "llm_request": {} }), Some(Fact::TurnProgressed)),
        (
            "gemini",
            "Notification",
            json!({ "notification_type": "ToolPermission" }),
            Some(asked(Asking::Permission)),
        ),
        ("gemini", "AfterAgent", json!({ "prompt_response": "r" }), Some(ended.clone())),
        ("qwen", "Notification", json!({ "notification_type": "idle_prompt" }), Some(Fact::IdleNotified)),
        ("copilot", "userPromptSubmitted", json!({ "prompt": "p", "sessionId": "s" }), Some(prompt("p"))),
        (
            "copilot",
            "notification",
            json!({ "notification_type": "permission_prompt" }),
            Some(asked(Asking::Permission)),
        ),
        ("copilot", "agentStop", json!({ "stopReason": "end_turn" }), Some(ended.clone())),
        (
            "copilot",
            "errorOccurred",
            json!({ "errorContext": "model_call", "recoverable": true }),
            Some(Fact::Retrying { failure: Failure::Other }),
        ),
        ("cursor", "stop", json!({ "status": "completed" }), Some(ended.clone())),
        ("cursor", "stop", json!({ "status": "aborted" }), Some(Fact::Interrupted)),
        ("opencode", "session.status", json!({ "status": "busy" }), Some(Fact::TurnStarted)),
        ("opencode", "session.status", json!({ "status": "idle" }), None),
        ("opencode", "session.idle", json!({ "sessionID": "ses_1" }), Some(ended.clone())),
        ("opencode", "session.error", json!({ "error": "MessageAbortedError" }), Some(Fact::Interrupted)),
        ("opencode", "permission.asked", json!({ "sessionID": "ses_1" }), Some(asked(Asking::Permission))),
        ("pi", "agent_end", json!({ "stop": "stop" }), Some(ended.clone())),
        (
            "pi",
            "agent_end",
            json!({ "stop": "error", "message": "429" }),
            Some(failed(Failure::Other, Some("429"))),
        ),
        ("pi", "ui_prompt_start", json!({ "kind": "confirm" }), Some(asked(Asking::Dialog))),
        ("amp", "agent.end", json!({ "status": "cancelled" }), Some(Fact::Interrupted)),
        ("auggie", "PromptSubmit", json!({ "user_prompt": "p" }), Some(prompt("p"))),
    ];
    for (agent, event, payload, expected) in table {
        let shown = format!("{agent} {event} {payload}");
        assert_eq!(facts(agent, event, &payload), Vec::from_iter(expected), "{shown}");
    }
}

#[test]
fn who_speaks_and_where_the_transcript_is() {
    let payload = json!({
        "session_id": "0b7f", "transcript_path": "/home/u/.claude/projects/-w/0b7f.jsonl", "cwd": "/w",
        "hook_event_name": "Stop",
    });
    let decoded = decode(&spec("claude"), "Stop", payload.to_string().as_bytes());
    assert_eq!(decoded.agent_session.as_deref(), Some("0b7f"));
    assert_eq!(decoded.transcript.as_deref(), Some("/home/u/.claude/projects/-w/0b7f.jsonl"));
    assert_eq!(decoded.cwd.as_deref(), Some("/w"));
}

#[test]
fn every_agent_with_hooks_can_be_given_them() {
    let ostler = Path::new("/opt/my ostler/ostler");
    for (agent, spec) in all() {
        assert!(!spec.events.is_empty() && spec.file.is_some(), "{agent}");
        let text = install(&spec, agent, ostler, None).unwrap();
        assert_eq!(inspect(&spec, agent, ostler, Some(&text)), Ok(Found::Current), "{agent}");
        assert_eq!(install(&spec, agent, ostler, Some(&text)).unwrap(), text, "{agent}");
        assert!(remove(&spec, &text).unwrap().empty, "{agent}");
        if spec.format != Format::Program {
            for name in spec.events.keys() {
                assert!(text.contains(&format!("hook {name} --agent {agent}")), "{agent} {name}");
            }
        }
        for pointer in spec.events.values().flat_map(|event| {
            [&event.by, &event.text, &event.id, &event.detail, &event.background].into_iter().flatten()
        }) {
            assert!(pointer.starts_with('/'), "{agent}: {pointer} is no JSON pointer");
        }
        for event in spec.events.keys() {
            let Some(output) = context_output(&spec, event, "say \"hi\"\n") else { continue };
            assert!(output.contains("hi"), "{agent}");
            if output.starts_with('{') {
                serde_json::from_str::<Value>(&output).unwrap();
            }
        }
    }
}

#[test]
fn hooks_for_one_session_are_arguments_and_environment() {
    let dir = Path::new("/state/s1");
    let hooks = |agent: &str| session_hooks(agent, &spec(agent), Path::new("/bin/ostler"), dir).unwrap();
    let claude = hooks("claude");
    assert_eq!(claude.args[0], "--settings");
    let settings: Value = serde_json::from_str(&claude.args[1]).unwrap();
    let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    assert_eq!(command, "test ! -x /bin/ostler || /bin/ostler hook Stop --agent claude --per-session");
    assert_eq!(claude.env, [("OSTLER_HOOKS".to_owned(), "session".to_owned())]);

    let codex = hooks("codex");
    assert_eq!(codex.args.len(), 2 * (spec("codex").events.len() + 1));
    let overrides: Vec<&str> = codex.args.iter().skip(1).step_by(2).map(String::as_str).collect();
    let overrides: toml::Table = overrides.join("\n").parse().unwrap();
    let stop = &overrides["hooks"]["Stop"][0]["hooks"][0];
    assert!(stop["command"].as_str().unwrap().ends_with("--per-session"));
    let state = &overrides["hooks"]["state"]["/<session-flags>/config.toml:user_prompt_submit:0:0"];
    assert!(state["trusted_hash"].as_str().unwrap().starts_with("sha256:"));

    assert_eq!(hooks("pi").args, ["--extension", "/state/s1/ostler-extension.ts"]);
    assert!(session_hooks("cursor", &spec("cursor"), Path::new("/bin/ostler"), dir).is_none());
}
