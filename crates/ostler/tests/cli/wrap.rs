//! An agent run by hand, in a terminal that is itself a session.

use crate::support::TestHome;

/// Runs `ostler wrap` in a terminal.
fn wrap(desk: &TestHome, home: &TestHome, args: &[&str]) {
    desk.at_desk("v", "100x30", home, &[&["wrap"], args].concat());
}

#[test]
fn a_wrapped_agent_is_a_session_and_its_status_is_passed_on() {
    let (home, desk) = (TestHome::with_stand_in(), TestHome::new());
    let log = home.log_file("w");
    wrap(&desk, &home, &["standin", "--name", "w", "--log", log.to_str().unwrap()]);
    desk.await_screen("v", "Type a message");
    // It can be sent to like any other, and the person sees it.
    home.deliver("w", "from outside", &[]);
    desk.await_screen("v", "> from outside");
    desk.ok(["send", "v", "--raw", "!exit 7\r"]);
    let ended = desk.json(["wait", "v", "exited", "--timeout", "30", "--json"]);
    assert_eq!(ended["exit"]["status"], 7, "{}", desk.screen("v"));
    assert_eq!(home.taken("w"), ["from outside", "!exit 7"]);
    assert_eq!(home.status("w")["exit"]["status"], 7);
}

#[test]
fn a_person_can_leave_a_wrapped_agent_and_it_goes_on() {
    let (home, desk) = (TestHome::with_stand_in(), TestHome::new());
    wrap(&desk, &home, &["standin", "--name", "w"]);
    desk.await_screen("v", "Type a message");
    desk.ok(["send", "v", "--raw", "\x1c"]);
    let left = desk.json(["wait", "v", "exited", "--timeout", "30", "--json"]);
    assert_eq!(left["exit"]["status"], 0);
    assert!(desk.screen("v").contains("[left w; it goes on]"));
    home.wait("w", "idle");
}

#[test]
fn a_program_that_ends_at_once_or_by_a_signal_is_passed_on_too() {
    let many = "for i in $(seq 50); do echo line $i; done; exit 3";
    for (script, status, shown) in
        [(many, 3, "line 50"), ("echo why; kill -15 $$", 143, "why"), ("true", 0, "")]
    {
        let (home, desk) = (TestHome::with_stand_in(), TestHome::new());
        wrap(&desk, &home, &["sh", "-c", script]);
        let ended = desk.json(["wait", "v", "exited", "--timeout", "30", "--json"]);
        assert_eq!(ended["exit"]["status"], status, "{script}: {}", desk.screen("v"));
        let left = desk.ok(["logs", "v"]);
        assert!(left.contains(shown) && left.contains("[sh has ended"), "{left}");
        assert!(script != many || left.contains("line 1\nline 2\n"), "what has scrolled away, too: {left}");
    }
    // Its version is the agent's, and not ours.
    let (home, desk) = (TestHome::with_stand_in(), TestHome::new());
    wrap(&desk, &home, &["standin", "--version"]);
    desk.json(["wait", "v", "exited", "--timeout", "30", "--json"]);
    assert!(desk.ok(["logs", "v"]).contains("ostler-stand-in "), "{}", desk.screen("v"));
    let home = TestHome::with_stand_in();
    home.run(["wrap", "standin"]).fails(2, &["wrap needs a terminal", "ostler start"]);
}

#[test]
fn a_wrapped_agent_is_told_what_it_should_know() {
    let (home, desk) = (TestHome::with_stand_in(), TestHome::new());
    // The terminal stands in the project of its own home.
    let here = desk.project().to_str().unwrap().to_owned();
    home.run(["context", "save", "The parser was rewritten.", "--cwd", &here]).ok();
    let context = home.file("context.md");
    std::fs::write(&context, "The tests are slow.").unwrap();
    let log = home.log_file("w");
    let options = ["standin", "--name", "w", "--recall", "--context", context.to_str().unwrap()];
    wrap(&desk, &home, &[&options[..], &["--log", log.to_str().unwrap()]].concat());
    home.await_log("w", "submitted", 1);
    let taken = home.taken("w").concat();
    assert!(taken.contains("The tests are slow.") && taken.contains("The parser was rewritten."), "{taken}");
    assert!(taken.contains("please acknowledge"), "{taken}");
}
