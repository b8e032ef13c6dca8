//! A play of a program that nobody knows: what it draws and what is typed, what its processes do, and the truth.

use std::sync::Arc;

use ostler_agents::{Observer, RuleBook};
use ostler_core::detector::{Action, Event, Expectations, ProcessSample, Settings};
use ostler_core::{State, Steady};
use ostler_screen::{Screen, Size};

use crate::recordings::score::Said;
use crate::truth::{Interval, Truth};

const BEGIN: u64 = 1_000_000;
/// A look at the processes takes this long.
const LOOK_MS: u64 = 160;
/// A program is started this long after it was decided.
const CHILD_MS: u64 = 50;
/// Nothing more comes for as long behind a play.
const AFTERWARDS_MS: u64 = 5_000;

pub(crate) const COLS: u16 = 80;
pub(crate) const ROWS: u16 = 24;

/// What happens at a moment.
enum Act {
    Draw(String),
    Type { enter: bool },
}

/// A play, written from its begin to its end.
#[derive(Default)]
pub(crate) struct Play {
    now: u64,
    acts: Vec<(u64, Act)>,
    truth: Vec<(u64, State)>,
    processes: Vec<(u64, Option<ProcessSample>)>,
}

impl Play {
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        self.now += ms;
    }

    pub(crate) fn draw(&mut self, text: impl Into<String>) {
        self.acts.push((self.now, Act::Draw(text.into())));
    }

    pub(crate) fn typed(&mut self, enter: bool) {
        self.acts.push((self.now, Act::Type { enter }));
    }

    /// From now on it is so.
    pub(crate) fn is(&mut self, state: State) {
        self.truth.push((self.now, state));
    }

    /// From now on its processes look so; a child is started a moment later.
    pub(crate) fn processes(&mut self, sample: Option<ProcessSample>) {
        self.processes.push((self.now, sample));
    }

    pub(crate) fn truth(&self) -> Truth {
        let ends = self.truth.iter().skip(1).map(|(at, _)| *at).chain([self.now]);
        let interval = |((from, state), to): (&(u64, State), u64)| Interval {
            from: seconds(*from),
            to: seconds(to),
            state: state.to_string(),
            kind: None,
            any: Vec::new(),
        };
        Truth { intervals: self.truth.iter().zip(ends).map(interval).collect(), ..Truth::default() }
    }

    /// What is said of it.
    pub(crate) fn said(&self, book: &Arc<RuleBook>) -> Vec<Said> {
        let (settings, expectations) = (Settings::default(), Expectations::default());
        let mut stage = Stage {
            play: self,
            screen: Screen::new(Size::clamped(COLS, ROWS), 0),
            observer: Observer::new(book.clone(), settings, expectations, None, Steady(BEGIN)),
            reports: Vec::new(),
            said: Vec::new(),
        };
        for (at, act) in &self.acts {
            stage.run_until(*at);
            stage.act(*at, act);
        }
        stage.run_until(self.now + AFTERWARDS_MS);
        stage.said
    }

    fn sample(&self, at: u64) -> Option<ProcessSample> {
        let (since, sample) = self.processes.iter().rev().find(|(since, _)| *since <= at)?;
        let age =
            |sample: ProcessSample| (sample.children > 0).then_some((at - since).saturating_sub(CHILD_MS));
        sample.map(|sample| ProcessSample { newest_child_ms: age(sample), ..sample })
    }
}

struct Stage<'a> {
    play: &'a Play,
    screen: Screen,
    observer: Observer,
    /// Looks at the processes that are under way.
    reports: Vec<u64>,
    said: Vec<Said>,
}

impl Stage<'_> {
    fn run_until(&mut self, until: u64) {
        loop {
            let due = self.observer.deadline().map(|due| due.0 - BEGIN);
            let report = self.reports.first().copied();
            let Some(next) = due.into_iter().chain(report).min().filter(|next| *next <= until) else {
                return;
            };
            let now = Steady(BEGIN + next);
            let actions = if report == Some(next) {
                self.reports.remove(0);
                self.observer.event(Event::Sampled(self.play.sample(next)), now)
            } else {
                self.observer.tick(&mut self.screen, now)
            };
            self.perform(&actions, next);
        }
    }

    fn act(&mut self, at: u64, act: &Act) {
        let now = Steady(BEGIN + at);
        let actions = match act {
            Act::Draw(text) => {
                let signals = self.screen.feed(text.as_bytes());
                self.observer.output(&mut self.screen, &signals, now)
            }
            Act::Type { enter } => self.observer.event(Event::Typed { enter: *enter }, now),
        };
        self.perform(&actions, at);
    }

    fn perform(&mut self, actions: &[Action], at: u64) {
        if actions.contains(&Action::Sample) {
            self.reports.push(at + LOOK_MS);
        }
        if actions.contains(&Action::Announce) {
            let state = self.observer.detector().verdict().state.to_string();
            self.said.push(Said { t: seconds(at), state, kind: None });
        }
    }
}

fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}
