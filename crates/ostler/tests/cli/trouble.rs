//! Full disks, missing programs, stale sockets: clear messages, nothing lost.

#![allow(clippy::print_stdout, reason = "a test says why it was skipped")]

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ostler_hold::Identity;
use rustix::process::Signal;
use rustix::thread::UnshareFlags;
use serde_json::Value;

use crate::support::{Done, TestHome, is_running, kill, ostler, pid, until};

/// How long a command may take that has no reason to wait.
const PROMPT: Duration = Duration::from_secs(8);

fn nothing_runs(home: &TestHome) {
    assert_eq!(home.json(["list", "--json"]), Value::Array(Vec::new()));
}

fn executable(path: &Path, text: &str) -> String {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn what_cannot_be_started_is_named_and_leaves_nothing() {
    let home = TestHome::new();
    let dir = home.scratch().display().to_string();
    let plain = home.scratch().join("plain");
    fs::write(&plain, "text").unwrap();
    let plain = plain.display().to_string();
    let orphan = executable(&home.scratch().join("orphan"), "#!/no/such/interpreter\n");
    let dangling = home.scratch().join("dangling");
    symlink("/no/such/target", &dangling).unwrap();
    let dangling = dangling.display().to_string();
    let nowhere = home.scratch().join("nowhere").display().to_string();
    let table: [(&[&str], i32, &[&str]); 9] = [
        (&["no-such-program"], 1, &["\"no-such-program\"", "PATH", "hint:"]),
        (&["/no/such/program"], 1, &["/no/such/program", "hint:"]),
        (&[&dir], 1, &[&dir, "not an executable file", "hint:"]),
        (&[&plain], 1, &[&plain, "not an executable file", "hint:"]),
        (&[&dangling], 1, &[&dangling, "hint:"]),
        (&[""], 1, &["\"\"", "hint:"]),
        (&["sh", "--cwd", &nowhere], 2, &[&nowhere, "--cwd"]),
        (&["sh", "--cwd", &plain], 2, &[&plain, "--cwd"]),
        // The file is there: what is missing is named in its first line.
        (&[&orphan], 1, &[&orphan, "/no/such/interpreter", "hint:"]),
    ];
    let mut unclear = Vec::new();
    for (args, code, said) in table {
        let command = [&["start", "--name", "x"][..], args].concat();
        let done = home.run(&command);
        nothing_runs(&home);
        if done.code != code || !said.iter().all(|text| done.err.contains(text)) {
            unclear.push((args, said, done));
        }
    }
    // A name that was tried in vain is free.
    home.ok(["start", "sh", "--name", "x", "--", "-c", "read x"]);
    assert!(unclear.is_empty(), "{unclear:#?}");
}

#[test]
fn a_directory_that_was_removed_under_the_shell_is_said_so() {
    let home = TestHome::new();
    let script = format!("mkdir gone && cd gone && rmdir ../gone && exec {} start sh", ostler().display());
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(home.scratch()).env("OSTLER_HOME", home.path());
    Done::from(&command.output().unwrap()).fails(1, &["the current directory is not there"]);
}

/// Runs a command with another home.
fn run_in<S: AsRef<OsStr>>(test: &TestHome, home: &Path, args: impl IntoIterator<Item = S>) -> Done {
    Done::from(&test.command(args).env("OSTLER_HOME", home).output().unwrap())
}

#[test]
fn a_home_that_cannot_be_used_is_refused_with_advice() {
    let home = TestHome::new();
    let file = home.scratch().join("file");
    fs::write(&file, "").unwrap();
    let open = home.scratch().join("open");
    DirBuilder::new().mode(0o755).create(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
    let table: [(&Path, i32, &[&str]); 6] = [
        (Path::new("relative/path"), 2, &["absolute", "\"relative/path\"", "hint:"]),
        (Path::new("."), 2, &["absolute", "hint:"]),
        (&file, 3, &[file.to_str().unwrap(), "hint:"]),
        (&file.join("below"), 3, &[file.to_str().unwrap(), "hint:"]),
        (&open, 3, &[open.to_str().unwrap(), "open to other users", "chmod 700", "hint:"]),
        (Path::new("/proc/no-such-place"), 3, &["/proc/no-such-place", "OSTLER_HOME"]),
    ];
    for (path, code, said) in table {
        for command in [&["list"][..], &["start", "sh"], &["daemon", "start"], &["send", "a", "--raw", "x"]] {
            run_in(&home, path, command).fails(code, said);
        }
    }
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0, "nothing was put there");
    assert_eq!(run_in(&home, &open, ["doctor"]).code, 1);
    fs::set_permissions(&open, Permissions::from_mode(0o700)).unwrap();
    run_in(&home, &open, ["list"]).ok();
    run_in(&home, &open, ["daemon", "stop"]).ok();
}

#[test]
fn without_any_home_there_is_a_hint() {
    let home = TestHome::new();
    let bare = |args: &[&str]| {
        let mut command = home.command(args);
        command.env_remove("OSTLER_HOME").env_remove("XDG_STATE_HOME").env_remove("HOME");
        command
    };
    for args in [&["list"][..], &["start", "sh"], &["doctor"], &["daemon", "run"]] {
        Done::from(&bare(args).output().unwrap())
            .fails(2, &["neither OSTLER_HOME nor HOME", "hint: set OSTLER_HOME"]);
    }
    let mut empty = bare(&["list"]);
    empty.env("HOME", "").env("OSTLER_HOME", "");
    Done::from(&empty.output().unwrap()).fails(2, &["hint: set OSTLER_HOME"]);
}

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
        until(&format!("the program of {name} is gone"), || {
            (!is_running(pid(&session["pid"]))).then_some(())
        });
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
    let deadline = Instant::now() + PROMPT;
    while holder.is_alive() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let stayed = holder.signal(Signal::KILL);
    assert!(!stayed, "it goes on for ever: there is nobody to tell, and no place to write to");
}

