//! Enter, and what became of it.

use super::*;

#[test]
fn the_usual_way() {
    let mut delivery = entered();
    let work = View { at_work: true, ..view(State::Working, ComposerView::Empty) };
    let done = play(&mut delivery, &[(300, Event::Looked, work)]);
    assert_eq!(done, [(300, Action::Prove(Proof::Submitted, ProofEvidence::WentToWork))]);
    assert!(delivery.is_done());
}

#[test]
fn the_agents_own_word_is_the_best_proof() {
    let mut delivery = entered();
    let work = View { at_work: true, tells_prompts: true, ..view(State::Working, ComposerView::Empty) };
    assert_eq!(play(&mut delivery, &[(300, Event::Looked, work)]), []);
    assert_eq!(delivery.deadline(), Some(Steady(2_300)));
    let told = Event::Reported { by: Witness::Hook };
    let proof = Action::Prove(Proof::Submitted, ProofEvidence::Reported(Witness::Hook));
    assert_eq!(play(&mut delivery.clone(), &[(400, told, work)]), [(400, proof)]);
    // It may stay away; then other signs do.
    let proof = Action::Prove(Proof::Submitted, ProofEvidence::WentToWork);
    assert_eq!(play(&mut delivery, &[(2_300, Event::Looked, work)]), [(2_300, proof)]);
}

#[test]
fn a_dialog_between_text_and_enter_is_not_answered() {
    let mut delivery = written();
    let ours = view(State::Idle, ComposerView::Ours);
    let dialog = view(State::Blocked, ComposerView::Hidden);
    let done = play(
        &mut delivery,
        &[(50, Event::Looked, ours), (100, Event::Looked, dialog), (90_000, Event::Looked, dialog)],
    );
    assert_eq!(done, [(50, Action::Prove(Proof::Seen, ProofEvidence::Composer))]);
    assert_eq!(
        (delivery.shut(), delivery.deadline()),
        (Some(HoldReason::Blocked), None),
        "time does not release it"
    );
    let done = play(&mut delivery, &[(91_000, Event::Looked, ours), (91_100, Event::Looked, ours)]);
    assert_eq!(done, [(91_100, Action::Type(Write::Enter))]);
}

#[test]
fn an_enter_that_was_ignored_is_pressed_again() {
    let mut delivery = entered();
    let ours = view(State::Idle, ComposerView::Ours);
    assert_eq!(play(&mut delivery, &[(300, Event::Looked, ours)]), []);
    assert_eq!(delivery.deadline(), Some(Steady(360)), "a terminal is a moment behind");
    let unread = Event::Inspected { cooked: false, pending: 1, drawn: 0 };
    let done = play(&mut delivery, &[(360, Event::Looked, ours), (361, unread, ours)]);
    assert_eq!(done, [(360, Action::Inspect)], "the first one was not read yet");
    assert_eq!(delivery.deadline(), Some(Steady(1_161)));
    let read = Event::Inspected { cooked: false, pending: 0, drawn: 1_150 };
    let done =
        play(&mut delivery, &[(1_161, Event::Looked, drew(1_150, ours)), (1_162, read, drew(1_150, ours))]);
    assert_eq!(
        done,
        [(1_161, Action::Inspect)],
        "what it drew before it was seen to have read proves nothing"
    );
    assert_eq!(delivery.deadline(), Some(Steady(61_162)));
    let half = View { current: false, ..drew(1_200, ours) };
    assert_eq!(play(&mut delivery, &[(1_200, Event::Looked, half)]), []);
    let again = drew(1_300, ours);
    assert_eq!(play(&mut delivery, &[(1_300, Event::Looked, again)]), []);
    assert_eq!(delivery.deadline(), Some(Steady(3_300)), "it may be at it");
    let done = play(&mut delivery, &[(3_300, Event::Looked, again), (3_310, Event::Typed, again)]);
    assert_eq!((done, delivery.enters()), (vec![(3_300, Action::Type(Write::Enter))], 2));
    // What it drew before the second one says nothing about that.
    let read = Event::Inspected { cooked: false, pending: 0, drawn: 1_300 };
    let done = play(
        &mut delivery,
        &[(3_500, Event::Looked, again), (3_501, read, again), (50_000, Event::Looked, again)],
    );
    assert_eq!(done, [(3_500, Action::Inspect)]);
    let dialog = view(State::Blocked, ComposerView::Hidden);
    assert_eq!(play(&mut delivery, &[(51_000, Event::Looked, dialog), (99_000, Event::Looked, dialog)]), []);
    let gone = view(State::Idle, ComposerView::Empty);
    let done = play(&mut delivery, &[(99_100, Event::Looked, gone)]);
    assert_eq!(done, [(99_100, Action::Fail(FailReason::Uncertain))], "no sign of what became of it");
}

