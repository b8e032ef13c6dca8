//! A session that has ended gets another process.

use std::fs;

use serde_json::Value;

use crate::support::{TestHome, kill, ostler, pid, until, until_gone};

/// Hooks that the agent's program runs itself, and a way to go on with a conversation.
const PRESET: &str = r#"
[session]
resume = ["--goes-on-with", "{id}"]
[hooks]
file = "hooks.json"
session_id = "/session_id"
[hooks.session]
args = ["--hooks"]
[hooks.events]
SessionStart = { fact = "session_started" }
UserPromptSubmit = { fact = "prompt_submitted", text = "/prompt" }
"#;

/// An agent that tells the id of its conversation and its first prompt, and writes down how it was called.
fn agent(home: &TestHome) -> String {
    let calls = home.file("calls");
    format!(
        "echo \"$@\" >> {}\n[ \"$1\" = --hooks ] && shift\n[ \"$1\" = --goes-on-with ] && shift 2\n\
         tell() {{ {ostler} hook \"$1\" --agent standin --per-session > /dev/null; }}\n\
         echo '{{\"session_id\":\"talk-7\"}}' | tell SessionStart\n\
         [ -e {said} ] || echo '{{\"session_id\":\"talk-7\",\"prompt\":\"hello\"}}' | tell UserPromptSubmit\n\
         : > {said}\nexec {ostler} stand-in \"$@\"\n",
        calls.display(),
        ostler = ostler().display(),
        said = home.file("said").display(),
    )
}

fn calls(home: &TestHome) -> Vec<String> {
    let calls = fs::read_to_string(home.file("calls")).unwrap();
    calls.lines().map(str::to_owned).collect()
}

fn resume(home: &TestHome, options: &[&str]) -> Value {
    let resumed = home.run([&["resume", "a", "--json", "--timeout", "60"], options].concat());
    serde_json::from_str(&resumed.ok()).unwrap()
}

#[test]
fn an_agent_comes_back_with_its_name_its_messages_and_its_conversation() {
    let home = TestHome::with_stand_in_and(PRESET);
    home.write_agent(&agent(&home));
    home.start_with("a", &["--timeout", "60"], &[]).ok();
    let first = home.status("a");
    assert_eq!((&first["process"], &first["conversation"]), (&1.into(), &"talk-7".into()));
    home.run(["resume", "a"]).fails(1, &["session \"a\" runs", "ostler attach a"]);
    home.deliver("a", "the first", &["--id", "one"]);

    // It crashes while a message waits for it.
    home.deliver("a", "sleep: 60", &[]);
    home.send("a", "too late", &["--id", "late", "--wait", "queued"]).ok();
    kill(pid(&home.status("a")["pid"]));
    home.wait("a", "exited");
    let refused = home.send("a", "to nobody", &["--json"]);
    let told: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!((&told["session"], &told["state"]), (&"a".into(), &"refused".into()));
    refused.fails(1, &["ostler resume a"]);

    let second = resume(&home, &[]);
    assert_eq!((&second["id"], &second["name"]), (&first["id"], &first["name"]));
    assert_eq!((&second["process"], &second["state"]), (&2.into(), &"idle".into()));
    assert_ne!(second["pid"], first["pid"]);
    assert_ne!(second["dir"], first["dir"], "each process has files of its own");
    let calls = calls(&home);
    assert!(calls[1].contains("--goes-on-with talk-7 --log"), "{calls:?}");
    let status = home.status("a");
    let past = status["past"].as_array().unwrap();
    assert_eq!((past.len(), &past[0]["number"], &past[0]["how"]), (1, &1.into(), &"killed".into()));

    // What was sent before is still known, and goes nowhere by itself.
    assert_eq!(home.message("a", "one")["proof"], "submitted");
    assert_eq!(home.message("a", "late")["state"], "failed");
    assert_eq!(
        home.deliver("a", "the first", &["--id", "one"])["attempts"],
        1,
        "the same message is not sent again"
    );
    home.run(["messages", "retry", "late"]).ok();
    home.await_message("a", "late", "delivered");
    home.deliver("a", "the second", &[]);

    // The next daemon finds the second process, not the first.
    home.kill_daemon();
    assert_eq!(home.status("a")["pid"], second["pid"]);
    home.deliver("a", "the third", &[]);
    let texts: Vec<String> = home.taken("a").into_iter().filter(|text| text != "sleep: 60").collect();
    assert_eq!(texts, ["the first", "too late", "the second", "the third"]);
    let events = home.ok(["events", "a", "--json"]);
    let resumed = events.lines().find(|event| event.contains("session.resumed")).unwrap();
    assert!(resumed.contains("talk-7"), "{resumed}");
}

