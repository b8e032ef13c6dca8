use proptest::prelude::*;

use super::*;
use crate::Asking;
use crate::awaited::{Awaited, AwaitedThing};
use crate::breaker::Limit;
use crate::detector::Reporter;
use crate::stop_analysis::{Checked, LastWords};

const BEGIN: Wall = Wall(1_800_000_000_000);
const IDLE: Stop = Stop::Idle { asks: false };

/// An agent that is carried on, and what was done about it.
struct Scene {
    machine: Continuation,
    now: Now,
    done: Vec<Action>,
}

impl Scene {
    fn new(terms: Terms) -> Self {
        let now = Now { wall: BEGIN, steady: Steady(1_000) };
        let mut scene = Self { machine: Continuation::default(), now, done: Vec::new() };
        scene.tell(Event::Began(terms));
        scene.tell(Event::Prompted { ours: false });
        scene
    }

    fn tell(&mut self, event: Event) -> &mut Self {
        let actions = self.machine.handle(event, self.now);
        // What is recorded is what the next daemon has.
        let kept = serde_json::to_string(&self.machine).unwrap();
        let read: Continuation = serde_json::from_str(&kept).unwrap();
        assert_eq!(Continuation { due: self.machine.due, ..read }, self.machine);
        self.done.extend(actions);
        self
    }

    fn stops(&mut self, stop: Stop) -> &mut Self {
        let trigger = if is_end(stop) { Trigger::PtyExit } else { Trigger::TurnEnded };
        let (idle_for, exit) = (Duration::ZERO, None);
        self.tell(Event::Stopped(Stopped {
            trigger,
            stop,
            exit,
            last_output: None,
            idle_for,
            last_heartbeat: None,
        }))
    }

    /// It stops, and so much is found out.
    fn stops_with(&mut self, examined: Examined) -> &mut Self {
        self.stops(IDLE);
        assert!(matches!(self.done.pop(), Some(Action::Examine(_))), "{:?}", self.done);
        self.tell(Event::Examined(examined))
    }

    /// Time passes, and the machine is called whenever it wants to be.
    fn pass(&mut self, seconds: u64) -> &mut Self {
        let end = self.now.steady.plus(Duration::from_secs(seconds));
        while let Some(due) = self.machine.deadline().filter(|due| *due <= end) {
            let step = due.since(self.now.steady);
            self.now = Now { wall: self.now.wall.plus(step), steady: due.max(self.now.steady) };
            self.tell(Event::Tick);
            if let Some(Action::Examine(_)) = self.done.last() {
                // Who looks first finds that there is more to do.
                self.done.pop();
                self.tell(Event::Examined(failing("Not yet.")));
            }
        }
        let step = end.since(self.now.steady);
        self.now = Now { wall: self.now.wall.plus(step), steady: end };
        self
    }

    fn prompts(&self) -> Vec<&str> {
        let prompts = self.done.iter().filter_map(|action| match action {
            Action::Prompt { text, .. } => Some(text.as_str()),
            _ => None,
        });
        prompts.collect()
    }

    fn notes(&self) -> Vec<&str> {
        let notes = self.done.iter().filter_map(|action| match action {
            Action::Notify(why) => Some(why.as_str()),
            _ => None,
        });
        notes.collect()
    }
}

fn failing(said: &str) -> Examined {
    Examined {
        checks: Some(Checked { passed: 0, failed: 1 }),
        failures: vec!["FAILED test_parse".into()],
        changed: Some(true),
        said: Some(said.into()),
        ..Examined::default()
    }
}

fn passing() -> Examined {
    Examined { checks: Some(Checked { passed: 2, failed: 0 }), ..Examined::default() }
}

