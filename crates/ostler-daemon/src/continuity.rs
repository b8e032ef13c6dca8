//! What is known of projects, and what is kept of a session when it ends.
//!
//! Records are where the runs are: in this home's database, or with others on a server. While that is away they go
//! into the home's own, and nothing is lost.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::Duration;

use ostler_core::Fact;
use ostler_core::Timestamp;
use ostler_core::continuity::{Record, Source, cut};
use ostler_core::stop_analysis::{LastWords, last_words};
use ostler_store::NewSession;
use ostler_store::shared::{SharedError, SharedStore};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::project::Project;
use crate::registry::Shared;
use crate::transcript::Watcher;
use crate::{context, settings};

/// How many records of a project are kept.
const KEPT: usize = 50;
/// How long a transcript may take to be written to its end.
const LAST_WORDS: Duration = Duration::from_millis(700);
/// Prompts that are remembered, and how much of each; how much of what the agent said and of a failure.
const PROMPTS: usize = 3;
const PROMPT: usize = 300;
const ANSWER: usize = 3 << 10;
const FAILURE: usize = 300;
/// Most open points that are taken from what the agent said.
const OPEN: usize = 10;

/// What was said in a session of late. Small: it is kept with the session's state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Told {
    /// The last prompts, oldest first.
    prompts: Vec<String>,
    /// What the agent said last.
    answer: Option<String>,
    /// The last prompt was answered.
    answered: bool,
    /// What the agent said last, it said after it was last given something.
    current: bool,
    /// How the last turn failed.
    failure: Option<String>,
}

impl Told {
    /// Takes in what a hook or a transcript reports.
    pub(crate) fn hear(&mut self, fact: &Fact) {
        match fact {
            Fact::PromptSubmitted { text: Some(text) } => self.prompt(text),
            Fact::Said { text } => {
                self.answer = Some(cut(text.trim(), ANSWER));
                (self.answered, self.current) = (true, true);
                self.failure = None;
            }
            Fact::TurnFailed { failure, detail } => {
                let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
                self.failure = Some(cut(&format!("{}{detail}", failure.as_str()), FAILURE));
            }
            _ => {}
        }
    }

    /// Whether the agent ended its last turn with a question.
    pub(crate) fn asks(&self) -> bool {
        let prompts: Vec<&str> = self.prompts.iter().map(String::as_str).collect();
        let answer = self.answer.as_deref().filter(|_| self.current);
        answer.is_some_and(|answer| last_words(answer, &prompts) == LastWords::Asks)
    }

    /// The agent was given something, whether or not it tells so.
    pub(crate) fn was_given(&mut self) {
        self.current = false;
    }

    fn prompt(&mut self, text: &str) {
        let text = cut(text.trim(), PROMPT);
        // Hooks and transcript tell the same prompts.
        if text.is_empty() || self.prompts.contains(&text) {
            return;
        }
        self.prompts.push(text);
        if self.prompts.len() > PROMPTS {
            self.prompts.remove(0);
        }
        (self.answered, self.current) = (false, false);
        self.failure = None;
    }

    /// What was done, in words.
    fn summary(&self) -> String {
        let asked = self.prompts.iter().map(|prompt| format!("Asked: {}", one_line(prompt)));
        let answer = self.answer.as_ref().map(|answer| {
            let blank = if answer.contains('\n') { '\n' } else { ' ' };
            format!("Last answer:{blank}{answer}")
        });
        let failure =
            self.failure.as_ref().map(|failure| format!("The last turn failed: {}", one_line(failure)));
        asked.chain(answer).chain(failure).collect::<Vec<_>>().join("\n")
    }

