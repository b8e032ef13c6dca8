//! What is known about one agent.

use std::collections::BTreeMap;

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use crate::hooks::HookSpec;
use crate::mcp::McpSpec;
use crate::rule::RuleSpec;
use crate::transcript::TranscriptSpec;
use crate::version;

/// Everything ostler knows about one agent. All of it is data: no code asks for an agent's name.
///
/// Every field has a default, so that a layer which changes one field is itself a valid preset.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preset {
    /// The name for people.
    pub title: String,
    /// Among installed agents the one with the highest priority is the default.
    pub priority: i32,
    /// How dear it is: `economy`, `standard` or `premium`.
    pub cost: Cost,
    /// How it is started.
    pub run: Run,
    /// How a conversation is named and taken up again.
    pub session: SessionSpec,
    /// How the first prompt is given.
    pub prompt: PromptSpec,
    /// How it is used without a terminal.
    pub headless: Option<Headless>,
    /// Where it keeps its settings.
    pub config: ConfigDir,
    /// How it reports events to programs.
    pub hooks: Option<HookSpec>,
    /// How it is told of the tools that ostler has for it.
    pub mcp: Option<McpSpec>,
    /// Where it writes down its conversation.
    pub transcript: Option<TranscriptSpec>,
    /// The file in a project that it reads instructions from.
    pub instructions: Option<String>,
    /// How text is put into it.
    pub input: Input,
    /// What to expect of a start.
    pub startup: Startup,
    /// What it says of itself on its terminal (OSC 7501).
    pub status: StatusSpec,
    /// Structured ways to talk to it, by name (`acp`, `json`): the arguments that begin one.
    pub transport: BTreeMap<String, Vec<String>>,
    /// How its composer looks.
    pub composer: ComposerSpec,
    /// How prompts and replies look above it.
    pub conversation: ConversationSpec,
    /// How long things may take before they mean something, where the usual time is wrong for this agent.
    pub timing: Timing,
    /// What its screen means, by rule id.
    pub rules: BTreeMap<String, RuleSpec>,
}

impl Preset {
    /// Whether the rules were checked with this version, if that is known.
    pub fn was_checked(&self, version: &Version) -> Option<bool> {
        let range = VersionReq::parse(self.run.identity.as_ref()?.checked.as_deref()?).ok()?;
        Some(version::in_range(&range, version))
    }
}

/// How dear an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cost {
    /// For much and simple work.
    Economy,
    /// For most work.
    #[default]
    Standard,
    /// For hard work.
    Premium,
}

/// How an agent is started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// The program.
    pub command: String,
    /// Arguments that are always given.
    pub args: Vec<String>,
    /// Arguments for use without a person who approves.
    pub unattended: Vec<String>,
    /// Environment to set.
    pub env: BTreeMap<String, String>,
    /// Environment to take away: what would make it believe that it runs inside another agent. A name, or with `*` at its
    /// end how names begin.
    pub unset: Vec<String>,
    /// Names its processes have.
    pub processes: Vec<String>,
    /// Files that it leaves in a project for itself, as `.gitignore` names them: no work of its own.
    pub scratch: Vec<String>,
    /// Environment variables that have a key or a token of an account, the one that goes before the others first.
    pub keys: Vec<String>,
    /// How to tell that the program is really this agent.
    pub identity: Option<Identity>,
}

/// How to tell that a program is really the agent whose name it bears.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Identity {
    /// Arguments that make it tell what it is; nothing is asked of it without them.
    pub args: Vec<String>,
    /// What it then prints, if it is the agent.
    pub matches: String,
    /// Where its version stands in that: the first group. Without it, the first thing that looks like a version.
    pub version: Option<String>,
    /// Arguments that make it tell its version, where `args` do not.
    pub version_args: Vec<String>,
    /// Versions that the rules were checked with.
    pub checked: Option<String>,
}

/// How a conversation is named and taken up again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSpec {
    /// Environment in which the agent tells its tools the id of the conversation.
    pub id_env: Option<String>,
    /// Arguments that give a new conversation an id; `{id}` is replaced.
    pub id: Vec<String>,
    /// Arguments that take up the conversation `{id}`.
    pub resume: Vec<String>,
    /// Arguments that take up the newest conversation of the directory.
    pub latest: Vec<String>,
    /// Arguments that, with those of `resume`, begin a copy of the conversation.
    pub fork: Vec<String>,
}

/// How the first prompt is given.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PromptSpec {
    /// By argument, by flag, or not at all.
    pub first: FirstPrompt,
    /// The flag.
    pub flag: Option<String>,
}

/// How an agent takes a prompt at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FirstPrompt {
    /// It does not.
    #[default]
    None,
    /// As the last argument.
    Arg,
    /// Behind a flag.
    Flag,
}

/// How an agent is used without a terminal.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Headless {
    /// Arguments; `{prompt}` is replaced. Without it the prompt goes to standard input.
    pub args: Vec<String>,
    /// Arguments for structured output.
    pub json: Vec<String>,
    /// Where the answer is in that output: a JSON pointer.
    pub answer: Option<String>,
}

/// Where an agent keeps its settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigDir {
    /// The directory; `~` is the home.
    pub dir: Option<String>,
    /// The environment variable that moves it.
    pub env: Option<String>,
}

