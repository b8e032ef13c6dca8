//! Sessions in a terminal. The viewer's terminal is itself a session, of another home: what a person would see
//! is that session's screen, and what a person would type is sent to it.

use std::process::Command;

use serde_json::Value;

use crate::support::{TestHome, is_running, ostler, pid, until};

/// Opens `ostler attach` to a session of `home` in a terminal of this size, as session `name` of `desk`.
fn view(desk: &TestHome, home: &TestHome, name: &str, size: &str, args: &[&str]) -> Value {
    desk.at_desk(name, size, home, &[&["attach"], args].concat())
}

fn size(home: &TestHome, name: &str) -> (u64, u64) {
    let status = home.status(name);
    (status["cols"].as_u64().unwrap(), status["rows"].as_u64().unwrap())
}

#[test]
fn a_viewer_sees_types_and_leaves() {
    let (home, desk) = (TestHome::new(), TestHome::new());
    let session = home.start_sh("a", "echo welcome; while read x; do echo \"you said $x\"; done");
    home.await_screen("a", "welcome");
    view(&desk, &home, "v", "100x30", &["a"]);
    desk.await_screen("v", "welcome");
    desk.ok(["send", "v", "--raw", "good day\r"]);
    desk.await_screen("v", "you said good day");
    assert!(home.screen("a").contains("you said good day"));
    assert_eq!(size(&home, "a"), (100, 30), "the session fits its viewer");
    // Ctrl-\ leaves; the program goes on.
    desk.ok(["send", "v", "--raw", "\x1c"]);
    let left = desk.json(["wait", "v", "exited", "--timeout", "20", "--json"]);
    assert_eq!(left["exit"]["status"], 0);
    assert!(desk.screen("v").contains("[left a; it goes on]"));
    assert!(is_running(pid(&session["pid"])));
}

#[test]
fn two_viewers_share_the_smaller_terminal_and_resizes_follow() {
    let (home, desk) = (TestHome::new(), TestHome::new());
    home.start_stand_in("a", &["--alt-screen"]);
    home.await_screen("a", "Type a message");
    let first = view(&desk, &home, "one", "100x30", &["a"]);
    desk.await_screen("one", "Type a message");
    view(&desk, &home, "two", "80x20", &["a"]);
    desk.await_screen("two", "Type a message");
    until("the smaller one decides", || (size(&home, "a") == (80, 20)).then_some(()));
    desk.ok(["send", "two", "--raw", "from two"]);
    desk.await_screen("one", "> from two");
    desk.ok(["send", "two", "--raw", "\x1c"]);
    until("the larger one is alone", || (size(&home, "a") == (100, 30)).then_some(()));
    // The terminal of the first viewer is made smaller, as by dragging a window's corner.
    let terminal = std::fs::read_link(format!("/proc/{}/fd/0", pid(&first["pid"]))).unwrap();
    let resized =
        Command::new("stty").args(["-F", terminal.to_str().unwrap(), "cols", "90", "rows", "25"]).status();
    assert!(resized.unwrap().success());
    until("the session follows", || (size(&home, "a") == (90, 25)).then_some(()));
}

#[test]
fn a_reader_changes_nothing() {
    let (home, desk) = (TestHome::new(), TestHome::new());
    home.start_sh("a", "echo untouched; read x; echo typed");
    home.await_screen("a", "untouched");
    view(&desk, &home, "v", "60x10", &["a", "--read-only"]);
    desk.await_screen("v", "untouched");
    desk.ok(["send", "v", "--raw", "\r"]);
    home.ok(["send", "a", "--raw", "\n"]);
    let ended = desk.json(["wait", "v", "exited", "--timeout", "20", "--json"]);
    assert_eq!(ended["exit"]["status"], 0);
    assert!(desk.screen("v").contains("[a has ended: exit status 0]"), "{}", desk.screen("v"));
    assert_eq!(size(&home, "a"), (120, 40));
}

#[test]
fn a_viewer_outlives_the_daemon() {
    let (home, desk) = (TestHome::new(), TestHome::new());
    home.start_sh("a", "echo before; while read x; do echo \"heard $x\"; done");
    view(&desk, &home, "v", "80x24", &["a"]);
    desk.await_screen("v", "before");
    for round in ["one", "two"] {
        home.kill_daemon();
        desk.await_screen("v", "before");
        // Keys of the moment of the death may be lost, as they would be on a line that drops.
        until("the viewer is back", || {
            desk.ok(["send", "v", "--raw", &format!("{round}\r")]);
            desk.screen("v").contains(&format!("heard {round}")).then_some(())
        });
    }
}

#[test]
fn nothing_of_the_programs_own_bytes_reaches_the_viewers_terminal() {
    let (home, desk) = (TestHome::new(), TestHome::new());
    // A question to the terminal: if it came through, the viewer's terminal would answer it, as typed text.
    home.start_sh("a", "stty raw -echo; echo ready; read -r x; printf '\\033[c\\033[6n\\033]0;t\\007asked'; head -c 60 | od -c; sleep 600");
    home.await_screen("a", "ready");
    view(&desk, &home, "v", "100x30", &["a"]);
    desk.await_screen("v", "ready");
    home.ok(["send", "a", "--raw", "\n"]);
    home.await_screen("a", "asked");
    until("one set of answers has come", || {
        desk.ok(["send", "v", "--raw", "x"]);
        home.screen("a").contains("x   x").then_some(())
    });
    let screen = home.screen("a");
    assert_eq!(screen.matches("033   [").count(), 2, "{screen}");
}

#[test]
fn attach_without_a_terminal_or_to_itself_is_refused() {
    let home = TestHome::new();
    home.start_sh("a", "read x");
    home.run(["attach", "a"]).fails(2, &["needs a terminal", "ostler screen"]);
    let at_home = format!("OSTLER_HOME={}", home.path().display());
    let script = format!("{} attach self; echo code $?; read x", ostler().display());
    home.ok(["start", "sh", "--name", "self", "--env", &at_home, "--", "-c", &script]);
    home.await_screen("self", "code 2");
    assert!(home.screen("self").contains("cannot show itself"));
}