#[test]
fn an_enter_that_became_a_line_break_is_pressed_again() {
    let shaped = |rows, ends_blank| View {
        shape: Some(Shape { rows, ends_blank }),
        ..view(State::Idle, ComposerView::Ours)
    };
    let one = shaped(1, false);
    let mut delivery = written();
    let typed = [(60, Event::Looked, one), (160, Event::Looked, one), (210, Event::Typed, one)];
    let _ = play(&mut delivery, &typed);
    // It grows at once, before anybody could have asked whether the Enter was read; or it scrolls.
    for broken in [shaped(2, true), shaped(1, true)] {
        let done =
            play(&mut delivery.clone(), &[(220, Event::Looked, broken), (2_220, Event::Looked, broken)]);
        assert_eq!(done, [(2_220, Action::Type(Write::Enter))]);
    }
    // Somebody else may have made it grow.
    let unknown = View { shape: None, ..one };
    let done = play(&mut delivery, &[(220, Event::Looked, unknown), (2_220, Event::Looked, unknown)]);
    assert_eq!(done, [(2_220, Action::Inspect)]);
}

#[test]
fn what_was_typed_behind_a_text_is_seen_before_its_enter() {
    let mut delivery = written();
    let (empty, ours) = (view(State::Idle, ComposerView::Empty), view(State::Idle, ComposerView::Ours));
    let raw = |view| View { raw: Some(Steady(1_000)), ..view };
    let moments = [(160, Event::Looked, empty), (161, RAW, empty), (1_001, Event::Looked, raw(empty))];
    assert_eq!(play(&mut delivery, &moments), [(160, Action::Inspect)]);
    // The text is shown; the bytes behind it, which may take it out again, are read and not looked at.
    let shown = raw(drew(1_100, ours));
    let read = Event::Inspected { cooked: false, pending: 0, drawn: 1_100 };
    let moments = [
        (1_100, Event::Looked, shown),
        (1_150, Event::Looked, shown),
        (1_151, read, shown),
        (9_000, Event::Looked, shown),
    ];
    let seen = (1_100, Action::Prove(Proof::Seen, ProofEvidence::Composer));
    assert_eq!(play(&mut delivery, &moments), [seen, (1_150, Action::Inspect)]);
    let done = play(&mut delivery.clone(), &[(61_200, Event::Looked, shown)]);
    assert_eq!(done, [(61_200, Action::Fail(FailReason::Uncertain))]);
    let again = raw(drew(9_100, ours));
    assert_eq!(
        play(&mut delivery.clone(), &[(9_100, Event::Looked, again)]),
        [(9_100, Action::Type(Write::Enter))]
    );
    let gone = raw(drew(9_100, empty));
    let done = play(&mut delivery, &[(9_100, Event::Looked, gone), (14_100, Event::Looked, gone)]);
    assert_eq!(done, [(14_100, Action::Missed)]);
}

/// An agent that has read Enter and stalls for that long: every look until then shows the text as it was.
fn stalled(delivery: &mut Delivery, stall: u64) {
    let ours = view(State::Idle, ComposerView::Ours);
    let looks = (400..stall).step_by(100).map(|at| (at, Event::Looked, ours));
    let moments: Vec<_> = [(360, Event::Looked, ours), (361, RAW, ours)].into_iter().chain(looks).collect();
    assert_eq!(play(delivery, &moments), [(360, Action::Inspect)], "{stall}");
}

