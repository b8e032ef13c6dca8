//! Nothing is lost, doubled or damaged, whoever is killed.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ostler_hold::crc32;

use crate::killer::{Killer, serving};
use crate::support::{Random, TestHome, is_running, kill, pid, seed, setting, until, until_file};

/// A body of 1 byte to 60 kB, small ones more often, of any bytes.
fn body(random: &mut Random) -> Vec<u8> {
    let limit = [16, 1_000, 16_000, 60_000][usize::try_from(random.below(4)).unwrap()];
    (0..=random.below(limit)).map(|_| u8::try_from(random.below(256)).unwrap()).collect()
}

/// Sends messages one after the other until told to stop; returns all bodies, in order.
fn send_messages(home: &TestHome, name: &str, seed: u64, killer: &Killer) -> Vec<Vec<u8>> {
    let mut random = Random(seed);
    let mut sent = Vec::new();
    while !killer.is_done() {
        let body = body(&mut random);
        let id = format!("m{}", sent.len());
        let mut child = home
            .command(["send", name, "--raw", "-", "--id", &id, "--timeout", "60"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&body).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name} {id}: {}", String::from_utf8_lossy(&output.stderr));
        sent.push(body);
        killer.progressed();
    }
    sent
}

fn handles(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// Dead processes that one of these has not waited for.
fn zombies(parents: &[u32]) -> Vec<String> {
    ostler_hold::tree::process_ids()
        .filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok())
        .filter(|stat| {
            let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            fields.next() == Some("Z")
                && fields
                    .next()
                    .and_then(|parent| parent.parse().ok())
                    .is_some_and(|parent| parents.contains(&parent))
        })
        .collect()
}

/// The number of kills is a setting: `OSTLER_KILLS=10000` makes a night's work of it.
#[test]
fn a_daemon_killed_at_random_moments_loses_doubles_and_damages_nothing() {
    let (kills, seed) = (setting("OSTLER_KILLS", 300), seed());
    println!("OSTLER_KILLS={kills} OSTLER_SEED={seed}");
    let home = TestHome::new();
    let sinks: Vec<(String, PathBuf)> = (0..3)
        .map(|index| (format!("sink{index}"), home.scratch().join(format!("received{index}"))))
        .collect();
    let mut programs = Vec::new();
    let mut holders = Vec::new();
    for (name, file) in &sinks {
        let session = home.start_stand_in(name, &["--mode", "sink", "--sink", file.to_str().unwrap()]);
        home.await_screen(name, "sink ready");
        programs.push(pid(&session["pid"]));
        holders.push(pid(&home.status(name)["holder"]));
    }
    let handles_before: Vec<usize> = holders.iter().map(|holder| handles(*holder)).collect();
    let daemon_handles_before = handles(home.daemon_pid());

    let killer = Killer::default();
    let sent: Vec<Vec<Vec<u8>>> = std::thread::scope(|scope| {
        let senders: Vec<_> = sinks
            .iter()
            .enumerate()
            .map(|(index, (name, _))| {
                let (home, killer) = (&home, &killer);
                scope.spawn(move || send_messages(home, name, seed + 1 + index as u64, killer))
            })
            .collect();
        killer.kill(&home, kills, &mut Random(seed), Duration::from_millis(60));
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });

    let mut total = 0;
    for ((name, file), bodies) in sinks.iter().zip(&sent) {
        let expected = bodies.concat();
        until_file(file, &format!("{name} has read everything"), || {
            (std::fs::metadata(file).unwrap().len() >= expected.len() as u64).then_some(())
        });
        let received = std::fs::read(file).unwrap();
        assert_eq!(received.len(), expected.len(), "{name}: {} messages", bodies.len());
        assert_eq!(crc32(&received), crc32(&expected), "{name}: damaged");
        assert_eq!(home.status(name)["waiting"], 0);
        total += bodies.len();
    }
    println!("{total} messages through {kills} kills");
    assert!(total as u64 > kills / 4, "too few messages to mean anything: {total}");

    let daemon = home.daemon_pid();
    for (program, (name, _)) in programs.iter().zip(&sinks) {
        assert!(is_running(*program), "{name} died");
        assert_eq!(handles(*program), 4, "{name}: a terminal three times, and its file");
        assert_eq!(pid(&home.status(name)["pid"]), *program);
    }
    until("no handle is leaked", || {
        let now: Vec<usize> = holders.iter().map(|holder| handles(*holder)).collect();
        (now == handles_before && handles(daemon) <= daemon_handles_before).then_some(())
    });
    let parents = [&[daemon], &holders[..]].concat();
    until("no zombie is left", || zombies(&parents).is_empty().then_some(()));
}

