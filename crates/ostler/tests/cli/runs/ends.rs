//! How runs end.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::support::{Done, TRANSCRIPT, TestHome, is_running, until, until_gone};

#[test]
fn a_task_is_done_when_its_checks_pass() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!work 200ms !write out.txt hello !say done"]);
    let run = home.task(0, &["--agent", "a", "--check", "grep -q hello out.txt"]);
    assert_eq!((&run["outcome"], &run["state"]), (&json!({ "outcome": "done" }), &json!("done")));
    assert_eq!(run["files"]["created"], json!(["out.txt"]));
    assert_eq!((run["attempts"].as_array().unwrap().len(), &run["switches"]), (1, &json!(0)));
    assert_eq!(run["attempts"][0]["status"], "passed");
    assert_eq!((&run["checks"][0]["passed"], &run["checks"][0]["attempt"]), (&json!(true), &json!(1)));
    let prompt = &run["prompts"][0];
    assert_eq!((&prompt["context"], &prompt["original"]), (&json!(null), &prompt["contextual"]));
    assert!(prompt["proof"].as_str().unwrap().contains("the composer was emptied"), "{prompt}");
    for field in ["id", "task", "agents", "cwd", "usage", "started", "ended", "seconds", "version", "summary"]
    {
        assert!(!run[field].is_null(), "{field} is not in {run}");
    }
    assert_eq!(home.prompts("a"), [prompt["contextual"].as_str().unwrap().trim()]);
    home.await_quiet();
    let metrics = home.run(["metrics"]).ok();
    for line in
        ["ostler_context_injection_count{type=\"retry\"} 0", "ostler_runs_ended_total{outcome=\"done\"} 1"]
    {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[test]
fn a_failed_check_is_told_to_the_next_attempt() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!write out.txt helo !say done", "!write out.txt hello !say done"]);
    let check = "grep -q hello out.txt || { echo 'error: out.txt says no hello' >&2; exit 1; }";
    let done = home.run(["run", "Do it.", "--agent", "a", "--check", check]);
    assert_eq!(done.code, 0, "{done:?}");
    for text in [
        "attempt 1: a gets the task\n",
        "  | --- RETRY CONTEXT ---\n",
        "check failed:",
        "check passed:",
        "submitted (proof: ",
    ] {
        assert!(done.err.contains(text), "{text:?} is not in {}", done.err);
    }
    for text in [
        "done: the checks pass",
        "attempt 1: failed: a\n    error: out.txt says no hello\n",
        "attempt 2: passed",
    ] {
        assert!(done.out.contains(text), "{text:?} is not in {}", done.out);
    }
    let prompts = home.prompts("a");
    let block = "--- RETRY CONTEXT ---\nAttempt #2 - Previous validation failures:\n\
                 - error: out.txt says no hello\nAlready created: out.txt\n\
                 Focus on fixing validation failures listed above.\n--- END CONTEXT ---\n\n";
    assert_eq!(prompts.len(), 2);
    assert_eq!(prompts[1], format!("{block}{}", prompts[0]));
    assert!(home.run(["metrics"]).ok().contains("ostler_context_injection_count{type=\"retry\"} 1\n"));
}

#[test]
fn blocks_can_be_switched_off() {
    let off = [
        (&["--no-pre-context"][..], ("PRE_CONTEXT_TYPES", "retry")),
        (&[], ("ENABLE_PRE_CONTEXT_INJECTION", "false")),
        (&[], ("PRE_CONTEXT_TYPES", "provider_switch")),
    ];
    for (flags, env) in off {
        let home = TestHome::with_repository();
        home.agent("a", "--status", &["!write out.txt 1 !say done", "!write out.txt 2 !say done"]);
        let args = ["run", "Do it.", "--agent", "a", "--check", "grep -q 2 out.txt"];
        let mut command = home.command([&args, flags].concat());
        assert!(command.env(env.0, env.1).output().unwrap().status.success());
        let prompts = home.prompts("a");
        assert_eq!((prompts.len(), &prompts[0]), (2, &prompts[1]), "{flags:?} {env:?}");
    }
    let home = TestHome::with_repository();
    home.agent("a", "", &[]);
    let mut wrong = home.command(["run", "Do it.", "--agent", "a"]);
    let wrong = wrong.env("PRE_CONTEXT_MAX_LINES", "many").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("PRE_CONTEXT_MAX_LINES"));
}

#[test]
fn without_checks_nobody_says_that_it_is_right() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!work 100ms finished"]);
    let done = home.run(["run", "Do it.", "--agent", "a"]);
    assert!(done.out.contains("finished, but there are no checks to tell whether it is right"), "{done:?}");
    assert_eq!(done.code, 0);
    let run = home.json(["runs", "list", "--all", "--json"])[0].clone();
    assert_eq!(
        (&run["state"], &run["attempts"][0]["status"]),
        (&json!("finished_unchecked"), &json!("unchecked"))
    );
}

