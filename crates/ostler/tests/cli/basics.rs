//! Every command, on sessions that behave.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{TestHome, is_running, pid, until, until_file};

#[test]
fn a_session_from_start_to_stop() {
    let home = TestHome::new();
    let started = home.start_sh("a", "echo hello; read x; echo got $x; sleep 600");
    assert_eq!(
        (&started["name"], &started["agent"], &started["state"]),
        (&"a".into(), &"sh".into(), &"starting".into())
    );
    let program = pid(&started["pid"]);
    assert!(is_running(program));
    home.await_screen("a", "hello");

    let sent = home.json(["send", "a", "--raw", "world\n", "--id", "m1", "--json"]);
    assert_eq!(
        (&sent["id"], &sent["proof"], &sent["attempts"]),
        (&"m1".into(), &"written".into(), &1.into())
    );
    assert!(sent["evidence"][0].as_str().unwrap().contains("ledger"), "{sent}");
    home.await_screen("a", "got world");

    let listed = home.json(["list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["pid"], started["pid"]);
    let state = home.status("a")["state"].as_str().unwrap().to_owned();
    assert!(["starting", "idle", "unknown"].contains(&&*state), "{state}");

    let stopped = home.json(["stop", "a", "--json"]);
    assert_eq!((&stopped["state"], &stopped["exit"]["stopped"]), (&"exited".into(), &true.into()));
    assert!(!is_running(program));
    assert_eq!(home.json(["list", "--json"]), Value::Array(Vec::new()));
    assert_eq!(home.json(["list", "--all", "--json"])[0]["state"], "exited");
    assert!(home.ok(["screen", "a"]).contains("got world"));
}

#[test]
fn the_same_id_is_the_same_message() {
    let home = TestHome::new();
    home.start_sh("a", "stty -echo; echo ready; cat");
    home.await_screen("a", "ready");
    for _ in 0..3 {
        home.ok(["send", "a", "--raw", "once\n", "--id", "k"]);
    }
    home.ok(["send", "a", "--raw", "twice\n"]);
    home.ok(["send", "a", "--raw", "twice\n"]);
    home.await_screen("a", "twice\ntwice");
    assert_eq!(home.screen("a").matches("once").count(), 1);
    home.run(["send", "a", "--raw", "other\n", "--id", "k"])
        .fails(1, &["sent before with another body", "--id"]);
}

#[test]
fn a_message_from_standard_input_arrives_byte_for_byte() {
    let home = TestHome::new();
    let sink = home.scratch().join("sink");
    home.start_stand_in("a", &["--mode", "sink", "--sink", sink.to_str().unwrap()]);
    home.await_screen("a", "sink ready");
    let body: Vec<u8> = (0..200_000u32).map(|index| u8::try_from(index * 7 % 256).unwrap()).collect();
    let mut child = home
        .command(["send", "a", "--raw", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&body).unwrap();
    assert!(child.wait().unwrap().success());
    until_file(&sink, "all bytes arrived", || {
        (std::fs::metadata(&sink).ok()?.len() == 200_000).then_some(())
    });
    assert_eq!(std::fs::read(&sink).unwrap(), body);
}

#[test]
fn waiting_ends_when_the_state_comes_or_cannot_come_any_more() {
    let home = TestHome::new();
    home.start_sh("a", "read x; exit 3");
    home.run(["wait", "a", "exited", "--timeout", "0.2"]).fails(4, &["not exited in time"]);
    let waiter = home.command(["wait", "a", "exited,idle", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    home.ok(["send", "a", "--raw", "\n"]);
    let output = waiter.wait_with_output().unwrap();
    assert!(output.status.success());
    let session: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&session["exit"]["status"], &session["kind"]), (&3.into(), &"exited".into()));
    home.run(["wait", "a", "idle"]).fails(1, &["has ended (exit status 3)"]);
    home.run(["wait", "a", "sleeping"]).fails(2, &["starting, idle, working"]);
}

#[test]
fn the_environment_is_the_callers_less_what_misleads() {
    let home = TestHome::new();
    let out = home.scratch().join("env");
    let script = format!("env > {}; pwd >> {}", out.display(), out.display());
    let mut command = home.command([
        "start",
        "sh",
        "--env",
        "EXTRA=yes",
        "--env",
        "TMUX=mine",
        "--cwd",
        "/tmp",
        "--size",
        "91x17",
        "--",
        "-c",
        &script,
    ]);
    command.env("TMUX", "/tmp/other").env("STY", "x").env("NODE_OPTIONS", "--inspect=1").env("KEPT", "1");
    assert!(command.output().unwrap().status.success());
    home.ok(["wait", "sh", "exited"]);
    let text = std::fs::read_to_string(&out).unwrap();
    for line in ["EXTRA=yes", "TMUX=mine", "KEPT=1", "TERM=xterm-256color", "OSTLER_SESSION=sh", "/tmp"] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    assert!(!text.contains("STY=") && !text.contains("NODE_OPTIONS="), "{text}");
    let status = home.status("sh");
    assert_eq!((&status["cols"], &status["rows"]), (&91.into(), &17.into()));
}

#[test]
fn names_are_made_and_kept_apart() {
    let home = TestHome::new();
    for expected in ["sh", "sh-2", "sh-3"] {
        assert_eq!(home.ok(["start", "sh", "--", "-c", "read x"]).trim(), expected);
    }
    home.run(["start", "sh", "--name", "sh-2"]).fails(1, &["called \"sh-2\" already", "ostler stop sh-2"]);
    home.run(["start", "sh", "--name", "no/slash"]).fails(2, &["letters, digits"]);
    home.ok(["stop", "sh-2", "--grace", "0"]);
    assert_eq!(home.ok(["start", "sh", "--name", "sh-2", "--", "-c", "read x"]).trim(), "sh-2");
}

#[test]
fn logs_are_text_and_follow_to_the_end() {
    let home = TestHome::new();
    home.start_sh("a", "printf 'plain\\n\\033[31mred\\033[0m\\n'; read x; seq 1 100; printf 'no newline'");
    home.await_screen("a", "red");
    assert_eq!(home.ok(["logs", "a"]), "plain\nred\n");
    assert!(home.ok(["logs", "a", "--raw"]).contains("\x1b[31mred"));
    let follower = home.command(["logs", "a", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    home.ok(["send", "a", "--raw", "\n"]);
    let output = String::from_utf8(follower.wait_with_output().unwrap().stdout).unwrap();
    let numbers: String = (1..=100).flat_map(|number: u32| [number.to_string(), "\n".to_owned()]).collect();
    assert_eq!(output, format!("plain\nred\n\n{numbers}no newline\n"));
}

#[test]
fn a_log_is_whole_also_when_its_program_ends_meanwhile() {
    let home = TestHome::new();
    for round in 0..20 {
        let name = format!("a{round}");
        home.start_sh(&name, "read x; seq 1 100");
        let mut sender = home.command(["send", &name, "--raw", "\n"]).stdout(Stdio::null()).spawn().unwrap();
        let log = home.ok(["logs", &name, "-f"]);
        assert!(sender.wait().unwrap().success());
        assert!(log.ends_with("99\n100\n"), "round {round}: {log}");
    }
}

#[test]
fn the_screen_as_text_ansi_and_json() {
    let home = TestHome::new();
    home.start_sh("a", "printf '\\033]0;my title\\007\\033[1;31mbold\\033[0m \\033[2mdim\\033[0m'; read x");
    home.await_screen("a", "bold dim");
    assert!(home.ok(["screen", "a", "--ansi"]).contains("\x1b["));
    let json = home.json(["screen", "a", "--json"]);
    assert_eq!((&json["title"], &json["cursor"]["col"]), (&"my title".into(), &8.into()));
    assert_eq!(json["rows"][0]["text"], "bold dim");
    assert_eq!(json["rows"][0]["spans"][0]["bold"], true);
    assert_eq!(home.status("a")["title"], "my title");
}

#[test]
fn the_terminals_settings_and_the_programs_claims_are_told() {
    let home = TestHome::new();
    let session = home.start_sh("a", "printf '\\033]7501;state=blocked:app=x:kind=permission\\033\\\\'; echo cooked; read x; stty raw -echo; echo raw; sleep 600");
    home.await_screen("a", "cooked");
    let status = home.status("a");
    assert_eq!((&status["terminal"]["canonical"], &status["terminal"]["echo"]), (&true.into(), &true.into()));
    assert_eq!(status["terminal"]["foreground"], session["pid"]);
    assert_eq!(
        (&status["claims"]["state"], &status["claims"]["kind"]),
        (&"blocked".into(), &"permission".into())
    );
    let blocked = home.json(["wait", "a", "blocked", "--timeout", "20", "--json"]);
    assert_eq!(blocked["kind"], "permission");
    home.ok(["send", "a", "--raw", "\n"]);
    home.await_screen("a", "raw");
    assert_eq!(home.status("a")["terminal"]["canonical"], false);
    assert!(home.ok(["status", "a"]).contains("input      raw"));
}

#[test]
fn events_are_followed_as_they_happen() {
    use std::io::{BufRead, BufReader};
    let home = TestHome::new();
    home.start_sh("a", "read x");
    let mut follower = home.command(["events", "a", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut await_event = |wanted: &str| while !lines.next().unwrap().unwrap().contains(wanted) {};
    await_event("session.started");
    home.ok(["send", "a", "--raw", "x"]);
    await_event("message.written");
    home.kill_daemon();
    home.ok(["stop", "a", "--grace", "0"]);
    await_event("session.ended");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn a_daemon_is_one_and_can_be_stopped_and_started() {
    let home = TestHome::new();
    home.run(["daemon", "status"]).fails(3, &["no daemon runs", "ostler daemon start"]);
    let starters: Vec<_> = (0..8)
        .map(|_| home.command(["daemon", "start", "--json"]).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    let pids: std::collections::BTreeSet<u64> = starters
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            serde_json::from_slice::<Value>(&output.stdout).unwrap()["pid"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(pids.len(), 1, "{pids:?}");
    let started = home.start_sh("a", "read x");
    assert_eq!(home.ok(["daemon", "stop"]), "daemon ended; sessions go on\n");
    assert_eq!(home.ok(["daemon", "stop"]), "no daemon runs\n");
    assert!(is_running(pid(&started["pid"])));
    assert_eq!(home.status("a")["pid"], started["pid"]);
    assert_ne!(u64::from(home.daemon_pid()), *pids.first().unwrap());
}

#[test]
fn a_recording_is_kept_when_asked_for() {
    let home = TestHome::new();
    home.ok(["start", "sh", "--name", "a", "--record", "--", "-c", "echo recorded"]);
    let session = home.json(["wait", "a", "exited", "--json"]);
    let cast = std::path::Path::new(session["dir"].as_str().unwrap()).join("session.cast");
    let recording =
        ostler_screen::asciicast::Recording::parse(&std::fs::read_to_string(cast).unwrap()).unwrap();
    assert_eq!((recording.header.width, recording.header.height), (120, 40));
    assert!(format!("{:?}", recording.events).contains("recorded"));
}

#[test]
fn terminal_queries_are_answered_once_also_across_a_daemons_death() {
    let home = TestHome::new();
    let log = home.scratch().join("log");
    home.start_stand_in("a", &["--query", "--log", log.to_str().unwrap()]);
    home.await_screen("a", "Type a message");
    let replies =
        || std::fs::read_to_string(&log).unwrap().lines().filter(|line| line.contains("\"reply\"")).count();
    until("the queries are answered", || (replies() >= 6).then_some(()));
    home.kill_daemon();
    home.await_screen("a", "Type a message");
    home.ok(["send", "a", "--raw", "z"]);
    home.await_screen("a", "> z");
    assert_eq!(replies(), 6, "{}", std::fs::read_to_string(&log).unwrap());
}

#[test]
fn completions_and_help_are_there() {
    let home = TestHome::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.ok(["completions", shell]).contains("ostler"), "{shell}");
    }
    let help = home.ok(["--help"]);
    for command in
        ["start", "list", "status", "screen", "logs", "attach", "send", "wait", "stop", "daemon", "doctor"]
    {
        assert!(help.contains(&format!("\n  {command}")), "{command} is not in {help}");
    }
    assert!(home.ok(["doctor"]).contains("ok    home"));
    assert!(!home.path().join("daemon.sock").exists(), "help and doctor start no daemon");
}

#[test]
fn the_demo_does_what_it_says() {
    let home = TestHome::new();
    let out = home.ok(["demo"]);
    for text in [
        "kill -9",
        "PROVIDER SWITCH CONTEXT",
        "RETRY CONTEXT",
        "quota used up",
        "done: the checks pass",
        "$ ostler run",
    ] {
        assert!(out.contains(text), "{text:?} is not in {out}");
    }
    assert!(!home.path().exists(), "the user's home is not touched");
}

#[test]
fn a_line_that_a_cooked_terminal_would_cut_is_refused_not_claimed() {
    let home = TestHome::new();
    home.start_sh("a", "stty -echo; echo ready; cat");
    home.await_screen("a", "ready");
    let long = "x".repeat(5_000);
    home.run(["send", "a", "--raw", &long]).fails(1, &["was not typed", "4095 bytes of a line"]);
    home.ok(["send", "a", "--raw", &format!("{}\nend\n", "y".repeat(4_000))]);
    home.await_screen("a", "end");
}

#[test]
fn an_id_names_one_message_also_when_its_session_has_ended() {
    let home = TestHome::new();
    home.start_sh("a", "read x");
    home.ok(["send", "a", "--raw", "one\n", "--id", "k"]);
    home.ok(["wait", "a", "exited"]);
    assert!(home.ok(["send", "a", "--raw", "one\n", "--id", "k"]).contains("written"));
    home.run(["send", "a", "--raw", "two\n", "--id", "k"]).fails(1, &["sent before with another body"]);
}

#[test]
fn a_program_has_its_callers_limits() {
    let home = TestHome::new();
    let out = home.scratch().join("limits");
    home.daemon_pid();
    let ostler = crate::support::ostler().display();
    let inner = format!("ulimit -n > {0}; umask >> {0}", out.display());
    let script = format!("ulimit -S -n 321; umask 027; exec {ostler} start sh --name a -- -c '{inner}'");
    let caller = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("OSTLER_HOME", home.path())
        .stdout(Stdio::null())
        .status();
    assert!(caller.unwrap().success());
    home.ok(["wait", "a", "exited"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "321\n0027\n");
}
