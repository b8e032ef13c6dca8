//! What has happened in a run.

use serde::{Deserialize, Serialize};

use super::AgentId;
use crate::stop::Stop;
use crate::{Failure, Wall};

/// Files that are kept of each kind.
const MAX_FILES: usize = 200;
/// Errors that are kept of an attempt, and characters of each.
const MAX_ERRORS: usize = 20;
const MAX_ERROR: usize = 1_000;
/// Characters that are kept of what an agent said last, and of what it said before that.
const MAX_WORDS: usize = 5_000;
const OLD_WORDS: usize = 300;

/// What became of the work tree, as it was seen and not as an agent says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// New files.
    pub created: Vec<String>,
    /// Files that are different.
    pub modified: Vec<String>,
    /// Files that are gone.
    pub deleted: Vec<String>,
    /// Files that were left out here because there are so many.
    pub more: u64,
}

impl Changes {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.modified.is_empty() && self.deleted.is_empty() && self.more == 0
    }

    /// The same with no more files than a record can bear.
    #[must_use]
    pub(super) fn bounded(mut self) -> Self {
        for files in [&mut self.created, &mut self.modified, &mut self.deleted] {
            let excess = files.len().saturating_sub(MAX_FILES);
            files.truncate(MAX_FILES);
            self.more = self.more.saturating_add(u64::try_from(excess).unwrap_or(u64::MAX));
        }
        self
    }

    /// Both together, one after the other.
    #[must_use]
    pub fn then(mut self, later: &Self) -> Self {
        for file in &later.created {
            let was_there = remove(&mut self.deleted, file);
            insert(if was_there { &mut self.modified } else { &mut self.created }, file);
        }
        for file in later.modified.iter().filter(|file| !self.created.contains(file)) {
            insert(&mut self.modified, file);
        }
        for file in &later.deleted {
            let is_new = remove(&mut self.created, file);
            remove(&mut self.modified, file);
            if !is_new {
                insert(&mut self.deleted, file);
            }
        }
        self.more = self.more.saturating_add(later.more);
        self.bounded()
    }
}

fn remove(files: &mut Vec<String>, file: &str) -> bool {
    let before = files.len();
    files.retain(|known| known != file);
    files.len() < before
}

fn insert(files: &mut Vec<String>, file: &str) {
    if !files.iter().any(|known| known == file) {
        files.push(file.to_owned());
    }
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It goes on.
    Running,
    /// Its checks passed.
    Passed,
    /// Its checks failed, or it could not be finished.
    Failed,
    /// It was finished, and there are no checks.
    Unchecked,
    /// It was broken off.
    Abandoned,
}

/// One try at the task, whoever made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// When it began.
    pub started: Wall,
    /// When it ended.
    pub ended: Option<Wall>,
    /// What became of it.
    pub status: Status,
    /// What its checks complained of, the first thing first.
    pub errors: Vec<String>,
    /// Who worked at it, one after the other.
    pub turns: Vec<Turn>,
}

/// The part of one provider in an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Who.
    pub provider: String,
    /// When it was asked.
    pub started: Wall,
    /// When its agent had the prompt.
    pub submitted: Option<Wall>,
    /// By what that is known.
    pub proof: Option<String>,
    /// When it ended.
    pub ended: Option<Wall>,
    /// Why it ended.
    pub stop: Option<Stop>,
    /// Why it ended, in words.
    pub reason: Option<String>,
    /// What it changed, if somebody could look.
    pub changes: Option<Changes>,
    /// Its agent; nobody knows of runs of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// What its agent said last, or showed when it ended: the end of it where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

impl Turn {
    pub(super) fn new(provider: &str, agent: Option<AgentId>, now: Wall) -> Self {
        Self {
            provider: provider.to_owned(),
            started: now,
            submitted: None,
            proof: None,
            ended: None,
            stop: None,
            reason: None,
            changes: None,
            agent,
            words: None,
        }
    }

    /// Whether its agent ended it with a question.
    pub fn asks(&self) -> bool {
        self.stop == Some(Stop::Idle { asks: true })
    }

    pub(super) fn note_words(&mut self, words: &str) {
        self.words = Some(end_of(words.trim(), MAX_WORDS)).filter(|words| !words.is_empty());
    }

