//! What agents are told of a project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_agents::context::{EARLIER, Parts, assemble};
use ostler_agents::terms::terms;
use ostler_store::{StoreError, StoreHandle};

use crate::code_search::{self, Found};
use crate::continuity::Records;
use crate::home::Home;
use crate::project::Project;
use crate::{presets, settings};

/// Largest context that can be asked for.
const LARGEST: usize = 1 << 20;

/// Puts contexts together.
#[derive(Debug, Clone)]
pub(crate) struct ContextAssembler {
    home: Arc<Home>,
    store: StoreHandle,
    records: Records,
}

/// What a context is wanted for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    /// What is to be done.
    pub(crate) task: Option<&'a str>,
    /// The agent is given the task by other means: code is sought for it, and it is not repeated.
    pub(crate) told: bool,
    /// Most bytes; as many as the user set if absent.
    pub(crate) budget: Option<usize>,
}

/// A context, and what it is made of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assembled {
    /// The context in Markdown; empty if nothing is known.
    pub(crate) text: String,
    /// How many records there are of the project.
    pub(crate) records: usize,
    /// The code that was found.
    pub(crate) code: Found,
}

/// A context with what waits for a session.
pub(crate) struct ForSession {
    /// All of it.
    pub(crate) text: String,
    /// Something waited.
    pub(crate) pending: bool,
    /// What is known of the project.
    pub(crate) assembled: Assembled,
}

impl ContextAssembler {
    pub(crate) fn new(home: Arc<Home>, store: StoreHandle, records: Records) -> Self {
        Self { home, store, records }
    }

    /// Puts together what waits for a session and what is known of the project that a directory is in.
    pub(crate) async fn for_session(
        &self,
        session: Option<&str>,
        cwd: &Path,
        wanted: Wanted<'_>,
    ) -> Result<ForSession, StoreError> {
        let waiting = match session.map(str::to_owned) {
            Some(id) => self.store.run(move |store| store.pending_context(&id)).await?,
            None => Vec::new(),
        };
        let waiting = waiting.iter().filter(|one| !one.settled);
        let waiting: Vec<String> = waiting.map(|one| one.text.trim_end().to_owned() + "\n").collect();
        // What waits is told whole; the rest has the space that is left.
        let waiting = waiting.join("\n");
        let assembled = self.assembled(cwd, wanted, &waiting).await;
        let between = if waiting.is_empty() || assembled.text.is_empty() { "" } else { "\n" };
        let text = format!("{waiting}{between}{}", assembled.text);
        Ok(ForSession { text, pending: !waiting.is_empty(), assembled })
    }

    /// Puts together what is known of the project that a directory is in. What the agent gets besides is `known`: it
    /// counts, and what it tells is not told again.
    async fn assembled(&self, cwd: &Path, wanted: Wanted<'_>, known: &str) -> Assembled {
        let Wanted { task, told, budget } = wanted;
        let (home, dir) = (self.home.clone(), cwd.to_owned());
        let look = move || {
            let project = Project::of(&dir);
            let settings = settings::load(&home, &project.root).context;
            let files = instructions_files(&home, &project.root);
            let searchable = is_searchable(&project.root, user_home().as_deref());
            (project, settings, files, searchable)
        };
        let Ok((project, settings, files, searchable)) = tokio::task::spawn_blocking(look).await else {
            return Assembled::default();
        };
        let key = project.key();
        let records = match self.records.of_project(&key).await {
            Ok(records) => records,
            // Work goes on without them.
            Err(error) => {
                tracing::warn!(project = key, %error, "the records of the project cannot be read");
                Vec::new()
            }
        };
        let terms = task.filter(|_| settings.code_search && searchable).map(terms);
        let code = match terms {
            Some(terms) if !terms.is_empty() => code_search::search(project.root, terms, files).await,
            _ => Found::default(),
        };
        // With the blank line between the two.
        let taken = if known.is_empty() { 0 } else { known.len() + 1 };
        let budget = budget.unwrap_or(settings.budget_bytes).min(LARGEST).saturating_sub(taken);
        let is_told = known.lines().any(|line| line == EARLIER);
        let untold = if is_told { &[][..] } else { &records };
        let task = task.filter(|_| !told);
        let parts = Parts { project: &key, task, records: untold, places: &code.places };
        Assembled { text: assemble(&parts, budget), records: records.len(), code }
    }
}

/// Whether a project is one: a home directory, and what is above it, has files of all kinds in it, private ones among
/// them. That holds also where somebody keeps it in git.
fn is_searchable(root: &Path, home: Option<&Path>) -> bool {
    root.parent().is_some() && !home.is_some_and(|home| home.starts_with(root))
}

/// The user's home directory, by its real name. Waits for the disk.
fn user_home() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    Some(home.canonicalize().unwrap_or(home))
}

/// The files that agents read instructions from, as seen from the root of a project.
pub(crate) fn instructions_files(home: &Home, root: &Path) -> Vec<String> {
    let registry = presets::load(home, root).registry;
    let files: BTreeSet<String> =
        registry.agents().filter_map(|agent| agent.preset.instructions.clone()).collect();
    files.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_not_searched_nor_what_is_above_it() {
        let home = Some(Path::new("/home/u"));
        let table =
            [("/home/u", false), ("/home", false), ("/", false), ("/home/u/p", true), ("/home/us", true)];
        for (root, expected) in table {
            assert_eq!(is_searchable(Path::new(root), home), expected, "{root}");
        }
        assert!(is_searchable(Path::new("/home/u"), None));
        assert!(!is_searchable(Path::new("/"), None));
    }

    #[test]
    fn a_home_that_is_kept_in_git_is_no_project_of_what_is_in_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for dir in [".git", "scratch", "work/.git"] {
            std::fs::create_dir_all(home.join(dir)).unwrap();
        }
        let searchable = |dir: &str| is_searchable(&Project::of(&home.join(dir)).root, Some(&home));
        assert!(!searchable("scratch"));
        assert!(searchable("work"));
    }
}
