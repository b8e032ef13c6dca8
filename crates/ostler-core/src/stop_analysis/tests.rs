use super::*;
use crate::breaker::Limit;
use crate::detector::Reporter;
use crate::{Asking, Failure};
use proptest::prelude::*;

#[test]
fn last_words_are_understood() {
    use LastWords::{Asks, Other, SaysDone, Stuck, WillContinue};
    let table = [
        ("All tests pass. The task is complete.", SaysDone),
        ("Done.", SaysDone),
        ("**Done!**", SaysDone),
        ("test result: ok. 12 passed; 0 failed; 0 ignored", SaysDone),
        ("I implemented the parser.\n\nLet me know if you need anything else.", SaysDone),
        ("I've fixed the bug. Would you like me to also add a test?", SaysDone),
        ("Which database should I use?", Asks),
        ("I can do this in two ways. Do you want the first?", Asks),
        ("Would you like me to continue?", Asks),
        ("The build failed. Would you like me to look into it?", Asks),
        ("Please confirm before I delete the files.", Asks),
        ("I have read the code. I'll now write the parser.", WillContinue),
        ("The parser works, but I still need to write tests", WillContinue),
        ("This is not finished.", WillContinue),
        ("I was unable to install the package.", Stuck),
        ("3 tests failed.", Stuck),
        ("The build failed", Stuck),
        ("I fixed one of them, but could not run the tests.", Stuck),
        ("0 failed", Other),
        ("No test failed.", Other),
        ("Failures: none", Other),
        ("There were no failures.", Other),
        ("Run it once you are done.", Other),
        ("It is not complete.", Other),
        ("The parser reads tokens.", Other),
        ("", Other),
        ("```\nassert!(failed);\nIs it done?\n```", Other),
        ("Undone and unfinishedness.", Other),
    ];
    for (text, expected) in table {
        assert_eq!(last_words(text, &[]), expected, "{text:?}");
    }
}

#[test]
fn the_prompt_itself_says_nothing() {
    let prompt = "Fix the tests. Do not stop until everything is done.\nAre all checks green?\nSay: the task is complete.";
    assert_eq!(last_words(prompt, &[prompt]), LastWords::Other);
    assert_eq!(last_words(&format!("I read it.\n{prompt}"), &[prompt]), LastWords::Other);
    assert_eq!(last_words(&format!("{prompt}\nAll fixed."), &[prompt]), LastWords::SaysDone);
    assert_ne!(last_words(prompt, &[]), LastWords::Other);
}

fn observed() -> Observed {
    Observed {
        stop: Stop::Idle { asks: false },
        checks: None,
        changed: None,
        words: LastWords::Other,
        asked: false,
        waits: false,
        wants_on: false,
        iterations: 1,
        max_iterations: 10,
    }
}

