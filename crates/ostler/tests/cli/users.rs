//! Users of one machine cannot touch each other's sessions.
//!
//! These tests act as three users, so they need root; elsewhere they say so and are skipped.

#![allow(clippy::print_stdout, reason = "a test says why it was skipped")]

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ostler_hold::wire::{self, Lane, Reply, Token};
use ostler_hold::{SessionDir, SocketPath, crc32};
use ostler_protocol::frame::{self, FrameError};
use ostler_protocol::{PROTOCOL, Request, Response};
use rustix::fs::{Gid, Uid};
use serde_json::Value;

use crate::support::{Done, TestHome, is_running, ostler, pid, until, until_gone};

/// Whose home it is: `nobody`.
const OWNER: u32 = 65534;
/// Any other user.
const STRANGER: u32 = 12345;
const ROOT: u32 = 0;

const PATIENCE: Duration = Duration::from_secs(20);

/// A home that belongs to another user than the one who runs the tests.
struct OwnersHome {
    base: tempfile::TempDir,
    path: PathBuf,
}

impl OwnersHome {
    /// A home of the owner with a session called `a`; nothing where this user cannot act as another.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can act as another user");
            return None;
        }
        let base = tempfile::Builder::new().prefix("ostler-users-").tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
        let path = base.path().join("home");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        chown(&path, Some(OWNER), Some(OWNER)).unwrap();
        let home = Self { base, path };
        let runs = home.command(OWNER, &["--version"]).output().is_ok_and(|output| output.status.success());
        if !runs {
            println!("skipped: other users cannot run {}", ostler().display());
            return None;
        }
        home.ok(&["start", "sh", "--name", "a", "--", "-c", "stty -echo; echo secret; cat"]);
        until("the session runs", || home.ok(&["screen", "a"]).contains("secret").then_some(()));
        Some(home)
    }

    fn command(&self, user: u32, args: &[&str]) -> Command {
        let mut command = Command::new(ostler());
        command.args(args).env("OSTLER_HOME", &self.path).env("NO_COLOR", "1").env_remove("HOME");
        command.current_dir("/").stdin(Stdio::null());
        if user != ROOT {
            command.uid(user).gid(user);
        }
        command
    }

    fn run(&self, user: u32, args: &[&str]) -> Done {
        Done::from(&self.command(user, args).output().unwrap())
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        self.run(OWNER, args).ok()
    }

    fn session(&self) -> Value {
        serde_json::from_str(&self.ok(&["status", "a", "--json"])).unwrap()
    }

    fn dir(&self) -> SessionDir {
        SessionDir::new(self.session()["dir"].as_str().unwrap())
    }

    fn socket(&self) -> PathBuf {
        self.path.join("daemon.sock")
    }

    /// All that lies between another user and the session's sockets.
    fn set_modes(&self, mode: u32) {
        let dir = self.dir();
        let private = [self.path.clone(), self.path.join("sessions"), dir.path().to_owned()];
        for path in private.into_iter().chain([self.socket(), dir.socket()]) {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
    }

    /// Every request that a user can make of somebody else's session.
    fn requests() -> [&'static [&'static str]; 11] {
        [
            &["list"],
            &["list", "--all", "--json"],
            &["status", "a"],
            &["screen", "a"],
            &["logs", "a"],
            &["logs", "a", "--raw"],
            &["events"],
            &["send", "a", "--raw", "intruder\n"],
            &["wait", "a", "unknown,starting,idle"],
            &["start", "sh", "--name", "intruder"],
            &["stop", "a", "--grace", "0"],
        ]
    }

    /// Checks that nobody has done anything to the session, and that its owner still can.
    #[track_caller]
    fn is_untouched(&self, program: u32) {
        assert!(is_running(program));
        let session = self.session();
        assert_eq!(pid(&session["pid"]), program);
        assert_ne!(session["state"], "exited");
        assert!(!self.ok(&["logs", "a"]).contains("intruder"));
        self.ok(&["send", "a", "--raw", "by its owner\n"]);
        until("its owner is heard", || self.ok(&["screen", "a"]).contains("by its owner").then_some(()));
        assert_eq!(serde_json::from_str::<Value>(&self.ok(&["list", "--json"])).unwrap()[0]["name"], "a");
    }
}

