//! What is to be done for a session.

use ostler_core::message::Message;
use ostler_core::{State, Wall, interrupt};
use ostler_screen::Size;

use crate::answering::Answered;
use crate::change::Change;
use crate::conversation::ConversationSummary;
use crate::event::{TerminalStatus, Ticket};
use crate::refusal::Refusal;

/// Something to do, in the order in which it is given.
#[derive(Debug)]
pub enum Effect {
    /// Record these, all or none, and say which it was before anything else is done.
    Commit {
        /// What is to be recorded, in this order.
        changes: Vec<Change>,
        /// When it happened.
        at: Wall,
    },
    /// Connect to the transport.
    Connect,
    /// Let go of the transport.
    Disconnect,
    /// Ask something of the transport.
    Request(Request),
    /// End a program whose holder does not answer, by a signal to the holder.
    StopBySignal,
    /// Read what an ended program has left behind.
    ReadRemains,
    /// Put the screen on disk.
    SaveScreen,
    /// Read the rules about this agent.
    LoadRules,
    /// Follow the agent's transcript.
    FollowTranscript,
    /// A hook says where the transcript is, and what the agent calls the conversation.
    NameTranscript {
        /// Where it is.
        path: Option<String>,
        /// The agent's own name for it.
        session: Option<String>,
    },
    /// Whether the agent is at work: while it is not, transcripts are not looked for by the clock.
    TranscriptActive(bool),
    /// Look at the processes.
    Sample,
    /// Find the agent's own process below the program, by the names it may have.
    FindAgent {
        /// Names of programs.
        names: Vec<String>,
    },
    /// Wait for the end of the agent's own process.
    AwaitAgentEnd {
        /// Its number.
        pid: u32,
    },
    /// Find out whether one of these programs has the terminal.
    FindKeyDriven {
        /// The process group in the foreground.
        group: u32,
        /// Names of programs.
        names: Vec<String>,
    },
    /// Find out what the user granted beforehand.
    CheckGrants,
    /// Put a long text into a file.
    StoreBody {
        /// The message's place in the order.
        order: u64,
        /// The message.
        id: String,
        /// The text.
        text: String,
    },
    /// Ask the judge about the screen.
    AskJudge {
        /// Number of the question.
        question: u64,
    },
    /// Nobody waits for the judge any more.
    CancelJudge,
    /// Run these checks and look at the work tree; whoever asks number 0 only has the tree noted.
    Examine {
        /// Names the answer.
        question: u64,
        /// Lines for a shell.
        checks: Vec<String>,
    },
    /// Gather what the agent should know.
    GatherContext,
    /// What an agent has to know takes other ways.
    Escalate(Escalation),
    /// Nothing of a message goes another way.
    Withdraw {
        /// The message.
        id: String,
    },
    /// A message got through: what waits for the agent elsewhere is not needed any more.
    GotThrough(Box<Message>),
    /// Keep what was said in a session that is about to end.
    KeepSummary(Box<ConversationSummary>),
    /// The session has ended, and that is recorded.
    Ended(Box<ConversationSummary>),
    /// Answer somebody.
    Answer(Ticket, Answer),
    /// Let a hook print this.
    Print {
        /// The hook.
        ticket: Ticket,
        /// What to print; nothing if there is nothing.
        context: Option<HookContext>,
    },
    /// A hook's report was heard: nobody handles it again.
    Heard(Ticket),
    /// Those who want the program gone are told, if no process of it is left.
    AnswerStoppers,
    /// The session is in this state now.
    State(State),
    /// What was found of the agent's stops has changed: listeners are told what it is now.
    StopsChanged,
    /// The terminal has this size now.
    Size(Size),
    /// Something for the daemon's log.
    Log(Log),
}

/// What can be asked of a transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Send the output from here on.
    Subscribe {
        /// Offset of the first byte.
        from: u64,
    },
    /// Type this, once.
    Input {
        /// Which of the lanes.
        lane: Lane,
        /// Its number in that lane.
        seq: u64,
        /// What to type.
        bytes: Vec<u8>,
    },
    /// Describe the terminal.
    Inspect,
    /// Give the terminal another size.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// End the program.
    Stop {
        /// How long it may take by itself.
        grace_ms: u32,
    },
    /// The end is recorded: the holder may go.
    Release,
}

/// Input that is numbered by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Messages.
    Message,
    /// Keys of people, and answers to dialogs.
    Keys,
    /// Replies to terminal queries.
    Reply,
}

/// An answer to somebody.
#[derive(Debug)]
pub enum Answer {
    /// What is known of a message.
    Message(Box<MessageView>),
    /// It cannot be done.
    Refused(Refusal),
    /// It is recorded.
    Noted,
    /// What the holder says of its terminal; nothing if it did not answer.
    Terminal(Option<TerminalStatus>),
    /// What became of an answer to a dialog.
    Answered(Box<Answered>),
    /// What became of an interrupt.
    Interrupted(interrupt::Outcome),
}

/// A message as it stands now.
#[derive(Debug, Clone)]
pub struct MessageView {
    /// What is recorded of it, or about to be.
    pub message: Message,
    /// Why it is not typed now.
    pub waits_for: Option<&'static str>,
}

/// What a hook gives its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookContext {
    /// Places in the order of the messages that are given for the first time.
    pub orders: Vec<u64>,
    /// What was given before is given again.
    pub again: bool,
    /// What to print.
    pub text: String,
}

/// Another way for what an agent has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalation {
    /// The message.
    pub id: String,
    /// What would have been typed.
    pub text: String,
    /// The message that tells the agent where it is, unless it is not to be told.
    pub notice: Option<String>,
}

/// Something for the daemon's log.
#[derive(Debug, Clone, PartialEq)]
pub enum Log {
    /// The session is in another state.
    State {
        /// The state.
        state: State,
        /// Its kind.
        kind: Option<String>,
        /// How sure that is.
        confidence: f32,
        /// What speaks for it.
        because: Vec<String>,
    },
    /// Something about a dialog.
    Dialog {
        /// Name of the event.
        event: &'static str,
        /// What there is to say about it.
        details: serde_json::Value,
    },
    /// Something went wrong that nobody else is told of.
    Warning(String),
}
