//! Programs that flood, stall and garble: bounded memory, no hang, others unaffected.

#![allow(clippy::print_stdout, reason = "a test says what was measured")]

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ostler_hold::SocketPath;
use ostler_protocol::{PROTOCOL, Request, Response, Since, ViewRequest, frame};
use ostler_screen::Size;
use serde_json::Value;

use crate::support::{Done, PATIENCE, TestHome, is_running, pid, until, until_file, until_gone};

/// How long a session may take to answer while another one misbehaves: two commands, beyond what a busy machine needs for
/// them anyway.
const PROMPT: Duration = Duration::from_secs(3);
/// Most memory of a holder, in KiB, its program file included (an unoptimised build has the larger one).
const HOLDER_KIB: u64 = 4 * 1024;
/// Most memory that a misbehaving session may add to the daemon, in KiB.
const GROWTH_KIB: u64 = 16 * 1024;

/// A session that behaves, on the daemon that has to do with one that does not.
struct Bystander<'a> {
    home: &'a TestHome,
    rounds: u32,
    slowest: Duration,
    limit: Duration,
}

impl<'a> Bystander<'a> {
    fn start(home: &'a TestHome) -> Self {
        home.start_sh("calm", "stty -echo; echo ready; cat");
        home.await_screen("calm", "ready");
        let mut calm = Self { home, rounds: 0, slowest: Duration::ZERO, limit: PATIENCE };
        calm.answers();
        calm.limit = PROMPT + 3 * calm.slowest;
        calm
    }

    /// Sends it something and sees the answer on its screen, in time.
    #[track_caller]
    fn answers(&mut self) {
        let began = Instant::now();
        self.rounds += 1;
        let text = format!("round {} of many", self.rounds);
        self.home.ok(["send", "calm", "--raw", &format!("{text}\n")]);
        self.home.await_screen("calm", &text);
        self.slowest = self.slowest.max(began.elapsed());
        assert!(began.elapsed() < self.limit, "round {} took {:?}", self.rounds, began.elapsed());
    }
}

/// A line of `/proc/PID/status`, in KiB.
fn memory(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Watches what a misbehaving session does to the memory of the daemon and of its holder.
struct Memory {
    daemon: u32,
    before: u64,
}

impl Memory {
    fn watch(home: &TestHome) -> Self {
        let daemon = home.daemon_pid();
        Self { daemon, before: memory(daemon, "VmHWM") }
    }

    /// Checks the most that either ever had.
    #[track_caller]
    fn is_bounded(&self, home: &TestHome, name: &str) {
        self.is_below(home, name, GROWTH_KIB);
    }

    #[track_caller]
    fn is_below(&self, home: &TestHome, name: &str, growth_kib: u64) {
        let holder = memory(pid(&home.status(name)["holder"]), "VmHWM");
        let growth = memory(self.daemon, "VmHWM") - self.before;
        println!("{name}: holder {holder} KiB, daemon {} + {growth} KiB", self.before);
        assert!(holder < HOLDER_KIB, "the holder of {name} took {holder} KiB");
        assert!(growth < growth_kib, "the daemon grew by {growth} KiB");
    }
}

/// Output of so many bytes as they are, then a word that cannot be missed on whatever screen they left.
fn flood(source: &str, bytes: u64) -> String {
    format!("stty -opost; {source} | head -c {bytes}; printf '{RESET}the end'; read x")
}

/// Ends an unfinished string and resets the terminal.
const RESET: &str = "\\030\\033\\134\\033c";
const FLOOD_TAIL: u64 = 5 + 7;

fn output(home: &TestHome, name: &str) -> u64 {
    home.status(name)["output"].as_u64().unwrap()
}

/// Waits for the end of a flood while it is looked at and another session is used.
#[track_caller]
fn outlast(home: &TestHome, name: &str, calm: &mut Bystander<'_>) {
    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    until("the flood is over", || {
        calm.answers();
        let asked = Instant::now();
        let over = home.screen(name).contains("the end");
        slowest = slowest.max(asked.elapsed());
        assert!(slowest < calm.limit, "a look at {name} took {slowest:?}");
        over.then_some(())
    });
    let (took, rounds) = (began.elapsed(), calm.rounds);
    println!("{name}: {took:?}, {rounds} rounds, slowest {:?}, slowest look {slowest:?}", calm.slowest);
}

/// The amount is a setting: `OSTLER_FLOOD_MB=1000` sends a gigabyte.
#[test]
fn a_flood_is_taken_whole_in_bounded_memory_and_nobody_else_waits() {
    let megabytes: u64 = std::env::var("OSTLER_FLOOD_MB").ok().map_or(150, |text| text.parse().unwrap());
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    let memory = Memory::watch(&home);
    let frame = "yes \"$(printf '\\033[5;5Hpainted in place, as full-screen programs do, again and again')\"";
    home.start_sh("flood", &flood(frame, megabytes * 1_000_000));
    outlast(&home, "flood", &mut calm);
    assert_eq!(output(&home, "flood"), megabytes * 1_000_000 + FLOOD_TAIL, "all of it was taken");
    let because = home.status("flood")["because"].to_string();
    assert!(!because.contains("lost"), "{because}");
    memory.is_bounded(&home, "flood");
    home.ok(["stop", "flood", "--grace", "0"]);
}

#[test]
fn a_flood_of_plain_text_without_line_ends_is_taken_in_time() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    home.start_sh("flood", &flood("tr '\\0' x < /dev/zero", 10_000_000));
    let began = Instant::now();
    outlast(&home, "flood", &mut calm);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(output(&home, "flood"), 10_000_000 + FLOOD_TAIL);
}

