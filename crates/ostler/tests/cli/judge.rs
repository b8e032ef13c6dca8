//! Another agent, asked what a screen shows.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{TestHome, until, until_file, until_gone};

/// A program that says nothing of itself, on which no rule applies.
const RIDDLE: &str = "echo what am I doing; exec sleep 600";

/// A home with a judge: a shell script that does this when it is asked, and writes down that it was.
fn home_with_judge(script: &str, headless: &str, settings: &str) -> TestHome {
    let home = TestHome::new();
    let program = home.script("solomon", &format!("date +%s%N >> {}\n{script}", asked(&home).display()));
    let preset = format!("[run]\ncommand = \"{}\"\n[headless]\n{headless}\n", program.display());
    home.write_preset_of("solomon", &preset);
    home.write_settings(&format!(
        "[judge]\nenabled = true\nagent = \"solomon\"\nafter_seconds = 1\n{settings}\n"
    ));
    home
}

/// Where the judge writes down when it was asked.
fn asked(home: &TestHome) -> PathBuf {
    home.scratch().join("asked")
}

fn questions(home: &TestHome) -> Vec<u128> {
    let text = fs::read_to_string(asked(home)).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// What `explain` says of the judge.
fn judgement(home: &TestHome) -> String {
    let explained = home.json(["explain", "a", "--json"]);
    let signals: Vec<Value> = explained["signals"].as_array().unwrap().clone();
    let judge = signals.into_iter().find(|signal| signal["signal"] == "judge").unwrap();
    judge["says"].as_str().unwrap_or_default().to_owned()
}

fn await_judgement(home: &TestHome, text: &str) -> String {
    until(&format!("the judge says {text:?}"), || Some(judgement(home)).filter(|says| says.contains(text)))
}

#[test]
fn a_judge_calls_a_silent_screen_idle() {
    let script = "env > env; printf '%s' \"$2\" > prompt; echo IDLE";
    let home = home_with_judge(script, "args = [\"--ask\", \"{prompt}\"]", "");
    // What a daemon inherits from a session is not for the judge.
    let mut daemon = home.command(["daemon", "start"]);
    let marks =
        [("OSTLER_HOOK_NONCE", "secret"), ("OSTLER_SESSION_ID", "other"), ("OSTLER_SESSION", "other")];
    daemon.envs(marks).env("OSTLER_HOOKS", "x");
    assert!(daemon.output().unwrap().status.success());
    home.start_sh("a", RIDDLE);
    let idle = home.json(["wait", "a", "idle", "--timeout", "60", "--json"]);
    assert_eq!(idle["because"][0], "judge: idle");
    assert!((0.65..0.75).contains(&idle["confidence"].as_f64().unwrap()), "{idle}");
    assert_eq!(judgement(&home), "idle");
    assert!(home.ok(["explain", "a"]).contains("judge           idle  ("));
    let at_work = home.path().join("judge");
    let prompt = fs::read_to_string(at_work.join("prompt")).unwrap();
    assert!(prompt.contains("\n| what am I doing\n"), "{prompt}");
    assert!(prompt.ends_with("exactly one word: IDLE, WORKING or BLOCKED."), "{prompt}");
    let env = fs::read_to_string(at_work.join("env")).unwrap();
    for mark in ["OSTLER_HOOK_NONCE", "OSTLER_SESSION", "OSTLER_HOOKS", "OSTLER_DAEMON"] {
        assert!(!env.contains(mark), "{env}");
    }
    assert_eq!(questions(&home).len(), 1, "an answer holds while nothing is written");
}

#[test]
fn a_judge_that_sees_work_is_left_alone_for_a_while() {
    // It reads the question from its input, and answers in JSON.
    let script = "grep -q '| what am I doing' && printf '{\"said\": {\"text\": \"WORKING\"}}'";
    let headless = "args = [\"ask\"]\njson = [\"--json\"]\nanswer = \"/said/text\"";
    let home = home_with_judge(script, headless, "cooldown_seconds = 3");
    home.start_sh("a", RIDDLE);
    let working = home.json(["wait", "a", "working", "--timeout", "60", "--json"]);
    assert_eq!(working["because"][0], "judge: working");
    assert!(judgement(&home).starts_with("working; left alone for "), "{}", judgement(&home));
    let times = until("it is asked again", || Some(questions(&home)).filter(|times| times.len() > 1));
    // The clock of the daemon counts in milliseconds, and begins when it has the answer.
    assert!(times[1] - times[0] > 2_990_000_000, "{times:?}");
    assert_eq!(home.status("a")["state"], "working");
}

#[test]
fn a_judge_that_talks_nonsense_is_given_up() {
    let home = home_with_judge("echo It may be IDLE or WORKING.", "args = [\"{prompt}\"]", "");
    home.start_sh("a", RIDDLE);
    let says = await_judgement(&home, "given up");
    assert!(says.contains("given up for this session after 3 errors in a row"), "{says}");
    assert!(says.contains("no answer: it said \"It may be IDLE or WORKING.\""), "{says}");
    assert_eq!(questions(&home).len(), 3);
    let state = home.status("a")["state"].clone();
    assert!(state == "starting" || state == "unknown", "{state}");
    // Other settings are another chance.
    let config = home.path().join("config/config.toml");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(&config, settings.replace("after_seconds = 1", "after_seconds = 1\nmax_errors = 1")).unwrap();
    await_judgement(&home, "after 1 errors");
    assert_eq!(questions(&home).len(), 4);
}

#[test]
fn a_judge_that_hangs_is_killed_with_all_it_started() {
    let script = "sleep 600 & a=$!; setsid sleep 600 & b=$!; echo $$ $a $b > pids; wait";
    let home = home_with_judge(script, "args = [\"{prompt}\"]", "limit_seconds = 1\nmax_errors = 1");
    home.start_sh("a", RIDDLE);
    let says = await_judgement(&home, "given up");
    assert!(says.contains("it did not answer within 1 s"), "{says}");
    let pids = fs::read_to_string(home.path().join("judge/pids")).unwrap();
    let pids: Vec<u32> = pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 3);
    for pid in pids {
        until_gone("it is gone", pid);
    }
}

