//! Talking with an agent: what it answered, and stopping its turn.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::stand_in::PRESET;
use crate::support::{TRANSCRIPT, TestHome};

const SPEECH: &str = "[conversation]\nprompt = '^> '\nreply = '^● '\n";

/// A home whose agent writes down what was said: the test does that for it.
struct Scribe(TestHome);

impl Scribe {
    fn new() -> Self {
        let home = TestHome::with_stand_in();
        let ends = "[[transcript.records]]\nfact = \"turn_ended\"\nwhen = { \"/type\" = \"end\" }\n";
        let tools = "[[transcript.records]]\nfact = \"tool_started\"\nwhen = { \"/type\" = \"tool\" }\n";
        let transcript = TRANSCRIPT.replace("cwd = \"/cwd\"", "cwd = \"/cwd\"\ntime = \"/time\"");
        let place = "[config]\nenv = \"STAND_IN_HOME\"\n";
        home.write_preset(&format!("{PRESET}{SPEECH}{place}{transcript}{ends}{tools}"));
        fs::create_dir_all(home.file("agent/chats")).unwrap();
        let scribe = Self(home);
        let variable = format!("STAND_IN_HOME={}", scribe.0.file("agent").display());
        scribe.0.start_with("a", &["--env", &variable], &[]).ok();
        scribe.0.wait("a", "idle");
        scribe
    }

    fn write(&self, kind: &str, text: &str) {
        let time = jiff::Timestamp::now().to_string();
        let record = json!({ "cwd": self.0.project(), "type": kind, "text": text, "time": time });
        let file = self.0.file("agent/chats/a.jsonl");
        let mut file = fs::File::options().create(true).append(true).open(file).unwrap();
        writeln!(file, "{record}").unwrap();
    }
}

#[test]
fn an_answer_is_what_the_transcript_has_of_that_very_message() {
    let scribe = Scribe::new();
    let home = &scribe.0;
    home.run(["transcript", "a"]).fails(1, &["no transcript of \"a\" was found", "ostler logs a"]);
    let first = home.begin_send("a", b"!work 300ms", &["--wait", "reply", "--timeout", "60", "--json"]);
    home.await_log("a", "submitted", 1);
    scribe.write("user", "!work 300ms");
    scribe.write("assistant", "I look.");
    scribe.write("tool", "");
    // The screen says that it is done, and the words are still to come.
    home.await_log("a", "done", 1);
    scribe.write("assistant", "It is broken.\n\nMend it?");
    scribe.write("end", "");
    let reply: Value = serde_json::from_str(&first.finish().ok()).unwrap();
    assert_eq!((&reply["answer"], &reply["outcome"]), (&json!("It is broken.\n\nMend it?"), &json!("done")));
    assert_eq!(reply["source"], "transcript");
    assert_eq!(home.ok(["last", "a"]), "It is broken.\n\nMend it?\n");
    // The next one, while somebody follows.
    let mut follow = home.command(["transcript", "a", "-f", "--json"]);
    let follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let second = home.begin_send("a", b"!work 300ms yes", &["--wait", "reply", "--timeout", "60"]);
    home.await_log("a", "submitted", 2);
    scribe.write("user", "!work 300ms yes");
    scribe.write("assistant", "Mended.");
    scribe.write("end", "");
    assert_eq!(second.finish().ok(), "Mended.\n");
    let answers = home.json(["last", "a", "-n", "2", "--json"]);
    let said =
        |at: usize| (answers["answers"][at]["prompt"].clone(), answers["answers"][at]["answer"].clone());
    assert_eq!(said(0), (json!("!work 300ms"), json!("It is broken.\n\nMend it?")));
    assert_eq!(said(1), (json!("!work 300ms yes"), json!("Mended.")));
    assert!(home.ok(["transcript", "a"]).contains("] > !work 300ms yes\n\n["));
    assert_eq!(home.ok(["transcript", "a", "--since", "2100-01-01T00:00:00Z"]), "");
    // Asked again under its id, the same is said; also when the program has ended.
    home.ok(["stop", "a"]);
    assert_eq!(home.ok(["last", "a"]), "Mended.\n");
    let told = String::from_utf8(follow.wait_with_output().unwrap().stdout).unwrap();
    let kinds: Vec<Value> =
        told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].clone()).collect();
    assert_eq!(kinds, ["prompt", "said", "said", "ended", "prompt", "said", "ended"]);
}

#[test]
fn without_a_transcript_the_screen_has_the_answer_and_a_dialog_is_none() {
    let home = TestHome::with_stand_in_and(SPEECH);
    home.start("a", &["--word-pace", "1"]);
    home.wait("a", "idle");
    home.run(["last", "a"]).fails(1, &["no answer of \"a\" is known", "ostler screen a"]);
    let reply = ["--wait", "reply", "--timeout", "60"];
    assert_eq!(home.send("a", "!work 200ms !say all is well", &reply).ok(), "all is well\n");
    assert_eq!(home.ok(["last", "a"]), "all is well\n");
    home.run(["send", "a", "/x", "--command", "--wait", "reply"]).fails(2, &["may begin no turn"]);
    home.send("a", "!permission make", &[&reply[..], &["--id", "asks"]].concat())
        .fails(5, &["the agent asks something", "ostler answer a", "--id asks"]);
}

