//! The time of a run bounds all of it.

use super::*;

#[test]
fn neither_a_look_nor_the_checks_go_on_when_the_time_is_up() {
    let policy = || Policy { time_secs: 60, ..Policy::default() };
    let table: [(&[Next], &str); 3] =
        [(&FIRST, "check"), (&FIRST[..4], "observe"), (&[Chosen("a"), Ready, Submitted, CRASH], "observe")];
    for (script, last) in table {
        let play = Play::new(policy()).go(script);
        assert_eq!((play.said.last().unwrap().as_str(), play.run.deadline()), (last, Some(Wall(60_000))));
        let play = play.go(&[Passing(59)]);
        assert_eq!(play.outcome(), None);
        let play = play.go(&[Passing(1), Tree(&["late"]), Passes]);
        assert_eq!(play.why(), Some(GiveUp::Time), "after {last}");
        assert_eq!(play.said.last().unwrap(), "report given_up");
    }
}

#[test]
fn the_last_look_is_short_and_belongs_to_the_end() {
    let play = Play::new(Policy { time_secs: 60, ..Policy::default() }).go(&[Chosen("a"), Ready, Submitted]);
    let play = play.go(&[Passing(60)]);
    assert_eq!(play.run.deadline(), Some(Wall(70_000)));
    let late = play.go(&[Passing(10)]);
    assert_eq!((late.why(), late.run.changes().is_empty()), (Some(GiveUp::Time), true));
}

#[test]
fn the_look_before_it_begins_takes_of_its_time() {
    let run = Run::new("do it", Policy { time_secs: 60, ..Policy::default() });
    let mut play = Play { run, now: Wall(50_000), said: vec![], actions: vec![], steps: vec![] };
    play.give(Event::Started { since: Wall(0) });
    let play = play.go(&[Chosen("a"), Ready, Submitted]);
    assert_eq!(play.run.deadline(), Some(Wall(60_000)));
}
