//! Many messages: their order, their ids, and what can be done about them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::agent_lab::Lab;
use crate::support::{TestHome, ostler, pid, until};

/// An agent that is busy for a while, with nothing else to do.
fn busy(lab: &Lab, seconds: u32) {
    lab.start("a", &[]);
    lab.deliver("a", &format!("!work {seconds}s"), &[]);
}

#[test]
fn the_urgent_goes_first_and_the_rest_in_its_order() {
    let lab = Lab::new();
    busy(&lab, 5);
    for (text, priority) in
        [("low", "low"), ("one", "normal"), ("start", "startup"), ("two", "normal"), ("begin", "startup")]
    {
        lab.send("a", text, &["--priority", priority, "--wait", "queued"]).ok();
    }
    lab.await_log("a", "submitted", 6);
    assert_eq!(lab.taken("a")[1..], ["start", "begin", "one", "two", "low"]);
}

#[test]
fn what_comes_too_late_is_taken_back() {
    let lab = Lab::new();
    busy(&lab, 6);
    let begun = std::time::Instant::now();
    lab.send("a", "fresh news", &["--expires", "1", "--id", "m1"])
        .fails(1, &["was not delivered: it was not typed in time"]);
    assert!(begun.elapsed().as_secs_f32() >= 1.0);
    assert_eq!(lab.message("a", "m1")["state"], "failed");
    lab.deliver("a", "in time", &["--expires", "60"]);
    assert_eq!(lab.taken("a")[1..], ["in time"]);
}

#[test]
fn one_id_is_one_message() {
    let lab = Lab::new();
    busy(&lab, 3);
    let same: Vec<_> =
        (0..5).map(|_| lab.begin_send("a", b"once", &["--id", "k", "--timeout", "60"])).collect();
    for sending in same {
        sending.finish().ok();
    }
    lab.deliver("a", "once", &["--id", "k"]);
    lab.send("a", "twice", &["--id", "k"]).fails(1, &["was sent before with another body", "another --id"]);
    assert_eq!(lab.taken("a")[1..], ["once"]);
    // The id is the session's own.
    lab.start("b", &[]);
    lab.run(&["send", "b", "elsewhere", "--id", "k", "--timeout", "60"]).ok();
}

#[test]
fn many_senders_at_once_never_mix() {
    let lab = Lab::new();
    lab.start("a", &["--word-pace", "1"]);
    let texts: Vec<String> =
        (0..12).map(|n| format!("sender {n} says\n{}", format!("word{n} ").repeat(30).trim_end())).collect();
    let sending: Vec<_> =
        texts.iter().map(|text| lab.begin_send("a", text.as_bytes(), &["--timeout", "120"])).collect();
    for sending in sending {
        sending.finish().ok();
    }
    let (mut taken, mut expected) = (lab.taken("a"), texts);
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
    let lab = Lab::new();
    lab.start("a", &[]);
    lab.wait("a", "idle");
    // More than the terminal takes while nobody reads it; the agent empties its composer for each byte.
    let bytes = vec![0x15; 300_000];
    let stopped = Stopped::new(pid(&lab.home.status("a")["pid"]));
    let raw = lab.begin_send("a", &bytes, &["--raw", "--timeout", "60"]);
    until("the terminal is full", || {
        lab.home.status("a")["terminal"]["pending"].as_u64().filter(|pending| *pending > 0)
    });
    lab.send("a", "hi", &["--id", "m1", "--wait", "queued"]).ok();
    // The terminal was looked at since: a prompt that did not wait would be typed by now.
    lab.home.status("a");
    lab.home.status("a");
    assert_eq!(lab.message("a", "m1")["attempts"], 0);
    drop(stopped);
    raw.finish().ok();
    assert_eq!(lab.await_message("a", "m1", "delivered")["attempts"], 1);
    assert_eq!(lab.taken("a"), ["hi"]);
    lab.deliver("a", "and on", &[]);
    let log = lab.log("a");
    let typed = log.iter().filter_map(|record| record["escaped"].as_str());
    assert_eq!(typed.map(|text| text.matches("\\x15").count()).sum::<usize>(), bytes.len());
}

