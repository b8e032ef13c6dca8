//! What an agent truly did, and when.
//!
//! The truth comes from what was typed and when ([`Mark`]), and from what the model server received and sent
//! ([`Entry`]). Between two certain moments there is often a stretch in which nobody can know (a dialog is on
//! its way to the screen): such stretches are left out.

use ostler_testkit::model_server::{Entry, Event};
use serde::{Deserialize, Serialize};

use crate::agent::Then;

/// The truth about one recording.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// The agent.
    pub agent: String,
    /// Its release.
    pub version: String,
    /// The scene, with its variant.
    pub scene: String,
    /// What is certain, in order, in seconds of the recording.
    pub intervals: Vec<Interval>,
    /// For people.
    pub notes: Vec<String>,
}

/// A stretch in which the state is certain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// The state.
    pub state: String,
    /// Its kind, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// States that are right as well; includes `state`. Empty if only `state` is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
}

/// Something the driver did or saw, in seconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Just before.
    pub from: f64,
    /// Just after.
    pub to: f64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What the driver did or saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// The session was started.
    Started,
    /// The prompt was there and has settled.
    Ready,
    /// Enter was written behind a prompt.
    Submitted,
    /// A dialog was on the screen.
    DialogSeen {
        /// Its kind.
        kind: String,
    },
    /// A dialog was answered.
    Answered {
        /// What the agent does then.
        then: Then,
    },
    /// The turn was interrupted.
    Interrupted,
    /// Enter was written behind a command of the agent's own.
    Commanded {
        /// It asks the model something.
        asks: bool,
    },
    /// Its turn is over, and another agent works on for it.
    Delegated,
    /// The command is over, or the work of the other agent.
    Settled,
    /// The screen said that the agent has given up.
    GaveUp,
    /// The scene is over.
    Over,
}

/// How long before the driver saw a prompt or a dialog it may have been there already.
const UNSEEN: f64 = 1.0;
/// How long an agent may need to take note of an interrupt or of an answer that ends a turn.
const REACTION: f64 = 0.5;

/// What is too short to be worth a word.
const BRIEF: f64 = 0.05;

