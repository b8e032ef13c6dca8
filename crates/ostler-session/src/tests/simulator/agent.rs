//! The stand-in agent behind a terminal.

use std::collections::VecDeque;
use std::time::Duration;

use clap::Parser as _;
use ostler_testkit::stand_in::{App, Effect, Event, Options, Painter, Playbook, Record, Size};

use super::plan::{GHOST, Plan};
use crate::effect::Lane;

/// What a terminal keeps of what was typed.
const READ: usize = 4096;

/// A byte that was typed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Typed {
    pub(super) lane: Lane,
    pub(super) at: u64,
    pub(super) byte: u8,
}

/// A key of a message that did something else than enter a text.
#[derive(Debug)]
pub(super) struct Stray {
    /// When it was looked at.
    pub(super) at: u64,
    /// When it was typed.
    pub(super) typed: u64,
    pub(super) what: String,
    /// Since when the dialog was open that it answered.
    pub(super) open_since: Option<u64>,
}

/// An agent, its terminal's input, and the truth about what it received and did.
#[derive(Debug)]
pub(super) struct Agent {
    app: App,
    painter: Painter,
    size: Size,
    /// When it was started.
    begin: u64,
    /// What was typed and not read, and by whom.
    pub(super) input: VecDeque<Typed>,
    /// What it has taken out of its terminal and not looked at.
    taken: VecDeque<Typed>,
    /// How often it has taken something.
    reads: u64,
    /// After which of its reads it stalls, and for how long, before it looks at what it has read.
    read_stalls: Vec<(u64, u64)>,
    /// A part of it reads on while the rest stalls.
    reads_ahead: bool,
    /// It does nothing until then, but perhaps read.
    pub(super) stalled_until: u64,
    pub(super) log: Vec<(u64, Record)>,
    /// What keys of messages did that they must never do.
    pub(super) strays: Vec<Stray>,
    /// Exit code, once it has ended.
    pub(super) ended: Option<u8>,
}

impl Agent {
    pub(super) fn new(plan: &Plan, size: (u16, u16), now: u64) -> Self {
        let args = std::iter::once("stand-in").chain(plan.agent.iter().map(String::as_str));
        let options = Options::parse_from(args);
        let playbook = Playbook::new(None, options.reply.clone()).unwrap();
        Self {
            app: App::new(options, playbook),
            painter: Painter::default(),
            size: Size { cols: size.0, rows: size.1 },
            begin: now,
            input: VecDeque::new(),
            taken: VecDeque::new(),
            reads: 0,
            read_stalls: plan.read_stalls.clone(),
            reads_ahead: plan.reads_ahead,
            stalled_until: 0,
            log: Vec::new(),
            strays: Vec::new(),
            ended: None,
        }
    }

    pub(super) fn dialog(&self) -> Option<&'static str> {
        self.app.dialog().filter(|_| self.ended.is_none())
    }

    pub(super) fn is_working(&self) -> bool {
        self.app.is_working() && self.ended.is_none()
    }

    /// What was typed and not looked at.
    pub(super) fn unread(&self) -> Vec<u8> {
        self.taken.iter().chain(&self.input).map(|typed| typed.byte).collect()
    }

    /// Whether it has an Enter of a message that it has not looked at.
    pub(super) fn has_enter_in_hand(&self) -> bool {
        self.taken.iter().chain(&self.input).any(|typed| typed.lane == Lane::Message && typed.byte == b'\r')
    }

    pub(super) fn start(&mut self, now: u64) -> Vec<u8> {
        self.handle(now, Event::Started { pid: 7 }, None)
    }

    /// When it does something by itself, or reads what waits for it.
    pub(super) fn wakes(&self, now: u64) -> Option<u64> {
        if self.ended.is_some() {
            return None;
        }
        let reads_on = self.reads_ahead && self.taken.len() < READ;
        if self.stalled_until > now && reads_on && !self.input.is_empty() {
            return Some(now);
        }
        let due = self.app.deadline().map(|due| self.begin + ms(due));
        let reads = (!self.input.is_empty() || !self.taken.is_empty()).then_some(now);
        let wakes = due.into_iter().chain(reads).min()?;
        Some(wakes.max(self.stalled_until))
    }

    /// Nothing holds it up any more.
    pub(super) fn heal(&mut self) {
        self.stalled_until = 0;
        self.read_stalls.clear();
    }

    /// Lets it read, draw and go on; returns what it writes.
    pub(super) fn wake(&mut self, now: u64) -> Vec<u8> {
        if self.ended.is_some() {
            return Vec::new();
        }
        let stalled = now < self.stalled_until;
        if !self.input.is_empty() && (!stalled || self.reads_ahead) && self.taken.len() < READ {
            let room = READ - self.taken.len();
            self.taken.extend(self.input.drain(..self.input.len().min(room)));
            self.reads += 1;
            let stall = self.read_stalls.iter().find(|(read, _)| *read == self.reads && !stalled);
            self.stalled_until = self.stalled_until.max(stall.map_or(0, |(_, long)| now + long));
        }
        if now < self.stalled_until {
            return Vec::new();
        }
        let mut output = Vec::new();
        // Keys of different origin are taken one after the other, so that it is known whose did what.
        while let Some(first) = self.taken.front().copied().filter(|_| self.ended.is_none()) {
            let count = self.taken.iter().take_while(|typed| typed.lane == first.lane).count();
            let last = self.taken[count - 1];
            let read = self.taken.drain(..count).map(|typed| typed.byte).collect();
            output.extend(self.handle(now, Event::Read(read), Some(last)));
        }
        if self.app.deadline().is_some_and(|due| self.begin + ms(due) <= now) {
            output.extend(self.handle(now, Event::Tick, None));
        }
        output
    }

    pub(super) fn hang_up(&mut self, now: u64) -> Vec<u8> {
        self.handle(now, Event::Hangup, None)
    }

    fn handle(&mut self, now: u64, event: Event, by: Option<Typed>) -> Vec<u8> {
        let mut output = Vec::new();
        let elapsed = Duration::from_millis(now - self.begin);
        for effect in self.app.handle(elapsed, event) {
            match effect {
                Effect::Draw => {
                    output.extend(self.painter.paint(&self.app.render(self.size), self.size).into_bytes());
                }
                Effect::Write(bytes) => output.extend(bytes),
                Effect::Log(record) => {
                    if let Some(Typed { lane: Lane::Message, at, .. }) = by {
                        self.strays.extend(self.stray(&record, now, at));
                    }
                    self.log.push((now, record));
                }
                Effect::WriteFile { .. } => {}
                Effect::Exit { code, .. } => self.ended = Some(code),
            }
        }
        output
    }

    /// What a key that was meant for the composer did elsewhere.
    fn stray(&self, record: &Record, at: u64, typed: u64) -> Option<Stray> {
        let opened = |(at, record): &(u64, Record)| matches!(record, Record::Dialog { .. }).then_some(*at);
        match record {
            Record::Answered { kind, choice } => {
                let what = format!("answered the {kind} dialog with {choice:?}");
                Some(Stray { at, typed, what, open_since: self.log.iter().rev().find_map(opened) })
            }
            Record::Submitted { text, .. } if text == GHOST => {
                let what = "submitted what the composer suggested".into();
                Some(Stray { at, typed, what, open_since: None })
            }
            _ => None,
        }
    }
}

/// Whole milliseconds, rounded up: a deadline that is met too early would be met again and again.
fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros().div_ceil(1000)).unwrap()
}
