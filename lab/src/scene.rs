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
}

/// What the driver does in a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Prompts, one turn each.
    pub prompts: &'static [&'static str],
    /// Dialogs before the first prompt.
    pub start_dialogs: &'static [&'static str],
    /// Dialogs in the turn.
    pub turn_dialogs: &'static [&'static str],
    /// Seconds a dialog is left alone.
    pub hold: f64,
    /// Seconds into the stream after which the turn is interrupted.
    pub interrupt_after: Option<f64>,
    /// The turn ends by an error.
    pub fails: bool,
    /// Seconds to watch after the last turn.
    pub rest: f64,
    /// The tool command must have run.
    pub tool: bool,
}

const REST: f64 = 4.0;
const PLAIN: Plan = Plan {
    prompts: &[],
    start_dialogs: &[],
    turn_dialogs: &[],
    hold: 5.0,
    interrupt_after: None,
    fails: false,
    rest: REST,
    tool: false,
};

impl Scene {
    /// All of them.
    pub const ALL: [Self; 14] = [
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
        }
    }

    /// What the driver does.
    pub fn plan(self) -> Plan {
        match self {
            Self::ColdStart => Plan { rest: 5.0, ..PLAIN },
            Self::Reply => Plan { prompts: &["please [[say 60 words over 5s]]"], ..PLAIN },
            Self::Silence => Plan { prompts: &["please [[silence 15s]] [[say 5 words]]"], ..PLAIN },
            Self::LongTool => {
                Plan { prompts: &["please [[tool sh work.sh 8]] [[say 5 words]]"], tool: true, ..PLAIN }
            }
            Self::Permission => Plan {
                prompts: &["please [[tool sh work.sh 2]] [[say 5 words]]"],
                turn_dialogs: &["permission"],
                tool: true,
                ..PLAIN
            },
            Self::Question => Plan {
                prompts: &["please [[question Which colour shall it be?]] [[say 5 words]]"],
                turn_dialogs: &["question"],
                ..PLAIN
            },
            Self::Trust => Plan { start_dialogs: &["trust"], ..PLAIN },
            Self::Interrupt => {
                Plan { prompts: &["please [[say 300 words over 30s]]"], interrupt_after: Some(4.0), ..PLAIN }
            }
            Self::RateLimit => {
                Plan { prompts: &["please [[forever 429 retry-after 2]]"], fails: true, ..PLAIN }
            }
            Self::Overload => {
                Plan { prompts: &["please [[status 529]] [[status 529]] [[say 5 words]]"], ..PLAIN }
            }
            Self::Auth => Plan { prompts: &["please [[forever 401]]"], fails: true, ..PLAIN },
            Self::Trap => Plan { prompts: &["please [[recite trap]]"], rest: 6.0, ..PLAIN },
            Self::TwoTurns => Plan {
                prompts: &["please [[say 10 words over 2s]]", "again [[say 10 words over 2s]]"],
                ..PLAIN
            },
            Self::Idle60 => Plan { prompts: &["please [[say 5 words]]"], rest: 60.0, ..PLAIN },
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
