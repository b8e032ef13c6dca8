//! The scenes.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// One thing that happens to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scene {
    /// It starts, and nobody types.
    ColdStart,
    /// It streams a reply.
    Reply,
    /// Its model is silent for a while.
    Silence,
    /// It runs a tool for a while, without asking.
    LongTool,
    /// It asks whether it may run a tool.
    Permission,
    /// It asks a question.
    Question,
    /// It asks at its start whether the folder is trusted.
    Trust,
    /// It is interrupted while it streams.
    Interrupt,
    /// Its model answers 429 and goes on doing so.
    RateLimit,
    /// Its model is overloaded twice, then answers.
    Overload,
    /// Its model does not know its key.
    Auth,
    /// Its model quotes what screens of agents say.
    Trap,
    /// It gets a second prompt right after the first turn.
    TwoTurns,
    /// It does nothing for a minute after a turn.
    #[value(name = "idle-60")]
    #[serde(rename = "idle-60")]
    Idle60,
    /// Its own menus are opened, left open and closed.
    Menus,
    /// Something is written, and erased again.
    ErasedDraft,
    /// It refuses a command of its own that it does not know.
    RefusedCommand,
    /// It asks two questions, and then whether the answers are right.
    Review,
    /// It runs two tools, and asks about the second only.
    TwoTools,
    /// A command goes on in the background when the turn is over.
    BackgroundShell,
    /// It gives work to an agent of its own.
    Subagent,
    /// Its terminal becomes smaller while it streams.
    Resize,
    /// Its terminal is as small as one can work in.
    Small,
    /// Its reply ends with a dialog that it quotes.
    QuotedDialog,
    /// Its model is overloaded for so long that it says why it tries again.
    Retries,
    /// Its conversation is cleared.
    Clear,
    /// Its conversation is made shorter.
    Compact,
    /// The daemon is killed while it streams.
    DaemonKilled,
}

/// One thing that the driver does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// A prompt, and its turn up to the end.
    Prompt(&'static str),
    /// Each menu of the agent's file is opened, left alone and closed.
    Menus,
    /// A text is written and left alone, and erased by as many keys.
    Draft(&'static str),
    /// A command of the agent's file, by its name there.
    Command(&'static str),
}

/// What befalls an agent in the midst of its stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mishap {
    /// A person interrupts it.
    Interrupt,
    /// Its terminal gets this size.
    Resize(&'static str),
    /// The daemon is killed.
    KillDaemon,
}

/// What the driver does in a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is done, in order.
    pub steps: &'static [Step],
    /// Dialogs before the first prompt.
    pub start_dialogs: &'static [&'static str],
    /// Dialogs in the turn.
    pub turn_dialogs: &'static [&'static str],
    /// Seconds a dialog is left alone.
    pub hold: f64,
    /// What happens in the midst of a stream, and how many seconds into it.
    pub mishap: Option<(f64, Mishap)>,
    /// The turn ends by an error.
    pub fails: bool,
    /// Seconds to watch after the last turn.
    pub rest: f64,
    /// The tool command must have run.
    pub tool: bool,
    /// Something of the agent's own goes on when its turn is over.
    pub background: bool,
    /// Another agent works on for it when its turn is over, and then it has a word to say about that.
    pub helper: bool,
    /// The terminal's size.
    pub size: &'static str,
    /// Seconds a turn may take beyond what its script says.
    pub patience: f64,
}

const REST: f64 = 4.0;
const PLAIN: Plan = Plan {
    steps: &[],
    start_dialogs: &[],
    turn_dialogs: &[],
    hold: 5.0,
    mishap: None,
    fails: false,
    rest: REST,
    tool: false,
    background: false,
    helper: false,
    size: "120x40",
    patience: 60.0,
};

const DIALOG: &str = "please [[say 5 words]] [[quote \\n\\nDo you want to proceed?\\n❯ 1. Yes\\n  2. No\\n\\nEnter to confirm · Esc to cancel]]";

const RETRIES: &str = "please [[status 529]] [[status 529]] [[status 529]] [[status 529]] [[say 5 words]]";

const COMPACTED: &[Step] = &[
    Step::Prompt("please [[say 60 words over 2s]]"),
    Step::Prompt("again [[say 60 words over 2s]]"),
    Step::Command("compact"),
];

impl Scene {
    /// What every agent is tried with.
    pub const USUAL: [Self; 14] = [
        Self::ColdStart,
        Self::Reply,
        Self::Silence,
        Self::LongTool,
        Self::Permission,
        Self::Question,
        Self::Trust,
        Self::Interrupt,
        Self::RateLimit,
        Self::Overload,
        Self::Auth,
        Self::Trap,
        Self::TwoTurns,
        Self::Idle60,
    ];

