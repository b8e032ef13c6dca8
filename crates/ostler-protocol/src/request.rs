//! What a client asks.

use ostler_core::beacon::Subject;
use ostler_core::continuation::Terms;
use ostler_core::delivery::Mode;
use ostler_core::queue::Priority;
use ostler_core::{Proof, SessionName, State};
use serde::{Deserialize, Serialize};

use crate::context::{ContextPlace, ContextRequest, SaveRequest};
use crate::dialog::AnswerRequest;
use crate::hook::HookReport;
use crate::os_text::OsText;
use crate::run::RunRequest;
use crate::tool::ToolRequest;

/// A request to the daemon.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Opens the connection.
    Hello {
        /// Protocol of the client.
        protocol: u32,
        /// Version of the client, for the log.
        version: String,
    },
    /// Starts a program.
    Start(Box<StartRequest>),
    /// Gives a session that has ended another process.
    Resume(Box<ResumeRequest>),
    /// Carries agents on that stop early, asks that they go on, or holds everything automatic.
    CarryOn {
        /// The session's name or id; all that run, if nothing is said.
        name: Option<String>,
        /// What is wanted.
        wanted: Box<CarryOnRequest>,
    },
    /// Lists sessions.
    List {
        /// Ended ones too.
        all: bool,
    },
    /// Tells about one session.
    Status {
        /// Its name or id.
        name: String,
    },
    /// Tells why a session is in its state.
    Explain {
        /// Its name or id.
        name: String,
    },
    /// Shows a session's output: a conversation.
    View(ViewRequest),
    /// In a view with keys: the viewer's terminal has this size now.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Sends a message; a frame with the body follows.
    Send {
        /// The session's name or id.
        name: String,
        /// Makes the message the same one when it is sent again.
        id: String,
        /// Answer when this much is proven.
        wait: Proof,
        /// How it is to be delivered.
        terms: SendTerms,
    },
    /// Answers when a message is proven to have got so far, or never will.
    Await {
        /// The session's name or id.
        name: String,
        /// The message's id.
        id: String,
        /// Answer when this much is proven.
        wait: Proof,
    },
    /// Tells the agent's last answers.
    Last {
        /// The session's name or id.
        name: String,
        /// How many.
        count: usize,
    },
    /// Tells a piece of the agent's transcript.
    Transcript {
        /// The session's name or id.
        name: String,
        /// Where it begins: what the last piece said; nothing for the beginning.
        #[serde(default)]
        after: Option<serde_json::Value>,
        /// Wait for one if there is none.
        #[serde(default)]
        follow: bool,
    },
    /// Answers when the turn of a message is over, with what the agent said.
    Reply {
        /// The session's name or id.
        name: String,
        /// The message's id.
        id: String,
    },
    /// Lists messages.
    Messages {
        /// Only of this session.
        name: Option<String>,
        /// Those that arrived too.
        all: bool,
    },
    /// Tries a message again that was given up.
    RetryMessage {
        /// Its id.
        id: String,
        /// The session's name or id, if the id alone does not tell.
        name: Option<String>,
    },
    /// Gives up a message that is under way.
    DropMessage {
        /// Its id.
        id: String,
        /// The session's name or id, if the id alone does not tell.
        name: Option<String>,
    },
    /// Confirms a message on behalf of the agent that got it.
    Acknowledge {
        /// The message's id.
        id: String,
        /// Id of the session that the agent runs in, if it is known.
        session: Option<String>,
    },
    /// Tells what became of all messages, and what sessions there are.
    Metrics,
    /// Answers when the session is in one of these states, or can no longer be.
    Wait {
        /// The session's name or id.
        name: String,
        /// The states waited for.
        states: Vec<State>,
    },
    /// Tells which dialog waits for a person.
    Dialog {
        /// The session's name or id.
        name: String,
    },
    /// Answers a dialog, if it is the one that is meant; answers when it is gone, or left.
    Answer(Box<AnswerRequest>),
    /// Stops the agent's turn; answers when it has come to rest, or has not in time.
    Interrupt {
        /// The session's name or id.
        name: String,
        /// Milliseconds that it may take.
        patience_ms: u32,
    },
    /// Ends a session's whole process tree; answers when it is gone.
    Stop {
        /// The session's name or id.
        name: String,
        /// Milliseconds between asking and killing.
        grace_ms: u32,
    },
    /// Tells what happened.
    Events {
        /// Only of this session.
        name: Option<String>,
        /// Only events behind this number.
        after: i64,
        /// Wait for one if there is none.
        follow: bool,
    },
    /// Reports what an agent's hook saw; a frame with the payload follows.
    Hook(Box<HookReport>),
    /// Begins a run.
    Run(Box<RunRequest>),
    /// Answers with a run when it is further than this version, or has ended.
    RunStatus {
        /// Its id, or the beginning of it.
        id: String,
        /// A version that is known already.
        after: Option<u64>,
    },
    /// Lists runs.
    Runs {
        /// Ended ones too.
        all: bool,
    },
    /// Ends a run.
    CancelRun {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Tells about the providers that runs have used.
    Providers,
    /// Says that a provider can be used again.
    ResetProvider {
        /// Which, or which with one account (`NAME@ACCOUNT`); all of them if nothing is said.
        provider: Option<String>,
    },
    /// Puts the context of a project together.
    Context(Box<ContextRequest>),
    /// Tells what is kept of a project.
    ContextRecords {
        /// Which project.
        place: ContextPlace,
    },
    /// Keeps something of a project.
    SaveContext(Box<SaveRequest>),
    /// Takes what ostler wrote out of a project's files.
    ClearContext {
        /// Which project.
        place: ContextPlace,
        /// Forget what is kept of it, too.
        records: bool,
    },
    /// Calls one of the tools for agents.
    Tool(Box<ToolRequest>),
    /// Lists what agents ask their owner.
    Questions {
        /// Only of this session.
        name: Option<String>,
        /// Those that were answered too.
        all: bool,
    },
    /// Answers a question of an agent.
    AnswerQuestion {
        /// Its id.
        id: String,
        /// The answer, or the number of a choice.
        text: String,
    },
    /// Tells about the daemon.
    Daemon,
    /// Ends the daemon; sessions go on.
    Shutdown,
}

