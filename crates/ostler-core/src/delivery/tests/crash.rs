//! What the next daemon makes of the record, and what the end of a program leaves.

use super::*;

#[test]
fn after_a_crash_the_ledger_decides() {
    let resume = |last| {
        let progress = Progress { attempts: 1, enters: 1, proof: Proof::Written, last };
        Delivery::resumed(Mode::WhenIdle, policy(), progress, Steady(0))
    };
    let empty = view(State::Idle, ComposerView::Empty);
    let ours = view(State::Idle, ComposerView::Ours);
    let body = resume(Some((Write::Body, false)));
    assert_eq!(play(&mut body.clone(), &[(0, Event::Looked, empty)]), [(0, Action::Inspect)]);
    let seen = (0, Action::Prove(Proof::Seen, ProofEvidence::Composer));
    assert_eq!(play(&mut resume(Some((Write::Body, true))), &[(0, Event::Looked, ours)]), [seen]);
    assert_eq!(play(&mut resume(Some((Write::Body, true))), &[(0, Event::Looked, empty)]), []);
    assert_eq!(play(&mut resume(Some((Write::Enter, false))), &[(0, Event::Looked, ours)]), [seen]);
    let echoed = View { echoed: true, ..empty };
    let proof = (0, Action::Prove(Proof::Submitted, ProofEvidence::Echoed));
    assert_eq!(play(&mut resume(Some((Write::Enter, true))), &[(0, Event::Looked, echoed)]), [proof]);
    let done = play(&mut resume(Some((Write::Enter, true))), &[(20_000, Event::Looked, empty)]);
    assert_eq!(done, [(20_000, Action::Fail(FailReason::Uncertain))], "and it is never typed again");
}

#[test]
fn after_a_crash_an_enter_before_the_last_one_counts() {
    let last = Some((Write::Enter, false));
    let progress = Progress { attempts: 1, enters: 2, proof: Proof::Seen, last };
    let delivery = Delivery::resumed(Mode::WhenIdle, policy(), progress, Steady(0));
    // The second one was about to be pressed; the first one may have been taken, and its prompt answered.
    let empty = view(State::Idle, ComposerView::Empty);
    let moments = [(5_000, Event::Looked, empty), (5_001, RAW, empty), (20_000, Event::Looked, empty)];
    assert_eq!(play(&mut delivery.clone(), &moments), [(20_000, Action::Fail(FailReason::Uncertain))]);
    // The text still stands there: the second one is pressed after all, and counts once.
    let ours = view(State::Idle, ComposerView::Ours);
    let mut delivery = delivery;
    let again = drew(4_000, ours);
    let looks = [(3_000, Event::Looked, ours), (3_001, RAW, ours), (4_000, Event::Looked, again)];
    assert_eq!(play(&mut delivery, &looks), [(3_000, Action::Inspect)]);
    assert_eq!(play(&mut delivery, &[(6_000, Event::Looked, again)]), [(6_000, Action::Type(Write::Enter))]);
    assert_eq!(delivery.enters(), 2);
}

#[test]
fn after_a_crash_a_turn_is_not_interrupted_again() {
    let resume = |done| {
        let last = Some((Write::Interrupt, done));
        let progress = Progress { attempts: 0, enters: 0, proof: Proof::Queued, last };
        Delivery::resumed(Mode::Interrupt, policy(), progress, Steady(0))
    };
    let work = view(State::Working, ComposerView::Empty);
    // The key is in the terminal: once more it may mean something else.
    let moments = [(0, Event::Looked, work), (20_000, Event::Looked, work), (40_000, Event::Looked, work)];
    assert_eq!(play(&mut resume(true), &moments), []);
    assert_eq!(play(&mut resume(false), &moments[..1]), [(0, Action::Type(Write::Interrupt))]);
}

#[test]
fn an_enter_that_could_not_be_recorded_is_thought_over_again() {
    let mut delivery = written();
    let (ours, dialog) = (view(State::Idle, ComposerView::Ours), view(State::Blocked, ComposerView::Hidden));
    let _ = play(&mut delivery, &[(60, Event::Looked, ours)]);
    let done = play(&mut delivery.clone(), &[(160, Event::Looked, ours)]);
    assert_eq!(done, [(160, Action::Type(Write::Enter))]);
    delivery.postpone();
    assert_eq!(delivery.enters(), 0);
    // A dialog has come meanwhile, which the Enter would have answered.
    assert_eq!(play(&mut delivery, &[(1_160, Event::Looked, dialog)]), []);
    let done = play(&mut delivery, &[(5_000, Event::Looked, ours), (5_200, Event::Looked, ours)]);
    assert_eq!(done, [(5_200, Action::Type(Write::Enter))]);
    assert_eq!(delivery.enters(), 1);
}

#[test]
fn a_text_that_could_not_be_recorded_was_not_typed() {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let (empty, working) =
        (view(State::Idle, ComposerView::Empty), view(State::Working, ComposerView::Empty));
    let _ = play(&mut delivery, &[(0, Event::Looked, empty)]);
    assert_eq!(play(&mut delivery.clone(), &[(1, RAW, empty)]), [(1, Action::Type(Write::Body))]);
    delivery.postpone();
    assert!(delivery.is_waiting() && delivery.attempts() == 0);
    assert_eq!(play(&mut delivery, &[(1_001, Event::Looked, working)]), []);
    let done = play(&mut delivery, &[(3_000, Event::Looked, empty), (3_001, RAW, empty)]);
    assert_eq!(done, [(3_000, Action::Inspect), (3_001, Action::Type(Write::Body))]);
    assert_eq!(delivery.attempts(), 1);
}

#[test]
fn a_second_enter_that_could_not_be_recorded_leaves_the_first_to_be_confirmed() {
    let mut delivery = entered();
    let ours = view(State::Idle, ComposerView::Ours);
    assert_eq!(play(&mut delivery, &[(3_300, Event::Looked, ours)]), [(3_300, Action::Inspect)]);
    let ours = drew(4_000, ours);
    assert_eq!(play(&mut delivery, &[(3_301, RAW, ours), (4_000, Event::Looked, ours)]), []);
    let again = [(6_000, Event::Looked, ours)];
    assert_eq!(play(&mut delivery.clone(), &again), [(6_000, Action::Type(Write::Enter))]);
    delivery.postpone();
    assert_eq!(delivery.enters(), 1);
    let empty = view(State::Idle, ComposerView::Empty);
    let taken = View { at_work: true, ..empty };
    let proof = Action::Prove(Proof::Submitted, ProofEvidence::WentToWork);
    assert_eq!(play(&mut delivery, &[(6_301, Event::Looked, taken)]), [(6_301, proof)]);
}

#[test]
fn what_was_entered_before_the_end_is_uncertain() {
    let ended = view(State::Exited, ComposerView::Hidden);
    assert_eq!(play(&mut written(), &[(20, Event::Looked, ended)]), [(20, Action::Fail(FailReason::Ended))]);
    assert_eq!(
        play(&mut entered(), &[(300, Event::Looked, ended)]),
        [(300, Action::Fail(FailReason::Uncertain))]
    );
}
