//! What the detector has been told, and when.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Asking, Fact, Failure, State, Steady};

/// Who spends so much of a core is at work; animations and clocks take less.
const BUSY_PERCENT: u32 = 25;

/// What one rule saw on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Arc<str>,
    /// What it means.
    pub state: State,
    /// What kind of it.
    pub kind: Option<Arc<str>>,
    /// When a limit ends, in the agent's words.
    pub until: Option<String>,
    /// It holds for agents in general, not for this one: a hint.
    pub general: bool,
    /// It holds however much else moves on the screen, and of work, whatever is told of the turn's end.
    pub certain: bool,
    /// What it saw has changed in its place since it came: nobody quotes that.
    pub moving: bool,
    /// Of idle: what was typed last is over, if this was not there before it.
    pub answered: bool,
    /// Of a failure, and of such an answer: tells the rows it saw from others that say the same.
    pub print: u64,
}

/// What all rules together saw on the screen, the weightiest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// The rules that hold.
    pub findings: Vec<Finding>,
    /// Whether something is written in the composer, if there is one.
    pub draft: Option<bool>,
}

impl Reading {
    /// The first finding of a state.
    pub fn find(&self, state: State) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.state == state)
    }

    /// Why the agent tries again what failed, where a rule of its own sees that and why.
    pub(super) fn retrying(&self) -> Option<Failure> {
        let at_work = |finding: &&Finding| finding.state == State::Working && !finding.general;
        self.findings.iter().filter(at_work).find_map(|finding| Failure::named(finding.kind.as_deref()?))
    }

    /// What shows that something that was typed is over.
    pub(super) fn answers(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.answered && finding.state == State::Idle)
    }

    /// The failures on the screen; limits count before other errors.
    pub(super) fn failures(&self) -> impl Iterator<Item = &Finding> {
        let of = |state| self.findings.iter().filter(move |finding| finding.state == state);
        of(State::Limited).chain(of(State::Error))
    }
}

/// A state that a program claims for itself on its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Ready for input.
    Idle,
    /// At work.
    Working,
    /// Done, and watching what it left running in the background.
    Watching,
    /// Waiting for a person.
    Blocked(Asking),
    /// Finished what it was asked.
    Done,
    /// Failed.
    Error,
}

/// A look at the processes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessSample {
    /// The foreground process waits in a read of the terminal.
    pub reads_terminal: bool,
    /// It has one thread: nothing of it can be at work meanwhile.
    pub single_threaded: bool,
    /// The terminal collects lines, and no thread of the foreground process waits for it or for events: it sleeps, or waits
    /// for another process.
    pub deaf: bool,
    /// Processes below the program.
    pub children: u32,
    /// Milliseconds since the newest of them was started.
    pub newest_child_ms: Option<u64>,
    /// CPU time that is spent now, in hundredths of one core: by the process that reads the terminal, else by all.
    pub cpu_percent: u32,
    /// Something was sent over the network and not answered.
    pub awaits_answer: bool,
}

impl ProcessSample {
    /// What goes on that is no wait for a person. A process that was started for the last prompt is at work, however
    /// still it is; one that was there before belongs to the program.
    pub(super) fn work(self, since_prompt: Option<Duration>) -> Option<&'static str> {
        let newest = self.newest_child_ms.map(Duration::from_millis);
        let fresh_child = newest.zip(since_prompt).is_some_and(|(age, since)| age < since);
        match self {
            Self { cpu_percent: BUSY_PERCENT.., .. } => Some("its processes are at work"),
            Self { reads_terminal: true, .. } => None,
            Self { deaf: true, .. } if since_prompt.is_some() => Some("it does not listen to its terminal"),
            _ if fresh_child => Some("a program that it started is at work"),
            Self { awaits_answer: true, .. } => Some("it waits for an answer from the network"),
            _ => None,
        }
    }

    /// Whether it waits for a person, and for nothing else.
    pub(super) fn only_reads(self) -> bool {
        self.reads_terminal && self.single_threaded && self.cpu_percent < BUSY_PERCENT
    }
}

/// Who reported a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reporter {
    /// A hook.
    Hook,
    /// The transcript.
    Transcript,
    /// A structured connection.
    Transport,
    /// A rule for the agent's screen, in its region.
    Screen,
}

