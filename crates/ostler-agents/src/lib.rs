//! What is known about each agent.
//!
//! # Theory of operation
//!
//! An agent is a [`Preset`]: a TOML file in `agents/`, changed field by field by the files of a user and of a
//! project. Nothing in the code asks for an agent's name; what an agent can do and how it looks is data.
//!
//! A [`Registry`] holds all presets. From a preset and the version at hand comes a [`RuleBook`], and with it a
//! [`Reader`] says what a screen shows: [`Region`]s keep rules from taking quoted text for the real thing.

mod account;
pub mod choice;
pub mod context;
mod dialog_view;
mod headless;
pub mod hooks;
pub mod instructions;
mod launch;
mod layer;
mod literal;
mod mcp;
mod observer;
mod picture;
mod preset;
mod reader;
mod recognise;
pub mod recorded;
mod region;
mod registry;
mod replay;
mod rule;
mod rulebook;
mod shown;
mod sight;
pub mod speech;
pub mod terms;
pub mod transcript;
pub mod version;
mod wording;

pub use dialog_view::{Choosable, DialogText};
pub use headless::HeadlessCall;
pub use launch::Launch;
pub use layer::{Layer, PresetError};
pub use mcp::{McpSpec, SessionTools, session_tools};
pub use observer::{Observer, settings_for};
pub use preset::{
    ComposerSpec, ConfigDir, ConversationSpec, Cost, FirstPrompt, Headless, Identity, Input, Preset,
    PromptSpec, Run, SessionSpec, Speaks, Startup, StatusSpec, Timing, WhileWorking,
};
pub use reader::{Composer, Reader};
pub use region::{Region, UnknownRegion};
pub use registry::{Agent, BUILT_IN, Capability, GENERIC, Registry};
pub use replay::{Change, replay};
pub use rule::{Answer, ChoiceSpec, Condition, RuleSpec};
pub use rulebook::{RuleBook, RuleError};
pub use sight::{Body, Placeholder, Prompt};
pub use wording::Likeness;