#[test]
fn a_start_cut_short_by_a_kill_starts_one_session_or_none() {
    let home = TestHome::new();
    home.daemon_pid();
    let mut random = Random(seed());
    let mut started = Vec::new();
    for round in 0..40 {
        let name = format!("s{round}");
        let child = home
            .command(["start", "sleep", "--name", &name, "--json", "--", "600"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.below(12_000)));
        if let Some(daemon) = serving(&home.path()) {
            kill(daemon);
        }
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let session: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        started.push((name, pid(&session["pid"])));
    }
    let listed = home.json(["list", "--json"]);
    let mut listed: Vec<(String, u32)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|session| (session["name"].as_str().unwrap().to_owned(), pid(&session["pid"])))
        .collect();
    listed.sort();
    started.sort();
    assert_eq!(listed, started);
    // Every program that ostler started here is one of those listed.
    let mark = format!("OSTLER_HOME={}", home.path().display());
    let running: Vec<u32> = ostler_hold::tree::process_ids()
        .filter(|pid| {
            let file = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            file("cmdline").starts_with(b"sleep\x00600")
                && file("environ").split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        })
        .collect();
    assert_eq!(running.len(), started.len());
}

#[test]
fn a_killed_holder_is_reported_and_nothing_else_suffers() {
    let home = TestHome::new();
    home.start_sh("lost", "echo last words; read x");
    let other = home.start_sh("other", "read x");
    home.await_screen("lost", "last words");
    let began = Instant::now();
    kill(pid(&home.status("lost")["holder"]));
    let session = home.json(["wait", "lost", "exited", "--timeout", "2", "--json"]);
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!((&session["state"], &session["kind"]), (&"exited".into(), &"lost".into()));
    assert_eq!(session["output"], 12);
    assert!(home.screen("lost").contains("last words"));
    assert_eq!(home.ok(["logs", "lost"]), "last words\n");
    home.run(["send", "lost", "--raw", "x"]).fails(1, &["has ended"]);
    assert!(is_running(pid(&other["pid"])));
    assert_ne!(home.status("other")["state"], "exited");
}

#[test]
fn what_survives_a_killed_holder_is_named_and_can_be_ended() {
    let home = TestHome::new();
    let session = home.start_sh("a", "trap '' HUP; echo ready; while :; do sleep 1; done");
    home.await_screen("a", "ready");
    let program = pid(&session["pid"]);
    home.ok(["daemon", "stop"]);
    kill(pid(&serde_json::Value::from(ostler_hold_pid(&session))));
    home.ok(["wait", "a", "exited", "--timeout", "5"]);
    let survivors = home.status("a")["exit"]["survivors"].clone();
    assert!(survivors.as_array().unwrap().iter().any(|survivor| pid(survivor) == program), "{survivors}");
    home.ok(["stop", "a", "--grace", "0.2"]);
    assert!(!is_running(program));
}

#[test]
fn what_hid_from_its_session_is_found_by_its_group_or_said_to_be_unfound() {
    let home = TestHome::new();
    let session = home.start_sh("a", "env -i setsid sh -c 'echo hidden $$; exec sleep 600' & read x");
    home.await_screen("a", "hidden ");
    let hidden: u32 = home.screen("a").trim().trim_start_matches("hidden ").parse().unwrap();
    let grouped = ostler_hold::SessionDir::new(session["dir"].as_str().unwrap()).cgroup().exists();
    kill(ostler_hold_pid(&session));
    home.ok(["wait", "a", "exited", "--timeout", "5"]);
    let stopped = home.json(["stop", "a", "--grace", "0.2", "--json"]);
    let unfound = stopped["because"].to_string().contains("a mark in their environment alone");
    assert_eq!((is_running(hidden), unfound), (!grouped, !grouped), "{stopped}");
    if is_running(hidden) {
        kill(hidden);
    }
}

fn ostler_hold_pid(session: &serde_json::Value) -> u32 {
    let dir = ostler_hold::SessionDir::new(session["dir"].as_str().unwrap());
    dir.read_identity().unwrap().pid
}

#[test]
fn a_frozen_holder_is_unknown_not_dead_and_comes_back() {
    let home = TestHome::new();
    let session = home.start_sh("a", "echo hello; read x");
    home.await_screen("a", "hello");
    let holder = ostler_hold::Identity::of(ostler_hold_pid(&session)).unwrap();
    home.kill_daemon();
    holder.signal(rustix::process::Signal::STOP);
    let frozen = until("the holder is noticed to be silent", || {
        let status = home.status("a");
        (status["kind"] == "unreachable").then_some(status)
    });
    assert_eq!((&frozen["state"], &frozen["exit"]), (&"unknown".into(), &serde_json::Value::Null));
    holder.signal(rustix::process::Signal::CONT);
    until("it is back", || home.status("a")["kind"].is_null().then_some(()));
    home.await_screen("a", "hello");
}

