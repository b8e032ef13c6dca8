use std::collections::BTreeMap;

use super::*;
use crate::deliver::message::Kind;

fn sent(token: &str, text: &str, said: Said) -> Sent {
    let token = Some(token.to_owned()).filter(|token| !token.is_empty());
    let message = Message { id: text.into(), kind: Kind::Line, token, text: text.into() };
    Sent {
        message,
        at: 1.0,
        returned: 2.0,
        said,
        attempts: 1,
        enters: 1,
        evidence: vec![],
        timed: true,
        asked: false,
        acknowledged: false,
    }
}

fn heard(at: f64, prompts: usize, fresh: &[&str]) -> Entry {
    let fresh: Vec<String> = fresh.iter().map(|text| (*text).to_owned()).collect();
    let (path, user, tools) = ("/v1/messages".into(), String::new(), vec!["shell".to_owned()]);
    let event = Event::Received {
        path,
        turn: None,
        reply: None,
        user,
        fresh,
        prompts,
        tools,
        watched: BTreeMap::new(),
    };
    Entry { at, exchange: 1, event }
}

fn counts(sent: &[Sent], log: &[Entry]) -> [usize; 7] {
    let fates = fates(sent, log, &Manners::default());
    let Tally { lost, doubled, merged, corrupted, falsely, failed, first_try, .. } = tally(sent, &fates);
    [lost, doubled, merged, corrupted, falsely, failed, first_try]
}

#[test]
fn what_became_of_messages() {
    use Said::{Failed, Submitted, Uncertain, Waiting};
    let plain = || sent("tka", "tka cafe\u{301}\tx\n", Submitted);
    let other = || sent("tkb", "tkb", Submitted);
    let whole = "tka caf\u{e9} x";
    for (what, sent, log, expected) in [
        ("whole", vec![plain()], vec![heard(1.5, 1, &[whole])], [0, 0, 0, 0, 0, 0, 1]),
        ("lost", vec![plain()], vec![heard(1.5, 1, &["something else"])], [1, 0, 0, 0, 1, 0, 0]),
        (
            "tried again",
            vec![plain()],
            vec![heard(1.5, 1, &[whole]), heard(2.5, 1, &[whole])],
            [0, 0, 0, 0, 0, 0, 1],
        ),
        (
            "doubled",
            vec![plain()],
            vec![heard(1.5, 1, &[whole]), heard(2.5, 2, &[whole])],
            [0, 1, 0, 0, 0, 0, 0],
        ),
        (
            "in one prompt",
            vec![plain(), other()],
            vec![heard(1.5, 1, &["tka caf\u{e9} x tkb"])],
            [0, 0, 2, 0, 0, 0, 0],
        ),
        ("in one turn", vec![plain(), other()], vec![heard(1.5, 2, &[whole, "tkb"])], [0, 0, 2, 0, 0, 0, 0]),
        ("cut", vec![plain()], vec![heard(1.5, 1, &["tka caf"])], [0, 0, 0, 1, 0, 0, 0]),
        (
            "honest",
            vec![sent("tka", "tka", Failed("x".into())), sent("tkb", "tkb", Uncertain("x".into()))],
            vec![],
            [0, 0, 0, 0, 0, 2, 0],
        ),
        ("waiting", vec![sent("tka", "tka", Waiting("x".into()))], vec![], [1, 0, 0, 0, 0, 0, 0]),
    ] {
        assert_eq!(counts(&sent, &log), expected, "{what}");
    }
}

#[test]
fn equal_messages_are_each_heard_once() {
    let twice = [sent("", "y", Said::Submitted), sent("", "y", Said::Submitted)];
    assert_eq!(counts(&twice, &[heard(1.0, 1, &["y"]), heard(2.0, 2, &["y"])]), [0, 0, 0, 0, 0, 0, 2]);
    assert_eq!(counts(&twice, &[heard(1.0, 1, &["y"])]), [1, 0, 0, 0, 1, 0, 1]);
}

#[test]
fn what_the_agent_adds_is_taken_away() {
    let adds = vec![r"(?s)<note>.*</note>\s*".into()];
    let alike = vec![(r"@README\.md".into(), "@READ".into())];
    let manners = Manners::new(&Delivery { adds, alike, ..Delivery::default() }, false).unwrap();
    let sent = [sent("tka", "tka @READ", Said::Submitted)];
    let fates = fates(&sent, &[heard(1.0, 1, &["<note>now</note>\n\ntka @README.md "])], &manners);
    assert_eq!(fates[0].times, 1);
}

#[test]
fn what_an_agent_asks_on_the_side_is_no_second_prompt() {
    let aside = vec!["^Please summarize".to_owned()];
    let manners = Manners::new(&Delivery { aside, ..Delivery::default() }, false).unwrap();
    let sent = [sent("tka", "tka go", Said::Submitted)];
    let log = [heard(1.5, 9, &["tka go", "Please summarize all of it"]), heard(1.6, 1, &["tka go"])];
    let times = |manners: &Manners| fates(&sent, &log, manners)[0].times;
    assert_eq!((times(&manners), times(&Manners::default())), (1, 2));
}
