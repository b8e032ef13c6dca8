//! Many messages: their order, their ids, and what can be done about them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::support::{TestHome, ostler, pid, until};

/// An agent that is busy for a while, with nothing else to do.
fn busy(home: &TestHome, seconds: u32) {
    home.start("a", &[]);
    home.deliver("a", &format!("!work {seconds}s"), &[]);
}

#[test]
fn what_comes_too_late_is_taken_back() {
    let home = TestHome::with_stand_in();
    busy(&home, 6);
    let begun = std::time::Instant::now();
    home.send("a", "fresh news", &["--expires", "1", "--id", "m1"])
        .fails(1, &["was not delivered: it was not typed in time"]);
    assert!(begun.elapsed().as_secs_f32() >= 1.0);
    assert_eq!(home.message("a", "m1")["state"], "failed");
    home.deliver("a", "in time", &["--expires", "60"]);
    assert_eq!(home.taken("a")[1..], ["in time"]);
}

#[test]
fn one_id_is_one_message() {
    let home = TestHome::with_stand_in();
    busy(&home, 3);
    let same: Vec<_> =
        (0..5).map(|_| home.begin_send("a", b"once", &["--id", "k", "--timeout", "60"])).collect();
    for sending in same {
        sending.finish().ok();
    }
    home.deliver("a", "once", &["--id", "k"]);
    home.send("a", "twice", &["--id", "k"]).fails(1, &["was sent before with another body", "another --id"]);
    assert_eq!(home.taken("a")[1..], ["once"]);
    // The id is the session's own.
    home.start("b", &[]);
    home.run(["send", "b", "elsewhere", "--id", "k", "--timeout", "60"]).ok();
}

#[test]
fn many_senders_at_once_never_mix() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--word-pace", "1"]);
    let texts: Vec<String> =
        (0..12).map(|n| format!("sender {n} says\n{}", format!("word{n} ").repeat(30).trim_end())).collect();
    let sending: Vec<_> =
        texts.iter().map(|text| home.begin_send("a", text.as_bytes(), &["--timeout", "120"])).collect();
    for sending in sending {
        sending.finish().ok();
    }
    let (mut taken, mut expected) = (home.taken("a"), texts);
    taken.sort();
    expected.sort();
    assert_eq!(taken, expected);
}

/// Lets a program go on that was stopped, whatever happens.
struct Stopped(u32);

impl Stopped {
    fn new(pid: u32) -> Self {
        signal(pid, "STOP");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, "CONT");
    }
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

#[test]
fn a_prompt_waits_until_raw_bytes_are_typed_whole_and_once() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.wait("a", "idle");
    // More than the terminal takes while nobody reads it; the agent empties its composer for each byte.
    let bytes = vec![0x15; 300_000];
    let stopped = Stopped::new(pid(&home.status("a")["pid"]));
    let raw = home.begin_send("a", &bytes, &["--raw", "--timeout", "60"]);
    until("the terminal is full", || {
        home.status("a")["terminal"]["pending"].as_u64().filter(|pending| *pending > 0)
    });
    home.send("a", "hi", &["--id", "m1", "--wait", "queued"]).ok();
    // The terminal was looked at since: a prompt that did not wait would be typed by now.
    home.status("a");
    home.status("a");
    assert_eq!(home.message("a", "m1")["attempts"], 0);
    drop(stopped);
    raw.finish().ok();
    assert_eq!(home.await_message("a", "m1", "delivered")["attempts"], 1);
    assert_eq!(home.taken("a"), ["hi"]);
    home.deliver("a", "and on", &[]);
    let log = home.log("a");
    let typed = log.iter().filter_map(|record| record["escaped"].as_str());
    assert_eq!(typed.map(|text| text.matches("\\x15").count()).sum::<usize>(), bytes.len());
}

