//! What an earlier run of a task left is told to the next one.

use super::*;

/// What the first agent of the next run is told.
fn told(earlier: Earlier) -> (Play, Option<String>) {
    let run = Run::new("do it", Policy::default()).continuing(earlier);
    let play = Play::of(run, Wall(0)).go(&[Chosen("b"), Ready]);
    let Some(Action::Deliver { context, .. }) = play.actions.last() else { panic!() };
    let text = context.as_ref().map(|context| context.text.clone());
    (play, text)
}

#[test]
fn a_failed_task_goes_on_where_it_stood() {
    let first = Play::new(Policy { max_attempts: 2, ..Policy::default() }).go(&FIRST).go(&[
        Fails("one"),
        Submitted,
        IDLE,
        Tree(&["y"]),
        Fails("two"),
    ]);
    assert_eq!(first.why(), Some(GiveUp::Attempts));
    let earlier = Earlier::of(&first.run).unwrap();
    assert_eq!((earlier.count, earlier.attempts.len()), (2, 2));
    let (second, text) = told(earlier);
    assert_eq!(
        text.as_deref(),
        Some(
            "--- RETRY CONTEXT ---\nAttempt #3 - Previous validation failures:\n- two\nAlready created: x, y\n\
             Focus on fixing validation failures listed above.\n--- END CONTEXT ---\n\n"
        )
    );
    let second = second.go(&[Submitted, IDLE, Tree(&["z"]), Fails("three")]);
    let Some(Action::Deliver { context: Some(context), .. }) = second.actions.last() else { panic!() };
    assert!(context.text.contains("Attempt #4") && context.text.contains("x, y, z"), "{}", context.text);
    assert_eq!(second.run.changes().created, ["z"], "the report is about this run");
    // Again and again: the last attempts are kept, and all are counted.
    let ended = second.go(&[Submitted, IDLE, Tree(&["v"]), Fails("four"), Cancels]);
    let earlier = Earlier::of(&ended.run).unwrap();
    assert_eq!((earlier.count, earlier.attempts.len()), (4, 3));
    // Until it is done.
    let (done, _) = told(earlier);
    let done = done.go(&[Submitted, IDLE, Tree(&["w"]), Passes]);
    assert_eq!((done.outcome(), Earlier::of(&done.run)), (Some(&Outcome::Done), None));
}

#[test]
fn a_task_that_was_broken_off_is_handed_over() {
    let working = [Chosen("a"), Ready, Submitted];
    let quota =
        Play::new(Policy { max_switches: 0, ..Policy::default() }).go(&working).go(&[QUOTA, Tree(&["x"])]);
    let late = Play::new(Policy { time_secs: 60, ..Policy::default() })
        .go(&working)
        .go(&[Passing(60), Tree(&["x"])]);
    let asked = Play::new(Policy::default()).go(&working).go(&[ASKS, Tree(&["x"]), Fails("E"), Passing(600)]);
    let table = [
        (quota, "quota used up"),
        (late, "the time of the run is up; split the task, or allow more time"),
        (asked, "it was not done yet"),
    ];
    for (play, reason) in table {
        let (_, text) = told(Earlier::of(&play.run).unwrap());
        let text = text.unwrap();
        let head = format!("--- PROVIDER SWITCH CONTEXT ---\nPrevious provider (a) failed: {reason}\n");
        assert!(text.starts_with(&head) && text.contains("created: x\n"), "{text}");
    }
    // Where nobody tried there is nothing to tell.
    assert_eq!(Earlier::of(&Play::new(Policy::default()).go(&[Cancels]).run), None);
    assert_eq!(Earlier::of(&Play::new(Policy::default()).go(&FIRST).run), None, "it goes on");
}

#[test]
fn every_fallback_is_an_attempt_record() {
    let play = Play::new(Policy::default()).go(&[Chosen("a"), Ready, Submitted, QUOTA, Tree(&["x"])]);
    let play = play.go(&[Chosen("b"), Ready, Submitted, IDLE, Tree(&["y"]), Fails("E")]);
    let records = play.run.executions();
    let rows: Vec<_> = records
        .iter()
        .map(|record| {
            let files = record.files_created.join(",");
            (record.attempt, record.provider.as_str(), record.status, files, record.validation_errors.len())
        })
        .collect();
    assert_eq!(
        rows,
        [
            (1, "a", Status::Failed, "x".to_owned(), 0),
            (1, "b", Status::Failed, "y".to_owned(), 1),
            (2, "b", Status::Running, String::new(), 0),
        ]
    );
    let reasons: Vec<_> = records.iter().map(|record| record.exit_reason.as_deref()).collect();
    assert_eq!(reasons, [Some("quota used up"), Some("idle"), None]);
}
