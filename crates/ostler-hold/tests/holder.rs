//! The holder as others see it: through its socket, its directory and the processes it leaves behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use ostler_hold::wire::{self, Lane, Outcome, Reply, Request, Status, Token};
use ostler_hold::{ExitRecord, Launcher, SessionDir, SocketPath, Spec, crc32, read_remains};
use ostler_testkit::wait::{until, until_gone};

const PATIENCE: Duration = Duration::from_secs(20);

struct Session {
    _base: tempfile::TempDir,
    dir: SessionDir,
    holder: Child,
    program: u32,
}

fn launcher() -> Launcher {
    Launcher { program: PathBuf::from(env!("CARGO_BIN_EXE_ostler-hold")), args: Vec::new() }
}

fn spec(script: &str) -> Spec {
    Spec {
        program: "/bin/sh".into(),
        argv0: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        cols: 80,
        rows: 24,
        ring: 64 * 1024,
        record: 0,
        open_files: 0,
        umask: 0o22,
        agent: String::new(),
        agent_version: String::new(),
    }
}

fn start_with(spec: &Spec) -> Session {
    let base = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(base.path().join("session"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let launched =
        launcher().launch(&dir, spec, [("PATH", path), ("TERM", "xterm-256color".into())]).unwrap();
    Session { _base: base, dir, holder: launched.holder, program: launched.program }
}

fn start(script: &str) -> Session {
    start_with(&spec(script))
}

impl Session {
    fn connect(&self) -> Connection {
        Connection::open(&self.dir, self.dir.read_token().unwrap())
    }

    fn wait_gone(&mut self) {
        until("the holder is gone", || self.holder.try_wait().unwrap().is_some().then_some(()));
        // Another test's child, between fork and exec, may have a copy of the lock for a moment.
        until("the lock is free", || (!self.dir.is_held()).then_some(()));
    }
}

impl Drop for Session {
    /// Ends the session as its own TERM would, which works however a test has ended.
    fn drop(&mut self) {
        if self.holder.try_wait().is_ok_and(|status| status.is_none()) {
            ostler_hold::tree::signal_descendants(self.holder.id(), None, rustix::process::Signal::KILL);
            let _ = self.holder.wait();
        }
    }
}

/// What arrived, as owned values.
#[derive(Debug, PartialEq)]
enum Heard {
    Welcome(Status),
    Output(u64, Vec<u8>),
    Gap(u64, u64, String),
    Input(Lane, u64, Outcome, u64),
    Status(Status),
    Exited(ExitRecord),
    Refused(String),
}

struct Connection {
    stream: UnixStream,
    buffer: Vec<u8>,
    output: Vec<u8>,
    epoch: u64,
}

impl Connection {
    fn open(dir: &SessionDir, token: Token) -> Self {
        let stream = SocketPath::new(&dir.socket()).unwrap().connect().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut connection = Self { stream, buffer: Vec::new(), output: Vec::new(), epoch: 1 };
        connection.ask(&Request::Hello { version: wire::VERSION, token });
        connection
    }

    fn welcomed(mut self) -> (Self, Status) {
        match self.hear() {
            Some(Heard::Welcome(status)) => (self, status),
            other => panic!("no welcome but {other:?}"),
        }
    }

    fn ask(&mut self, request: &Request<'_>) {
        let mut bytes = Vec::new();
        request.encode(&mut bytes);
        let _ = self.stream.write_all(&bytes);
    }

    fn type_frame(&mut self, lane: Lane, seq: u64, bytes: &[u8]) {
        let epoch = self.epoch;
        self.ask(&Request::Input { lane, epoch, seq, crc: crc32(bytes), bytes });
    }

    /// The next reply; `None` at the end of the connection.
    fn hear(&mut self) -> Option<Heard> {
        loop {
            if let Some((frame, rest)) = wire::split_frame(&self.buffer).unwrap() {
                let heard = match Reply::decode(frame).unwrap().unwrap() {
                    Reply::Welcome { status, .. } => Heard::Welcome(status),
                    Reply::Output { offset, bytes } => Heard::Output(offset, bytes.to_vec()),
                    Reply::Gap { from, resumed, modes } => {
                        Heard::Gap(from, resumed, String::from_utf8(modes.to_vec()).unwrap())
                    }
                    Reply::Input { lane, seq, outcome, offset } => Heard::Input(lane, seq, outcome, offset),
                    Reply::Status(status) => Heard::Status(status),
                    Reply::Exited(record) => Heard::Exited(record),
                    Reply::Refused { reason } => Heard::Refused(reason.to_owned()),
                };
                let rest = rest.len();
                self.buffer.drain(..self.buffer.len() - rest);
                if let Heard::Output(_, bytes) = &heard {
                    self.output.extend_from_slice(bytes);
                }
                return Some(heard);
            }
            let mut more = vec![0u8; 65536];
            match self.stream.read(&mut more).unwrap() {
                0 => return None,
                count => self.buffer.extend_from_slice(&more[..count]),
            }
        }
    }

    /// The first reply that `wanted` turns into something.
    fn hear_until<T>(&mut self, mut wanted: impl FnMut(&Heard) -> Option<T>) -> T {
        loop {
            let heard = self.hear().expect("connection ended");
            if let Some(found) = wanted(&heard) {
                return found;
            }
        }
    }

    fn hear_text(&mut self, text: &str) {
        let mut searched = 0;
        loop {
            let unseen = &self.output[searched..];
            if unseen.windows(text.len()).any(|window| window == text.as_bytes()) {
                return;
            }
            searched = (self.output.len() + 1).saturating_sub(text.len());
            self.hear().unwrap_or_else(|| panic!("the connection ended before {text:?}"));
        }
    }

    fn answer(&mut self, lane: Lane, seq: u64) -> (Outcome, u64) {
        self.hear_until(|heard| match heard {
            Heard::Input(l, s, outcome, offset) if (*l, *s) == (lane, seq) => Some((*outcome, *offset)),
            _ => None,
        })
    }
}

fn is_running(pid: u32) -> bool {
    ostler_hold::Identity::of(pid).is_some()
}

#[test]
fn output_is_kept_with_nobody_attached_and_replayed_from_any_offset() {
    let session = start("printf 'one\\ntwo\\n'; read x; echo got $x; read y");
    until("output is there", || {
        let (_, status) = session.connect().welcomed();
        (status.written >= 10).then_some(())
    });
    let (mut first, status) = session.connect().welcomed();
    assert!(status.running && status.canonical && status.echo);
    assert_eq!(status.child, session.program);
    first.ask(&Request::Subscribe { from: 0, paced: true });
    first.hear_text("one\r\ntwo\r\n");
    let (mut second, _) = session.connect().welcomed();
    second.ask(&Request::Subscribe { from: 5, paced: false });
    second.type_frame(Lane::Message, 1, b"hello\n");
    let (outcome, offset) = second.answer(Lane::Message, 1);
    assert_eq!(outcome, Outcome::Written);
    assert!(offset >= 10);
    second.hear_text("got hello");
    assert!(second.output.starts_with(b"two\r\n"), "{:?}", second.output);
    first.hear_text("got hello");
}

#[test]
fn too_old_an_offset_is_answered_with_what_is_missing() {
    let session = start("head -c 300000 /dev/zero | tr '\\0' a; echo END; read x");
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 299_990, paced: false });
    connection.hear_text("END");
    let (mut late, status) = session.connect().welcomed();
    // What may be overwritten next is given up beforehand.
    let kept = status.written - status.oldest;
    assert!((60 * 1024..=64 * 1024).contains(&kept), "{kept}");
    late.ask(&Request::Subscribe { from: 7, paced: false });
    assert_eq!(late.hear(), Some(Heard::Gap(7, status.oldest, String::new())));
    late.hear_text("END");
    assert_eq!(late.output.len() as u64, kept);
}

