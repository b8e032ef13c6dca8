//! Deliveries that outlive the daemon, and what the agent's hooks say of them.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::agent_lab::Lab;
use crate::support::{kill, ostler, pid, until};

#[test]
fn words_that_stood_there_before_prove_nothing_after_a_restart() {
    let lab = Lab::new();
    // The agent's header says the very same, and the agent is deaf at first.
    lab.start("a", &["--name", "go on with it", "--swallow-early", "9000"]);
    let sending = lab.begin_send("a", b"go on with it", &["--id", "m1", "--timeout", "60"]);
    lab.await_log("a", "swallowed", 1);
    lab.home.kill_daemon();
    sending.finish().ok();
    assert_eq!(lab.taken("a"), ["go on with it"]);
    assert!(lab.message("a", "m1")["attempts"].as_u64().unwrap() >= 2);
}

#[test]
fn a_message_in_the_composer_is_found_there_by_the_next_daemon() {
    let lab = Lab::new();
    lab.start("a", &["--swallow-enter", "2"]);
    let sending = lab.begin_send("a", b"still there\nin two lines", &["--id", "m1", "--timeout", "60"]);
    for enters in 1..=2 {
        lab.await_log("a", "swallowed", enters);
        lab.home.kill_daemon();
    }
    sending.finish().ok();
    assert_eq!(lab.taken("a"), ["still there\nin two lines"]);
    let message = lab.message("a", "m1");
    assert_eq!((&message["attempts"], &message["enters"]), (&1.into(), &3.into()), "{message}");
}

/// Agents switch bracketed paste on once. What they print while there is no daemon may be more than is kept.
#[test]
fn a_text_of_two_lines_is_pasted_however_much_was_printed_without_a_daemon() {
    let lab = Lab::new();
    let (go, done) = (lab.home.scratch().join("go"), lab.home.scratch().join("done"));
    // Another size makes the agent draw its whole screen again.
    lab.write_agent(&format!(
        "(while [ ! -e {go} ]; do sleep 0.05; done; head -c 400000 /dev/zero | tr '\\0' '\\r'; stty cols 100 </dev/tty; \
         touch {done}) &\nexec {} stand-in \"$@\"\n",
        ostler().display(),
        go = go.display(),
        done = done.display(),
    ));
    lab.start("a", &[]);
    lab.wait("a", "idle");
    lab.home.kill_daemon();
    fs::write(&go, "").unwrap();
    until("the agent has printed enough", || done.exists().then_some(()));
    let sent = lab.deliver("a", "in two\nshort lines", &[]);
    assert_eq!(lab.taken("a"), ["in two\nshort lines"]);
    let read: String = lab.log("a").iter().filter_map(|record| record["escaped"].as_str()).collect();
    assert!(read.contains("[200~in two"), "{read}");
    assert!(!sent["evidence"].to_string().contains("file:"), "{sent}");
    let logs = lab.home.run(["logs", "a"]);
    assert!(logs.err.contains("are no longer kept"), "{}", logs.err);
}

#[test]
fn what_waits_is_delivered_by_the_next_daemon_in_its_order() {
    let lab = Lab::new();
    lab.start("a", &[]);
    lab.deliver("a", "!work 5s", &[]);
    for text in ["one", "two", "three"] {
        lab.send("a", text, &["--wait", "queued"]).ok();
    }
    lab.home.kill_daemon();
    lab.home.daemon_pid();
    lab.await_log("a", "submitted", 4);
    assert_eq!(lab.taken("a")[1..], ["one", "two", "three"]);
}

#[test]
fn what_waits_for_a_program_that_ends_while_nobody_watches_has_failed() {
    let lab = Lab::new();
    lab.start("a", &[]);
    lab.deliver("a", "!work 60s", &[]);
    lab.send("a", "later", &["--id", "m1", "--wait", "queued"]).ok();
    let program = pid(&lab.home.status("a")["pid"]);
    lab.home.kill_daemon();
    kill(program);
    lab.home.daemon_pid();
    let message = lab.await_message("a", "m1", "failed");
    assert_eq!(message["failure"], "the program has ended", "{message}");
}

#[test]
fn an_enter_that_nobody_can_tell_about_is_not_called_failed() {
    let lab = Lab::new();
    lab.start("a", &["--swallow-enter", "99"]);
    drop(lab.begin_send("a", b"was it taken?", &["--id", "m1", "--timeout", "60"]));
    lab.await_log("a", "swallowed", 1);
    let holder = pid(&lab.home.status("a")["holder"]);
    lab.home.kill_daemon();
    kill(holder);
    lab.home.daemon_pid();
    let message = lab.await_message("a", "m1", "uncertain");
    assert!(message["failure"].as_str().unwrap().contains("cannot be told"), "{message}");
}

