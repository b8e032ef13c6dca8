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
//! - it is *missing* when the agent has drawn a frame since it read it, and the composer in that frame is empty. Only
//!   then is it typed again;
//! - its Enter was *ignored* when the agent has drawn a frame since it read it, and the text still stands there. Only
//!   then is Enter pressed again;
//! - an agent may *keep* it for a turn that has yet to begin: its hook took it, or it has a queue of its own. It is
//!   submitted when that turn begins;
//! - anything else is *uncertain*, and said so: typing again could deliver it twice, and another Enter would answer
//!   whatever comes next.
//!
//! That a program has read a key does not mean that it has done anything about it: it may stall for long between the
//! two. What it drew afterwards says so (`reading.rs`).
//!
//! Every write is an intent first: whoever drives the delivery copies it, steps it, and keeps the step only if the intent
//! is recorded; then the write is made. After a crash the record says which write
//! was the last, the holder's ledger whether it was done, and [`Delivery::resumed`] goes on from there.

mod backoff;
mod body;
mod clear;
mod gate;
mod kept;
mod policy;
mod reading;
mod submit;
mod terms;
mod window;

pub use backoff::Backoff;
pub use gate::{HoldReason, Situation};
pub use policy::Policy;
pub use terms::{Action, ComposerView, Event, FailReason, Mode, ProofEvidence, Shape, View, Witness, Write};
pub use window::ClosedWindow;

use self::kept::{Keeper, Kept};
use self::reading::Reading;
use crate::start_plan::StartupRoute;
use crate::{Proof, Steady};

/// How often a text is typed that the composer shows with other signs.
const GARBLED_ATTEMPTS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The agent has it from its start, or will ask for it; nothing is typed unless it turns out that it has not.
    Given(StartText),
    /// Nothing of it is in the terminal.
    Waiting { not_before: Steady },
    /// The terminal is being looked at before the text is typed.
    Checking,
    /// The keys that stop a turn are on their way, or work.
    Interrupting { typed: Option<Steady> },
    /// The text is on its way.
    Writing,
    /// It is in the terminal, and not seen.
    Looking { since: Steady },
    /// It is seen.
    Seen { enter_at: Steady },
    /// Enter is on its way.
    Entering,
    /// Enter is in the terminal.
    Confirming { since: Steady, at_work: Option<Steady> },
    /// The agent has it, and a turn with it has yet to begin.
    Kept(Kept),
    /// The composer is being emptied.
    Clearing { typed: Option<Steady> },
    /// Over.
    Done,
}

/// What is known of a text that the agent has from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StartText {
    way: StartupRoute,
    /// Since when the agent rests.
    idle: Option<Steady>,
    /// When it was first seen among what was said: it is not typed again, wherever that went.
    echoed: Option<Steady>,
}

impl StartText {
    fn new(way: StartupRoute) -> Self {
        Self { way, idle: None, echoed: None }
    }
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
    shut: Option<HoldReason>,
    deadline: Option<Steady>,
    interrupted: bool,
    /// The next typing of the text is one that was counted before a crash.
    counted: bool,
    /// It is a command of the agent: it may begin no turn.
    command: bool,
    /// The agent was at work when Enter was last pressed, or may have been.
    entered_busy: bool,
    /// Nobody watched what the agent did with it so far.
    unwatched: bool,
    /// The agent's composer was never seen: the text is typed without.
    blind: bool,
    /// The composer showed other signs or line breaks than the text has.
    garbled: bool,
    /// The agent has refused the command.
    refused: bool,
    /// Its text was typed by this daemon: what stands where nothing stood before is what became of it.
    typed: bool,
    /// When somebody else was last waited for: a dialog, or a person.
    held_up: Steady,
    /// When its text was last seen in the composer behind its Enter.
    stood: Steady,
    /// What the agent is known to have done since the last write.
    reading: Reading,
}

impl Delivery {
    /// A message that nothing was done for.
    pub fn new(mode: Mode, policy: Policy) -> Self {
        Self {
            mode,
            policy,
            stage: Stage::Waiting { not_before: Steady(0) },
            attempts: 0,
            enters: 0,
            proof: Proof::Queued,
            shut: None,
            deadline: None,
            interrupted: false,
            counted: false,
            command: false,
            entered_busy: false,
            unwatched: false,
            blind: false,
            garbled: false,
            refused: false,
            typed: false,
            held_up: Steady(0),
            stood: Steady(0),
            reading: Reading::default(),
        }
    }

    /// A message that an agent gets another way, at its start.
    pub fn given(way: StartupRoute, policy: Policy) -> Self {
        let delivery = Self::new(Mode::WhenIdle, policy);
        match way {
            StartupRoute::Message => delivery,
            // It was typed, as it were: on the command line.
            StartupRoute::Argument => {
                Self { stage: Stage::Given(StartText::new(way)), attempts: 1, ..delivery }
            }
            StartupRoute::Hook => Self { stage: Stage::Given(StartText::new(way)), ..delivery },
        }
    }