#[test]
fn an_agent_that_waits_for_a_person_is_left_to_them() {
    let home = TestHome::with_repository();
    home.agent("a", "", &["!permission rm -r build"]);
    let done = home.run(["run", "Do it.", "--agent", "a", "--check", "true", "--blocked", "1"]);
    let said = done.fails(5, &["a waits for a person (permission)", "hint: ostler attach "]);
    let session = said.split("ostler attach ").nth(1).unwrap().split(';').next().unwrap();
    let status = home.status(session);
    assert_eq!((&status["state"], &status["kind"]), (&json!("blocked"), &json!("permission")));
    assert!(is_running(crate::support::pid(&status["pid"])));
    // It stays, whoever looks after it, and the run goes on when somebody has answered.
    home.kill_daemon();
    assert_eq!(home.status(session)["state"], "blocked");
    let id = home.json(["runs", "list", "--json"])[0]["id"].as_str().unwrap().to_owned();
    home.run(["send", session, "--raw", "y"]).ok();
    let outcome = until("the run has ended", || {
        let run = home.json(["runs", "show", &id, "--json"]);
        (run["state"] == "done").then_some(run)
    });
    assert_eq!(outcome["checks"].as_array().unwrap().len(), 1, "{outcome:#}");
    home.await_quiet();
}

#[test]
fn the_same_failure_again_and_again_is_a_loop() {
    let home = TestHome::with_repository();
    let acts: Vec<String> = (0..6).map(|number| format!("!write try{number}.txt x !say done")).collect();
    home.agent("a", "--status", &acts.iter().map(String::as_str).collect::<Vec<_>>());
    let check = "echo 'error: it is wrong' >&2; exit 1";
    let run = home.task(1, &["--agent", "a", "--check", check, "--max-attempts", "6"]);
    assert_eq!(run["outcome"], json!({ "outcome": "given_up", "why": "loop" }));
    assert_eq!(run["attempts"].as_array().unwrap().len(), 3);
    assert_eq!(home.prompts("a").len(), 3);
}

#[test]
fn an_attempt_that_changes_nothing_is_not_made_again() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!work 50ms I would rather not.", "!work 50ms No.", "!work 50ms No!"]);
    let check = "echo 'error: it is wrong' >&2; exit 1";
    let run = home.task(1, &["--agent", "a", "--check", check, "--max-attempts", "6"]);
    assert_eq!(run["outcome"]["why"], "unchanged");
    assert_eq!(home.prompts("a").len(), 2);
}

#[test]
fn a_task_that_is_too_long_is_refused_before_anything_begins() {
    let home = TestHome::with_repository();
    home.agent("a", "", &[]);
    let long = "x".repeat(100_000);
    home.run(["run", &long, "--agent", "a"]).fails(1, &["bytes long", "put it into a file"]);
    assert_eq!(home.json(["runs", "list", "--all", "--json"]), json!([]));
}

#[test]
fn an_agent_that_asks_is_not_finished_until_somebody_answers() {
    let home = TestHome::with_repository();
    let chat = |text: &str| {
        let cwd = home.file("project");
        let asked = json!({ "type": "user", "text": "Do it.", "cwd": cwd });
        let said = json!({ "type": "assistant", "text": text, "cwd": cwd });
        format!("!write chats/one.jsonl {asked}\\n{said}\\n")
    };
    let question = chat("I read all of it. Which of the two files do you want me to change?");
    let script =
        [question + " !work 500ms !say Which?", "!work 300ms !write out.txt done !say done".to_owned()];
    home.agent("a", "--status", &script.each_ref().map(String::as_str));
    home.extend_preset("a", &format!("[config]\ndir = \"~/.a\"\nenv = \"A_HOME\"\n{TRANSCRIPT}"));
    let mut command = home.command(["run", "Do it.", "--agent", "a", "--json", "--detach"]);
    let begun = Done::from(&command.env("A_HOME", home.file("project")).output().unwrap()).ok();
    let begun: Value = serde_json::from_str(&begun).unwrap();
    let id = begun["id"].as_str().unwrap();
    home.await_state(id, "blocked");
    let session = home.json(["list", "--json"])[0]["name"].as_str().unwrap().to_owned();
    home.run(["send", &session, "The first."]).ok();
    let outcome = until("the run has ended", || {
        let outcome = home.json(["runs", "show", id, "--json"])["outcome"]["outcome"].clone();
        (!outcome.is_null()).then_some(outcome)
    });
    assert_eq!(outcome, "finished_unchecked");
}

#[test]
fn settings_that_cannot_be_read_are_told_before_anything_begins() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!say done"]);
    let file = home.path().join("config/config.toml");
    fs::write(&file, "[pre_context]\nenabled = false\n[detector]\nsilence_s = 2\n").unwrap();
    home.run(["run", "Do it.", "--agent", "a"])
        .fails(2, &["config.toml:4: detector.silence_s", "nothing in that file counts"]);
    assert!(home.prompts("a").is_empty());
}

