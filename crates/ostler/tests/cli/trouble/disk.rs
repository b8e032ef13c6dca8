//! A disk that is full, or cannot be written: nothing is claimed that is not recorded.

#![allow(clippy::print_stdout, reason = "a test says why it was skipped")]

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use super::{PROMPT, Running};
use crate::support::{
    TestHome, is_running, kill, mount, own_mounts, pid, until, until_file, until_gone, within,
};

/// A disk of a few megabytes with a home on it, seen by this test and the processes it starts.
struct SmallDisk {
    home: TestHome,
}

impl SmallDisk {
    /// Runs `test` on a small disk. Its mount belongs to a thread of its own and to the processes started there,
    /// so that it is gone with them, come what may.
    fn run(test: impl FnOnce(&Self) + Send) {
        let home = TestHome::new();
        let dir = home.scratch().to_owned();
        let run = || match mount_small_disk(&dir) {
            Ok(()) => test(&Self { home }),
            Err(reason) => println!("skipped: a small disk cannot be mounted here: {reason}"),
        };
        let outcome = std::thread::scope(|scope| scope.spawn(run).join());
        // Where the disk was mounted, the directory itself could not be removed.
        let _ = fs::remove_dir_all(&dir);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    }

    fn filler(&self) -> PathBuf {
        self.home.scratch().join("filler")
    }

    /// Takes every block there is.
    fn fill(&self) {
        let mut filler = OpenOptions::new().create(true).append(true).open(self.filler()).unwrap();
        let full = loop {
            if let Err(error) = filler.write_all(&[0; 4096]) {
                break error;
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::StorageFull, "{full}");
    }

    fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.filler());
    }
}

fn mount_small_disk(dir: &Path) -> Result<(), String> {
    own_mounts()?;
    mount(&["-t", "tmpfs", "-o", "size=6m,mode=0700", "ostler-test", dir.to_str().unwrap_or_default()])
}

/// What `send` has to say when nothing can be recorded.
const UNRECORDED: [&str; 3] = ["the record cannot be written", "disk is full", "hint: free some disk space"];

#[test]
fn on_a_full_disk_nothing_is_claimed_and_everything_goes_on() {
    SmallDisk::run(|disk| {
        let home = &disk.home;
        let elsewhere = tempfile::tempdir().unwrap();
        let (sink, go) = (elsewhere.path().join("sink"), elsewhere.path().join("go"));
        let session = home.start_stand_in("sink", &["--mode", "sink", "--sink", sink.to_str().unwrap()]);
        home.start_sh(
            "noisy",
            &format!(
                "while [ ! -e {} ]; do sleep 0.02; done; yes {} | head -c 1000000; echo drained; read x",
                go.display(),
                "a-line-of-some-length-".repeat(5)
            ),
        );
        home.await_screen("sink", "sink ready");
        home.ok(["send", "sink", "--raw", "before "]);
        disk.fill();

        for _ in 0..3 {
            let done = home.run(["send", "sink", "--raw", "full ", "--id", "f"]);
            assert!(!done.out.contains("written"), "{done:?}");
            done.fails(1, &UNRECORDED);
        }
        home.run(["start", "sh", "--name", "more"]).fails(1, &UNRECORDED);
        fs::write(&go, "").unwrap();
        home.await_screen("noisy", "drained");
        assert!(is_running(pid(&session["pid"])));
        assert_ne!(home.status("sink")["state"], "exited");
        assert_eq!(home.json(["list", "--json"]).as_array().unwrap().len(), 2);
        assert!(home.ok(["logs", "noisy"]).contains("drained"));
        assert!(home.screen("sink").contains("sink 7"));
        assert_eq!(home.run(["doctor"]).code, 1, "doctor notices the full disk");
        assert_eq!(fs::read_to_string(&sink).unwrap(), "before ", "what was refused was not typed");

        disk.free();
        home.ok(["send", "sink", "--raw", "full ", "--id", "f"]);
        home.ok(["send", "sink", "--raw", "full ", "--id", "f"]);
        home.ok(["send", "sink", "--raw", "after"]);
        until_file(&sink, "all of it arrived", || (fs::metadata(&sink).ok()?.len() >= 17).then_some(()));
        assert_eq!(fs::read_to_string(&sink).unwrap(), "before full after");
        home.ok(["start", "sh", "--name", "more", "--", "-c", "read x"]);
    });
}

#[test]
fn a_message_typed_on_a_full_disk_is_claimed_when_it_is_recorded_and_typed_once() {
    SmallDisk::run(|disk| {
        let home = &disk.home;
        let elsewhere = tempfile::tempdir().unwrap();
        let (sink, go) = (elsewhere.path().join("sink"), elsewhere.path().join("go"));
        home.start_sh(
            "deaf",
            &format!(
                "stty raw -echo; echo ready; while [ ! -e {} ]; do sleep 0.02; done; exec cat > {}",
                go.display(),
                sink.display()
            ),
        );
        home.await_screen("deaf", "ready");
        let body = "m".repeat(60_000);
        home.run(["send", "deaf", "--raw", &body, "--id", "m", "--timeout", "0.2"])
            .fails(4, &["stays queued"]);
        disk.fill();
        fs::write(&go, "").unwrap();
        until_file(&sink, "it is typed", || (fs::metadata(&sink).ok()?.len() >= 60_000).then_some(()));
        let done = home.run(["send", "deaf", "--raw", &body, "--id", "m", "--timeout", "0.5"]);
        assert!(done.code != 0 && !done.out.contains("written"), "{done:?}");
        disk.free();
        assert!(home.ok(["send", "deaf", "--raw", &body, "--id", "m"]).contains("written"));
        home.ok(["send", "deaf", "--raw", "end"]);
        until_file(&sink, "the next one is there", || {
            (fs::metadata(&sink).ok()?.len() >= 60_003).then_some(())
        });
        assert_eq!(fs::read_to_string(&sink).unwrap(), body + "end");
        assert_eq!(home.status("deaf")["waiting"], 0);
    });
}

