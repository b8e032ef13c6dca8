use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::State;
use crate::start_plan::Way;

const IDLE: Situation = Situation { state: State::Idle, reachable: true, person: false, unrecognised: false };

fn policy() -> Policy {
    Policy { can_clear: true, enter_delay: Duration::from_millis(100), ..Policy::default() }
}

fn view(state: State, sight: Sight) -> View {
    View {
        situation: Situation { state, ..IDLE },
        sight,
        at_work: false,
        echoed: false,
        repeated: false,
        tells_prompts: false,
        touched: false,
        changed: Timestamp(0),
        current: true,
    }
}

/// Plays a table of moments, events and views, and returns what was done and when.
fn play(delivery: &mut Delivery, table: &[(u64, Event, View)]) -> Vec<(u64, Action)> {
    let mut done = Vec::new();
    for (at, event, view) in table {
        done.extend(delivery.handle(*event, view, Timestamp(*at)).into_iter().map(|action| (*at, action)));
    }
    done
}

const RAW: Event = Event::Inspected { cooked: false, pending: 0 };

/// A delivery whose text was typed at 10.
fn written() -> Delivery {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let idle = view(State::Idle, Sight::Empty);
    let done = play(&mut delivery, &[(0, Event::Looked, idle), (1, RAW, idle), (10, Event::Typed, idle)]);
    let proof = Action::Prove(Proof::Written, Because::Ledger);
    assert_eq!(done, [(0, Action::Inspect), (1, Action::Type(Write::Body)), (10, proof)]);
    delivery
}

/// A delivery whose Enter was typed at 210.
fn entered() -> Delivery {
    let mut delivery = written();
    let ours = view(State::Idle, Sight::Ours);
    let done = play(
        &mut delivery,
        &[(60, Event::Looked, ours), (160, Event::Looked, ours), (210, Event::Typed, ours)],
    );
    let seen = Action::Prove(Proof::Seen, Because::Composer);
    assert_eq!(done, [(60, seen), (160, Action::Type(Write::Enter))]);
    delivery
}

#[test]
fn the_usual_way() {
    let mut delivery = entered();
    let work = View { at_work: true, ..view(State::Working, Sight::Empty) };
    let done = play(&mut delivery, &[(300, Event::Looked, work)]);
    assert_eq!(done, [(300, Action::Prove(Proof::Submitted, Because::WentToWork))]);
    assert!(delivery.is_done());
}

#[test]
fn the_agents_own_word_is_the_best_proof() {
    let mut delivery = entered();
    let work = View { at_work: true, tells_prompts: true, ..view(State::Working, Sight::Empty) };
    assert_eq!(play(&mut delivery, &[(300, Event::Looked, work)]), []);
    assert_eq!(delivery.deadline(), Some(Timestamp(2_300)));
    let told = Event::Told { by: Witness::Hook };
    let proof = Action::Prove(Proof::Submitted, Because::Told(Witness::Hook));
    assert_eq!(play(&mut delivery.clone(), &[(400, told, work)]), [(400, proof)]);
    // It may stay away; then other signs do.
    let proof = Action::Prove(Proof::Submitted, Because::WentToWork);
    assert_eq!(play(&mut delivery, &[(2_300, Event::Looked, work)]), [(2_300, proof)]);
}

#[test]
fn every_gate_keeps_text_out() {
    for (state, shut) in [
        (State::Starting, Shut::Starting),
        (State::Working, Shut::Working),
        (State::Blocked, Shut::Blocked),
        (State::Limited, Shut::Limited),
        (State::Unknown, Shut::Unknown),
    ] {
        let mut delivery = Delivery::new(Mode::WhenIdle, policy());
        assert_eq!(play(&mut delivery, &[(0, Event::Looked, view(state, Sight::Empty))]), []);
        assert_eq!(delivery.shut(), Some(shut));
    }
    let mut delivery = Delivery::new(Mode::Now, policy());
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, view(State::Blocked, Sight::Empty))]), []);
    assert_eq!(delivery.shut(), Some(Shut::Blocked), "in no mode is a dialog answered");
    for sight in [Sight::Foreign, Sight::Ours, Sight::Part] {
        assert_eq!(play(&mut delivery, &[(0, Event::Looked, view(State::Idle, sight))]), []);
        assert_eq!(delivery.shut(), Some(Shut::Draft), "nobody's draft is submitted: {sight:?}");
    }
    let person = View { situation: Situation { person: true, ..IDLE }, ..view(State::Idle, Sight::Empty) };
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, person)]), []);
    assert_eq!(delivery.shut(), Some(Shut::Person));
}

