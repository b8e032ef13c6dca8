//! Criteria in words.

use super::*;

/// What an attempt does until nothing is left but its criteria.
fn with_criteria(has_checks: bool) -> Play {
    let play = Play::new(Policy { has_checks, has_criteria: true, ..Policy::default() }).go(&FIRST);
    if has_checks { play.go(&[Passes]) } else { play }
}

#[test]
fn criteria_are_verified_by_commands_before_it_ends() {
    for (has_checks, outcome, status) in
        [(true, Outcome::Done, Status::Passed), (false, Outcome::FinishedUnchecked, Status::Unchecked)]
    {
        let play = with_criteria(has_checks);
        assert_eq!((play.said.last().unwrap().as_str(), play.outcome()), ("ask helper", None));
        assert_eq!(play.run.attempts()[0].status, Status::Running);
        let Some(Action::AskHelper { context: Some(context), .. }) = play.actions.last() else { panic!() };
        assert_eq!(
            context.text,
            "--- HELPER AGENT CONTEXT ---\nAttempt #1 (0 previous retries) - criteria not verified\n\
             Attempt 1 touched: x\nGenerate commands to verify ALL criteria.\n--- END CONTEXT ---\n\n"
        );
        let play = play.go(&[Restarts, Verifies]);
        assert_eq!((play.outcome(), play.run.attempts()[0].status), (Some(&outcome), status));
        assert_eq!(play.run.criteria(), Some(&HelperRecord::Answered(found(&[]))));
        assert_eq!(play.run.helper(), None);
        // Whoever cannot be asked changes nothing, but that is known.
        for (no_help, why) in [(NoHelp, "it is ill"), (Passing(1_800), "no answer in time")] {
            let play = with_criteria(has_checks).go(&[no_help]);
            assert_eq!(play.outcome(), Some(&outcome));
            assert_eq!(play.run.criteria(), Some(&HelperRecord::Failed { reason: why.into() }));
        }
    }
}

#[test]
fn a_command_for_the_criteria_that_fails_is_a_check_that_fails() {
    for has_checks in [true, false] {
        let play = with_criteria(has_checks).go(&[Helps("wc: 2 lines")]);
        assert_eq!(play.said.last().unwrap(), "deliver retry");
        let Some(Action::Deliver { context: Some(context), .. }) = play.actions.last() else { panic!() };
        assert!(context.text.contains("Attempt #2 - Previous validation failures:\n- wc: 2 lines\nAlready"));
        assert_eq!(play.run.attempts()[0].errors, ["wc: 2 lines"]);
        assert_eq!(play.run.criteria(), None, "of the attempt before");
        let again = |file: Next| {
            let mut script = vec![Submitted, IDLE, file];
            script.extend(has_checks.then_some(Passes));
            script
        };
        let play = play.go(&again(Tree(&["y"])));
        assert_eq!(play.said.last().unwrap(), "ask helper", "once for each attempt");
        let Some(Action::AskHelper { context: Some(context), .. }) = play.actions.last() else { panic!() };
        assert!(
            context.text.contains("Attempt 1 touched: x - error: \"wc: 2 lines\"\nAttempt 2 touched: y\n")
        );
        let done = play.go(&[Verifies]);
        assert_eq!(done.run.attempts().last().unwrap().errors.len(), 0);
        assert!(matches!(done.outcome(), Some(Outcome::Done | Outcome::FinishedUnchecked)));
        // It is bounded as everything is.
        let table = [(Tree(&["z"]), "E3", GiveUp::Attempts), (Tree(&["z"]), "E", GiveUp::Loop)];
        for (file, third, why) in table {
            let play = with_criteria(has_checks).go(&[Helps("E")]).go(&again(Tree(&["y"]))).go(&[Helps("E")]);
            let play = play.go(&again(file)).go(&[Helps(third)]);
            assert_eq!((play.why(), play.run.attempts().len()), (Some(why), 3));
            assert_eq!(play.said.iter().filter(|said| *said == "ask helper").count(), 3);
            assert_eq!(play.run.criteria().unwrap().findings(), [third]);
        }
        let play = with_criteria(has_checks).go(&[Helps("E")]).go(&again(Tree(&[]))).go(&[Helps("E")]);
        assert_eq!(play.why(), Some(GiveUp::Unchanged));
    }
}

