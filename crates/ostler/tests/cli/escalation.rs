//! What an agent has to know, and does not take.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::Value;

use crate::stand_in::PRESET;
use crate::support::{TestHome, kill, ostler, until, until_file};

/// A home whose agent takes nothing until [`cure`].
fn deaf(settings: &str) -> TestHome {
    let home = TestHome::with_stand_in();
    let speech = "[conversation]\nprompt = '^> '\nreply = '^● '\n";
    home.write_preset(&format!("instructions = \"AGENTS.md\"\n{PRESET}{speech}"));
    home.write_settings(&format!("[delivery]\n{settings}"));
    let (stand_in, pid) = (ostler().display(), home.file("pid"));
    home.write_agent(&format!(
        "sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec {stand_in} stand-in --swallow-early 86400000 \"$@\"' - \"$@\"\n\
         exec {stand_in} stand-in \"$@\"\n",
        pid.display()
    ));
    home.start("a", &[]);
    home.wait("a", "idle");
    home
}

/// From now on the agent listens.
fn cure(home: &TestHome) {
    let pid = fs::read_to_string(home.file("pid")).unwrap();
    kill(pid.trim().parse().unwrap());
    home.await_log("a", "ready", 2);
}

fn send(home: &TestHome, id: &str, text: &str) {
    home.send("a", text, &["--id", id, "--ack", "--wait", "queued"]).ok();
}

/// Waits until neither the message nor the notice of it could be typed.
fn await_failed(home: &TestHome, id: &str) {
    assert_eq!(home.await_message("a", id, "failed")["escalated"], "notification");
    home.await_message("a", &format!("notice-{id}"), "failed");
}

fn loaded(home: &TestHome) -> String {
    let found: Value = serde_json::from_str(&home.run(["context", "load", "a", "--json"]).ok()).unwrap();
    found["text"].as_str().unwrap().to_owned()
}

#[test]
fn every_message_that_fails_takes_another_way_until_it_got_there() {
    let home = deaf("max_attempts = 1\n");
    send(&home, "m1", "the first secret");
    send(&home, "m2", "the second secret");
    for id in ["m1", "m2"] {
        await_failed(&home, id);
    }
    let file = home.project().join("AGENTS.md");
    let text = fs::read_to_string(&file).unwrap();
    for secret in ["the first secret", "the second secret"] {
        assert_eq!(text.matches(secret).count(), 1, "{text}");
        assert_eq!(loaded(&home).matches(secret).count(), 1);
    }
    // A message that gets there takes the block with it, and what it came with; the others still wait.
    cure(&home);
    home.run(["messages", "retry", "m1"]).ok();
    home.await_message("a", "m1", "delivered");
    until_file(&file, "the block is gone", || (!file.exists()).then_some(()));
    until("the first does not wait", || (!loaded(&home).contains("the first secret")).then_some(()));
    assert!(loaded(&home).contains("the second secret"));
    home.deliver("a", "something else", &[]);
    assert!(loaded(&home).contains("the second secret"), "the agent never had it");
    home.run(["context", "clear"]).ok();
    assert!(!loaded(&home).contains("secret"), "{}", loaded(&home));
}

#[test]
fn what_was_delivered_after_all_does_not_wait_although_it_was_in_no_file() {
    let home = deaf("file_after = 1\n");
    let elsewhere = home.file("elsewhere.md");
    fs::write(&elsewhere, "mine\n").unwrap();
    symlink(&elsewhere, home.project().join("AGENTS.md")).unwrap();
    send(&home, "m1", "the first secret");
    until("it can be loaded", || loaded(&home).contains("the first secret").then_some(()));
    cure(&home);
    home.await_message("a", "m1", "delivered");
    until("it does not wait", || (!loaded(&home).contains("secret")).then_some(()));
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine\n");
}

#[test]
fn an_agent_that_asks_gets_what_it_missed() {
    let home = deaf("max_attempts = 1\nnotify = false\n");
    send(&home, "m1", "the first secret");
    assert_eq!(home.await_message("a", "m1", "failed")["escalated"], "file", "nobody is told");
    cure(&home);
    home.deliver("a", "!say ->continuity:load", &[]);
    until("it was told", || {
        home.taken("a").iter().any(|text| text.contains("the first secret")).then_some(())
    });
    until("it does not wait", || (!loaded(&home).contains("secret")).then_some(()));
}

#[test]
fn what_is_dropped_takes_no_other_way() {
    let home = deaf("file_after = 1\n");
    send(&home, "m1", "the first secret");
    let file = home.project().join("AGENTS.md");
    until_file(&file, "it is in the file", || file.exists().then_some(()));
    // It cannot be dropped while it may stand in the composer.
    until("it is dropped", || (home.run(["messages", "drop", "m1"]).code == 0).then_some(()));
    assert!(!file.exists() && !loaded(&home).contains("secret"), "{}", loaded(&home));
}

