//! Settings on disk: the user's for everything, a project's for which agent works in it.
//!
//! A project can only choose among agents that are known already: those that come with ostler, the user's, and its
//! own ones that a person trusted. So its settings need no trust, but they must be its user's own.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ostler_agents::choice::Picks;
use ostler_agents::{Layer, PresetError};
use ostler_core::continuation::Terms;
use ostler_core::stop_analysis::Actions;
use ostler_core::{detector, judge};
use ostler_session::{DeliverySettings, Policies};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::{Home, presets};

/// Where a project keeps its settings, seen from its root.
const PROJECT_SETTINGS: &str = ".ostler/config.toml";

/// All settings for work in a directory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Which agents the user wants.
    pub user: Picks,
    /// Which agents the project wants.
    pub project: Picks,
    /// How the detector judges.
    pub detector: detector::Settings,
    /// Which dialogs are answered.
    pub policy: Policies,
    /// Where runs and breakers are kept.
    pub store: StoreSettings,
    /// What agents of runs are told of those before them.
    pub pre_context: ostler_core::pre_context::Settings,
    /// Who is asked when the detector is puzzled.
    pub judge: judge::Settings,
    /// What agents are told of a project.
    pub context: ContextSettings,
    /// How messages are delivered.
    pub delivery: DeliverySettings,
    /// How runs go.
    pub runs: RunSettings,
    /// How agents are carried on.
    pub carry_on: CarryOnSettings,
    /// What agents can do by tools.
    pub tools: ToolSettings,
    /// Files that could not be used.
    pub problems: Vec<PresetError>,
}

/// What a user's file can say.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UserFile {
    agents: AgentsTable,
    roles: BTreeMap<String, String>,
    detector: detector::Settings,
    policy: Policies,
    store: StoreSettings,
    pre_context: ostler_core::pre_context::Settings,
    #[serde(deserialize_with = "checked")]
    judge: judge::Settings,
    context: ContextSettings,
    delivery: DeliverySettings,
    runs: RunSettings,
    carry_on: CarryOnSettings,
    tools: ToolSettings,
}

fn checked<'de, D: Deserializer<'de>>(written: D) -> Result<judge::Settings, D::Error> {
    let settings = judge::Settings::deserialize(written)?;
    settings.check().map_err(D::Error::custom)?;
    Ok(settings)
}

/// What agents are told of a project, and what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// Most bytes of a context.
    pub budget_bytes: usize,
    /// Look for code that has to do with the task.
    pub code_search: bool,
    /// Keep a record of every session of an agent when it ends.
    pub record_sessions: bool,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self { budget_bytes: ostler_agents::context::BUDGET, code_search: true, record_sessions: true }
    }
}

/// How runs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSettings {
    /// How long the checks of an attempt may take together.
    pub check_seconds: NonZeroU64,
    /// The work in a work tree of a run is committed on its branch when the run ends.
    pub commit: bool,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self { check_seconds: NonZeroU64::MIN.saturating_add(3_599), commit: true }
    }
}

/// How agents are carried on, where a command does not say it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CarryOnSettings {
    /// How often a process that crashed is run again in an hour.
    pub resumes_per_hour: u32,
    /// What is done about each conclusion.
    pub actions: Actions,
}

impl Default for CarryOnSettings {
    fn default() -> Self {
        let Terms { resumes_per_hour, actions, .. } = Terms::default();
        Self { resumes_per_hour, actions }
    }
}

impl CarryOnSettings {
    /// Terms of a command, with what it did not say.
    pub(crate) fn complete(self, terms: Terms) -> Terms {
        Terms { resumes_per_hour: self.resumes_per_hour, actions: self.actions, ..terms }
    }
}

/// What agents can do by tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// Agents are told of the tools when they are started.
    pub register: bool,
    /// Agents may send messages to other sessions of their project.
    pub send_message: bool,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self { register: true, send_message: false }
    }
}

/// Where runs and breakers are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// A server that speaks the Redis protocol, for several machines; the daemon's own database without it.
    pub url: Option<String>,
}

