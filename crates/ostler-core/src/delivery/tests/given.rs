//! What an agent has from its start.

use super::*;

#[test]
fn what_an_agent_was_started_with_is_typed_only_if_it_did_not_take_it() {
    let given = || Delivery::given(StartupRoute::Argument, policy());
    let work = View { at_work: true, ..view(State::Working, ComposerView::Empty) };
    let proof = (9, Action::Prove(Proof::Submitted, ProofEvidence::WentToWork));
    let starting = view(State::Starting, ComposerView::Hidden);
    assert_eq!(play(&mut given(), &[(0, Event::Looked, starting), (9, Event::Looked, work)]), [proof]);
    let told = Event::Reported { by: Witness::Hook };
    let proof = (9, Action::Prove(Proof::Submitted, ProofEvidence::Reported(Witness::Hook)));
    assert_eq!(play(&mut given(), &[(9, told, starting)]), [proof]);
    // It fills the composer and does not run.
    let done = play(&mut given(), &[(9, Event::Looked, view(State::Idle, ComposerView::Ours))]);
    assert_eq!(done, [(9, Action::Prove(Proof::Seen, ProofEvidence::Composer))]);
    // It is at rest, and has not begun.
    let idle = view(State::Idle, ComposerView::Empty);
    let done = play(
        &mut given(),
        &[(100, Event::Looked, idle), (5_099, Event::Looked, idle), (5_100, Event::Looked, idle)],
    );
    assert_eq!(done, [(5_100, Action::Missed), (5_100, Action::Inspect)]);
    // After a crash it may have begun and ended while nobody watched.
    let mut found = given().unwatched();
    let done = play(&mut found, &[(100, Event::Looked, idle), (5_100, Event::Looked, idle)]);
    assert_eq!(done, [(5_100, Action::Fail(FailReason::Uncertain))]);
    let echoed = View { echoed: true, ..idle };
    let proof = |at| [(at, Action::Prove(Proof::Submitted, ProofEvidence::Echoed))];
    let looks = [(9, Event::Looked, echoed), (2_008, Event::Looked, echoed), (2_009, Event::Looked, echoed)];
    assert_eq!(play(&mut given().unwatched(), &looks), proof(2_009), "it may have yet to go to work");
    for state in [State::Working, State::Blocked, State::Limited] {
        let busy = View { echoed: true, ..view(state, ComposerView::Empty) };
        assert_eq!(play(&mut given(), &[(9, Event::Looked, busy)]), proof(9), "{state:?}");
    }
}

#[test]
fn what_was_once_seen_among_what_was_said_is_not_typed_again() {
    let given = || Delivery::given(StartupRoute::Argument, policy());
    let echoed = |state, sight| View { echoed: true, ..view(state, sight) };
    let proof = |at, because| [(at, Action::Prove(Proof::Submitted, because))];
    // A long reply has moved it out of sight.
    let idle = view(State::Idle, ComposerView::Empty);
    let looks = [
        (100, Event::Looked, echoed(State::Starting, ComposerView::Hidden)),
        (4_000, Event::Looked, idle),
        (5_099, Event::Looked, idle),
        (5_100, Event::Looked, idle),
    ];
    assert_eq!(play(&mut given(), &looks), proof(5_100, ProofEvidence::Echoed));
    // Nobody can tell that it rests, or somebody has begun a draft.
    for (state, sight) in [(State::Unknown, ComposerView::Empty), (State::Idle, ComposerView::Foreign)] {
        let view = echoed(state, sight);
        let mut delivery = given();
        assert_eq!(play(&mut delivery, &[(100, Event::Looked, view)]), []);
        assert_eq!(delivery.deadline(), Some(Steady(5_100)));
        assert_eq!(play(&mut delivery, &[(5_100, Event::Looked, view)]), proof(5_100, ProofEvidence::Echoed));
    }
    // A turn that failed has put it back into the composer.
    let back = [(100, Event::Looked, echoed(State::Idle, ComposerView::Ours))];
    assert_eq!(play(&mut given().unwatched(), &back), proof(100, ProofEvidence::PutBack));
}

#[test]
fn context_waits_for_the_hook_but_not_for_ever() {
    let mut delivery = Delivery::given(StartupRoute::Hook, policy());
    assert!(delivery.awaits_hook());
    let idle = view(State::Idle, ComposerView::Empty);
    let work = View { at_work: true, ..view(State::Working, ComposerView::Empty) };
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, idle), (9_000, Event::Looked, work)]), []);
    let took = (9_100, Action::Prove(Proof::Seen, ProofEvidence::HookTook));
    assert_eq!(play(&mut delivery.clone(), &[(9_100, Event::Taken, work)]), [took]);
    let done = play(&mut delivery, &[(20_000, Event::Looked, idle), (30_000, Event::Looked, idle)]);
    assert_eq!(done, [(30_000, Action::Missed), (30_000, Action::Inspect)]);
}

#[test]
fn what_a_hook_took_is_submitted_with_the_turn_that_begins_then() {
    let taken = || {
        let mut delivery = Delivery::given(StartupRoute::Hook, policy());
        let done = play(&mut delivery, &[(100, Event::Taken, view(State::Starting, ComposerView::Hidden))]);
        assert_eq!(done, [(100, Action::Prove(Proof::Seen, ProofEvidence::HookTook))]);
        assert!(delivery.is_kept() && !delivery.is_given(), "others are typed meanwhile");
        delivery
    };
    let idle = view(State::Idle, ComposerView::Empty);
    let rests = [(1_000, Event::Looked, idle), (60_000, Event::Looked, idle), (600_000, Event::Taken, idle)];
    assert_eq!(play(&mut taken(), &rests), [], "nothing has begun, and nothing is typed");
    let begins = |at| [(at, Action::Prove(Proof::Submitted, ProofEvidence::TurnBegan))];
    let work = View { at_work: true, ..view(State::Working, ComposerView::Empty) };
    assert_eq!(play(&mut taken(), &[rests[0], (2_000, Event::Looked, work)]), begins(2_000));
    assert_eq!(play(&mut taken(), &[rests[0], (2_000, Event::TurnBegan, idle)]), begins(2_000));
    // Another daemon takes over.
    let mut found = Delivery::given(StartupRoute::Hook, policy()).unwatched().held_by_hook();
    assert_eq!(found.proof(), Proof::Seen);
    assert_eq!(play(&mut found, &[rests[1], (61_000, Event::Looked, work)]), begins(61_000));
    let gone = view(State::Exited, ComposerView::Hidden);
    assert_eq!(play(&mut taken(), &[(200, Event::Looked, gone)]), [(200, Action::Fail(FailReason::Ended))]);
}
