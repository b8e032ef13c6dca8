//! Hooks as they are written down in a preset.

use std::collections::BTreeMap;

use ostler_core::Fact;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::meaning::Meaning;

/// Bytes of a hook's output that every agent is taken to read whole: some show their model a beginning of 2 kB.
const CONTEXT_LIMIT: usize = 1_800;

/// How an agent's hooks are set up, and what its events mean.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HookSpec {
    /// The form its hooks are written in.
    pub format: Format,
    /// The file, relative to the agent's config directory.
    pub file: Option<String>,
    /// The same in a project, relative to its root.
    pub project_file: Option<String>,
    /// The file is ostler's alone: the agent reads a whole directory of them.
    pub own_file: bool,
    /// What the file begins with if ostler makes it.
    pub base: Map<String, Value>,
    /// The field of a handler that has the command.
    pub command_field: Option<String>,
    /// Further fields of each handler.
    pub handler: Map<String, Value>,
    /// Text of the file where it is a program; `{ostler}`, `{agent}` and `{flag}` are JSON strings put in.
    pub template: Option<String>,
    /// How hooks are given to one session alone.
    pub session: Option<SessionWay>,
    /// Its hooks tell too little to rely on: they count as none.
    pub informational: bool,
    /// What a person has to do or know after an installation.
    pub note: Option<String>,
    /// What a hook prints, where the agent insists on something.
    pub print: Option<String>,
    /// Where a payload has the agent's own session id: a JSON pointer.
    pub session_id: Option<String>,
    /// Where a payload has the path of the transcript.
    pub transcript: Option<String>,
    /// Where a payload has the working directory.
    pub cwd: Option<String>,
    /// Payloads that are about something else: a JSON pointer, and how the string there begins.
    pub ignore: BTreeMap<String, String>,
    /// How many bytes of a hook's output the agent reads whole; a careful guess where it is not known.
    pub context_limit: Option<usize>,
    /// What each event means, by the agent's name for it.
    pub events: BTreeMap<String, EventSpec>,
}

/// The form an agent's hooks are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// `hooks.<Event>` is a list of groups, each with a `matcher` and its list of handlers, `hooks`.
    #[default]
    MatcherJson,
    /// `hooks.<event>` is a list of handlers.
    HandlerJson,
    /// A program that the agent loads: see [`HookSpec::template`].
    Program,
}

/// What an event means.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventSpec {
    /// What it means, unless one of `cases` says something else.
    pub fact: Option<Meaning>,
    /// Where the payload has what decides between `cases`: a JSON pointer.
    pub by: Option<String>,
    /// What it means, by what is found there.
    pub cases: BTreeMap<String, Meaning>,
    /// Where the payload has the prompt.
    pub text: Option<String>,
    /// Where the payload has the id of a tool call.
    pub id: Option<String>,
    /// Where the payload has the agent's words on a failure.
    pub detail: Option<String>,
    /// Where the payload has the work in the background: a number, or a list of it.
    pub background: Option<String>,
    /// What the agent is told to report of these events, where it can choose.
    pub matcher: Option<String>,
    /// What is printed to give the agent context: `{json}` is the text as a JSON string, `{text}` the text itself.
    pub context: Option<String>,
    /// Where the payload says that the conversation begins anew, so that the agent has forgotten its context: JSON
    /// pointers, and what stands there then.
    pub anew: BTreeMap<String, Vec<String>>,
    /// What the hook prints otherwise; [`HookSpec::print`] if this is not set.
    pub print: Option<String>,
}

/// How hooks are given to one session alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionWay {
    /// Arguments. `{hooks}` is the hooks as one line of JSON, `{file}` the path of a file with them, `{file_url}` its
    /// address as a JSON string, `{trust}` the trust in them as a TOML table.
    pub args: Vec<String>,
    /// Arguments for each event. `{event}` is its name, `{groups}` its hooks as a TOML value.
    pub each: Vec<String>,
    /// Environment, with the same in it as in `args`.
    pub env: BTreeMap<String, String>,
    /// Name of the file that `{file}` stands for.
    pub file: Option<String>,
    /// How the agent knows that it may run these hooks.
    pub trust: Option<TrustSpec>,
}

/// How an agent knows that it may run a hook: by its fingerprint.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrustSpec {
    /// What the agent calls the hook of an event; `{event}` is the event's name in `snake_case`.
    pub key: String,
    /// Events for which the agent knows no matchers.
    pub without_matcher: Vec<String>,
    /// Fields that the agent adds to a handler before it takes the fingerprint.
    pub handler: Map<String, Value>,
}

impl HookSpec {
    /// How many bytes of context a hook can give when a session begins, if one can.
    pub fn context_at_start(&self) -> Option<usize> {
        let starts = |event: &EventSpec| {
            let fact = event.fact.as_ref().and_then(|meaning| meaning.fact.as_ref());
            event.context.is_some() && fact == Some(&Fact::SessionStarted)
        };
        self.events.values().any(starts).then(|| self.context_limit.unwrap_or(CONTEXT_LIMIT))
    }

    /// Whether a hook tells which prompt the agent takes.
    pub fn tells_prompts(&self) -> bool {
        let tells = |event: &EventSpec| {
            let fact = event.fact.as_ref().and_then(|meaning| meaning.fact.as_ref());
            event.text.is_some() && matches!(fact, Some(Fact::PromptSubmitted { .. }))
        };
        self.events.values().any(tells)
    }

    /// What is known of an event.
    pub(super) fn event(&self, name: &str) -> Option<&EventSpec> {
        self.events.get(name)
    }

    /// What a hook of this event prints where there is no context.
    pub(super) fn printed<'a>(&'a self, event: &'a EventSpec) -> Option<&'a str> {
        event.print.as_deref().or(self.print.as_deref()).filter(|text| !text.is_empty())
    }
}
