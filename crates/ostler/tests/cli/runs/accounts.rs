//! Whose trouble shuts out whom.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::shared::Server;
use super::team::reasons;
use crate::support::{Done, TestHome};

/// Adds an agent that is another stand-in for the key `sk-one` and for settings in `/elsewhere` than for all others.
fn with_accounts(home: &TestHome, name: &str, one: &str, others: &str) {
    home.preset(name);
    let preset = home.file("home/config/agents").join(format!("{name}.toml"));
    let text =
        fs::read_to_string(&preset).unwrap().replace("[run]\n", "[run]\nkeys = [\"A_TOKEN\", \"A_KEY\"]\n");
    fs::write(preset, text + "\n[config]\nenv = \"A_HOME\"\n").unwrap();
    let program = home.file("bin").join(name);
    let is_one = r#"[ "$A_KEY" = sk-one ] || [ "$A_HOME" = /elsewhere ]"#;
    fs::write(&program, format!("#!/bin/sh\n{is_one} && exec {one} \"$@\"\nexec {others} \"$@\"\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a task in an environment; returns who was asked, and what came of it.
#[track_caller]
fn task_with(home: &TestHome, variable: (&str, &str), agents: &str) -> Vec<(String, String)> {
    let args = ["run", "Do it.", "--json", "--agent", agents, "--check", "true"];
    let done = Done::from(&home.command(args).env(variable.0, variable.1).output().unwrap());
    assert_eq!(done.code, 0, "{done:?}");
    reasons(&serde_json::from_str(&done.out).unwrap())
}

fn rows(home: &TestHome, provider: &str) -> Vec<Value> {
    let all = home.json(["providers", "--json"])["providers"].clone();
    all.as_array().unwrap().iter().filter(|known| known["provider"] == provider).cloned().collect()
}

fn told(turns: &[(&str, &str)]) -> Vec<(String, String)> {
    turns.iter().map(|(provider, reason)| ((*provider).into(), (*reason).into())).collect()
}

#[test]
fn each_account_has_a_breaker_of_its_own() {
    let home = TestHome::with_repository();
    home.agent("limited", "", &["!limit 7pm"]).agent("fine", "--status", &["!say done"]);
    home.agent("b", "--status", &["!say done"]);
    with_accounts(&home, "a", "limited", "fine");
    let (limited, fine) = (told(&[("a", "quota used up"), ("b", "idle")]), told(&[("a", "idle")]));
    assert_eq!(task_with(&home, ("A_KEY", "sk-one"), "a,b"), limited);
    // Other keys, the login of this machine, and settings elsewhere are other accounts.
    assert_eq!(task_with(&home, ("A_KEY", "sk-two"), "a,b"), fine);
    assert_eq!(task_with(&home, ("A_KEY", ""), "a,b"), fine);
    assert_eq!(task_with(&home, ("A_HOME", "/elsewhere"), "a,b"), limited);
    for shut in [("A_KEY", "sk-one"), ("A_HOME", "/elsewhere")] {
        assert_eq!(task_with(&home, shut, "a,b"), told(&[("b", "idle")]), "{shut:?}");
    }

    home.kill_daemon();
    let rows = rows(&home, "a");
    let accounts: Vec<&str> = rows.iter().map(|row| row["account"].as_str().unwrap()).collect();
    assert!(accounts[0].starts_with("dir-") && accounts[1].starts_with("key-"), "{rows:?}");
    assert!(rows.iter().all(|row| row["reason"] == "quota" && row["machine"].is_null()), "{rows:?}");
    let shown = home.run(["providers"]).ok();
    assert!(shown.contains(&format!("a@{} open (quota) until 20", accounts[1])), "{shown}");
    assert!(!shown.contains("sk-one"), "{shown}");

    // One account, then all of them.
    let shown = home.run(["providers", "reset", &format!("a@{}", accounts[1])]).ok();
    assert!(shown.contains(&format!("a@{} closed\n", accounts[1])), "{shown}");
    assert!(shown.contains(&format!("a@{} open", accounts[0])), "{shown}");
    assert_eq!(task_with(&home, ("A_KEY", "sk-one"), "a,b"), limited);
    let shown = home.run(["providers", "reset", "a"]).ok();
    assert_eq!((shown.matches(" closed\n").count(), shown.matches(" open").count()), (2, 0), "{shown}");
}

#[test]
fn trouble_of_a_machine_is_its_own_and_a_limit_is_everybodys() {
    let Some(server) = Server::start() else { return };
    let (here, there) = (server.home(), server.home());
    for home in [&here, &there] {
        home.agent("b", "--status", &["!say done"]).agent("limited", "", &["!limit 7pm"]);
    }
    let table = [
        ("outside", "!error 401 Unauthorized", "login refused", "auth"),
        ("broken", "!exit 3", "agent crashed (status 3)", "crash"),
    ];
    for (name, act, reason, why) in table {
        here.agent(name, "", &[act]);
        there.agent(name, "--status", &["!say done"]);
        let agents = format!("{name},b");
        let task = ["--agent", &agents, "--check", "true"];
        assert_eq!(reasons(&here.task(0, &task)), told(&[(name, reason), ("b", "idle")]));
        assert_eq!(reasons(&here.task(0, &task)), told(&[("b", "idle")]), "it is left alone here");
        assert_eq!(reasons(&there.task(0, &task)), told(&[(name, "idle")]), "and used elsewhere");
        let (own, others) = (rows(&here, name), rows(&there, name));
        assert_eq!((own.len(), &own[0]["reason"], &own[0]["machine"]), (1, &why.into(), &"this".into()));
        assert_eq!((others.len(), &others[0]["breaker"]), (1, &"open".into()));
        assert_ne!(others[0]["machine"], "this");
        let shown = here.run(["providers"]).ok();
        assert!(shown.contains(&format!("{name:<12} open ({why}) until ")), "{shown}");
        assert!(shown.contains("Z, on this machine\n"), "{shown}");
        assert!(there.run(["providers"]).ok().contains("Z, on machine "));
    }
    let task = ["--agent", "limited,b", "--check", "true"];
    assert_eq!(reasons(&here.task(0, &task)), told(&[("limited", "quota used up"), ("b", "idle")]));
    assert_eq!(reasons(&there.task(0, &task)), told(&[("b", "idle")]));
    assert_eq!(there.breaker("limited"), ("open".into(), "quota".into()));

    // A person says so for all, wherever they are.
    there.run(["providers", "reset"]).ok();
    for name in ["outside", "broken", "limited"] {
        // One of another machine with nothing to say may be forgotten.
        assert!(["closed", ""].contains(&&*here.breaker(name).0), "{name}");
    }
    here.agent("outside", "--status", &["!say done"]);
    let task = ["--agent", "outside,b", "--check", "true"];
    assert_eq!(reasons(&here.task(0, &task)), told(&[("outside", "idle")]));
}