#[test]
fn questions_to_a_terminal_whose_program_never_reads_the_answers_take_no_memory() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    let memory = Memory::watch(&home);
    let questions = flood("yes \"$(printf '\\033[c')\"", 4_000_000);
    home.start_sh("asker", &format!("stty raw -echo; {questions}"));
    home.await_screen("asker", "the end");
    memory.is_bounded(&home, "asker");
    calm.answers();
    home.ok(["stop", "asker", "--grace", "0"]);
}

/// Text for people must not steer their terminal, whatever the program printed.
#[track_caller]
fn is_plain(what: &str, text: &str) {
    let steers = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
    let found: Vec<char> = text.chars().filter(steers).collect();
    assert!(found.is_empty(), "{what} prints {found:?}");
}

#[track_caller]
fn all_commands_print_plain_text(home: &TestHome, name: &str) {
    for command in [
        &["screen", name][..],
        &["screen", name, "--json"],
        &["logs", name],
        &["list"],
        &["list", "--json"],
        &["list", "--all"],
        &["status", name],
        &["status", name, "--json"],
        &["events", name],
        &["events", name, "--json"],
    ] {
        let done = home.run(command);
        assert_eq!(done.code, 0, "{command:?}: {}", done.err);
        is_plain(&command.join(" "), &done.out);
        is_plain(&command.join(" "), &done.err);
    }
}

#[test]
fn junk_breaks_nothing_and_does_not_reach_the_users_terminal() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    let memory = Memory::watch(&home);
    home.start_sh("random", &flood("cat /dev/urandom", 20_000_000));
    home.start_stand_in("junk", &["--spam", "0", "--spam-bytes", "300000", "--junk", "--seed", "7"]);
    outlast(&home, "random", &mut calm);
    until("the stand-in has spoken", || (output(&home, "junk") >= 300_000).then_some(()));
    assert!(!home.status("random")["because"].to_string().contains("lost"));
    all_commands_print_plain_text(&home, "random");
    all_commands_print_plain_text(&home, "junk");
    memory.is_bounded(&home, "random");
    memory.is_bounded(&home, "junk");
    assert_eq!(home.daemon_pid(), memory.daemon, "the daemon did not crash");
    home.kill_daemon();
    assert!(home.screen("random").contains("the end"));
    all_commands_print_plain_text(&home, "junk");
}

#[test]
fn a_hostile_command_line_and_title_are_shown_without_their_sting() {
    let home = TestHome::new();
    let script =
        "printf '\\033]0;ti\\302\\233tle\\177\\007'; echo 'red \u{1b}[31m \u{9b}31m \u{7f} \u{7}'; read x";
    home.start_sh("a", script);
    home.await_screen("a", "red");
    for command in [&["list"][..], &["status", "a"], &["screen", "a"], &["logs", "a"], &["events", "a"]] {
        is_plain(&command.join(" "), &home.ok(command));
    }
    assert_eq!(home.status("a")["title"], "title");
}