/// What a project's file can say.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProjectFile {
    agents: AgentsTable,
    roles: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AgentsTable {
    default: Option<String>,
}

/// Reads the settings of the user and of the project that `cwd` is in. A file that cannot be used is told, and
/// counts as empty.
pub fn load(home: &Home, cwd: &Path) -> Settings {
    let mut settings = Settings::default();
    let file = home.settings();
    match file.exists().then(|| read::<UserFile>(&file)) {
        Some(Ok(found)) => {
            settings.user = picks(&file, found.agents, found.roles);
            settings.detector = found.detector;
            settings.policy = found.policy;
            settings.store = found.store;
            settings.pre_context = found.pre_context;
            settings.judge = found.judge;
            settings.context = found.context;
            settings.delivery = found.delivery;
            settings.runs = found.runs;
            settings.carry_on = found.carry_on;
            settings.tools = found.tools;
        }
        Some(Err(problem)) => settings.user = settings.note(&file, problem),
        None => {}
    }
    if let Some(file) = presets::of_project(cwd, PROJECT_SETTINGS) {
        settings.project = match owned(&file).and_then(|()| read::<ProjectFile>(&file)) {
            Ok(found) => picks(&file, found.agents, found.roles),
            Err(problem) => settings.note(&file, problem),
        };
    }
    settings
}

impl Settings {
    fn note(&mut self, file: &Path, problem: PresetError) -> Picks {
        let broken = Some(problem.to_string());
        self.problems.push(problem);
        Picks { file: file.display().to_string(), broken, ..Picks::default() }
    }
}

fn picks(file: &Path, agents: AgentsTable, roles: BTreeMap<String, String>) -> Picks {
    Picks { file: file.display().to_string(), default: agents.default, roles, broken: None }
}

fn read<T: DeserializeOwned>(file: &Path) -> Result<T, PresetError> {
    let text = presets::read(file).map_err(|reason| problem(file, reason))?;
    Layer { agent: String::new(), file: file.display().to_string(), text }.read()
}

/// Refuses a file of somebody else: in a directory such as `/tmp` anybody can put one above ours.
fn owned(file: &Path) -> Result<(), PresetError> {
    let metadata = fs::metadata(file).map_err(|error| problem(file, error.to_string()))?;
    if [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid()) {
        Ok(())
    } else {
        Err(problem(file, "belongs to another user".into()))
    }
}

