//! One message on its way into an agent.
//!
//! # Theory of operation
//!
//! Text and Enter are two writes. The text is typed only while every gate is open and the composer is empty;
//! Enter only while the text is seen there. What happened is concluded from what is seen and heard, never from
//! having typed:
//!
//! - the text is *seen* when the composer shows it, or the mark that the agent shows in its place;
//! - it is *submitted* when the agent says which prompt it took (hook, transcript), or when the composer was emptied
//!   and the agent goes to work;
//! - it is *missing* when the terminal's input is used up, the composer is empty and the screen at rest. Only then
//!   is it typed again;
//! - anything else is *uncertain*, and said so: typing again could deliver it twice.
//!
//! Every write is an intent first: the shell records it, then performs it. After a crash the record says which write
//! was the last, the holder's ledger whether it was done, and [`Delivery::resumed`] goes on from there.

mod gate;
mod policy;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use gate::{Shut, Situation};
pub use policy::Policy;

use self::policy::backoff;
use crate::start_plan::Way;
use crate::{Proof, Timestamp};

/// When a message may be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// When the agent is at rest.
    #[default]
    WhenIdle,
    /// At once: an agent at work keeps it for later by itself.
    Queue,
    /// At once: what the agent is doing is stopped first.
    Interrupt,
    /// At once, whatever it is doing, but never into a dialog.
    Now,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::WhenIdle, Self::Queue, Self::Interrupt, Self::Now];

    /// The name on the command line and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WhenIdle => "when-idle",
            Self::Queue => "queue",
            Self::Interrupt => "interrupt",
            Self::Now => "now",
        }
    }

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

/// What the composer shows of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// There is no composer to be seen.
    Hidden,
    /// Nothing is written in it.
    Empty,
    /// The message, whole, or the mark that stands for it.
    Ours,
    /// A part of the message and nothing else.
    Part,
    /// An earlier message of ours that the agent has put back.
    Earlier,
    /// Something else.
    Foreign,
}

/// Everything that can be seen at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// What the agent is doing.
    pub situation: Situation,
    /// What its composer shows.
    pub sight: Sight,
    /// It shows that it went to work after Enter was pressed; the Enter itself is no sign of it.
    pub at_work: bool,
    /// The message stands among what was said, above the composer.
    pub echoed: bool,
    /// An equal message was typed not long ago: what is echoed may be that one.
    pub repeated: bool,
    /// The agent tells which prompts it takes, and has done so before.
    pub tells_prompts: bool,
    /// When its screen changed last.
    pub changed: Timestamp,
    /// What the screen says was read from it as it is now, not in the middle of a frame.
    pub current: bool,
}

/// What a write is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Write {
    /// The text.
    Body,
    /// Enter.
    Enter,
    /// The keys that empty the composer.
    Clear,
    /// The keys that stop a turn.
    Interrupt,
}

impl Write {
    /// The name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Enter => "enter",
            Self::Clear => "clear",
            Self::Interrupt => "interrupt",
        }
    }

    /// The write of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Body, Self::Enter, Self::Clear, Self::Interrupt]
            .into_iter()
            .find(|write| write.as_str() == name)
    }
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Something can be seen now that could not before, or time has passed.
    Looked,
    /// The last write is in the terminal.
    Typed,
    /// The last write never will be.
    Refused,
    /// The terminal was looked at.
    Inspected {
        /// It collects lines.
        cooked: bool,
        /// Bytes that the program has not read.
        pending: u32,
    },
    /// The agent's hook took it.
    Taken,
    /// The agent says that it took this very message as a prompt.
    Told {
        /// By what.
        by: Witness,
    },
}

/// Who tells which prompt an agent took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// A hook.
    Hook,
    /// The transcript.
    Transcript,
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Look at the terminal's settings.
    Inspect,
    /// Record the intent, then type.
    Type(Write),
    /// Record that this much is proven.
    Prove(Proof, Because),
    /// Record that nothing of the text is there, and that it will be typed again.
    Missed,
    /// Nothing more will be done; record why.
    Give(Up),
}