#[test]
fn an_agent_that_was_never_recognised_is_typed_into_only_on_request() {
    let lost = Situation { state: State::Unknown, unrecognised: true, ..IDLE };
    let unseen = View { situation: lost, ..view(State::Unknown, Sight::Hidden) };
    let mut waits = Delivery::new(Mode::WhenIdle, policy());
    assert_eq!(play(&mut waits, &[(0, Event::Looked, unseen), (90_000, Event::Looked, unseen)]), []);
    assert_eq!(waits.shut(), Some(Shut::Unrecognised));
    // Also where other signs say that it rests.
    let idle = View { situation: Situation { unrecognised: true, ..IDLE }, ..unseen };
    assert_eq!(play(&mut waits, &[(91_000, Event::Looked, idle)]), []);
    assert_eq!(waits.shut(), Some(Shut::Unrecognised));
    let mut early = Delivery::new(Mode::Now, policy());
    let soon = view(State::Idle, Sight::Hidden);
    assert_eq!(play(&mut early, &[(0, Event::Looked, soon)]), []);
    assert_eq!((early.shut(), early.deadline()), (Some(Shut::Hidden), Some(Timestamp(5_000))));
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
    let written = (5, Action::Prove(Proof::Written, Because::Ledger));
    let enter = (205, Action::Type(Write::Enter));
    assert_eq!(done, [(0, Action::Inspect), (1, Action::Type(Write::Body)), written, enter]);
    assert!(blind.is_blind());
    let done = play(&mut blind, &[(210, Event::Typed, unseen), (20_210, Event::Looked, unseen)]);
    assert_eq!(done, [(20_210, Action::Give(Up::Uncertain))], "nothing shows that it was taken");
    // A composer that was seen before is behind something: an editor perhaps.
    let hidden = view(State::Unknown, Sight::Hidden);
    let mut behind = Delivery::new(Mode::Now, policy());
    assert_eq!(play(&mut behind, &[(0, Event::Looked, hidden)]), []);
    assert_eq!(behind.shut(), Some(Shut::Hidden));
    // What it was started with may be what it works on.
    let given = [(0, Event::Looked, unseen), (60_000, Event::Looked, unseen)];
    assert_eq!(play(&mut Delivery::given(Way::Argument, policy()), &given), []);
}

#[test]
fn a_cooked_terminal_is_asked_again_later() {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let idle = view(State::Idle, Sight::Empty);
    let cooked = Event::Inspected { cooked: true, pending: 0 };
    let done = play(&mut delivery, &[(0, Event::Looked, idle), (1, cooked, idle)]);
    assert_eq!(done, [(0, Action::Inspect)]);
    assert_eq!((delivery.shut(), delivery.deadline()), (Some(Shut::Cooked), Some(Timestamp(801))));
    assert_eq!(play(&mut delivery, &[(801, Event::Looked, idle)]), [(801, Action::Inspect)]);
}