impl Reporter {
    /// Where it is from, in reasons.
    pub fn source(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::Transport => "transport",
            Self::Screen => "screen",
        }
    }

    /// What it is called in reasons.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hook | Self::Transport | Self::Screen => "hook",
            Self::Transcript => "transcript",
        }
    }
}

/// Something with the moment it was learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct At<T> {
    /// What was said.
    pub what: T,
    /// When it was said.
    pub at: Steady,
}

/// What the agent's own records say of its turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TurnRecord {
    /// A turn is open, or the last one was closed.
    pub open: Option<At<bool>>,
    /// When that turn was begun.
    #[serde(skip)]
    pub begun: Option<Steady>,
    /// It waits for a person.
    pub asked: Option<At<Asking>>,
    /// How the last turn failed.
    pub failed: Option<At<Failure>>,
    /// Why calls to the model fail and are tried again, and since when they do.
    #[serde(default)]
    pub retrying: Option<At<Failure>>,
    /// Its own work in the background, at the end of the last turn.
    pub background: u32,
}

impl TurnRecord {
    /// Takes in what was reported, and happened at `at`.
    pub(super) fn update(&mut self, fact: &Fact, at: Steady, now: Steady) {
        let open = |open| Some(At { what: open, at: now });
        match fact {
            Fact::PromptSubmitted { .. } | Fact::TurnStarted => {
                *self = Self { open: open(true), begun: Some(at), ..Self::default() };
            }
            Fact::ToolStarted { .. } | Fact::TurnProgressed | Fact::Compacting => {
                self.open = open(true);
                self.failed = None;
                // A call may be one that is tried again; a tool is what an answer asks for.
                self.retrying = self.retrying.filter(|_| *fact == Fact::TurnProgressed);
            }
            Fact::Retrying { failure } => {
                self.open = open(true);
                self.failed = None;
                let since = self.retrying.map_or(now, |retrying| retrying.at);
                self.retrying = Some(At { what: *failure, at: since });
            }
            Fact::ToolEnded { .. } | Fact::Answered => {
                self.open = open(true);
                self.asked = None;
                self.retrying = None;
            }
            Fact::Asked { kind } => self.asked = Some(At { what: *kind, at: now }),
            Fact::TurnEnded { background } => {
                let (begun, background) = (self.begun, *background);
                *self = Self { open: open(false), begun, background, ..Self::default() };
            }
            Fact::Interrupted | Fact::IdleNotified => {
                self.open = open(false);
                (self.asked, self.retrying) = (None, None);
            }
            Fact::Said { .. } => self.retrying = None,
            Fact::TurnFailed { failure, .. } => {
                let failed = Some(At { what: *failure, at: now });
                *self = Self { open: open(false), failed, ..Self::default() };
            }
            Fact::SessionStarted
            | Fact::SessionEnded
            | Fact::SubagentEnded
            | Fact::Used(_)
            | Fact::Heartbeat => {}
        }
    }

    /// The same, learnt at another moment.
    pub(super) fn learnt(self, now: Steady) -> Self {
        Self {
            begun: None,
            open: self.open.map(|open| At { at: now, ..open }),
            asked: self.asked.map(|asked| At { at: now, ..asked }),
            failed: self.failed.map(|failed| At { at: now, ..failed }),
            retrying: self.retrying.map(|retrying| At { at: now, ..retrying }),
            background: self.background,
        }
    }

    /// The same, of which it is not known any more that the turn is over.
    pub(super) fn without_end(self) -> Self {
        Self { open: self.open.filter(|open| open.what), ..self }
    }
}

/// When the screen said something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Activity {
    /// Begin of the present run of news.
    pub(super) began: Option<Steady>,
    /// The last that was nobody's echo.
    pub(super) last: Option<Steady>,
    /// The last at all.
    pub(super) any: Option<Steady>,
}

impl Activity {
    pub(super) fn output(&mut self, now: Steady, echo: bool, pause_ms: u32) {
        self.any = Some(now);
        if echo {
            return;
        }
        if self.last.is_none_or(|last| now.since(last).as_millis() > pause_ms.into()) {
            self.began = Some(now);
        }
        self.last = Some(now);
    }
}
