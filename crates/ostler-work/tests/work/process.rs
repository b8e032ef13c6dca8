//! Programs that are run on a thread of the caller's.

use std::fs;
use std::io::{self, PipeReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ostler_testkit::wait::until_gone;
use ostler_work::process::{Bounds, Excess, Finished, Stopped, run_here};
use ostler_work::{End, Keep};

fn bounds() -> Bounds {
    let keep = Keep { head: 1000, tail: 0 };
    Bounds { limit: Duration::from_secs(30), keep, excess: Excess::Kill, mark: None }
}

fn shell(script: &str, bounds: Bounds, until_closed: Option<&PipeReader>) -> Finished {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::null());
    run_here(command, bounds, until_closed).unwrap()
}

fn await_end(pid: &str) {
    until_gone("the process is gone", pid.parse().unwrap());
}

/// Runs a script that writes the ids of its processes to a pipe, and calls it off once they are all there.
fn call_off(script: &str) -> (Finished, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("pids");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let script = script.replace("PIDS", &fifo.display().to_string());
    let (reader, writer) = io::pipe().unwrap();
    let thread = std::thread::spawn(move || shell(&script, bounds(), Some(&reader)));
    let pids = fs::read_to_string(&fifo).unwrap();
    drop(writer);
    (thread.join().unwrap(), pids.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn what_is_called_off_is_gone_with_all_it_started() {
    let (done, pids) = call_off(
        "sleep 600 & a=$!; setsid sleep 600 & b=$!; env -i setsid sleep 600 & echo $$ $a $b $! > PIDS; wait",
    );
    assert_eq!((done.stopped, done.end()), (Some(Stopped::CalledOff), End::Signalled(9)));
    assert_eq!(pids.iter().inspect(|pid| await_end(pid)).count(), 4);
}

#[test]
fn what_stays_behind_in_its_group_is_ended() {
    let done = shell("sleep 600 >/dev/null 2>&1 & echo $!", bounds(), None);
    assert_eq!((done.stopped, done.end()), (None, End::Exited(0)));
    await_end(done.stdout.text().trim());
}

#[test]
fn a_flood_is_cut_off_where_nobody_wants_the_rest() {
    for script in ["yes", "yes >&2", "yes | head -c 1001", "yes | head -c 1001; exit 1"] {
        let done = shell(script, bounds(), None);
        assert_eq!(done.stopped, Some(Stopped::Flooded), "{script}");
        assert_eq!(done.stdout.into_head().len() + done.stderr.into_head().len(), 1000, "{script}");
    }
    let done = shell("yes | head -c 1000", bounds(), None);
    assert_eq!((done.stopped, done.stdout.into_head().len()), (None, 1000));
}

#[test]
fn a_program_that_hangs_is_ended_in_time() {
    let done = shell("echo here; sleep 600", Bounds { limit: Duration::from_millis(300), ..bounds() }, None);
    assert_eq!((done.stopped, done.end()), (Some(Stopped::TimedOut), End::TimedOut));
    assert!(done.took < Duration::from_secs(30));
}

#[test]
fn a_program_that_is_being_written_is_waited_for_but_not_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("program");
    fs::copy("/bin/sh", &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let writer = fs::File::options().append(true).open(&file).unwrap();
    let run = || {
        let mut command = Command::new(&file);
        command.args(["-c", "true"]).stdin(Stdio::null());
        run_here(command, bounds(), None)
    };
    let started = Instant::now();
    assert_eq!(run().unwrap_err().kind(), io::ErrorKind::ExecutableFileBusy);
    assert!(started.elapsed() >= Duration::from_secs(1));
    drop(writer);
    assert_eq!(run().unwrap().end(), End::Exited(0));
}
