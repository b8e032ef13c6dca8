//! What the sessions know of their agents: presets and rules, read once and shared.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_agents::settings_for;
use ostler_session::AgentProfile;
use tokio::sync::watch;

use crate::judge::Appointed;
use crate::{Home, presets};

/// What a session knows of its agent, and who judges it; nothing by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionKnowledge {
    pub(crate) profile: AgentProfile,
    /// Who is asked when the detector is puzzled.
    pub(crate) judge: Appointed,
}

/// Agent, version and project: what the knowledge of a session depends on.
type Key = (Option<String>, Option<String>, Option<PathBuf>);

/// A file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    file: PathBuf,
    inode: u64,
    len: u64,
    changed: (i64, i64),
}

/// Presets and rules in use.
#[derive(Debug)]
pub(crate) struct Knowledge {
    home: Home,
    /// Whether terminals answer the query for program status.
    answers_status: bool,
    known: Mutex<HashMap<Key, (Vec<Stamp>, SessionKnowledge)>>,
    /// Counts how often files have changed.
    edition: watch::Sender<u64>,
    /// Counts how often something was read.
    reads: watch::Sender<u64>,
}

impl Knowledge {
    pub(crate) fn new(home: &Home, answers_status: bool) -> Self {
        Self {
            home: home.clone(),
            answers_status,
            known: Mutex::default(),
            edition: watch::Sender::new(0),
            reads: watch::Sender::new(0),
        }
    }

    /// What is known of a version of an agent, for work in a directory. Without an agent: of any program.
    pub(crate) fn of(&self, agent: Option<&str>, version: Option<&str>, cwd: &Path) -> SessionKnowledge {
        let key = (agent.map(str::to_owned), version.map(str::to_owned), presets::project_agents(cwd));
        // The map is whole between any two statements.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Word of a change may be on its way, and what was forbidden a moment ago must not be done.
        let stamps = self.stamps(key.2.as_deref());
        if let Some((_, found)) = known.get(&key).filter(|(read, _)| *read == stamps) {
            return found.clone();
        }
        let read = self.read(agent, version, cwd);
        known.insert(key, (stamps, read.clone()));
        self.reads.send_modify(|reads| *reads += 1);
        read
    }

    /// The files that a user and a project have.
    fn stamps(&self, project: Option<&Path>) -> Vec<Stamp> {
        let of =
            |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let presets = of(&self.home.agents()).chain(project.into_iter().flat_map(of));
        let stamp = |file: PathBuf| {
            let found = std::fs::metadata(&file).ok()?;
            Some(Stamp {
                inode: found.ino(),
                len: found.len(),
                changed: (found.ctime(), found.ctime_nsec()),
                file,
            })
        };
        let mut stamps: Vec<Stamp> = presets.chain([self.home.settings()]).filter_map(stamp).collect();
        stamps.sort_by(|one, other| one.file.cmp(&other.file));
        stamps
    }

    fn read(&self, name: Option<&str>, version: Option<&str>, cwd: &Path) -> SessionKnowledge {
        let registry = presets::load(&self.home, cwd).registry;
        let version = version.and_then(ostler_agents::version::read);
        let named = name.and_then(|name| registry.get(name));
        let agent = named.or_else(|| registry.generic()).cloned().unwrap_or_default();
        let book = registry.rulebook(&agent, version.as_ref()).inspect_err(|error| {
            tracing::error!(agent = agent.name, %error, "the rules cannot be used");
        });
        let settings = crate::settings::load(&self.home, cwd);
        for problem in &settings.problems {
            tracing::warn!(%problem, "settings cannot be used");
        }
        let profile = AgentProfile {
            policy: Arc::new(settings.policy),
            book: Arc::new(book.unwrap_or_default()),
            settings: settings_for(&agent, settings.detector),
            expectations: if self.answers_status {
                agent.expectations(version.as_ref())
            } else {
                agent.expectations_unanswered(version.as_ref())
            },
            agent,
            judge: settings.judge.clone(),
            delivery: settings.delivery,
        };
        SessionKnowledge { profile, judge: Appointed::new(settings.judge, &registry) }
    }

    /// Tells when something was read that was not known.
    pub(crate) fn readers(&self) -> watch::Receiver<u64> {
        self.reads.subscribe()
    }

    /// Where the files are that are in use.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let projects = known.keys().filter_map(|(_, _, project)| project.clone());
        projects.chain([self.home.agents(), self.home.settings()]).collect()
    }

    /// Tells when files have changed.
    pub(crate) fn editions(&self) -> watch::Receiver<u64> {
        self.edition.subscribe()
    }

    /// The files have changed: everybody asks again.
    pub(crate) fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.edition.send_modify(|edition| *edition += 1);
    }
}