#[test]
fn the_smallest_terminal_takes_text_as_any_other() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    for size in ["1x1", "0x0", "2x0", "1001x1", "65535x65535", "99999x1", "2", "-3x3"] {
        home.run(["start", "sh", &format!("--size={size}")]).fails(2, &["2 to 1000 columns", "120x40"]);
    }
    assert_eq!(home.json(["list", "--json"]).as_array().unwrap().len(), 1, "none was started");
    let memory = Memory::watch(&home);
    home.ok([
        "start",
        "sh",
        "--name",
        "tiny",
        "--size",
        "2x1",
        "--",
        "-c",
        &format!(
            "{}; stty size; read x",
            flood("tr '\\0' x < /dev/zero", 500_000).trim_end_matches("; read x")
        ),
    ]);
    let began = Instant::now();
    until("all of it is read", || {
        calm.answers();
        (output(&home, "tiny") >= 500_000 + FLOOD_TAIL).then_some(())
    });
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let status = home.status("tiny");
    assert_eq!((&status["cols"], &status["rows"]), (&2.into(), &1.into()));
    until("the program has seen its size", || home.ok(["logs", "tiny"]).contains('2').then_some(()));
    memory.is_bounded(&home, "tiny");
    all_commands_print_plain_text(&home, "tiny");
}

/// A viewer who types, straight at the daemon's socket.
struct Viewer(UnixStream);

impl Viewer {
    fn open(home: &TestHome, name: &str, cols: u16, rows: u16) -> Self {
        let mut stream = SocketPath::new(&home.path().join("daemon.sock")).unwrap().connect().unwrap();
        let hello = Request::Hello { protocol: PROTOCOL, version: "test".into() };
        frame::write_json(&mut stream, &hello).unwrap();
        assert!(matches!(frame::read(&mut stream).unwrap().json().unwrap(), Response::Welcome(_)));
        let (name, keys) = (name.to_owned(), Some((cols, rows)));
        let view = Request::View(ViewRequest { name, since: Since::Screen, follow: true, keys });
        frame::write_json(&mut stream, &view).unwrap();
        Self(stream)
    }

    fn resize(&mut self, cols: u16, rows: u16) {
        frame::write_json(&mut self.0, &Request::Resize { cols, rows }).unwrap();
    }
}

#[test]
fn a_terminal_is_resized_to_extremes_while_it_prints() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    let memory = Memory::watch(&home);
    home.start_sh(
        "a",
        "trap 'exit 0' INT; while :; do echo 'text of some length that has to wrap: ä€😀 and on'; sleep 0.01; done",
    );
    let mut viewer = Viewer::open(&home, "a", 1, 1);
    let mut reader = viewer.0.try_clone().unwrap();
    std::thread::scope(|scope| {
        let drained = scope.spawn(move || while frame::read(&mut reader).is_ok() {});
        for (cols, rows) in
            [(1, 1), (0, 0), (u16::MAX, u16::MAX), (2, 500), (1000, 1), (u16::MAX, 0), (3, 2), (120, 40)]
        {
            viewer.resize(cols, rows);
            let wanted = Size::clamped(cols, rows);
            until(&format!("the terminal is {wanted}"), || {
                let status = home.status("a");
                (status["cols"] == wanted.cols && status["rows"] == wanted.rows).then_some(())
            });
            home.screen("a");
            calm.answers();
        }
        viewer.0.shutdown(Shutdown::Both).unwrap();
        drained.join().unwrap();
    });
    // The largest screen has half a million cells, twice, and is sent to a viewer.
    memory.is_below(&home, "a", 64 * 1024);
    all_commands_print_plain_text(&home, "a");
    home.kill_daemon();
    let status = home.status("a");
    assert_eq!((&status["cols"], &status["rows"]), (&120.into(), &40.into()), "the last size is kept");
}

