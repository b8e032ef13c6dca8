//! What the rig knows of an agent: data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ostler_testkit::model_server::Settings;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::deliver::Part;
use crate::scene::Scene;

/// An agent as one scene needs it: release and scene are merged in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Releases to try, the one that matters most first.
    pub versions: Vec<String>,
    /// What to install.
    pub install: Install,
    /// How to start it.
    pub launch: Launch,
    /// Files to write, by their path in the home directory. An empty text writes none.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Symbolic links to make, by their path in the home directory.
    #[serde(default)]
    pub links: BTreeMap<String, String>,
    /// How the driver sees that the agent takes a prompt.
    pub ready: Ready,
    /// How the driver types.
    #[serde(default)]
    pub input: Input,
    /// Dialogs the driver can answer, by name.
    #[serde(default)]
    pub dialogs: BTreeMap<String, Dialog>,
    /// Dialogs to expect before the first prompt, instead of what the scene says.
    pub start_dialogs: Option<Vec<String>>,
    /// Starts that ask something first, by name.
    #[serde(default)]
    pub starts: BTreeMap<String, Start>,
    /// Dialogs to expect in a turn, instead of what the scene says.
    pub turn_dialogs: Option<Vec<String>>,
    /// Seconds to leave a dialog alone, instead of what the scene says.
    pub hold: Option<f64>,
    /// What is seen on the screen once the agent has given up on an error; none if it retries for longer than a
    /// scene lasts.
    pub gave_up: Option<String>,
    /// What the model server should know.
    #[serde(default)]
    pub server: Settings,
    /// What has to be known to follow a message to the model.
    #[serde(default)]
    pub delivery: Delivery,
    /// Scenes that do not apply, and why.
    #[serde(default)]
    pub skip: BTreeMap<Scene, String>,
    /// Scenes beyond the usual ones that it has the thing for.
    #[serde(default)]
    pub more_scenes: Vec<Scene>,
    /// Its own menus.
    #[serde(default)]
    pub menus: Vec<Menu>,
    /// Its own commands, by what they are for.
    #[serde(default)]
    pub commands: BTreeMap<String, OwnCommand>,
}

/// A menu of an agent's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Menu {
    /// What opens it, each a write of its own.
    pub open: Vec<String>,
    /// A regular expression on the screen's text.
    pub appears: String,
    /// What closes it.
    pub close: Vec<String>,
}

/// A command of an agent's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnCommand {
    /// What is typed, each a write of its own.
    pub keys: Vec<String>,
    /// What is on the screen when it is over: a regular expression.
    pub appears: Option<String>,
    /// What is not there any more.
    pub gone: Option<String>,
    /// It asks the model something.
    #[serde(default)]
    pub asks: bool,
    /// The agent forgets what it was told, and its hook asks for what it has to know.
    #[serde(default)]
    pub forgets: bool,
}

/// Packages; `{version}` stands for the release.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Install {
    /// From npm.
    pub npm: Vec<String>,
    /// From the Python package index, into a virtual environment.
    pub pip: Vec<String>,
    /// The Python for that, where not every one will do.
    pub python: Option<String>,
}

/// The command line and its surroundings.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The program.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// More arguments, which a scene may set without repeating the others.
    #[serde(default)]
    pub more_args: Vec<String>,
    /// Its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// What a prompt looks like.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// A regular expression on the screen's text.
    pub appears: String,
    /// Seconds between seeing it and believing it.
    #[serde(default = "half")]
    pub settle: f64,
}

fn half() -> f64 {
    0.5
}

/// How keys are written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Input {
    /// Prompts are pasted in brackets; otherwise typed as they are.
    pub paste: bool,
    /// Seconds between the prompt and Enter.
    pub gap: f64,
    /// Keys that interrupt a turn, each a write of its own.
    pub interrupt: Vec<String>,
}

impl Default for Input {
    fn default() -> Self {
        Self { paste: true, gap: 0.4, interrupt: vec!["Escape".into()] }
    }
}

/// How a prompt looks on its way to the model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delivery {
    /// Regular expressions for what the agent adds to a prompt.
    pub adds: Vec<String>,
    /// Texts that it makes one of the other, as regular expression and what is put in its place.
    pub alike: Vec<(String, String)>,
    /// What it shows in place of a long text.
    pub marks: Vec<String>,
    /// Regular expressions for what it asks the model on the side, with all that was said before it.
    pub aside: Vec<String>,
    /// It is told of ostler's tools when it is started.
    pub tools: bool,
}

/// A dialog as the driver sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialog {
    /// A regular expression on the screen's text.
    pub appears: String,
    /// The kind of block it is.
    pub kind: String,
    /// Keys that say yes, each a write of its own.
    pub answer: Vec<String>,
    /// What the agent does once it is answered.
    #[serde(default)]
    pub then: Then,
}