#[test]
fn a_home_with_a_path_too_long_for_a_socket_simply_works() {
    let home = TestHome::new();
    let long = home.scratch().join("long".repeat(20)).join("path".repeat(20)).join("of names".repeat(10));
    assert!(long.as_os_str().len() > 200);
    let ok = |args: &[&str]| run_in(&home, &long, args).ok();
    let out = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        ok(&["start", "sh", "--name", "a", "--", "-c", "stty -echo; echo hello; cat"]);
        ok(&["send", "a", "--raw", "through a long path\n"]);
        until("the answer is there", || ok(&["screen", "a"]).contains("through a long path").then_some(()));
        assert!(ok(&["logs", "a"]).contains("through a long path"));
        assert!(ok(&["daemon", "status"]).contains("1 sessions"));
        ok(&["daemon", "stop"]);
        assert!(ok(&["screen", "a"]).contains("through a long path"));
        ok(&["doctor"])
    }));
    let stopped = run_in(&home, &long, ["stop", "a", "--grace", "0", "--json"]);
    run_in(&home, &long, ["daemon", "stop"]).ok();
    assert!(out.unwrap().contains("ok    daemon"));
    assert_eq!(serde_json::from_str::<Value>(&stopped.ok()).unwrap()["state"], "exited");
}

#[test]
fn requests_that_make_no_sense_are_refused_with_a_reason() {
    let home = TestHome::new();
    home.start_sh("a", "read x; exit 2");
    home.start_sh("b", "read x");
    let long = "x".repeat(65);
    for name in ["", "no/slash", "no blank", ".hidden", "ü", "a\nb", &long] {
        home.run(["start", "sh", &format!("--name={name}")]).fails(2, &["session name", "letters, digits"]);
    }
    home.run(["start", "sh", "--name", "a"]).fails(1, &["called \"a\" already", "ostler stop a"]);
    for env in ["FOO", "=bar", ""] {
        home.run(["start", "sh", "--env", env]).fails(2, &["NAME=VALUE"]);
    }
    for size in ["", "80", "80x", "x24", "0x0", "80x24x2", "big"] {
        home.run(["start", "sh", &format!("--size={size}")]).fails(2, &["terminal size"]);
    }
    for record in ["-1", "much", "99999999999"] {
        home.run(["start", "sh", &format!("--record={record}")]).fails(2, &["--record"]);
    }
    for command in [
        &["status", "nobody"][..],
        &["screen", "nobody"],
        &["logs", "nobody"],
        &["send", "nobody", "--raw", "x"],
        &["wait", "nobody", "idle"],
        &["stop", "nobody"],
        &["events", "nobody"],
    ] {
        home.run(command).fails(1, &["no session called \"nobody\"", "hint: ostler list --all"]);
    }
    home.run(["attach", "a"]).fails(2, &["needs a terminal", "hint:"]);
    home.run(["send", "a", "--raw", ""]).fails(2, &["nothing to send"]);
    home.run(["wait", "a", "sleeping"]).fails(2, &["sleeping"]);
    for seconds in ["-1", "soon", "inf", "NaN", "1e300"] {
        home.run(["stop", "a", &format!("--grace={seconds}")]).fails(2, &["number of seconds"]);
    }
    let too_much = home.scratch().join("too much");
    fs::write(&too_much, vec![b'x'; (1 << 20) + 1]).unwrap();
    let mut command = home.command(["send", "a", "--raw", "-"]);
    command.stdin(File::open(&too_much).unwrap());
    Done::from(&command.output().unwrap()).fails(2, &["1048577 bytes are too many", "1048576"]);

    home.ok(["send", "b", "--raw", "one", "--id", "k"]);
    home.run(["send", "b", "--raw", "two", "--id", "k"]).fails(1, &["another body", "--id"]);
    home.ok(["send", "a", "--raw", "\n", "--id", "k"]);
    home.ok(["wait", "a", "exited"]);
    home.run(["send", "a", "--raw", "x"]).fails(1, &["has ended", "hint:", "ostler status a"]);
    // Asking again for what arrived before the end is no new message.
    assert!(home.ok(["send", "a", "--raw", "\n", "--id", "k"]).contains("written"));
    assert_eq!(home.json(["list", "--json"]).as_array().unwrap().len(), 1);
}

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