#[test]
fn an_agent_that_stops_early_is_sent_on_until_its_checks_pass() {
    let goal = Some("Write the parser.".into());
    let mut scene = Scene::new(Terms { goal, checks: vec!["make test".into()], ..Terms::default() });
    scene.stops(IDLE);
    assert_eq!(scene.done, [Action::Examine(vec!["make test".into()])]);
    scene.done.clear();
    scene.tell(Event::Examined(failing("I wrote half of it.")));
    assert_eq!(scene.prompts().len(), 1, "the first one comes at once");
    let text = scene.prompts()[0];
    assert!(text.contains("Write the parser.") && text.contains("- FAILED test_parse"), "{text}");
    scene.tell(Event::Prompted { ours: true }).pass(5).stops_with(failing("The rest is hard."));
    assert_eq!(scene.prompts().len(), 1, "prompts are half a minute apart");
    scene.pass(24);
    assert_eq!(scene.prompts().len(), 1);
    scene.pass(2);
    assert_eq!(scene.prompts().len(), 2);
    scene.tell(Event::Prompted { ours: true }).pass(60).stops_with(passing());
    assert_eq!((scene.prompts().len(), scene.notes()), (2, vec!["done: checks: 2 passed"]));
    scene.pass(100_000);
    assert_eq!(scene.prompts().len(), 2);
}

#[test]
fn one_that_should_not_be_pushed_is_left_to_a_person_and_goes_on_when_answered() {
    let failed = |failure| Stop::TurnFailed { by: Reporter::Transcript, failure, until: None };
    for stop in [Stop::Blocked { kind: Asking::Permission }, failed(Failure::Auth)] {
        let mut scene = Scene::new(Terms::default());
        scene.stops(stop).pass(10_000);
        assert_eq!((scene.prompts().len(), scene.notes().len()), (0, 1), "{stop:?}");
        scene.tell(Event::Resumed).stops_with(failing("Half."));
        assert_eq!(scene.prompts().len(), 1, "{stop:?}");
    }
    // A question is for a person, also where checks fail.
    let mut scene = Scene::new(Terms::default());
    scene.stops_with(Examined { words: LastWords::Asks, ..failing("Which one?") }).pass(10_000);
    assert_eq!((scene.prompts().len(), scene.notes()), (0, vec!["last words: a question"]));
    // Nobody sleeps on what cannot be told.
    let mut scene = Scene::new(Terms::default());
    scene.stops_with(Examined::default()).pass(10_000);
    assert_eq!((scene.prompts().len(), scene.notes()), (0, vec!["nothing tells"]));
    scene.tell(Event::Requested).tell(Event::Examined(Examined::default()));
    assert_eq!(scene.prompts().len(), 1, "who asks for it knows more");
}

#[test]
fn a_limit_is_waited_for_and_the_agent_woken_once_behind_it() {
    let until = BEGIN.plus(Duration::from_hours(3));
    let mut scene = Scene::new(Terms::default());
    scene.stops(Stop::Limited { limit: Limit::Quota, until: Some(until) }).pass(3 * 3_600 + 50);
    assert_eq!((scene.prompts().len(), scene.notes().len()), (0, 0));
    scene.pass(20);
    assert_eq!(scene.prompts().len(), 1);
    scene.pass(100);
    assert_eq!(scene.prompts().len(), 1);
    // The clock is set back and forth meanwhile.
    let mut scene = Scene::new(Terms::default());
    scene.stops(Stop::Limited { limit: Limit::Quota, until: Some(until) }).pass(60);
    scene.now.wall = BEGIN.minus(Duration::from_hours(1));
    scene.pass(3 * 3_600 + 600);
    assert_eq!(scene.prompts().len(), 0);
    scene.now.wall = until.plus(Duration::from_mins(2));
    scene.pass(601);
    assert_eq!(scene.prompts().len(), 1);
    // Where nobody knows the end, it is looked for ever less often.
    let mut scene = Scene::new(Terms { max_turns: 50, ..Terms::default() });
    for prompts in 1..=12 {
        scene.stops(Stop::Limited { limit: Limit::Rate, until: None }).pass(3_700);
        assert_eq!(scene.prompts().len(), prompts);
        scene.tell(Event::Prompted { ours: true });
    }
    assert!(scene.now.wall.since(BEGIN) >= Duration::from_mins(12 * 61));
    // A person has acted meanwhile.
    let mut scene = Scene::new(Terms::default());
    scene.stops(Stop::Limited { limit: Limit::Quota, until: Some(until) }).pass(60);
    scene.tell(Event::Prompted { ours: false }).pass(100_000);
    assert_eq!(scene.prompts().len(), 0);
}