/// A start that asks something before the first prompt.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Start {
    /// The dialogs, in their order.
    pub dialogs: Vec<String>,
    /// Files in the home directory that are there instead of others; an empty text leaves one out.
    pub files: BTreeMap<String, String>,
    /// Files in the project.
    pub project: BTreeMap<String, String>,
    /// More arguments.
    pub args: Vec<String>,
    /// Variables that are set instead of others; an empty text leaves one out.
    pub env: BTreeMap<String, String>,
}

impl Start {
    /// The agent as this start needs it.
    pub fn of(&self, agent: &Agent) -> Agent {
        let mut agent = agent.clone();
        agent.files.extend(self.files.clone());
        agent.launch.more_args.extend(self.args.iter().cloned());
        agent.launch.env.extend(self.env.clone());
        agent.launch.env.retain(|name, _| self.env.get(name).is_none_or(|value| !value.is_empty()));
        agent
    }
}

/// What follows the answer to a dialog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// The turn goes on.
    #[default]
    Working,
    /// The program goes on starting.
    Starting,
    /// The turn is over.
    Idle,
}

/// An agent's file, before a release and a scene are chosen.
#[derive(Debug, Clone)]
pub struct AgentFile {
    /// The file's name without its ending.
    pub name: String,
    table: Table,
}

impl AgentFile {
    /// Reads the file of an agent.
    pub fn read(dir: &Path, name: &str) -> Result<Self> {
        let path = dir.join(format!("{name}.toml"));
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let table = text.parse().with_context(|| format!("{} is not TOML", path.display()))?;
        Ok(Self { name: name.to_owned(), table })
    }

    /// Names all agents there are files for.
    pub fn names(dir: &Path) -> Result<Vec<String>> {
        let entries = std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
        let paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let stem = |path: &PathBuf| {
            let toml = path.extension().is_some_and(|extension| extension == "toml");
            toml.then(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned())).flatten()
        };
        let mut names: Vec<String> = paths.iter().filter_map(stem).collect();
        names.sort();
        Ok(names)
    }

    /// The releases to try.
    pub fn versions(&self) -> Result<Vec<String>> {
        let versions = self.table.get("versions").and_then(Value::as_array);
        let versions: Vec<String> = versions
            .into_iter()
            .flatten()
            .filter_map(|version| version.as_str().map(str::to_owned))
            .collect();
        if versions.is_empty() {
            bail!("{} names no versions", self.name);
        }
        Ok(versions)
    }

    /// The agent in one release and one scene: what is more special wins.
    pub fn resolve(&self, version: &str, scene: Scene) -> Result<Agent> {
        self.merged(version, &[scene.name()])
    }

    /// The same for a part of a trial of deliveries.
    pub fn resolve_delivery(&self, version: &str, part: Part) -> Result<Agent> {
        let names = [part.scene().name(), "deliver", part.name()];
        // Others share their names with scenes.
        self.merged(version, if part == Part::Mcp { &names } else { &names[..2] })
    }

    /// The same for a scene of runs, perhaps in a home where nobody has answered its dialogs.
    pub fn resolve_run(&self, version: &str, fresh: bool) -> Result<Agent> {
        self.merged(version, if fresh { &["trust"] } else { &["run"] })
    }

    fn merged(&self, version: &str, names: &[&str]) -> Result<Agent> {
        let mut table = self.table.clone();
        let releases = table.remove("release");
        let scenes = table.remove("scene");
        let release = releases.as_ref().and_then(|releases| releases.get(version)).and_then(Value::as_table);
        let mut release = release.cloned().unwrap_or_default();
        let release_scenes = release.remove("scene");
        merge(&mut table, release);
        for scenes in [scenes, release_scenes].into_iter().flatten() {
            for special in names.iter().filter_map(|name| scenes.get(name)?.as_table()) {
                merge(&mut table, special.clone());
            }
        }
        let what = || {
            format!("the file of {} is wrong for version {version}, scene {}", self.name, names.join(", "))
        };
        Value::Table(table).try_into().with_context(what)
    }
}

fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

/// What stands in braces in an agent's file.
#[derive(Debug, Clone)]
pub struct Places<'a> {
    /// Where the model server listens.
    pub port: u16,
    /// The home directory.
    pub home: &'a str,
    /// The project.
    pub cwd: &'a str,
    /// Where the agent is installed.
    pub agent: &'a str,
    /// The release.
    pub version: &'a str,
}

