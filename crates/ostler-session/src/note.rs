//! What the machines of a session have to tell each other, and what follows when something is recorded.

use ostler_core::delivery::Witness;
use ostler_core::message::Message;
use ostler_core::typing::{self, Settled};
use ostler_core::{State, continuation, delivery, detector, judge, lifecycle};

use crate::answering::ByHand;
use crate::effect::Effect;
use crate::event::{HookReport, Send, TerminalStatus, Ticket};
use crate::outbox::{Open, Waiter};
use crate::refusal::Refusal;

/// What one machine has to tell another.
#[derive(Debug)]
pub(crate) enum Note {
    /// To the detector.
    Detect(detector::Event),
    /// From the detector: what follows from a look, and the state before it.
    Detected { actions: Vec<detector::Action>, before: State },
    /// To the lifecycle.
    Life(lifecycle::Event),
    /// To the dialogs: the screen may show one.
    LookAtDialog,
    /// To whoever listens to the agent: the screen may show what it said.
    ReadAgentSpeech,
    /// To the outbox: something may be typed now.
    Deliver,
    /// To the delivery of a message.
    Delivery(u64, delivery::Event),
    /// To the input: what it decided.
    Typing(Vec<typing::Action>),
    /// From the input: what became of a write.
    Settled(u64, Settled),
    /// To the judge's keeper: whether the judge is needed.
    UpdateJudge,
    /// To the judge's keeper.
    Judge(judge::Event),
    /// To the outbox: the agent says which prompt it took.
    PromptTaken(Witness, Option<String>),
    /// To whoever listens to the agent: what it said, word for word.
    AgentText(String),
    /// To those who asked for the terminal's settings.
    Inspected(TerminalStatus),
    /// To the continuation.
    CarryOn(continuation::Event),
    /// The program's end is known, and what it left behind.
    Finish,
}

/// What follows when something is recorded.
#[derive(Debug)]
pub(crate) enum Then {
    /// Do it.
    Do(Effect),
    /// Tell those who wait for a message what is known of it.
    Tell(Box<Message>),
    /// A message that was accepted is under way.
    Opened { open: Box<Open>, queued: Option<Ticket>, waiter: Option<Waiter> },
    /// A message is under way again.
    Revived { open: Box<Open>, ticket: Ticket },
    /// A message that waited is not wanted any more.
    Cancelled { order: u64, ticket: Ticket },
    /// A message that was given up is done with.
    Dropped { message: Box<Message>, ticket: Ticket },
    /// A delivery has taken a step that ends with a write: the write may be made.
    Stepped(Box<Stepped>),
    /// The write that was decided is not made: whether it still should be is seen afresh.
    NotStepped { order: u64 },
    /// No dialog is answered, because that cannot be recorded.
    NotAnswered(Ticket),
    /// A dialog is answered for somebody.
    AnswerByHand(Box<ByHand>),
    /// Those who asked are told that it cannot be done.
    Refuse(Vec<Ticket>, Refusal),
    /// The end is recorded.
    Ended,
}

/// A step of a delivery that ends with a write, until it is recorded.
#[derive(Debug)]
pub(crate) struct Stepped {
    pub(crate) order: u64,
    /// The delivery behind the step; nothing for raw bytes.
    pub(crate) delivery: Option<delivery::Delivery>,
    /// What the step has proven, with its evidence.
    pub(crate) proofs: Vec<(ostler_core::Proof, String)>,
    /// Nothing of the text was where it was typed before.
    pub(crate) missed: bool,
    pub(crate) echoes: usize,
    pub(crate) prompt: Option<ostler_agents::Prompt>,
    pub(crate) mark: Option<String>,
}

/// What waits for the rules.
#[derive(Debug)]
pub(crate) enum Deferred {
    Hook(HookReport),
    Send(Box<Send>),
}