#[test]
fn the_same_words_twice_are_two_messages() {
    let lab = Lab::new();
    lab.start("a", &["--restore-draft"]);
    lab.deliver("a", "!work 5m carry on", &[]);
    // The first one is put back into the composer, and is not taken for the second.
    lab.deliver("a", "!work 5m carry on", &["--mode", "interrupt"]);
    assert_eq!((lab.taken("a").len(), lab.count("a", "interrupted")), (2, 1));
    // Also by a daemon that has only read of it.
    lab.home.kill_daemon();
    lab.deliver("a", "!work 5m carry on", &["--mode", "interrupt"]);
    assert_eq!((lab.taken("a").len(), lab.count("a", "interrupted")), (3, 2));
}

#[test]
fn a_first_prompt_that_was_answered_while_no_daemon_watched_is_not_typed_again() {
    let lab = Lab::with("[prompt]\nfirst = \"flag\"\nflag = \"--\"\n");
    let go = lab.home.scratch().join("go");
    lab.write_agent(&format!(
        "until [ -e {} ]; do sleep 0.1; done\nexec {} stand-in --word-pace 1 \"$@\"\n",
        go.display(),
        ostler().display()
    ));
    // The answer pushes the question off the screen.
    let reply = (0..80).map(|line| format!("!say line {line}")).collect::<Vec<_>>().join("\n");
    let options = ["--prompt", "Tell me all about it.", "--no-beacon", "--no-wait"];
    lab.start_with("a", &options, &["--reply", &reply]).ok();
    lab.home.kill_daemon();
    fs::write(&go, "").unwrap();
    lab.await_log("a", "done", 1);
    lab.home.daemon_pid();
    let message = until("it is known what became of it", || {
        let messages = lab.home.json(["messages", "list", "a", "--all", "--json"]);
        (messages[0]["state"] != "queued").then(|| messages[0].clone())
    });
    assert_eq!(message["state"], "uncertain", "{message}");
    assert_eq!((lab.taken("a").len(), lab.count("a", "bytes")), (1, 0));
}

const HOOKS: &str = r#"
[hooks]
file = "hooks.json"
[hooks.events]
UserPromptSubmit = { fact = "prompt_submitted", text = "/prompt" }
"#;

/// Reports as a hook of the agent would.
fn report(lab: &Lab, prompt: &str) {
    let environ = fs::read(format!("/proc/{}/environ", pid(&lab.home.status("a")["pid"]))).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let environ: HashMap<&str, &str> = environ
        .split('\0')
        .filter_map(|entry| entry.split_once('='))
        .filter(|(name, _)| name.starts_with("OSTLER_"))
        .collect();
    let mut command = lab.command(&["hook", "UserPromptSubmit", "--agent", "standin"]);
    let mut child = command.envs(environ).stdin(Stdio::piped()).spawn().unwrap();
    let payload = serde_json::json!({ "prompt": prompt }).to_string();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_message_that_was_never_typed_is_not_the_one_that_was_taken() {
    let lab = Lab::with(HOOKS);
    lab.start("a", &[]);
    lab.deliver("a", "!work 4s", &[]);
    lab.send("a", "status?", &["--id", "m1", "--wait", "queued"]).ok();
    lab.run(&["messages", "drop", "m1"]).ok();
    lab.wait("a", "idle");
    // Somebody else asks the same.
    report(&lab, "status?");
    until("the report is heard", || {
        lab.home.status("a")["because"].to_string().contains("hook").then_some(())
    });
    assert_eq!(lab.message("a", "m1")["state"], "failed");
}

#[test]
fn an_agent_that_tells_which_prompt_it_took_is_the_best_witness() {
    let lab = Lab::with(HOOKS);
    lab.start("a", &[]);
    lab.deliver("a", "go", &["--id", "m1"]);
    report(&lab, "go");
    // A prompt that has the words of an earlier one in it is not that one.
    let sending = lab.begin_send("a", b"!work 20s go on then", &["--id", "m2", "--timeout", "60"]);
    lab.await_log("a", "submitted", 2);
    report(&lab, "<note>from a program</note>\n!work 20s go on then");
    sending.finish().ok();
    let evidence = lab.message("a", "m2")["evidence"].to_string();
    assert!(evidence.contains("hook: the agent took this prompt"), "{evidence}");
    assert_eq!(lab.message("a", "m1")["evidence"].to_string().matches("hook").count(), 0);
}