#[test]
fn lines_of_a_hundred_kilobytes_are_kept_whole() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    home.start_sh("long", "head -c 100000 /dev/zero | tr '\\0' x; echo; echo behind it; read x");
    home.await_screen("long", "behind it");
    let logs = home.ok(["logs", "long"]);
    assert_eq!(logs.matches('x').count(), 100_000);
    assert!(logs.ends_with("behind it\n"), "{}", &logs[logs.len() - 200..]);

    let log = home.scratch().join("log");
    home.start_stand_in("agent", &["--long-line", "100000", "--log", log.to_str().unwrap()]);
    until("the line is out", || (output(&home, "agent") > 100_000).then_some(()));
    home.ok(["send", "agent", "--raw", "still here\r"]);
    until_file(&log, "it takes messages", || {
        std::fs::read_to_string(&log).ok()?.contains("still here").then_some(())
    });
    calm.answers();
}

/// Sends bytes from standard input.
fn send(home: &TestHome, name: &str, flags: &[&str], body: &[u8]) -> Done {
    let command = [&["send", name, "--raw", "-"][..], flags].concat();
    let mut child = home
        .command(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    Done::from(&child.wait_with_output().unwrap())
}

#[test]
fn what_a_deaf_program_does_not_read_stays_queued_in_order_and_arrives_once() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    let (go, sink) = (home.scratch().join("go"), home.scratch().join("sink"));
    home.start_sh(
        "deaf",
        &format!(
            "stty raw -echo; echo ready; while [ ! -e {} ]; do sleep 0.05; done; exec cat > {}",
            go.display(),
            sink.display()
        ),
    );
    home.await_screen("deaf", "ready");
    let memory = Memory::watch(&home);
    let bodies: Vec<Vec<u8>> = (b'a'..=b'c').map(|letter| vec![letter; 60_000]).collect();
    send(&home, "deaf", &["--id", "m0", "--timeout", "0.5"], &bodies[0])
        .fails(4, &["queued, not yet written", "stays queued", "--id m0"]);
    assert_eq!(home.status("deaf")["waiting"], 1);
    let behind = send(&home, "deaf", &["--id", "m1", "--timeout", "0.2"], &bodies[1]);
    assert!(behind.out.contains("queued"), "{behind:?}");
    behind.fails(4, &["stays queued"]);
    send(&home, "deaf", &["--id", "m2", "--wait", "queued"], &bodies[2]).ok();
    // Asking again queues nothing.
    send(&home, "deaf", &["--id", "m0", "--timeout", "0.2"], &bodies[0]).fails(4, &["stays queued"]);
    assert_eq!(home.status("deaf")["waiting"], 3);
    assert!(home.ok(["status", "deaf"]).contains("3 waiting to be typed"));
    calm.answers();
    memory.is_bounded(&home, "deaf");

    home.kill_daemon();
    assert_eq!(home.status("deaf")["waiting"], 3);
    calm.answers();

    std::fs::write(&go, "").unwrap();
    for (index, body) in bodies.iter().enumerate() {
        let sent = send(&home, "deaf", &["--id", &format!("m{index}"), "--json"], body).ok();
        assert_eq!(serde_json::from_str::<Value>(&sent).unwrap()["proof"], "written");
    }
    until_file(&sink, "all bytes arrived", || {
        (std::fs::metadata(&sink).ok()?.len() >= 180_000).then_some(())
    });
    assert!(std::fs::read(&sink).unwrap() == bodies.concat(), "damaged, doubled or out of order");
    assert_eq!(home.status("deaf")["waiting"], 0);
}