#[test]
fn what_waits_is_listed_and_can_be_taken_back_and_sent_after_all() {
    let home = TestHome::with_stand_in();
    busy(&home, 8);
    home.send("a", "perhaps", &["--id", "m1", "--wait", "queued"]).ok();
    home.send("a", "surely", &["--id", "m2", "--wait", "queued"]).ok();
    let listed = home.json(["messages", "list", "a", "--json"]);
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|message| &message["id"]).collect();
    assert_eq!(ids, ["m1", "m2"]);
    assert_eq!(listed[0]["waits_for"], "the agent is working", "{listed}");
    home.run(["messages", "retry", "m1"]).fails(1, &["\"m1\" is queued", "given up"]);
    let dropped: Value = serde_json::from_str(&home.run(["messages", "drop", "m1", "--json"]).ok()).unwrap();
    assert_eq!(
        (&dropped["state"], &dropped["failure"]),
        (&"failed".into(), &"it was dropped on request".into())
    );
    home.run(["messages", "drop", "m9"]).fails(1, &["there is no message \"m9\"", "ostler messages list"]);
    home.await_log("a", "submitted", 2);
    home.await_message("a", "m2", "delivered");
    assert_eq!(home.taken("a")[1..], ["surely"]);
    assert_eq!(home.run(["messages", "list", "a"]).ok(), "there are no messages under way or given up\n");
    let listed = home.run(["messages", "list", "a", "--all"]).ok();
    assert!(listed.contains("dropped on request") && listed.contains("m2"), "{listed}");
    home.run(["messages", "retry", "m1"]).ok();
    home.await_message("a", "m1", "delivered");
    assert_eq!(home.taken("a")[1..], ["surely", "perhaps"]);
    home.run(["messages", "retry", "m1"]).fails(1, &["\"m1\" is delivered"]);
    home.run(["messages", "drop", "m1"]).fails(1, &["\"m1\" is delivered"]);
}

#[test]
fn what_is_taken_back_has_not_failed_and_was_never_asked() {
    let home = TestHome::with_stand_in();
    busy(&home, 30);
    home.send("a", "delete everything", &["--id", "m1", "--wait", "queued"]).ok();
    home.run(["messages", "drop", "m1"]).ok();
    let counts = home.json(["metrics", "--json"])["deliveries"].clone();
    assert_eq!((&counts["sent"], &counts["failed"]), (&2.into(), &0.into()), "{counts}");
    assert!(!home.ok(["events", "a"]).contains("injection.failed"));
    assert!(!home.ok(["status", "a"]).contains("failed"));
    home.run(["stop", "a"]).ok();
    let known = home.run(["context", "show"]).ok();
    assert!(known.contains("Asked: !work 30s") && !known.contains("delete"), "{known}");
}

#[test]
fn what_cannot_be_confirmed_is_not_waited_for() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "hello", &["--id", "m1"]);
    home.send("a", "hello", &["--id", "m1", "--wait", "acknowledged"])
        .fails(1, &["was not asked to confirm"]);
    home.send("a", "hello", &["--id", "m1", "--raw"]).fails(1, &["sent before", "in another way"]);
    home.ok(["send", "a", "--raw", "x", "--id", "r1"]);
    home.run(["ack", "r1"]).fails(1, &["raw bytes"]);
    home.run(["ack", "m1"]).ok();
    let counts = home.json(["metrics", "--json"])["deliveries"].clone();
    assert_eq!((&counts["ack_wanted"], &counts["acknowledged"]), (&0.into(), &0.into()), "{counts}");
}

#[test]
fn a_message_that_needs_no_composer_does_not_wait_behind_one_that_does() {
    let home = TestHome::with_stand_in();
    home.write_settings("[detector]\nstartup_deadline_ms = 1000\n");
    home.start_with("a", &["--no-wait", "--size", "10x5"], &[]).ok();
    home.send("a", "with care", &["--id", "m1", "--timeout", "4"]).fails(4, &["composer was never seen"]);
    home.send("a", "now", &["--id", "m2", "--mode", "now", "--wait", "written", "--timeout", "60"]).ok();
    assert_eq!(home.message("a", "m1")["proof"], "queued");
}