#[test]
fn modes_are_told_however_much_output_is_gone() {
    let script = "stty raw -echo; printf '\\033[?2004h\\033[?1049h\\033[?1000;1006h\\033[>1u'; \
                  head -c 300000 /dev/zero | tr '\\0' a; printf '\\033[?1000l'; echo END; read x";
    let mut spec = spec(script);
    spec.ring = ostler_hold::DEFAULT_RING;
    let mut session = start_with(&spec);
    // Nobody reads along.
    until("all is written", || {
        let (mut connection, status) = session.connect().welcomed();
        connection.ask(&Request::Subscribe { from: u64::MAX, paced: false });
        (status.written > 300_030).then_some(())
    });
    let (mut reader, status) = session.connect().welcomed();
    reader.ask(&Request::Subscribe { from: 0, paced: true });
    let modes = "\x1b[?1049h\x1b[>1u\x1b[?1000h\x1b[?1006h\x1b[?2004h";
    assert_eq!(reader.hear(), Some(Heard::Gap(0, status.oldest, modes.to_owned())));
    reader.hear_text("\x1b[?1000lEND");
    // The file of a holder that was killed tells the same.
    session.holder.kill().unwrap();
    session.wait_gone();
    let remains = read_remains(&session.dir.ring()).unwrap();
    assert_eq!((remains.oldest, remains.modes), (status.oldest, modes.as_bytes().to_vec()));
}