#[test]
fn a_deaf_program_can_be_stopped_at_once_and_its_messages_are_settled() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    let session = home.start_stand_in("deaf", &["--never-read"]);
    home.await_screen("deaf", "Type a message");
    let body = vec![b'x'; 60_000];
    send(&home, "deaf", &["--id", "m", "--timeout", "0.3"], &body).fails(4, &["stays queued"]);
    let mut waiter = home
        .command(["send", "deaf", "--raw", "behind", "--timeout", "30"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("a second message waits", || (home.status("deaf")["waiting"] == 2).then_some(()));
    let began = Instant::now();
    home.ok(["stop", "deaf"]);
    assert!(began.elapsed() < calm.limit, "{:?}", began.elapsed());
    assert!(!is_running(pid(&session["pid"])));
    assert_eq!(
        waiter.wait().unwrap().code(),
        Some(1),
        "who waits for a message is told that it never will be"
    );
    send(&home, "deaf", &["--id", "m"], &body).fails(1, &["was not typed", "has ended"]);
    calm.answers();
}

#[test]
fn programs_that_end_at_once_are_reported_with_their_status() {
    let home = TestHome::new();
    for (index, (script, status, signal)) in [
        ("exit 0", 0, None),
        ("exit 255", 255, None),
        ("echo gone; exit 7", 7, None),
        ("kill -9 $$", 0, Some(9)),
    ]
    .into_iter()
    .cycle()
    .take(12)
    .enumerate()
    {
        let name = format!("short{index}");
        home.start_sh(&name, script);
        let ended = home.json(["wait", &name, "exited", "--timeout", "20", "--json"]);
        let exit = &ended["exit"];
        match signal {
            None => assert_eq!((&exit["status"], &exit["signal"]), (&status.into(), &Value::Null), "{ended}"),
            Some(signal) => assert_eq!((&exit["status"], &exit["signal"]), (&Value::Null, &signal.into())),
        }
    }
    assert_eq!(home.ok(["logs", "short2"]), "gone\n");
    assert_eq!(home.json(["list", "--json"]), Value::Array(Vec::new()));
    assert_eq!(home.json(["list", "--all", "--json"]).as_array().unwrap().len(), 12);
}

/// Clock ticks of CPU that a process has used.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_program_that_closes_its_terminal_is_still_looked_after() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    let (closed, go) = (home.scratch().join("closed"), home.scratch().join("go"));
    let session = home.start_sh(
        "a",
        &format!(
            "echo before; exec </dev/null >/dev/null 2>&1; : > {}; while [ ! -e {} ]; do sleep 0.05; done; exit 5",
            closed.display(),
            go.display()
        ),
    );
    until_file(&closed, "it has closed its terminal", || closed.exists().then_some(()));
    let holder = pid(&home.status("a")["holder"]);
    let before = cpu_ticks(holder);
    for _ in 0..10 {
        calm.answers();
    }
    assert!(is_running(pid(&session["pid"])));
    assert_ne!(home.status("a")["state"], "exited");
    assert!(cpu_ticks(holder) - before < 5, "the holder spins");
    std::fs::write(&go, "").unwrap();
    let ended = home.json(["wait", "a", "exited", "--timeout", "20", "--json"]);
    assert_eq!(ended["exit"]["status"], 5);
    assert!(home.screen("a").contains("before"));
}

#[test]
fn a_writer_left_in_the_background_does_not_keep_a_session_from_ending() {
    let home = TestHome::new();
    let mut calm = Bystander::start(&home);
    let leftover = home.scratch().join("leftover");
    let began = Instant::now();
    home.start_sh(
        "a",
        &format!(
            "setsid sh -c 'trap \"\" HUP; echo $$ > {file}; while :; do echo background || sleep 0.1; done' & \
             while [ ! -s {file} ]; do sleep 0.01; done; exit 3",
            file = leftover.display()
        ),
    );
    let ended = home.json(["wait", "a", "exited", "--timeout", "20", "--json"]);
    assert_eq!(ended["exit"]["status"], 3);
    assert!(began.elapsed() < PROMPT * 2, "{:?}", began.elapsed());
    calm.answers();
    let writer: u32 = std::fs::read_to_string(&leftover).unwrap().trim().parse().unwrap();
    // Stopping an ended session ends what it left behind.
    home.ok(["stop", "a", "--grace", "0.2"]);
    until_gone("the writer is gone", writer);
}

