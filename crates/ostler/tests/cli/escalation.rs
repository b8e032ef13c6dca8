//! What an agent has to know, and does not take.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::Value;

use crate::agent_lab::{Lab, PRESET};
use crate::support::{kill, ostler, until};

/// A lab whose agent takes nothing until [`cure`].
fn deaf(settings: &str) -> Lab {
    let lab = Lab::new();
    let speech = "[conversation]\nprompt = '^> '\nreply = '^● '\n";
    lab.write_preset(&format!("instructions = \"AGENTS.md\"\n{PRESET}{speech}"));
    lab.write_settings(&format!("[delivery]\n{settings}"));
    let (stand_in, pid) = (ostler().display(), lab.home.scratch().join("pid"));
    lab.write_agent(&format!(
        "sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec {stand_in} stand-in --swallow-early 86400000 \"$@\"' - \"$@\"\n\
         exec {stand_in} stand-in \"$@\"\n",
        pid.display()
    ));
    lab.start("a", &[]);
    lab.wait("a", "idle");
    lab
}

/// From now on the agent listens.
fn cure(lab: &Lab) {
    let pid = fs::read_to_string(lab.home.scratch().join("pid")).unwrap();
    kill(pid.trim().parse().unwrap());
    lab.await_log("a", "ready", 2);
}

fn send(lab: &Lab, id: &str, text: &str) {
    lab.send("a", text, &["--id", id, "--ack", "--wait", "queued"]).ok();
}

fn loaded(lab: &Lab) -> String {
    let found: Value = serde_json::from_str(&lab.run(&["context", "load", "a", "--json"]).ok()).unwrap();
    found["text"].as_str().unwrap().to_owned()
}

#[test]
fn every_message_that_fails_takes_another_way_until_it_got_there() {
    let lab = deaf("max_attempts = 1\n");
    send(&lab, "m1", "the first secret");
    send(&lab, "m2", "the second secret");
    for id in ["m1", "m2"] {
        assert_eq!(lab.await_message("a", id, "failed")["escalated"], "notification");
    }
    let file = lab.project().join("AGENTS.md");
    let text = fs::read_to_string(&file).unwrap();
    for secret in ["the first secret", "the second secret"] {
        assert_eq!(text.matches(secret).count(), 1, "{text}");
        assert_eq!(loaded(&lab).matches(secret).count(), 1);
    }
    // A message that gets there takes the block with it, and what it came with; the others still wait.
    cure(&lab);
    lab.run(&["messages", "retry", "m1"]).ok();
    lab.await_message("a", "m1", "delivered");
    until("the block is gone", || (!file.exists()).then_some(()));
    until("the first does not wait", || (!loaded(&lab).contains("the first secret")).then_some(()));
    assert!(loaded(&lab).contains("the second secret"));
    lab.deliver("a", "something else", &[]);
    assert!(loaded(&lab).contains("the second secret"), "the agent never had it");
    lab.run(&["context", "clear"]).ok();
    assert!(!loaded(&lab).contains("secret"), "{}", loaded(&lab));
}

#[test]
fn what_was_delivered_after_all_does_not_wait_although_it_was_in_no_file() {
    let lab = deaf("file_after = 1\n");
    let elsewhere = lab.home.scratch().join("elsewhere.md");
    fs::write(&elsewhere, "mine\n").unwrap();
    symlink(&elsewhere, lab.project().join("AGENTS.md")).unwrap();
    send(&lab, "m1", "the first secret");
    until("it can be loaded", || loaded(&lab).contains("the first secret").then_some(()));
    cure(&lab);
    lab.await_message("a", "m1", "delivered");
    until("it does not wait", || (!loaded(&lab).contains("secret")).then_some(()));
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine\n");
}

#[test]
fn an_agent_that_asks_gets_what_it_missed() {
    let lab = deaf("max_attempts = 1\nnotify = false\n");
    send(&lab, "m1", "the first secret");
    assert_eq!(lab.await_message("a", "m1", "failed")["escalated"], "file", "nobody is told");
    cure(&lab);
    lab.deliver("a", "!say ->continuity:load", &[]);
    until("it was told", || {
        lab.taken("a").iter().any(|text| text.contains("the first secret")).then_some(())
    });
    until("it does not wait", || (!loaded(&lab).contains("secret")).then_some(()));
}

