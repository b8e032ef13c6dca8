//! A question is answered by a person.

use super::*;

const ASKED: [Next; 5] = [Chosen("a"), Ready, Submitted, ASKS, Tree(&["x"])];

fn question() -> Outcome {
    Outcome::Blocked { kind: Asking::Question, provider: Some("a".into()) }
}

#[test]
fn a_question_behind_work_that_is_right_waits_for_nobody() {
    let play = Play::new(Policy::default()).go(&ASKED[..4]);
    let play = play.go(&[TreeAndWords(&["x"], " Shall I do the rest too? "), Passes]);
    assert_eq!(play.outcome(), Some(&Outcome::Done));
    let [attempt] = play.run.attempts() else { panic!() };
    assert!(attempt.turns[0].asks());
    assert_eq!(attempt.turns[0].words.as_deref(), Some("Shall I do the rest too?"));
}

#[test]
fn a_question_behind_work_that_is_not_right_is_no_reason_to_try_again() {
    let play = Play::new(Policy::default()).go(&ASKED).go(&[Fails("E")]);
    assert_eq!((play.said.last().unwrap().as_str(), play.outcome()), ("check", None));
    assert_eq!(play.run.attempts()[0].status, Status::Running);
    // The answer is worked on, and the checks are run.
    let play = play.go(&[Passing(599), Restarts, Resumes, IDLE, Tree(&["y"]), Fails("E")]);
    assert_eq!(play.said.last().unwrap(), "deliver retry");
    assert_eq!(play.run.attempts()[0].changes().created, ["x", "y"]);
    // Whoever asked and has ended cannot be answered.
    let gone = Play::new(Policy::default()).go(&ASKED).go(&[CRASH, Fails("E")]);
    assert_eq!(gone.said.last().unwrap(), "choose -");
}

#[test]
fn an_answer_that_comes_at_once_is_waited_for_no_more() {
    for (script, old) in [(&ASKED[..4], Tree(&["old"])), (&ASKED[..], Fails("old"))] {
        let play = Play::new(Policy::default()).go(script).go(&[Resumes]);
        assert!(matches!(play.run.phase(), Phase::Agent { stage: Stage::Working, blocked: None, .. }));
        let play = play.go(&[old, IDLE, Tree(&["y"]), Passes]);
        assert_eq!(play.outcome(), Some(&Outcome::Done));
    }
}

#[test]
fn a_blocked_run_goes_on_when_somebody_comes_after_all() {
    let late = || Play::new(Policy::default()).go(&ASKED).go(&[Fails("E"), Passing(600)]);
    let play = late();
    assert_eq!((play.outcome(), play.run.is_final()), (Some(&question()), false));
    assert_eq!((play.run.deadline(), play.run.attempts()[0].status), (None, Status::Abandoned));
    // Days later, and after a restart; the time in between does not count.
    let days = 5 * 24 * 3_600;
    let mut play = play.go(&[Restarts, Passing(days)]);
    assert_eq!(play.run.prompt(Some(Wall(5))), Some(Wall(5)));
    assert!(!play.run.is_blocked(), "it asked in words");
    play = play.go(&[Resumes]);
    assert_eq!((play.outcome(), play.run.attempts()[0].status), (None, Status::Running));
    assert_eq!(play.run.deadline(), Some(Wall((12 * 3_600 + days) * 1_000)));
    let done = play.go(&[IDLE, Tree(&["y"]), Passes]);
    assert_eq!((done.outcome(), done.run.is_final()), (Some(&Outcome::Done), true));
    assert_eq!(done.said.iter().filter(|said| said.starts_with("report")).count(), 3, "{:?}", done.said);
}

#[test]
fn a_report_that_was_made_is_not_made_again() {
    let mut play = Play::new(Policy::default()).go(&[Chosen("a"), BLOCKED, Passing(600)]);
    assert_eq!((play.run.is_parked(), play.run.is_blocked()), (true, true));
    play.run.was_reported();
    let said = play.said.len();
    let play = play.go(&[Restarts, IDLE, BLOCKED, Opens, Ready, Passing(9)]);
    assert_eq!(play.said.len(), said, "{:?}", play.said);
    // The dialog at its start is answered: it is started as ever.
    let play = play.go(&[Resumes, Ready]);
    assert_eq!(play.said.last().unwrap(), "deliver plain");
}

#[test]
fn a_blocked_run_ends_with_its_agent() {
    let late = || Play::new(Policy::default()).go(&ASKED).go(&[Fails("E"), Passing(600)]);
    for stop in [Stop::Ended, Stop::Lost, Stop::Exited { status: Some(1), signal: None }] {
        let play = late().go(&[Stops(stop)]);
        assert_eq!((play.outcome(), play.run.is_final()), (Some(&question()), true));
        assert_eq!((play.run.agent(), play.said.last().unwrap().as_str()), (None, "report blocked"));
    }
    let play = late().go(&[Cancels]);
    assert_eq!((play.outcome(), play.run.is_final()), (Some(&Outcome::Cancelled), true));
    assert_eq!(play.said[play.said.len() - 2..], ["stop", "report cancelled"]);
    // A person who finished it by hand left it in good order.
    let left = Stops(Stop::Exited { status: Some(0), signal: None });
    let play = late().go(&[left, Tree(&["y"]), Passes]);
    assert_eq!((play.outcome(), play.run.attempts()[0].status), (Some(&Outcome::Done), Status::Passed));
}
