use super::*;
use proptest::prelude::*;

fn offered(actions: &[Action]) -> Option<&Frame> {
    actions.iter().find_map(|action| match action {
        Action::Offer(frame) => Some(frame),
        Action::Settle(..) | Action::StandDown => None,
    })
}

#[test]
fn replies_go_before_keys_and_keys_before_messages() {
    let mut typing = Typing::default();
    assert_eq!(typing.message(1), []);
    assert_eq!(typing.reply(40, b"r".to_vec()), []);
    let actions = typing.connected(7, 30);
    assert_eq!(offered(&actions), Some(&Frame::Reply { seq: 40, bytes: b"r".to_vec() }));
    assert_eq!(typing.keys(b"a").unwrap(), []);
    assert_eq!(typing.keys(b"b").unwrap(), []);
    let actions = typing.answered(Answer::Written { offset: 1 }, Steady(0));
    assert_eq!(offered(&actions), Some(&Frame::Keys { seq: 8, bytes: b"ab".to_vec() }));
    let actions = typing.answered(Answer::Written { offset: 2 }, Steady(0));
    assert_eq!(offered(&actions), Some(&Frame::Message { seq: 1 }));
    let actions = typing.answered(Answer::Written { offset: 3 }, Steady(0));
    assert_eq!(actions, [Action::Settle(1, Settled::Written { offset: 3, earlier: false })]);
}

#[test]
fn a_query_seen_again_in_the_replayed_output_is_not_answered_again() {
    let mut typing = Typing::default();
    assert_eq!(typing.reply(10, b"old".to_vec()), []);
    assert_eq!(typing.connected(0, 20), []);
    assert_eq!(typing.reply(15, b"old too".to_vec()), []);
    assert!(offered(&typing.reply(25, b"new".to_vec())).is_some());
}

#[test]
fn keys_of_a_lost_connection_are_dropped_and_messages_are_not() {
    let mut typing = Typing::default();
    let _ = typing.connected(0, 0);
    let _ = typing.keys(b"x").unwrap();
    let _ = typing.keys(b"y").unwrap();
    let _ = typing.message(1);
    typing.disconnected();
    assert_eq!(offered(&typing.connected(1, 0)), Some(&Frame::Message { seq: 1 }));
    typing.disconnected();
    assert_eq!(offered(&typing.connected(1, 0)), Some(&Frame::Message { seq: 1 }));
    let actions = typing.answered(Answer::Duplicate { offset: 9 }, Steady(0));
    assert_eq!(actions, [Action::Settle(1, Settled::Written { offset: 9, earlier: true })]);
}

#[test]
fn a_full_holder_is_asked_again_after_a_moment() {
    let mut typing = Typing::default();
    let _ = typing.connected(0, 0);
    let _ = typing.message(1);
    assert_eq!(typing.answered(Answer::Full, Steady(100)), []);
    assert_eq!(typing.deadline(), Some(Steady(120)));
    assert_eq!(typing.tick(Steady(119)), []);
    assert_eq!(typing.tick(Steady(120)), [Action::Offer(Frame::Message { seq: 1 })]);
    assert_eq!(typing.deadline(), None);
}

#[test]
fn too_many_keys_are_refused_and_the_end_fails_what_waits() {
    let mut typing = Typing::default();
    let _ = typing.connected(0, 0);
    let _ = typing.message(1);
    assert!(typing.keys(&vec![b'x'; MAX_KEYS]).is_ok());
    assert_eq!(typing.keys(b"y"), Err(KeysFull));
    assert_eq!(typing.ended(Some(0)), [Action::Settle(1, Settled::Failed(Failure::ProgramEnded))]);
    assert_eq!((typing.messages.len(), &typing.under_way), (0, &None));
}

/// A holder that types what it accepts, loses answers and connections at random, and never types twice.
#[derive(Default)]
struct Holder {
    last: u64,
    typed: Vec<u64>,
}

impl Holder {
    fn offer(&mut self, frame: &Frame) -> Answer {
        let Frame::Message { seq } = frame else { return Answer::Written { offset: 0 } };
        if *seq <= self.last {
            return Answer::Duplicate { offset: 0 };
        }
        self.last = *seq;
        self.typed.push(*seq);
        Answer::Written { offset: 0 }
    }
}

proptest! {
    #[test]
    fn every_message_is_typed_once_in_order_and_settled_once(faults in proptest::collection::vec(0u8..4, 0..200), count in 1u64..30) {
        let mut typing = Typing::default();
        let mut holder = Holder::default();
        let mut settled = Vec::new();
        let mut faults = faults.into_iter();
        let mut actions = VecDeque::from(typing.connected(0, 0));
        for seq in 1..=count {
            actions.extend(typing.message(seq));
        }
        while settled.len() < usize::try_from(count).unwrap() {
            let more = match actions.pop_front() {
                Some(Action::Settle(seq, _)) => { settled.push(seq); vec![] }
                Some(Action::StandDown) => return Err(TestCaseError::fail("stood down")),
                Some(Action::Offer(frame)) => match faults.next() {
                    // The frame never arrives, or arrives and its answer is lost.
                    Some(1) => { typing.disconnected(); actions.clear(); typing.connected(0, 0) }
                    Some(2) => { let _ = holder.offer(&frame); typing.disconnected(); actions.clear(); typing.connected(0, 0) }
                    Some(3) => { let _ = typing.answered(Answer::Full, Steady(0)); typing.tick(Steady(99)) }
                    _ => { let answer = holder.offer(&frame); typing.answered(answer, Steady(0)) }
                },
                None => return Err(TestCaseError::fail("stuck")),
            };
            actions.extend(more);
        }
        let expected: Vec<u64> = (1..=count).collect();
        prop_assert_eq!(&holder.typed, &expected);
        prop_assert_eq!(settled, expected);
    }
}

#[test]
fn a_newer_daemon_is_left_alone() {
    let mut typing = Typing::default();
    let _ = typing.connected(0, 0);
    let _ = typing.message(1);
    assert_eq!(typing.answered(Answer::Stale, Steady(0)), [Action::StandDown]);
    assert_eq!(typing.message(2), []);
    assert_eq!((typing.messages.len(), &typing.under_way), (2, &None));
}

#[test]
fn answers_that_nobody_reads_do_not_pile_up() {
    let mut typing = Typing::default();
    let _ = typing.connected(0, 0);
    for seq in 1..=10_000 {
        let _ = typing.reply(seq, vec![b'r'; 10]);
    }
    let mut answered = 0;
    while offered(&typing.answered(Answer::Written { offset: 0 }, Steady(0))).is_some() {
        answered += 1;
    }
    assert_eq!(answered, 64);
}

#[test]
fn at_the_end_the_owners_record_decides() {
    let end = |typed| {
        let mut typing = Typing::default();
        let _ = (typing.message(4), typing.message(5));
        typing.ended(typed)
    };
    let written = Settled::Written { offset: 0, earlier: true };
    let failed = Settled::Failed(Failure::ProgramEnded);
    assert_eq!(end(Some(4)), [Action::Settle(4, written), Action::Settle(5, failed)]);
    let unknown = Settled::Failed(Failure::Unknown);
    assert_eq!(end(None), [Action::Settle(4, unknown), Action::Settle(5, unknown)]);
}