#[test]
fn an_agent_that_says_what_it_waits_for_is_waited_for() {
    let awaited = |until| Awaited { what: AwaitedThing::Time, until, note: None, since: BEGIN };
    let until = BEGIN.plus(Duration::from_hours(1));
    let mut scene = Scene::new(Terms::default());
    let waits = Examined { awaited: Some(awaited(Some(until))), ..failing("I wait for CI.") };
    scene.stops_with(waits).pass(3_500);
    assert_eq!((scene.prompts().len(), scene.notes().len()), (0, 0));
    scene.pass(200);
    assert_eq!(scene.prompts().len(), 1);
    // What it asks for itself it is told again.
    let mut scene = Scene::new(Terms::default());
    let wants_on = Some("the second half".into());
    scene.stops_with(Examined { wants_on, words: LastWords::SaysDone, ..Examined::default() });
    assert!(scene.prompts()[0].contains("- the second half"), "{:?}", scene.prompts());
}

#[test]
fn nothing_is_said_for_ever() {
    // The same words with other numbers, nothing changed.
    let mut scene = Scene::new(Terms { max_turns: 50, ..Terms::default() });
    for turn in 0..7_480 {
        let said = format!("I looked at it for {turn} s.");
        scene.stops_with(Examined { changed: Some(false), ..failing(&said) }).pass(100);
        if scene.prompts().len() <= turn {
            break;
        }
        scene.tell(Event::Prompted { ours: true });
    }
    assert_eq!(scene.prompts().len(), 2, "the third time is the last");
    assert!(scene.notes()[0].starts_with("no progress"), "{:?}", scene.notes());
    // Another message each time, and something changes.
    for (max_turns, expected) in [(3, 3), (1_000, 50)] {
        let mut scene = Scene::new(Terms { max_turns, time_secs: 0, ..Terms::default() });
        for turn in 0..200 {
            scene.stops_with(failing(&"another word ".repeat(turn))).pass(100);
            scene.tell(Event::Prompted { ours: true });
        }
        assert_eq!(scene.prompts().len(), expected);
    }
}

#[test]
fn budgets_end_it_and_are_told_of_before() {
    let stop = |scene: &mut Scene, turn: usize| {
        scene.stops_with(failing(&"word ".repeat(turn))).pass(60);
        scene.tell(Event::Prompted { ours: true });
    };
    let mut scene = Scene::new(Terms { time_secs: 600, max_turns: 50, ..Terms::default() });
    (0..30).for_each(|turn| stop(&mut scene, turn));
    assert_eq!(scene.prompts().len(), 10);
    assert_eq!(scene.notes()[..2], ["480 of 600 seconds are used", "its time of 600 s is up"]);
    let mut scene = Scene::new(Terms { tokens: 1_000, ..Terms::default() });
    for (turn, tokens) in [500, 850, 1_000].into_iter().enumerate() {
        scene.tell(Event::Spent(tokens));
        stop(&mut scene, turn);
    }
    assert_eq!(scene.prompts().len(), 2);
    assert_eq!(scene.notes(), ["850 of 1000 tokens are used", "its budget of 1000 tokens is spent"]);
}