/// What a proof rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// The holder's ledger.
    Ledger,
    /// The composer shows it.
    Composer,
    /// The agent said so.
    Told(Witness),
    /// The composer was emptied, and the agent went to work.
    WentToWork,
    /// The composer was emptied while the agent was at work: it keeps the message for later.
    Kept,
    /// The composer was emptied, and the message stands among what was said.
    Echoed,
    /// The message stands among what was said, and the agent has put it back into the composer.
    PutBack,
    /// The composer was emptied of a command, which need not begin a turn.
    Emptied,
    /// The program has read the line.
    LineRead,
    /// The agent's session-start hook took it.
    HookTook,
}

/// Why a delivery ends without proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Up {
    /// The program has ended.
    Ended,
    /// It was typed as often as allowed, and was missing each time.
    NotTaken,
    /// Enter was pressed as often as allowed, and the text still stands there.
    NotSubmitted,
    /// Whether it was submitted cannot be told.
    Uncertain,
    /// The composer shows something else than what was typed.
    Mixed,
    /// The terminal did not take it.
    Refused,
}

impl Up {
    /// The reason for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "the program has ended",
            Self::NotTaken => "the agent did not take the text, however often it was typed",
            Self::NotSubmitted => "the text stands in the composer, and Enter does not submit it",
            Self::Uncertain => {
                "whether the agent took it cannot be told; it is not typed again, to not deliver it twice"
            }
            Self::Mixed => "the composer shows something else than what was typed",
            Self::Refused => "the terminal did not take it",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The agent has it from its start, or will ask for it; nothing is typed unless it turns out that it has not.
    Given { way: Way, idle: Option<Timestamp> },
    /// Nothing of it is in the terminal.
    Waiting { not_before: Timestamp },
    /// The terminal is being looked at before the text is typed.
    Checking,
    /// The keys that stop a turn are on their way, or work.
    Interrupting { typed: Option<Timestamp> },
    /// The text is on its way.
    Writing,
    /// It is in the terminal, and not seen.
    Looking { since: Timestamp, inspecting: bool },
    /// It is seen.
    Seen { enter_at: Timestamp },
    /// Enter is on its way.
    Entering,
    /// Enter is in the terminal.
    Confirming { since: Timestamp, at_work: Option<Timestamp> },
    /// The composer is being emptied.
    Clearing { typed: Option<Timestamp> },
    /// Over.
    Done,
}

/// What the record has of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// How often the text was typed, or was about to be.
    pub attempts: u32,
    /// How often Enter was pressed for it, or was about to be.
    pub enters: u32,
    /// What is proven.
    pub proof: Proof,
    /// The last write, and whether it was done.
    pub last: Option<(Write, bool)>,
}

/// A message on its way.
#[derive(Debug, Clone)]
pub struct Delivery {
    mode: Mode,
    policy: Policy,
    stage: Stage,
    attempts: u32,
    enters: u32,
    proof: Proof,
    /// Why nothing is typed.
    shut: Option<Shut>,
    deadline: Option<Timestamp>,
    interrupted: bool,
    /// The next typing of the text is one that was counted before a crash.
    counted: bool,
    /// It is a command of the agent: it may begin no turn.
    command: bool,
}

impl Delivery {
    /// A message that nothing was done for.
    pub fn new(mode: Mode, policy: Policy) -> Self {
        Self {
            mode,
            policy,
            stage: Stage::Waiting { not_before: Timestamp(0) },
            attempts: 0,
            enters: 0,
            proof: Proof::Queued,
            shut: None,
            deadline: None,
            interrupted: false,
            counted: false,
            command: false,
        }
    }

    /// A message that an agent gets another way, at its start.
    pub fn given(way: Way, policy: Policy) -> Self {
        let delivery = Self::new(Mode::WhenIdle, policy);
        match way {
            Way::Message => delivery,
            // It was typed, as it were: on the command line.
            Way::Argument => Self { stage: Stage::Given { way, idle: None }, attempts: 1, ..delivery },
            Way::Hook => Self { stage: Stage::Given { way, idle: None }, ..delivery },
        }
    }