#[test]
fn a_question_is_called_off_when_something_new_is_written() {
    let home =
        home_with_judge("echo $$ > pid.new; mv pid.new pid; exec sleep 600", "args = [\"{prompt}\"]", "");
    let fifo = home.scratch().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    home.start_sh(
        "a",
        &format!("echo what am I doing; read x < {}; echo $x; exec sleep 600", fifo.display()),
    );
    let asked = home.path().join("judge/pid");
    let pid = until_file(&asked, "it is asked", || fs::read_to_string(&asked).ok()).trim().parse().unwrap();
    assert!(judgement(&home).contains("it is being asked"), "{}", judgement(&home));
    fs::write(&fifo, "something else\n").unwrap();
    until_gone("it is gone", pid);
    assert!(!judgement(&home).contains("no answer"), "{}", judgement(&home));
}

#[test]
fn whoever_is_named_and_cannot_judge_is_told() {
    let home = home_with_judge("echo IDLE", "args = []", "max_errors = 1");
    let config = home.path().join("config/config.toml");
    fs::write(&config, "[judge]\nenabled = true\nagent = \"nobody\"\nafter_seconds = 1\nmax_errors = 1\n")
        .unwrap();
    home.start_sh("a", RIDDLE);
    await_judgement(&home, "no agent is called \"nobody\"");
    let listed = home.run(["agents", "list"]);
    assert!(listed.err.contains("config.toml: judge.agent: no agent is called"), "{listed:?}");
    fs::write(&config, "[judge]\nenabled = true\n").unwrap();
    let listed = home.run(["agents", "list"]);
    assert!(listed.err.contains("config.toml:1: judge: agent is missing"), "{listed:?}");
    assert_eq!(questions(&home), [] as [u128; 0]);
}

#[test]
fn nobody_is_asked_unless_the_user_wants_it() {
    let home = home_with_judge("echo IDLE", "args = [\"{prompt}\"]", "");
    home.write_settings("[judge]\nagent = \"solomon\"\nafter_seconds = 1\n");
    home.start_sh("a", RIDDLE);
    home.await_screen("a", "what am I doing");
    until("it is puzzled", || {
        let because = home.status("a")["because"].to_string();
        because.contains("no rule knows its screen").then_some(())
    });
    assert_eq!(judgement(&home), "");
    assert_eq!(questions(&home), [] as [u128; 0]);
}