#[test]
fn a_hold_wins_over_everything() {
    let mut scene = Scene::new(Terms::default());
    scene.tell(Event::Held(true)).stops_with(failing("Half.")).pass(10_000);
    assert_eq!(scene.prompts().len(), 0);
    scene.tell(Event::Held(false)).pass(1);
    assert_eq!(scene.prompts().len(), 1, "behind another look");
    // What is being typed is not said again.
    scene.tell(Event::Held(true)).tell(Event::Prompted { ours: true }).tell(Event::Restarted).pass(10_000);
    scene.tell(Event::Held(false)).pass(10_000);
    assert_eq!(scene.prompts().len(), 1);
    // What was found out before a hold may not be so behind it.
    let mut scene = Scene::new(Terms { pause_secs: 600, ..Terms::default() });
    scene.stops_with(failing("Half.")).tell(Event::Prompted { ours: true }).stops_with(failing("More."));
    scene.tell(Event::Held(true)).pass(10_000).tell(Event::Held(false));
    scene.now.steady = scene.now.steady.plus(Duration::from_secs(1));
    scene.tell(Event::Tick).done.clear();
    scene.tell(Event::Examined(passing()));
    assert_eq!((scene.prompts().len(), scene.notes()), (0, vec!["done: checks: 2 passed"]));
}

#[test]
fn what_a_person_stopped_is_theirs_until_they_say_something() {
    let mut scene = Scene::new(Terms::default());
    scene.tell(Event::TakenOver).stops(IDLE).pass(10_000);
    assert_eq!((scene.prompts().len(), scene.done.len()), (0, 0));
    scene.tell(Event::Prompted { ours: false }).stops_with(failing("Half."));
    assert_eq!(scene.prompts().len(), 1);
    let mut scene = Scene::new(Terms::default());
    scene.tell(Event::TakenOver).tell(Event::Requested).tell(Event::Examined(failing("Half.")));
    assert_eq!(scene.prompts().len(), 1);
}