#[test]
fn what_was_asked_while_something_else_is_typed_is_asked_again() {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let idle = view(State::Idle, Sight::Empty);
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
fn a_dialog_between_text_and_enter_is_not_answered() {
    let mut delivery = written();
    let ours = view(State::Idle, Sight::Ours);
    let dialog = view(State::Blocked, Sight::Hidden);
    let done = play(
        &mut delivery,
        &[(50, Event::Looked, ours), (100, Event::Looked, dialog), (90_000, Event::Looked, dialog)],
    );
    assert_eq!(done, [(50, Action::Prove(Proof::Seen, Because::Composer))]);
    assert_eq!(
        (delivery.shut(), delivery.deadline()),
        (Some(Shut::Blocked), None),
        "time does not release it"
    );
    let done = play(&mut delivery, &[(91_000, Event::Looked, ours), (91_100, Event::Looked, ours)]);
    assert_eq!(done, [(91_100, Action::Type(Write::Enter))]);
}

#[test]
fn a_swallowed_enter_is_repeated_only_while_the_text_stands_there() {
    let mut delivery = entered();
    let ours = view(State::Idle, Sight::Ours);
    assert_eq!(play(&mut delivery, &[(500, Event::Looked, ours)]), []);
    assert_eq!(delivery.deadline(), Some(Timestamp(3_210)), "a screen that did not move may be late");
    // It moved, as for a line break.
    let ours = View { changed: Timestamp(300), ..ours };
    assert_eq!(play(&mut delivery, &[(500, Event::Looked, ours)]), []);
    assert_eq!(delivery.deadline(), Some(Timestamp(1_010)));
    let unread = Event::Inspected { cooked: false, pending: 1 };
    let done = play(&mut delivery, &[(1_010, Event::Looked, ours), (1_011, unread, ours)]);
    assert_eq!(done, [(1_010, Action::Inspect)], "the first one was not read yet");
    assert_eq!(delivery.deadline(), Some(Timestamp(1_811)));
    let again = [(1_811, Event::Looked, ours), (1_812, RAW, ours), (1_820, Event::Typed, ours)];
    let done = play(&mut delivery, &again);
    assert_eq!(done, [(1_811, Action::Inspect), (1_812, Action::Type(Write::Enter))]);
    let dialog = view(State::Blocked, Sight::Hidden);
    assert_eq!(play(&mut delivery, &[(9_000, Event::Looked, dialog), (99_000, Event::Looked, dialog)]), []);
    let gone = view(State::Idle, Sight::Empty);
    let done = play(&mut delivery, &[(99_100, Event::Looked, gone)]);
    assert_eq!(done, [(99_100, Action::Give(Up::Uncertain))], "no sign of what became of it");
}

#[test]
fn a_dialog_of_the_turn_that_runs_does_not_prove_that_a_text_behind_it_was_taken() {
    for mode in [Mode::Queue, Mode::Now] {
        let working = |sight| View { at_work: true, ..view(State::Working, sight) };
        let mut delivery = Delivery::new(mode, policy());
        let (empty, ours) = (working(Sight::Empty), working(Sight::Ours));
        let typed = [(0, Event::Looked, empty), (1, RAW, empty), (10, Event::Typed, empty)];
        let entered = [(60, Event::Looked, ours), (160, Event::Looked, ours), (210, Event::Typed, ours)];
        play(&mut delivery, &[typed, entered].concat());
        let dialog = View { at_work: true, ..view(State::Blocked, Sight::Hidden) };
        assert_eq!(play(&mut delivery, &[(300, Event::Looked, dialog), (60_000, Event::Looked, dialog)]), []);
        let done = play(&mut delivery.clone(), &[(61_000, Event::Looked, ours), (61_001, RAW, ours)]);
        assert_eq!(done, [(61_000, Action::Inspect), (61_001, Action::Type(Write::Enter))], "{mode:?}");
        let because = if mode == Mode::Queue { Because::Kept } else { Because::WentToWork };
        let done = play(&mut delivery, &[(61_000, Event::Looked, empty)]);
        assert_eq!(done, [(61_000, Action::Prove(Proof::Submitted, because))], "{mode:?}");
    }
}

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
    assert_eq!((delivery.deadline(), delivery.proof()), (Some(Timestamp(8_012)), Proof::Queued));
    let done = play(&mut delivery, &[(8_012, Event::Looked, gone), (8_013, RAW, gone)]);
    assert_eq!(done, [(8_012, Action::Inspect), (8_013, Action::Type(Write::Body))]);
    assert_eq!(delivery.attempts(), 2);
}