    /// The same for a command of the agent.
    #[must_use]
    pub fn of_command(self, command: bool) -> Self {
        Self { command, ..self }
    }

    /// The same for what an agent got at its start while another daemon looked after it: it may have done with it.
    #[must_use]
    pub fn unwatched(self) -> Self {
        Self { unwatched: true, ..self }
    }

    /// A message that another daemon had in hand.
    pub fn resumed(mode: Mode, policy: Policy, progress: Progress, now: Steady) -> Self {
        let Progress { attempts, enters, proof, last } = progress;
        let waiting = Stage::Waiting { not_before: Steady(0) };
        let looking = Stage::Looking { since: now };
        let confirming = Stage::Confirming { since: now, at_work: None };
        let (stage, attempts, enters) = match last {
            Some((Write::Body, true)) => (looking, attempts, enters),
            // A write that was not done may still arrive: what stands in the composer then is ours.
            None | Some((Write::Body | Write::Interrupt, false)) => (waiting, attempts, enters),
            Some((Write::Enter, true)) => (confirming, attempts, enters),
            // This one was not pressed, but one before it was: the agent may have taken the text.
            Some((Write::Enter, false)) if enters > 1 => (confirming, attempts, enters - 1),
            Some((Write::Enter, false)) => (looking, attempts, enters.saturating_sub(1)),
            Some((Write::Clear, _)) => (Stage::Clearing { typed: Some(now) }, attempts, enters),
            Some((Write::Interrupt, true)) => (Stage::Interrupting { typed: Some(now) }, attempts, enters),
        };
        // What is cleared behind its Enter is a command that was refused: it is not typed again.
        let refused = enters > 0 && matches!(last, Some((Write::Clear, _)));
        let counted = matches!(last, Some((Write::Body, false)));
        // Once more, the same key may mean something else.
        let interrupted = matches!(last, Some((Write::Interrupt, true)));
        let entered_busy = matches!(mode, Mode::Queue | Mode::Now);
        let fresh = Self::new(mode, policy);
        Self { stage, attempts, enters, proof, interrupted, counted, entered_busy, refused, ..fresh }
    }

    /// It is not typed into a turn, whoever would keep it: it would not mean the same there.
    pub fn wait_for_rest(&mut self) {
        if self.mode == Mode::Queue {
            self.mode = Mode::WhenIdle;
        }
    }

