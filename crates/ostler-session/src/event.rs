//! What happens to a session.

use std::time::Duration;

use ostler_core::detector::ProcessSample;
use ostler_core::lifecycle::Evidence;
use ostler_core::message::{Message, Terms};
use ostler_core::stop_watch::Patience;
use ostler_core::{Fact, Proof, Wall, continuation, judge, typing};
use ostler_screen::{SafeText, Size};
use serde_json::Value;

use crate::agent_calls::AgentCall;
use crate::carrying_on::Examination;
use crate::profile::AgentProfile;

/// Names somebody who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// The holder was started.
    Launched,
    /// A daemon takes over the session from its record.
    Recovered,
    /// Everything that hooks reported while there was no daemon was handed to the session.
    SpoolHeard,
    /// The last commit is recorded.
    Committed,
    /// The last commit was refused.
    NotCommitted,
    /// The transport is connected.
    Connected {
        /// What it says of the terminal.
        status: TerminalStatus,
        /// What it can do.
        abilities: Abilities,
    },
    /// There is no connection, and this is what the session's directory says.
    Disconnected(Evidence),
    /// The program wrote something.
    Output {
        /// Where in the whole output it begins.
        offset: u64,
        /// What it wrote.
        bytes: &'a [u8],
    },
    /// Output is gone for good.
    Gap {
        /// Offset of the first byte that is lost.
        from: u64,
        /// Offset of the first byte behind it.
        resumed: u64,
        /// Sequences that give a new terminal the modes it has there; none if they are not known.
        modes: Vec<u8>,
    },
    /// The holder says what became of the last input.
    InputAnswered(typing::Answer),
    /// The holder describes its terminal.
    Inspected(TerminalStatus),
    /// The program has ended.
    Exited(Exit),
    /// What an ended program has left behind.
    Remains {
        /// The holder's record of the end.
        exit: Option<Exit>,
        /// The last output.
        output: Option<LastOutput>,
    },
    /// The rules about agents have changed.
    RulesChanged,
    /// The rules about this agent; nothing if they could not be read.
    Rules(Option<Box<AgentProfile>>),
    /// The agent's transcript has more.
    Transcript(TranscriptBatch),
    /// The transcript cannot be followed.
    TranscriptProblem(String),
    /// The program, or somebody for it, has made the file that says that it is ready.
    ReadyMarked,
    /// A hook of the agent reports.
    Hook(HookReport),
    /// The hook has printed the context for its agent, or was gone.
    HookPrinted {
        /// Places in the order of the messages that it was given.
        orders: Vec<u64>,
        /// What was given before was given again.
        again: bool,
        /// The hook took it.
        taken: bool,
    },
    /// What an agent has to know waits for it elsewhere.
    Escalated {
        /// The message.
        id: String,
        /// It is in the agent's instructions file.
        in_file: bool,
        /// The agent has yet to be told.
        tell: bool,
    },
    /// What became of a question to the judge.
    Judge(judge::Event),
    /// The agent called one of ostler's tools.
    AgentCalled(AgentCall),
    /// The processes were looked at; nothing if they could not be.
    Sampled(Option<ProcessSample>),
    /// Whether the agent's own process was found below the program: its number.
    AgentFound(Option<u32>),
    /// That process has ended.
    AgentEnded,
    /// Whether a program that takes keys for commands has the terminal.
    KeyDriven(bool),
    /// What the user granted beforehand.
    Grants(Grants),
    /// A text that cannot be typed was put into a file, or why it was not.
    BodyStored {
        /// The message's place in the order.
        order: u64,
        /// The file, and the line to type instead.
        stored: Result<StoredBody, String>,
    },
    /// What was asked about a stop is known.
    Examined(Examination),
    /// The context that the agent wished for.
    ContextGathered(String),
    /// Somebody wants something.
    Command(Command),
    /// Time has passed.
    Tick,
}

/// A text in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBody {
    /// Path of the file.
    pub path: String,
    /// The line that is typed instead of the text.
    pub line: SafeText,
}

/// What is left of an ended program's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastOutput {
    /// Where in the whole output it begins.
    pub offset: u64,
    /// Sequences that give a new terminal the modes it had there; none if they are not known.
    pub modes: Vec<u8>,
    /// The output.
    pub bytes: Vec<u8>,
}