#[test]
fn output_of_the_first_moments_waits_for_the_first_reader() {
    let mut session = start("head -c 200000 /dev/zero | tr '\\0' a; echo END");
    until("the program has begun", || {
        let (_, status) = session.connect().welcomed();
        (status.written >= 32 * 1024).then_some(())
    });
    let (mut reader, _) = session.connect().welcomed();
    reader.ask(&Request::Subscribe { from: 0, paced: true });
    reader.hear_text("END");
    assert!(reader.output.starts_with(&vec![b'a'; 200_000]));
    session.wait_gone();
}

#[test]
fn input_is_typed_once_whole_and_in_order_whatever_is_repeated() {
    let session = start("stty raw -echo; echo ready; head -c 120005 | cksum; read x");
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 0, paced: true });
    connection.hear_text("ready");
    let body: Vec<u8> = (0..60_000u32).map(|index| u8::try_from(index % 251).unwrap()).collect();
    let mut typed = Vec::new();
    for seq in [1, 2] {
        connection.type_frame(Lane::Message, seq, &body);
        // A second copy while the first is under way, as after a daemon's death.
        connection.epoch = seq;
        connection.type_frame(Lane::Message, seq, &body);
        let mut answers = Vec::new();
        while answers.len() < 2 {
            answers.push(connection.answer(Lane::Message, seq).0);
        }
        assert!(answers.contains(&Outcome::Written), "{answers:?}");
        typed.extend_from_slice(&body);
    }
    connection.type_frame(Lane::Message, 2, &body);
    assert_eq!(connection.answer(Lane::Message, 2).0, Outcome::Duplicate);
    connection.type_frame(Lane::Keys, 1, b"tail.");
    typed.extend_from_slice(b"tail.");
    let expected = checksum(&typed);
    connection.hear_text(&expected);
}

