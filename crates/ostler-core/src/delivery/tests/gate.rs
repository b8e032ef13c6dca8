//! When text may be typed.

use super::*;

#[test]
fn every_gate_keeps_text_out() {
    for (state, shut) in [
        (State::Starting, HoldReason::Starting),
        (State::Working, HoldReason::Working),
        (State::Blocked, HoldReason::Blocked),
        (State::Limited, HoldReason::Limited),
        (State::Unknown, HoldReason::Unknown),
    ] {
        let mut delivery = Delivery::new(Mode::WhenIdle, policy());
        assert_eq!(play(&mut delivery, &[(0, Event::Looked, view(state, ComposerView::Empty))]), []);
        assert_eq!(delivery.shut(), Some(shut));
    }
    let mut delivery = Delivery::new(Mode::Now, policy());
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, view(State::Blocked, ComposerView::Empty))]), []);
    assert_eq!(delivery.shut(), Some(HoldReason::Blocked), "in no mode is a dialog answered");
    for sight in [ComposerView::Foreign, ComposerView::Ours, ComposerView::Part] {
        assert_eq!(play(&mut delivery, &[(0, Event::Looked, view(State::Idle, sight))]), []);
        assert_eq!(delivery.shut(), Some(HoldReason::Draft), "nobody's draft is submitted: {sight:?}");
    }
    let person =
        View { situation: Situation { person: true, ..IDLE }, ..view(State::Idle, ComposerView::Empty) };
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, person)]), []);
    assert_eq!(delivery.shut(), Some(HoldReason::Person));
}

#[test]
fn an_agent_that_was_never_recognised_is_typed_into_only_on_request() {
    let lost = Situation { state: State::Unknown, unrecognised: true, ..IDLE };
    let unseen = View { situation: lost, ..view(State::Unknown, ComposerView::Hidden) };
    let mut waits = Delivery::new(Mode::WhenIdle, policy());
    assert_eq!(play(&mut waits, &[(0, Event::Looked, unseen), (90_000, Event::Looked, unseen)]), []);
    assert_eq!(waits.shut(), Some(HoldReason::Unrecognised));
    // Also where other signs say that it rests.
    let idle = View { situation: Situation { unrecognised: true, ..IDLE }, ..unseen };
    assert_eq!(play(&mut waits, &[(91_000, Event::Looked, idle)]), []);
    assert_eq!(waits.shut(), Some(HoldReason::Unrecognised));
    let mut early = Delivery::new(Mode::Now, policy());
    let soon = view(State::Idle, ComposerView::Hidden);
    assert_eq!(play(&mut early, &[(0, Event::Looked, soon)]), []);
    assert_eq!((early.shut(), early.deadline()), (Some(HoldReason::Hidden), Some(Steady(5_000))));
    assert_eq!(play(&mut early, &[(5_000, Event::Looked, idle)]), [(5_000, Action::Inspect)]);
    let mut blind = Delivery::new(Mode::Now, policy());
    let done = play(
        &mut blind,
        &[
            (0, Event::Looked, unseen),
            (1, RAW, unseen),
            (5, Event::Typed, unseen),
            (205, Event::Looked, unseen),
        ],
    );
    let written = (5, Action::Prove(Proof::Written, ProofEvidence::Ledger));
    let enter = (205, Action::Type(Write::Enter));
    assert_eq!(done, [(0, Action::Inspect), (1, Action::Type(Write::Body)), written, enter]);
    assert!(blind.is_blind());
    let done = play(&mut blind, &[(210, Event::Typed, unseen), (20_210, Event::Looked, unseen)]);
    assert_eq!(done, [(20_210, Action::Fail(FailReason::Uncertain))], "nothing shows that it was taken");
    // A composer that was seen before is behind something: an editor perhaps.
    let hidden = view(State::Unknown, ComposerView::Hidden);
    let mut behind = Delivery::new(Mode::Now, policy());
    assert_eq!(play(&mut behind, &[(0, Event::Looked, hidden)]), []);
    assert_eq!(behind.shut(), Some(HoldReason::Hidden));
    // What it was started with may be what it works on.
    let given = [(0, Event::Looked, unseen), (60_000, Event::Looked, unseen)];
    assert_eq!(play(&mut Delivery::given(StartupRoute::Argument, policy()), &given), []);
}

