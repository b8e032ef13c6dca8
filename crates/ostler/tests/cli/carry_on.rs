//! Agents that stop before their work is done.

use serde_json::Value;

use crate::support::{TestHome, kill, until};

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
    // One that is stopped is left alone, and one that is gone is told of.
    home.ok(["continue", "a", "--off"]);
    assert_eq!(home.status("a")["carry_on"], Value::Null);
    home.start_with("b", &["--prompt", "!work 60s x", "--carry-on"], &[]).ok();
    let pid = home.status("b")["pid"].as_u64().unwrap();
    kill(u32::try_from(pid).unwrap());
    home.wait("b", "exited");
    until("its owner is told", || {
        home.recorded("b", "continuation.notified").first()?["why"]
            .as_str()?
            .contains("signal 9")
            .then_some(())
    });
    let refused = home.run(["continue", "b"]).fails(1, &["\"b\" has ended"]);
    assert!(refused.contains("ostler resume b"), "{refused}");
}