#[test]
fn stop_ends_the_whole_tree_and_the_session_stays_ended() {
    let home = TestHome::new();
    let log = home.scratch().join("log");
    let session = home.start_stand_in(
        "a",
        &["--fork-orphan", "--ignore-hup", "--ignore-term", "--log", log.to_str().unwrap()],
    );
    let orphan = until("the orphan is there", || {
        let text = std::fs::read_to_string(&log).ok()?;
        let line = text.lines().find(|line| line.contains("\"orphan\""))?.to_owned();
        Some(pid(&serde_json::from_str::<serde_json::Value>(&line).unwrap()["pid"]))
    });
    let program = pid(&session["pid"]);
    assert!(is_running(orphan) && is_running(program));
    let stopped = home.json(["stop", "a", "--grace", "0.3", "--json"]);
    assert_eq!((&stopped["kind"], &stopped["exit"]["signal"]), (&"killed".into(), &9.into()));
    assert!(!is_running(orphan) && !is_running(program));
    home.kill_daemon();
    assert_eq!(home.status("a")["state"], "exited");
    assert!(!is_running(program));
}

#[test]
fn a_stop_survives_the_daemon_that_was_asked() {
    let home = TestHome::new();
    let session = home.start_stand_in("a", &["--ignore-hup", "--ignore-term"]);
    home.await_screen("a", "Type a message");
    let mut stopper = home.command(["stop", "a", "--grace", "1"]).stdout(Stdio::null()).spawn().unwrap();
    until("the stop is recorded", || home.ok(["events", "a"]).contains("stop_requested").then_some(()));
    home.kill_daemon();
    assert!(stopper.wait().unwrap().success());
    assert!(!is_running(pid(&session["pid"])));
}

#[test]
fn a_full_screen_is_found_again_even_when_its_beginning_left_the_ring() {
    let home = TestHome::new();
    // Paints a frame once, then much more than the ring keeps, on one row only.
    let script = "printf '\\033[?1049h\\033[2J\\033[1;1HTOP-LEFT\\033[40;110HCORNER'; \
                  i=0; while [ $i -lt 9000 ]; do printf '\\033[20;10Hcounter %06d padding padding padding' $i; i=$((i+1)); done; \
                  printf '\\033[21;10Hdone'; read x";
    home.start_sh("a", script);
    home.await_screen("a", "done");
    assert!(home.status("a")["output"].as_u64().unwrap() > 300_000);
    let before = home.screen("a");
    assert!(
        before.contains("TOP-LEFT") && before.contains("CORNER") && before.contains("counter 008999"),
        "{before}"
    );
    home.kill_daemon();
    assert_eq!(home.screen("a"), before);
}

#[test]
fn a_daemon_started_from_within_a_session_is_not_part_of_it() {
    let home = TestHome::new();
    let at_home = format!("OSTLER_HOME={}", home.path().display());
    let script = format!("read x; {} daemon start; read y", crate::support::ostler().display());
    let inner =
        home.json(["start", "sh", "--name", "inner", "--env", &at_home, "--json", "--", "-c", &script]);
    let first = home.daemon_pid();
    home.ok(["daemon", "stop"]);
    // The session itself starts the next daemon, which becomes an orphan under that session's holder.
    press_enter(&ostler_hold::SessionDir::new(inner["dir"].as_str().unwrap()));
    let daemon = until("the daemon is up", || serving(&home.path()).filter(|daemon| *daemon != first));
    let outer = home.start_sh("outer", "read x");
    home.ok(["stop", "inner", "--grace", "0"]);
    assert!(is_running(daemon), "the daemon was taken for a part of the session");
    assert!(is_running(pid(&outer["pid"])), "another session was taken for a part of the session");
    assert_ne!(home.status("outer")["state"], "exited");
}

/// Types Enter as a daemon would.
fn press_enter(dir: &ostler_hold::SessionDir) {
    use ostler_hold::wire::{Lane, Request, VERSION};
    let mut stream = ostler_hold::SocketPath::new(&dir.socket()).unwrap().connect().unwrap();
    let mut bytes = Vec::new();
    Request::Hello { version: VERSION, token: dir.read_token().unwrap() }.encode(&mut bytes);
    let enter = Request::Input { lane: Lane::Keys, epoch: 1, seq: 1, crc: crc32(b"\n"), bytes: b"\n" };
    enter.encode(&mut bytes);
    stream.write_all(&bytes).unwrap();
    // The holder reads both frames before it answers the first.
    std::io::Read::read_exact(&mut stream, &mut [0; 1]).unwrap();
}

#[test]
fn a_frozen_holder_does_not_keep_a_session_from_being_stopped() {
    let home = TestHome::new();
    let session = home.start_sh("a", "read x");
    let holder = ostler_hold::Identity::of(ostler_hold_pid(&session)).unwrap();
    holder.signal(rustix::process::Signal::STOP);
    home.ok(["stop", "a", "--grace", "0"]);
    assert!(!is_running(pid(&session["pid"])) && !holder.is_alive());
    until("the end is noticed", || (home.status("a")["state"] == "exited").then_some(()));
}
