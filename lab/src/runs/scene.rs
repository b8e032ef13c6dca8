//! A scene: data.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// A task, what befalls those who work at it, and what has to come of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// What it shows, for people.
    pub shows: String,
    /// Who may work at the task, the best first.
    pub agents: Vec<String>,
    /// The task.
    pub task: String,
    /// What must be true in the end, in words.
    #[serde(default)]
    pub criteria: Vec<String>,
    /// The command that tells whether the work is right.
    pub check: String,
    /// More arguments for `ostler run`.
    #[serde(default)]
    pub args: Vec<String>,
    /// Nobody has answered the agents' dialogs before.
    #[serde(default)]
    pub fresh: bool,
    /// Variables that are missing from the environment.
    #[serde(default)]
    pub without: Vec<String>,
    /// Files in the project before anybody works, by their names.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What is killed in the middle.
    pub kill: Option<Kill>,
    /// What models answer; the first play that fits a prompt counts.
    pub plays: Vec<Play>,
    /// Texts that models can recite, by name.
    #[serde(default)]
    pub recitals: BTreeMap<String, String>,
    /// What has to come of it.
    pub expect: Expect,
    /// Another task, when the daemon was killed after the first.
    pub then: Option<Then>,
}

/// What the model of one agent answers to a prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// Whose model.
    pub agent: String,
    /// Prompts with this text in them; those of the task if none is given.
    pub prompt: Option<String>,
    /// What it does: directives of the model server.
    pub script: String,
}

/// Something that is killed while an agent works.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// What.
    pub what: Victim,
    /// As soon as this agent ...
    pub agent: String,
    /// ... has asked its model so often.
    pub requests: usize,
}

/// What can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The agent that works.
    Agent,
    /// The daemon.
    Daemon,
}

/// What has to come of a scene.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// How the run ends.
    pub outcome: String,
    /// Texts in what the command tells a person at the end.
    #[serde(default)]
    pub told: Vec<String>,
    /// Who worked, and why each stopped: the beginning of the reason.
    pub turns: Vec<(String, String)>,
    /// What models heard, in order: which agent's, and the block that stands before the task.
    pub heard: Vec<Heard>,
    /// Breakers that are not closed: state and reason.
    #[serde(default)]
    pub breakers: BTreeMap<String, (String, String)>,
    /// Seconds from now until a breaker may be tried again, at least and at most.
    #[serde(default)]
    pub shut_for: BTreeMap<String, (f64, f64)>,
    /// Files that the report names as created.
    #[serde(default)]
    pub created: Vec<String>,
    /// Seconds in which the run is over.
    pub within: f64,
}

/// What a model heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heard {
    /// Whose model.
    pub agent: String,
    /// The block before the task, without the blank line behind it.
    #[serde(default)]
    pub block: String,
    /// Texts that are in what comes behind the block, where it is not the task alone.
    #[serde(default)]
    pub with: Vec<String>,
}

/// What follows when the daemon is gone and there is another.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Then {
    /// The check of the next run, which gets the same task.
    pub check: String,
    /// How it ends.
    pub outcome: String,
    /// Who worked at it, and why each stopped.
    pub turns: Vec<(String, String)>,
}

impl Scene {
    /// Reads all scenes, by name.
    pub fn all(dir: &Path) -> Result<BTreeMap<String, Self>> {
        let entries = std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
        let mut scenes = BTreeMap::new();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".toml")) else {
                continue;
            };
            let text = std::fs::read_to_string(&path)?;
            let scene = toml::from_str(&text).with_context(|| format!("{} is wrong", path.display()))?;
            scenes.insert(name.to_owned(), scene);
        }
        Ok(scenes)
    }
}

#[cfg(test)]
mod tests {
    use ostler_testkit::model_server::replies;

    use super::*;

    #[test]
    fn every_scene_can_be_played() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance");
        let known = crate::agent::AgentFile::names(&dir.join("agents")).unwrap();
        let scenes = Scene::all(&dir.join("runs")).unwrap();
        assert!(scenes.len() > 8, "{:?}", scenes.keys());
        for (name, scene) in scenes {
            let plays = scene.plays.iter().map(|play| &play.agent);
            let heard = scene.expect.heard.iter().map(|heard| &heard.agent);
            for agent in scene.agents.iter().chain(plays).chain(heard) {
                assert!(known.contains(agent), "{name}: {agent}");
            }
            for play in &scene.plays {
                assert!(!replies(&play.script).is_empty(), "{name}: {}", play.script);
            }
        }
    }
}