    /// The same for a command of the agent.
    #[must_use]
    pub fn of_command(self, command: bool) -> Self {
        Self { command, ..self }
    }

    /// A message that another daemon had in hand.
    pub fn resumed(mode: Mode, policy: Policy, progress: Progress, now: Timestamp) -> Self {
        let Progress { attempts, enters, proof, last } = progress;
        let waiting = Stage::Waiting { not_before: Timestamp(0) };
        let looking = Stage::Looking { since: now, inspecting: false };
        let (stage, attempts, enters) = match last {
            Some((Write::Body, true)) => (looking, attempts, enters),
            // A write that was not done may still arrive: what stands in the composer then is ours.
            None | Some((Write::Body, false)) => (waiting, attempts, enters),
            Some((Write::Enter, true)) => (Stage::Confirming { since: now, at_work: None }, attempts, enters),
            Some((Write::Enter, false)) => (looking, attempts, enters.saturating_sub(1)),
            Some((Write::Clear, _)) => (Stage::Clearing { typed: Some(now) }, attempts, enters),
            Some((Write::Interrupt, _)) => (Stage::Interrupting { typed: Some(now) }, attempts, enters),
        };
        let counted = matches!(last, Some((Write::Body, false)));
        Self { stage, attempts, enters, proof, counted, ..Self::new(mode, policy) }
    }