impl Drop for OwnersHome {
    fn drop(&mut self) {
        let _ = fs::set_permissions(&self.path, Permissions::from_mode(0o700));
        for args in [&["stop", "a", "--grace", "0"][..], &["daemon", "stop"]] {
            let _ = self.command(OWNER, args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}

/// Does something as another user, on a thread that is that user and nobody else any more.
fn acting_as<T: Send>(user: u32, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let actor = scope.spawn(move || {
            if user != ROOT {
                let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
                rustix::thread::set_thread_groups(&[]).unwrap();
                rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
                rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            }
            act()
        });
        actor.join().unwrap()
    })
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let stream = SocketPath::new(socket)?.connect()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// What a daemon answers a user who greets it and asks for its sessions.
fn greet_daemon(user: u32, socket: &Path) -> Result<Response, FrameError> {
    acting_as(user, || {
        let mut stream = connect(socket)?;
        let hello = Request::Hello { protocol: PROTOCOL, version: "test".into() };
        // A daemon that refuses may have closed the connection already.
        let _ = frame::write_json(&mut stream, &hello);
        let _ = frame::write_json(&mut stream, &Request::List { all: true });
        frame::read(&mut stream)?.json()
    })
}

/// What a holder answers a user who shows a token and types at once: the first reply, and whether that was all.
fn greet_holder(user: u32, dir: &SessionDir, token: Token) -> (String, bool) {
    acting_as(user, || {
        let mut stream = connect(&dir.socket()).unwrap();
        let mut bytes = Vec::new();
        wire::Request::Hello { version: wire::VERSION, token }.encode(&mut bytes);
        let text = b"intruder\n";
        let crc = crc32(text);
        wire::Request::Input { lane: Lane::Keys, epoch: u64::MAX, seq: 1, crc, bytes: text }
            .encode(&mut bytes);
        wire::Request::Stop { grace_ms: 0 }.encode(&mut bytes);
        let _ = stream.write_all(&bytes);
        let mut heard = Vec::new();
        // The end of a connection with unread requests is an error here; what was said before arrives all the same.
        let _ = stream.read_to_end(&mut heard);
        let (frame, rest) = wire::split_frame(&heard).unwrap().expect("an answer");
        match Reply::decode(frame).unwrap().unwrap() {
            Reply::Refused { reason } => (reason.to_owned(), rest.is_empty()),
            other => (format!("{other:?}"), rest.is_empty()),
        }
    })
}

#[test]
fn another_user_finds_every_door_closed() {
    let Some(home) = OwnersHome::new() else { return };
    let program = pid(&home.session()["pid"]);
    for args in OwnersHome::requests() {
        let done = home.run(STRANGER, args);
        assert!(!done.out.contains("secret") && !done.err.contains("secret"), "{done:?}");
        done.fails(3, &["belongs to another user", "hint: set OSTLER_HOME"]);
    }
    let dir = home.dir();
    let refused = |what: &str, error: io::Error| {
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{what}: {error}");
    };
    acting_as(STRANGER, || {
        refused("daemon socket", connect(&home.socket()).unwrap_err());
        refused("holder socket", connect(&dir.socket()).unwrap_err());
        refused("home", fs::read_dir(&home.path).unwrap_err());
        refused("session", fs::read_dir(dir.path()).unwrap_err());
        refused("token", dir.read_token().unwrap_err());
        refused("ring", File::open(dir.ring()).unwrap_err());
        refused("record", File::open(home.path.join("ostler.db")).unwrap_err());
        refused("removal", fs::remove_file(home.socket()).unwrap_err());
    });
    home.is_untouched(program);
}

#[test]
fn another_user_cannot_attach() {
    let Some(home) = OwnersHome::new() else { return };
    let program = pid(&home.session()["pid"]);
    // In a terminal of the stranger's own.
    let own = home.base.path().join("stranger");
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, Permissions::from_mode(0o700)).unwrap();
    chown(&own, Some(STRANGER), Some(STRANGER)).unwrap();
    let stranger = |args: &[&str]| {
        Done::from(&home.command(STRANGER, args).env("OSTLER_HOME", &own).output().unwrap()).ok()
    };
    let there = format!("OSTLER_HOME={}", home.path.display());
    for (name, mode) in [("closed", 0o700), ("open", 0o777)] {
        home.set_modes(mode);
        let program = ostler().to_str().unwrap();
        stranger(&["start", program, "--name", name, "--env", &there, "--", "attach", "a"]);
        stranger(&["wait", name, "exited", "--timeout", "20"]);
        let text = stranger(&["logs", name]);
        assert!(text.contains("belongs to another user") && !text.contains("secret"), "{text}");
    }
    stranger(&["daemon", "stop"]);
    home.set_modes(0o700);
    home.is_untouched(program);
}

#[test]
fn doors_left_open_are_guarded_by_the_users_themselves() {
    let Some(home) = OwnersHome::new() else { return };
    let program = pid(&home.session()["pid"]);
    let dir = home.dir();
    // Root can read it, like anything; let us say that the stranger was given it.
    let token = dir.read_token().unwrap();
    home.set_modes(0o777);
    for user in [STRANGER, ROOT] {
        let answer = greet_daemon(user, &home.socket());
        assert!(matches!(answer, Err(FrameError::Closed | FrameError::Io(_))), "user {user}: {answer:?}");
        let answer = greet_holder(user, &dir, token);
        assert_eq!(answer, ("this session belongs to another user".into(), true), "user {user}");
        for args in OwnersHome::requests() {
            let done = home.run(user, args);
            assert!(!done.out.contains("secret"), "{done:?}");
            done.fails(3, &["belongs to another user"]);
        }
    }
    // The same words from its owner open it.
    assert!(matches!(greet_daemon(OWNER, &home.socket()), Ok(Response::Welcome(_))));
    home.set_modes(0o700);
    home.is_untouched(program);
}

#[test]
fn the_owner_too_needs_the_token_of_a_session() {
    let Some(home) = OwnersHome::new() else { return };
    let program = pid(&home.session()["pid"]);
    let dir = home.dir();
    let token = dir.read_token().unwrap();
    let mut almost = token;
    almost[15] ^= 1;
    for wrong in [almost, [0; 16], [0xFF; 16]] {
        assert_eq!(greet_holder(OWNER, &dir, wrong), ("wrong token".into(), true));
    }
    home.is_untouched(program);
    // With the right one, the same words end the session.
    let (answer, _) = greet_holder(OWNER, &dir, token);
    assert!(answer.starts_with("Welcome"), "{answer}");
    until_gone("the program is gone", program);
}

#[test]
fn a_home_in_a_place_that_belongs_to_another_user_is_refused() {
    let Some(home) = OwnersHome::new() else { return };
    let roots = home.base.path().join("roots");
    fs::create_dir(&roots).unwrap();
    for (mode, path, said) in [
        (0o700, roots.clone(), "another user"),
        (0o755, roots.clone(), "belongs to another user"),
        (0o777, roots.clone(), "belongs to another user"),
        (0o755, roots.join("below"), "Permission denied"),
    ] {
        fs::set_permissions(&roots, Permissions::from_mode(mode)).unwrap();
        let done = Done::from(&home.command(OWNER, &["list"]).env("OSTLER_HOME", &path).output().unwrap());
        done.fails(3, &[path.to_str().unwrap(), said, "hint: set OSTLER_HOME"]);
        assert_eq!(fs::read_dir(&roots).unwrap().count(), 0, "nothing was put there");
    }
}

/// Needs no other user: what others could read is seen by its mode.
#[test]
fn nothing_in_a_home_is_open_to_others() {
    let home = TestHome::new();
    home.ok(["start", "sh", "--name", "a", "--record", "--", "-c", "echo hello; cat"]);
    home.ok(["send", "a", "--raw", "a message\n"]);
    home.await_screen("a", "a message");
    home.ok(["daemon", "stop"]);
    home.ok(["list"]);
    let mut open = Vec::new();
    let mut places = vec![home.path()];
    while let Some(path) = places.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.mode() & 0o077 != 0 {
            open.push(format!("{} {:o}", path.display(), metadata.mode() & 0o777));
        }
        if metadata.is_dir() {
            places.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    open.sort();
    assert!(open.is_empty(), "{open:#?}");
}