/// What becomes of a delivery on a screen that changes all the time.
fn restless(mut delivery: Delivery, moving: View) -> (u64, Vec<Action>) {
    for now in (1_000..100_000).step_by(100) {
        let moving = View { changed: Timestamp(now - 50), ..moving };
        let mut actions = delivery.handle(Event::Looked, &moving, Timestamp(now));
        if actions == [Action::Inspect] {
            actions = delivery.handle(RAW, &moving, Timestamp(now));
        }
        if !actions.is_empty() {
            return (now, actions);
        }
        assert!(delivery.deadline().is_some_and(|at| at > Timestamp(now)), "it comes back by itself");
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
    let after = View { changed: Timestamp(90_090), ..moving(Sight::Empty) };
    assert_eq!(play(&mut asked, &[(90_100, Event::Looked, after)]), []);
    let rest = [(92_090, Event::Looked, after)];
    assert_eq!(play(&mut asked, &rest), [(92_090, Action::Give(Up::Uncertain))]);
}

#[test]
fn a_part_of_our_own_text_is_cleared_and_nothing_else() {
    let mut delivery = written();
    let part = view(State::Idle, Sight::Part);
    assert_eq!(play(&mut delivery, &[(5_010, Event::Looked, part)]), [(5_010, Action::Type(Write::Clear))]);
    let gone = view(State::Idle, Sight::Empty);
    let done = play(&mut delivery, &[(5_020, Event::Typed, part), (5_100, Event::Looked, gone)]);
    assert_eq!(done, [(5_100, Action::Missed)]);
    let mut delivery = written();
    let foreign = view(State::Idle, Sight::Foreign);
    assert_eq!(play(&mut delivery, &[(5_010, Event::Looked, foreign)]), [(5_010, Action::Give(Up::Mixed))]);
}

#[test]
fn a_turn_is_not_stopped_to_empty_the_composer() {
    let stops = Policy { clear_stops: true, ..policy() };
    let part = view(State::Working, Sight::Part);
    let mut delivery = written();
    delivery.configure(stops);
    assert_eq!(play(&mut delivery, &[(5_010, Event::Looked, part)]), []);
    assert_eq!(delivery.shut(), Some(Shut::Working));
    let rested = [(60_000, Event::Looked, view(State::Idle, Sight::Part))];
    assert_eq!(play(&mut delivery, &rested), [(60_000, Action::Type(Write::Clear))]);

    let mut other = written();
    assert_eq!(play(&mut other, &[(5_010, Event::Looked, part)]), [(5_010, Action::Type(Write::Clear))]);
}

#[test]
fn an_earlier_message_that_came_back_is_cleared_first() {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let earlier = view(State::Idle, Sight::Earlier);
    let done = play(&mut delivery, &[(0, Event::Looked, earlier), (1, Event::Typed, earlier)]);
    assert_eq!(done, [(0, Action::Type(Write::Clear))]);
    let empty = view(State::Idle, Sight::Empty);
    assert_eq!(play(&mut delivery, &[(50, Event::Looked, empty)]), [(50, Action::Inspect)]);
}

#[test]
fn what_somebody_else_may_have_typed_is_not_cleared() {
    let touched = |sight| View { touched: true, ..view(State::Idle, sight) };
    // A person has called back an earlier prompt.
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, touched(Sight::Earlier))]), []);
    assert_eq!(delivery.shut(), Some(Shut::Draft));
    // Or has begun with a word that our text has, too.
    let mut delivery = written();
    let gone = view(State::Idle, Sight::Empty);
    let done = play(&mut delivery, &[(5_010, Event::Looked, gone), (5_011, RAW, gone)]);
    assert_eq!(done, [(5_010, Action::Inspect), (5_011, Action::Missed)]);
    assert_eq!(play(&mut delivery, &[(9_000, Event::Looked, touched(Sight::Part))]), []);
    assert_eq!(delivery.shut(), Some(Shut::Draft));
    // Or has taken away some of ours.
    let done = play(&mut written(), &[(5_010, Event::Looked, touched(Sight::Part))]);
    assert_eq!(done, [(5_010, Action::Give(Up::Mixed))]);
}

#[test]
fn an_interrupt_stops_the_turn_once_and_waits_for_rest() {
    let mut delivery = Delivery::new(Mode::Interrupt, policy());
    let work = view(State::Working, Sight::Empty);
    let done = play(&mut delivery, &[(0, Event::Looked, work), (5, Event::Typed, work)]);
    assert_eq!(done, [(0, Action::Type(Write::Interrupt))]);
    assert_eq!(play(&mut delivery, &[(100, Event::Looked, work)]), []);
    let idle = view(State::Idle, Sight::Empty);
    assert_eq!(play(&mut delivery, &[(300, Event::Looked, idle)]), [(300, Action::Inspect)]);
}