#[test]
fn criteria_are_not_verified_beyond_the_budgets_and_the_checks_still_count() {
    let policy = || Policy { has_criteria: true, ..Policy::default() };
    let reason = |play: &Play| match play.run.criteria() {
        Some(HelperRecord::Failed { reason }) => reason.clone(),
        other => panic!("{other:?}"),
    };
    let slow = Play::new(Policy { time_secs: 60, ..policy() }).go(&FIRST).go(&[Passes]);
    assert_eq!(slow.run.deadline(), Some(Wall(60_000)));
    let slow = slow.go(&[Passing(60)]);
    let spent = Play::new(Policy { tokens: 9, ..policy() }).go(&FIRST).go(&[Spends(9), Passes]);
    let alone = Play::new(Policy { helper: false, ..policy() }).go(&FIRST).go(&[Passes]);
    let table = [
        (slow, "the time of the run is up"),
        (spent, "the tokens of the run are spent"),
        (alone, "no helper may be asked"),
    ];
    for (play, why) in table {
        assert_eq!((play.outcome(), reason(&play).as_str()), (Some(&Outcome::Done), why));
    }
    let mut found = Play::new(Policy { time_secs: 60, ..policy() }).go(&FIRST).go(&[Passes]);
    found.now = Wall(60_000);
    assert_eq!(found.go(&[Helps("E")]).why(), Some(GiveUp::Time), "no attempt begins behind it");
    // Checks that fail need no criteria, and somebody who asks is not finished.
    let play = Play::new(policy()).go(&FIRST).go(&[Fails("E")]);
    assert_eq!(play.said.last().unwrap(), "deliver retry");
    let asks = [Chosen("a"), Ready, Submitted, Stops(Stop::Idle { asks: true }), Unseen];
    let play = Play::new(Policy { has_checks: false, ..policy() }).go(&asks);
    assert!(!play.said.contains(&"ask helper".to_owned()));
    assert_eq!(with_criteria(true).go(&[Cancels]).run.attempts()[0].status, Status::Abandoned);
}

#[test]
fn a_helper_looks_at_every_failure_where_the_task_wants_it() {
    let policy = || Policy { helper_always: true, ..Policy::default() };
    let first = [Chosen("a"), Ready, Submitted, IDLE, TreeAndWords(&["x"], "I did it."), Fails("E")];
    let play = Play::new(policy()).go(&first);
    assert_eq!(play.said.last().unwrap(), "ask helper");
    let Some(Action::AskHelper { context: Some(context), attempt, .. }) = play.actions.last() else {
        panic!()
    };
    assert!(
        context.text.contains("Attempt #1 (0 previous retries) - validation failed\n"),
        "{}",
        context.text
    );
    assert_eq!((attempt.failures[0].as_str(), attempt.response.as_deref()), ("E", Some("I did it.")));
    assert_eq!(attempt.files, ["x"]);
    for (answer, told) in [(Helps("F"), "- F\n- E\n"), (NoHelp, "- E\n"), (Passing(1_800), "- E\n")] {
        let play = Play::new(policy()).go(&first).go(&[answer]);
        let Some(Action::Deliver { context: Some(context), .. }) = play.actions.last() else { panic!() };
        assert!(context.text.contains(&format!("failures:\n{told}")), "{}", context.text);
    }
    // Not where there is no attempt that could use it, nor where no helper may be asked.
    let none = [Policy { max_attempts: 1, ..policy() }, Policy { helper: false, ..policy() }];
    assert!(
        none.into_iter().all(|policy| !Play::new(policy).go(&first).said.contains(&"ask helper".to_owned()))
    );
    let late = Play::new(Policy { time_secs: 60, ..policy() }).go(&first).go(&[Passing(60)]);
    assert_eq!(late.why(), Some(GiveUp::Time));
}