#[test]
fn what_is_dropped_takes_no_other_way() {
    let lab = deaf("file_after = 1\n");
    send(&lab, "m1", "the first secret");
    let file = lab.project().join("AGENTS.md");
    until("it is in the file", || file.exists().then_some(()));
    // It cannot be dropped while it may stand in the composer.
    until("it is dropped", || (lab.run(&["messages", "drop", "m1"]).code == 0).then_some(()));
    assert!(!file.exists() && !loaded(&lab).contains("secret"), "{}", loaded(&lab));
}

#[test]
fn what_the_agent_may_have_takes_no_other_way() {
    let lab = Lab::new();
    lab.write_preset(&format!("instructions = \"AGENTS.md\"\n{PRESET}"));
    lab.start("a", &["--die-on-submit"]);
    send(&lab, "m1", "the first secret");
    let message = lab.await_message("a", "m1", "uncertain");
    assert_eq!(message["escalated"], Value::Null, "{message}");
    assert!(!lab.project().join("AGENTS.md").exists());
    let found = lab.run(&["context", "load", "a", "--json"]).ok();
    assert!(found.contains("\"pending\": false") || found.contains("\"pending\":false"), "{found}");
}

/// Lets nobody change a file, or lets them again.
fn set_writable(file: &Path, writable: bool) {
    let mode = if writable { 0o644 } else { 0o444 };
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

/// A lab whose agent has something in its instructions file that cannot be changed, and the file.
fn stuck() -> (Lab, std::path::PathBuf) {
    let lab = deaf("max_attempts = 1\n");
    send(&lab, "m1", "the first secret");
    lab.await_message("a", "m1", "failed");
    let file = lab.project().join("AGENTS.md");
    assert!(fs::read_to_string(&file).unwrap().contains("the first secret"));
    set_writable(&file, false);
    (lab, file)
}

#[test]
fn a_block_that_cannot_be_taken_out_is_taken_out_later() {
    let (lab, file) = stuck();
    cure(&lab);
    lab.run(&["messages", "retry", "m1"]).ok();
    lab.await_message("a", "m1", "delivered");
    until("it does not wait", || (!loaded(&lab).contains("secret")).then_some(()));
    assert!(file.exists());
    set_writable(&file, true);
    lab.deliver("a", "something else", &[]);
    until("the block is gone", || (!file.exists()).then_some(()));
}

#[test]
fn what_a_clear_cannot_take_out_goes_with_its_session() {
    let (lab, file) = stuck();
    let cleared = lab.run(&["context", "clear"]);
    assert!(format!("{cleared:?}").contains("read-only"), "{cleared:?}");
    assert!(!loaded(&lab).contains("secret") && file.exists());
    set_writable(&file, true);
    lab.run(&["stop", "a", "--grace", "0"]).ok();
    assert!(!file.exists());
}

#[test]
fn a_block_goes_with_its_session_and_what_was_in_it_waits_on() {
    let lab = deaf("max_attempts = 1\n");
    let file = lab.project().join("AGENTS.md");
    fs::write(&file, "mine\n").unwrap();
    send(&lab, "m1", "the first secret");
    lab.await_message("a", "m1", "failed");
    assert!(fs::read_to_string(&file).unwrap().contains("the first secret"));
    lab.run(&["stop", "a", "--grace", "0"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    assert!(loaded(&lab).contains("the first secret"));
}

#[test]
fn the_next_daemon_takes_out_what_an_ended_session_left() {
    let (lab, file) = stuck();
    lab.run(&["stop", "a", "--grace", "0"]).ok();
    assert!(file.exists());
    lab.home.kill_daemon();
    set_writable(&file, true);
    lab.home.daemon_pid();
    until("the block is gone", || (!file.exists()).then_some(()));
    assert!(loaded(&lab).contains("the first secret"));
}