    /// All of them.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Its name on the command line and in paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::ColdStart => "cold-start",
            Self::Reply => "reply",
            Self::Silence => "silence",
            Self::LongTool => "long-tool",
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Trust => "trust",
            Self::Interrupt => "interrupt",
            Self::RateLimit => "rate-limit",
            Self::Overload => "overload",
            Self::Auth => "auth",
            Self::Trap => "trap",
            Self::TwoTurns => "two-turns",
            Self::Idle60 => "idle-60",
            Self::Menus => "menus",
            Self::ErasedDraft => "erased-draft",
            Self::RefusedCommand => "refused-command",
            Self::Review => "review",
            Self::TwoTools => "two-tools",
            Self::BackgroundShell => "background-shell",
            Self::Subagent => "subagent",
            Self::Resize => "resize",
            Self::Small => "small",
            Self::QuotedDialog => "quoted-dialog",
            Self::Retries => "retries",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::DaemonKilled => "daemon-killed",
        }
    }

    /// What the driver does.
    pub fn plan(self) -> Plan {
        use Step::{Command, Draft, Menus, Prompt};
        match self {
            Self::ColdStart => Plan { rest: 5.0, ..PLAIN },
            Self::Reply => Plan { steps: &[Prompt("please [[say 60 words over 5s]]")], ..PLAIN },
            Self::Silence => Plan { steps: &[Prompt("please [[silence 15s]] [[say 5 words]]")], ..PLAIN },
            Self::LongTool => {
                Plan { steps: &[Prompt("please [[tool sh work.sh 8]] [[say 5 words]]")], tool: true, ..PLAIN }
            }
            Self::Permission => Plan {
                steps: &[Prompt("please [[tool sh work.sh 2]] [[say 5 words]]")],
                turn_dialogs: &["permission"],
                tool: true,
                ..PLAIN
            },
            Self::Question => Plan {
                steps: &[Prompt("please [[question Which colour shall it be?]] [[say 5 words]]")],
                turn_dialogs: &["question"],
                ..PLAIN
            },
            Self::Trust => Plan { start_dialogs: &["trust"], ..PLAIN },
            Self::Interrupt => Plan {
                steps: &[Prompt("please [[say 300 words over 30s]]")],
                mishap: Some((4.0, Mishap::Interrupt)),
                ..PLAIN
            },
            Self::RateLimit => {
                Plan { steps: &[Prompt("please [[forever 429 retry-after 2]]")], fails: true, ..PLAIN }
            }
            Self::Overload => {
                Plan { steps: &[Prompt("please [[status 529]] [[status 529]] [[say 5 words]]")], ..PLAIN }
            }
            Self::Auth => Plan { steps: &[Prompt("please [[forever 401]]")], fails: true, ..PLAIN },
            Self::Trap => Plan { steps: &[Prompt("please [[recite trap]]")], rest: 6.0, ..PLAIN },
            Self::TwoTurns => Plan {
                steps: &[Prompt("please [[say 10 words over 2s]]"), Prompt("again [[say 10 words over 2s]]")],
                ..PLAIN
            },
            Self::Idle60 => Plan { steps: &[Prompt("please [[say 5 words]]")], rest: 60.0, ..PLAIN },
            Self::Menus => Plan { steps: &[Prompt("please [[say 5 words]]"), Menus], ..PLAIN },
            Self::ErasedDraft => {
                Plan { steps: &[Draft("/"), Prompt("please [[say 5 words over 1s]]"), Draft("/")], ..PLAIN }
            }
            Self::RefusedCommand => Plan {
                steps: &[Prompt("please [[say 5 words over 1s]]"), Command("refused")],
                rest: 8.0,
                ..PLAIN
            },
            Self::Review => Plan {
                steps: &[Prompt(
                    "please [[question Which colour shall it be? | Which size shall it be?]] [[say 5 words]]",
                )],
                turn_dialogs: &["question", "second-question", "review"],
                ..PLAIN
            },
            Self::TwoTools => Plan {
                steps: &[Prompt("please [[tool cat README.md]] [[tool sh work.sh 2]] [[say 5 words]]")],
                turn_dialogs: &["permission"],
                tool: true,
                ..PLAIN
            },
            Self::BackgroundShell => Plan {
                steps: &[Prompt("please [[tool sleep 60]] [[say 5 words]]")],
                background: true,
                rest: 12.0,
                ..PLAIN
            },
            Self::Subagent => Plan {
                steps: &[Prompt("please [[agent count the words]] [[say 5 words]]")],
                helper: true,
                ..PLAIN
            },
            Self::Resize => Plan {
                steps: &[Prompt("please [[say 60 words over 6s]]")],
                mishap: Some((2.0, Mishap::Resize("90x24"))),
                ..PLAIN
            },
            Self::Small => Plan {
                steps: &[Prompt("please [[tool sh work.sh 2]] [[say 60 words over 5s]]")],
                turn_dialogs: &["permission"],
                tool: true,
                size: "60x20",
                ..PLAIN
            },
            Self::QuotedDialog => Plan { steps: &[Prompt(DIALOG)], rest: 6.0, ..PLAIN },
            Self::Retries => Plan {
                steps: &[Prompt(RETRIES)],
                // Some wait for half a minute before they try once more.
                patience: 120.0,
                ..PLAIN
            },
            Self::Clear => {
                Plan { steps: &[Prompt("please [[say 5 words over 1s]]"), Command("clear")], ..PLAIN }
            }
            Self::Compact => Plan { steps: COMPACTED, ..PLAIN },
            Self::DaemonKilled => Plan {
                steps: &[Prompt("please [[say 60 words over 6s]]")],
                mishap: Some((2.0, Mishap::KillDaemon)),
                ..PLAIN
            },
        }
    }
}

/// Whether the terminal says that it understands program status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// It does, as ostler's terminal does.
    #[default]
    Status,
    /// It does not answer, as most terminals.
    Mute,
}

/// Names the directory of a recording within its version's.
pub fn directory(scene: Scene, variant: Variant) -> String {
    match variant {
        Variant::Status => scene.name().to_owned(),
        Variant::Mute => format!("{}.mute", scene.name()),
    }
}
