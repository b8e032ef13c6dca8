//! Whether a provider is worth trying.
//!
//! # Theory of operation
//!
//! There is one breaker for each provider and account, and one for what each machine has of them: its login, its
//! program, its network. An agent is used if both let it through ([`Side`]), and evidence counts for one of them: a machine that
//! is not logged in shuts nobody else out. A breaker is closed while the provider works. Structured
//! evidence against the provider opens it ([`Evidence`] has no variant for text), until the time at which the
//! provider said that its limit ends, or else for a time that grows from rung to rung of a ladder. When that time has
//! come, one probe is let through, and the breaker is half open: whoever asks meanwhile is refused. What becomes
//! of the probe closes the breaker or opens it again, one rung higher. A probe is a lease, so that a prober that died
//! keeps nobody out for ever; one that takes long renews it.
//!
//! A success closes the breaker and starts the ladder afresh, but only if it began after the breaker was opened:
//! turns that were under way when a limit struck may end well and prove nothing.
//!
//! The shell stores a breaker whenever it changed. A store that cannot be read changes nothing: what was last known
//! holds, and what was never known is closed ([`Breakers::set`]).

mod choice;
mod evidence;
mod record;
mod sides;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use choice::{Breakers, Choice, Key, Stored, UnavailableProvider};
pub use evidence::{Evidence, Limit, Reason};
pub use sides::{AgentReport, Probes, Side};

use crate::Wall;

/// No provider is shut out for longer, whatever it says.
const MAX_OPEN: Duration = Duration::from_hours(8 * 24);

/// Settings of all breakers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How long a breaker is open when the provider does not say, in seconds; the last holds for all further ones.
    pub ladder_secs: Vec<u32>,
    /// How long a probe may take without a word, in seconds.
    pub probe_secs: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { ladder_secs: vec![60, 300, 1_200, 3_600, 7_200], probe_secs: 600 }
    }
}

impl Settings {
    fn rung(&self, rung: u32) -> Duration {
        let rung = usize::try_from(rung).unwrap_or(usize::MAX);
        let secs = self.ladder_secs.get(rung).or(self.ladder_secs.last()).copied().unwrap_or(60);
        Duration::from_secs(secs.max(1).into())
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(self.probe_secs.max(1).into())
    }
}

/// Names a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProbeId(pub u64);

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The provider works.
    Closed,
    /// The provider is left alone.
    Open {
        /// When it was opened.
        since: Wall,
        /// Until then.
        until: Wall,
        /// The reason, for people.
        reason: Reason,
        /// How often it was opened before, without a success between.
        rung: u32,
    },
    /// Somebody finds out whether the provider works again.
    HalfOpen {
        /// The one probe that is let through.
        probe: ProbeId,
        /// When it was let through.
        since: Wall,
        /// When it counts as lost.
        expires: Wall,
        /// When the breaker was opened.
        opened: Wall,
        /// The reason, for people.
        reason: Reason,
        /// How often it was opened before, without a success between.
        rung: u32,
    },
}

/// What a breaker says to one who wants to use the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Go ahead.
    Free,
    /// Go ahead, and say what became of it: nobody else is let through meanwhile.
    Probe(ProbeId),
    /// Use another one.
    Refused {
        /// When to ask again.
        until: Wall,
        /// The reason, for people.
        reason: Reason,
    },
}

/// The breaker of one provider and account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "record::Record", into = "record::Record")]
pub struct Breaker {
    state: State,
    /// The number of the last probe.
    probes: u64,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed, probes: 0 }
    }
}

impl Breaker {
    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// When it has something else to say, if nothing happens.
    pub fn deadline(&self) -> Option<Wall> {
        match self.state {
            State::Closed => None,
            State::Open { until, .. } => Some(until),
            State::HalfOpen { expires, .. } => Some(expires),
        }
    }

    /// What [`Self::admit`] would say. A probe has no number yet.
    pub fn would_admit(&self, now: Wall) -> Admission {
        match self.state {
            State::Closed => Admission::Free,
            State::Open { until, reason, .. } | State::HalfOpen { expires: until, reason, .. }
                if now < until =>
            {
                Admission::Refused { until, reason }
            }
            State::Open { .. } | State::HalfOpen { .. } => Admission::Probe(ProbeId(self.probes + 1)),
        }
    }

    /// Lets somebody use the provider, or refuses. Whoever gets a probe tells what became of it.
    #[must_use]
    pub fn admit(&mut self, settings: &Settings, now: Wall) -> Admission {
        let admission = self.would_admit(now);
        let (opened, reason, rung) = match self.state {
            State::Closed => return admission,
            State::Open { since, reason, rung, .. } => (since, reason, rung),
            State::HalfOpen { opened, reason, rung, .. } => (opened, reason, rung),
        };
        if let Admission::Probe(probe) = admission {
            self.probes = probe.0;
            let expires = now.plus(settings.lease());
            self.state = State::HalfOpen { probe, since: now, expires, opened, reason, rung };
        }
        admission
    }

    /// Gives a probe more time: its agent is at work.
    pub fn renew(&mut self, of: ProbeId, settings: &Settings, now: Wall) {
        if let State::HalfOpen { probe, expires, .. } = &mut self.state
            && *probe == of
        {
            *expires = (*expires).max(now.plus(settings.lease()));
        }
    }

    /// Takes a probe back of which nothing became: the next one may go at once.
    pub fn release(&mut self, of: ProbeId, now: Wall) {
        if let State::HalfOpen { probe, opened, reason, rung, .. } = self.state
            && probe == of
        {
            self.state = State::Open { since: opened, until: now, reason, rung };
        }
    }

    /// Takes in evidence against the provider. `until` is when the provider says that its limit ends, `probe` the
    /// probe that came to it, if one did.
    pub fn failed(
        &mut self,
        evidence: &Evidence,
        until: Option<Wall>,
        probe: Option<ProbeId>,
        settings: &Settings,
        now: Wall,
    ) {
        let Some(reason) = evidence.reason() else { return };
        // A login does not get better at the end of an hour.
        let stated = until.filter(|until| *until > now && reason != Reason::Auth);
        let stated = stated.map(|until| until.min(now.plus(MAX_OPEN)));
        let open = |rung| State::Open {
            since: now,
            until: stated.unwrap_or_else(|| now.plus(settings.rung(rung))),
            reason,
            rung,
        };
        self.state = match self.state {
            State::Closed => open(0),
            // More of the same trouble: it ends later if somebody says so, and never sooner.
            State::Open { since, until, rung, .. } if now < until => match stated {
                Some(later) if later > until => State::Open { since, until: later, reason, rung },
                _ => return,
            },
            // The probe decides, not those who were under way before.
            State::HalfOpen { probe: current, expires, .. } if probe != Some(current) && now < expires => {
                return;
            }
            State::Open { rung, .. } | State::HalfOpen { rung, .. } => open(rung.saturating_add(1)),
        };
    }

    /// Takes in that the provider did what it was asked. `began` is when it was asked.
    pub fn succeeded(&mut self, began: Wall) {
        let opened = match self.state {
            State::Closed => return,
            State::Open { since, .. } => since,
            State::HalfOpen { opened, .. } => opened,
        };
        if began >= opened {
            self.state = State::Closed;
        }
    }

    /// A person says that the provider can be used.
    pub fn reset(&mut self) {
        self.state = State::Closed;
    }
}

#[cfg(test)]
mod tests;
