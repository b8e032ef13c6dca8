//! Criteria in words are verified by commands that a helper proposes.

use std::fs;

use serde_json::{Value, json};

use super::helping::is_contained;
use crate::support::{TestHome, is_running, until_file, until_gone};

/// A task whose file has a criterion, and perhaps a check that anything passes.
fn task(home: &TestHome, checked: bool) -> String {
    let checks = if checked { "checks = [\"cat out.txt\"]\n" } else { "" };
    let file = home.file("tasks.toml");
    let text = format!(
        "[[tasks]]\nid = \"t\"\ninstructions = \"Do it.\"\ncriteria = [\"out.txt is good\"]\n{checks}"
    );
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn play(home: &TestHome, checked: bool, args: &[&str]) -> (i32, Value) {
    let file = task(home, checked);
    let done = home.run([&["run", "--task", &file, "--agent", "a", "--json"], args].concat());
    (done.code, serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{done:?}")))
}

fn shown(home: &TestHome, run: &Value) -> String {
    home.run(["runs", "show", run["id"].as_str().unwrap()]).ok()
}

#[test]
fn what_fails_them_is_told_to_the_next_attempt_and_what_meets_them_is_reported() {
    for (checked, state, summary) in [
        (true, "done", "done: the checks pass; its criteria were verified by commands that helper proposed"),
        (
            false,
            "finished_unchecked",
            "finished, but there are no checks to tell whether it is right; its criteria were verified only by commands \
             that helper proposed",
        ),
    ] {
        let home = TestHome::with_repository();
        home.agent("a", "--status", &["!write out.txt bad !say done", "!write out.txt good !say done"]);
        home.helper("helper", "[[\"grep\", \"-c\", \"good\", \"out.txt\"], [\"no-such-program\"]]");
        let (code, run) = play(&home, checked, &["--helper", "helper"]);
        if !is_contained(&run) {
            return;
        }
        assert_eq!((code, &run["state"], &run["summary"]), (0, &json!(state), &json!(summary)), "{run:#}");
        let errors: Vec<&Value> =
            run["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["errors"]).collect();
        assert_eq!(errors, [&json!(["grep -c good out.txt: 0"]), &json!([])]);
        let block = "--- RETRY CONTEXT ---\nAttempt #2 - Previous validation failures:\n- grep -c good out.txt: 0\n\
                     Already created: out.txt\nFocus on fixing";
        assert!(home.prompts("a")[1].starts_with(block), "{:?}", home.prompts("a"));
        let told = home.told("helper");
        let block = "\n--- HELPER AGENT CONTEXT ---\nAttempt #2 (1 previous retries) - criteria not verified\n\
                     Attempt 1 touched: out.txt - error: \"grep -c good out.txt: 0\"\n\
                     Attempt 2 touched: out.txt\nGenerate commands to verify ALL criteria.\n--- END CONTEXT ---\n\n";
        assert!(told.starts_with(block) && told.contains("Criteria:\n1. out.txt is good\n"), "{told}");
        let shown = shown(&home, &run);
        assert!(
            shown.contains("  criteria: passed: grep -c good out.txt\n    not run: no-such-program: "),
            "{shown}"
        );
    }
}

#[test]
fn a_helpers_word_and_its_changes_verify_nothing() {
    let home = TestHome::with_repository();
    let acts = [1, 2, 3, 4].map(|number| format!("!write out.txt bad{number} !say done"));
    home.agent("a", "--status", &acts.each_ref().map(String::as_str));
    home.helper("helper", "All criteria are met.\n[[\"grep\", \"-c\", \"good\", \"out.txt\"]]");
    let talks = fs::read_to_string(home.file("bin/helper")).unwrap();
    home.script("helper", &format!("echo good > out.txt\n{talks}"));
    let (code, run) = play(&home, true, &["--helper", "helper"]);
    if !is_contained(&run) {
        return;
    }
    assert_eq!((code, &run["state"]), (1, &json!("given_up")), "{run:#}");
    assert_eq!(run["criteria"]["findings"], json!(["grep -c good out.txt: 0"]));
    assert_eq!(home.prompts("a").len(), 3, "no more than there may be");
    assert!(shown(&home, &run).contains("  criteria: failed: grep -c good out.txt: 0\n"));
    assert_eq!(fs::read_to_string(home.file("project/out.txt")).unwrap().trim(), "bad3");
}

#[test]
fn criteria_that_nobody_verifies_are_said_to_be_that() {
    let table = [
        (
            Some("[[\"no-such-program\"]]"),
            "no command that helper proposed tells anything: no-such-program: ",
        ),
        (Some("They are met."), "helper: its answer has no JSON array"),
        (None, "no agent of this run can be asked without a terminal; name one with --helper"),
    ];
    for (says, reason) in table {
        for (checked, outcome) in [(true, "done"), (false, "finished_unchecked")] {
            let home = TestHome::with_repository();
            home.agent("a", "--status", &["!write out.txt any !say done"]);
            let mut args = Vec::new();
            if let Some(says) = says {
                home.helper("helper", says);
                args = vec!["--helper", "helper"];
            }
            let (code, run) = play(&home, checked, &args);
            assert_eq!((code, &run["outcome"]["outcome"]), (0, &json!(outcome)), "{run:#}");
            assert!(
                run["summary"].as_str().unwrap().ends_with("; its criteria were not verified"),
                "{run:#}"
            );
            let shown = shown(&home, &run);
            assert!(shown.contains(&format!("  the criteria were not verified: {reason}")), "{shown}");
            assert_eq!(home.prompts("a").len(), 1);
        }
    }
}

#[test]
fn a_helper_that_is_asked_ends_with_its_run() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!write out.txt any !say done"]);
    home.helper("helper", "");
    let pids = home.file("helper.pid");
    home.script(
        "helper",
        &format!("echo $$ > '{0}.new' && mv '{0}.new' '{0}'; exec sleep 600", pids.display()),
    );
    let file = task(&home, true);
    let args = ["run", "--task", &file, "--agent", "a", "--helper", "helper", "--json", "--detach"];
    let run = home.json(args);
    let run = run["id"].as_str().unwrap();
    home.await_state(run, "helper");
    let pid =
        until_file(&pids, "the helper works", || fs::read_to_string(&pids).ok()).trim().parse().unwrap();
    assert!(is_running(pid));
    // Whoever comes after the daemon asks again.
    home.kill_daemon();
    until_gone("the helper is gone with the daemon that asked it", pid);
    fs::remove_file(&pids).unwrap();
    home.await_state(run, "helper");
    let pid = until_file(&pids, "the helper works again", || fs::read_to_string(&pids).ok())
        .trim()
        .parse()
        .unwrap();
    home.run(["runs", "cancel", run]).ok();
    until_gone("the helper is gone with its run", pid);
    assert_eq!(home.json(["runs", "show", run, "--json"])["outcome"]["outcome"], "cancelled");
}
