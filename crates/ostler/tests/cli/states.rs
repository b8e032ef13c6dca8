//! What an agent is doing, as users hear of it.

use std::fs;
use std::io::Write;
use std::net::TcpListener;

use serde_json::Value;

use crate::stand_in::PRESET;
use crate::support::{TestHome, ostler, until};

#[track_caller]
fn start(home: &TestHome, options: &[&str], flags: &[&str]) -> Value {
    serde_json::from_str(&home.start_with("a", &[&["--json"], options].concat(), flags).ok()).unwrap()
}

fn wait(home: &TestHome, states: &str) -> Value {
    home.json(["wait", "a", states, "--timeout", "30", "--json"])
}

/// The stops that were recorded of a session: what triggered each.
fn stops(home: &TestHome) -> Vec<String> {
    let events = home.ok(["events", "a", "--json"]);
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let stopped = events.filter(|event| event["event"] == "session.stopped");
    stopped.map(|event| event["details"]["trigger"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_stop_is_recorded_once_for_every_prompt_whoever_gave_it() {
    let home = TestHome::with_stand_in();
    start(&home, &[], &[]);
    wait(&home, "idle");
    assert_eq!(stops(&home), Vec::<String>::new(), "nothing was asked of it");
    home.deliver("a", "first !work 300ms", &[]);
    until("the first stop is recorded", || (stops(&home).len() == 1).then_some(()));
    home.ok(["send", "a", "--raw", "typed by hand !work 300ms\r"]);
    until("the second stop is recorded", || (stops(&home).len() == 2).then_some(()));
    home.kill_daemon();
    home.deliver("a", "third !permission ls", &[]);
    until("the dialog is recorded", || (stops(&home).len() == 3).then_some(()));
    home.ok(["stop", "a"]);
    until("the end is recorded", || (stops(&home).len() == 4).then_some(()));
    assert_eq!(stops(&home), ["turn_ended", "turn_ended", "dialog_open", "pty_exit"]);
}

#[test]
fn rules_of_a_users_preset_tell_what_the_agent_does() {
    let home = TestHome::with_stand_in();
    let started = start(&home, &[], &[]);
    assert_eq!(started["agent"], "standin");
    wait(&home, "idle");
    home.ok(["send", "a", "--raw", "!work 2s\r"]);
    wait(&home, "working");
    wait(&home, "idle");
    home.ok(["send", "a", "--raw", "!permission rm -r build\r"]);
    let blocked = wait(&home, "blocked");
    assert_eq!((&blocked["state"], &blocked["kind"]), (&"blocked".into(), &"permission".into()));
    assert!(blocked["confidence"].as_f64().unwrap() > 0.9, "{blocked}");
    let explained = home.json(["explain", "a", "--json"]);
    assert_eq!(explained["rules"][0]["rule"], "permission");
    assert!(home.ok(["explain", "a"]).contains("screen: rule permission"));
    home.ok(["send", "a", "--raw", "1"]);
    wait(&home, "idle");
}

#[test]
fn an_agents_own_word_is_believed_at_once_and_quoted_text_is_not() {
    let home = TestHome::with_stand_in();
    start(&home, &[], &["--status"]);
    let idle = wait(&home, "idle");
    assert!(idle["because"][0].as_str().unwrap().contains("program status"), "{idle}");
    home.ok([
        "send",
        "a",
        "--raw",
        "!say Do you want to proceed? 1. Yes 2. No (esc to interrupt) Working… (3s)\r",
    ]);
    home.await_screen("a", "● Do you want");
    wait(&home, "idle");
}

#[test]
fn a_killed_daemon_comes_back_without_calling_a_working_agent_idle() {
    let home = TestHome::with_stand_in();
    start(&home, &[], &[]);
    wait(&home, "idle");
    home.ok(["send", "a", "--raw", "!work 8s\r"]);
    wait(&home, "working");
    for _ in 0..5 {
        home.kill_daemon();
        assert_eq!(home.status("a")["state"], "working");
    }
    wait(&home, "idle");
    let states: Vec<Value> = home
        .ok(["events", "a", "--json"])
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "session.state")
        .map(|event| event["details"]["state"].clone())
        .collect();
    assert_eq!(states.iter().filter(|state| **state == "idle").count(), 2, "{states:?}");
}

#[test]
fn changed_rules_are_used_by_a_running_session() {
    let home = TestHome::with_stand_in();
    start(&home, &[], &[]);
    wait(&home, "idle");
    home.write_preset(&format!("{PRESET}\n[rules.composer.when]\ncomposer = true\n"));
    // A file that is wrong changes nothing; the next one does.
    assert_eq!(home.status("a")["state"], "idle");
    home.write_preset(&PRESET.replace("state = \"idle\"", "state = \"limited\"\nkind = \"quota\""));
    let limited = wait(&home, "limited");
    assert_eq!(limited["kind"], "quota");
}

#[test]
fn a_shell_that_reads_from_its_terminal_is_idle_and_one_that_sleeps_is_not() {
    let home = TestHome::new();
    home.start_sh("a", "echo ready; read x; echo busy; sleep 600");
    let idle = home.json(["wait", "a", "idle", "--timeout", "30", "--json"]);
    assert!(idle["because"].to_string().contains("reads from the terminal"), "{idle}");
    home.ok(["send", "a", "--raw", "\n"]);
    home.await_screen("a", "busy");
    until("it is no longer idle", || (home.status("a")["state"] != "idle").then_some(()));
}

#[test]
fn a_child_that_ends_without_a_word_is_noticed() {
    let home = TestHome::new();
    let fifo = home.scratch().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    home.start_sh("a", &format!("echo busy; (read x < {}); read y", fifo.display()));
    until("its child is seen", || home.ok(["explain", "a"]).contains("1 below it").then_some(()));
    assert_ne!(home.status("a")["state"], "idle");
    fs::write(&fifo, "\n").unwrap();
    let idle = wait(&home, "idle");
    assert!(idle["because"].to_string().contains("reads from the terminal"), "{idle}");
}

#[test]
fn a_program_that_waits_for_the_network_is_working() {
    let home = TestHome::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo question >&3; echo asked; exec sleep 600");
    home.ok(["start", "bash", "--name", "a", "--", "-c", &script]);
    let (mut connection, _) = server.accept().unwrap();
    let working = wait(&home, "working");
    assert_eq!(working["because"][0], "it waits for an answer from the network");
    connection.write_all(b"answer\n").unwrap();
    until("the answer is noticed", || (home.status("a")["state"] != "working").then_some(()));
}

#[test]
fn a_recording_replays_to_what_was_said_live() {
    let home = TestHome::with_stand_in();
    let session = start(&home, &["--record", "8"], &[]);
    wait(&home, "idle");
    home.ok(["send", "a", "--raw", "!work 1s\r"]);
    wait(&home, "working");
    wait(&home, "idle");
    home.ok(["stop", "a"]);
    let cast = format!("{}/session.cast", session["dir"].as_str().unwrap());
    let replayed = || home.ok(["replay", &cast, "--json"]);
    let first = replayed();
    assert_eq!(first, replayed(), "the same every time");
    let states: Vec<Value> =
        first.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["state"].clone()).collect();
    assert!(
        states.starts_with(&["starting".into(), "idle".into(), "working".into(), "idle".into()]),
        "{states:?}"
    );
    assert!(!fs::read_to_string(&cast).unwrap().contains("\"i\",\"!work"), "what was typed is not kept");
    // The user's settings count here too.
    let settings = home.path().join("config/config.toml");
    fs::write(&settings, "[detector]\nstartup_confirm_ms = 600000\n").unwrap();
    let patient: Value = serde_json::from_str(replayed().lines().nth(1).unwrap()).unwrap();
    assert_eq!(patient["state"], "working");
    fs::write(&settings, "[detector]\nstartup = 1\n").unwrap();
    let wrong = home.run(["replay", &cast, "--json"]);
    assert!(wrong.err.contains("config.toml:2: detector.startup: unknown field"), "{wrong:?}");
    assert_eq!(wrong.ok(), first);
}

#[test]
fn a_wrapped_agent_is_what_the_user_says() {
    let home = TestHome::with_stand_in();
    let program = ostler().to_str().unwrap();
    let started = home.json(["start", program, "--as", "standin", "--name", "a", "--json", "--", "stand-in"]);
    assert_eq!(started["agent"], "standin");
    let idle = wait(&home, "idle");
    assert_eq!(idle["because"][0], "screen: rule composer");
    home.run(["start", program, "--as", "nobody"])
        .fails(2, &["no agent is called \"nobody\"", "ostler agents list"]);
}
