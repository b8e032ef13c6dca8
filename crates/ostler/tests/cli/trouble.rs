//! Full disks, missing programs, stale sockets: clear messages, nothing lost.

mod damage;
mod disk;
mod hidden;
mod readers;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Done, TestHome, ostler, until};

/// How long a command may take that has no reason to wait.
const PROMPT: Duration = Duration::from_secs(8);

/// A process of ours that is gone when the test is.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

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
