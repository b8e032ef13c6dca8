//! The stand-in on a real terminal: what it shows, and what its log says it received.

mod pty;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

use pty::Pty;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

const READY: &str = "? for shortcuts";

/// A directory with a log in it.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start(&self, args: &[&str]) -> Pty {
        let log = self.path("log");
        let mut all = vec!["--log", log.to_str().unwrap()];
        all.extend(args);
        Pty::spawn(&all, self.dir.path())
    }

    fn records(&self, event: &str) -> Vec<Value> {
        records(&self.path("log")).into_iter().filter(|record| record["event"] == event).collect()
    }

    fn submitted(&self) -> Vec<String> {
        self.records("submitted").iter().map(|record| record["text"].as_str().unwrap().to_owned()).collect()
    }
}

fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn pid_of(record: &Value) -> Pid {
    Pid::from_raw(i32::try_from(record["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

#[test]
fn a_paste_is_logged_exactly() {
    let scene = Scene::new();
    let mut pty = scene.start(&[]);
    pty.expect(READY);
    pty.send(b"\x1b[200~gr\xc3\xbc\xc3\x9fe, \"zwei\"\n  Zeilen \xf0\x9f\x90\x8e\x1b[201~");
    pty.expect("Zeilen 🐎");
    pty.send(b"\r");
    pty.expect("● ok:");
    pty.expect(READY);
    pty.send(b"/exit\r");
    assert_eq!(pty.finish().code(), Some(0));
    assert_eq!(scene.submitted(), ["grüße, \"zwei\"\n  Zeilen 🐎"]);
    assert_eq!(scene.records("exit")[0]["how"], "clean");
}

#[test]
fn a_huge_collapsed_paste_is_submitted_whole() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--collapse-pastes", "800", "--alt-screen"]);
    pty.expect(READY);
    let body = "a line of a long text\n".repeat(5000);
    pty.send(format!("\x1b[200~{body}\x1b[201~").as_bytes());
    pty.expect("[Pasted text #1 +5000 lines]");
    pty.send(b"\r");
    pty.expect("● ok: a line of");
    assert_eq!(scene.submitted(), [body]);
}

#[test]
fn the_default_of_the_trust_dialog_exits() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--trust-dialog"]);
    pty.expect("❯ No, exit");
    pty.send(b"\r");
    assert_eq!(pty.finish().code(), Some(1));
    assert_eq!(scene.records("answered")[0]["choice"], "No, exit");
}

#[test]
fn arrow_and_enter_in_two_reads_trust_the_folder() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--trust-dialog"]);
    pty.expect("❯ No, exit");
    pty.send(b"\x1b[B");
    pty.expect("❯ Yes, I trust this folder");
    pty.send(b"\r");
    pty.expect(READY);
    assert_eq!(scene.records("ready").len(), 1);
}

#[test]
fn swallowed_enters_leave_the_text_in_the_composer() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--swallow-enter", "1"]);
    pty.expect(READY);
    pty.send(b"hello\r");
    pty.expect("│ > hello");
    assert_eq!(scene.submitted(), [""; 0]);
    pty.send(b"\r");
    pty.expect("● ok: hello");
    assert_eq!(scene.submitted(), ["hello"]);
    assert_eq!(scene.records("swallowed").len(), 1);
}

#[test]
fn the_sink_keeps_every_byte() {
    let scene = Scene::new();
    let file = scene.path("sink");
    let mut pty = scene.start(&["--mode", "sink", "--sink", file.to_str().unwrap()]);
    pty.expect("sink ready");
    let body: Vec<u8> = (0..60_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    pty.send(&body);
    pty.expect("sink 60000\r\n");
    assert!(std::fs::read(file).unwrap() == body);
}

#[test]
fn replies_to_queries_are_logged_and_not_typed() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--query", "--status=answered"]);
    pty.expect("\x1b]7501;?\x1b\\");
    pty.expect(READY);
    pty.send(b"\x1b[?62;22c\x1b[1;1R\x1b[?0u\x1bP>|term 1\x1b\\\x1b]11;rgb:0/0/0\x1b\\\x1b]7501;?\x1b\\");
    pty.expect("state=idle");
    let kinds: Vec<_> = scene.records("reply").iter().map(|record| record["kind"].to_string()).collect();
    assert_eq!(
        kinds,
        [
            "\"device-attributes\"",
            "\"cursor-position\"",
            "\"keyboard-flags\"",
            "\"terminal-version\"",
            "\"colour\"",
            "\"program-status\"",
        ]
    );
    pty.send(b"x\r");
    pty.expect("● ok: x");
    assert_eq!(scene.submitted(), ["x"]);
}

#[test]
fn ignored_signals_do_not_end_it() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--ignore-term"]);
    pty.expect(READY);
    assert_eq!(pid_of(&scene.records("started")[0]), pty.pid());
    kill_process(pty.pid(), Signal::TERM).unwrap();
    pty.send(b"still here\r");
    pty.expect("● ok: still here");
}

#[test]
fn it_outlives_its_terminal_if_told_so() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--ignore-hup", "--die-after", "1500", "--exit-code", "5"]);
    pty.expect(READY);
    assert_eq!(pty.hang_up().code(), Some(5));
    assert_eq!(scene.records("hangup").len(), 1);
}

#[test]
fn it_ends_with_its_terminal_otherwise() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--never-read"]);
    pty.expect(READY);
    assert_eq!(pty.hang_up().code(), Some(0));
}

#[test]
fn an_orphan_stays_behind() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--fork-orphan", "--die-on-submit", "--die-signal"]);
    pty.expect(READY);
    pty.send(b"x\r");
    let status = pty.wait();
    let orphan = pid_of(&scene.records("orphan")[0]);
    test_kill_process(orphan).unwrap();
    kill_process(orphan, Signal::KILL).unwrap();
    assert_eq!(status.signal(), Some(9));
    assert_eq!(scene.submitted(), ["x"]);
}

#[test]
fn a_flood_has_its_exact_length() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--spam", "0", "--spam-bytes", "1000000"]);
    pty.expect("spam 000000015624 ");
    assert!(pty.total() >= 1_000_000 - 64);
    pty.send(b"/exit\r");
    assert_eq!(pty.finish().code(), Some(0));
    assert_eq!(scene.records("flooded")[0]["bytes"], 1_000_000);
}

#[test]
fn cooked_mode_is_line_by_line() {
    let scene = Scene::new();
    let mut pty = scene.start(&["--cooked"]);
    pty.expect("> ");
    pty.send(b"hello\n");
    pty.expect("ok: hello");
    pty.expect("> ");
    pty.send(b"/exit\n");
    assert_eq!(pty.finish().code(), Some(0));
    assert_eq!(scene.submitted(), ["hello"]);
}

#[test]
fn work_is_really_done() {
    let scene = Scene::new();
    let mut pty = scene.start(&["!write sub/out.txt one\\ntwo !say finished"]);
    pty.expect("● finished");
    assert_eq!(std::fs::read_to_string(scene.path("sub/out.txt")).unwrap(), "one\ntwo");
    pty.send(b"!write ../escape.txt no\r");
    pty.expect("● ok: !write");
    assert!(scene.records("wrote")[1]["error"].is_string());
}