fn problem(file: &Path, reason: String) -> PresetError {
    PresetError { agent: String::new(), file: file.display().to_string(), line: None, field: None, reason }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::path::PathBuf;

    use ostler_core::run::Policy;

    use super::*;

    /// A home and a project in it.
    fn world() -> (tempfile::TempDir, Home, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("home");
        let home = Home::resolve(|name| (name == "OSTLER_HOME").then(|| root.clone().into())).unwrap();
        let project = dir.path().join("project");
        fs::create_dir_all(root.join("config")).unwrap();
        fs::create_dir_all(project.join(".ostler")).unwrap();
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(project.join("src/deep")).unwrap();
        (dir, home, project)
    }

    #[test]
    fn the_user_and_the_project_are_heard() {
        let (_dir, home, project) = world();
        assert_eq!(load(&home, &project), Settings::default());
        fs::write(
            home.settings(),
            "agents.default = \"a\"\nroles.reviewer = \"b\"\n[detector]\nsilence_ms = 7\n[judge]\nenabled = true\nagent = \"d\"\n\
             [delivery]\nack = false\nfile_after = 1\n[runs]\ncheck_seconds = 90\ncommit = false\n\
             [carry_on]\nresumes_per_hour = 0\nactions = { unknown = \"inject_prompt\" }\n",
        )
        .unwrap();
        fs::write(project.join(PROJECT_SETTINGS), "[agents]\ndefault = \"c\"\n").unwrap();
        let settings = load(&home, &project.join("src/deep"));
        assert_eq!(settings.user.default.as_deref(), Some("a"));
        assert_eq!(settings.user.roles["reviewer"], "b");
        assert_eq!(settings.project.default.as_deref(), Some("c"));
        assert_eq!(settings.detector.silence_ms, 7);
        assert_eq!(settings.detector.echo_ms, detector::Settings::default().echo_ms);
        let judge = judge::Settings { enabled: true, agent: "d".into(), ..judge::Settings::default() };
        assert_eq!(settings.judge, judge);
        let file_after = NonZeroU32::MIN;
        let delivery = DeliverySettings { ack: false, file_after, ..DeliverySettings::default() };
        assert_eq!(settings.delivery, delivery);
        assert_eq!((settings.runs.check_seconds.get(), settings.runs.commit), (90, false));
        let terms = settings.carry_on.complete(Terms::default());
        assert_eq!(terms.resumes_per_hour, 0);
        assert_ne!(terms.actions, Actions::default());
        assert_eq!(RunSettings::default().check_seconds.get(), Policy::default().check_secs);
        assert_eq!(settings.problems, []);
        assert_eq!(load(&home, home.path()).project, Picks::default());
    }

    #[test]
    fn a_project_says_nothing_beyond_its_repository() {
        let (_dir, home, project) = world();
        fs::write(project.join(PROJECT_SETTINGS), "[agents]\ndefault = \"c\"\n").unwrap();
        fs::create_dir(project.join("src/.git")).unwrap();
        assert_eq!(load(&home, &project.join("src/deep")).project, Picks::default());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let (_dir, home, project) = world();
        let table = [
            ("[agents]\ndefault = 7\n", ":2: agents.default: "),
            ("\n[detector]\nsilence_s = 2\n", ":3: detector.silence_s: unknown field"),
            ("[roles]\n\na = [1]\n", ":3: roles.a: "),
            ("[agents\n", ":1"),
            ("\n[judge]\nenabled = true\n", ":2: judge: agent is missing"),
            ("[judge]\nagent = \"a\"\nlimit_seconds = 0\n", ":1: judge: limit_seconds must be"),
            ("[judge]\nafter_seconds = -1\n", ":2: judge.after_seconds: "),
            ("[judge]\nafter = 1\n", ":2: judge.after: unknown field"),
            ("[delivery]\n\nmax_attempts = 0\n", ":3: delivery.max_attempts: "),
            ("[delivery]\nretries = 3\n", ":2: delivery.retries: unknown field"),
            ("[runs]\ncheck_seconds = 0\n", ":2: runs.check_seconds: "),
            ("[carry_on.actions]\nunknown = \"push\"\n", ":2: carry_on.actions.unknown: unknown variant"),
        ];
        for (text, place) in table {
            fs::write(home.settings(), text).unwrap();
            let settings = load(&home, &project);
            let told = settings.problems[0].to_string();
            assert!(told.starts_with(&format!("{}{place}", home.settings().display())), "{told}");
            assert_eq!(settings.user.broken, Some(told));
        }
        fs::remove_file(home.settings()).unwrap();
        for table in ["detector", "judge", "delivery"] {
            fs::write(project.join(PROJECT_SETTINGS), format!("[{table}]\n")).unwrap();
            let settings = load(&home, &project);
            assert!(settings.project.broken.unwrap().contains(&format!(":1: {table}: unknown field")));
        }
        fs::remove_file(project.join(PROJECT_SETTINGS)).unwrap();
        fs::create_dir(project.join(PROJECT_SETTINGS)).unwrap();
        assert!(load(&home, &project).project.broken.unwrap().contains("it is a directory"));
    }

    #[test]
    fn the_settings_of_another_user_are_not_used() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_dir, home, project) = world();
        fs::write(project.join(PROJECT_SETTINGS), "agents.default = \"c\"\n").unwrap();
        std::os::unix::fs::chown(project.join(PROJECT_SETTINGS), Some(12_345), None).unwrap();
        let settings = load(&home, &project);
        assert_eq!(settings.project.default, None);
        assert!(settings.problems[0].reason.contains("another user"));
    }
}
