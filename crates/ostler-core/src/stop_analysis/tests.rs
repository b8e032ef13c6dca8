use super::*;
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
        state: State::Idle,
        checks: None,
        changed: None,
        words: LastWords::Other,
        iterations: 1,
        max_iterations: 10,
    }
}

#[test]
fn the_most_reliable_word_counts() {
    use {Conclusion as C, LastWords as L, Recommendation as R};
    let checks = |passed, failed| Some(Checked { passed, failed });
    let base = observed();
    let table = [
        (Observed { checks: checks(3, 0), ..base }, C::TaskComplete, R::AssignNextTask),
        (Observed { checks: checks(3, 0), words: L::Stuck, ..base }, C::TaskComplete, R::AssignNextTask),
        (Observed { checks: checks(3, 0), iterations: 10, ..base }, C::TaskComplete, R::AssignNextTask),
        (Observed { checks: checks(2, 1), words: L::SaysDone, ..base }, C::Incomplete, R::RetryWithHints),
        (Observed { checks: checks(2, 1), iterations: 10, ..base }, C::MaxIterations, R::NotifyOwner),
        (Observed { checks: checks(0, 0), words: L::Asks, ..base }, C::WaitingInput, R::NotifyOwner),
        (Observed { state: State::Blocked, checks: checks(3, 0), ..base }, C::WaitingInput, R::NotifyOwner),
        (Observed { state: State::Limited, words: L::SaysDone, ..base }, C::StuckOrError, R::PauseAgent),
        (Observed { state: State::Error, ..base }, C::StuckOrError, R::RetryWithHints),
        (Observed { state: State::Working, words: L::SaysDone, ..base }, C::Unknown, R::NoAction),
        (Observed { words: L::Asks, ..base }, C::WaitingInput, R::NotifyOwner),
        (Observed { words: L::WillContinue, ..base }, C::Incomplete, R::InjectPrompt),
        (Observed { words: L::Stuck, ..base }, C::StuckOrError, R::RetryWithHints),
        (Observed { words: L::SaysDone, changed: Some(true), ..base }, C::TaskComplete, R::AssignNextTask),
        // It may be so, but not surely enough to act on.
        (Observed { words: L::SaysDone, ..base }, C::TaskComplete, R::NoAction),
        (Observed { words: L::SaysDone, changed: Some(false), ..base }, C::Unknown, R::NoAction),
        (Observed { state: State::Exited, ..base }, C::StuckOrError, R::NoAction),
        (Observed { iterations: 10, words: L::SaysDone, ..base }, C::MaxIterations, R::NotifyOwner),
        (base, C::Unknown, R::NoAction),
    ];
    for (observed, conclusion, recommendation) in table {
        let analysis = analyse(&observed, THRESHOLD);
        assert_eq!(
            (analysis.conclusion, analysis.recommendation),
            (conclusion, recommendation),
            "{observed:?}"
        );
        assert!(!analysis.evidence.is_empty());
    }
    let json = serde_json::to_value(analyse(&Observed { checks: checks(1, 0), ..base }, THRESHOLD)).unwrap();
    assert_eq!(json["conclusion"], "TASK_COMPLETE");
    assert_eq!(json["recommendation"], "assign_next_task");
    assert_eq!(json["evidence"], serde_json::json!(["checks: 1 passed"]));
}

proptest! {
    #[test]
    fn any_text_is_survived_and_a_prompt_never_counts(text in any::<String>(), prompt in "[A-Za-z .!?\n']{0,80}") {
        let _ = last_words(&text, &[&prompt]);
        prop_assert_eq!(last_words(&prompt, &[&prompt]), LastWords::Other);
    }
}
