//! Limits of a provider that an agent has run into: each has an end.

use super::weigh::Weighed;
use super::{Claim, Detector, Settings, millis};
use crate::breaker::Limit;
use crate::{State, Steady};

/// The limit that the agent has run into, and how many came one after another.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// When it ends, or is worth a try.
    ends: Option<Steady>,
    /// Whether the agent's words were read for its end.
    is_stated: bool,
    /// Limits since the agent last got through.
    count: u32,
}

impl Limits {
    /// When the present limit ends; a new one begins now.
    fn end(&mut self, limit: Limit, settings: &Settings, now: Steady) -> Steady {
        *self.ends.get_or_insert_with(|| {
            (self.count, self.is_stated) = (self.count.saturating_add(1), false);
            let doubled = settings.limit_ms.saturating_mul(1 << (self.count - 1).min(16));
            let wait = if limit == Limit::Quota { settings.limit_max_ms } else { doubled };
            now.plus(millis(wait.min(settings.limit_max_ms)))
        })
    }

    /// The agent's own words on its end were read.
    pub(super) fn stated(&mut self, at: Option<Steady>) {
        self.is_stated = true;
        self.ends = self.ends.map(|ends| at.unwrap_or(ends));
    }
}

impl Detector {
    /// The agent's words on the end of a limit, for whoever knows the time of day; once for every limit.
    pub fn unread_limit(&self) -> Option<&str> {
        self.verdict.until.as_deref().filter(|_| self.limits.ends.is_some() && !self.limits.is_stated)
    }

    /// Lets a limit come to its end: from then on the agent is as good as idle, until it runs into one again.
    pub(super) fn heed_limit(&mut self, weighed: Weighed, now: Steady) -> Weighed {
        match weighed.state {
            State::Limited => {
                let ends = self.limits.end(Limit::of_kind(weighed.kind.as_deref()), &self.settings, now);
                if now < ends {
                    return weighed.again(ends);
                }
                // A turn that has failed is over; otherwise the screen has to look like that.
                let failed = self.claim.is_some_and(|claim| claim.what == Claim::Error);
                let rests = failed || self.record().failed.is_some() || self.seen.idle.is_some();
                let state = if rests { State::Idle } else { State::Unknown };
                let over = Weighed::new(state, 0.6, "the limit may be over");
                weighed.because.into_iter().fold(over, Weighed::and)
            }
            State::Working => {
                // It rested in between, and for no limit.
                let rested = now.since(self.verdict.since) >= millis(self.settings.silence_ms);
                if self.verdict.state == State::Idle && self.limits.ends.is_none() && rested {
                    self.limits.count = 0;
                }
                self.limits.ends = None;
                weighed
            }
            _ => weighed,
        }
    }
}