/// What can be asked of a session.
#[derive(Debug)]
pub enum Command {
    /// Deliver a message.
    Send(Box<Send>),
    /// Say when a message has got that far, or never will.
    Await {
        /// As recorded.
        stored: Box<Message>,
        /// The proof level that is waited for.
        wants: Proof,
        /// Who wants to know.
        ticket: Ticket,
    },
    /// Try a message again that was given up.
    Retry {
        /// As recorded.
        stored: Box<Message>,
        /// What it says.
        body: Vec<u8>,
        /// Who wants it.
        ticket: Ticket,
    },
    /// Give up a message that waits, or be done with one that was given up.
    Drop {
        /// As recorded.
        stored: Box<Message>,
        /// Who wants it.
        ticket: Ticket,
    },
    /// The agent has a message, as it says by a command.
    Acknowledge {
        /// As recorded.
        stored: Box<Message>,
        /// Who says so.
        ticket: Ticket,
    },
    /// A person typed.
    Keys(Vec<u8>),
    /// A viewer who types has a terminal of this size.
    Viewer {
        /// The viewer's number.
        viewer: u64,
        /// The size.
        size: Size,
    },
    /// That viewer is gone.
    ViewerGone {
        /// The viewer's number.
        viewer: u64,
    },
    /// Ask the holder about its terminal.
    Inspect(Ticket),
    /// Somebody who listens to its stops wants it to be given up if it only retries for so long.
    SetPatience(Patience),
    /// Begin or end to carry the agent on, ask that it goes on, or hold everything automatic.
    CarryOn(continuation::Event),
    /// Answer a dialog.
    AnswerDialog(AnswerCommand),
    /// Stop the agent's turn.
    Interrupt {
        /// How long it may take.
        patience: Duration,
        /// Who wants it.
        ticket: Ticket,
    },
    /// End the program.
    Stop {
        /// How long it may take by itself.
        grace_ms: u32,
    },
    /// The daemon is about to end.
    Park,
}

/// A message to be delivered.
#[derive(Debug)]
pub struct Send {
    /// Its id, unique in its session.
    pub id: String,
    /// What to deliver.
    pub body: Vec<u8>,
    /// What was agreed.
    pub terms: Terms,
    /// What is recorded under this id, and whether that has the same body and is raw alike.
    pub known: Option<(Message, bool)>,
    /// Who is told when it is recorded.
    pub queued: Option<Ticket>,
    /// Who is told when it has got that far, or never will.
    pub waiter: Option<(Proof, Ticket)>,
}

/// Somebody's answer to a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerCommand {
    /// The dialog's id.
    pub dialog: String,
    /// `yes`, `no`, the number or the words of a choice, or words of one's own.
    pub word: String,
    /// It is words of one's own, whatever it says.
    pub own_words: bool,
    /// With `yes`: for good.
    pub always: bool,
    /// Who answers.
    pub ticket: Ticket,
}

/// What a hook of the agent reports.
#[derive(Debug)]
pub struct HookReport {
    /// Names the report.
    pub ticket: Ticket,
    /// The agent whose hook it is.
    pub agent: Option<String>,
    /// The agent's name for what happened.
    pub event: String,
    /// What the agent says about it: untrusted, perhaps cut short.
    pub payload: Vec<u8>,
    /// When the agent ran the hook.
    pub at: Wall,
    /// The hook can give its agent context.
    pub wants_context: bool,
}

/// What a transcript says.
#[derive(Debug)]
pub struct TranscriptBatch {
    /// What was written, and when, where it says so.
    pub facts: Vec<(Fact, Option<Wall>)>,
    /// How far it was read, for the next daemon.
    pub state: Value,
    /// Why it is not read.
    pub problem: Option<String>,
}

/// What the user granted beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grants {
    /// The folder is trusted.
    pub folder: bool,
    /// The agent works unattended.
    pub unattended: bool,
}

/// What a transport can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// It types keys: those of people, messages, and answers to dialogs.
    pub keys: bool,
    /// It tells the terminal's settings, and how much of its input the program has not read.
    pub terminal: bool,
}

/// What a holder says of its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TerminalStatus {
    /// Process id of the program.
    pub child: u32,
    /// Process id of the holder, where it is known.
    pub holder: Option<u32>,
    /// Size of the terminal.
    pub size: (u16, u16),
    /// Bytes of output so far.
    pub written: u64,
    /// Last number of the messages' lane.
    pub messages: u64,
    /// Last number of the keys' lane.
    pub keys: u64,
    /// Last number of the replies' lane.
    pub replies: u64,
    /// The terminal collects lines.
    pub canonical: bool,
    /// It echoes.
    pub echo: bool,
    /// It turns keys into signals.
    pub signals: bool,
    /// The process group that has it; 0 if none.
    pub foreground: u32,
    /// Bytes that the program has not read.
    pub pending: u32,
}

/// How a program ended, as its holder recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Exit status, where the program ended by itself.
    pub status: Option<u8>,
    /// Signal that ended it, where one did.
    pub signal: Option<u8>,
    /// When the program ended.
    pub at: Wall,
    /// Bytes of output in all.
    pub written: u64,
    /// The last message that was typed to its last byte.
    pub typed: u64,
    /// CPU time in microseconds.
    pub cpu_us: u64,
    /// Largest memory in KiB.
    pub max_rss_kib: u64,
}
