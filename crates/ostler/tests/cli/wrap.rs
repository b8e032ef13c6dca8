//! An agent run by hand, in a terminal that is itself a session.

use crate::agent_lab::Lab;
use crate::support::{TestHome, ostler};

/// Runs `ostler wrap` in a terminal.
fn wrap(desk: &TestHome, lab: &Lab, args: &[&str]) {
    let at_home = format!("OSTLER_HOME={}", lab.home.path().display());
    let path = format!("PATH={}/bin:{}", lab.home.scratch().display(), std::env::var("PATH").unwrap());
    let start = ["start", ostler().to_str().unwrap(), "--name", "v", "--size", "100x30"];
    let env = ["--env", &at_home, "--env", &path, "--", "wrap"];
    desk.ok([&start[..], &env[..], args].concat());
}

#[test]
fn a_wrapped_agent_is_a_session_and_its_status_is_passed_on() {
    let (lab, desk) = (Lab::new(), TestHome::new());
    let log = lab.log_file("w");
    wrap(&desk, &lab, &["standin", "--name", "w", "--log", log.to_str().unwrap()]);
    desk.await_screen("v", "Type a message");
    // It can be sent to like any other, and the person sees it.
    lab.deliver("w", "from outside", &[]);
    desk.await_screen("v", "> from outside");
    desk.ok(["send", "v", "--raw", "!exit 7\r"]);
    let ended = desk.json(["wait", "v", "exited", "--timeout", "30", "--json"]);
    assert_eq!(ended["exit"]["status"], 7, "{}", desk.screen("v"));
    assert_eq!(lab.taken("w"), ["from outside", "!exit 7"]);
    assert_eq!(lab.home.status("w")["exit"]["status"], 7);
}

#[test]
fn a_person_can_leave_a_wrapped_agent_and_it_goes_on() {
    let (lab, desk) = (Lab::new(), TestHome::new());
    wrap(&desk, &lab, &["standin", "--name", "w"]);
    desk.await_screen("v", "Type a message");
    desk.ok(["send", "v", "--raw", "\x1c"]);
    let left = desk.json(["wait", "v", "exited", "--timeout", "30", "--json"]);
    assert_eq!(left["exit"]["status"], 0);
    assert!(desk.screen("v").contains("[left w; it goes on]"));
    lab.wait("w", "idle");
}

#[test]
fn a_program_that_ends_at_once_or_by_a_signal_is_passed_on_too() {
    for (script, status) in [("exit 3", 3), ("kill -15 $$", 143), ("true", 0)] {
        let (lab, desk) = (Lab::new(), TestHome::new());
        wrap(&desk, &lab, &["sh", "-c", script]);
        let ended = desk.json(["wait", "v", "exited", "--timeout", "30", "--json"]);
        assert_eq!(ended["exit"]["status"], status, "{script}: {}", desk.screen("v"));
    }
    let lab = Lab::new();
    lab.run(&["wrap", "standin"]).fails(2, &["wrap needs a terminal", "ostler start"]);
}
