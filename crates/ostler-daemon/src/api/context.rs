//! What clients ask about the context of a project.

mod clear;

use std::ffi::OsString;
use std::path::PathBuf;

use ostler_core::continuity::{Record, Source};
use ostler_protocol::{
    ContextInfo, ContextPlace, ContextRequest, ErrorKind, Problem, RecordInfo, SaveRequest,
};
use ostler_store::{Session, StoreHandle};

pub(crate) use self::clear::clear;
use crate::clock;
use crate::context::{ContextAssembler, ForSession, Wanted};
use crate::continuity::{Records, of_work_tree, work_tree};
use crate::project::Project;
use crate::runs::shared_store_problem;
use crate::session::store_problem;
use crate::sessions::{Found, Sessions};

/// What is kept of one project.
#[derive(Debug)]
pub(crate) struct ProjectRecords {
    /// The root of the project.
    pub(crate) project: String,
    /// Newest first.
    pub(crate) records: Vec<RecordInfo>,
}

/// Puts the context of a project together.
pub(crate) async fn load(
    sessions: &Sessions,
    store: &StoreHandle,
    context: &ContextAssembler,
    request: ContextRequest,
) -> Result<ContextInfo, Problem> {
    let here = Here::find(sessions, request.place.clone()).await?;
    let session = here.session.as_ref().map(|session| session.start.id.clone());
    let ContextRequest { task, told, budget, .. } = &request;
    let wanted = Wanted { task: task.as_deref(), told: *told, budget: *budget };
    let ForSession { text, pending, assembled } = context
        .for_session(session.as_deref(), &here.project.root, wanted)
        .await
        .map_err(|error| store_problem(&error))?;
    if let Some(id) = session.filter(|_| here.inside && !text.is_empty()) {
        let (bytes, at) = (text.len(), clock::now());
        store
            .run(move |store| store.context_loaded(&id, bytes, at))
            .await
            .map_err(|error| store_problem(&error))?;
    }
    Ok(ContextInfo {
        project: here.project.key(),
        session: here.session.map(|session| session.start.name),
        text,
        pending,
        records: assembled.records,
        places: assembled.code.places.len(),
        search_cut: assembled.code.cut,
    })
}

/// Shows what is kept of a project.
pub(crate) async fn records(
    sessions: &Sessions,
    records: &Records,
    place: ContextPlace,
) -> Result<ProjectRecords, Problem> {
    let project = Here::find(sessions, place).await?.project.key();
    let found = records.of_project(&project).await.map_err(|error| shared_store_problem(&error))?;
    Ok(ProjectRecords { project, records: found.into_iter().map(shown).collect() })
}

/// Adds a record to a project.
pub(crate) async fn save(
    sessions: &Sessions,
    records: &Records,
    request: SaveRequest,
) -> Result<ProjectRecords, Problem> {
    if request.summary.trim().is_empty() && request.open.iter().all(|point| point.trim().is_empty()) {
        return Err(Problem::new(ErrorKind::Usage, "there is nothing to save"));
    }
    let here = Here::find(sessions, request.place).await?;
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
    records.add(record.clone()).await.map_err(|error| shared_store_problem(&error))?;
    Ok(ProjectRecords { project, records: vec![shown(record)] })
}

/// The project that a client means, and the session if it means one.
struct Here {
    project: Project,
    session: Option<Session>,
    /// The session asks for itself.
    inside: bool,
}

impl Here {
    async fn find(sessions: &Sessions, place: ContextPlace) -> Result<Self, Problem> {
        let session = match place.session {
            Some(name) => session(sessions, &name, place.inside).await?,
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

async fn session(sessions: &Sessions, name: &str, inside: bool) -> Result<Option<Session>, Problem> {
    let id = if inside {
        // It knows its own id, perhaps before it has an actor. One of another home is no obstacle.
        name.to_owned()
    } else {
        match sessions.find(name).await? {
            Found::Live(handle) => handle.id,
            Found::Ended(session) => return Ok(Some(*session)),
        }
    };
    sessions.record(&id).await
}

fn shown(record: Record) -> RecordInfo {
    let Record { id, at, source, session, agent, summary, open, files, branch, commit, commits, .. } = record;
    let at = clock::shown(at);
    RecordInfo { id, at, source, session, agent, summary, open, files, branch, commit, commits }
}
