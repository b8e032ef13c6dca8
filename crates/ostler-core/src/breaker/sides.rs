//! The two breakers that an agent stands before: the provider's, and the one of what its machine has of the provider.

use serde::{Deserialize, Serialize};

use super::{Breaker, Evidence, ProbeId, Settings};
use crate::Wall;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The provider and the account: for every machine.
    Provider,
    /// The login, the program and the network of one machine.
    Host,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Provider, Self::Host];

    /// The side that evidence speaks against, if it speaks against anybody.
    pub fn of(evidence: &Evidence) -> Option<Self> {
        let of_host = evidence.reason()?.may_be_local();
        Some(if of_host { Self::Host } else { Self::Provider })
    }
}

/// An agent that is a probe of one breaker, or of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Probes {
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<ProbeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<ProbeId>,
}

/// Probes were numbers when there was one breaker only.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    One(ProbeId),
    Both {
        #[serde(default)]
        provider: Option<ProbeId>,
        #[serde(default)]
        host: Option<ProbeId>,
    },
}

impl From<Stored> for Probes {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::One(probe) => Self { provider: Some(probe), host: None },
            Stored::Both { provider, host } => Self { provider, host },
        }
    }
}

impl Probes {
    /// What an agent is, if it is a probe at all.
    pub fn new(provider: Option<ProbeId>, host: Option<ProbeId>) -> Option<Self> {
        (provider.is_some() || host.is_some()).then_some(Self { provider, host })
    }

    /// The probe of one side.
    pub fn of(self, side: Side) -> Option<ProbeId> {
        match side {
            Side::Provider => self.provider,
            Side::Host => self.host,
        }
    }
}

/// What is told of an agent to both breakers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentReport {
    /// Something speaks against one of them.
    Failed {
        /// What.
        evidence: Evidence,
        /// When the provider says that it can be tried again.
        until: Option<Wall>,
    },
    /// It did what it was asked.
    Succeeded {
        /// When it was asked.
        began: Wall,
    },
    /// It is at work.
    AtWork,
    /// Nothing became of it.
    Nothing,
}

impl Breaker {
    /// Takes in what is told of an agent. What speaks against the other side proves nothing on this one.
    pub fn on_report(
        &mut self,
        side: Side,
        news: AgentReport,
        probes: Option<Probes>,
        settings: &Settings,
        now: Wall,
    ) {
        let probe = probes.and_then(|probes| probes.of(side));
        match (news, probe) {
            (AgentReport::Failed { evidence, until }, _) if Side::of(&evidence) == Some(side) => {
                self.failed(&evidence, until, probe, settings, now);
            }
            (AgentReport::Succeeded { began }, _) => self.succeeded(began),
            (AgentReport::AtWork, Some(probe)) => self.renew(probe, settings, now),
            (AgentReport::Failed { .. } | AgentReport::Nothing, Some(probe)) => self.release(probe, now),
            (AgentReport::Failed { .. } | AgentReport::Nothing | AgentReport::AtWork, None) => {}
        }
    }
}

#[cfg(test)]
mod tests;