    /// Goes on with other times.
    pub fn configure(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Nothing of the message is in the terminal: another may go first.
    pub fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting { .. })
    }

    /// The agent gets it another way.
    pub fn is_given(&self) -> bool {
        matches!(self.stage, Stage::Given { .. })
    }

    /// The agent's session-start hook is to take it.
    pub fn awaits_hook(&self) -> bool {
        matches!(self.stage, Stage::Given { way: Way::Hook, .. })
    }

    /// It pauses after an attempt that failed.
    pub fn is_paused(&self, now: Timestamp) -> bool {
        matches!(self.stage, Stage::Waiting { not_before } if now < not_before)
    }

    /// Its text is in the terminal, and was not seen yet.
    pub fn is_looking(&self) -> bool {
        matches!(self.stage, Stage::Looking { .. })
    }

    /// What counts is what the screen shows at this very moment, also in the middle of a frame: the text is looked
    /// for, or a key is about to be pressed.
    pub fn glances(&self) -> bool {
        matches!(self.stage, Stage::Looking { .. } | Stage::Checking | Stage::Seen { .. })
    }

    /// The text is on its way into the composer or stands there, and its Enter is still to come.
    pub fn is_composing(&self) -> bool {
        matches!(self.stage, Stage::Writing | Stage::Looking { .. } | Stage::Seen { .. } | Stage::Entering)
    }

    /// No key of anybody else may come now: text and Enter belong together.
    pub fn is_typing(&self) -> bool {
        matches!(self.stage, Stage::Checking | Stage::Writing | Stage::Seen { .. } | Stage::Entering)
    }

    /// Enter was pressed, and what became of it is not known.
    pub fn is_confirming(&self) -> bool {
        matches!(self.stage, Stage::Confirming { .. })
    }

    /// The delivery has come to its end.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Why nothing is typed now.
    pub fn shut(&self) -> Option<Shut> {
        self.shut
    }

    /// How often the text was typed.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How often Enter was pressed.
    pub fn enters(&self) -> u32 {
        self.enters
    }

    /// What is proven.
    pub fn proof(&self) -> Proof {
        self.proof
    }

    /// When to come back with [`Event::Looked`], if nothing happens.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// Advances the delivery by one event and says what to do.
    #[must_use]
    pub fn handle(&mut self, event: Event, view: &View, now: Timestamp) -> Vec<Action> {
        self.deadline = None;
        if self.stage == Stage::Done {
            return Vec::new();
        }
        if let Event::Told { by } = event {
            return self.told(by, now);
        }
        if view.situation.admits_enter() == Err(Shut::Ended) {
            return self.ended();
        }
        // The end of the frame is another look.
        if event == Event::Looked && !view.current && !self.glances() {
            return Vec::new();
        }
        self.shut = None;
        match self.stage {
            Stage::Given { way, idle } => self.await_given(way, idle, event, view, now),
            Stage::Waiting { not_before } => self.wait(not_before, view, now),
            Stage::Checking => self.check(event, view, now),
            Stage::Interrupting { typed } => self.interrupt(typed, event, view, now),
            Stage::Writing => match event {
                Event::Typed => {
                    self.stage = Stage::Looking { since: now, inspecting: false };
                    let mut actions = self.prove(Proof::Written, Because::Ledger);
                    actions.extend(self.look(now, false, event, view, now));
                    actions
                }
                Event::Refused => self.give(Up::Refused),
                _ => Vec::new(),
            },
            Stage::Looking { since, inspecting } => self.look(since, inspecting, event, view, now),
            Stage::Seen { enter_at } => self.enter(enter_at, view, now),
            Stage::Entering => match event {
                Event::Typed => {
                    self.stage = Stage::Confirming { since: now, at_work: None };
                    self.confirm(now, None, event, view, now)
                }
                Event::Refused => self.give(Up::Refused),
                _ => Vec::new(),
            },
            Stage::Confirming { since, at_work } => self.confirm(since, at_work, event, view, now),
            Stage::Clearing { typed } => self.clear(typed, event, view, now),
            Stage::Done => Vec::new(),
        }
    }

    fn await_given(
        &mut self,
        way: Way,
        idle: Option<Timestamp>,
        event: Event,
        view: &View,
        now: Timestamp,
    ) -> Vec<Action> {
        if event == Event::Taken {
            return self.submitted(Because::HookTook);
        }
        let argument = way == Way::Argument;
        if argument && (view.at_work || view.echoed) {
            return self.submitted(if view.at_work { Because::WentToWork } else { Because::Echoed });
        }
        if argument && view.sight == Sight::Ours {
            // It stands in the composer, and nobody pressed Enter.
            self.stage = Stage::Looking { since: now, inspecting: false };
            return self.look(now, false, Event::Looked, view, now);
        }
        let free = view.situation.admits(Mode::WhenIdle).is_ok() && view.sight != Sight::Foreign;
        let idle = free.then(|| idle.unwrap_or(now));
        self.stage = Stage::Given { way, idle };
        let Some(since) = idle else { return Vec::new() };
        let due = since.plus(if argument { self.policy.look } else { self.policy.look * 2 });
        if now < due {
            self.deadline = Some(due);
            return Vec::new();
        }
        // An agent at rest has not begun with it.
        self.attempts = 0;
        let mut actions = self.missing(now);
        self.stage = Stage::Waiting { not_before: Timestamp(0) };
        self.deadline = Some(now);
        actions.extend(self.wait(Timestamp(0), view, now));
        actions
    }

    fn wait(&mut self, not_before: Timestamp, view: &View, now: Timestamp) -> Vec<Action> {
        if now < not_before {
            self.deadline = Some(not_before);
            return Vec::new();
        }
        if let Err(shut) = view.situation.admits(self.mode) {
            if shut == Shut::Working && self.mode == Mode::Interrupt && !self.interrupted {
                self.interrupted = true;
                self.stage = Stage::Interrupting { typed: None };
                return vec![Action::Type(Write::Interrupt)];
            }
            self.shut = Some(shut);
            return Vec::new();
        }
        match view.sight {
            // What a crash, or the agent, has put there.
            Sight::Ours if self.attempts > 0 => {
                self.stage = Stage::Looking { since: now, inspecting: false };
                self.look(now, false, Event::Looked, view, now)
            }
            Sight::Part if self.attempts > 0 => self.begin_clearing(now),
            Sight::Earlier => self.begin_clearing(now),
            // Where no composer is known, it may be the question that the text answers.
            Sight::Ours | Sight::Part if self.policy.has_composer => {
                self.shut = Some(Shut::Draft);
                Vec::new()
            }
            Sight::Foreign if self.policy.has_composer || self.mode != Mode::Now => {
                self.shut = Some(Shut::Draft);
                Vec::new()
            }
            // A known composer that is not there is behind something.
            Sight::Hidden if self.policy.has_composer => {
                self.shut = Some(Shut::Unknown);
                Vec::new()
            }
            _ => {
                self.stage = Stage::Checking;
                vec![Action::Inspect]
            }
        }
    }

    fn check(&mut self, event: Event, view: &View, now: Timestamp) -> Vec<Action> {
        let Event::Inspected { cooked, .. } = event else { return Vec::new() };
        if cooked && self.policy.raw_only {
            let not_before = now.plus(self.policy.enter_again);
            self.stage = Stage::Waiting { not_before };
            self.deadline = Some(not_before);
            self.shut = Some(Shut::Cooked);
            return Vec::new();
        }
        let free = matches!(view.sight, Sight::Empty) || !self.policy.has_composer;
        if view.situation.admits(self.mode).is_err() || !free {
            self.stage = Stage::Waiting { not_before: Timestamp(0) };
            return self.wait(Timestamp(0), view, now);
        }
        self.attempts += u32::from(!std::mem::take(&mut self.counted));
        self.enters = 0;
        self.stage = Stage::Writing;
        vec![Action::Type(Write::Body)]
    }

    fn interrupt(
        &mut self,
        typed: Option<Timestamp>,
        event: Event,
        view: &View,
        now: Timestamp,
    ) -> Vec<Action> {
        let waiting = Stage::Waiting { not_before: Timestamp(0) };
        let Some(typed) = typed else {
            match event {
                Event::Typed => {
                    self.stage = Stage::Interrupting { typed: Some(now) };
                    self.deadline = Some(now.plus(self.policy.interrupt));
                }
                Event::Refused => return self.give(Up::Refused),
                _ => {}
            }
            return Vec::new();
        };
        let rested = view.situation.admits(Mode::WhenIdle).is_ok();
        if rested || now >= typed.plus(self.policy.interrupt) {
            self.stage = waiting;
            return self.wait(Timestamp(0), view, now);
        }
        self.deadline = Some(typed.plus(self.policy.interrupt));
        Vec::new()
    }

    fn look(
        &mut self,
        since: Timestamp,
        inspecting: bool,
        event: Event,
        view: &View,
        now: Timestamp,
    ) -> Vec<Action> {
        let blind = !self.policy.has_composer;
        let seen = view.sight == Sight::Ours;
        if seen || (blind && now >= since.plus(self.policy.enter_delay * 2)) {
            // A text that is seen late was taken late.
            let enter_at = if seen { now.plus(self.policy.enter_delay) } else { now };
            self.stage = Stage::Seen { enter_at };
            let mut actions = if seen { self.prove(Proof::Seen, Because::Composer) } else { Vec::new() };
            actions.extend(self.enter(enter_at, view, now));
            return actions;
        }
        if blind {
            self.deadline = Some(since.plus(self.policy.enter_delay * 2));
            return Vec::new();
        }
        // Another key was faster than our Enter, a person's perhaps.
        if view.sight == Sight::Empty && view.echoed && !view.repeated && self.proof >= Proof::Seen {
            return self.submitted(Because::Echoed);
        }
        let rested = view.changed.max(since).plus(self.policy.rest);
        let due = since.plus(self.policy.look).max(rested);
        // Behind a dialog there is nothing to see, and a person decides how long.
        let visible = view.situation.admits_enter().is_ok() && view.sight != Sight::Hidden;
        if now < due || !visible {
            self.deadline = Some(due).filter(|_| visible);
            self.shut = view.situation.admits_enter().err();
            self.stage = Stage::Looking { since, inspecting: false };
            return Vec::new();
        }
        match (view.sight, event) {
            // It was never seen in the composer, and yet its words stand above it: typing again could double it.
            (Sight::Empty, Event::Inspected { pending: 0, .. }) if view.echoed => self.give(Up::Uncertain),
            (Sight::Empty, Event::Inspected { pending: 0, .. }) => self.missing(now),
            // The agent has not read it yet.
            (Sight::Empty, Event::Inspected { .. }) => {
                self.stage = Stage::Looking { since, inspecting: false };
                self.deadline = Some(now.plus(self.policy.rest));
                Vec::new()
            }
            (Sight::Empty, _) if inspecting => Vec::new(),
            (Sight::Empty, _) => {
                self.stage = Stage::Looking { since, inspecting: true };
                vec![Action::Inspect]
            }
            (Sight::Part, _) => self.begin_clearing(now),
            _ => self.give(Up::Mixed),
        }
    }

    fn enter(&mut self, enter_at: Timestamp, view: &View, now: Timestamp) -> Vec<Action> {
        let blind = !self.policy.has_composer;
        if view.sight != Sight::Ours && !blind {
            self.stage = Stage::Looking { since: now, inspecting: false };
            return self.look(now, false, Event::Looked, view, now);
        }
        if let Err(shut) = view.situation.admits_enter() {
            self.shut = Some(shut);
            return Vec::new();
        }
        if now < enter_at {
            self.deadline = Some(enter_at);
            return Vec::new();
        }
        self.enters += 1;
        self.stage = Stage::Entering;
        vec![Action::Type(Write::Enter)]
    }

    fn confirm(
        &mut self,
        since: Timestamp,
        at_work: Option<Timestamp>,
        event: Event,
        view: &View,
        now: Timestamp,
    ) -> Vec<Action> {
        let blind = !self.policy.has_composer;
        let asks = blind && !self.policy.raw_only;
        // A program of which nothing is known may read lines: its terminal tells what became of one.
        match event {
            _ if !asks => {}
            // The terminal is a moment behind what was written to it.
            Event::Inspected { cooked: true, pending: 0 } if now >= since.plus(self.policy.enter_delay) => {
                return self.submitted(Because::LineRead);
            }
            Event::Inspected { cooked: false, pending: 0 } => {}
            Event::Inspected { .. } => {
                self.deadline = Some(now.plus((now.since(since) / 4).max(self.policy.enter_delay)));
                return Vec::new();
            }
            _ => return vec![Action::Inspect],
        }
        if !blind && !view.current {
            return Vec::new();
        }
        // While it is at work, its own words may be the same.
        let rested = matches!(self.mode, Mode::WhenIdle | Mode::Interrupt);
        if view.sight == Sight::Ours {
            return if view.echoed && !view.repeated && rested && !blind {
                self.submitted(Because::PutBack)
            } else {
                self.enter_again(since, event, view, now)
            };
        }
        let gone = blind || matches!(view.sight, Sight::Empty | Sight::Hidden);
        // Where no composer is known, the text is also echoed while it stands in one.
        let stays = view.sight == Sight::Part || (blind && view.sight != Sight::Empty);
        let sign = if gone && view.at_work {
            Some(if self.mode == Mode::Queue { Because::Kept } else { Because::WentToWork })
        } else if view.echoed && !stays {
            Some(Because::Echoed)
        } else {
            Some(Because::Emptied).filter(|_| gone && self.command)
        };
        if let Some(because) = sign {
            // An agent that names the prompts it takes gives the better proof, a moment later.
            let first = at_work.unwrap_or(now);
            if !view.tells_prompts || self.command || now >= first.plus(self.policy.word) {
                return self.submitted(because);
            }
            self.stage = Stage::Confirming { since, at_work: Some(first) };
            self.deadline = Some(first.plus(self.policy.word));
            return Vec::new();
        }
        let due = since.plus(self.policy.confirm).max(view.changed.plus(self.policy.rest));
        if now < due || view.situation.admits_enter().is_err() {
            self.shut = view.situation.admits_enter().err();
            self.deadline = Some(due).filter(|due| *due > now);
            return Vec::new();
        }
        // Enter was pressed, whatever stands there now.
        self.give(Up::Uncertain)
    }

    /// The text still stands there: the Enter was swallowed, or became a line break.
    fn enter_again(&mut self, since: Timestamp, event: Event, view: &View, now: Timestamp) -> Vec<Action> {
        if let Err(shut) = view.situation.admits_enter() {
            self.shut = Some(shut);
            return Vec::new();
        }
        let unmoved = if view.changed < since { self.policy.unmoved } else { Duration::ZERO };
        let due = since.plus(self.policy.enter_pause(self.enters).max(unmoved));
        if now < due {
            self.deadline = Some(due);
            return Vec::new();
        }
        match event {
            Event::Inspected { pending: 0, .. } => {}
            // It has not read the last one yet.
            Event::Inspected { .. } => {
                self.deadline = Some(now.plus(self.policy.enter_again));
                return Vec::new();
            }
            _ => return vec![Action::Inspect],
        }
        if self.enters >= self.policy.max_enters {
            return self.give(Up::NotSubmitted);
        }
        self.enters += 1;
        self.stage = Stage::Entering;
        vec![Action::Type(Write::Enter)]
    }

    fn begin_clearing(&mut self, now: Timestamp) -> Vec<Action> {
        if !self.policy.can_clear {
            self.stage = Stage::Waiting { not_before: Timestamp(0) };
            return if self.attempts > 0 { self.give(Up::Mixed) } else { self.drafted(now) };
        }
        self.stage = Stage::Clearing { typed: None };
        vec![Action::Type(Write::Clear)]
    }

    fn drafted(&mut self, now: Timestamp) -> Vec<Action> {
        self.shut = Some(Shut::Draft);
        self.deadline = Some(now.plus(self.policy.look));
        Vec::new()
    }

    fn clear(&mut self, typed: Option<Timestamp>, event: Event, view: &View, now: Timestamp) -> Vec<Action> {
        let Some(typed) = typed else {
            match event {
                Event::Typed => {
                    self.stage = Stage::Clearing { typed: Some(now) };
                    self.deadline = Some(now.plus(self.policy.rest));
                }
                Event::Refused => return self.give(Up::Refused),
                _ => {}
            }
            return Vec::new();
        };
        if view.sight == Sight::Empty {
            return if self.attempts > 0 { self.missing(now) } else { self.start_over(view, now) };
        }
        if now < typed.plus(self.policy.rest) {
            self.deadline = Some(typed.plus(self.policy.rest));
            return Vec::new();
        }
        if self.attempts > 0 {
            return self.give(Up::Mixed);
        }
        self.stage = Stage::Waiting { not_before: now.plus(self.policy.look) };
        self.drafted(now)
    }

    fn start_over(&mut self, view: &View, now: Timestamp) -> Vec<Action> {
        self.stage = Stage::Waiting { not_before: Timestamp(0) };
        self.wait(Timestamp(0), view, now)
    }

    /// It is proven that nothing of the text is there.
    fn missing(&mut self, now: Timestamp) -> Vec<Action> {
        self.proof = Proof::Queued;
        if self.attempts >= self.policy.max_attempts {
            return self.give(Up::NotTaken);
        }
        let not_before = now.plus(backoff(self.attempts));
        self.stage = Stage::Waiting { not_before };
        self.deadline = Some(not_before);
        vec![Action::Missed]
    }

    fn told(&mut self, by: Witness, now: Timestamp) -> Vec<Action> {
        // Whatever was concluded since: it was typed, and it was taken.
        if self.attempts > 0 {
            return self.submitted(Because::Told(by));
        }
        self.deadline = Some(now);
        Vec::new()
    }

    fn submitted(&mut self, because: Because) -> Vec<Action> {
        self.stage = Stage::Done;
        self.prove(Proof::Submitted, because)
    }

    fn ended(&mut self) -> Vec<Action> {
        // What was entered before the end may have been taken; what was not, was not.
        let entered = matches!(
            self.stage,
            Stage::Entering | Stage::Confirming { .. } | Stage::Given { way: Way::Argument, .. }
        );
        self.give(if entered { Up::Uncertain } else { Up::Ended })
    }

    fn prove(&mut self, proof: Proof, because: Because) -> Vec<Action> {
        if proof <= self.proof {
            return Vec::new();
        }
        self.proof = proof;
        vec![Action::Prove(proof, because)]
    }

    fn give(&mut self, up: Up) -> Vec<Action> {
        self.stage = Stage::Done;
        vec![Action::Give(up)]
    }
}

#[cfg(test)]
#[path = "delivery_tests.rs"]
mod tests;