#[test]
fn what_the_agent_may_have_takes_no_other_way() {
    let home = TestHome::with_stand_in();
    home.write_preset(&format!("instructions = \"AGENTS.md\"\n{PRESET}"));
    home.start("a", &["--die-on-submit"]);
    send(&home, "m1", "the first secret");
    let message = home.await_message("a", "m1", "uncertain");
    assert_eq!(message["escalated"], Value::Null, "{message}");
    assert!(!home.project().join("AGENTS.md").exists());
    let found = home.run(["context", "load", "a", "--json"]).ok();
    assert!(found.contains("\"pending\": false") || found.contains("\"pending\":false"), "{found}");
}

/// Lets nobody change a file, or lets them again.
fn set_writable(file: &Path, writable: bool) {
    let mode = if writable { 0o644 } else { 0o444 };
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

/// A home whose agent has something in its instructions file that cannot be changed, and the file.
fn stuck() -> (TestHome, std::path::PathBuf) {
    let home = deaf("max_attempts = 1\n");
    send(&home, "m1", "the first secret");
    await_failed(&home, "m1");
    let file = home.project().join("AGENTS.md");
    assert!(fs::read_to_string(&file).unwrap().contains("the first secret"));
    set_writable(&file, false);
    (home, file)
}

#[test]
fn a_block_that_cannot_be_taken_out_is_taken_out_later() {
    let (home, file) = stuck();
    cure(&home);
    home.run(["messages", "retry", "m1"]).ok();
    home.await_message("a", "m1", "delivered");
    until("it does not wait", || (!loaded(&home).contains("secret")).then_some(()));
    assert!(file.exists());
    set_writable(&file, true);
    home.deliver("a", "something else", &[]);
    until_file(&file, "the block is gone", || (!file.exists()).then_some(()));
}

#[test]
fn what_a_clear_cannot_take_out_goes_with_its_session() {
    let (home, file) = stuck();
    let cleared = home.run(["context", "clear"]);
    assert!(format!("{cleared:?}").contains("read-only"), "{cleared:?}");
    assert!(!loaded(&home).contains("secret") && file.exists());
    set_writable(&file, true);
    home.run(["stop", "a", "--grace", "0"]).ok();
    assert!(!file.exists());
}

#[test]
fn a_block_goes_with_its_session_and_what_was_in_it_waits_on() {
    let home = deaf("max_attempts = 1\n");
    let file = home.project().join("AGENTS.md");
    fs::write(&file, "mine\n").unwrap();
    send(&home, "m1", "the first secret");
    home.await_message("a", "m1", "failed");
    assert!(fs::read_to_string(&file).unwrap().contains("the first secret"));
    home.run(["stop", "a", "--grace", "0"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    assert!(loaded(&home).contains("the first secret"));
}

#[test]
fn the_next_daemon_takes_out_what_an_ended_session_left() {
    let (home, file) = stuck();
    home.run(["stop", "a", "--grace", "0"]).ok();
    assert!(file.exists());
    home.kill_daemon();
    set_writable(&file, true);
    home.daemon_pid();
    until_file(&file, "the block is gone", || (!file.exists()).then_some(()));
    assert!(loaded(&home).contains("the first secret"));
}

#[test]
fn what_an_agent_has_to_know_does_not_starve_behind_its_turn() {
    let home = TestHome::with_stand_in();
    home.write_preset(&format!("instructions = \"AGENTS.md\"\n{PRESET}"));
    home.write_settings("[delivery]\nbackoff_seconds = [1]\n");
    home.start("a", &[]);
    home.deliver("a", "!work 12s first", &[]);
    home.send("a", "the first secret", &["--id", "m1", "--priority", "startup", "--wait", "queued"]).ok();
    let file = home.project().join("AGENTS.md");
    until_file(&file, "it is in the file", || file.exists().then_some(()));
    assert!(fs::read_to_string(&file).unwrap().contains("the first secret"));
    let waits = home.message("a", "m1");
    assert_eq!((&waits["state"], &waits["escalated"]), (&"queued".into(), &"notification".into()), "{waits}");
    // It comes live when the turn is over, and the block goes; nobody need be told then.
    home.await_message("a", "m1", "delivered");
    until_file(&file, "the block is gone", || (!file.exists()).then_some(()));
    assert_eq!(home.taken("a"), ["!work 12s first", "the first secret"]);
    // One that came too late: the agent is told where it is.
    home.deliver("a", "!work 8s second", &[]);
    let late = ["--id", "m2", "--priority", "startup", "--wait", "queued", "--expires", "2"];
    home.send("a", "the second secret", &late).ok();
    assert_eq!(home.await_message("a", "m2", "failed")["escalated"], "notification");
    home.await_log("a", "submitted", 4);
    let told = home.taken("a").pop().unwrap();
    assert!(told.starts_with("[OSTLER]") && told.contains("AGENTS.md"), "{told}");
    assert!(fs::read_to_string(&file).unwrap().contains("the second secret"));
    home.await_message("a", "notice-m2", "delivered");
    assert!(file.exists(), "the notice does not take away what it tells of");
}