#[test]
fn what_was_given_up_is_listed_until_it_is_dropped_also_when_its_agent_has_ended() {
    let home = TestHome::with_stand_in();
    busy(&home, 8);
    home.send("a", "too late", &["--id", "m1", "--expires", "0"]).fails(1, &["not typed in time"]);
    home.send("a", "too late as well", &["--id", "m2", "--expires", "0"]).fails(1, &["not typed in time"]);
    assert_eq!(home.run(["messages", "list"]).ok().lines().count(), 2);
    home.run(["messages", "drop", "m1"]).ok();
    home.run(["messages", "drop", "m1"]).ok();
    home.run(["stop", "a"]).ok();
    let listed = home.run(["messages", "list"]).ok();
    assert!(listed.contains("m2") && !listed.contains("m1"), "{listed}");
    home.run(["messages", "drop", "m2"]).ok();
    assert_eq!(home.run(["messages", "list", "--json"]).ok().trim(), "[]");
    assert_eq!(home.ok(["events", "a"]).matches("message.dropped").count(), 2);
}

#[test]
fn text_that_was_given_up_in_the_composer_is_cleared_for_the_next_and_for_itself() {
    let home = TestHome::with_stand_in();
    // As many as are pressed for one text, and not one more.
    let sending = ["a", "b"].map(|name| {
        home.start(name, &["--swallow-enter", "12"]);
        home.begin_send(name, b"hard to submit", &["--id", "m1", "--timeout", "150"])
    });
    for sent in sending {
        sent.finish().fails(1, &["Enter does not submit it"]);
    }
    // By a daemon that has only read of it.
    home.kill_daemon();
    home.deliver("a", "another matter", &[]);
    assert_eq!(home.taken("a"), ["another matter"]);
    home.run(["messages", "retry", "m1", "--session", "b"]).ok();
    home.await_message("b", "m1", "delivered");
    assert_eq!(home.taken("b"), ["hard to submit"]);
}

#[test]
fn the_agent_confirms_from_inside_its_session() {
    let home = TestHome::new();
    let script = format!(
        "echo ready; read -r a; read -r b; read -r c; echo \"asked: $c\"; read -r go; {} ack m1; read -r end",
        ostler().display()
    );
    home.start_sh("a", &script);
    home.await_screen("a", "ready");
    let mut waiting = home
        .command(["send", "a", "remember this", "--id", "m1", "--wait", "acknowledged", "--timeout", "60"])
        .spawn()
        .unwrap();
    home.await_screen("a", "asked: [END CONTEXT - reply \"ACK: m1\"]");
    // The text of the request is no confirmation.
    until("the lines are known to be read", || {
        let message = home.json(["messages", "list", "a", "--all", "--json"]);
        assert_ne!(message[0]["proof"], "acknowledged", "{message}");
        (message[0]["proof"] == "submitted").then_some(())
    });
    assert!(waiting.try_wait().unwrap().is_none());
    home.ok(["send", "a", "--raw", "\n"]);
    assert!(waiting.wait().unwrap().success());
    let message = home.json(["messages", "list", "a", "--all", "--json"]);
    assert_eq!(message[0]["proof"], "acknowledged", "{message}");
    assert!(message[0]["evidence"].to_string().contains("ostler ack"));
    home.run(["ack", "m7"]).fails(1, &["there is no message \"m7\""]);
}

#[test]
fn the_echo_of_a_prompt_confirms_nothing() {
    for conversation in ["", "[conversation]\nprompt = '^> '\nreply = '^● '\n"] {
        let home = TestHome::with_stand_in_and(conversation);
        home.start("a", &["--reply", "Not yet."]);
        home.deliver("a", "look around, then reply\nACK: m1", &["--id", "m1", "--ack"]);
        home.await_log("a", "done", 1);
        home.wait("a", "idle");
        assert!(home.screen("a").contains("ACK: m1"), "{}", home.screen("a"));
        assert_eq!(home.message("a", "m1")["proof"], "submitted", "{conversation}");
        // The agent's own word counts, where it can be told from others'.
        home.deliver("a", "!say ACK: m2", &["--id", "m2", "--wait", "acknowledged"]);
    }
}

#[test]
fn a_message_that_was_not_typed_cannot_be_confirmed() {
    let home = TestHome::with_stand_in();
    busy(&home, 60);
    home.send("a", "later", &["--id", "m1", "--wait", "queued", "--ack"]).ok();
    home.run(["ack", "m1"]).fails(1, &["was not typed yet"]);
    assert_eq!(home.message("a", "m1")["proof"], "queued");
}

