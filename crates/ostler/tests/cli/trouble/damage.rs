//! What a crash or a person left damaged: named, not overwritten, and in nobody's way.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use ostler_hold::Identity;
use rustix::process::Signal;
use serde_json::Value;

use super::PROMPT;
use crate::support::{TestHome, is_running, kill, pid, until, until_gone, within};

#[test]
fn what_a_killed_daemon_left_is_in_nobodys_way() {
    let home = TestHome::new();
    let session = home.start_sh("a", "echo hello; read x");
    home.await_screen("a", "hello");
    let (socket, lock) = (home.path().join("daemon.sock"), home.path().join("daemon.lock"));
    home.kill_daemon();
    assert!(socket.exists() && lock.exists());
    home.await_screen("a", "hello");

    // A process id that was given to another process since.
    home.kill_daemon();
    fs::write(&lock, format!("{}\n", std::process::id())).unwrap();
    home.await_screen("a", "hello");
    home.kill_daemon();
    fs::write(&lock, "no number at all").unwrap();
    home.await_screen("a", "hello");

    home.ok(["daemon", "stop"]);
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "nobody listens on it");
    home.await_screen("a", "hello");

    home.ok(["daemon", "stop"]);
    fs::write(&socket, "not a socket").unwrap();
    home.run(["daemon", "status"]).fails(3, &["no daemon runs"]);
    home.await_screen("a", "hello");

    home.ok(["daemon", "stop"]);
    symlink("/no/such/socket", &socket).unwrap();
    home.await_screen("a", "hello");
    assert_eq!(home.status("a")["pid"], session["pid"]);
    assert!(is_running(pid(&session["pid"])));
}

/// Takes the database away and returns what puts it back.
fn set_aside(home: &TestHome) -> impl Fn() {
    let files: Vec<PathBuf> =
        ["ostler.db", "ostler.db-wal", "ostler.db-shm"].iter().map(|name| home.path().join(name)).collect();
    let kept = home.scratch().join("kept");
    let _ = fs::create_dir(&kept);
    for file in files.iter().filter(|file| file.exists()) {
        fs::rename(file, kept.join(file.file_name().unwrap())).unwrap();
    }
    move || {
        for file in &files {
            let _ = fs::remove_file(file).or_else(|_| fs::remove_dir(file));
            let kept = kept.join(file.file_name().unwrap());
            if kept.exists() {
                fs::rename(kept, file).unwrap();
            }
        }
    }
}

