//! What people read of runs, to the letter.

use insta::assert_snapshot;

use crate::support::TestHome;

/// What is said while it happens, without the states between: how many of them are seen depends on the pace.
fn milestones(home: &TestHome, said: &str) -> String {
    let told = ["attempt ", "  | ", "  submitted", "  check ", "ostler: ", "hint: "];
    let lines = said.lines().filter(|line| told.iter().any(|start| line.starts_with(start)));
    home.neutral(&lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_run_is_followed_shown_and_counted() {
    let home = TestHome::with_repository();
    home.agent("limited", "", &["!limit 7pm"]);
    home.agent("a", "--status", &["!write out.txt helo !say done", "!write out.txt hello !say done"]);
    let check = "grep -q hello out.txt || { echo 'error: out.txt says no hello' >&2; exit 1; }";
    let args = ["run", "Do it.", "--agent", "limited,a", "--check", check];
    let done = home.run(args);
    // The one is read while it happens, the other is the report.
    assert_snapshot!(milestones(&home, &done.err), @r"
    attempt 1: limited gets the task
      submitted (proof: [proof])
    attempt 1: a gets the task, and before it:
      | --- PROVIDER SWITCH CONTEXT ---
      | Previous provider (limited) failed: quota used up
      | Continue from where limited left off. Avoid recreating existing files.
      | --- END CONTEXT ---
      submitted (proof: [proof])
      check failed: grep -q hello out.txt || { echo 'error: out.txt says no hello' >&2; exit 1; } ([for]): error: out.txt says no hello
    attempt 2: a gets the task, and before it:
      | --- RETRY CONTEXT ---
      | Attempt #2 - Previous validation failures:
      | - error: out.txt says no hello
      | Already created: out.txt
      | Focus on fixing validation failures listed above.
      | --- END CONTEXT ---
      submitted (proof: [proof])
      check passed: grep -q hello out.txt || { echo 'error: out.txt says no hello' >&2; exit 1; } ([for])
    ");
    assert_snapshot!(home.neutral(&done.out), @r"
    do-it: done: the checks pass
      attempt 1: failed: limited (quota used up), then a
        error: out.txt says no hello
      attempt 2: passed: a
      created: out.txt
      check passed: grep -q hello out.txt || { echo 'error: out.txt says no hello' >&2; exit 1; } ([for])
      time: [for], attempts: 2, switches: 1
    ");
    assert_eq!(done.code, 0);
    home.await_quiet();
    let id = home.json(["runs", "list", "--all", "--json"])[0]["id"].as_str().unwrap().to_owned();
    assert_snapshot!(home.session_of(&[&["runs", "list"], &["runs", "list", "--all"], &["providers"]]), @r"
    $ ostler runs list
    $ ostler runs list --all
    [id]  do-it  done  done: the checks pass
    $ ostler providers
    limited  open (quota) until [time]
    store: its own database: every acknowledged write survives a kill -9; a power cut may take the last few.
    ");
    assert_eq!(home.neutral(&home.ok(["runs", "show", &id])), home.neutral(&done.out));
    let metrics = home.ok(["metrics"]);
    let counted = metrics.lines().filter(|line| !line.starts_with('#') && line.contains('{'));
    assert_snapshot!(counted.collect::<Vec<_>>().join("\n"), @r#"
    ostler_context_injection_count{type="helper"} 0
    ostler_context_injection_count{type="provider_switch"} 1
    ostler_context_injection_count{type="retry"} 1
    context_injection_count{type="circuit_breaker"} 1
    context_injection_count{type="helper"} 0
    context_injection_count{type="retry"} 1
    ostler_runs_ended_total{outcome="done"} 1
    "#);
}

#[test]
fn a_run_that_nobody_can_do_says_why() {
    let home = TestHome::with_repository();
    home.agent("a", "", &["!error 401 Unauthorized"]).agent("b", "", &["!limit 7pm"]).preset("gone");
    let done = home.run(["run", "Do it.", "--agent", "a,b,gone", "--check", "true", "--max-time", "40"]);
    assert_snapshot!(home.neutral(&done.out) + &milestones(&home, &done.err), @r#"
    do-it: given up: no provider can be used: a: login refused, b: quota used up; wait, log in, or name other agents (a can be tried again at [time])
      attempt 1: abandoned: a (login refused), then b (quota used up), then gone (cannot be started: no program called "gone" is on the PATH)
      time: [for], attempts: 1, switches: 3
    attempt 1: a gets the task
      submitted (proof: [proof])
    attempt 1: b gets the task, and before it:
      | --- PROVIDER SWITCH CONTEXT ---
      | Previous provider (a) failed: login refused
      | Continue from where a left off. Avoid recreating existing files.
      | --- END CONTEXT ---
      submitted (proof: [proof])
    ostler: do-it: given up: no provider can be used: a: login refused, b: quota used up; wait, log in, or name other agents (a can be tried again at [time])
    hint: ostler runs show [id] tells all
    "#);
    assert_eq!(done.code, 1);
}