#[test]
fn a_session_can_be_stopped_on_a_full_disk() {
    SmallDisk::run(|disk| {
        let home = &disk.home;
        let session = home.start_sh("a", "echo hello; read x");
        home.await_screen("a", "hello");
        disk.fill();
        let mut stop =
            Running(home.command(["stop", "a", "--grace", "1"]).stdout(Stdio::null()).spawn().unwrap());
        until_gone("the program is gone", pid(&session["pid"]));
        until("that is seen", || (home.status("a")["state"] == "exited").then_some(()));
        let answered = within(PROMPT, || stop.0.try_wait().unwrap());
        disk.free();
        until("the end is recorded", || {
            home.json(["list", "--json"]).as_array().unwrap().is_empty().then_some(())
        });
        home.kill_daemon();
        assert_eq!(home.status("a")["state"], "exited");
        let answered = answered.expect("`ostler stop` does not answer while the disk is full");
        assert_eq!(answered.code(), Some(0));
    });
}

#[test]
fn an_end_on_a_full_disk_is_reported_with_its_status() {
    SmallDisk::run(|disk| {
        let home = &disk.home;
        let elsewhere = tempfile::tempdir().unwrap();
        let go = elsewhere.path().join("go");
        let script = format!("while [ ! -e {} ]; do sleep 0.02; done; echo last words; exit 9", go.display());
        home.start_sh("seen", &script);
        home.start_sh("unseen", &script);
        disk.fill();
        fs::write(&go, "").unwrap();
        for name in ["seen", "unseen"] {
            let ended = home.json(["wait", name, "exited", "--timeout", "10", "--json"]);
            assert_eq!(ended["exit"]["status"], 9, "{ended}");
            assert!(home.screen(name).contains("last words"));
        }
        disk.free();
        until("it is recorded", || {
            let all = home.json(["list", "--all", "--json"]);
            let ended = |session: &Value| session["state"] == "exited" && session["exit"]["status"] == 9;
            let live = home.json(["list", "--json"]);
            (all.as_array().unwrap().iter().all(ended) && live.as_array().unwrap().is_empty()).then_some(())
        });
        home.kill_daemon();
        for name in ["seen", "unseen"] {
            let status = home.status(name);
            assert_eq!((&status["exit"]["status"], &status["output"]), (&9.into(), &12.into()), "{status}");
            assert_eq!(home.ok(["logs", name]), "last words\n");
        }
    });
}

#[test]
fn a_message_that_waits_when_its_program_ends_on_a_full_disk_is_settled_later() {
    SmallDisk::run(|disk| {
        let home = &disk.home;
        let session = home.start_sh("deaf", "stty raw -echo; echo ready; sleep 600");
        home.await_screen("deaf", "ready");
        let body = "m".repeat(60_000);
        home.run(["send", "deaf", "--raw", &body, "--id", "m", "--timeout", "0.2"])
            .fails(4, &["stays queued"]);
        disk.fill();
        kill(pid(&session["pid"]));
        home.ok(["wait", "deaf", "exited", "--timeout", "10"]);
        disk.free();
        until("the end is recorded", || {
            home.json(["list", "--json"]).as_array().unwrap().is_empty().then_some(())
        });
        home.run(["send", "deaf", "--raw", &body, "--id", "m", "--timeout", "2"])
            .fails(1, &["was not typed", "has ended"]);
    });
}

#[test]
fn a_daemon_killed_on_a_full_disk_says_why_it_cannot_come_back_and_then_finds_all() {
    SmallDisk::run(|disk| {
        let home = &disk.home;
        let session = home.start_sh("a", "stty -echo; echo hello; cat");
        home.await_screen("a", "hello");
        home.ok(["send", "a", "--raw", "one\n", "--id", "k"]);
        home.await_screen("a", "one");
        let daemon = home.daemon_pid();
        disk.fill();
        kill(daemon);
        for command in [&["list"][..], &["send", "a", "--raw", "two\n"]] {
            let began = Instant::now();
            home.run(command).fails(3, &["disk is full", "ostler.db", "hint:"]);
            assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
        }
        assert!(is_running(pid(&session["pid"])));
        disk.free();
        home.ok(["send", "a", "--raw", "one\n", "--id", "k"]);
        home.ok(["send", "a", "--raw", "two\n"]);
        home.await_screen("a", "hello\none\ntwo");
        assert_eq!(home.status("a")["pid"], session["pid"]);
    });
}

#[test]
fn a_home_on_a_disk_that_cannot_be_written_is_refused_with_advice() {
    SmallDisk::run(|disk| {
        let home = &disk.home;
        DirBuilder::new().mode(0o700).create(home.path()).unwrap();
        let scratch = home.scratch().to_str().unwrap_or_default();
        let remount = |mode: &str| mount(&["-o", &format!("remount,{mode}"), scratch]).unwrap();
        remount("ro");
        for command in [&["list"][..], &["start", "sh"], &["daemon", "start"]] {
            home.run(command).fails(3, &["Read-only file system", "hint: set OSTLER_HOME"]);
        }
        assert_eq!(home.run(["doctor"]).code, 1);
        remount("rw");
        home.ok(["list"]);
    });
}
