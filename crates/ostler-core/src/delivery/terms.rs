//! What is seen, heard and done about a message on its way.

use serde::{Deserialize, Serialize};

use super::Situation;
use crate::{Proof, Steady};

/// When a message may be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// When the agent is at rest.
    #[default]
    WhenIdle,
    /// At once: an agent at work keeps it for later by itself, or takes it into its turn.
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
pub enum ComposerView {
    /// There is no composer to be seen.
    Hidden,
    /// Nothing is written in it.
    Empty,
    /// The message, whole, or the mark that stands for it.
    Ours,
    /// A part of the message and nothing else.
    Part,
    /// All its letters, and not its signs or line breaks.
    Garbled,
    /// An earlier message of ours that the agent has put back.
    Earlier,
    /// Something else.
    Foreign,
}

/// What of a composer shows that a line break came behind its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How many rows it has.
    pub rows: usize,
    /// Nothing is written in the last one.
    pub ends_blank: bool,
}

impl Shape {
    /// Whether a line break came since it had another shape. One that cannot grow any more scrolls.
    pub(super) fn is_broken(self, before: Self) -> bool {
        self.rows > before.rows || (self.ends_blank && !before.ends_blank)
    }
}

/// Everything that can be seen at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// What the agent is doing.
    pub situation: Situation,
    /// What its composer shows.
    pub sight: ComposerView,
    /// It shows that it went to work after Enter was pressed; the Enter itself is no sign of it.
    pub at_work: bool,
    /// The message stands among what was said, above the composer.
    pub echoed: bool,
    /// An equal message was typed not long ago: what is echoed may be that one.
    pub repeated: bool,
    /// The agent says that it does not know this command.
    pub refused: bool,
    /// It would say so.
    pub tells_refusals: bool,
    /// An agent at work keeps what it is given for after its turn.
    pub keeps: bool,
    /// The agent tells which prompts it takes, and has done so before.
    pub tells_prompts: bool,
    /// Somebody else typed since the composer was last seen empty: what stands there may be theirs, also where it reads
    /// like something of ours.
    pub touched: bool,
    /// Somebody else pressed Enter since this message's: what the agent does now may be theirs.
    pub other_entered: bool,
    /// When bytes were last typed as they are.
    pub raw: Option<Steady>,
    /// When the terminal was last looked at, an editor or a pager had it: keys are commands to those.
    pub taken: bool,
    /// When its screen changed last.
    pub changed: Steady,
    /// How many bytes the program had written when it looked like this.
    pub drawn: u64,
    /// The shape of its composer, if that is seen and nobody else typed since this message's Enter.
    pub shape: Option<Shape>,
    /// What the screen says was read from it as it is now, not in the middle of a frame.
    pub current: bool,
}

impl View {
    /// What may be said to be ours: a draft that somebody else may have written is not.
    pub(super) fn cautious(self) -> Self {
        match self.sight {
            ComposerView::Part | ComposerView::Garbled | ComposerView::Earlier if self.touched => {
                Self { sight: ComposerView::Foreign, ..self }
            }
            _ => self,
        }
    }
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
        /// Bytes that it had written by then.
        drawn: u64,
    },
    /// The agent's hook took it.
    Taken,
    /// The agent has begun a turn, with another prompt.
    TurnBegan,
    /// The agent says that it took this very message as a prompt.
    Reported {
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

impl Witness {
    /// Every witness.
    pub const ALL: [Self; 2] = [Self::Hook, Self::Transcript];
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Look at the terminal's settings.
    Inspect,
    /// Record the intent, then type.
    Type(Write),
    /// Record that this much is proven.
    Prove(Proof, ProofEvidence),
    /// Record that nothing of the text is there, and that it will be typed again.
    Missed,
    /// Nothing more will be done; record why.
    Fail(FailReason),
}

/// What a proof rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofEvidence {
    /// The holder's ledger.
    Ledger,
    /// The composer shows it.
    Composer,
    /// The agent said so.
    Reported(Witness),
    /// The composer was emptied, and the agent went to work.
    WentToWork,
    /// The composer was emptied while the agent was at work, and the agent keeps the message for after its turn.
    Kept,
    /// The composer was emptied while the agent was at work, and it takes the message into its turn.
    Steered,
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
    /// A turn has begun since the hook took it.
    TurnBegan,
    /// The hook of a prompt took it, and its turn has it.
    PromptHookTook,
}

/// Why a delivery ends without proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
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
    /// The composer shows its letters, and other signs or line breaks, whenever it is typed.
    Garbled,
    /// The terminal did not take it.
    Refused,
    /// The agent does not know the command.
    NotACommand,
}

impl FailReason {
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
            Self::Garbled => {
                "the prompt box shows something else than the text that was typed; it was not submitted"
            }
            Self::Refused => "the terminal did not take it",
            Self::NotACommand => "the agent refused the command",
        }
    }
}
