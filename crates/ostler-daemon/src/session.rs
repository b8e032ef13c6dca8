//! A session: the actor that owns it, and tickets to the actor.

mod actor;
mod answers;
mod by_file;
mod ended;
mod explain;
mod handles;
mod info;
mod problems;
mod provenance;
mod services;

use std::time::Duration;

use ostler_core::continuation;
use ostler_core::stop_watch::{Findings, Patience};
use ostler_core::{AgentStatus, State, Wall};
use ostler_hold::SessionDir;
use ostler_protocol::{
    AnswerRequest, AnsweredInfo, Explanation, InterruptInfo, MessageInfo, Problem, Proof, SendTerms,
    SessionInfo,
};
use ostler_screen::Size;
use ostler_session::{PendingDialog, Says};
use tokio::sync::{mpsc, oneshot, watch};

use crate::hooks::Claim;
use crate::transcript::Source;

pub(crate) use actor::{Actor, Origin, environment, keep_environment, mailbox};
pub(crate) use answers::answer_id;
pub(crate) use ended::{ended_info, ended_screen, ended_transcript, shown_reply};
pub(crate) use handles::Handles;
pub(crate) use info::{dialog as dialog_info, message as message_info, process as process_info};
pub(crate) use problems::{droppable, reused_id, store_problem};
pub(crate) use services::Services;

/// What an actor can be asked.
#[derive(Debug)]
pub(crate) enum Command {
    /// Tell about the session.
    Info(oneshot::Sender<SessionInfo>),
    /// Tell about the session, its terminal's settings included.
    Inspect(oneshot::Sender<SessionInfo>),
    /// Tell why the session is in its state.
    Explain(oneshot::Sender<Explanation>),
    /// Tell what the agent is doing, for decisions.
    AgentStatus(oneshot::Sender<AgentStatus>),
    /// Tell what the agent said last, if its hooks or its transcript say so.
    LastWords(oneshot::Sender<Option<String>>),
    /// Tell where its transcript is, if that was found.
    Transcript(oneshot::Sender<Option<Source>>),
    /// Tell what its screen shows of the agent's last reply.
    ShownReply(oneshot::Sender<Option<String>>),
    /// Show the screen.
    Look(oneshot::Sender<Look>),
    /// Type a message.
    Send(Box<SendCommand>),
    /// Tell about a message that is under way.
    Message { id: String, answer: oneshot::Sender<Option<MessageInfo>> },
    /// Tell about a message when it has got that far, or never will.
    Await { id: String, wait: Proof, answer: oneshot::Sender<MessageInfo> },
    /// Try a message again that was given up.
    RetryMessage { id: String, answer: oneshot::Sender<Result<MessageInfo, Problem>> },
    /// Give up a message that is under way.
    DropMessage { id: String, answer: oneshot::Sender<Result<MessageInfo, Problem>> },
    /// The agent has a message, as it says itself.
    Acknowledge { id: String, answer: oneshot::Sender<Result<MessageInfo, Problem>> },
    /// Type a person's keys.
    Keys(Vec<u8>),
    /// A viewer who types has a terminal of this size.
    Viewer { viewer: u64, size: Size },
    /// That viewer is gone.
    ViewerGone { viewer: u64 },
    /// Somebody who listens to its stops wants an agent to be given up that only retries for so long.
    SetPatience(Patience),
    /// Carry the agent on, ask that it goes on, or hold everything automatic.
    CarryOn { event: Box<continuation::Event>, done: oneshot::Sender<SessionInfo> },
    /// Tell which dialog is open, and what the session is doing.
    Dialog(oneshot::Sender<(State, Option<Box<PendingDialog>>)>),
    /// Answer a dialog.
    Answer { request: Box<AnswerRequest>, answer: oneshot::Sender<Result<AnsweredInfo, Problem>> },
    /// Stop the agent's turn.
    Interrupt { patience: Duration, answer: oneshot::Sender<Result<InterruptInfo, Problem>> },
    /// End the session; the answer comes when its processes are gone.
    Stop { grace_ms: u32, done: oneshot::Sender<()> },
    /// Hear what the agent's hook saw.
    Hook(Box<HookCommand>),
    /// The agent called one of ostler's tools; where it says something, somebody is told when that is recorded.
    AgentCall { id: String, says: Says, noted: Option<oneshot::Sender<()>> },
    /// Tell the agent the answers to its questions; the word comes when the messages are recorded.
    TellAnswers(oneshot::Sender<()>),
    /// What hooks reported while there was no daemon was handed over.
    SpoolHeard,
    /// The daemon is about to end: put the screen on disk.
    Park(oneshot::Sender<()>),
}

/// Gets a message when it is recorded, or why it is not.
pub(crate) type Queued = oneshot::Sender<Result<MessageInfo, Problem>>;

/// A message for the program.
#[derive(Debug)]
pub(crate) struct SendCommand {
    pub(crate) id: String,
    pub(crate) body: Vec<u8>,
    pub(crate) terms: SendTerms,
    /// Answer when this much is proven.
    pub(crate) wait: Proof,
    /// Gets the message when it is recorded.
    pub(crate) queued: Queued,
    /// Gets the message when that much is proven, or never will be.
    pub(crate) settled: oneshot::Sender<MessageInfo>,
}

/// What an agent's hook saw.
#[derive(Debug)]
pub(crate) struct HookCommand {
    /// Keeps the report until it was heard.
    pub(crate) claim: Claim,
    /// Names the report, for the log.
    pub(crate) id: String,
    /// The agent whose hook it is.
    pub(crate) agent: Option<String>,
    /// The agent's name for what happened.
    pub(crate) event: String,
    /// What the agent says about it: untrusted, perhaps cut short.
    pub(crate) payload: Vec<u8>,
    /// When it happened.
    pub(crate) at: Wall,
    /// Gets what the hook is to print, where it can give its agent context.
    pub(crate) print: Option<oneshot::Sender<Option<String>>>,
}

/// The screen at one moment.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) info: SessionInfo,
    /// Bytes that paint the screen.
    pub(crate) restore: Vec<u8>,
    /// Output behind the screen begins here.
    pub(crate) offset: u64,
    /// Output that was never seen by this screen.
    pub(crate) missing: u64,
}

/// A ticket to a session's actor.
#[derive(Debug, Clone)]
pub(crate) struct SessionHandle {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Number of the process that the actor looks after.
    pub(crate) process: u32,
    pub(crate) dir: SessionDir,
    commands: mpsc::Sender<Command>,
    /// Changes with the session's state.
    pub(crate) state: watch::Receiver<State>,
    /// Changes with what is found of the agent's stops; nothing until the session was taken up.
    pub(crate) stops: watch::Receiver<Option<Findings>>,
    /// Changes whenever the transcript tells something.
    pub(crate) told: watch::Receiver<u64>,
    /// Changes with the terminal's size.
    pub(crate) size: watch::Receiver<Size>,
}

/// The actor has ended, and with it the session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gone;

impl SessionHandle {
    /// Whether the actor has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.commands.is_closed()
    }

    /// Waits until the actor has ended.
    pub(crate) async fn gone(&self) {
        self.commands.closed().await;
    }

    pub(crate) async fn send(&self, command: Command) -> Result<(), Gone> {
        self.commands.send(command).await.map_err(|_| Gone)
    }

    /// Asks the actor something and waits for the answer.
    pub(crate) async fn ask<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, Gone> {
        let (sender, receiver) = oneshot::channel();
        self.send(question(sender)).await?;
        receiver.await.map_err(|_| Gone)
    }
}