#[test]
fn the_most_reliable_word_counts() {
    use {Action as A, Conclusion as C, LastWords as L};
    let checks = |passed, failed| Some(Checked { passed, failed });
    let failed = |failure| Stop::TurnFailed { by: Reporter::Hook, failure, until: None };
    let exited = |status, signal| Stop::Exited { status, signal };
    let base = observed();
    let stopped = |stop| Observed { stop, words: L::SaysDone, checks: checks(3, 0), ..base };
    let table = [
        (Observed { checks: checks(3, 0), ..base }, C::TaskComplete, A::AssignNextTask),
        (Observed { checks: checks(3, 0), words: L::Stuck, ..base }, C::TaskComplete, A::AssignNextTask),
        (Observed { checks: checks(3, 0), words: L::Asks, ..base }, C::TaskComplete, A::AssignNextTask),
        (Observed { checks: checks(3, 0), iterations: 10, ..base }, C::TaskComplete, A::AssignNextTask),
        (Observed { checks: checks(2, 1), words: L::SaysDone, ..base }, C::Incomplete, A::InjectPrompt),
        // Another prompt would be answered with the question again.
        (Observed { checks: checks(2, 1), words: L::Asks, ..base }, C::WaitingInput, A::NotifyOwner),
        (Observed { checks: checks(2, 1), iterations: 10, ..base }, C::MaxIterations, A::NotifyOwner),
        (Observed { checks: checks(0, 0), words: L::Asks, ..base }, C::WaitingInput, A::NotifyOwner),
        (Observed { stop: Stop::Idle { asks: true }, ..base }, C::WaitingInput, A::NotifyOwner),
        (stopped(Stop::Blocked { kind: Asking::Permission }), C::WaitingInput, A::NotifyOwner),
        (stopped(Stop::Limited { limit: Limit::Quota, until: None }), C::WaitingExternal, A::NoAction),
        (stopped(failed(Failure::RateLimit)), C::WaitingExternal, A::NoAction),
        (stopped(failed(Failure::Overloaded)), C::WaitingExternal, A::NoAction),
        (stopped(failed(Failure::Auth)), C::WaitingInput, A::NotifyOwner),
        (stopped(failed(Failure::Other)), C::StuckOrError, A::RetryWithHints),
        (stopped(Stop::StatusError), C::StuckOrError, A::RetryWithHints),
        (stopped(exited(Some(1), None)), C::StuckOrError, A::RetryWithHints),
        (stopped(exited(None, Some(9))), C::StuckOrError, A::RetryWithHints),
        (stopped(Stop::Ended), C::WaitingInput, A::NotifyOwner),
        (Observed { asked: true, checks: checks(0, 1), ..base }, C::WaitingInput, A::NotifyOwner),
        (Observed { waits: true, words: L::Asks, ..base }, C::WaitingExternal, A::NoAction),
        (Observed { waits: true, checks: checks(3, 0), ..base }, C::TaskComplete, A::AssignNextTask),
        (Observed { wants_on: true, words: L::SaysDone, ..base }, C::Incomplete, A::InjectPrompt),
        (Observed { wants_on: true, iterations: 10, ..base }, C::MaxIterations, A::NotifyOwner),
        (Observed { words: L::Asks, ..base }, C::WaitingInput, A::NotifyOwner),
        (Observed { words: L::WillContinue, ..base }, C::Incomplete, A::InjectPrompt),
        (Observed { words: L::Stuck, ..base }, C::StuckOrError, A::RetryWithHints),
        (Observed { words: L::SaysDone, changed: Some(true), ..base }, C::TaskComplete, A::AssignNextTask),
        // It may be so, but not surely enough to act on.
        (Observed { words: L::SaysDone, ..base }, C::TaskComplete, A::NoAction),
        (Observed { words: L::SaysDone, changed: Some(false), ..base }, C::Unknown, A::NoAction),
        (Observed { iterations: 10, words: L::WillContinue, ..base }, C::MaxIterations, A::NotifyOwner),
        (base, C::Unknown, A::NoAction),
    ];
    for (observed, conclusion, action) in table {
        let analysis = analyse(&observed);
        let found = (analysis.conclusion, Actions::default().of(&analysis));
        assert_eq!(found, (conclusion, action), "{observed:?}");
        assert!(!analysis.evidence.is_empty());
    }
    let json = serde_json::to_value(analyse(&Observed { checks: checks(1, 0), ..base })).unwrap();
    assert_eq!(json["conclusion"], "TASK_COMPLETE");
    assert_eq!(json["evidence"], serde_json::json!(["checks: 1 passed"]));
}

#[test]
fn what_is_done_can_be_chosen_but_never_against_the_threshold() {
    let actions: Actions =
        serde_json::from_str(r#"{"task_complete": "pause_agent", "unknown": "inject_prompt"}"#).unwrap();
    let checks = Some(Checked { passed: 1, failed: 0 });
    assert_eq!(actions.of(&analyse(&Observed { checks, ..observed() })), Action::PauseAgent);
    let perhaps = Observed { words: LastWords::SaysDone, ..observed() };
    assert_eq!(actions.of(&analyse(&perhaps)), Action::NoAction, "that is not sure");
    assert_eq!(actions.of(&analyse(&observed())), Action::InjectPrompt, "nobody is ever sure of that");
}

proptest! {
    #[test]
    fn any_text_is_survived_and_a_prompt_never_counts(text in any::<String>(), prompt in "[A-Za-z .!?\n']{0,80}") {
        let _ = last_words(&text, &[&prompt]);
        prop_assert_eq!(last_words(&prompt, &[&prompt]), LastWords::Other);
    }
}