    /// What is left to do: what was not answered, and boxes that are not ticked.
    fn open(&self) -> Vec<String> {
        let last = self.prompts.last().filter(|_| !self.answered);
        let unanswered = last.map(|prompt| format!("Not answered: {}", one_line(prompt)));
        let answer = self.answer.as_deref().unwrap_or_default();
        let boxes = answer.lines().filter_map(|line| {
            let item = line.trim_start().strip_prefix(['-', '*', '+'])?;
            Some(item.trim_start().strip_prefix("[ ]")?.trim().to_owned())
        });
        unanswered.into_iter().chain(boxes).take(OPEN).collect()
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Keeps what is known of an agent's session that is about to end: what comes later of it may be lost with this daemon.
pub(crate) async fn record_so_far(shared: &Shared, session: &NewSession, at: Timestamp, told: &Told) {
    if session.agent.is_none() {
        return;
    }
    let recorded = async {
        let Some(project) = project_of(shared, session).await else { return Ok(()) };
        let Some(told) = complete(shared, session, told.clone()).await? else { return Ok(()) };
        let record = record_of(session, &project, at, &told, Record::default()).bounded();
        // Where it is at once; with others it will be when it is complete.
        shared.store.add_continuity(&record.project, &record.id, &json!(record), KEPT).await
    };
    if let Err(error) = recorded.await {
        tracing::warn!(session = session.name, %error, "nothing is kept of the session yet");
    }
}

/// Keeps a record of an agent's session that has ended, aside. Of a session in which nothing was asked, nothing is kept.
pub(crate) fn record_end(
    shared: &Shared,
    session: &NewSession,
    at: Timestamp,
    told: Told,
    transcript: Option<Watcher>,
) {
    if session.agent.is_none() {
        return;
    }
    let (shared, session) = (shared.clone(), session.clone());
    tokio::spawn(async move {
        if let Err(error) = record(&shared, &session, at, told, transcript).await {
            tracing::warn!(session = session.name, %error, "nothing is kept of the session");
        }
    });
}

async fn record(
    shared: &Shared,
    session: &NewSession,
    at: Timestamp,
    mut told: Told,
    transcript: Option<Watcher>,
) -> Result<(), SharedError> {
    let Some(project) = project_of(shared, session).await else { return Ok(()) };
    // One that appears now is another session's.
    if let Some(transcript) = transcript.filter(|transcript| transcript.state().path.is_some()) {
        hear_last_words(transcript, &mut told).await;
    }
    let Some(told) = complete(shared, session, told).await? else { return Ok(()) };
    let tree = context::work_tree(&project, Some(session.created)).await;
    keep(shared, record_of(session, &project, at, &told, context::of_work_tree(tree))).await
}

/// The project of a session, if records of it are wanted.
async fn project_of(shared: &Shared, session: &NewSession) -> Option<Project> {
    let (home, cwd) = (shared.home.clone(), std::path::PathBuf::from(&session.cwd));
    let look = move || {
        let wanted = settings::load(&home, &cwd).context.record_sessions;
        wanted.then(|| Project::of(&cwd))
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

/// What was said, with what the agent was given where it tells nothing; nothing if nothing was asked.
async fn complete(
    shared: &Shared,
    session: &NewSession,
    mut told: Told,
) -> Result<Option<Told>, SharedError> {
    if told.prompts.is_empty() {
        let id = session.id.clone();
        let taken = shared.store.run(move |store| store.last_taken(&id, PROMPTS)).await?;
        // Single keys answer dialogs.
        taken.iter().filter(|text| text.trim().len() > 3).for_each(|text| told.prompt(text));
        // Whether it answered nobody can tell.
        told.answered = true;
    }
    Ok(Some(told).filter(|told| !told.prompts.is_empty() || told.answer.is_some()))
}

/// The record of a session that has ended; `tree` has what became of the work tree.
fn record_of(session: &NewSession, project: &Project, at: Timestamp, told: &Told, tree: Record) -> Record {
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

/// Keeps a record of a project, once per id.
pub(crate) async fn keep(shared: &Shared, record: Record) -> Result<(), SharedError> {
    let record = record.bounded();
    let value = json!(record);
    match shared.common.add_continuity(&record.project, &record.id, &value, KEPT).await {
        Err(error) if !shared.common.is_own() => {
            tracing::warn!(%error, "a record is kept in this home, not with the others");
            shared.store.add_continuity(&record.project, &record.id, &value, KEPT).await
        }
        kept => kept,
    }
}

/// The records of a project, newest first. One that cannot be read is passed over.
pub(crate) async fn records(shared: &Shared, project: &str) -> Result<Vec<Record>, SharedError> {
    let mut found = shared.common.continuity(project).await?;
    if !shared.common.is_own() {
        found.extend(shared.store.continuity(project).await?);
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

/// Forgets what is known of a project; says how many records that were.
pub(crate) async fn forget(shared: &Shared, project: &str) -> Result<usize, SharedError> {
    let known = records(shared, project).await?.len();
    shared.common.clear_continuity(project).await?;
    if !shared.common.is_own() {
        shared.store.clear_continuity(project).await?;
    }
    Ok(known)
}

/// Reads what an agent wrote down in its last moments.
async fn hear_last_words(mut transcript: Watcher, told: &mut Told) {
    // Nobody may have hinted that there is more.
    transcript.named(None, None);
    let hear = async {
        loop {
            transcript.next().await.facts.iter().for_each(|written| told.hear(&written.fact));
        }
    };
    let _: Result<(), _> = tokio::time::timeout(LAST_WORDS, hear).await;
}

#[cfg(test)]
mod tests {
    use ostler_core::Failure;

    use super::*;

    fn prompt(text: &str) -> Fact {
        Fact::PromptSubmitted { text: Some(text.into()) }
    }

    fn said(text: &str) -> Fact {
        Fact::Said { text: text.into() }
    }

    fn told(facts: &[Fact]) -> Told {
        let mut told = Told::default();
        for fact in facts {
            told.hear(fact);
        }
        told
    }

    #[test]
    fn the_last_of_what_was_said_is_kept() {
        let told = told(&[
            prompt("zero"),
            prompt("one"),
            said("Working on it."),
            prompt("two\nlines"),
            prompt("two\nlines"),
            prompt("three"),
            said("Working on it."),
            said("Done:\n- [x] parser\n- [ ] tests\n * [ ]  docs\n"),
        ]);
        let expected = "Asked: one\nAsked: two lines\nAsked: three\nLast answer:\nDone:\n- [x] parser\n- [ ] tests\n * [ ]  docs";
        assert_eq!(told.summary(), expected);
        assert_eq!(told.open(), ["tests", "docs"]);
    }

    #[test]
    fn what_was_not_answered_is_open() {
        let failed = Fact::TurnFailed { failure: Failure::RateLimit, detail: Some("429\nwait".into()) };
        let told = told(&[prompt("one"), said("Yes."), prompt("two"), failed]);
        assert_eq!(told.open(), ["Not answered: two"]);
        let expected =
            "Asked: one\nAsked: two\nLast answer: Yes.\nThe last turn failed: rate_limit: 429 wait";
        assert_eq!(told.summary(), expected);
    }

    #[test]
    fn a_question_at_the_end_is_one() {
        let question = said("I looked at both.\n\nWhich database do you want me to use?");
        assert!(told(&[prompt("one"), question.clone()]).asks());
        assert!(!told(&[prompt("one"), question.clone(), prompt("The second.")]).asks());
        assert!(!told(&[prompt("one"), question, said("Both work now.")]).asks());
        assert!(!told(&[]).asks());
        let mut given = told(&[prompt("one"), said("Which one?")]);
        given.was_given();
        assert!(!given.asks());
    }

    #[test]
    fn it_stays_small() {
        let long = "word ".repeat(10_000);
        let told =
            told(&[prompt(&long), prompt(&format!("x{long}")), prompt(&format!("y{long}")), said(&long)]);
        assert!(serde_json::to_string(&told).unwrap().len() < 5_000);
    }
}
