//! The stand-in agent behind a terminal.

use std::collections::VecDeque;
use std::time::Duration;

use clap::Parser as _;
use ostler_testkit::stand_in::{App, Effect, Event, Options, Painter, Playbook, Record, Size};

/// What a terminal keeps of what was typed.
const READ: usize = 4096;

/// An agent, its terminal's input, and the truth about what it received and did.
#[derive(Debug)]
pub(super) struct Agent {
    app: App,
    painter: Painter,
    size: Size,
    /// When it was started.
    begin: u64,
    /// What was typed and not read.
    pub(super) input: VecDeque<u8>,
    /// It neither reads nor draws until then.
    pub(super) stalled_until: u64,
    pub(super) log: Vec<(u64, Record)>,
    /// Exit code, once it has ended.
    pub(super) ended: Option<u8>,
}

impl Agent {
    pub(super) fn new(args: &[String], size: (u16, u16), now: u64) -> Self {
        let args = std::iter::once("stand-in").chain(args.iter().map(String::as_str));
        let options = Options::parse_from(args);
        let playbook = Playbook::new(None, options.reply.clone()).unwrap();
        Self {
            app: App::new(options, playbook),
            painter: Painter::default(),
            size: Size { cols: size.0, rows: size.1 },
            begin: now,
            input: VecDeque::new(),
            stalled_until: 0,
            log: Vec::new(),
            ended: None,
        }
    }

    pub(super) fn dialog(&self) -> Option<&'static str> {
        self.app.dialog().filter(|_| self.ended.is_none())
    }

    pub(super) fn is_working(&self) -> bool {
        self.app.is_working() && self.ended.is_none()
    }

    pub(super) fn start(&mut self, now: u64) -> Vec<u8> {
        self.handle(now, Event::Started { pid: 7 })
    }

    /// When it does something by itself, or reads what waits for it.
    pub(super) fn wakes(&self, now: u64) -> Option<u64> {
        if self.ended.is_some() {
            return None;
        }
        let due = self.app.deadline().map(|due| self.begin + ms(due));
        let reads = (!self.input.is_empty()).then_some(now);
        let wakes = due.into_iter().chain(reads).min()?;
        Some(wakes.max(self.stalled_until))
    }

    /// Lets it read, draw and go on; returns what it writes.
    pub(super) fn wake(&mut self, now: u64) -> Vec<u8> {
        if self.ended.is_some() || now < self.stalled_until {
            return Vec::new();
        }
        let mut output = Vec::new();
        if !self.input.is_empty() {
            let read = self.input.drain(..self.input.len().min(READ)).collect();
            output.extend(self.handle(now, Event::Read(read)));
        }
        if self.app.deadline().is_some_and(|due| self.begin + ms(due) <= now) {
            output.extend(self.handle(now, Event::Tick));
        }
        output
    }

    pub(super) fn hang_up(&mut self, now: u64) -> Vec<u8> {
        self.handle(now, Event::Hangup)
    }

    fn handle(&mut self, now: u64, event: Event) -> Vec<u8> {
        let mut output = Vec::new();
        let elapsed = Duration::from_millis(now - self.begin);
        for effect in self.app.handle(elapsed, event) {
            match effect {
                Effect::Draw => {
                    output.extend(self.painter.paint(&self.app.render(self.size), self.size).into_bytes());
                }
                Effect::Write(bytes) => output.extend(bytes),
                Effect::Log(record) => self.log.push((now, record)),
                Effect::WriteFile { .. } => {}
                Effect::Exit { code, .. } => self.ended = Some(code),
            }
        }
        output
    }
}

/// Whole milliseconds, rounded up: a deadline that is met too early would be met again and again.
fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros().div_ceil(1000)).unwrap()
}