#[test]
fn a_check_ends_with_its_run_and_does_not_outlive_a_daemon_for_long() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!write one.txt 1 !say done"]);
    let check = "echo $$ >> ../checks; exec sleep 600";
    let id = home.run(["run", "Do it.", "--agent", "a", "--check", check, "--detach"]).ok().trim().to_owned();
    let checks = |count: usize| {
        until("the check runs", || {
            let text = fs::read_to_string(home.file("checks")).ok()?;
            let pids: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
            (pids.len() == count).then_some(pids)
        })
    };
    let first = checks(1)[0];
    home.kill_daemon();
    home.await_state(&id, "checking");
    let second = checks(2)[1];
    until_gone("the first one is gone", first);
    assert!(is_running(second));
    home.run(["runs", "cancel", &id]).ok();
    until_gone("the second one is gone", second);
    home.await_quiet();
}

#[test]
fn what_was_spent_before_a_daemon_was_killed_still_counts() {
    let home = TestHome::with_repository();
    let cwd = home.file("project");
    let line = |id: u32, tokens: u32| {
        format!("{}\n", json!({ "type": "spent", "id": id.to_string(), "out": tokens, "cwd": cwd }))
    };
    let first = line(1, 70);
    home.agent("a", "--status", &[&format!("!write chats/one.jsonl {}\\n !work 60s", first.trim())]);
    home.extend_preset("a", &format!("[config]\ndir = \"~/.a\"\nenv = \"A_HOME\"\n{TRANSCRIPT}"));
    home.extend_preset(
        "a",
        "[[transcript.records]]\nfact = \"used\"\nwhen = { \"/type\" = \"spent\" }\nid = \"/id\"\n",
    );
    home.extend_preset("a", "usage = { output = [\"/out\"] }\n");
    let mut command = home.command(["run", "Do it.", "--agent", "a", "--detach"]);
    let id = Done::from(&command.env("A_HOME", &cwd).output().unwrap()).ok().trim().to_owned();
    let spent = |tokens: u32| {
        until("the tokens are counted", || {
            (home.json(["runs", "show", &id, "--json"])["usage"]["output"] == tokens).then_some(())
        });
    };
    spent(70);
    home.kill_daemon();
    let mut chat = fs::OpenOptions::new().append(true).open(cwd.join("chats/one.jsonl")).unwrap();
    chat.write_all(line(2, 5).as_bytes()).unwrap();
    spent(75);
    home.run(["runs", "cancel", &id]).ok();
    home.await_quiet();
}

#[test]
fn a_check_whose_program_is_missing_ends_the_run_at_once() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!write out.txt 1 !say done"]);
    let run = home.task(1, &["--agent", "a", "--check", "no-such-program --all", "--max-attempts", "5"]);
    let told = run["summary"].as_str().unwrap_or_default().to_owned() + &run.to_string();
    assert!(
        told.contains("`no-such-program --all` cannot be run: no-such-program is not on the PATH"),
        "{told}"
    );
    assert_eq!(home.prompts("a").len(), 1, "{told}");
}

#[test]
fn a_silent_check_is_named_and_other_failures_are_no_loop() {
    let home = TestHome::with_repository();
    let step = |number: u32| format!("!write step{number}.txt 1 !say done");
    let steps: Vec<String> = (1..=4).map(step).collect();
    home.agent("a", "--status", &steps.iter().map(String::as_str).collect::<Vec<_>>());
    let args = [
        "--agent",
        "a",
        "--max-attempts",
        "4",
        "--check",
        "test -e step2.txt",
        "--check",
        "test -e step3.txt",
    ];
    let run = home.task(0, &[&args[..], &["--check", "test -e step4.txt"]].concat());
    assert_eq!(run["attempts"].as_array().unwrap().len(), 4, "{run}");
    let retry = &home.prompts("a")[1];
    assert!(retry.contains("- `test -e step2.txt` ended with status 1 and printed nothing\n"), "{retry}");
}

#[test]
fn a_run_uses_the_agent_that_is_chosen_and_refuses_those_that_are_not_there() {
    let home = TestHome::with_repository();
    home.agent("one", "--status", &["!say one"]).agent("two", "--status", &["!say two"]);
    let mut command = home.command(["run", "Do it.", "--json"]);
    let done = crate::support::Done::from(&command.env("OSTLER_AGENT", "two").output().unwrap());
    let run: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(run["agents"][0], "two", "{run}");
    assert!(run["agents"].as_array().unwrap().contains(&"one".into()), "{run}");
    assert_eq!((home.prompts("two").len(), home.prompts("one").len()), (1, 0));

    home.run(["run", "Do it.", "--agent", "twoo"])
        .fails(2, &["no agent is called \"twoo\"", "did you mean two?"]);
    home.extend_preset("one", "[run]\ncommand = 7\n");
    home.run(["run", "Do it.", "--agent", "one"]).fails(2, &["its preset cannot be used"]);
}