#[test]
fn after_a_crash_the_ledger_decides() {
    let resume = |last| {
        let progress = Progress { attempts: 1, enters: 1, proof: Proof::Written, last };
        Delivery::resumed(Mode::WhenIdle, policy(), progress, Timestamp(0))
    };
    let empty = view(State::Idle, Sight::Empty);
    let ours = view(State::Idle, Sight::Ours);
    let body = resume(Some((Write::Body, false)));
    assert_eq!(play(&mut body.clone(), &[(0, Event::Looked, empty)]), [(0, Action::Inspect)]);
    let seen = (0, Action::Prove(Proof::Seen, Because::Composer));
    assert_eq!(play(&mut resume(Some((Write::Body, true))), &[(0, Event::Looked, ours)]), [seen]);
    assert_eq!(play(&mut resume(Some((Write::Body, true))), &[(0, Event::Looked, empty)]), []);
    assert_eq!(play(&mut resume(Some((Write::Enter, false))), &[(0, Event::Looked, ours)]), [seen]);
    let echoed = View { echoed: true, ..empty };
    let proof = (0, Action::Prove(Proof::Submitted, Because::Echoed));
    assert_eq!(play(&mut resume(Some((Write::Enter, true))), &[(0, Event::Looked, echoed)]), [proof]);
    let done = play(&mut resume(Some((Write::Enter, true))), &[(20_000, Event::Looked, empty)]);
    assert_eq!(done, [(20_000, Action::Give(Up::Uncertain))], "and it is never typed again");
}

#[test]
fn after_a_crash_an_enter_before_the_last_one_counts() {
    let last = Some((Write::Enter, false));
    let progress = Progress { attempts: 1, enters: 2, proof: Proof::Seen, last };
    let delivery = Delivery::resumed(Mode::WhenIdle, policy(), progress, Timestamp(0));
    // The second one was about to be pressed; the first one may have been taken, and its prompt answered.
    let empty = view(State::Idle, Sight::Empty);
    let moments = [(5_000, Event::Looked, empty), (5_001, RAW, empty), (20_000, Event::Looked, empty)];
    assert_eq!(play(&mut delivery.clone(), &moments), [(20_000, Action::Give(Up::Uncertain))]);
    // The text still stands there: the second one is pressed after all, and counts once.
    let ours = view(State::Idle, Sight::Ours);
    let mut delivery = delivery;
    let done = play(&mut delivery, &[(3_000, Event::Looked, ours), (3_001, RAW, ours)]);
    assert_eq!(done, [(3_000, Action::Inspect), (3_001, Action::Type(Write::Enter))]);
    assert_eq!(delivery.enters(), 2);
}

#[test]
fn what_was_entered_before_the_end_is_uncertain() {
    let ended = view(State::Exited, Sight::Hidden);
    assert_eq!(play(&mut written(), &[(20, Event::Looked, ended)]), [(20, Action::Give(Up::Ended))]);
    assert_eq!(play(&mut entered(), &[(300, Event::Looked, ended)]), [(300, Action::Give(Up::Uncertain))]);
}

#[test]
fn what_an_agent_was_started_with_is_typed_only_if_it_did_not_take_it() {
    let given = || Delivery::given(Way::Argument, policy());
    let work = View { at_work: true, ..view(State::Working, Sight::Empty) };
    let proof = (9, Action::Prove(Proof::Submitted, Because::WentToWork));
    let starting = view(State::Starting, Sight::Hidden);
    assert_eq!(play(&mut given(), &[(0, Event::Looked, starting), (9, Event::Looked, work)]), [proof]);
    let told = Event::Told { by: Witness::Hook };
    let proof = (9, Action::Prove(Proof::Submitted, Because::Told(Witness::Hook)));
    assert_eq!(play(&mut given(), &[(9, told, starting)]), [proof]);
    // It fills the composer and does not run.
    let done = play(&mut given(), &[(9, Event::Looked, view(State::Idle, Sight::Ours))]);
    assert_eq!(done, [(9, Action::Prove(Proof::Seen, Because::Composer))]);
    // It is at rest, and has not begun.
    let idle = view(State::Idle, Sight::Empty);
    let done = play(
        &mut given(),
        &[(100, Event::Looked, idle), (5_099, Event::Looked, idle), (5_100, Event::Looked, idle)],
    );
    assert_eq!(done, [(5_100, Action::Missed), (5_100, Action::Inspect)]);
    // After a crash it may have begun and ended while nobody watched.
    let mut found = given().unwatched();
    let done = play(&mut found, &[(100, Event::Looked, idle), (5_100, Event::Looked, idle)]);
    assert_eq!(done, [(5_100, Action::Give(Up::Uncertain))]);
    let echoed = View { echoed: true, ..idle };
    let proof = |at| [(at, Action::Prove(Proof::Submitted, Because::Echoed))];
    let looks = [(9, Event::Looked, echoed), (2_008, Event::Looked, echoed), (2_009, Event::Looked, echoed)];
    assert_eq!(play(&mut given().unwatched(), &looks), proof(2_009), "it may have yet to go to work");
    for state in [State::Working, State::Blocked, State::Limited] {
        let busy = View { echoed: true, ..view(state, Sight::Empty) };
        assert_eq!(play(&mut given(), &[(9, Event::Looked, busy)]), proof(9), "{state:?}");
    }
}

