//! What a caller may say about the agent it serves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a shell command is proposed to the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShellCall {
    /// By a call of the tool for commands that the request offers.
    #[default]
    Call,
    /// By a fenced block in the text, for agents that read commands out of the reply.
    Fence,
}

/// What the server cannot find out from the requests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How a shell command is proposed.
    pub shell: ShellCall,
    /// Name of the tool for commands, where the guess is wrong.
    pub shell_tool: Option<String>,
    /// Arguments added to each call of the tool for commands.
    pub shell_args: BTreeMap<String, Value>,
    /// Name of the tool for questions, where the guess is wrong.
    pub question_tool: Option<String>,
    /// Name of the tool that gives work to another agent.
    pub agent_tool: Option<String>,
    /// Name of tools that `[[call NAME]]` calls and a request does not list: `{name}` is replaced.
    pub unlisted_tool: Option<String>,
    /// Arguments added to each call of that tool.
    pub agent_args: BTreeMap<String, Value>,
    /// A request without tools may be the main one: the agent offers none.
    pub without_tools: bool,
    /// Texts for `[[recite NAME]]`.
    pub recitals: BTreeMap<String, String>,
    /// Texts that are looked for in requests as they are, also where an agent says them on its own account. They have
    /// nothing in them that JSON writes otherwise.
    pub watch: Vec<String>,
    /// Scripts for prompts that bring none of their own; the first that fits counts.
    pub plays: Vec<Play>,
}

/// The script for prompts that have a text in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// The text.
    pub prompt: String,
    /// Directives.
    pub script: String,
    /// It is no turn of the agent's, but of one that works for it.
    #[serde(default)]
    pub aside: bool,
}

impl Settings {
    /// The text with the directives for a prompt, and whether it is of the agent's own turns.
    pub(super) fn script<'a>(&'a self, prompt: &'a str) -> (&'a str, bool) {
        let fits = |play: &&Play| prompt.contains(&play.prompt) && (!play.aside || !prompt.contains("[["));
        let play = self.plays.iter().find(fits);
        play.map_or((prompt, true), |play| (&play.script, !play.aside))
    }
}
