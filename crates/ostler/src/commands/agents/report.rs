//! What a check of an agent found.

use std::fmt::Write as _;

use ostler_agents::Capability;
use ostler_agents::recorded::{Acquaintance, Scenes, acquaintance};
use ostler_agents::version;
use semver::Version;
use serde::Serialize;

use crate::output;

/// Longest word of a command line that people are shown in full.
const LONG: usize = 120;

/// What a check of one agent found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) name: String,
    pub(super) title: String,
    /// There is a preset for it.
    pub(super) known: bool,
    pub(super) installed: bool,
    /// It is there, and it is what it is called.
    pub(super) usable: bool,
    pub(super) program: Option<String>,
    pub(super) problem: Option<String>,
    /// It was asked what it is; else it is taken at its word.
    pub(super) asked: bool,
    pub(super) said: Option<String>,
    pub(super) version: Option<String>,
    /// Whether this version is in the range that the preset is for, if both are known.
    pub(super) version_checked: Option<bool>,
    /// That range.
    pub(super) checked: Option<String>,
    /// What was recorded of the real program.
    pub(super) recorded: Recorded,
    pub(super) rules: Option<Rules>,
    /// It tells its status on its terminal.
    pub(super) tells_status: bool,
    pub(super) tier: u8,
    pub(super) capabilities: Vec<Capability>,
    pub(super) hooks: Option<Hooks>,
    pub(super) start: Option<Plan>,
    /// Files other than those that come with ostler.
    pub(super) files: Vec<String>,
}

/// What was recorded of an agent.
#[derive(Debug, Default, Serialize)]
pub(super) struct Recorded {
    /// This very version was.
    pub(super) this_version: bool,
    /// It is newer than any version that was.
    pub(super) newer: bool,
    /// The newest version that was.
    pub(super) newest: Option<String>,
    /// Scenes recorded of this version, or else of the newest.
    pub(super) scenes: u32,
    /// Those of them that are read right.
    pub(super) right: u32,
    /// The same for people.
    #[serde(skip)]
    words: String,
}

impl Recorded {
    /// What was recorded of an agent, this version above all.
    pub(super) fn of(agent: &str, version: Option<&Version>) -> Self {
        let known = acquaintance(agent, version);
        let words = in_words(&known);
        let (this_version, newer) =
            (matches!(known, Acquaintance::Recorded(_)), matches!(known, Acquaintance::Newer(..)));
        let (newest, scenes) = match known {
            Acquaintance::Never => (None, Scenes::default()),
            Acquaintance::Recorded(scenes) => (version.cloned(), scenes),
            Acquaintance::Newer(newest, scenes) | Acquaintance::Unknown(newest, scenes) => {
                (Some(newest), scenes)
            }
            Acquaintance::Between(_, newer) => (Some(newer), Scenes::default()),
        };
        let newest = newest.map(|newest| newest.to_string());
        Self { this_version, newer, newest, scenes: scenes.recorded, right: scenes.right, words }
    }
}

fn in_words(known: &Acquaintance) -> String {
    let count = |scenes: &Scenes| format!("{} of {} scenes are read right", scenes.right, scenes.recorded);
    match known {
        Acquaintance::Never => "never recorded: the rules have not met the real program".into(),
        Acquaintance::Recorded(scenes) => format!("recorded: {}", count(scenes)),
        Acquaintance::Newer(newest, scenes) => {
            format!("newer than the newest recorded version, {newest} ({})", count(scenes))
        }
        Acquaintance::Between(None, newer) => format!("older than the oldest recorded version, {newer}"),
        Acquaintance::Between(Some(older), newer) => {
            format!("not recorded; {older} and {newer} were")
        }
        Acquaintance::Unknown(newest, scenes) => {
            format!("the newest recorded version is {newest} ({})", count(scenes))
        }
    }
}

/// A line about an agent that is newer than any version of it that was recorded.
pub(super) fn newer_than_recorded(agent: &str, found: Option<&str>) -> Option<String> {
    let found = found.and_then(version::read)?;
    let Acquaintance::Newer(newest, _) = acquaintance(agent, Some(&found)) else { return None };
    Some(format!("{agent} {found} is newer than the newest recorded version, {newest}: it may be read wrong"))
}

/// The rules for the version at hand.
#[derive(Debug, Serialize)]
pub(super) struct Rules {
    pub(super) active: usize,
    /// Those that are for other versions.
    pub(super) other_versions: Vec<String>,
}

/// How hooks stand.
#[derive(Debug, Serialize)]
pub(super) struct Hooks {
    /// They tell too little to rely on.
    pub(super) informational: bool,
    /// In the user's settings, as `ostler hooks status` tells it.
    pub(super) settings: serde_json::Value,
}

/// What a start would do.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    pub(super) command: Vec<String>,
    /// Further arguments where nobody is there to approve.
    pub(super) unattended: Vec<String>,
    pub(super) set: Vec<(String, String)>,
    pub(super) unset: Vec<String>,
    /// Those of `unset` that are set here.
    pub(super) unset_here: Vec<String>,
    /// What no program under care inherits, of what is set here.
    pub(super) dropped: Vec<String>,
    /// Hooks are given to the session alone.
    pub(super) session_hooks: bool,
    /// The agent is told of ostler's tools for the session alone.
    pub(super) session_tools: bool,
    /// What a person can do about the tools.
    pub(super) tools_note: Option<String>,
    /// Files that are made for it in the session's directory.
    pub(super) files: Vec<String>,
    pub(super) first_prompt: String,
    pub(super) config_dir: Option<String>,
    pub(super) instructions: Option<String>,
    pub(super) dialogs: Vec<Dialog>,
}

