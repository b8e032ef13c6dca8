//! What is new of what a watch has found, for one who acts on it.

use super::{Findings, Usage};
use crate::Wall;
use crate::stop::Stopped;

/// What a listener hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The agent can be given its first prompt.
    Ready,
    /// A person answered, or the dialog is gone: the agent goes on.
    Resumed,
    /// The agent does no more.
    Stopped(Stopped),
    /// The session has spent this much in all.
    Spent(Usage),
}

/// Compares what was found of an agent with what was heard of it before.
///
/// A turn counts only for a prompt that the listener itself gave, and once for each, unless it ended with a question that
/// was answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listener {
    ready: bool,
    blocked: bool,
    ended: bool,
    spent: Usage,
    /// The prompt whose turn is listened for.
    prompt: Option<Wall>,
    /// What was heard of that turn.
    turn: Turn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Turn {
    #[default]
    Open,
    /// It ended with a question.
    Asked,
    Over,
}

impl Listener {
    /// Listens to an agent again that was given a prompt before, and of which it may be known that a dialog is open.
    pub fn again(blocked: bool) -> Self {
        Self { ready: true, blocked, ..Self::default() }
    }

    /// Says what is new, in this order. `prompt` is when the listener's own prompt was sent that the agent has, if it has one.
    #[must_use]
    pub fn on_findings(&mut self, found: &Findings, prompt: Option<Wall>) -> Vec<Report> {
        let mut reports = Vec::new();
        if self.ended {
            return reports;
        }
        if found.spent != self.spent {
            self.spent = found.spent;
            reports.push(Report::Spent(found.spent));
        }
        if let Some(end) = found.end {
            self.ended = true;
            reports.push(Report::Stopped(end));
            return reports;
        }
        if let Some(dialog) = found.dialog {
            if !std::mem::replace(&mut self.blocked, true) {
                reports.push(Report::Stopped(dialog));
            }
            return reports;
        }
        if std::mem::take(&mut self.blocked) {
            reports.push(Report::Resumed);
        }
        if found.ready && !std::mem::replace(&mut self.ready, true) {
            reports.push(Report::Ready);
        }
        if prompt != self.prompt {
            (self.prompt, self.turn) = (prompt, Turn::Open);
        }
        match (self.turn, found.turn) {
            (Turn::Open, Some(turn)) if prompt.is_some() => {
                self.turn = if turn.stop.asks() { Turn::Asked } else { Turn::Over };
                reports.push(Report::Stopped(turn));
            }
            (Turn::Asked, None) => {
                self.turn = Turn::Open;
                reports.push(Report::Resumed);
            }
            (Turn::Open | Turn::Asked | Turn::Over, _) => {}
        }
        reports
    }
}
