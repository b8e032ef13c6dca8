//! A helper is asked what nobody gets right.

use serde_json::{Value, json};

use crate::support::TestHome;

const CHECK: &str = "grep -q good out.txt || { echo 'error: it is bad' >&2; exit 1; }";

/// An agent that is wrong in another way each time, until it is told what a helper found.
fn stubborn(home: &TestHome) {
    let wrong = |number: u32| json!({ "do": format!("!write out.txt bad{number} !say done") });
    let right = json!({ "when": "Attempt #4", "do": "!write out.txt good !say done" });
    home.scripted("a", "--status", &json!([right, wrong(1), wrong(2), wrong(3)]));
}

/// A system that cannot contain a command does not run it.
pub(super) fn is_contained(run: &Value) -> bool {
    ["helper", "criteria"]
        .iter()
        .all(|record| !run[record]["reason"].as_str().is_some_and(|reason| reason.contains("landlock")))
}

#[test]
fn what_a_helpers_commands_find_is_told_to_one_more_attempt() {
    let home = TestHome::with_repository();
    stubborn(&home);
    home.helper(
        "helper",
        "Here:\n[[\"grep\", \"-c\", \"good\", \"out.txt\"], [\"true\"], [\"no-such-program\"]]",
    );
    let args = ["--agent", "a", "--helper", "helper", "--check", CHECK];
    let done = home.run([&["run", "Do it.", "--json"], &args[..]].concat());
    let run: Value = serde_json::from_str(&done.out).unwrap();
    if !is_contained(&run) {
        return;
    }
    assert_eq!((done.code, &run["state"]), (0, &json!("done")), "{run:#}");
    assert_eq!(run["attempts"].as_array().unwrap().len(), 4, "one more than there are");
    assert_eq!(run["helper"]["findings"], json!(["grep -c good out.txt: 0"]));
    assert_eq!((&run["helper"]["by"], &run["helper"]["passed"]), (&json!("helper"), &json!([])));
    assert_eq!(run["helper"]["void"], json!(["true: it succeeds in an empty directory, too"]));
    let told = home.told("helper");
    let block = "\n--- HELPER AGENT CONTEXT ---\nAttempt #3 (2 previous retries) - validation failed\n\
                 Attempt 2 touched: out.txt - error: \"error: it is bad\"\n\
                 Attempt 3 touched: out.txt - error: \"error: it is bad\"\n\
                 Task appears stuck in validation loop - try different approach\n\
                 Generate commands to verify ALL failed criteria from ALL attempts.\n--- END CONTEXT ---\n\n";
    assert!(told.starts_with(block), "{told}");
    let last = home.prompts("a").pop().unwrap();
    assert!(last.contains("failures:\n- grep -c good out.txt: 0\n- error: it is bad\n"), "{last}");
    let asked = &run["prompts"].as_array().unwrap()[3];
    assert_eq!((&asked["provider"], &asked["context"]), (&json!("helper"), &json!("helper")), "{asked}");
    assert_eq!(asked["contextual"].as_str().unwrap().trim(), told.trim(), "what it was told is recorded");
    assert!(
        told.contains("What failed:\n1. error: it is bad\n") && told.contains("Files:\n- out.txt\n"),
        "{told}"
    );
    let metrics = home.run(["metrics"]).ok();
    assert!(metrics.contains("\ncontext_injection_count{type=\"helper\"} 1\n"), "{metrics}");
    let events = home.run(["events", "--json"]).ok();
    for name in ["run.began", "run.attempt", "run.provider", "run.check", "run.helper", "run.helper_answered"]
    {
        assert!(events.contains(&format!("\"{name}\"")), "{name}: {events}");
    }
    let shown = home.run(["runs", "show", run["id"].as_str().unwrap()]).ok();
    for text in [
        "  the helper's commands found: grep -c good out.txt: 0\n",
        "    not run: no-such-program: no-such-program is not found among the programs",
        "    asked: helper\n",
    ] {
        assert!(shown.contains(text), "{text:?} is not in {shown}");
    }
}

#[test]
fn a_helper_of_no_use_is_told_of() {
    let home = TestHome::with_repository();
    stubborn(&home);
    home.helper("helper", "I would look at it.");
    let args = ["--agent", "a", "--helper", "helper", "--check", CHECK];
    let done = home.run([&["run", "Do it."], &args[..]].concat());
    assert!(done.out.contains("the helper could not help: helper: its answer has no JSON array"), "{done:?}");
    done.fails(1, &["fail in the same way again and again"]);
    assert_eq!(home.prompts("a").len(), 3);
}

#[test]
fn whoever_can_be_asked_is_and_the_others_are_told_of() {
    let home = TestHome::with_repository();
    home.agent("limited", "", &["!limit 7pm"]);
    stubborn(&home);
    home.preset("missing")
        .helper("broken", "")
        .helper("good", "[[\"cat\", \"out.txt\"]]")
        .helper("unasked", "[[\"cat\", \"out.txt\"]]");
    let headless = "[headless]\nargs = [\"-p\", \"{prompt}\"]\n";
    home.extend_preset("limited", headless).extend_preset("missing", headless);
    home.script("broken", "echo 'error: no credit' >&2; exit 3");
    let agents = "limited,a,missing,broken,good,unasked";
    let done = home.run(["run", "Do it.", "--json", "--agent", agents, "--check", CHECK]);
    let run: Value = serde_json::from_str(&done.out).unwrap();
    if !is_contained(&run) {
        return;
    }
    assert_eq!((done.code, &run["helper"]["by"]), (0, &json!("good")), "{run:#}");
    let skipped: Vec<&str> =
        run["helper"]["skipped"].as_array().unwrap().iter().map(|why| why.as_str().unwrap()).collect();
    let expected = [
        "limited: quota used up, until ",
        "a: it cannot be asked without a terminal",
        "missing: no program called \"missing\"",
        "broken: it ended with exit status: 3: error: no credit",
    ];
    assert_eq!(skipped.len(), expected.len(), "{skipped:?}");
    for (skipped, expected) in skipped.iter().zip(expected) {
        assert!(skipped.starts_with(expected), "{skipped}");
    }
    let shown = home.run(["runs", "show", run["id"].as_str().unwrap()]).ok();
    assert!(
        shown.contains("    asked: good\n    not asked, or of no help: limited: quota used up"),
        "{shown}"
    );
    // One that is named is asked alone.
    let alone = home.task(1, &["--agent", "a,good", "--helper", "broken", "--check", CHECK]);
    let reason = alone["helper"]["reason"].as_str().unwrap();
    assert_eq!(reason, "broken: it ended with exit status: 3: error: no credit");
}