#[test]
fn a_flood_that_nobody_sees_blocks_nobody_and_its_loss_is_told() {
    const BYTES: u64 = 20_000_000;
    const KEPT: u64 = ostler_hold::DEFAULT_RING as u64;
    let home = TestHome::new();
    let file = |name: &str| home.scratch().join(name).display().to_string();
    let unseen = |end: &str| {
        format!(
            "stty -opost; printf ready; while [ ! -e {} ]; do sleep 0.02; done; \
             yes {} | head -c {BYTES}; printf '\\033cthe end'; {end}",
            file("go"),
            "nobody-sees-this-line-".repeat(5)
        )
    };
    home.start_sh("lives", &unseen(&format!(": > {}; read x", file("done"))));
    home.start_sh("ends", &unseen("exit 6"));
    home.await_screen("lives", "ready");
    home.await_screen("ends", "ready");
    let dir = ostler_hold::SessionDir::new(home.status("ends")["dir"].as_str().unwrap());
    home.ok(["daemon", "stop"]);
    std::fs::write(file("go"), "").unwrap();
    until("the program is through", || std::path::Path::new(&file("done")).exists().then_some(()));
    until("the other one has ended", || dir.read_exit());

    let total = 5 + BYTES + 9;
    // What may be overwritten next is given up beforehand.
    let expected = total - KEPT..=total - KEPT + 8192;
    let mut gone = HashMap::new();
    for name in ["lives", "ends"] {
        assert!(home.screen(name).contains("the end"));
        assert_eq!(output(&home, name), total, "{name}");
        let logs = home.run(["logs", name]);
        let told = logs.err.strip_prefix("ostler: ").unwrap();
        let told = told.strip_suffix(" earlier bytes of output are no longer kept\n").unwrap();
        let told: u64 = told.parse().unwrap();
        assert!(expected.contains(&told), "{told}");
        gone.insert(name, told);
        assert!(logs.code == 0 && logs.out.ends_with("the end\n"), "{}", &logs.out[logs.out.len() - 100..]);
    }
    let because = home.status("lives")["because"].to_string();
    assert!(because.contains(&format!("{} bytes of output were lost", gone["lives"] - 5)), "{because}");
    assert_eq!(home.status("ends")["exit"]["status"], 6);
}

#[test]
fn control_characters_arrive_byte_for_byte() {
    let home = TestHome::new();
    let sink = home.scratch().join("sink");
    home.start_stand_in("a", &["--mode", "sink", "--sink", sink.to_str().unwrap()]);
    home.await_screen("a", "sink ready");
    let every: Vec<u8> = (0..=255).collect();
    let bodies: [&[u8]; 8] = [
        &every,
        &[0; 5_000],
        &[0xFF; 5_000],
        b"\x1b[201~\x1b[200~\x1b]0;title\x07\x1bP+q\x1b\\\x18\x1a",
        b"\x03\x04\x11\x13\x1a\x1c\x7f",
        b"\r\n\r\r\n\n",
        "half a character: \u{20ac}".as_bytes().split_last().unwrap().1,
        b"\xC3",
    ];
    let mut expected = Vec::new();
    for body in bodies {
        send(&home, "a", &[], body).ok();
        expected.extend_from_slice(body);
    }
    let argument = b"as an argument: \x1b\xFF\x80\x01";
    home.run([OsStr::new("send"), OsStr::new("a"), OsStr::new("--raw"), OsStr::from_bytes(argument)]).ok();
    expected.extend_from_slice(argument);
    until_file(&sink, "all bytes arrived", || {
        (std::fs::metadata(&sink).ok()?.len() >= expected.len() as u64).then_some(())
    });
    assert_eq!(std::fs::read(&sink).unwrap(), expected);
}

#[test]
fn sixty_sessions_start_live_and_stop_at_once() {
    const SESSIONS: usize = 60;
    let home = TestHome::new();
    let names: Vec<String> = (0..SESSIONS).map(|index| format!("s{index}")).collect();
    let programs: BTreeSet<u32> = std::thread::scope(|scope| {
        let starters: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(|| pid(&home.start_sh(name, "echo here; read x")["pid"])))
            .collect();
        starters.into_iter().map(|starter| starter.join().unwrap()).collect()
    });
    assert_eq!(programs.len(), SESSIONS);
    let listed = home.json(["list", "--json"]);
    let listed = listed.as_array().unwrap();
    let live: BTreeSet<u32> = listed.iter().map(|session| pid(&session["pid"])).collect();
    assert_eq!(live, programs);
    for session in listed {
        assert_ne!(session["state"], "exited");
        assert!(is_running(pid(&session["pid"])));
        assert!(memory(pid(&session["holder"]), "VmHWM") < HOLDER_KIB);
    }
    for name in &names {
        home.await_screen(name, "here");
    }
    std::thread::scope(|scope| {
        let stoppers: Vec<_> =
            names.iter().map(|name| scope.spawn(|| home.ok(["stop", name, "--grace", "0"]))).collect();
        for stopper in stoppers {
            stopper.join().unwrap();
        }
    });
    assert_eq!(home.json(["list", "--json"]), Value::Array(Vec::new()));
    assert_eq!(home.json(["list", "--all", "--json"]).as_array().unwrap().len(), SESSIONS);
    assert!(programs.iter().all(|program| !is_running(*program)));
}