#[test]
fn a_stalled_agent_that_has_read_enter_gets_no_second_one() {
    for stall in [2_500, 4_000, 6_000, 10_000, 50_000] {
        // A dialog opens behind the prompt.
        let mut delivery = entered();
        stalled(&mut delivery, stall);
        let dialog = drew(stall, view(State::Blocked, ComposerView::Hidden));
        let looks = [(stall, Event::Looked, dialog), (stall + 90_000, Event::Looked, dialog)];
        assert_eq!((play(&mut delivery, &looks), delivery.enters()), (vec![], 1), "{stall}");
        // A turn begins.
        let mut delivery = entered();
        stalled(&mut delivery, stall);
        let work = View { at_work: true, ..drew(stall, view(State::Working, ComposerView::Empty)) };
        let done = play(&mut delivery, &[(stall, Event::Looked, work)]);
        let submitted = Action::Prove(Proof::Submitted, ProofEvidence::WentToWork);
        assert_eq!((done, delivery.enters()), (vec![(stall, submitted)], 1));
    }
}

#[test]
fn an_enter_that_was_read_and_not_answered_is_uncertain() {
    let mut delivery = entered();
    stalled(&mut delivery, 60_000);
    let ours = view(State::Idle, ComposerView::Ours);
    assert_eq!(delivery.deadline(), Some(Steady(60_361)));
    let done = play(&mut delivery, &[(60_361, Event::Looked, ours)]);
    assert_eq!((done, delivery.enters()), (vec![(60_361, Action::Fail(FailReason::Uncertain))], 1));
}

