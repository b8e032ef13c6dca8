//! What is kept of a piece of work, for whoever goes on with it.

use serde::{Deserialize, Serialize};

use crate::Wall;

/// Longest summary that is kept, in bytes.
const SUMMARY: usize = 4 << 10;
/// Most open points, files and commits that are kept, and the longest of each.
const OPEN: (usize, usize) = (20, 400);
const FILES: (usize, usize) = (50, 300);
const COMMITS: (usize, usize) = (10, 200);
/// Longest name of anything.
const NAME: usize = 200;

/// What was done in a project, and what is left to do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Record {
    /// Names the record: the same one again is not kept twice.
    pub id: String,
    /// The root of the project.
    pub project: String,
    /// When it was made.
    pub at: Wall,
    /// Who made it.
    pub source: Source,
    /// Name of the session it is about.
    pub session: Option<String>,
    /// The agent in that session.
    pub agent: Option<String>,
    /// What was done.
    pub summary: String,
    /// What is left to do.
    pub open: Vec<String>,
    /// Files that differ from the last commit.
    pub files: Vec<String>,
    /// The branch of the work tree.
    pub branch: Option<String>,
    /// The last commit: its short name and its subject.
    pub commit: Option<String>,
    /// Commits that were made during the session, newest first.
    pub commits: Vec<String>,
}

/// Who made a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person, at a command line.
    #[default]
    Person,
    /// An agent, from within its session.
    Agent,
    /// Ostler itself, at the end of a session.
    Session,
}

impl Source {
    /// The name in the record and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
            Self::Session => "session",
        }
    }
}

impl Record {
    /// The same record, of a size that can be kept, and without what steers a terminal.
    #[must_use]
    pub fn bounded(self) -> Self {
        let name = |text: Option<String>| text.map(|text| line(&text, NAME)).filter(|text| !text.is_empty());
        Self {
            summary: cut(plain(&self.summary).trim(), SUMMARY),
            open: list(&self.open, OPEN),
            files: list(&self.files, FILES),
            commits: list(&self.commits, COMMITS),
            session: name(self.session),
            agent: name(self.agent),
            branch: name(self.branch),
            commit: name(self.commit),
            ..self
        }
    }
}

/// The first entries of a list, and how many are left out.
fn list(entries: &[String], (most, longest): (usize, usize)) -> Vec<String> {
    let entries: Vec<String> =
        entries.iter().map(|entry| line(entry, longest)).filter(|entry| !entry.is_empty()).collect();
    let left_out = entries.len().saturating_sub(most);
    let mut kept: Vec<String> = entries.into_iter().take(most).collect();
    if left_out > 0 {
        kept.push(format!("… and {left_out} more"));
    }
    kept
}

/// Text on one line.
fn line(text: &str, longest: usize) -> String {
    cut(&plain(text).split_whitespace().collect::<Vec<_>>().join(" "), longest)
}

/// Text without control characters but newline and tab.
fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Text of at most so many bytes; what was cut ends in an ellipsis.
pub fn cut(text: &str, longest: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(longest.saturating_sub(MARK.len()));
    let mut kept = text[..end].trim_end().to_owned();
    if kept.len() + MARK.len() <= longest {
        kept.push_str(MARK);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_record_is_bounded_and_says_what_is_missing() {
        let record = Record {
            summary: format!("  done\x1b[2J\r\n{}", "é".repeat(5_000)),
            open: vec!["one\n  two".into(), String::new(), "x".repeat(1_000)],
            files: (0..60).map(|n| format!("src/{n}.rs")).collect(),
            branch: Some("\x07".into()),
            ..Record::default()
        };
        let kept = record.bounded();
        assert!(kept.summary.starts_with("done[2J\né") && kept.summary.ends_with("é…"), "{}", kept.summary);
        assert_eq!(kept.open[0], "one two");
        assert_eq!((kept.open.len(), kept.open[1].len()), (2, 400));
        assert_eq!((kept.files.len(), kept.files[50].as_str()), (51, "… and 10 more"));
        assert_eq!(kept.branch, None);
    }

    #[test]
    fn sources_keep_their_names() {
        for source in [Source::Person, Source::Agent, Source::Session] {
            assert_eq!(serde_json::json!(source), source.as_str());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_is_longer_than_it_may_be(text in any::<String>(), longest in 0_usize..50) {
            prop_assert!(cut(&text, longest).len() <= longest);
            prop_assert!(line(&text, longest).len() <= longest);
            prop_assert!(!line(&text, longest).contains(|c: char| c.is_control()));
        }
    }
}
