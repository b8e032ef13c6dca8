//! What agents are told of a project, and what is kept of it.

mod clearing;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ostler_agents::context::{EARLIER, Parts, assemble};
use ostler_agents::terms::terms;
use ostler_core::continuity::{Record, Source};
use ostler_protocol::{
    ContextInfo, ContextPlace, ContextRequest, ErrorKind, Problem, RecordInfo, Response, SaveRequest,
};
use ostler_store::{Session, StoreError};
use ostler_work::Standing;

pub(crate) use self::clearing::clear;
use crate::code_search::{self, Found};
use crate::project::Project;
use crate::registry::{self, Shared};
use crate::runs::trouble;
use crate::session::store_problem;
use crate::{clock, continuity, presets, settings};

/// Largest context that can be asked for.
const LARGEST: usize = 1 << 20;

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

/// Puts together what is known of the project that a directory is in, in at most `budget` bytes or as many as the user
/// set. What the agent gets besides is `known`: it counts, and what it tells is not told again.
pub(crate) async fn assembled(
    shared: &Shared,
    cwd: &Path,
    task: Option<&str>,
    budget: Option<usize>,
    known: &str,
) -> Assembled {
    let (home, dir) = (shared.home.clone(), cwd.to_owned());
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
    let records = match continuity::records(shared, &key).await {
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
    let told = if is_told { &[][..] } else { &records };
    let parts = Parts { project: &key, task, records: told, places: &code.places };
    Assembled { text: assemble(&parts, budget), records: records.len(), code }
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
fn instructions_files(home: &crate::Home, root: &Path) -> Vec<String> {
    let registry = presets::load(home, root).registry;
    let files: BTreeSet<String> =
        registry.agents().filter_map(|agent| agent.preset.instructions.clone()).collect();
    files.into_iter().collect()
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

/// Puts together what waits for a session and what is known of the project that a directory is in.
pub(crate) async fn for_session(
    shared: &Shared,
    session: Option<&str>,
    cwd: &Path,
    task: Option<&str>,
    budget: Option<usize>,
) -> Result<ForSession, StoreError> {
    let waiting = match session.map(str::to_owned) {
        Some(id) => shared.store.run(move |store| store.pending_context(&id)).await?,
        None => Vec::new(),
    };
    let waiting = waiting.iter().filter(|one| !one.settled);
    let waiting: Vec<String> = waiting.map(|one| one.text.trim_end().to_owned() + "\n").collect();
    // What waits is told whole; the rest has the space that is left.
    let waiting = waiting.join("\n");
    let assembled = assembled(shared, cwd, task, budget, &waiting).await;
    let between = if waiting.is_empty() || assembled.text.is_empty() { "" } else { "\n" };
    let text = format!("{waiting}{between}{}", assembled.text);
    Ok(ForSession { text, pending: !waiting.is_empty(), assembled })
}

/// Answers `ostler context load`.
pub(crate) async fn load(shared: &Shared, request: ContextRequest) -> Result<Response, Problem> {
    let here = Here::find(shared, request.place).await?;
    let session = here.session.as_ref().map(|session| session.start.id.clone());
    let (root, task) = (&here.project.root, request.task.as_deref());
    let ForSession { text, pending, assembled } =
        for_session(shared, session.as_deref(), root, task, request.budget)
            .await
            .map_err(|error| store_problem(&error))?;
    if let Some(id) = session.filter(|_| here.inside && !text.is_empty()) {
        let (bytes, at) = (text.len(), clock::now());
        shared
            .store
            .run(move |store| store.context_loaded(&id, bytes, at))
            .await
            .map_err(|error| store_problem(&error))?;
    }
    Ok(Response::Context(Box::new(ContextInfo {
        project: here.project.key(),
        session: here.session.map(|session| session.start.name),
        text,
        pending,
        records: assembled.records,
        places: assembled.code.places.len(),
        search_cut: assembled.code.cut,
    })))
}

/// Answers `ostler context show`.
pub(crate) async fn records(shared: &Shared, place: ContextPlace) -> Result<Response, Problem> {
    let project = Here::find(shared, place).await?.project.key();
    let found = continuity::records(shared, &project).await.map_err(|error| trouble(&error))?;
    Ok(Response::Records { project, records: found.into_iter().map(shown).collect() })
}

/// Answers `ostler context save`.
pub(crate) async fn save(shared: &Shared, request: SaveRequest) -> Result<Response, Problem> {
    if request.summary.trim().is_empty() && request.open.iter().all(|point| point.trim().is_empty()) {
        return Err(Problem::new(ErrorKind::Usage, "there is nothing to save"));
    }
    let here = Here::find(shared, request.place).await?;
    let start = here.session.map(|session| session.start);
    let tree = work_tree(&here.project, start.as_ref().map(|start| start.created)).await;
    let record = Record {
        id: request.id,
        project: here.project.key(),
        at: clock::now(),
        source: if here.inside { Source::Agent } else { Source::Person },
        session: start.as_ref().map(|start| start.name.clone()),
        agent: start.and_then(|start| start.agent),
        summary: request.summary,
        open: request.open,
        ..of_work_tree(tree)
    }
    .bounded();
    let project = record.project.clone();
    continuity::keep(shared, record.clone()).await.map_err(|error| trouble(&error))?;
    Ok(Response::Records { project, records: vec![shown(record)] })
}

/// The project that a client means, and the session if it means one.
struct Here {
    project: Project,
    session: Option<Session>,
    /// The session asks for itself.
    inside: bool,
}

impl Here {
    async fn find(shared: &Shared, place: ContextPlace) -> Result<Self, Problem> {
        let session = match place.session {
            Some(name) => session(shared, &name, place.inside).await?,
            None => None,
        };
        let inside = place.inside && session.is_some();
        let directory = match &session {
            Some(session) => PathBuf::from(&session.start.cwd),
            None => PathBuf::from(OsString::from(place.cwd)),
        };
        if !directory.is_absolute() {
            return Err(Problem::new(ErrorKind::Usage, format!("{} is not absolute", directory.display())));
        }
        // A dead network file system must not hold up the others.
        let project = tokio::task::spawn_blocking(move || Project::of(&directory)).await;
        let project = project.map_err(|error| Problem::new(ErrorKind::Internal, error.to_string()))?;
        Ok(Self { project, session, inside })
    }
}

async fn session(shared: &Shared, name: &str, inside: bool) -> Result<Option<Session>, Problem> {
    let id = if inside {
        // It knows its own id, perhaps before anybody looks after it. One of another home is no obstacle.
        name.to_owned()
    } else {
        match shared.find(name).await? {
            registry::Found::Live(handle) => handle.id,
            registry::Found::Ended(session) => return Ok(Some(*session)),
        }
    };
    shared.store.run(move |store| store.session(&id)).await.map_err(|error| store_problem(&error))
}

/// What git says of a project; nothing where it is not to be asked.
pub(crate) async fn work_tree(project: &Project, since: Option<ostler_core::Timestamp>) -> Standing {
    if !project.git {
        return Standing::default();
    }
    ostler_work::standing(&project.root, since).await.unwrap_or_else(|error| {
        tracing::warn!(project = project.key(), %error, "a record goes without what git says");
        Standing::default()
    })
}

/// A record that has what git says, and nothing else.
pub(crate) fn of_work_tree(tree: Standing) -> Record {
    let Standing { branch, commit, commits, files } = tree;
    Record { branch, commit, commits, files, ..Record::default() }
}

fn shown(record: Record) -> RecordInfo {
    let Record { id, at, source, session, agent, summary, open, files, branch, commit, commits, .. } = record;
    let at = clock::shown(at);
    RecordInfo { id, at, source, session, agent, summary, open, files, branch, commit, commits }
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