#[test]
fn a_conversation_is_begun_anew_where_it_cannot_go_on_or_should_not() {
    let home = TestHome::with_stand_in_and(PRESET);
    home.write_agent(&agent(&home));
    home.start_with("a", &["--timeout", "60"], &[]).ok();
    home.run(["stop", "a"]).ok();
    let fresh = resume(&home, &["--fresh"]);
    assert_eq!(fresh["process"], 2);
    home.run(["stop", "a"]).ok();
    // Nothing was said in the second conversation: there is none to go on with.
    let again = home.run(["resume", "a", "--timeout", "60", "--", "--reply", "anew"]).ok();
    assert_eq!(again.trim(), "a");
    let calls = calls(&home);
    assert!(!calls.iter().any(|call| call.contains("goes-on-with")), "{calls:?}");
    assert_eq!(calls[2], "--hooks --reply anew", "arguments replace those of the start");
    assert_eq!(home.status("a")["past"].as_array().unwrap().len(), 2);
}

#[test]
fn any_program_can_be_run_again_but_not_twice_at_once() {
    let home = TestHome::new();
    home.start_sh("one", "echo first; read line; echo got $line");
    home.ok(["send", "one", "--raw", "bye\r"]);
    home.ok(["wait", "one", "exited", "--timeout", "60"]);
    let resumed = home.json(["resume", "one", "--json"]);
    assert_eq!(resumed["process"], 2);
    home.await_screen("one", "first");
    home.ok(["send", "one", "--raw", "again\r"]);
    home.await_screen("one", "got again");
    home.ok(["wait", "one", "exited", "--timeout", "60"]);

    // Another session has the name by now.
    home.start_sh("one", "read line");
    let id = resumed["id"].as_str().unwrap();
    home.run(["resume", id]).fails(1, &["one"]);
    home.run(["resume", "nobody"]).fails(1, &["there is no session called \"nobody\""]);
}

#[test]
fn a_session_whose_agent_outlived_its_terminal_is_not_run_twice() {
    let home = TestHome::new();
    let started = home.start_sh("one", "trap '' HUP; while :; do sleep 1; done");
    home.await_screen("one", "");
    let holder = pid(&home.status("one")["holder"]);
    kill(holder);
    until("the session is lost", || (home.status("one")["state"] == "exited").then_some(()));
    home.run(["resume", "one"]).fails(1, &["outlived its terminal", "ostler stop one"]);
    home.ok(["stop", "one"]);
    let resumed = home.json(["resume", "one", "--json"]);
    assert_eq!(resumed["process"], 2);
    assert_ne!(resumed["pid"], started["pid"]);
}

#[test]
fn a_session_that_died_with_its_daemon_is_resumed_at_once() {
    let home = TestHome::new();
    home.start_sh("one", "echo here; read line");
    home.await_screen("one", "here");
    let status = home.status("one");
    home.kill_daemon();
    kill(pid(&status["holder"]));
    kill(pid(&status["pid"]));
    // The first command of all: nobody has told ostler yet.
    assert_eq!(home.json(["resume", "one", "--json"])["process"], 2);
}

#[test]
fn what_is_being_stopped_is_not_resumed_into_its_own_end() {
    let home = TestHome::new();
    home.start_sh(
        "one",
        "(trap '' TERM; exec setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done') & exit 0",
    );
    home.ok(["wait", "one", "exited", "--timeout", "60"]);
    let mut stopping = home.command(["stop", "one", "--grace", "3"]).spawn().unwrap();
    // Refused while it is being stopped; then it runs, and goes on running.
    let resumed = until("it is resumed", || {
        let done = home.run(["resume", "one", "--no-wait", "--json"]);
        (done.code == 0).then(|| serde_json::from_str::<Value>(&done.out).unwrap())
    });
    stopping.wait().unwrap();
    let past = home.status("one");
    assert_eq!(past["exit"]["signal"], Value::Null, "{past} {resumed}");
    home.ok(["wait", "one", "exited", "--timeout", "60"]);
    home.ok(["stop", "one", "--grace", "0"]);
}

#[test]
fn what_an_agent_reported_before_it_ended_without_a_daemon_is_heard() {
    let home = TestHome::with_stand_in_and(PRESET);
    let go = home.file("go");
    // It takes a prompt, says so, and ends; when it is called again it goes on.
    home.write_agent(&format!(
        "echo \"$@\" >> {calls}\n[ -e {go}.done ] && shift 3 && exec {ostler} stand-in \"$@\"\n\
         tell() {{ {ostler} hook \"$1\" --agent standin --per-session > /dev/null; }}\n\
         until [ -e {go} ]; do sleep 0.05; done\n: > {go}.done\n\
         echo '{{\"session_id\":\"talk-9\"}}' | tell SessionStart\n\
         echo '{{\"session_id\":\"talk-9\",\"prompt\":\"hello\"}}' | tell UserPromptSubmit\nexit 3\n",
        calls = home.file("calls").display(),
        go = go.display(),
        ostler = ostler().display(),
    ));
    home.start("a", &[]);
    let program = pid(&home.status("a")["pid"]);
    home.kill_daemon();
    fs::write(&go, "").unwrap();
    until_gone("the agent has ended", program);
    let ended = home.wait("a", "exited");
    assert_eq!(ended["exit"]["status"], 3);
    resume(&home, &[]);
    let calls = calls(&home);
    assert!(calls[1].contains("--goes-on-with talk-9"), "{calls:?}");
}