/// What is wanted of an agent that may stop before its work is done.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "wanted", rename_all = "snake_case")]
pub enum CarryOnRequest {
    /// Carry it on from now, and look at once whether it should go on.
    Begin {
        /// What for, and how far.
        terms: Terms,
        /// The environment that checks run in.
        env: Vec<(OsText, OsText)>,
    },
    /// Look whether it should go on.
    Request,
    /// Carry it on no more.
    End,
    /// Do nothing automatic.
    Hold,
    /// Do again what was held.
    Release,
}

/// How a message is to be delivered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SendTerms {
    /// Type the bytes as they are; otherwise it is a prompt for an agent.
    pub raw: bool,
    /// Who sends it.
    #[serde(default)]
    pub sender: String,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// When it may be typed.
    #[serde(default)]
    pub mode: Mode,
    /// Ask the agent to confirm it.
    #[serde(default)]
    pub ack: bool,
    /// It is a command of the agent, and typed as it is; otherwise it is made sure that it is taken as a text.
    #[serde(default)]
    pub command: bool,
    /// Give it up if it was not typed within so many milliseconds.
    #[serde(default)]
    pub expires_ms: Option<u64>,
}

/// A program to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartRequest {
    /// Makes a repeated request the same one.
    pub id: String,
    /// The program: a path, or a name to be found on the given `PATH`.
    pub program: OsText,
    /// Its arguments.
    pub args: Vec<OsText>,
    /// The agent that the program is, if the user says so.
    pub agent: Option<String>,
    /// Whether the agent's hooks are set up for this session.
    pub hooks: bool,
    /// What to call the session; made from the program's name if absent.
    pub name: Option<SessionName>,
    /// Where it starts; an absolute path.
    pub cwd: OsText,
    /// The caller's environment, to be cleaned.
    pub env: Vec<(OsText, OsText)>,
    /// Variables the caller asked for; never cleaned.
    pub extra_env: Vec<(OsText, OsText)>,
    /// Columns of the terminal.
    pub cols: u16,
    /// Rows of the terminal.
    pub rows: u16,
    /// Most bytes of recording; 0 for none.
    pub record: u64,
    /// The caller's limit on open files; 0 if it is not known.
    pub open_files: u64,
    /// The caller's umask.
    pub umask: u32,
    /// What the agent has to know and do from the start.
    #[serde(default)]
    pub startup: StartupRequest,
    /// The folder is trusted: dialogs that ask for it are answered so.
    #[serde(default)]
    pub trust: bool,
    /// The agent works without a person who approves.
    #[serde(default)]
    pub unattended: bool,
    /// It is carried on when it stops early.
    #[serde(default)]
    pub carry_on: Option<Terms>,
}

/// Another process for a session that has ended: same name, queue and history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResumeRequest {
    /// Makes a repeated request the same one.
    pub id: String,
    /// The session's name or id.
    pub name: String,
    /// Arguments for the program instead of those that it was started with.
    pub args: Option<Vec<OsText>>,
    /// Begin a new conversation, also where the agent could go on with the last one.
    pub fresh: bool,
    /// The caller's environment, to be cleaned.
    pub env: Vec<(OsText, OsText)>,
    /// Variables the caller asked for; never cleaned.
    pub extra_env: Vec<(OsText, OsText)>,
    /// The caller's limit on open files; 0 if it is not known.
    pub open_files: u64,
    /// The caller's umask.
    pub umask: u32,
}

/// What an agent has to know and do from the start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StartupRequest {
    /// What it should do.
    pub prompt: Option<String>,
    /// What it should know.
    pub context: Option<String>,
    /// Who asks for it.
    pub sender: String,
    /// Say in the first line who speaks, and about what.
    pub beacon: bool,
    /// What the first line says it is about; by what there is to do, if nothing is said.
    #[serde(default)]
    pub subject: Option<Subject>,
}

/// From where on output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// The present screen, then what follows.
    Screen,
    /// All output that is still kept.
    Oldest,
    /// All output from this offset on, for a viewer whose view was cut short.
    Offset(u64),
}

/// A look at a session's output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ViewRequest {
    /// The session's name or id.
    pub name: String,
    /// What to begin with.
    pub since: Since,
    /// Go on until the session ends.
    pub follow: bool,
    /// The viewer types, and the terminal takes this size `(columns, rows)`.
    pub keys: Option<(u16, u16)>,
}