/// How text is put into an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Input {
    /// Escape cancels the request under way: a composer that is emptied by it is not emptied while the agent works.
    pub escape_cancels: bool,
    /// Keys that stop a turn.
    pub interrupt: Vec<String>,
    /// Keys that empty the composer.
    pub clear: Vec<String>,
    /// Milliseconds between the moment that a text is seen in the composer and Enter.
    pub enter_delay_ms: u32,
    /// What a long paste looks like in the composer; the group `chars` or `lines` gives its size.
    pub paste_placeholder: Option<String>,
    /// Beyond this many bytes a message goes by file.
    pub paste_limit: Option<u32>,
    /// What it does with a prompt that comes while it works, if that is known.
    pub while_working: Option<WhileWorking>,
    /// What is typed before a text that begins with this character, which would open a menu or a mode: then the text
    /// is taken as it is.
    pub literal: BTreeMap<char, String>,
    /// What is typed behind a text whose last word begins with this character, which opens a menu of completions:
    /// Enter would choose from it.
    pub closing: BTreeMap<char, String>,
    /// What a row says that refuses a command; the command's name stands in that row, too.
    pub refused: Option<String>,
    /// Programs to which keys are commands, such as editors and pagers. Where no composer is known, nothing is typed while
    /// one of them has the terminal.
    pub key_driven: Vec<String>,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            escape_cancels: true,
            interrupt: Vec::new(),
            clear: Vec::new(),
            enter_delay_ms: 150,
            paste_placeholder: None,
            paste_limit: None,
            while_working: None,
            literal: BTreeMap::new(),
            closing: BTreeMap::new(),
            refused: None,
            key_driven: Vec::new(),
        }
    }
}

impl Input {
    /// Whether a key stops a turn.
    pub fn stops(&self, key: &str) -> bool {
        (key == "escape" && self.escape_cancels) || self.interrupt.iter().any(|other| other == key)
    }
}

/// What an agent does with a prompt that comes while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhileWorking {
    /// It keeps it for after its turn.
    Queue,
    /// It takes it into the turn.
    Steer,
}

/// What to expect of a start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Startup {
    /// Milliseconds of silence after which an agent that no rules know is typed to. The last resort, at most ten minutes.
    pub ready_delay_ms: Option<u32>,
    /// Arguments that tell it to trust the folder `{cwd}`, where the user does; `{cwd:toml}` is the folder as a string in
    /// TOML, with its quotes.
    pub trusted_args: Vec<String>,
    /// Environment that tells it so.
    pub trusted_env: BTreeMap<String, String>,
    /// It starts once more when its folder is trusted, and would take its prompt twice. It is typed to when it is ready,
    /// unless it was told that the folder is trusted, in a version that is known to heed that.
    pub restarts: bool,
}

/// What an agent says of itself on its terminal (OSC 7501).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatusSpec {
    /// Whether it says anything.
    pub speaks: Speaks,
    /// The versions that do.
    pub versions: Option<String>,
    /// What it says with `working` when its turn is over and only its own background work goes on: a pattern for the
    /// message.
    pub watching: Option<String>,
}

/// When an agent tells its status on its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaks {
    /// It never did so far.
    #[default]
    Never,
    /// When the terminal says that it understands.
    Asked,
    /// Always.
    Always,
}

/// How an agent's composer looks: the place where prompts are written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ComposerSpec {
    /// Its first row.
    pub row: Option<String>,
    /// The row above it, if it has a frame.
    pub above: Option<String>,
    /// The row below it, if it has a frame.
    pub below: Option<String>,
    /// The rows of the frame go from edge to edge: shorter ones belong to what is written.
    pub wide: bool,
    /// What its further rows look like, if it has no frame below: then a blank row above the cursor does not end it.
    pub more: Option<String>,
    /// What its rows look like when nothing was written, apart from faint text.
    pub empty: Option<String>,
    /// The cursor is in it whenever it can be written in.
    pub has_cursor: bool,
    /// And it is visible there: what looks the same without it is a row of a dialog.
    pub shows_cursor: bool,
}

/// How prompts and replies look on an agent's screen: both are told, or neither.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConversationSpec {
    /// How a row begins in which a prompt that was given begins. Rows behind it are its own until a reply begins.
    pub prompt: Option<String>,
    /// How a row begins in which the agent's own words begin, up to the words. Its other rows begin in that column.
    pub reply: Option<String>,
    /// Words before the id with which the agent may confirm a message, besides `ACK:`.
    pub acknowledge: Vec<String>,
}

/// Times in milliseconds; what is not set here is set for all agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// A screen that looks idle is believed after this.
    pub idle_confirm_ms: Option<u32>,
    /// The same where a rule is certain.
    pub certain_confirm_ms: Option<u32>,
    /// The same, for the first time after a start.
    pub startup_confirm_ms: Option<u32>,
    /// The same, for an agent that tells its status and has not yet.
    pub startup_status_ms: Option<u32>,
    /// A screen that looks idle is believed after this even if it is never quiet.
    pub noisy_idle_ms: Option<u32>,
    /// An emptied composer means work for so long, even if nothing else shows it.
    pub submit_grace_ms: Option<u32>,
    /// An agent that is slow to take Enter has this long.
    pub enter_grace_ms: Option<u32>,
    /// A turn whose end nobody tells is over after the screen looked idle for so long, and it did not so long from
    /// its beginning.
    pub interrupt_confirm_ms: Option<u32>,
    /// An end that is told of a turn of which the screen has shown nothing is believed after this.
    pub end_confirm_ms: Option<u32>,
    /// A start that nothing is recognised of is given up after this.
    pub startup_deadline_ms: Option<u32>,
}