#[test]
fn what_waits_is_listed_and_can_be_taken_back_and_sent_after_all() {
    let lab = Lab::new();
    busy(&lab, 8);
    lab.send("a", "perhaps", &["--id", "m1", "--wait", "queued"]).ok();
    lab.send("a", "surely", &["--id", "m2", "--wait", "queued"]).ok();
    let listed = lab.home.json(["messages", "list", "a", "--json"]);
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|message| &message["id"]).collect();
    assert_eq!(ids, ["m1", "m2"]);
    assert_eq!(listed[0]["waits_for"], "the agent is working", "{listed}");
    lab.run(&["messages", "retry", "m1"]).fails(1, &["\"m1\" is queued", "given up"]);
    let dropped: Value = serde_json::from_str(&lab.run(&["messages", "drop", "m1", "--json"]).ok()).unwrap();
    assert_eq!(
        (&dropped["state"], &dropped["failure"]),
        (&"failed".into(), &"it was dropped on request".into())
    );
    lab.run(&["messages", "drop", "m9"]).fails(1, &["there is no message \"m9\"", "ostler messages list"]);
    lab.await_log("a", "submitted", 2);
    lab.await_message("a", "m2", "delivered");
    assert_eq!(lab.taken("a")[1..], ["surely"]);
    assert_eq!(lab.run(&["messages", "list", "a"]).ok(), "there are no messages under way or given up\n");
    let listed = lab.run(&["messages", "list", "a", "--all"]).ok();
    assert!(listed.contains("dropped on request") && listed.contains("m2"), "{listed}");
    lab.run(&["messages", "retry", "m1"]).ok();
    lab.await_message("a", "m1", "delivered");
    assert_eq!(lab.taken("a")[1..], ["surely", "perhaps"]);
    lab.run(&["messages", "retry", "m1"]).fails(1, &["\"m1\" is delivered"]);
    lab.run(&["messages", "drop", "m1"]).fails(1, &["\"m1\" is delivered"]);
}

#[test]
fn what_is_taken_back_has_not_failed_and_was_never_asked() {
    let lab = Lab::new();
    busy(&lab, 30);
    lab.send("a", "delete everything", &["--id", "m1", "--wait", "queued"]).ok();
    lab.run(&["messages", "drop", "m1"]).ok();
    let counts = lab.home.json(["metrics", "--json"])["deliveries"].clone();
    assert_eq!((&counts["sent"], &counts["failed"]), (&2.into(), &0.into()), "{counts}");
    assert!(!lab.home.ok(["events", "a"]).contains("injection.failed"));
    assert!(!lab.home.ok(["status", "a"]).contains("failed"));
    lab.run(&["stop", "a"]).ok();
    let known = lab.run(&["context", "show"]).ok();
    assert!(known.contains("Asked: !work 30s") && !known.contains("delete"), "{known}");
}

#[test]
fn what_cannot_be_confirmed_is_not_waited_for() {
    let lab = Lab::new();
    lab.start("a", &[]);
    lab.deliver("a", "hello", &["--id", "m1"]);
    lab.send("a", "hello", &["--id", "m1", "--wait", "acknowledged"]).fails(1, &["was not asked to confirm"]);
    lab.send("a", "hello", &["--id", "m1", "--raw"]).fails(1, &["sent before", "in another way"]);
    lab.home.ok(["send", "a", "--raw", "x", "--id", "r1"]);
    lab.run(&["ack", "r1"]).fails(1, &["raw bytes"]);
    lab.run(&["ack", "m1"]).ok();
    let counts = lab.home.json(["metrics", "--json"])["deliveries"].clone();
    assert_eq!((&counts["ack_wanted"], &counts["acknowledged"]), (&0.into(), &0.into()), "{counts}");
}

#[test]
fn a_message_that_needs_no_composer_does_not_wait_behind_one_that_does() {
    let lab = Lab::new();
    lab.write_settings("[detector]\nstartup_deadline_ms = 1000\n");
    lab.start_with("a", &["--no-wait", "--size", "10x5"], &[]).ok();
    lab.send("a", "with care", &["--id", "m1", "--timeout", "4"]).fails(4, &["composer was never seen"]);
    lab.send("a", "now", &["--id", "m2", "--mode", "now", "--wait", "written", "--timeout", "60"]).ok();
    assert_eq!(lab.message("a", "m1")["proof"], "queued");
}

#[test]
fn what_was_given_up_is_listed_until_it_is_dropped_also_when_its_agent_has_ended() {
    let lab = Lab::new();
    busy(&lab, 8);
    lab.send("a", "too late", &["--id", "m1", "--expires", "0"]).fails(1, &["not typed in time"]);
    lab.send("a", "too late as well", &["--id", "m2", "--expires", "0"]).fails(1, &["not typed in time"]);
    assert_eq!(lab.run(&["messages", "list"]).ok().lines().count(), 2);
    lab.run(&["messages", "drop", "m1"]).ok();
    lab.run(&["messages", "drop", "m1"]).ok();
    lab.run(&["stop", "a"]).ok();
    let listed = lab.run(&["messages", "list"]).ok();
    assert!(listed.contains("m2") && !listed.contains("m1"), "{listed}");
    lab.run(&["messages", "drop", "m2"]).ok();
    assert_eq!(lab.run(&["messages", "list", "--json"]).ok().trim(), "[]");
    assert_eq!(lab.home.ok(["events", "a"]).matches("message.dropped").count(), 2);
}

