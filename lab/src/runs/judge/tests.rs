use serde_json::json;

use super::*;

const SCENE: &str = r#"
shows = "x"
agents = ["a", "b"]
task = "Do it."
check = "true"
plays = []
[expect]
outcome = "done"
turns = [["a", "rate limit"], ["b", "idle"]]
breakers = { a = ["open", "rate_limit"] }
shut_for = { a = [30.0, 60.0] }
created = ["one.txt"]
within = 60.0
[[expect.heard]]
agent = "a"
[[expect.heard]]
agent = "b"
block = """
--- BEGIN ---
one.txt
--- END ---
"""
"#;

fn evidence() -> Evidence {
    let told = |agent: &str, text: &str| RequestText { at: 0.0, agent: agent.into(), text: text.into() };
    let turn = |provider: &str, reason: &str| json!({ "provider": provider, "reason": reason });
    let turns = json!([turn("a", "rate limit exceeded"), turn("b", "idle")]);
    let run = json!({
        "outcome": { "outcome": "done" },
        "attempts": [{ "turns": turns }],
        "prompts": [{ "original": "Do it.\n" }],
        "files": { "created": ["one.txt"] },
    });
    let shut = json!({ "provider": "a", "breaker": "open", "reason": "rate_limit", "until": "1970-01-01T00:01:00Z" });
    let providers = json!({ "providers": [shut] });
    Evidence {
        first: Seen { run, said: String::new(), seconds: 20.0, providers: providers.clone() },
        told: vec![told("a", "Do it."), told("b", "--- BEGIN ---\none.txt\n--- END ---\n\nDo it.\n")],
        at: 10.0,
        providers_after: providers,
        second: None,
    }
}

#[test]
fn what_is_as_it_should_be_has_no_fault() {
    assert_eq!(faults(&toml::from_str(SCENE).unwrap(), &evidence()), [""; 0]);
}

#[test]
fn whatever_is_wrong_is_said() {
    type Spoil = fn(&mut Evidence);
    let table: [(&str, Spoil); 10] = [
        ("it ends with given_up", |seen| seen.first.run["outcome"]["outcome"] = json!("given_up")),
        ("the turns are", |seen| seen.first.run["attempts"][0]["turns"][0]["reason"] = json!("idle")),
        ("it took 61 s", |seen| seen.first.seconds = 61.0),
        ("were asked", |seen| drop(seen.told.pop())),
        ("were asked", |seen| seen.told.push(seen.told[1].clone())),
        ("heard first", |seen| seen.told[1].text.insert_str(0, "Hello ")),
        ("not the whole task", |seen| seen.told[1].text.push_str("and more")),
        ("the breakers are", |seen| seen.first.providers["providers"][0]["reason"] = json!("auth")),
        ("the next daemon knows", |seen| seen.providers_after = json!({ "providers": [] })),
        ("is shut for", |seen| seen.at = 100.0),
    ];
    for (complaint, spoil) in table {
        let mut evidence = evidence();
        spoil(&mut evidence);
        let faults = faults(&toml::from_str(SCENE).unwrap(), &evidence);
        assert!(faults.iter().any(|fault| fault.contains(complaint)), "{complaint}: {faults:?}");
    }
}