#[test]
fn a_long_message_goes_by_file() {
    let home = TestHome::with_stand_in_and("[timing]\nstartup_confirm_ms = 1000\n");
    let preset = crate::stand_in::PRESET.replace("clear = ", "paste_limit = 300\nclear = ");
    home.write_preset(&preset);
    home.start("a", &[]);
    let long = "a long story ".repeat(60).trim_end().to_owned();
    let sent = home.deliver("a", &long, &["--id", "m/1"]);
    assert_eq!((&sent["proof"], &sent["bytes"]), (&"submitted".into(), &long.len().into()));
    let taken = home.taken("a");
    assert_eq!(taken.len(), 1);
    let file = taken[0].strip_prefix("Read the file ").unwrap().split(" and do").next().unwrap();
    assert!(file.contains("/messages/m_1.") && taken[0].contains(&long.len().to_string()), "{taken:?}");
    assert_eq!(fs::read_to_string(file).unwrap(), long);
    // Whatever is proven is proven of the reference, and says so.
    let named =
        format!("file: a reference to {file} was typed instead of the text, which is longer than 300 bytes");
    for line in sent["evidence"].as_array().unwrap() {
        assert!(line.as_str().unwrap().ends_with(&named), "{line}");
    }
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    home.deliver("a", "a short one", &[]);
    assert_eq!(home.taken("a")[1], "a short one");
}

#[test]
fn a_long_message_whose_file_cannot_be_written_is_not_typed() {
    let home = TestHome::with_stand_in();
    home.write_preset(&crate::stand_in::PRESET.replace("clear = ", "paste_limit = 300\nclear = "));
    home.start("a", &[]);
    home.wait("a", "idle");
    let dir = home.status("a")["dir"].as_str().unwrap().to_owned();
    fs::write(format!("{dir}/messages"), "in the way").unwrap();
    let long = "a long story\n".repeat(60);
    home.send("a", &long, &["--id", "m1", "--timeout", "60"])
        .fails(1, &["it has to go by file, and the file cannot be written"]);
    assert_eq!(home.count("a", "bytes"), 0);
    // What was in the way is gone, and what was given up can be tried again.
    fs::remove_file(format!("{dir}/messages")).unwrap();
    home.run(["messages", "retry", "m1"]).ok();
    home.await_message("a", "m1", "delivered");
    assert!(home.taken("a")[0].starts_with("Read the file "), "{:?}", home.taken("a"));
}

#[test]
fn what_became_of_messages_is_counted() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--swallow-early", "6000"]);
    home.deliver("a", "typed twice", &[]);
    home.deliver("a", "typed once", &["--id", "m2", "--ack"]);
    home.run(["ack", "m2"]).ok();
    home.deliver("a", "!work 60s", &[]);
    home.send("a", "late", &["--expires", "0"]).fails(1, &["not typed in time"]);
    // What is taken back is sent, and neither taken nor failed.
    home.send("a", "dropped", &["--id", "m3", "--wait", "queued"]).ok();
    home.run(["messages", "drop", "m3"]).ok();
    home.send("a", "waits", &["--wait", "queued"]).ok();
    let metrics = home.json(["metrics", "--json"]);
    let count = |name: &str| metrics["deliveries"][name].as_u64().unwrap();
    for (name, expected) in [
        ("sent", 6),
        ("attempted", 3),
        ("submitted", 3),
        ("first_try", 2),
        ("after_retry", 1),
        ("acknowledged", 1),
        ("ack_wanted", 1),
        ("failed", 1),
        ("uncertain", 0),
        ("waiting", 1),
    ] {
        assert_eq!(count(name), expected, "{name}: {metrics}");
    }
    assert!(count("attempts") >= 4 && count("elapsed_ms") > 0, "{metrics}");
    let status = home.ok(["status", "a"]);
    assert!(
        status.contains(
            "3 of 6 taken, 2 at the first try, 1 confirmed, 1 waiting, 1 failed (75 % arrived, 50 % at once"
        ),
        "{status}"
    );
    let text = home.ok(["metrics"]);
    for line in [
        "ostler_messages_sent_total 6",
        "ostler_injections_succeeded_total 3",
        "ostler_injections_after_retry_total 1",
        "ostler_injections_failed_total 1",
        "ostler_messages_waiting 1",
        "ostler_sessions{state=\"working\"} 1",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} is not in {text}");
    }
}