#[test]
fn a_turn_is_interrupted_and_it_is_said_what_became_of_it() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.wait("a", "idle");
    assert_eq!(home.ok(["interrupt", "a"]), "a had nothing to interrupt: it is idle\n");
    let brief = ["--wait", "reply", "--timeout", "1"];
    home.send("a", "!work 5m", &brief).fails(4, &["still at work", "--id"]);
    assert_eq!(home.ok(["interrupt", "a"]), "a interrupted: it is idle now\n");
    assert_eq!(home.count("a", "interrupted"), 1);
    home.deliver("a", "!permission make", &[]);
    home.wait("a", "blocked");
    let said = home.run(["interrupt", "a", "--json"]);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&told["outcome"], &told["pressed"]), (&json!("dialog"), &json!(false)));
    said.fails(5, &["nothing was pressed: a dialog is open", "ostler answer a"]);
    assert_eq!((home.count("a", "interrupted"), home.count("a", "answered")), (1, 0));
    home.start_sh("plain", "sleep 600");
    home.run(["interrupt", "plain"]).fails(2, &["how to interrupt", "input.interrupt"]);
    home.ok(["stop", "plain"]);
    home.run(["interrupt", "plain"]).fails(1, &["has ended"]);
}

/// The dialog that is open.
fn dialog(home: &TestHome) -> Value {
    home.json(["answer", "a", "--json"])["dialog"].clone()
}

/// What was chosen in the agent's dialogs.
fn chosen(home: &TestHome) -> Vec<Value> {
    let log = home.log("a").into_iter().filter(|record| record["event"] == "answered");
    log.map(|record| record["choice"].clone()).collect()
}

#[test]
fn a_dialog_is_shown_and_that_one_is_answered() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.wait("a", "idle");
    home.run(["answer", "a"]).fails(1, &["no dialog is open: \"a\" is idle"]);
    home.deliver(
        "a",
        "!permission rm -r build !work 300ms !permission rm -r build !work 300ms !question Which way?",
        &[],
    );
    home.wait("a", "blocked");
    let first = dialog(&home)["id"].as_str().unwrap().to_owned();
    let shown = home.ok(["answer", "a"]);
    assert_eq!(
        shown.replace(&first, "[id]"),
        "a asks (permission), dialog [id]\n  Shell command\n  rm -r build\n  Do you want to proceed?\n\n> 1. Yes\n  \
         2. Yes, and always allow this command  (--always)\n  3. No\n"
    );
    home.run(["answer", "a", "perhaps"]).fails(2, &["no choice \"perhaps\"", "Yes · Yes, and always", "No"]);
    home.run(["answer", "a", "--text", "why?"]).fails(2, &["takes no words"]);
    // It is the same for another daemon, which answers it.
    home.kill_daemon();
    assert_eq!(dialog(&home)["id"], first);
    assert_eq!(home.ok(["answer", "a", "yes", "--dialog", &first]).lines().next(), Some("a answered: Yes"));
    // The next one says the same, and is another one.
    home.await_log("a", "dialog", 2);
    home.wait("a", "blocked");
    home.run(["answer", "a", "yes", "--dialog", &first]).fails(1, &["another dialog is open by now"]);
    assert_eq!(chosen(&home), ["Yes"]);
    home.ok(["answer", "a", "--always"]);
    home.await_log("a", "dialog", 3);
    home.wait("a", "blocked");
    assert_eq!(dialog(&home)["kind"], "question");
    home.run(["answer", "a", "--always"]).fails(2, &["no choice that allows it for good"]);
    home.ok(["answer", "a", "go right"]);
    assert_eq!(chosen(&home), ["Yes", "Yes, and always allow this command", "Go right"]);
    home.run(["interrupt", "a"]).ok();
}

#[test]
fn trust_is_answered_by_hand_both_ways() {
    for (answer, chosen_row) in [("yes", "Yes, I trust this folder"), ("no", "No, exit")] {
        let home = TestHome::with_stand_in();
        home.start("a", &["--trust-dialog"]);
        home.wait("a", "blocked");
        home.ok(["answer", "a", answer]);
        assert_eq!(chosen(&home), [chosen_row]);
    }
}

#[test]
fn logs_have_what_has_left_the_screen_of_an_agent_that_paints() {
    let home = TestHome::with_stand_in();
    home.start_with("a", &["--no-wait", "--size", "80x11"], &["--word-pace", "1", "--alt-screen"]).ok();
    home.wait("a", "idle");
    let follow = home.command(["logs", "a", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    for number in 1..=3 {
        home.deliver("a", &format!("!say answer {number}"), &[]);
        home.await_log("a", "done", number);
    }
    home.ok(["stop", "a"]);
    let followed = String::from_utf8(follow.wait_with_output().unwrap().stdout).unwrap();
    for (what, log) in [("log", home.ok(["logs", "a"])), ("followed", followed)] {
        let is_said = |line: &&str| line.starts_with('●') || line.starts_with("> ");
        let said: Vec<&str> = log.lines().filter(is_said).collect();
        let pair = |number| [format!("> !say answer {number}"), format!("● answer {number}")];
        assert_eq!(said, (1..=3).flat_map(pair).collect::<Vec<_>>(), "{what}: {log}");
    }
}

#[test]
fn logs_have_what_the_recording_has_and_nothing_else_any_more() {
    let home = TestHome::new();
    for (name, record) in [("recorded", &["--record", "4"][..]), ("not", &[])] {
        home.ok([&["start", "sh", "--name", name], record, &["--", "-c", "seq 60000"]].concat());
        home.ok(["wait", name, "exited", "--timeout", "30"]);
    }
    let log = home.run(["logs", "recorded"]);
    assert_eq!(log.err, "");
    let expected: Vec<String> = (1..=60_000).map(|number| format!("{number}\n")).collect();
    assert!(
        log.out == expected.concat(),
        "{} lines, from {:?}",
        log.out.lines().count(),
        log.out.lines().next()
    );
    assert!(home.run(["logs", "not"]).err.contains("are no longer kept"));
}