    /// When it may be typed.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Goes on with other times.
    pub fn configure(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// What was asked of the terminal is of no use: something else is being typed into it, or the write that followed
    /// could not be recorded. It is asked again.
    pub fn postpone(&mut self) {
        match self.stage {
            Stage::Checking => self.stage = Stage::Waiting { not_before: Steady(0) },
            _ => self.reading.ask_again(),
        }
    }

    /// Nothing of the message is in the terminal: another may go first.
    pub fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting { .. })
    }

    /// The agent gets it another way.
    pub fn is_given(&self) -> bool {
        matches!(self.stage, Stage::Given(_))
    }

    /// The agent has it, and a turn with it has yet to begin: nothing is typed for it meanwhile.
    pub fn is_kept(&self) -> bool {
        matches!(self.stage, Stage::Kept(_))
    }

    /// The agent has it in a queue of its own, for after its turn.
    pub fn is_queued_by_agent(&self) -> bool {
        matches!(self.stage, Stage::Kept(Kept { by: Keeper::Agent { .. } }))
    }

    /// Nothing of it is in the composer, and nothing is to be typed for it now.
    pub fn is_aside(&self) -> bool {
        self.is_given() || self.is_kept()
    }

    /// The agent's session-start hook is to take it.
    pub fn awaits_hook(&self) -> bool {
        matches!(self.stage, Stage::Given(StartText { way: StartupRoute::Hook, .. }))
    }

    /// It pauses after an attempt that failed, or waits for a composer that was never seen, or that another program
    /// hides, as [`Mode::Now`] does not.
    pub fn is_held_up(&self, now: Steady) -> bool {
        let unseen =
            self.mode != Mode::Now && matches!(self.shut, Some(HoldReason::Unrecognised | HoldReason::Taken));
        unseen || matches!(self.stage, Stage::Waiting { not_before } if now < not_before)
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

    /// Text and Enter are typed without seeing a composer.
    pub fn is_blind(&self) -> bool {
        self.blind || !self.policy.has_composer
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
    pub fn shut(&self) -> Option<HoldReason> {
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
    pub fn deadline(&self) -> Option<Steady> {
        self.deadline
    }

    /// Advances the delivery by one event and says what to do.
    #[must_use]
    pub fn handle(&mut self, event: Event, view: &View, now: Steady) -> Vec<Action> {
        self.deadline = None;
        if self.stage == Stage::Done {
            return Vec::new();
        }
        if let Event::Reported { by } = event {
            return self.on_report(by, now);
        }
        if view.situation.admits_enter() == Err(HoldReason::Ended) {
            return self.ended();
        }
        if self.is_taken_by_prompt_hook(event) {
            return self.submitted(ProofEvidence::PromptHookTook);
        }
        // The end of the frame is another look.
        if event == Event::Looked && !view.current && !self.glances() {
            return Vec::new();
        }
        // That it does not read holds until it was asked again.
        let awaits = self.is_looking() || self.is_confirming();
        let unread = awaits && !matches!(event, Event::Inspected { .. });
        self.shut = self.shut.filter(|shut| unread && *shut == HoldReason::Unread);
        if view.situation.admits_enter().is_err() {
            self.held_up = now;
        }
        self.follow_reading(event, view, now);
        // Behind Enter nothing is cleared, and a part of the text says that it was not taken whole.
        let view = &if self.is_confirming() { *view } else { view.cautious() };
        match self.stage {
            Stage::Given(given) => self.await_given(given, event, view, now),
            Stage::Waiting { not_before } => self.wait(not_before, view, now),
            Stage::Checking => self.check(event, view, now),
            Stage::Interrupting { typed } => self.interrupt(typed, event, view, now),
            Stage::Writing => match event {
                Event::Typed => {
                    self.typed = true;
                    self.stage = Stage::Looking { since: now };
                    let mut actions = self.prove(Proof::Written, ProofEvidence::Ledger);
                    actions.extend(self.look(now, event, view, now));
                    actions
                }
                Event::Refused => self.fail(FailReason::Refused),
                _ => Vec::new(),
            },
            Stage::Looking { since } => self.look(since, event, view, now),
            Stage::Seen { enter_at } => self.enter(enter_at, event, view, now),
            Stage::Entering => match event {
                Event::Typed => {
                    self.stage = Stage::Confirming { since: now, at_work: None };
                    self.confirm(now, None, event, view, now)
                }
                Event::Refused => self.fail(FailReason::Refused),
                _ => Vec::new(),
            },
            Stage::Confirming { since, at_work } => self.confirm(since, at_work, event, view, now),
            Stage::Kept(kept) => self.await_turn(kept, event, view, now),
            Stage::Clearing { typed } => self.clear(typed, event, view, now),
            Stage::Done => Vec::new(),
        }
    }

    /// Keys are being typed: what is next when they are, and until when.
    fn await_keys(&mut self, event: Event, typed: Stage, until: Steady) -> Vec<Action> {
        match event {
            Event::Typed => {
                self.stage = typed;
                self.deadline = Some(until);
                Vec::new()
            }
            Event::Refused => self.fail(FailReason::Refused),
            _ => Vec::new(),
        }
    }

    /// It is proven that nothing of the text is there.
    fn missing(&mut self, now: Steady) -> Vec<Action> {
        if self.refused {
            return self.fail(FailReason::NotACommand);
        }
        self.proof = Proof::Queued;
        // What comes out wrong twice does so always.
        if self.garbled && self.attempts >= GARBLED_ATTEMPTS.min(self.policy.max_attempts) {
            return self.fail(FailReason::Garbled);
        }
        if self.attempts >= self.policy.max_attempts {
            return self.fail(FailReason::NotTaken);
        }
        let not_before = now.plus(self.policy.backoff.pause(self.attempts));
        self.stage = Stage::Waiting { not_before };
        self.deadline = Some(not_before);
        vec![Action::Missed]
    }

    fn on_report(&mut self, by: Witness, now: Steady) -> Vec<Action> {
        // Whatever was concluded since: it was typed, and it was taken.
        if self.attempts > 0 {
            return self.submitted(ProofEvidence::Reported(by));
        }
        self.deadline = Some(now);
        Vec::new()
    }

    fn submitted(&mut self, because: ProofEvidence) -> Vec<Action> {
        self.stage = Stage::Done;
        self.prove(Proof::Submitted, because)
    }

    fn ended(&mut self) -> Vec<Action> {
        // What was entered before the end may have been taken; what was not, was not.
        let entered = matches!(
            self.stage,
            Stage::Entering
                | Stage::Confirming { .. }
                | Stage::Kept(Kept { by: Keeper::Agent { .. } })
                | Stage::Given(StartText { way: StartupRoute::Argument, .. })
        );
        self.fail(if entered { FailReason::Uncertain } else { FailReason::Ended })
    }

    /// When what began then is concluded, also from a screen that never comes to rest.
    fn latest(&self, since: Steady) -> Steady {
        since.max(self.held_up).max(self.reading.read_at()).plus(self.policy.patience())
    }

    /// When nothing is waited for any more from an agent that has read what was typed and draws nothing.
    fn doubtful(&self, since: Steady) -> Steady {
        since.max(self.reading.read_at()).plus(self.policy.patience())
    }

    fn prove(&mut self, proof: Proof, because: ProofEvidence) -> Vec<Action> {
        if proof <= self.proof {
            return Vec::new();
        }
        self.proof = proof;
        vec![Action::Prove(proof, because)]
    }

    fn fail(&mut self, reason: FailReason) -> Vec<Action> {
        self.stage = Stage::Done;
        vec![Action::Fail(reason)]
    }
}

#[cfg(test)]
mod tests;