#[test]
fn an_agent_that_is_paused_stays_ended_until_it_is_resumed() {
    let actions = serde_json::from_str(r#"{"incomplete": "pause_agent"}"#).unwrap();
    let mut scene = Scene::new(Terms { actions, ..Terms::default() });
    scene.stops_with(failing("Half."));
    assert!(scene.done.contains(&Action::Pause), "{:?}", scene.done);
    scene.stops(Stop::Exited { status: None, signal: Some(15) }).pass(10_000);
    assert_eq!((scene.prompts().len(), scene.machine.resumes_at(), scene.notes().len()), (0, None, 1));
    assert!(scene.notes()[0].starts_with("it was stopped, as your settings say"), "{:?}", scene.notes());
}

#[test]
fn checks_that_come_to_no_end_are_not_run_for_ever() {
    let mut scene = Scene::new(Terms::default());
    scene.stops(IDLE);
    for _ in 0..10 {
        scene.tell(Event::Restarted);
    }
    let runs = scene.done.iter().filter(|action| matches!(action, Action::Examine(_))).count();
    assert_eq!((runs, scene.notes().len()), (3, 1), "{:?}", scene.done);
    // Nor are those that cannot be run at all.
    let mut scene = Scene::new(Terms::default());
    let trouble = Some("its directory is gone".into());
    scene.stops_with(Examined { trouble, ..failing("Half.") }).pass(10_000);
    assert_eq!((scene.prompts().len(), scene.notes()), (0, vec!["its directory is gone"]));
}

#[test]
fn one_that_a_person_stopped_is_left_alone() {
    let mut scene = Scene::new(Terms::default());
    scene.stops(Stop::Ended).pass(100_000);
    assert!(!scene.machine.is_on() && scene.done.is_empty());
    // Nor is one that ended by itself, as it should.
    let mut scene = Scene::new(Terms::default());
    scene.stops(Stop::Exited { status: Some(0), signal: None }).pass(100_000);
    assert_eq!((scene.machine.resumes_at(), scene.notes().len()), (None, 1));
}

#[test]
fn a_crash_is_mended_three_times_an_hour() {
    let crash = Stop::Exited { status: None, signal: Some(9) };
    let mut scene = Scene::new(Terms::default());
    let mut pauses = Vec::new();
    for prompts in 1..=3 {
        scene.stops(crash);
        let at = scene.machine.resumes_at().unwrap();
        pauses.push(at.since(scene.now.wall).as_secs());
        scene.pass(200);
        assert_eq!(scene.prompts().len(), prompts - 1, "nobody is there to be told");
        scene.machine = scene.machine.clone().in_next_process(scene.now.wall);
        scene.tell(Event::Restarted).pass(40).tell(Event::Prompted { ours: true }).pass(60);
        assert_eq!((scene.prompts().len(), scene.machine.resumes_at()), (prompts, None));
    }
    assert_eq!(pauses, [3, 15, 75]);
    scene.stops(crash);
    assert_eq!(scene.machine.resumes_at(), None);
    assert_eq!(scene.notes(), ["its process was ended by signal 9"]);
    // A person resumes it: it is looked whether it has to go on. An hour later it may come back by itself again.
    scene.machine = scene.machine.clone().in_next_process(scene.now.wall);
    scene.tell(Event::Restarted).pass(100).tell(Event::Prompted { ours: true }).pass(3_600);
    assert_eq!(scene.prompts().len(), 4);
    scene.stops(crash);
    assert!(scene.machine.resumes_at().is_some());
    // One that is done stays ended.
    let mut scene = Scene::new(Terms::default());
    scene.stops_with(passing()).stops(crash);
    assert_eq!(scene.machine.resumes_at(), None);
    // Not while it is held.
    let mut scene = Scene::new(Terms::default());
    scene.tell(Event::Held(true)).stops(crash);
    assert_eq!(scene.machine.resumes_at(), None);
}

fn any_event() -> impl Strategy<Value = Event> {
    let until = prop::option::of((0u64..10_000_000).prop_map(|ahead| Wall(BEGIN.0 + ahead)));
    let stop = prop_oneof![
        Just(IDLE),
        Just(Stop::Idle { asks: true }),
        Just(Stop::Blocked { kind: Asking::Question }),
        Just(Stop::StatusError),
        until.prop_map(|until| Stop::Limited { limit: Limit::Quota, until }),
    ];
    let trigger = Trigger::TurnEnded;
    let stopped = stop.prop_map(move |stop| {
        let (idle_for, exit) = (Duration::ZERO, None);
        Event::Stopped(Stopped { trigger, stop, exit, last_output: None, idle_for, last_heartbeat: None })
    });
    let words = prop_oneof![Just(LastWords::Other), Just(LastWords::WillContinue), Just(LastWords::Stuck)];
    let examined =
        (words, 0u32..3, any::<Option<bool>>(), 0u32..4).prop_map(|(words, failed, changed, said)| {
            let checks = (failed < 2).then_some(Checked { passed: 1, failed });
            Event::Examined(Examined {
                checks,
                changed,
                words,
                said: Some("word ".repeat(said as usize)),
                ..Examined::default()
            })
        });
    prop_oneof![
        4 => stopped,
        4 => examined,
        2 => Just(Event::Prompted { ours: true }),
        1 => Just(Event::Resumed),
        1 => Just(Event::Requested),
        1 => Just(Event::NotDelivered),
        1 => any::<bool>().prop_map(Event::Held),
        1 => Just(Event::Restarted),
    ]
}

proptest! {
    /// Whatever happens: never more prompts than there may be, never two within a pause, none while it is held.
    #[test]
    fn brakes_hold_whatever_happens(events in prop::collection::vec((any_event(), 0u64..2_000), 1..200)) {
        let mut scene = Scene::new(Terms { max_turns: 7, time_secs: 0, ..Terms::default() });
        let mut last: Option<Wall> = None;
        let mut seen = 0;
        for (event, seconds) in events {
            let was_held = scene.machine.is_held();
            scene.tell(event.clone());
            let now = scene.prompts().len();
            if now > seen {
                prop_assert!(!was_held || event == Event::Held(false));
                if let Some(last) = last {
                    prop_assert!(scene.now.wall.since(last) >= Duration::from_secs(30), "{event:?}");
                }
                last = Some(scene.now.wall);
            }
            seen = now;
            scene.pass(seconds);
            let now = scene.prompts().len();
            prop_assert!(now - seen <= 1);
            if now > seen {
                prop_assert!(!scene.machine.is_held());
                last = scene.machine.prompted.max(last);
            }
            seen = now;
        }
        prop_assert!(scene.prompts().len() <= 7);
    }
}