#[test]
fn a_damaged_record_is_named_not_overwritten_and_hurts_no_program() {
    let home = TestHome::new();
    let session = home.start_sh("a", "stty -echo; echo hello; cat");
    home.await_screen("a", "hello");
    home.ok(["daemon", "stop"]);
    let database = home.path().join("ostler.db");
    let put_back = set_aside(&home);
    let refused = |said: &[&str]| {
        for command in [&["list"][..], &["status", "a"], &["send", "a", "--raw", "x"], &["daemon", "start"]] {
            let err = home.run(command).fails(3, said);
            assert!(err.contains(database.to_str().unwrap()) && err.contains("hint:"), "{err}");
        }
        assert!(is_running(pid(&session["pid"])));
    };

    let garbage = vec![0xA5; 20_000];
    fs::write(&database, &garbage).unwrap();
    refused(&["not a database"]);
    assert_eq!(fs::read(&database).unwrap(), garbage);

    fs::remove_file(&database).unwrap();
    fs::create_dir(&database).unwrap();
    refused(&["cannot open"]);
    fs::remove_dir(&database).unwrap();

    // An empty database whose schema is of a version to come: its number stands at byte 60 of the file.
    let mut page = vec![0u8; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    page[16..24].copy_from_slice(&[0x10, 0, 1, 1, 0, 64, 32, 32]);
    page[31] = 1;
    page[47] = 4;
    page[59] = 1;
    page[60..64].copy_from_slice(&99u32.to_be_bytes());
    page[100..108].copy_from_slice(&[0x0D, 0, 0, 0, 0, 0x10, 0, 0]);
    fs::write(&database, &page).unwrap();
    refused(&["newer ostler", "schema 99"]);

    put_back();
    home.await_screen("a", "hello");
    home.ok(["send", "a", "--raw", "all is well\n"]);
    home.await_screen("a", "all is well");
    assert_eq!(home.status("a")["pid"], session["pid"]);
}

#[test]
fn a_record_damaged_in_the_middle_is_named_too() {
    let home = TestHome::new();
    let session = home.start_sh("a", "stty raw -echo; echo ready; sleep 600");
    home.await_screen("a", "ready");
    // So much that it is moved from the log of changes to the file itself.
    let body = home.scratch().join("body");
    fs::write(&body, vec![b'x'; 1 << 20]).unwrap();
    for _ in 0..6 {
        let mut command = home.command(["send", "a", "--raw", "-", "--wait", "queued"]);
        assert!(command.stdin(File::open(&body).unwrap()).stdout(Stdio::null()).status().unwrap().success());
    }
    home.ok(["daemon", "stop"]);
    let database = home.path().join("ostler.db");
    let length = fs::metadata(&database).unwrap().len();
    assert!(length > 1 << 20);
    for file in [home.path().join("ostler.db-wal"), home.path().join("ostler.db-shm")] {
        let _ = fs::remove_file(file);
    }
    let intact = fs::read(&database).unwrap();
    let opened = OpenOptions::new().write(true).open(&database).unwrap();
    opened.write_all_at(&vec![0xA5; usize::try_from(length).unwrap() - 4096], 4096).unwrap();
    let done = home.run(["list"]);
    assert!(is_running(pid(&session["pid"])));
    home.run(["daemon", "stop"]);
    fs::write(&database, intact).unwrap();
    home.await_screen("a", "ready");
    done.fails(3, &["malformed", "ostler.db", "hint:"]);
}

#[test]
fn a_record_that_is_lost_or_damaged_is_made_again_and_sessions_are_found() {
    let home = TestHome::new();
    let session = home.start_sh("a", "stty -echo; echo hello; cat");
    home.await_screen("a", "hello");
    let database = home.path().join("ostler.db");
    let works = |text: &str| {
        assert_eq!(home.status("a")["pid"], session["pid"], "{text}");
        home.ok(["send", "a", "--raw", &format!("{text}\n")]);
        home.await_screen("a", text);
        assert!(home.ok(["doctor"]).contains("ok    database"));
    };
    works("before");
    // Removed under the daemon: it writes the file anew when it ends, and nothing is lost.
    fs::remove_file(&database).unwrap();
    assert!(home.run(["doctor"]).out.contains("FAIL  database"));
    home.ok(["daemon", "stop"]);
    works("written anew");
    assert_eq!(home.json(["messages", "list", "a", "--all", "--json"]).as_array().unwrap().len(), 2);
    // Gone altogether.
    home.kill_daemon();
    drop(set_aside(&home));
    works("found again");
    // Damaged: the file is kept.
    home.ok(["daemon", "stop"]);
    let garbage = vec![0xA5; 20_000];
    fs::write(&database, &garbage).unwrap();
    home.run(["list"]).fails(3, &["damaged", "ostler doctor --repair"]);
    assert!(home.run(["doctor"]).out.contains("FAIL  database"));
    let told = home.ok(["doctor", "--repair"]);
    assert!(told.contains("the daemon looks after 1 sessions"), "{told}");
    let is_kept = |name: &str| name.starts_with("ostler.db.damaged-");
    let kept = fs::read_dir(home.path())
        .unwrap()
        .flatten()
        .find(|file| is_kept(&file.file_name().to_string_lossy()));
    assert_eq!(fs::read(kept.unwrap().path()).unwrap(), garbage);
    works("after the repair");
    assert!(home.ok(["doctor", "--repair"]).contains("needs no repair"));
    home.ok(["stop", "a", "--grace", "0"]);
    assert!(!is_running(pid(&session["pid"])));
}

#[test]
fn a_holder_that_was_stopped_is_unreachable_and_goes_on() {
    let home = TestHome::new();
    home.start_sh("a", "stty -echo; echo hello; cat");
    home.await_screen("a", "hello");
    let holder = Identity::of(pid(&home.status("a")["holder"])).unwrap();
    holder.signal(Signal::STOP);
    until("the holder has stopped", || holder.is_stopped().then_some(()));
    let listed = home.json(["list", "--json"]);
    assert_eq!((&listed[0]["state"], &listed[0]["kind"]), (&"unknown".into(), &"unreachable".into()));
    holder.signal(Signal::CONT);
    home.ok(["send", "a", "--raw", "still here\n"]);
    home.await_screen("a", "still here");
}

/// Programs that ostler may lose sight of; they do not outlive the test.
struct Programs(Vec<Identity>);

impl Programs {
    fn of(sessions: &[Value]) -> Self {
        Self(sessions.iter().map(|session| Identity::of(pid(&session["pid"])).unwrap()).collect())
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for program in &self.0 {
            program.signal(Signal::KILL);
        }
    }
}

#[test]
fn damaged_session_files_cost_that_session_at_most() {
    let home = TestHome::new();
    let script = "stty -echo; echo hello; cat";
    let names = ["token", "folder", "ring", "picture", "holder", "fine"];
    let sessions: Vec<Value> = names.iter().map(|name| home.start_sh(name, script)).collect();
    let _programs = Programs::of(&sessions);
    for name in names {
        home.await_screen(name, "hello");
    }
    home.start_sh("ended", "echo last words; exit 4");
    home.ok(["wait", "ended", "exited"]);
    let file = |name: &str, file: &str| {
        let session = home.json(["status", name, "--json"]);
        Path::new(session["dir"].as_str().unwrap()).join(file)
    };
    let (token, folder) = (file("token", "token"), file("folder", ""));
    let rings = [file("ring", "ring"), file("ended", "ring")];
    let (picture, holder) = (file("picture", "screen"), file("holder", "holder"));
    home.kill_daemon();
    fs::write(&token, "short").unwrap();
    fs::remove_dir_all(&folder).unwrap();
    for ring in rings {
        fs::remove_file(ring).unwrap();
    }
    fs::write(&picture, "ostler screen 1\n99999999999999 0 0\n\x1b[").unwrap();
    fs::write(&holder, "who knows").unwrap();

    assert_eq!(home.json(["list", "--json"]).as_array().unwrap().len() + 1, names.len(), "one has no folder");
    for name in ["fine", "ring", "holder"] {
        home.ok(["send", name, "--raw", "still here\n"]);
        home.await_screen(name, "still here");
    }
    // The picture says more than the holder has: the holder is right.
    home.ok(["send", "picture", "--raw", "still here\n"]);
    home.await_screen("picture", "still here");
    let logs = home.run(["logs", "ended"]);
    assert!(logs.err.contains("12 earlier bytes of output are no longer kept"), "{logs:?}");
    logs.ok();
    assert_eq!(home.status("ended")["exit"]["status"], 4);

    let status = until("the silent holder is noticed", || {
        Some(home.status("token")).filter(|status| status["kind"] == "unreachable")
    });
    assert_eq!(status["exit"], Value::Null, "not known to be dead");
    for (name, session) in names.iter().zip(&sessions) {
        let began = Instant::now();
        home.ok(["stop", name, "--grace", "0.5"]);
        assert!(began.elapsed() < PROMPT, "{name}: {:?}", began.elapsed());
        until_gone(&format!("the program of {name} is gone"), pid(&session["pid"]));
    }
}

#[test]
fn a_session_whose_folder_is_gone_is_not_said_to_have_never_run() {
    let home = TestHome::new();
    let session = home.start_sh("a", "echo hello; read x");
    let _programs = Programs::of(std::slice::from_ref(&session));
    home.await_screen("a", "hello");
    home.kill_daemon();
    fs::remove_dir_all(session["dir"].as_str().unwrap()).unwrap();
    let status = home.status("a");
    let runs = is_running(pid(&session["pid"]));
    home.ok(["stop", "a", "--grace", "0"]);
    assert!(runs, "nobody ended it");
    assert!(!status["because"].to_string().contains("before the program was started"), "{status}");
}

#[test]
fn a_holder_whose_folder_is_gone_ends_with_its_program() {
    let home = TestHome::new();
    let session = home.start_sh("a", "echo hello; read x");
    home.await_screen("a", "hello");
    let holder = Identity::of(pid(&home.status("a")["holder"])).unwrap();
    home.ok(["daemon", "stop"]);
    fs::remove_dir_all(session["dir"].as_str().unwrap()).unwrap();
    kill(pid(&session["pid"]));
    within(PROMPT, || (!holder.is_alive()).then_some(()));
    let stayed = holder.signal(Signal::KILL);
    assert!(!stayed, "it goes on for ever: there is nobody to tell, and no place to write to");
}