/// What `cksum` prints for these bytes.
fn checksum(bytes: &[u8]) -> String {
    let mut child = std::process::Command::new("cksum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_old_epoch_broken_bytes_and_a_full_line_are_refused() {
    let session = start("stty raw -echo; echo ready; sleep 600");
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 0, paced: true });
    connection.hear_text("ready");
    connection.epoch = 5;
    connection.type_frame(Lane::Message, 1, b"a");
    assert_eq!(connection.answer(Lane::Message, 1).0, Outcome::Written);
    let unread = |connection: &mut Connection| {
        connection.ask(&Request::Query);
        connection.hear_until(|heard| match heard {
            Heard::Status(status) => Some(status.pending),
            _ => None,
        })
    };
    // What is written is in the terminal, and not read.
    while unread(&mut connection) == 0 {}
    connection.epoch = 4;
    connection.type_frame(Lane::Message, 2, b"b");
    assert_eq!(connection.answer(Lane::Message, 2).0, Outcome::Stale);
    connection.ask(&Request::Input { lane: Lane::Message, epoch: 5, seq: 2, crc: 1, bytes: b"b" });
    assert_eq!(connection.answer(Lane::Message, 2).0, Outcome::Corrupt);
    // The program never reads: the terminal takes some, the rest waits, the holder goes on serving.
    connection.epoch = 5;
    connection.type_frame(Lane::Message, 2, &vec![b'x'; 60_000]);
    connection.type_frame(Lane::Keys, 1, b"k");
    assert_eq!(connection.answer(Lane::Keys, 1).0, Outcome::Full);
    let pending = unread(&mut connection);
    assert!((40_000..=60_001).contains(&pending), "{pending}");
}

#[test]
fn a_wrong_token_or_no_greeting_is_refused() {
    let session = start("read x");
    let mut stranger = Connection::open(&session.dir, [0; 16]);
    assert_eq!(stranger.hear(), Some(Heard::Refused("wrong token".into())));
    assert_eq!(stranger.hear(), None);
    let stream = SocketPath::new(&session.dir.socket()).unwrap().connect().unwrap();
    let mut rude = Connection { stream, buffer: Vec::new(), output: Vec::new(), epoch: 1 };
    rude.type_frame(Lane::Message, 1, b"rm -rf\n");
    assert_eq!(rude.hear(), Some(Heard::Refused("no greeting".into())));
    assert_eq!(rude.hear(), None);
    let (_, status) = session.connect().welcomed();
    assert_eq!(status.seqs, [0, 0, 0]);
}

#[test]
fn no_program_holds_another_terminal_or_any_other_handle() {
    let one = start("echo one; read x");
    let two = start("echo two; read x");
    for session in [&one, &two] {
        let (mut connection, _) = session.connect().welcomed();
        connection.ask(&Request::Subscribe { from: 0, paced: true });
        connection.hear_text("\n");
        let handles: Vec<_> = std::fs::read_dir(format!("/proc/{}/fd", session.program))
            .unwrap()
            .map(|entry| std::fs::read_link(entry.unwrap().path()).unwrap())
            .collect();
        assert_eq!(handles.len(), 3, "{handles:?}");
        assert!(
            handles.iter().all(|path| path == &handles[0] && path.starts_with("/dev/pts")),
            "{handles:?}"
        );
    }
}

#[test]
fn the_program_starts_with_default_signals_in_a_session_of_its_own() {
    let session = start("read x");
    let status = std::fs::read_to_string(format!("/proc/{}/status", session.program)).unwrap();
    for field in ["SigBlk", "SigIgn"] {
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        assert!(line.ends_with("0000000000000000"), "{line}");
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", session.program)).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!(fields[3], session.program.to_string(), "session id");
}

#[test]
fn the_end_is_recorded_and_reported_with_all_output_before_it() {
    let mut session = start("read x; echo last words; exit 7");
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 0, paced: true });
    connection.type_frame(Lane::Message, 1, b"\n");
    let record = connection.hear_until(|heard| match heard {
        Heard::Exited(record) => Some(*record),
        _ => None,
    });
    assert_eq!((record.status, record.signal), (Some(7), None));
    assert!(String::from_utf8_lossy(&connection.output).contains("last words"));
    assert_eq!(record.written, connection.output.len() as u64);
    session.wait_gone();
    assert_eq!(session.dir.read_exit(), Some(record));
    assert!(
        String::from_utf8_lossy(&read_remains(&session.dir.ring()).unwrap().bytes).contains("last words")
    );
}

#[test]
fn a_program_that_ends_unseen_leaves_its_record() {
    let mut session = start("echo unseen; kill -9 $$");
    session.wait_gone();
    let record = session.dir.read_exit().unwrap();
    assert_eq!((record.status, record.signal), (None, Some(9)));
    assert_eq!(record.written, 8);
    assert_eq!(read_remains(&session.dir.ring()).unwrap().bytes, b"unseen\r\n");
}

