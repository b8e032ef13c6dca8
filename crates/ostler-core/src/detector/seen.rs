//! Since when the screen shows what it shows.

use super::evidence::{At, Reading};
use crate::{Failure, State, Steady};

/// Since when the screen shows each of these, without a break.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// It looks idle, and neither at work nor blocked.
    pub(super) idle: Option<Steady>,
    /// The same, and that is certain.
    pub(super) certain: Option<Steady>,
    pub(super) working: Option<Steady>,
    pub(super) blocked: Option<Steady>,
    /// It tries again what failed, and why that failed last.
    pub(super) retrying: Option<At<Failure>>,
    /// Anything else, nothing included.
    pub(super) reading: Steady,
}

impl Seen {
    /// Takes in a look at the screen; `old` is the one before.
    pub(super) fn look(&mut self, old: &Reading, new: &Reading, now: Steady) {
        let at_rest =
            || new.findings.iter().filter(|finding| matches!(finding.state, State::Idle | State::Watching));
        let (working, blocked) = (new.find(State::Working).is_some(), new.find(State::Blocked).is_some());
        let keep = |since: Option<Steady>, holds: bool| holds.then(|| since.unwrap_or(now));
        let undisturbed = !working && !blocked;
        self.idle = keep(self.idle, undisturbed && at_rest().next().is_some());
        self.certain = keep(self.certain, undisturbed && at_rest().any(|finding| finding.certain));
        self.working = keep(self.working, working);
        self.blocked = keep(self.blocked, blocked);
        let since = self.retrying.map_or(now, |retrying| retrying.at);
        self.retrying = new.retrying().map(|failure| At { what: failure, at: since });
        if new.findings != old.findings {
            self.reading = now;
        }
    }
}
