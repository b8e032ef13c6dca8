//! Emptying the composer.

use super::*;

#[test]
fn a_part_of_our_own_text_is_cleared_and_nothing_else() {
    let mut delivery = written();
    let part = view(State::Idle, ComposerView::Part);
    assert_eq!(play(&mut delivery, &[(5_010, Event::Looked, part)]), [(5_010, Action::Type(Write::Clear))]);
    let gone = view(State::Idle, ComposerView::Empty);
    let done = play(&mut delivery, &[(5_020, Event::Typed, part), (5_100, Event::Looked, gone)]);
    assert_eq!(done, [(5_100, Action::Missed)]);
    // What else stands there is what became of it, unless somebody typed, or may have: an earlier daemon did not see.
    let foreign = view(State::Idle, ComposerView::Foreign);
    let cleared = [(5_010, Action::Type(Write::Clear))];
    assert_eq!(play(&mut written(), &[(5_010, Event::Looked, foreign)]), cleared);
    let mixed = [(5_010, Action::Fail(FailReason::Mixed))];
    let touched = View { touched: true, ..foreign };
    assert_eq!(play(&mut written(), &[(5_010, Event::Looked, touched)]), mixed);
    let progress = Progress { attempts: 1, last: Some((Write::Body, true)), ..Progress::default() };
    let mut resumed = Delivery::resumed(Mode::WhenIdle, policy(), progress, Steady(0));
    assert_eq!(play(&mut resumed, &[(5_010, Event::Looked, foreign)]), mixed);
}

#[test]
fn a_refused_command_that_was_being_cleared_is_not_typed_again() {
    let progress =
        Progress { attempts: 1, enters: 1, last: Some((Write::Clear, true)), ..Progress::default() };
    let delivery = Delivery::resumed(Mode::WhenIdle, policy(), progress, Steady(0)).of_command(true);
    let empty = view(State::Idle, ComposerView::Empty);
    let refused = [(100, Action::Fail(FailReason::NotACommand))];
    assert_eq!(play(&mut delivery.clone(), &[(100, Event::Looked, empty)]), refused);
}

#[test]
fn a_text_with_other_signs_is_typed_twice_and_never_entered() {
    let mut delivery = written();
    let garbled = view(State::Idle, ComposerView::Garbled);
    let empty = view(State::Idle, ComposerView::Empty);
    let first = [
        // Its last sign may be on the way.
        (100, Event::Looked, garbled),
        (5_010, Event::Looked, garbled),
        (5_020, Event::Typed, garbled),
        (5_100, Event::Looked, empty),
        (6_100, Event::Looked, empty),
        (6_101, RAW, empty),
    ];
    let done = play(&mut delivery, &first);
    let again = [
        (5_010, Action::Type(Write::Clear)),
        (5_100, Action::Missed),
        (6_100, Action::Inspect),
        (6_101, Action::Type(Write::Body)),
    ];
    assert_eq!(done, again);
    let second = [
        (6_110, Event::Typed, garbled),
        (12_000, Event::Looked, garbled),
        (12_010, Event::Typed, garbled),
        (12_100, Event::Looked, empty),
    ];
    let done = play(&mut delivery, &second);
    assert_eq!(done.last(), Some(&(12_100, Action::Fail(FailReason::Garbled))));
    assert!(!done.iter().any(|(_, action)| *action == Action::Type(Write::Enter)));
}

#[test]
fn a_garbled_text_that_cannot_be_cleared_is_not_entered_either() {
    let mut delivery = written();
    delivery.configure(Policy { can_clear: false, has_composer: false, ..policy() });
    let garbled = view(State::Unknown, ComposerView::Garbled);
    let done = play(&mut delivery, &[(1_000, Event::Looked, garbled), (6_000, Event::Looked, garbled)]);
    assert_eq!(done, [(6_000, Action::Fail(FailReason::Garbled))]);
}

#[test]
fn a_turn_is_not_stopped_to_empty_the_composer() {
    let stops = Policy { clear_stops: true, ..policy() };
    let part = view(State::Working, ComposerView::Part);
    let mut delivery = written();
    delivery.configure(stops);
    assert_eq!(play(&mut delivery, &[(5_010, Event::Looked, part)]), []);
    assert_eq!(delivery.shut(), Some(HoldReason::Working));
    let rested = [(60_000, Event::Looked, view(State::Idle, ComposerView::Part))];
    assert_eq!(play(&mut delivery, &rested), [(60_000, Action::Type(Write::Clear))]);

    let mut other = written();
    assert_eq!(play(&mut other, &[(5_010, Event::Looked, part)]), [(5_010, Action::Type(Write::Clear))]);
}

#[test]
fn an_earlier_message_that_came_back_is_cleared_first() {
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    let earlier = view(State::Idle, ComposerView::Earlier);
    let done = play(&mut delivery, &[(0, Event::Looked, earlier), (1, Event::Typed, earlier)]);
    assert_eq!(done, [(0, Action::Type(Write::Clear))]);
    let empty = view(State::Idle, ComposerView::Empty);
    assert_eq!(play(&mut delivery, &[(50, Event::Looked, empty)]), [(50, Action::Inspect)]);
}

#[test]
fn what_somebody_else_may_have_typed_is_not_cleared() {
    let touched = |sight| View { touched: true, ..view(State::Idle, sight) };
    // A person has called back an earlier prompt.
    let mut delivery = Delivery::new(Mode::WhenIdle, policy());
    assert_eq!(play(&mut delivery, &[(0, Event::Looked, touched(ComposerView::Earlier))]), []);
    assert_eq!(delivery.shut(), Some(HoldReason::Draft));
    // Or has begun with a word that our text has, too.
    let mut delivery = written();
    let gone = view(State::Idle, ComposerView::Empty);
    let looks = [6_000, 8_000, 10_000].map(|at| (at, Event::Looked, drew(at.min(8_000), gone)));
    let done = play(&mut delivery, &[(5_010, Event::Looked, gone), (5_011, RAW, gone)]);
    assert_eq!(done, [(5_010, Action::Inspect)]);
    assert_eq!(play(&mut delivery, &looks), [(10_000, Action::Missed)]);
    assert_eq!(play(&mut delivery, &[(14_000, Event::Looked, touched(ComposerView::Part))]), []);
    assert_eq!(delivery.shut(), Some(HoldReason::Draft));
    // Or has taken away some of ours.
    let done = play(&mut written(), &[(5_010, Event::Looked, touched(ComposerView::Part))]);
    assert_eq!(done, [(5_010, Action::Fail(FailReason::Mixed))]);
}