/// A dialog that is known.
#[derive(Debug, Serialize)]
pub(super) struct Dialog {
    pub(super) id: String,
    pub(super) kind: Option<String>,
    /// How it is answered is known.
    pub(super) answer: bool,
}

impl Report {
    /// There is no such agent.
    pub(super) fn unknown(name: &str) -> Self {
        let problem = Some("no agent is called so".to_owned());
        Self { name: name.to_owned(), title: name.to_owned(), problem, ..Self::default() }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut line = |name: &'static str, value: String| lines.push((name, value));
        if let Some(program) = &self.program {
            line("program", program.clone());
        }
        if let Some(problem) = &self.problem {
            line("problem", problem.clone());
        }
        if self.usable {
            line("identity", self.identity());
            line("version", self.version());
        }
        if !self.files.is_empty() {
            line("preset", format!("changed by {}", self.files.join(", ")));
        }
        if self.usable {
            line("tier", self.tiers());
            line("hooks", self.hooks());
        }
        if let Some(start) = &self.start {
            lines.extend(start.lines());
        }
        let standing = match (self.known, self.installed, self.usable) {
            (_, _, true) => "ok",
            (false, ..) => "unknown",
            (_, false, _) => "not installed",
            (_, true, false) => "not usable",
        };
        let mut text = format!("{} ({}): {standing}\n", self.name, output::plain(&self.title));
        for (name, value) in lines.iter().filter(|_| self.installed || !self.known) {
            let _ = writeln!(text, "  {name:12} {}", output::plain(value));
        }
        text
    }

    fn identity(&self) -> String {
        match (&self.said, self.asked) {
            (Some(said), _) => format!("right: it said {said:?}"),
            (None, true) => "right".into(),
            (None, false) => "taken at its word: the preset does not say how to ask it".into(),
        }
    }

    fn version(&self) -> String {
        let version = self.version.as_deref().unwrap_or("not known");
        let recorded = &self.recorded.words;
        let range = self.checked.as_deref().unwrap_or_default();
        let checked = match self.version_checked {
            Some(false) => format!("; the preset is for {range}"),
            _ => String::new(),
        };
        let rules =
            self.rules.as_ref().map_or_else(String::new, |rules| match rules.other_versions.as_slice() {
                [] => format!("; {} rules", rules.active),
                others => {
                    format!("; {} rules, not those for other versions: {}", rules.active, others.join(", "))
                }
            });
        let status = if self.tells_status { "; tells its status on its terminal" } else { "" };
        format!("{version}; {recorded}{checked}{rules}{status}")
    }

    fn tiers(&self) -> String {
        let missing: Vec<&str> =
            self.capabilities.iter().filter(|can| !can.has).map(|can| can.name).collect();
        let unproven = if self.recorded.newest.is_none() { ", by its preset alone" } else { "" };
        if missing.is_empty() {
            format!("{}{unproven}", self.tier)
        } else {
            format!("{}{unproven}; without {}", self.tier, missing.join(", "))
        }
    }

    fn hooks(&self) -> String {
        let Some(hooks) = &self.hooks else { return "it has none that are known".into() };
        let state = hooks.settings["state"].as_str().unwrap_or("unknown").replace('_', " ");
        let file = hooks.settings["file"].as_str().map(|file| format!(" ({file})")).unwrap_or_default();
        let per_session = self.start.as_ref().is_some_and(|start| start.session_hooks);
        let own = if per_session { "given to each session; " } else { "" };
        let count = if hooks.informational { "; they tell too little to rely on" } else { "" };
        format!("{own}in your settings: {state}{file}{count}")
    }
}

impl Plan {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines =
            vec![("start", self.command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "))];
        let told = if self.session_tools { "told for each session" } else { "ostler mcp call, from a shell" };
        let note = self.tools_note.as_ref().map(|note| format!("; else {note}")).unwrap_or_default();
        lines.push(("tools", format!("{told}{note}")));
        let mut list = |name, words: Vec<String>| {
            if !words.is_empty() {
                lines.push((name, words.join(", ")));
            }
        };
        list(
            "unattended",
            vec![self.unattended.join(" ")].into_iter().filter(|text| !text.is_empty()).collect(),
        );
        list("sets", self.set.iter().map(|(name, value)| format!("{name}={}", shell_word(value))).collect());
        list("unsets", self.unset.iter().chain(&self.dropped).cloned().collect());
        list("makes", self.files.iter().map(|file| format!("{file} in the session's directory")).collect());
        list("first prompt", vec![self.first_prompt.clone()]);
        list("settings", self.config_dir.iter().cloned().collect());
        list("instructions", self.instructions.iter().cloned().collect());
        let dialog = |dialog: &Dialog| match (dialog.kind.as_deref(), dialog.answer) {
            (Some(kind), true) => format!("{} ({kind}, can be answered)", dialog.id),
            (Some(kind), false) => format!("{} ({kind})", dialog.id),
            (None, _) => dialog.id.clone(),
        };
        list("dialogs", self.dialogs.iter().map(dialog).collect());
        lines
    }
}

/// A word as one would type it, cut short where it is very long.
fn shell_word(word: &str) -> String {
    let count = word.chars().count();
    if count > LONG {
        let start: String = word.chars().take(LONG).collect();
        return format!("'{start}…' ({count} characters)");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:=@,{}".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