#[test]
fn a_cooked_terminal_is_asked_again_later() {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let idle = view(State::Idle, ComposerView::Empty);
    let cooked = Event::Inspected { cooked: true, pending: 0, drawn: 0 };
    let done = play(&mut delivery, &[(0, Event::Looked, idle), (1, cooked, idle)]);
    assert_eq!(done, [(0, Action::Inspect)]);
    assert_eq!((delivery.shut(), delivery.deadline()), (Some(HoldReason::Cooked), Some(Steady(801))));
    assert_eq!(play(&mut delivery, &[(801, Event::Looked, idle)]), [(801, Action::Inspect)]);
}

#[test]
fn nothing_is_typed_into_an_editor_or_a_pager() {
    let pager = View { taken: true, ..view(State::Idle, ComposerView::Empty) };
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, pager), (1, RAW, pager)]), [(0, Action::Inspect)]);
    assert_eq!((delivery.shut(), delivery.deadline()), (Some(HoldReason::Taken), Some(Steady(801))));
    // Whether it still has the terminal is asked again, not remembered.
    let left = view(State::Idle, ComposerView::Empty);
    let done = play(&mut delivery, &[(801, Event::Looked, pager), (802, RAW, left)]);
    assert_eq!(done, [(801, Action::Inspect), (802, Action::Type(Write::Body))]);
    let mut now = Delivery::new(Mode::Now, policy());
    let done = play(&mut now, &[(0, Event::Looked, pager), (1, RAW, pager)]);
    assert_eq!(done.last(), Some(&(1, Action::Type(Write::Body))), "a person wants it so");
}

#[test]
fn what_was_asked_while_something_else_is_typed_is_asked_again() {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let idle = view(State::Idle, ComposerView::Empty);
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, idle)]), [(0, Action::Inspect)]);
    delivery.postpone();
    assert!(delivery.is_waiting());
    assert_eq!(play(&mut delivery, &[(9, Event::Looked, idle)]), [(9, Action::Inspect)]);
    let mut delivery = written();
    assert_eq!(play(&mut delivery, &[(5_010, Event::Looked, idle)]), [(5_010, Action::Inspect)]);
    delivery.postpone();
    assert_eq!(play(&mut delivery, &[(5_020, Event::Looked, idle)]), [(5_020, Action::Inspect)]);
}

#[test]
fn what_would_be_a_command_in_a_turn_waits_for_its_end() {
    let work = view(State::Working, ComposerView::Empty);
    let mut delivery = Delivery::new(Mode::Queue, policy());
    delivery.wait_for_rest();
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, work)]), []);
    let idle = view(State::Idle, ComposerView::Empty);
    assert_eq!(play(&mut delivery, &[(300, Event::Looked, idle)]), [(300, Action::Inspect)]);
    let mut now = Delivery::new(Mode::Now, policy());
    now.wait_for_rest();
    assert_eq!(play(&mut now, &[(0, Event::Looked, work)]), [(0, Action::Inspect)], "who insists, insists");
}

#[test]
fn an_interrupt_stops_the_turn_once_and_waits_for_rest() {
    let mut delivery = Delivery::new(Mode::Interrupt, policy());
    let work = view(State::Working, ComposerView::Empty);
    let done = play(&mut delivery, &[(0, Event::Looked, work), (5, Event::Typed, work)]);
    assert_eq!(done, [(0, Action::Type(Write::Interrupt))]);
    assert_eq!(play(&mut delivery, &[(100, Event::Looked, work)]), []);
    let idle = view(State::Idle, ComposerView::Empty);
    assert_eq!(play(&mut delivery, &[(300, Event::Looked, idle)]), [(300, Action::Inspect)]);
}