#[test]
fn what_was_once_seen_among_what_was_said_is_not_typed_again() {
    let given = || Delivery::given(Way::Argument, policy());
    let echoed = |state, sight| View { echoed: true, ..view(state, sight) };
    let proof = |at, because| [(at, Action::Prove(Proof::Submitted, because))];
    // A long reply has moved it out of sight.
    let idle = view(State::Idle, Sight::Empty);
    let looks = [
        (100, Event::Looked, echoed(State::Starting, Sight::Hidden)),
        (4_000, Event::Looked, idle),
        (5_099, Event::Looked, idle),
        (5_100, Event::Looked, idle),
    ];
    assert_eq!(play(&mut given(), &looks), proof(5_100, Because::Echoed));
    // Nobody can tell that it rests, or somebody has begun a draft.
    for (state, sight) in [(State::Unknown, Sight::Empty), (State::Idle, Sight::Foreign)] {
        let view = echoed(state, sight);
        let mut delivery = given();
        assert_eq!(play(&mut delivery, &[(100, Event::Looked, view)]), []);
        assert_eq!(delivery.deadline(), Some(Timestamp(5_100)));
        assert_eq!(play(&mut delivery, &[(5_100, Event::Looked, view)]), proof(5_100, Because::Echoed));
    }
    // A turn that failed has put it back into the composer.
    let back = [(100, Event::Looked, echoed(State::Idle, Sight::Ours))];
    assert_eq!(play(&mut given().unwatched(), &back), proof(100, Because::PutBack));
}

