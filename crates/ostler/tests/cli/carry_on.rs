//! Agents that stop before their work is done.

use serde_json::Value;

use crate::support::{TestHome, kill, pid, until};

impl TestHome {
    /// Waits until carrying on the agent stands there.
    #[track_caller]
    fn await_phase(&self, name: &str, phase: &str) -> Value {
        until(&format!("{name} is {phase}"), || {
            let standing = self.status(name)["carry_on"].clone();
            (standing["phase"] == phase).then_some(standing)
        })
    }

    /// Prompts to go on that the agent took.
    fn sent_on(&self, name: &str) -> usize {
        self.taken(name).iter().filter(|text| text.starts_with("You stopped before")).count()
    }

    fn recorded(&self, name: &str, event: &str) -> Vec<Value> {
        let events = self.ok(["events", name, "--json"]);
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|told| told["event"] == event).map(|told| told["details"].clone()).collect()
    }
}

/// A check that passes the third time it is asked, and changes something each time.
const THIRD: &str = "echo x >> calls; [ $(wc -l < calls) -ge 3 ]";

#[test]
fn it_is_sent_on_until_its_checks_pass() {
    let home = TestHome::with_stand_in();
    let options = ["--prompt", "write it", "--carry-on", "--check", THIRD, "--pause", "1"];
    home.start_with("a", &options, &[]).ok();
    let done = home.await_phase("a", "done");
    assert_eq!((done["turns"].as_u64(), done["why"].as_str()), (Some(2), Some("checks: 1 passed")), "{done}");
    let taken = home.taken("a");
    assert_eq!((taken.len(), home.sent_on("a")), (3, 2), "{taken:?}");
    assert!(taken[1].contains("write it") && taken[1].contains("- `echo x"), "{}", taken[1]);
    let decided = home.recorded("a", "continuation.decided");
    let conclusions: Vec<&str> =
        decided.iter().filter_map(|decided| decided["conclusion"].as_str()).collect();
    assert_eq!(conclusions, ["INCOMPLETE", "INCOMPLETE", "TASK_COMPLETE"], "{decided:?}");
    assert!(
        home.ok(["explain", "a"]).contains("TASK_COMPLETE (0.95 sure) after turn_ended: assign_next_task")
    );
    // Asked once more, it keeps its goal and its checks.
    let asked = home.json(["continue", "a", "--json"]);
    assert_eq!(asked[0]["carry_on"]["phase"], "examining", "{asked}");
    home.await_phase("a", "done");
    assert_eq!(home.sent_on("a"), 2);
    // What a person says is a new piece of work.
    std::fs::remove_file(home.project().join("calls")).unwrap();
    home.deliver("a", "write more", &[]);
    until("it is sent on again", || (home.sent_on("a") == 4).then_some(()));
    home.await_phase("a", "done");
}

#[test]
fn it_is_not_pushed_for_ever_nor_while_it_is_held() {
    let home = TestHome::with_stand_in();
    let options = ["--prompt", "write it", "--check", "false", "--pause", "1"];
    home.start_with("a", &options, &[]).ok();
    home.ok(["hold", "a"]);
    home.await_phase("a", "waiting");
    home.kill_daemon();
    let status = home.ok(["status", "a"]);
    assert!(status.contains("on hold"), "{status}");
    assert_eq!(home.sent_on("a"), 0);
    assert!(home.ok(["resume", "a"]).contains("prompts]"));
    let stuck = home.await_phase("a", "needs_owner");
    assert!(stuck["why"].as_str().unwrap().starts_with("no progress"), "{stuck}");
    assert_eq!(home.sent_on("a"), 2);
    assert_eq!(home.recorded("a", "continuation.notified").len(), 1);
}

#[test]
fn what_a_person_is_asked_is_left_to_them() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.wait("a", "idle");
    home.deliver("a", "!permission Write there?", &[]);
    home.wait("a", "blocked");
    home.ok(["continue", "a", "--check", THIRD, "--pause", "1", "--goal", "the goal"]);
    home.await_phase("a", "needs_owner");
    assert_eq!(home.sent_on("a"), 0);
    home.press("a", "\r");
    home.await_phase("a", "done");
    assert!(home.sent_on("a") >= 1 && home.taken("a")[1].contains("the goal"), "{:?}", home.taken("a"));
    // Who stops its turn has it, until they say something.
    home.send("a", "!work 60s x", &[]).ok();
    home.ok(["interrupt", "a"]);
    home.await_phase("a", "yielded");
    home.wait("a", "idle");
    let before = home.sent_on("a");
    home.kill_daemon();
    assert_eq!(home.await_phase("a", "yielded")["held"], false);
    assert_eq!(home.sent_on("a"), before);
    home.ok(["continue", "a", "--off"]);
    assert_eq!(home.status("a")["carry_on"], Value::Null);
    // Its goal is what it was asked first.
    home.ok(["continue", "a", "--check", "false", "--pause", "1"]);
    until("it is told its goal", || {
        home.taken("a").last()?.contains("The task:\n!permission Write there?").then_some(())
    });
    home.ok(["stop", "a"]);
    home.run(["continue", "a"]).fails(1, &["\"a\" has ended", "ostler resume a"]);
}

#[test]
fn one_that_crashes_comes_back_and_is_told_to_go_on() {
    let home = TestHome::with_stand_in();
    home.start_with("a", &["--prompt", "!work 600s x", "--carry-on", "--check", "false"], &[]).ok();
    home.send("a", "what waits", &["--wait", "queued"]).ok();
    kill(pid(&home.status("a")["pid"]));
    home.wait("a", "exited");
    // Another daemon knows of it.
    home.kill_daemon();
    until("it comes back and goes on", || {
        (home.status("a")["process"] == 2 && home.sent_on("a") == 1).then_some(())
    });
    home.await_message(
        "a",
        home.json(["messages", "list", "a", "--all", "--json"])[1]["id"].as_str().unwrap(),
        "delivered",
    );
    let decided = &home.recorded("a", "continuation.decided")[0];
    assert_eq!(
        (decided["action"].as_str(), decided["trigger"].as_str()),
        (Some("resume_agent"), Some("pty_exit"))
    );
    // One that a person stops is left alone, also before it is back.
    kill(pid(&home.status("a")["pid"]));
    home.wait("a", "exited");
    assert!(home.status("a")["carry_on"]["resumes"].is_u64());
    home.ok(["stop", "a"]);
    assert_eq!(home.status("a")["carry_on"]["resumes"], Value::Null);
}
