//! Whoever reads what a command prints may leave at any time.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read};
use std::process::Stdio;

use super::{PROMPT, Running};
use crate::support::{Done, TestHome, within};

/// A pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_left_is_no_failure() {
    let home = TestHome::new();
    home.start_sh("a", "seq 1 1000; read x");
    home.await_screen("a", "1000");
    for command in [
        &["list"][..],
        &["list", "--json"],
        &["status", "a"],
        &["screen", "a"],
        &["screen", "a", "--json"],
        &["logs", "a"],
        &["logs", "a", "--raw"],
        &["events"],
        &["doctor"],
        &["daemon", "status"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
        &["send", "a", "--raw", "y", "--id", "k"],
    ] {
        let done = Done::from(&home.command(command).stdout(closed_pipe()).output().unwrap());
        assert!(done.code == 0 && done.err.is_empty(), "{command:?}: {done:?}");
        // Neither does it matter that nobody hears the complaint.
        let mut deaf = home.command(command);
        deaf.stdout(closed_pipe()).stderr(closed_pipe());
        assert_eq!(deaf.status().unwrap().code(), Some(0), "{command:?}");
    }
    let mut unheard = home.command(["status", "nobody"]);
    assert_eq!(unheard.stderr(closed_pipe()).status().unwrap().code(), Some(1));
    let mut full = home.command(["list"]);
    full.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
    Done::from(&full.output().unwrap()).fails(1, &["No space left"]);
}

/// Follows, reads a line and leaves; the follower has to notice when it has something to say.
#[track_caller]
fn leaves_with_its_reader(home: &TestHome, command: &[&str], mut provoke: impl FnMut()) {
    let mut child = home.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut child = Running(child);
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    let left = within(PROMPT, || {
        provoke();
        child.0.try_wait().unwrap()
    });
    assert!(left.is_some(), "ostler {} goes on for nobody", command.join(" "));
}

#[test]
fn logs_that_are_followed_end_with_their_reader() {
    let home = TestHome::new();
    home.start_sh("a", "while :; do echo line; sleep 0.05; done");
    leaves_with_its_reader(&home, &["logs", "a", "-f"], || ());
    leaves_with_its_reader(&home, &["logs", "a", "-f", "--raw"], || ());
}

#[test]
fn logs_are_followed_by_many_and_beyond_the_daemons_death() {
    let home = TestHome::new();
    home.start_sh("a", "stty -echo; echo line 1; read x; echo line 2; read x; echo line 3; read x");
    let followers: Vec<_> = (0..20)
        .map(|index| {
            let form: &[&str] =
                if index % 2 == 0 { &["logs", "a", "-f", "--raw"] } else { &["logs", "a", "-f"] };
            let mut child = home.command(form).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut reader = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), "line 1", "{index}");
            (reader, Running(child))
        })
        .collect();
    home.kill_daemon();
    for _ in 0..2 {
        home.ok(["send", "a", "--raw", "\n"]);
    }
    home.ok(["send", "a", "--raw", "\n"]);
    for (mut reader, mut child) in followers {
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        let lines: Vec<&str> = rest.lines().map(str::trim_end).collect();
        assert_eq!(lines, ["line 2", "line 3"]);
        assert_eq!(child.0.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn events_that_are_followed_end_with_their_reader() {
    let home = TestHome::new();
    home.start_sh("a", "stty raw -echo; cat > /dev/null");
    leaves_with_its_reader(&home, &["events", "-f"], || drop(home.ok(["send", "a", "--raw", "x"])));
}