#[test]
fn a_killed_holder_leaves_the_last_output_and_no_lock() {
    let mut session = start("echo before the end; read x");
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 0, paced: true });
    connection.hear_text("end");
    session.holder.kill().unwrap();
    session.wait_gone();
    assert_eq!(session.dir.read_exit(), None);
    assert_eq!(read_remains(&session.dir.ring()).unwrap().bytes, b"before the end\r\n");
    // The terminal is gone with its owner, and so is a program that minds.
    until_gone("the program is gone", session.program);
}

#[test]
fn stop_ends_the_whole_tree_even_what_ignores_signals_and_leaves_the_session() {
    let mut session = start(
        "trap '' HUP TERM; setsid sh -c 'trap \"\" HUP TERM; echo orphan $$; while :; do sleep 1; done' & \
         wait $!; while :; do sleep 1; done",
    );
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 0, paced: true });
    connection.hear_text("\n");
    let text = String::from_utf8_lossy(&connection.output).into_owned();
    let orphan: u32 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(is_running(orphan));
    connection.ask(&Request::Stop { grace_ms: 300 });
    session.wait_gone();
    assert!(!is_running(orphan) && !is_running(session.program));
    assert_eq!(session.dir.read_exit().unwrap().signal, Some(9));
}

#[test]
fn orphans_are_reaped() {
    let session = start("for i in 1 2 3; do (true & true); done; echo forked; read x");
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 0, paced: true });
    connection.hear_text("forked");
    until("no zombie is left", || {
        let zombies = ostler_hold::tree::process_ids().any(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let fields: Vec<_> =
                stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
            fields.first() == Some(&"Z") && fields.get(1) == Some(&session.holder.id().to_string().as_str())
        });
        (!zombies).then_some(())
    });
}

#[test]
fn a_program_that_cannot_run_is_said_so_at_once() {
    let base = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(base.path().join("s"));
    let missing = Spec { program: "/no/such/program".into(), ..spec("") };
    let error = launcher().launch(&dir, &missing, [("A", "b")]).unwrap_err().to_string();
    assert!(error.contains("/no/such/program") && error.contains("No such file"), "{error}");
    until("the lock is free", || (!dir.is_held()).then_some(()));
}

#[test]
fn a_recording_is_written_and_bounded() {
    let mut session = start_with(&Spec { record: 2_000, ..spec("echo first; read x; seq 1 3000") });
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 0, paced: true });
    connection.hear_text("first");
    connection.type_frame(Lane::Message, 1, b"\n");
    session.wait_gone();
    let text = std::fs::read_to_string(session.dir.recording()).unwrap();
    assert!(text.starts_with("{\"version\":2"), "{text}");
    assert!(text.len() < 2_200, "{}", text.len());
    assert!(text.contains("first") && text.contains("size limit"), "{text}");
}

#[test]
fn a_resize_reaches_the_program() {
    let session = start("read x; stty size; read y");
    let (mut connection, _) = session.connect().welcomed();
    connection.ask(&Request::Subscribe { from: 0, paced: true });
    connection.ask(&Request::Resize { cols: 133, rows: 47 });
    connection.type_frame(Lane::Message, 1, b"\n");
    connection.hear_text("47 133");
}

#[test]
fn a_slow_reader_misses_nothing_and_a_dead_one_stops_nobody() {
    let mut session = start("head -c 3000000 /dev/zero | tr '\\0' b; echo DONE");
    let (mut slow, _) = session.connect().welcomed();
    slow.ask(&Request::Subscribe { from: 0, paced: true });
    // Connected, subscribed, and never reading.
    let (mut dead, _) = session.connect().welcomed();
    dead.ask(&Request::Subscribe { from: 0, paced: true });
    slow.hear_text("DONE");
    assert!(slow.output.starts_with(&vec![b'b'; 3_000_000]));
    session.wait_gone();
}
