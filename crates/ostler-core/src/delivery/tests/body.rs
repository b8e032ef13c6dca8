//! Up to Enter: whether the text arrived.

use super::*;

#[test]
fn text_is_typed_again_only_when_it_is_proven_missing() {
    let mut delivery = written();
    let gone = view(State::Idle, Sight::Empty);
    assert_eq!(play(&mut delivery, &[(1_000, Event::Looked, gone)]), []);
    assert_eq!(play(&mut delivery, &[(5_010, Event::Looked, gone)]), [(5_010, Action::Inspect)]);
    let unread = Event::Inspected { cooked: false, pending: 7 };
    assert_eq!(play(&mut delivery, &[(5_011, unread, gone)]), [], "the agent has not read it yet");
    assert_eq!(delivery.shut(), Some(Shut::Unread));
    assert_eq!(play(&mut delivery, &[(7_011, Event::Looked, gone)]), [(7_011, Action::Inspect)]);
    assert_eq!(delivery.shut(), Some(Shut::Unread), "until it was asked again");
    assert_eq!(play(&mut delivery.clone(), &[(7_012, RAW, gone)]), [(7_012, Action::Missed)]);
    let mut seen = delivery.clone();
    assert_eq!(play(&mut seen, &[(7_012, Event::Looked, view(State::Idle, Sight::Ours))]).len(), 1);
    assert_eq!(seen.shut(), None);
    let done = play(&mut delivery, &[(7_012, RAW, gone)]);
    assert_eq!((done, delivery.shut()), (vec![(7_012, Action::Missed)], None));
    assert_eq!((delivery.deadline(), delivery.proof()), (Some(Steady(8_012)), Proof::Queued));
    let done = play(&mut delivery, &[(8_012, Event::Looked, gone), (8_013, RAW, gone)]);
    assert_eq!(done, [(8_012, Action::Inspect), (8_013, Action::Type(Write::Body))]);
    assert_eq!(delivery.attempts(), 2);
}

/// What becomes of a delivery on a screen that changes all the time.
fn restless(mut delivery: Delivery, moving: View) -> (u64, Vec<Action>) {
    for now in (1_000..100_000).step_by(100) {
        let moving = View { changed: Steady(now - 50), ..moving };
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
    let uncertain = vec![Action::Give(Up::Uncertain)];
    let moving = |sight| view(State::Idle, sight);
    assert_eq!(restless(written(), moving(Sight::Empty)), (60_100, uncertain.clone()));
    assert_eq!(restless(written(), moving(Sight::Part)), (60_100, uncertain.clone()));
    assert_eq!(restless(written(), moving(Sight::Foreign)), (60_100, vec![Action::Give(Up::Mixed)]));
    assert_eq!(restless(entered(), moving(Sight::Empty)), (60_300, uncertain.clone()));
    // The time of a dialog does not count.
    let mut asked = entered();
    assert_eq!(play(&mut asked, &[(90_000, Event::Looked, view(State::Blocked, Sight::Hidden))]), []);
    let after = View { changed: Steady(90_090), ..moving(Sight::Empty) };
    assert_eq!(play(&mut asked, &[(90_100, Event::Looked, after)]), []);
    let rest = [(92_090, Event::Looked, after)];
    assert_eq!(play(&mut asked, &rest), [(92_090, Action::Give(Up::Uncertain))]);
}

#[test]
fn nothing_is_concluded_from_half_a_frame() {
    let mut delivery = entered();
    let half = View { at_work: true, echoed: true, current: false, ..view(State::Working, Sight::Empty) };
    assert_eq!(play(&mut delivery, &[(300, Event::Looked, half), (30_000, Event::Looked, half)]), []);
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let half = View { current: false, ..view(State::Idle, Sight::Empty) };
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, half)]), []);
}

#[test]
fn words_above_the_composer_prove_nothing_before_the_text_was_seen_in_it() {
    let echoed = View { echoed: true, ..view(State::Idle, Sight::Empty) };
    let done = play(
        &mut written(),
        &[(300, Event::Looked, echoed), (9_000, Event::Looked, echoed), (9_001, RAW, echoed)],
    );
    assert_eq!(done, [(9_000, Action::Inspect), (9_001, Action::Give(Up::Uncertain))]);
    let mut seen = written();
    let ours = view(State::Idle, Sight::Ours);
    let done = play(&mut seen, &[(50, Event::Looked, ours), (90, Event::Looked, echoed)]);
    let proof = Action::Prove(Proof::Submitted, Because::Echoed);
    assert_eq!(
        done,
        [(50, Action::Prove(Proof::Seen, Because::Composer)), (90, proof)],
        "a person was faster"
    );
}