impl Places<'_> {
    /// Fills a text in. Other braces are left alone, for JSON has many.
    pub fn fill(&self, text: &str) -> String {
        let (arch, machine) = match std::env::consts::ARCH {
            "aarch64" => ("arm64", "aarch64"),
            _ => ("x64", "x86_64"),
        };
        text.replace("{port}", &self.port.to_string())
            .replace("{home}", self.home)
            .replace("{cwd}", self.cwd)
            .replace("{agent}", self.agent)
            .replace("{version}", self.version)
            .replace("{arch}", arch)
            .replace("{machine}", machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_special_wins() {
        let table = r#"
            versions = ["2", "1"]
            install.npm = ["a@{version}"]
            launch.program = "a"
            launch.env = { A = "1", B = "1" }
            ready.appears = "x"
            [scene.trust.launch.env]
            B = "2"
            [release.1.ready]
            appears = "y"
            [release.1.scene.trust.launch]
            args = ["-t"]
        "#;
        let file = AgentFile { name: "a".into(), table: table.parse().unwrap() };
        let agent = file.resolve("1", Scene::Trust).unwrap();
        assert_eq!(agent.ready.appears, "y");
        assert_eq!(agent.launch.args, ["-t"]);
        assert_eq!(agent.launch.env["A"], "1");
        assert_eq!(agent.launch.env["B"], "2");
        let agent = file.resolve("2", Scene::Reply).unwrap();
        assert_eq!((agent.ready.appears.as_str(), agent.launch.env["B"].as_str()), ("x", "1"));
    }

    #[test]
    fn a_start_takes_the_place_of_what_is_usual() {
        let table = r#"
            versions = ["1"]
            install.npm = ["a@{version}"]
            launch = { program = "a", args = ["-a"], more_args = ["-b"], env = { A = "1", B = "", C = "1" } }
            files = { "kept" = "1", "left-out" = "1" }
            ready.appears = "x"
            [starts.fresh]
            dialogs = []
            args = ["-c"]
            files = { "left-out" = "" }
            env = { A = "", C = "2" }
        "#;
        let file = AgentFile { name: "a".into(), table: table.parse().unwrap() };
        let agent = file.resolve("1", Scene::Reply).unwrap();
        let Agent { launch, files, .. } = agent.starts["fresh"].of(&agent);
        assert_eq!((launch.args.join(" "), launch.more_args.join(" ")), ("-a".into(), "-b -c".into()));
        assert_eq!(launch.env, [("B", ""), ("C", "2")].map(|(a, b)| (a.to_owned(), b.to_owned())).into());
        assert_eq!((files["kept"].as_str(), files["left-out"].as_str()), ("1", ""));
    }

    #[test]
    fn every_agent_fits_every_scene() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/agents");
        for name in AgentFile::names(&dir).unwrap() {
            let file = AgentFile::read(&dir, &name).unwrap();
            for version in file.versions().unwrap() {
                for &scene in Scene::all() {
                    let agent = file.resolve(&version, scene).unwrap();
                    let named: Vec<_> = agent.starts.values().flat_map(|start| &start.dialogs).collect();
                    assert!(named.iter().all(|name| agent.dialogs.contains_key(*name)), "{named:?}");
                    let dialogs = agent.dialogs.values().map(|dialog| &dialog.appears);
                    let own = agent.menus.iter().map(|menu| &menu.appears);
                    let commands =
                        agent.commands.values().flat_map(|command| [&command.appears, &command.gone]);
                    for pattern in dialogs.chain(own).chain(commands.flatten()).chain(&agent.gave_up) {
                        regex::Regex::new(pattern).unwrap();
                    }
                }
            }
        }
    }

    #[test]
    fn every_scene_is_played_or_left_out_for_a_reason() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/agents");
        let mut silent = Vec::new();
        for name in AgentFile::names(&dir).unwrap() {
            let file = AgentFile::read(&dir, &name).unwrap();
            for version in file.versions().unwrap() {
                let agent = file.resolve(&version, Scene::Reply).unwrap();
                // One that is played at all beyond the usual scenes has an answer for each.
                let beyond = Scene::all()
                    .iter()
                    .filter(|scene| !Scene::USUAL.contains(scene) && !agent.more_scenes.is_empty());
                silent.extend(
                    beyond
                        .filter(|scene| agent.more_scenes.contains(scene) == agent.skip.contains_key(scene))
                        .map(|scene| format!("{name} {version} {}", scene.name())),
                );
            }
        }
        assert_eq!(silent, Vec::<String>::new(), "in both or in neither of more_scenes and [skip]");
    }

    #[test]
    fn only_known_places_are_filled() {
        let places = Places { port: 8, home: "/h", cwd: "/h/p", agent: "/a", version: "1" };
        assert_eq!(
            places.fill(r#"{"url":"http://x:{port}","{cwd}":{}}"#),
            r#"{"url":"http://x:8","/h/p":{}}"#
        );
    }
}