/// An event of either log.
enum Fact<'a> {
    Mark(&'a Mark),
    Server(&'a Entry),
}

/// Builds the certain intervals; `zero` is when the recording began.
pub fn intervals(marks: &[Mark], log: &[Entry], zero: f64) -> Vec<Interval> {
    let mut facts: Vec<(f64, Fact<'_>)> = marks.iter().map(|mark| (mark.from, Fact::Mark(mark))).collect();
    facts.extend(main_entries(log).map(|entry| (entry.at, Fact::Server(entry))));
    facts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut book = Book { zero, open: None, done: Vec::new() };
    let mut failing = None;
    for (at, fact) in &facts {
        match fact {
            Fact::Mark(mark) => book.mark(mark, failing, log),
            Fact::Server(Entry { event: Event::LastByte { status, more, .. }, .. }) => {
                failing = (*status != 200).then_some(*status);
                // While an agent waits for a person, what the model does is not what it does.
                if book.state() == Some("blocked") || book.state() == Some("idle") {
                    continue;
                }
                let dialog_next = marks.iter().find(|mark| mark.from > *at).is_some_and(is_dialog);
                if failing.is_some() {
                    book.change(*at, *at, "working", Some("retrying"), &["working", "limited"]);
                } else if dialog_next {
                    book.close(*at);
                } else if !more {
                    book.change(*at, *at, "idle", None, &[]);
                }
            }
            Fact::Server(_) => {
                if failing.take().is_some() && book.state() == Some("working") {
                    book.change(*at, *at, "working", None, &["working", "limited"]);
                }
            }
        }
    }
    book.done.retain(|interval| interval.to - interval.from > BRIEF);
    merged(book.done)
}

/// Makes one of neighbours that say the same.
fn merged(intervals: Vec<Interval>) -> Vec<Interval> {
    let mut merged: Vec<Interval> = Vec::new();
    for interval in intervals {
        match merged.last_mut() {
            Some(last)
                if last.state == interval.state
                    && last.any == interval.any
                    && interval.from - last.to <= BRIEF =>
            {
                last.to = interval.to;
                last.kind = last.kind.take().filter(|kind| interval.kind.as_ref() == Some(kind));
            }
            _ => merged.push(interval),
        }
    }
    merged
}

fn is_dialog(mark: &Mark) -> bool {
    matches!(mark.what, What::DialogSeen { .. })
}

/// Receipts and last bytes of the exchanges that belong to a turn.
fn main_entries(log: &[Entry]) -> impl Iterator<Item = &Entry> {
    let is_main = |exchange: u64| {
        log.iter().any(|entry| {
            entry.exchange == exchange && matches!(entry.event, Event::Received { turn: Some(_), .. })
        })
    };
    log.iter().filter(move |entry| {
        matches!(entry.event, Event::Received { .. } | Event::LastByte { .. }) && is_main(entry.exchange)
    })
}

/// The intervals so far.
struct Book {
    zero: f64,
    open: Option<Interval>,
    done: Vec<Interval>,
}

impl Book {
    fn state(&self) -> Option<&str> {
        self.open.as_ref().map(|interval| interval.state.as_str())
    }

    /// Ends the open interval.
    fn close(&mut self, at: f64) {
        if let Some(mut open) = self.open.take() {
            open.to = round(at - self.zero);
            self.done.push(open);
        }
    }

    fn change(&mut self, until: f64, from: f64, state: &str, kind: Option<&str>, any: &[&str]) {
        self.close(until);
        self.open = Some(Interval {
            from: round((from - self.zero).max(0.0)),
            to: 0.0,
            state: state.to_owned(),
            kind: kind.map(str::to_owned),
            any: any.iter().map(|state| (*state).to_owned()).collect(),
        });
    }

    fn mark(&mut self, mark: &Mark, failing: Option<u16>, log: &[Entry]) {
        match &mark.what {
            What::Started => {
                self.change(mark.from, self.zero, "starting", None, &["starting", "unknown", "working"]);
            }
            What::Ready => {
                if self.state() == Some("starting") {
                    self.close(mark.from - UNSEEN);
                }
                self.change(mark.to, mark.to, "idle", None, &[]);
            }
            What::Submitted | What::Commanded { asks: true } | What::Answered { then: Then::Working } => {
                self.change(mark.from, mark.to, "working", None, &[]);
            }
            What::DialogSeen { kind } => {
                let early = if self.state() == Some("starting") { UNSEEN } else { 0.0 };
                self.close(mark.from - early);
                self.change(mark.to, mark.to, "blocked", Some(kind), &[]);
            }
            What::Answered { then: Then::Idle } => {
                self.change(mark.from, mark.to + REACTION, "idle", None, &[]);
            }
            What::Answered { then: Then::Starting } | What::Commanded { asks: false } | What::Over => {
                self.close(mark.from);
            }
            What::Delegated => {
                self.change(mark.from, mark.to, "working", None, &["working", "watching"]);
            }
            What::Settled => {
                let ended =
                    |entry: &&Entry| matches!(entry.event, Event::LastByte { .. }) && entry.at <= mark.from;
                let last = log.iter().rev().find(ended).map_or(mark.from, |entry| entry.at);
                self.change(last, mark.to, "idle", None, &[]);
            }
            What::Interrupted => {
                let left = log.iter().find(|entry| entry.event == Event::ClientLeft && entry.at > mark.from);
                let settled = left.map_or(mark.to, |entry| entry.at.max(mark.to));
                self.change(mark.from, settled + REACTION, "idle", None, &[]);
            }
            What::GaveUp => {
                let last = log.iter().rev().find(|entry| matches!(entry.event, Event::LastByte { .. }));
                let last = last.map_or(mark.from, |entry| entry.at.min(mark.from));
                match failing {
                    Some(429) => self.change(last, mark.to, "limited", Some("rate"), &["limited", "error"]),
                    Some(401 | 403) => {
                        self.change(last, mark.to, "blocked", Some("auth"), &["blocked", "error"]);
                    }
                    _ => self.change(last, mark.to, "error", None, &["error", "limited"]),
                }
            }
        }
    }
}

fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests;
