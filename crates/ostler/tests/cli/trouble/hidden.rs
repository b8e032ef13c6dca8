//! Processes that `/proc` does not show: the screen has to do, and that is said.

#![allow(clippy::print_stdout, reason = "a test says why it was skipped")]

use std::time::{Duration, Instant};

use crate::support::{TestHome, mount, own_mounts, pid};

#[test]
fn where_processes_are_hidden_the_screen_has_to_do_and_that_is_said_once() {
    let hidden = || -> Result<(), String> {
        own_mounts()?;
        let home = TestHome::new();
        let session = home.start_sh("a", "while printf 'go> ' && read line; do echo \"got $line\"; done");
        home.await_screen("a", "go>");
        mount(&["-t", "tmpfs", "ostler-test", &format!("/proc/{}", pid(&session["pid"]))])?;
        let sent = home.json(["send", "a", "hello there", "--timeout", "30", "--json"]);
        assert_eq!(sent["proof"], "submitted", "{sent}");
        home.ok(["wait", "a", "idle", "--timeout", "30"]);
        let said = "cannot be seen: /proc does not show them here, and the screen has to do";
        assert!(home.ok(["explain", "a"]).contains(said));
        home.ok(["send", "a", "and again", "--timeout", "30"]);
        home.ok(["wait", "a", "idle", "--timeout", "30"]);
        let log = std::fs::read_to_string(home.path().join("daemon.log")).unwrap();
        assert_eq!(log.matches("its processes cannot be seen in /proc").count(), 1, "{log}");
        // The program is asked to end, though it is not to be seen.
        let began = Instant::now();
        home.ok(["stop", "a", "--grace", "30"]);
        assert!(began.elapsed() < Duration::from_secs(15));
        Ok(())
    };
    // On a thread of its own, for the mounts are the thread's.
    if let Err(reason) = std::thread::scope(|scope| scope.spawn(hidden).join()).unwrap() {
        println!("skipped: processes cannot be hidden here: {reason}");
    }
}
