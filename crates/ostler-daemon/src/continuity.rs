//! What is known of projects, and what is kept of a session when it ends.
//!
//! Records are where the runs are: in this home's database, or with others on a server. While that is away they go
//! into the home's own, and nothing is lost.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ostler_core::Wall;
use ostler_core::continuity::{Record, Source};
use ostler_session::ConversationSummary;
use ostler_store::shared::{AnyShared, SharedError, SharedStore};
use ostler_store::{NewSession, StoreHandle};
use ostler_work::TreeStatus;
use serde_json::json;

use crate::home::Home;
use crate::project::Project;
use crate::settings;
use crate::transcript::Watcher;

/// How many records of a project are kept.
const KEPT: usize = 50;
/// How long a transcript may take to be written to its end.
const LAST_WORDS: Duration = Duration::from_millis(700);
/// Prompts that are taken from the record where the agent tells nothing.
const PROMPTS: usize = 3;

/// Records of projects: with others on a server where there is one, else in this home's database.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    home: Arc<Home>,
    /// This home's own.
    store: StoreHandle,
    shared_store: AnyShared,
}

impl Records {
    pub(crate) fn new(home: Arc<Home>, store: StoreHandle, shared_store: AnyShared) -> Self {
        Self { home, store, shared_store }
    }

    /// Keeps what is known of an agent's session that is about to end: what comes later of it may be lost with this
    /// daemon.
    pub(crate) async fn record_so_far(&self, session: &NewSession, at: Wall, told: &ConversationSummary) {
        if session.agent.is_none() {
            return;
        }
        let recorded = async {
            let Some(project) = self.project_of(session).await else { return Ok(()) };
            let Some(told) = self.complete(session, told.clone()).await? else { return Ok(()) };
            let record = record_of(session, &project, at, &told, Record::default()).bounded();
            // Where it is at once; with others it will be when it is complete.
            self.store.add_continuity(&record.project, &record.id, &json!(record), KEPT).await
        };
        if let Err(error) = recorded.await {
            tracing::warn!(session = session.name, %error, "nothing is kept of the session yet");
        }
    }

    /// Keeps a record of an agent's session that has ended, aside. Of a session in which nothing was asked, nothing is
    /// kept.
    pub(crate) fn record_end(
        &self,
        session: &NewSession,
        at: Wall,
        told: ConversationSummary,
        transcript: Option<Watcher>,
    ) {
        if session.agent.is_none() {
            return;
        }
        let (records, session) = (self.clone(), session.clone());
        tokio::spawn(async move {
            if let Err(error) = records.record(&session, at, told, transcript).await {
                tracing::warn!(session = session.name, %error, "nothing is kept of the session");
            }
        });
    }

    async fn record(
        &self,
        session: &NewSession,
        at: Wall,
        mut told: ConversationSummary,
        transcript: Option<Watcher>,
    ) -> Result<(), SharedError> {
        let Some(project) = self.project_of(session).await else { return Ok(()) };
        // One that appears now is another session's.
        if let Some(transcript) = transcript.filter(|transcript| transcript.state().path.is_some()) {
            hear_last_words(transcript, &mut told).await;
        }
        let Some(told) = self.complete(session, told).await? else { return Ok(()) };
        let tree = work_tree(&project, Some(session.created)).await;
        self.add(record_of(session, &project, at, &told, of_work_tree(tree))).await
    }

    /// The project of a session, if records of it are wanted.
    async fn project_of(&self, session: &NewSession) -> Option<Project> {
        let (home, cwd) = (self.home.clone(), std::path::PathBuf::from(&session.cwd));
        let look = move || {
            let wanted = settings::load(&home, &cwd).context.record_sessions;
            wanted.then(|| Project::of(&cwd))
        };
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }

    /// What was said, with what the agent was given where it tells nothing; nothing if nothing was asked.
    async fn complete(
        &self,
        session: &NewSession,
        mut told: ConversationSummary,
    ) -> Result<Option<ConversationSummary>, SharedError> {
        if told.has_no_prompts() {
            let id = session.id.clone();
            let taken = self.store.run(move |store| store.last_taken(&id, PROMPTS)).await?;
            // Single keys answer dialogs.
            taken.iter().filter(|text| text.trim().len() > 3).for_each(|text| told.prompt(text));
            // Whether it answered nobody can tell.
            told.assume_answered();
        }
        Ok(Some(told).filter(|told| !told.is_empty()))
    }

    /// Adds a record of a project, once per id.
    pub(crate) async fn add(&self, record: Record) -> Result<(), SharedError> {
        let record = record.bounded();
        let value = json!(record);
        match self.shared_store.add_continuity(&record.project, &record.id, &value, KEPT).await {
            Err(error) if !self.shared_store.is_own() => {
                tracing::warn!(%error, "a record is kept in this home, not with the others");
                self.store.add_continuity(&record.project, &record.id, &value, KEPT).await
            }
            kept => kept,
        }
    }

    /// The records of a project, newest first. One that cannot be read is passed over.
    pub(crate) async fn of_project(&self, project: &str) -> Result<Vec<Record>, SharedError> {
        let mut found = self.shared_store.continuity(project).await?;
        if !self.shared_store.is_own() {
            found.extend(self.store.continuity(project).await?);
        }
        let mut records: Vec<Record> =
            found.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect();
        // What is kept with others is complete; the same of this home may not be.
        let mut seen = HashSet::new();
        records.retain(|record| seen.insert(record.id.clone()));
        records.sort_by_key(|record| Reverse(record.at));
        records.truncate(KEPT);
        Ok(records)
    }

    /// Forgets the records of a project; returns how many there were.
    pub(crate) async fn clear(&self, project: &str) -> Result<usize, SharedError> {
        let known = self.of_project(project).await?.len();
        self.shared_store.clear_continuity(project).await?;
        if !self.shared_store.is_own() {
            self.store.clear_continuity(project).await?;
        }
        Ok(known)
    }
}

/// The record of a session that has ended; `tree` has what became of the work tree.
fn record_of(
    session: &NewSession,
    project: &Project,
    at: Wall,
    told: &ConversationSummary,
    tree: Record,
) -> Record {
    Record {
        id: session.id.clone(),
        project: project.key(),
        at,
        source: Source::Session,
        session: Some(session.name.clone()),
        agent: session.agent.clone(),
        summary: told.summary(),
        open: told.open(),
        ..tree
    }
}

/// What git says of a project; nothing where it is not to be asked.
pub(crate) async fn work_tree(project: &Project, since: Option<ostler_core::Wall>) -> TreeStatus {
    if !project.git {
        return TreeStatus::default();
    }
    ostler_work::standing(&project.root, since).await.unwrap_or_else(|error| {
        tracing::warn!(project = project.key(), %error, "a record goes without what git says");
        TreeStatus::default()
    })
}

/// A record that has what git says, and nothing else.
pub(crate) fn of_work_tree(tree: TreeStatus) -> Record {
    let TreeStatus { branch, commit, commits, files } = tree;
    Record { branch, commit, commits, files, ..Record::default() }
}

/// Reads what an agent wrote down in its last moments.
async fn hear_last_words(mut transcript: Watcher, told: &mut ConversationSummary) {
    // Nobody may have hinted that there is more.
    transcript.named(None, None);
    let hear = async {
        loop {
            transcript.next().await.facts.iter().for_each(|written| told.on_fact(&written.fact));
        }
    };
    let _: Result<(), _> = tokio::time::timeout(LAST_WORDS, hear).await;
}