    /// Keeps less of what was said, when others have said something since.
    pub(super) fn shorten_words(&mut self) {
        self.words = self.words.take().map(|words| end_of(&words, OLD_WORDS));
    }
}

/// The last characters of a text: what was said last says most.
fn end_of(text: &str, longest: usize) -> String {
    let skip = text.chars().count().saturating_sub(longest);
    text.chars().skip(skip).collect()
}

impl Attempt {
    pub(super) fn new(number: u32, now: Wall) -> Self {
        Self {
            number,
            started: now,
            ended: None,
            status: Status::Running,
            errors: Vec::new(),
            turns: Vec::new(),
        }
    }

    /// Who worked at it last.
    pub fn provider(&self) -> Option<&str> {
        self.turns.last().map(|turn| turn.provider.as_str())
    }

    /// What all who worked at it changed together.
    pub fn changes(&self) -> Changes {
        let seen = self.turns.iter().filter_map(|turn| turn.changes.as_ref());
        seen.fold(Changes::default(), Changes::then)
    }

    /// Whether it is known that nothing was changed.
    pub fn changed_nothing(&self) -> bool {
        self.turns.iter().all(|turn| turn.changes.as_ref().is_some_and(Changes::is_empty))
    }

    /// Whose turn failed last in it, where nothing says that the provider is at fault.
    pub(super) fn unexplained(&self) -> Option<(&str, Failure)> {
        let turn = self.turns.last()?;
        match turn.stop? {
            stop @ Stop::TurnFailed { failure, .. } if stop.evidence().is_none() => {
                Some((turn.provider.as_str(), failure))
            }
            _ => None,
        }
    }

    /// The first thing that its checks complained of.
    pub fn first_error(&self) -> Option<&str> {
        self.errors.first().map(String::as_str)
    }

    /// Goes on with it; returns when it was broken off.
    pub(super) fn reopen(&mut self) -> Option<Wall> {
        self.status = Status::Running;
        self.ended.take()
    }

    pub(super) fn end(&mut self, status: Status, errors: Vec<String>, now: Wall) {
        if self.status != Status::Running {
            return;
        }
        self.status = status;
        self.ended = Some(now);
        self.errors = bounded_errors(errors);
    }
}

/// What came of the commands that a helper proposed. At least one of them was run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HelperAnswer {
    /// Who proposed them.
    pub by: String,
    /// Commands that succeeded.
    pub passed: Vec<String>,
    /// What the others complained of.
    pub findings: Vec<String>,
    /// Commands whose outcome proves nothing, and why: they could not fail, or failed because they are contained.
    pub void: Vec<String>,
    /// Commands that were not run, and why.
    pub refused: Vec<String>,
    /// Who else could not be asked, and why.
    pub skipped: Vec<String>,
}

impl HelperAnswer {
    /// The same with no more than a record can bear.
    #[must_use]
    pub(super) fn bounded(self) -> Self {
        let failed = !self.findings.is_empty();
        let mut findings = bounded_errors(self.findings);
        if failed && findings.is_empty() {
            findings.push("a command failed and said nothing".into());
        }
        Self {
            by: self.by,
            passed: bounded_errors(self.passed),
            findings,
            void: bounded_errors(self.void),
            refused: bounded_errors(self.refused),
            skipped: bounded_errors(self.skipped),
        }
    }
}

/// What came of asking a helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum HelperRecord {
    /// Its commands were run.
    Answered(HelperAnswer),
    /// It could not help.
    Failed {
        /// The reason, for people.
        reason: String,
    },
}

impl HelperRecord {
    /// What its commands complained of.
    pub fn findings(&self) -> &[String] {
        match self {
            Self::Answered(answer) => &answer.findings,
            Self::Failed { .. } => &[],
        }
    }
}

/// Errors, fewer and shorter where they are too many or too long.
pub(super) fn bounded_errors(errors: Vec<String>) -> Vec<String> {
    let shorten = |error: String| match error.char_indices().nth(MAX_ERROR) {
        Some((end, _)) => error[..end].to_owned(),
        None => error,
    };
    errors.into_iter().filter(|error| !error.trim().is_empty()).take(MAX_ERRORS).map(shorten).collect()
}