#[test]
fn context_waits_for_the_hook_but_not_for_ever() {
    let mut delivery = Delivery::given(Way::Hook, policy());
    assert!(delivery.awaits_hook());
    let idle = view(State::Idle, Sight::Empty);
    let work = View { at_work: true, ..view(State::Working, Sight::Empty) };
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, idle), (9_000, Event::Looked, work)]), []);
    let took = (9_100, Action::Prove(Proof::Submitted, Because::HookTook));
    assert_eq!(play(&mut delivery.clone(), &[(9_100, Event::Taken, work)]), [took]);
    let done = play(&mut delivery, &[(20_000, Event::Looked, idle), (30_000, Event::Looked, idle)]);
    assert_eq!(done, [(30_000, Action::Missed), (30_000, Action::Inspect)]);
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
fn whatever_stands_in_the_composer_later_a_message_that_was_entered_is_not_called_failed() {
    let foreign = view(State::Idle, Sight::Foreign);
    assert_eq!(
        play(&mut entered(), &[(40_000, Event::Looked, foreign)]),
        [(40_000, Action::Give(Up::Uncertain))]
    );
    let echoed = View { echoed: true, ..foreign };
    let proof = |because| [(300, Action::Prove(Proof::Submitted, because))];
    assert_eq!(play(&mut entered(), &[(300, Event::Looked, echoed)]), proof(Because::Echoed));
    // An interrupted agent has put it back: Enter again would submit it again.
    let back = View { echoed: true, ..view(State::Idle, Sight::Ours) };
    assert_eq!(play(&mut entered(), &[(300, Event::Looked, back)]), proof(Because::PutBack));
    // A part of it is left: who knows what was taken.
    let part = View { echoed: true, ..view(State::Idle, Sight::Part) };
    assert_eq!(play(&mut entered(), &[(300, Event::Looked, part)]), []);
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

#[test]
fn a_line_is_taken_when_the_program_has_read_it() {
    let lines = Policy { has_composer: false, raw_only: false, ..policy() };
    let mut delivery = Delivery::new(Mode::WhenIdle, lines);
    // The terminal itself shows what is typed.
    let echo = View { echoed: true, ..view(State::Idle, Sight::Ours) };
    let hidden = view(State::Idle, Sight::Hidden);
    let cooked = |pending| Event::Inspected { cooked: true, pending };
    let done = play(
        &mut delivery,
        &[
            (0, Event::Looked, hidden),
            (1, cooked(0), hidden),
            (5, Event::Typed, hidden),
            (10, Event::Looked, echo),
            (160, Event::Looked, echo),
            (165, Event::Typed, echo),
            (166, cooked(5), echo),
        ],
    );
    let enter = (160, Action::Type(Write::Enter));
    assert_eq!(done[4..], [enter, (165, Action::Inspect)], "{done:?}");
    assert_eq!(delivery.deadline(), Some(Timestamp(266)));
    let done = play(&mut delivery, &[(266, Event::Looked, echo), (267, cooked(0), echo)]);
    assert_eq!(done, [(266, Action::Inspect), (267, Action::Prove(Proof::Submitted, Because::LineRead))]);
}

/// An agent whose composer works as agents' do, with moods.
#[derive(Debug, Clone)]
struct Agent {
    composer: u32,
    submitted: u32,
    working: bool,
    dialog: bool,
    changed: u64,
}

#[derive(Debug, Clone, Copy)]
enum Mood {
    Takes,
    Drops,
    Delays,
    Dialog,
}

proptest! {
    #[test]
    fn whatever_the_agent_does_the_text_is_submitted_at_most_once(
        moods in prop::collection::vec(prop::sample::select(vec![Mood::Takes, Mood::Drops, Mood::Delays, Mood::Dialog]), 1..40),
        pauses in prop::collection::vec(1u64..4_000, 40..120),
    ) {
        let mut delivery = Delivery::new(Mode::WhenIdle, policy());
        let mut agent = Agent { composer: 0, submitted: 0, working: false, dialog: false, changed: 0 };
        let mut late: Vec<(u64, Write)> = Vec::new();
        let mut moods = moods.into_iter().cycle();
        let mut now = 0;
        let mut proven = false;
        for pause in pauses {
            let mut events = vec![Event::Looked];
            while let Some(event) = events.pop() {
                let sight = match agent.composer {
                    _ if agent.dialog => Sight::Hidden,
                    0 => Sight::Empty,
                    1 => Sight::Ours,
                    _ => Sight::Foreign,
                };
                let state = match (agent.dialog, agent.working) {
                    (true, _) => State::Blocked,
                    (_, true) => State::Working,
                    _ => State::Idle,
                };
                let seen = View { at_work: agent.working, changed: Timestamp(agent.changed), ..view(state, sight) };
                for action in delivery.handle(event, &seen, Timestamp(now)) {
                    match action {
                        Action::Inspect => {
                            let pending = u32::from(!late.is_empty());
                            events.push(Event::Inspected { cooked: false, pending });
                        }
                        Action::Type(write) => {
                            prop_assert!(!agent.dialog, "a dialog was answered with {:?}", write);
                            match moods.next() {
                                Some(Mood::Drops) => {}
                                Some(Mood::Delays) => late.push((now + 1_700, write)),
                                Some(Mood::Dialog) => { agent.dialog = true; agent.changed = now; }
                                _ => late.push((now, write)),
                            }
                            events.push(Event::Typed);
                        }
                        Action::Prove(Proof::Submitted, _) => { prop_assert!(agent.submitted == 1); proven = true; }
                        Action::Prove(..) | Action::Missed | Action::Give(_) => {}
                    }
                }
                late.retain(|(at, write)| {
                    if *at > now || agent.dialog { return true; }
                    agent.changed = now;
                    match write {
                        Write::Body => agent.composer += 1,
                        Write::Enter => { agent.submitted += agent.composer; agent.working |= agent.composer > 0; agent.composer = 0; }
                        Write::Clear => agent.composer = 0,
                        Write::Interrupt => {}
                    }
                    false
                });
            }
            prop_assert!(agent.submitted <= 1, "submitted {} times", agent.submitted);
            if delivery.is_done() { break; }
            // Somebody answers dialogs in the end.
            if agent.dialog && pause > 3_000 { agent.dialog = false; agent.changed = now; }
            now += pause;
        }
        prop_assert!(!proven || agent.submitted == 1);
    }
}