#[test]
fn an_agent_that_ignores_every_enter_is_said_to() {
    let mut delivery = entered();
    let ours = view(State::Idle, ComposerView::Ours);
    let (mut now, mut enters) = (400, 1);
    loop {
        now += 100;
        let moving = drew(now, ours);
        match delivery.handle(Event::Looked, &moving, Steady(now))[..] {
            [] => {}
            [Action::Inspect] => {
                let read = Event::Inspected { cooked: false, pending: 0, drawn: now };
                assert_eq!(delivery.handle(read, &moving, Steady(now)), []);
            }
            [Action::Type(Write::Enter)] => {
                enters += 1;
                assert_eq!(delivery.handle(Event::Typed, &moving, Steady(now)), []);
            }
            [Action::Fail(up)] => break assert_eq!((up, enters), (FailReason::NotSubmitted, 12)),
            ref other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_dialog_of_the_turn_that_runs_does_not_prove_that_a_text_behind_it_was_taken() {
    for mode in [Mode::Queue, Mode::Now] {
        let working = |sight| View { at_work: true, ..view(State::Working, sight) };
        let mut delivery = Delivery::new(mode, policy());
        let (empty, ours) = (working(ComposerView::Empty), working(ComposerView::Ours));
        let typed = [(0, Event::Looked, empty), (1, RAW, empty), (10, Event::Typed, empty)];
        let entered = [(60, Event::Looked, ours), (160, Event::Looked, ours), (210, Event::Typed, ours)];
        play(&mut delivery, &[typed, entered].concat());
        let dialog = View { at_work: true, ..view(State::Blocked, ComposerView::Hidden) };
        assert_eq!(play(&mut delivery, &[(300, Event::Looked, dialog), (60_000, Event::Looked, dialog)]), []);
        let moving = [62_000, 64_000].map(|at| (at, Event::Looked, drew(at, ours)));
        let looks = [&[(61_000, Event::Looked, ours), (61_001, RAW, ours)][..], &moving].concat();
        let done = play(&mut delivery.clone(), &looks);
        assert_eq!(done, [(61_000, Action::Inspect), (64_000, Action::Type(Write::Enter))], "{mode:?}");
        // It is in the agent's queue, if it has one.
        let done = play(&mut delivery.clone(), &[(61_000, Event::Looked, empty)]);
        assert_eq!(done, [(61_000, Action::Prove(Proof::Seen, ProofEvidence::Kept))], "{mode:?}");
        let steers = View { keeps: false, ..empty };
        let done = play(&mut delivery, &[(61_000, Event::Looked, steers)]);
        assert_eq!(done, [(61_000, Action::Prove(Proof::Submitted, ProofEvidence::Steered))], "{mode:?}");
    }
}

#[test]
fn whatever_stands_in_the_composer_later_a_message_that_was_entered_is_not_called_failed() {
    let foreign = view(State::Idle, ComposerView::Foreign);
    assert_eq!(
        play(&mut entered(), &[(40_000, Event::Looked, foreign)]),
        [(40_000, Action::Fail(FailReason::Uncertain))]
    );
    let echoed = View { echoed: true, ..foreign };
    let proof = |because| [(300, Action::Prove(Proof::Submitted, because))];
    assert_eq!(play(&mut entered(), &[(300, Event::Looked, echoed)]), proof(ProofEvidence::Echoed));
    // An interrupted agent has put it back: Enter again would submit it again.
    let back = View { echoed: true, ..view(State::Idle, ComposerView::Ours) };
    assert_eq!(play(&mut entered(), &[(300, Event::Looked, back)]), proof(ProofEvidence::PutBack));
    // A part of it is left: who knows what was taken.
    let part = View { echoed: true, ..view(State::Idle, ComposerView::Part) };
    assert_eq!(play(&mut entered(), &[(300, Event::Looked, part)]), []);
}

#[test]
fn a_line_is_taken_when_the_program_has_read_it() {
    let lines = Policy { has_composer: false, raw_only: false, ..policy() };
    let mut delivery = Delivery::new(Mode::WhenIdle, lines);
    // The terminal itself shows what is typed.
    let echo = View { echoed: true, ..view(State::Idle, ComposerView::Ours) };
    let hidden = view(State::Idle, ComposerView::Hidden);
    let cooked = |pending| Event::Inspected { cooked: true, pending, drawn: 0 };
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
    assert_eq!(delivery.deadline(), Some(Steady(266)));
    let done = play(&mut delivery, &[(266, Event::Looked, echo), (267, cooked(0), echo)]);
    assert_eq!(
        done,
        [(266, Action::Inspect), (267, Action::Prove(Proof::Submitted, ProofEvidence::LineRead))]
    );
}

#[test]
fn an_agent_that_was_slow_to_take_it_has_as_long_to_go_to_work() {
    let mut delivery = entered();
    let ours = view(State::Idle, ComposerView::Ours);
    let unread = Event::Inspected { cooked: false, pending: 1, drawn: 0 };
    // It hangs, and reads nothing; then it takes the text.
    let hangs =
        play(&mut delivery, &[(3_300, Event::Looked, ours), (3_301, unread, ours), (40_000, unread, ours)]);
    assert_eq!(hangs, [(3_300, Action::Inspect)]);
    let empty = View { changed: Steady(40_100), ..view(State::Idle, ComposerView::Empty) };
    assert_eq!(play(&mut delivery, &[(40_100, Event::Looked, empty), (43_000, Event::Looked, empty)]), []);
    let works = View { at_work: true, ..empty };
    let proof = Action::Prove(Proof::Submitted, ProofEvidence::WentToWork);
    assert_eq!(play(&mut delivery.clone(), &[(44_000, Event::Looked, works)]), [(44_000, proof)]);
    let uncertain = Action::Fail(FailReason::Uncertain);
    assert_eq!(play(&mut delivery, &[(60_000, Event::Looked, empty)]), [(60_000, uncertain)]);
}

#[test]
fn a_command_counts_only_when_its_refusal_would_have_been_seen() {
    let command = || entered().of_command(true);
    let work = View { at_work: true, ..view(State::Working, ComposerView::Empty) };
    let emptied = view(State::Idle, ComposerView::Empty);
    // Who says nothing of unknown commands is believed at once.
    let submitted = |because| Action::Prove(Proof::Submitted, because);
    assert_eq!(
        play(&mut command(), &[(300, Event::Looked, work)]),
        [(300, submitted(ProofEvidence::WentToWork))]
    );
    assert_eq!(
        play(&mut command(), &[(300, Event::Looked, emptied)]),
        [(300, submitted(ProofEvidence::Emptied))]
    );
    // Who would say so is waited for, also when it looks the command up like work.
    let telling = |view| View { tells_refusals: true, ..view };
    let refusing = View { refused: true, ..telling(emptied) };
    for seen in [work, emptied] {
        let mut delivery = command();
        let done =
            play(&mut delivery, &[(300, Event::Looked, telling(seen)), (900, Event::Looked, refusing)]);
        assert_eq!(done, [(900, Action::Fail(FailReason::NotACommand))]);
        let mut delivery = command();
        let done = play(
            &mut delivery,
            &[(300, Event::Looked, telling(seen)), (2_300, Event::Looked, telling(seen))],
        );
        assert!(matches!(done[..], [(2_300, Action::Prove(Proof::Submitted, _))]), "{done:?}");
    }
    // What stands in the composer is taken out first.
    let mut delivery = command();
    let stands = View { refused: true, ..telling(view(State::Idle, ComposerView::Ours)) };
    let done = play(
        &mut delivery,
        &[(300, Event::Looked, stands), (310, Event::Typed, stands), (400, Event::Looked, refusing)],
    );
    assert_eq!(done, [(300, Action::Type(Write::Clear)), (400, Action::Fail(FailReason::NotACommand))]);
}

#[test]
fn enter_behind_a_command_waits_until_the_screen_stands_still() {
    let ours = |at| drew(at, view(State::Idle, ComposerView::Ours));
    let mut delivery = written().of_command(true);
    let looks = [60, 300, 700, 899, 900].map(|at| (at, Event::Looked, ours(at.min(300))));
    let done = play(&mut delivery, &looks);
    let seen = Action::Prove(Proof::Seen, ProofEvidence::Composer);
    assert_eq!(done, [(60, seen), (900, Action::Type(Write::Enter))]);
    // One that never does is not waited for.
    let mut delivery = written().of_command(true);
    let looks: Vec<_> = (0..30).map(|step| 60 + step * 100).map(|at| (at, Event::Looked, ours(at))).collect();
    let done = play(&mut delivery, &looks);
    assert_eq!(done, [(60, seen), (2_160, Action::Type(Write::Enter))]);
}

#[test]
fn what_an_agent_keeps_is_submitted_when_its_own_turn_begins() {
    let kept = || {
        let working = |sight| View { at_work: true, ..view(State::Working, sight) };
        let mut delivery = Delivery::new(Mode::Queue, policy());
        let (empty, ours) = (working(ComposerView::Empty), working(ComposerView::Ours));
        let typed = [(0, Event::Looked, empty), (1, RAW, empty), (10, Event::Typed, empty)];
        let entered = [(60, Event::Looked, ours), (160, Event::Looked, ours), (210, Event::Typed, ours)];
        play(&mut delivery, &[typed, entered].concat());
        let done = play(&mut delivery, &[(300, Event::Looked, empty)]);
        assert_eq!(done, [(300, Action::Prove(Proof::Seen, ProofEvidence::Kept))]);
        assert!(delivery.is_queued_by_agent() && delivery.is_aside());
        delivery
    };
    // What it queues stands above its composer, like what was said.
    let working = View { at_work: true, echoed: true, ..view(State::Working, ComposerView::Empty) };
    let working = [
        (1_000, Event::Looked, working),
        (90_000, Event::Looked, working),
        (90_001, Event::TurnBegan, working),
    ];
    assert_eq!(play(&mut kept(), &working), []);
    let told = Event::Reported { by: Witness::Hook };
    let submitted = |at, because| [(at, Action::Prove(Proof::Submitted, because))];
    let reported = ProofEvidence::Reported(Witness::Hook);
    assert_eq!(play(&mut kept(), &[working[0], (2_000, told, working[0].2)]), submitted(2_000, reported));
    // It rests, and the text stands among what was said, or is back in the composer, or nowhere.
    let idle = view(State::Idle, ComposerView::Empty);
    let looks = |view| [working[0], (2_000, Event::Looked, view), (4_000, Event::Looked, view)];
    let echoed = View { echoed: true, ..idle };
    assert_eq!(play(&mut kept(), &looks(echoed)), submitted(4_000, ProofEvidence::Echoed));
    let mut back = kept();
    assert_eq!(play(&mut back, &looks(view(State::Idle, ComposerView::Ours))), []);
    assert!(back.is_typing() && back.deadline() == Some(Steady(4_100)), "its Enter is next");
    let stopped = View { echoed: true, ..view(State::Idle, ComposerView::Ours) };
    assert_eq!(play(&mut kept(), &looks(stopped)), submitted(4_000, ProofEvidence::PutBack));
    let mut lost = kept();
    assert_eq!(play(&mut lost, &looks(idle)), []);
    let fails = [(7_000, Action::Fail(FailReason::Uncertain))];
    assert_eq!(play(&mut lost, &[(6_999, Event::Looked, idle), (7_000, Event::Looked, idle)]), fails);
    let gone = view(State::Exited, ComposerView::Hidden);
    assert_eq!(
        play(&mut kept(), &[(400, Event::Looked, gone)]),
        [(400, Action::Fail(FailReason::Uncertain))]
    );
}
