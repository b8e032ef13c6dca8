//! Deliveries that outlive the daemon, and what the agent's hooks say of them.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::{TestHome, kill, ostler, pid, until, until_file};

#[test]
fn a_message_in_the_composer_is_found_there_by_the_next_daemon() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--swallow-enter", "2"]);
    let sending = home.begin_send("a", b"still there\nin two lines", &["--id", "m1", "--timeout", "60"]);
    for enters in 1..=2 {
        home.await_log("a", "swallowed", enters);
        home.kill_daemon();
    }
    sending.finish().ok();
    assert_eq!(home.taken("a"), ["still there\nin two lines"]);
    let message = home.message("a", "m1");
    assert_eq!((&message["attempts"], &message["enters"]), (&1.into(), &3.into()), "{message}");
}

/// Agents switch bracketed paste on once. What they print while there is no daemon may be more than is kept.
#[test]
fn a_text_of_two_lines_is_pasted_however_much_was_printed_without_a_daemon() {
    let home = TestHome::with_stand_in();
    let (go, done) = (home.file("go"), home.file("done"));
    // Another size makes the agent draw its whole screen again.
    home.write_agent(&format!(
        "(while [ ! -e {go} ]; do sleep 0.05; done; head -c 400000 /dev/zero | tr '\\0' '\\r'; stty cols 100 </dev/tty; \
         touch {done}) &\nexec {} stand-in \"$@\"\n",
        ostler().display(),
        go = go.display(),
        done = done.display(),
    ));
    home.start("a", &[]);
    home.wait("a", "idle");
    home.kill_daemon();
    fs::write(&go, "").unwrap();
    until_file(&done, "the agent has printed enough", || done.exists().then_some(()));
    let sent = home.deliver("a", "in two\nshort lines", &[]);
    assert_eq!(home.taken("a"), ["in two\nshort lines"]);
    let read: String = home.log("a").iter().filter_map(|record| record["escaped"].as_str()).collect();
    assert!(read.contains("[200~in two"), "{read}");
    assert!(!sent["evidence"].to_string().contains("file:"), "{sent}");
    let logs = home.run(["logs", "a"]);
    assert!(logs.err.contains("are no longer kept"), "{}", logs.err);
}

#[test]
fn what_waits_is_delivered_by_the_next_daemon_in_its_order() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!work 5s", &[]);
    for text in ["one", "two", "three"] {
        home.send("a", text, &["--wait", "queued"]).ok();
    }
    home.kill_daemon();
    home.daemon_pid();
    home.await_log("a", "submitted", 4);
    assert_eq!(home.taken("a")[1..], ["one", "two", "three"]);
}

#[test]
fn what_waits_for_a_program_that_ends_while_nobody_watches_has_failed() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!work 60s", &[]);
    home.send("a", "later", &["--id", "m1", "--wait", "queued"]).ok();
    let program = pid(&home.status("a")["pid"]);
    home.kill_daemon();
    kill(program);
    home.daemon_pid();
    let message = home.await_message("a", "m1", "failed");
    assert_eq!(message["failure"], "the program has ended", "{message}");
}

#[test]
fn an_enter_that_nobody_can_tell_about_is_not_called_failed() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--swallow-enter", "99"]);
    drop(home.begin_send("a", b"was it taken?", &["--id", "m1", "--timeout", "60"]));
    home.await_log("a", "swallowed", 1);
    let holder = pid(&home.status("a")["holder"]);
    home.kill_daemon();
    kill(holder);
    home.daemon_pid();
    let message = home.await_message("a", "m1", "uncertain");
    assert!(message["failure"].as_str().unwrap().contains("cannot be told"), "{message}");
}

#[test]
fn a_first_prompt_that_was_answered_while_no_daemon_watched_is_not_typed_again() {
    let home = TestHome::with_stand_in_and("[prompt]\nfirst = \"flag\"\nflag = \"--\"\n");
    let go = home.file("go");
    home.write_agent(&format!(
        "until [ -e {} ]; do sleep 0.1; done\nexec {} stand-in --word-pace 1 \"$@\"\n",
        go.display(),
        ostler().display()
    ));
    // The answer pushes the question off the screen.
    let reply = (0..80).map(|line| format!("!say line {line}")).collect::<Vec<_>>().join("\n");
    let options = ["--prompt", "Tell me all about it.", "--no-beacon", "--no-wait"];
    home.start_with("a", &options, &["--reply", &reply]).ok();
    home.kill_daemon();
    fs::write(&go, "").unwrap();
    home.await_log("a", "done", 1);
    home.daemon_pid();
    let message = until("it is known what became of it", || {
        let messages = home.json(["messages", "list", "a", "--all", "--json"]);
        (messages[0]["state"] != "queued").then(|| messages[0].clone())
    });
    assert_eq!(message["state"], "uncertain", "{message}");
    assert_eq!((home.taken("a").len(), home.count("a", "bytes")), (1, 0));
}

const HOOKS: &str = r#"
[hooks]
file = "hooks.json"
[hooks.events]
UserPromptSubmit = { fact = "prompt_submitted", text = "/prompt" }
"#;

/// Reports as a hook of the agent would.
fn report(home: &TestHome, prompt: &str) {
    let environ = fs::read(format!("/proc/{}/environ", pid(&home.status("a")["pid"]))).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let environ: HashMap<&str, &str> = environ
        .split('\0')
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, _)| name.starts_with("OSTLER_"))
        .collect();
    let mut command = home.command(["hook", "UserPromptSubmit", "--agent", "standin"]);
    let mut child = command.envs(environ).stdin(Stdio::piped()).spawn().unwrap();
    let payload = serde_json::json!({ "prompt": prompt }).to_string();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_message_that_was_never_typed_is_not_the_one_that_was_taken() {
    let home = TestHome::with_stand_in_and(HOOKS);
    home.start("a", &[]);
    home.deliver("a", "!work 4s", &[]);
    home.send("a", "status?", &["--id", "m1", "--wait", "queued"]).ok();
    home.run(["messages", "drop", "m1"]).ok();
    home.wait("a", "idle");
    // Somebody else asks the same.
    report(&home, "status?");
    until("the report is heard", || home.status("a")["because"].to_string().contains("hook").then_some(()));
    assert_eq!(home.message("a", "m1")["state"], "failed");
}

#[test]
fn an_agent_that_tells_which_prompt_it_took_is_the_best_witness() {
    let home = TestHome::with_stand_in_and(HOOKS);
    home.start("a", &[]);
    home.deliver("a", "go", &["--id", "m1"]);
    report(&home, "go");
    // A prompt that has the words of an earlier one in it is not that one.
    let sending = home.begin_send("a", b"!work 20s go on then", &["--id", "m2", "--timeout", "60"]);
    home.await_log("a", "submitted", 2);
    report(&home, "<note>from a program</note>\n!work 20s go on then");
    sending.finish().ok();
    let evidence = home.message("a", "m2")["evidence"].to_string();
    assert!(evidence.contains("hook: the agent took this prompt"), "{evidence}");
    assert_eq!(home.message("a", "m1")["evidence"].to_string().matches("hook").count(), 0);
}
