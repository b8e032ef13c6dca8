//! Up to Enter: whether the text arrived.

use super::*;

#[test]
fn text_is_typed_again_only_when_it_is_proven_missing() {
    let mut delivery = written();
    let gone = view(State::Idle, ComposerView::Empty);
    assert_eq!(play(&mut delivery, &[(100, Event::Looked, gone)]), []);
    assert_eq!(delivery.deadline(), Some(Steady(160)), "a terminal is a moment behind");
    let unread = Event::Inspected { cooked: false, pending: 7, drawn: 0 };
    let asked = [
        (160, Event::Looked, gone),
        (161, unread, gone),
        (5_100, Event::Looked, gone),
        (5_101, unread, gone),
    ];
    assert_eq!(play(&mut delivery, &asked), [(160, Action::Inspect), (5_100, Action::Inspect)]);
    assert_eq!(delivery.shut(), Some(HoldReason::Unread));
    assert_eq!(play(&mut delivery, &[(7_000, Event::Looked, gone)]), [(7_000, Action::Inspect)]);
    assert_eq!(delivery.shut(), Some(HoldReason::Unread), "until it was asked again");
    let mut seen = delivery.clone();
    assert_eq!(play(&mut seen, &[(7_001, Event::Looked, view(State::Idle, ComposerView::Ours))]).len(), 1);
    assert_eq!(seen.shut(), None);
    // It has read it, and stalls.
    assert_eq!(play(&mut delivery, &[(7_001, RAW, gone), (60_000, Event::Looked, gone)]), []);
    assert_eq!((delivery.shut(), delivery.deadline()), (None, Some(Steady(67_001))));
    let done = play(&mut delivery.clone(), &[(67_001, Event::Looked, gone)]);
    assert_eq!(done, [(67_001, Action::Fail(FailReason::Uncertain))]);
    // It draws, and may have yet to show the text.
    let first = [(60_100, Event::Looked, drew(60_100, gone)), (64_000, Event::Looked, drew(60_100, gone))];
    assert_eq!(play(&mut delivery, &first), []);
    // It draws again, long after, and does not.
    let second = drew(64_100, gone);
    let done = play(&mut delivery, &[(64_100, Event::Looked, second), (66_100, Event::Looked, second)]);
    assert_eq!(done, [(66_100, Action::Missed)]);
    assert_eq!((delivery.deadline(), delivery.proof()), (Some(Steady(67_100)), Proof::Queued));
    let done = play(&mut delivery, &[(67_100, Event::Looked, gone), (67_101, RAW, gone)]);
    assert_eq!(done, [(67_100, Action::Inspect), (67_101, Action::Type(Write::Body))]);
    assert_eq!(delivery.attempts(), 2);
}

#[test]
fn a_text_that_a_stalled_agent_shows_late_is_typed_once() {
    for stall in [4_000, 6_000, 10_000, 50_000] {
        let mut delivery = written();
        let (gone, ours) = (view(State::Idle, ComposerView::Empty), view(State::Idle, ComposerView::Ours));
        let stalled = (200..stall).step_by(100).map(|at| (at, Event::Looked, gone));
        let moments: Vec<_> =
            [(160, Event::Looked, gone), (161, RAW, gone)].into_iter().chain(stalled).collect();
        assert_eq!(play(&mut delivery, &moments), [(160, Action::Inspect)]);
        // It wakes with a frame that does not have the text yet.
        let woken = drew(stall, gone);
        let shown = drew(stall + 700, ours);
        let done = play(&mut delivery, &[(stall, Event::Looked, woken), (stall + 700, Event::Looked, shown)]);
        assert_eq!(done, [(stall + 700, Action::Prove(Proof::Seen, ProofEvidence::Composer))]);
        let done = play(&mut delivery, &[(stall + 800, Event::Looked, shown)]);
        assert_eq!((done, delivery.attempts()), (vec![(stall + 800, Action::Type(Write::Enter))], 1));
    }
}

/// What becomes of a delivery on a screen that changes all the time.
fn restless(mut delivery: Delivery, moving: View) -> (u64, Vec<Action>) {
    for now in (1_000..100_000).step_by(100) {
        let moving = View { changed: Steady(now - 50), drawn: now, ..moving };
        let mut actions = delivery.handle(Event::Looked, &moving, Steady(now));
        if actions == [Action::Inspect] {
            actions = delivery.handle(RAW, &moving, Steady(now));
        }
        if !actions.is_empty() {
            return (now, actions);
        }
        assert!(delivery.deadline().is_some_and(|at| at > Steady(now)), "it comes back by itself");
    }
    panic!("it holds the queue for ever: {delivery:?}");
}

#[test]
fn a_screen_that_never_rests_is_waited_for_but_not_for_ever() {
    let uncertain = vec![Action::Fail(FailReason::Uncertain)];
    let moving = |sight| view(State::Idle, sight);
    assert_eq!(restless(written(), moving(ComposerView::Empty)), (61_000, uncertain.clone()));
    // What is not entered is not submitted, whatever moves.
    for wrong in [ComposerView::Part, ComposerView::Garbled, ComposerView::Foreign] {
        let cleared = vec![Action::Type(Write::Clear)];
        assert_eq!(restless(written(), moving(wrong)), (60_100, cleared), "{wrong:?}");
    }
    let touched = View { touched: true, ..moving(ComposerView::Foreign) };
    assert_eq!(restless(written(), touched), (60_100, vec![Action::Fail(FailReason::Mixed)]));
    assert_eq!(restless(entered(), moving(ComposerView::Empty)), (60_300, uncertain.clone()));
    // The time of a dialog does not count.
    let mut asked = entered();
    assert_eq!(play(&mut asked, &[(90_000, Event::Looked, view(State::Blocked, ComposerView::Hidden))]), []);
    let after = View { changed: Steady(90_090), ..moving(ComposerView::Empty) };
    assert_eq!(play(&mut asked, &[(90_100, Event::Looked, after)]), []);
    let rest = [(92_090, Event::Looked, after)];
    assert_eq!(play(&mut asked, &rest), [(92_090, Action::Fail(FailReason::Uncertain))]);
}

#[test]
fn nothing_is_concluded_from_half_a_frame() {
    let mut delivery = entered();
    let half =
        View { at_work: true, echoed: true, current: false, ..view(State::Working, ComposerView::Empty) };
    assert_eq!(play(&mut delivery, &[(300, Event::Looked, half), (30_000, Event::Looked, half)]), []);
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let half = View { current: false, ..view(State::Idle, ComposerView::Empty) };
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, half)]), []);
}

#[test]
fn words_above_the_composer_prove_nothing_before_the_text_was_seen_in_it() {
    let echoed = View { echoed: true, ..view(State::Idle, ComposerView::Empty) };
    let done = play(
        &mut written(),
        &[(300, Event::Looked, echoed), (301, RAW, echoed), (9_000, Event::Looked, echoed)],
    );
    assert_eq!(done, [(300, Action::Inspect), (9_000, Action::Fail(FailReason::Uncertain))]);
    let mut seen = written();
    let ours = view(State::Idle, ComposerView::Ours);
    let done = play(&mut seen, &[(50, Event::Looked, ours), (90, Event::Looked, echoed)]);
    let proof = Action::Prove(Proof::Submitted, ProofEvidence::Echoed);
    assert_eq!(
        done,
        [(50, Action::Prove(Proof::Seen, ProofEvidence::Composer)), (90, proof)],
        "a person was faster"
    );
}
