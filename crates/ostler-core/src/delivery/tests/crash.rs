//! What the next daemon makes of the record, and what the end of a program leaves.

use super::*;

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