/// A process of ours that is gone when the test is.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Follows, reads a line and leaves; the follower has to notice when it has something to say.
#[track_caller]
fn leaves_with_its_reader(home: &TestHome, command: &[&str], mut provoke: impl FnMut()) {
    let mut child = home.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut child = Running(child);
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    let deadline = Instant::now() + PROMPT;
    while child.0.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "ostler {} goes on for nobody", command.join(" "));
        provoke();
    }
}

#[test]
fn logs_that_are_followed_end_with_their_reader() {
    let home = TestHome::new();
    home.start_sh("a", "while :; do echo line; sleep 0.05; done");
    leaves_with_its_reader(&home, &["logs", "a", "-f"], std::thread::yield_now);
    leaves_with_its_reader(&home, &["logs", "a", "-f", "--raw"], std::thread::yield_now);
}

#[test]
fn events_that_are_followed_end_with_their_reader() {
    let home = TestHome::new();
    home.start_sh("a", "stty raw -echo; cat > /dev/null");
    leaves_with_its_reader(&home, &["events", "-f"], || drop(home.ok(["send", "a", "--raw", "x"])));
}

#[test]
fn no_color_means_no_escape_sequences_in_a_terminal_either() {
    let home = TestHome::new();
    let run = |name: &str, prefix: &str| {
        let script = format!(
            "for command in list 'list --all' 'status calm' doctor 'daemon status' events --help 'start --help' \
             'status nobody' 'start no-such-program' 'start --size=x sh' nonsense; \
             do {prefix} {} $command; done; echo all done; read x",
            ostler().display()
        );
        home.start_sh(name, &script);
        until("all commands have run", || {
            Some(home.ok(["logs", name, "--raw"])).filter(|text| text.contains("all done\r\n"))
        })
    };
    home.start_sh("calm", "read x");
    let text = run("plain", "env NO_COLOR=1");
    assert!(text.contains("calm   starting") && text.contains("Usage"), "{text}");
    assert!(!text.contains('\x1b'), "{text:?}");
    let text = run("coloured", "env -u NO_COLOR");
    assert!(text.contains("\x1b["), "this test would see a colour: {text:?}");
}

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

#[expect(unsafe_code, reason = "a mount namespace for one thread")]
fn mount_small_disk(dir: &Path) -> Result<(), String> {
    // SAFETY: only the table of open files is unsafe to leave, and it stays shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.map_err(|error| error.to_string())?;
    let mount = |args: &[&str]| {
        let output = Command::new("mount").args(args).output().map_err(|error| error.to_string())?;
        let complaint = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() { Ok(()) } else { Err(complaint()) }
    };
    mount(&["--make-rprivate", "/"])?;
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
        until("all of it arrived", || (fs::metadata(&sink).ok()?.len() >= 17).then_some(()));
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
        until("it is typed", || (fs::metadata(&sink).ok()?.len() >= 60_000).then_some(()));
        let done = home.run(["send", "deaf", "--raw", &body, "--id", "m", "--timeout", "0.5"]);
        assert!(done.code != 0 && !done.out.contains("written"), "{done:?}");
        disk.free();
        assert!(home.ok(["send", "deaf", "--raw", &body, "--id", "m"]).contains("written"));
        home.ok(["send", "deaf", "--raw", "end"]);
        until("the next one is there", || (fs::metadata(&sink).ok()?.len() >= 60_003).then_some(()));
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
        until("the program is gone", || (!is_running(pid(&session["pid"]))).then_some(()));
        until("that is seen", || (home.status("a")["state"] == "exited").then_some(()));
        let deadline = Instant::now() + PROMPT;
        let answered = loop {
            match stop.0.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() > deadline => break None,
                None => std::thread::yield_now(),
            }
        };
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
        let remount = |mode: &str| {
            let mut mount = Command::new("mount");
            mount.args(["-o", &format!("remount,{mode}")]).arg(home.scratch());
            assert!(mount.status().unwrap().success());
        };
        remount("ro");
        for command in [&["list"][..], &["start", "sh"], &["daemon", "start"]] {
            home.run(command).fails(3, &["Read-only file system", "hint: set OSTLER_HOME"]);
        }
        assert_eq!(home.run(["doctor"]).code, 1);
        remount("rw");
        home.ok(["list"]);
    });
}