#[test]
fn text_that_was_given_up_in_the_composer_is_cleared_for_the_next_and_for_itself() {
    let lab = Lab::new();
    // As many as are pressed for one text, and not one more.
    let sending = ["a", "b"].map(|name| {
        lab.start(name, &["--swallow-enter", "12"]);
        lab.begin_send(name, b"hard to submit", &["--id", "m1", "--timeout", "150"])
    });
    for sent in sending {
        sent.finish().fails(1, &["Enter does not submit it"]);
    }
    // By a daemon that has only read of it.
    lab.home.kill_daemon();
    lab.deliver("a", "another matter", &[]);
    assert_eq!(lab.taken("a"), ["another matter"]);
    lab.run(&["messages", "retry", "m1", "--session", "b"]).ok();
    lab.await_message("b", "m1", "delivered");
    assert_eq!(lab.taken("b"), ["hard to submit"]);
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
        let lab = Lab::with(conversation);
        lab.start("a", &["--reply", "Not yet."]);
        lab.deliver("a", "look around, then reply\nACK: m1", &["--id", "m1", "--ack"]);
        lab.await_log("a", "done", 1);
        lab.wait("a", "idle");
        assert!(lab.home.screen("a").contains("ACK: m1"), "{}", lab.home.screen("a"));
        assert_eq!(lab.message("a", "m1")["proof"], "submitted", "{conversation}");
        // The agent's own word counts, where it can be told from others'.
        lab.deliver("a", "!say ACK: m2", &["--id", "m2", "--wait", "acknowledged"]);
    }
}

#[test]
fn a_message_that_was_not_typed_cannot_be_confirmed() {
    let lab = Lab::new();
    busy(&lab, 60);
    lab.send("a", "later", &["--id", "m1", "--wait", "queued", "--ack"]).ok();
    lab.run(&["ack", "m1"]).fails(1, &["was not typed yet"]);
    assert_eq!(lab.message("a", "m1")["proof"], "queued");
}

#[test]
fn a_long_message_goes_by_file() {
    let lab = Lab::with("[timing]\nstartup_confirm_ms = 1000\n");
    let preset = crate::agent_lab::PRESET.replace("clear = ", "paste_limit = 300\nclear = ");
    lab.write_preset(&preset);
    lab.start("a", &[]);
    let long = "a long story ".repeat(60).trim_end().to_owned();
    let sent = lab.deliver("a", &long, &["--id", "m/1"]);
    assert_eq!((&sent["proof"], &sent["bytes"]), (&"submitted".into(), &long.len().into()));
    let taken = lab.taken("a");
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
    lab.deliver("a", "a short one", &[]);
    assert_eq!(lab.taken("a")[1], "a short one");
}

#[test]
fn a_long_message_whose_file_cannot_be_written_is_not_typed() {
    let lab = Lab::new();
    lab.write_preset(&crate::agent_lab::PRESET.replace("clear = ", "paste_limit = 300\nclear = "));
    lab.start("a", &[]);
    lab.wait("a", "idle");
    let dir = lab.home.status("a")["dir"].as_str().unwrap().to_owned();
    fs::write(format!("{dir}/messages"), "in the way").unwrap();
    let long = "a long story\n".repeat(60);
    lab.send("a", &long, &["--id", "m1", "--timeout", "60"])
        .fails(1, &["it has to go by file, and the file cannot be written"]);
    assert_eq!(lab.count("a", "bytes"), 0);
    // What was in the way is gone, and what was given up can be tried again.
    fs::remove_file(format!("{dir}/messages")).unwrap();
    lab.run(&["messages", "retry", "m1"]).ok();
    lab.await_message("a", "m1", "delivered");
    assert!(lab.taken("a")[0].starts_with("Read the file "), "{:?}", lab.taken("a"));
}

#[test]
fn what_became_of_messages_is_counted() {
    let lab = Lab::new();
    lab.start("a", &["--swallow-early", "6000"]);
    lab.deliver("a", "typed twice", &[]);
    lab.deliver("a", "typed once", &["--id", "m2", "--ack"]);
    lab.run(&["ack", "m2"]).ok();
    lab.deliver("a", "!work 60s", &[]);
    lab.send("a", "late", &["--expires", "0"]).fails(1, &["not typed in time"]);
    // What is taken back is sent, and neither taken nor failed.
    lab.send("a", "dropped", &["--id", "m3", "--wait", "queued"]).ok();
    lab.run(&["messages", "drop", "m3"]).ok();
    lab.send("a", "waits", &["--wait", "queued"]).ok();
    let metrics = lab.home.json(["metrics", "--json"]);
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
    let status = lab.home.ok(["status", "a"]);
    assert!(
        status.contains("3 of 6 taken, 2 at the first try, 1 confirmed, 1 waiting, 1 failed\n"),
        "{status}"
    );
    let text = lab.home.ok(["metrics"]);
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
