//! The steps of a run, for the event log: what happened, and why.
//!
//! They follow from the run before and after an event, so no part of the machine has to remember to tell them.

use serde::Serialize;

use super::record::Status;
use super::{Action, Attempt, Blocked, Event, HelperRecord, Inquiry, Phase, Run, Turn};
use crate::breaker::UnavailableProvider;
use crate::pre_context::Kind;
use crate::{Asking, Wall};

/// Errors that are told of an attempt.
const MAX_ERRORS: usize = 3;

/// A step of a run. Its fields are the details of its event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Step {
    /// An attempt begins.
    AttemptBegun {
        /// Its number.
        attempt: u32,
        /// What the one before failed with.
        because: Vec<String>,
    },
    /// An attempt ended.
    AttemptEnded {
        /// Its number.
        attempt: u32,
        /// What became of it.
        status: Status,
        /// What its checks complained of.
        errors: Vec<String>,
    },
    /// Somebody is to work at it.
    ProviderTaken {
        /// The attempt.
        attempt: u32,
        /// Who.
        provider: String,
        /// Whether that finds out if the provider works again.
        probe: bool,
    },
    /// An agent has the prompt.
    Prompted {
        /// The attempt.
        attempt: u32,
        /// Whose agent.
        provider: String,
        /// The block before the prompt.
        context: Option<Kind>,
        /// By what that is known.
        proof: Option<String>,
    },
    /// An agent does no more.
    AgentStopped {
        /// The attempt.
        attempt: u32,
        /// Whose agent.
        provider: String,
        /// The reason, for people.
        reason: Option<String>,
    },
    /// Another provider is to go on.
    Switched {
        /// The attempt.
        attempt: u32,
        /// Who worked before.
        from: Option<String>,
        /// Why that one does no more.
        reason: Option<String>,
    },
    /// No provider can be used.
    Waiting {
        /// When one is chosen again.
        until: Wall,
        /// Why, for each.
        shut: Vec<UnavailableProvider>,
    },
    /// An agent waits for a person.
    Blocked {
        /// Whose agent.
        provider: Option<String>,
        /// What for.
        kind: Asking,
    },
    /// A person answered.
    Resumed {
        /// Whose agent.
        provider: Option<String>,
    },
    /// The checks begin.
    ChecksBegun {
        /// The attempt.
        attempt: u32,
    },
    /// A helper is asked.
    HelperAsked {
        /// The attempt.
        attempt: u32,
        /// What about.
        about: Inquiry,
    },
    /// A helper answered, or could not help.
    HelperAnswered {
        /// The attempt.
        attempt: u32,
        /// What came of it.
        #[serde(flatten)]
        record: HelperRecord,
    },
}

impl Step {
    /// The name of its event.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AttemptBegun { .. } => "run.attempt",
            Self::AttemptEnded { .. } => "run.attempt_ended",
            Self::ProviderTaken { .. } => "run.provider",
            Self::Prompted { .. } => "run.prompted",
            Self::AgentStopped { .. } => "run.stopped",
            Self::Switched { .. } => "run.switch",
            Self::Waiting { .. } => "run.wait",
            Self::Blocked { .. } => "run.blocked",
            Self::Resumed { .. } => "run.resumed",
            Self::ChecksBegun { .. } => "run.checks",
            Self::HelperAsked { .. } => "run.helper",
            Self::HelperAnswered { .. } => "run.helper_answered",
        }
    }
}

impl Run {
    /// What an event led to in a run that was like `before`.
    pub fn steps_since(&self, before: &Self, event: &Event) -> Vec<Step> {
        let mut steps = self.answers_since(before, event);
        self.turns_since(before, &mut steps);
        if before.phase != self.phase {
            steps.extend(self.entered(before, event));
        }
        for (known, attempt) in before.attempts.iter().zip(&self.attempts) {
            if known.status != attempt.status && attempt.status != Status::Running {
                let (attempt, status, errors) = (attempt.number, attempt.status, first(&attempt.errors));
                steps.push(Step::AttemptEnded { attempt, status, errors });
            }
        }
        let begun = self.attempts.iter().enumerate().skip(before.attempts.len());
        steps.extend(begun.map(|(index, attempt)| {
            let previous = index.checked_sub(1).and_then(|index| self.attempts.get(index));
            let because = previous.map_or_else(Vec::new, |previous| first(&previous.errors));
            Step::AttemptBegun { attempt: attempt.number, because }
        }));
        // Whoever works in a new attempt comes after it.
        let taken = |step: &Step| matches!(step, Step::ProviderTaken { .. });
        steps.sort_by_key(|step| taken(step));
        steps
    }

    fn answers_since(&self, before: &Self, event: &Event) -> Vec<Step> {
        let record = match event {
            _ if before.phase == self.phase || !matches!(before.phase, Phase::AskingHelper { .. }) => None,
            Event::HelperAnswered { answer, .. } => Some(HelperRecord::Answered(answer.clone().bounded())),
            Event::HelperFailed { reason, .. } => Some(HelperRecord::Failed { reason: reason.clone() }),
            _ => None,
        };
        record.into_iter().map(|record| Step::HelperAnswered { attempt: before.number(), record }).collect()
    }

    /// What has become of those who work at it.
    fn turns_since(&self, before: &Self, steps: &mut Vec<Step>) {
        for (index, attempt) in self.attempts.iter().enumerate() {
            let known = before.attempts.get(index).map_or(&[][..], |attempt| &attempt.turns);
            for (index, turn) in attempt.turns.iter().enumerate() {
                match known.get(index) {
                    Some(known) => steps.extend(turn_since(before, attempt.number, known, turn)),
                    None => steps.push(Step::ProviderTaken {
                        attempt: attempt.number,
                        provider: turn.provider.clone(),
                        probe: self.probe().is_some(),
                    }),
                }
            }
        }
        if self.switches > before.switches {
            let turn = self.attempts.last().and_then(|attempt: &Attempt| attempt.turns.last());
            steps.push(Step::Switched {
                attempt: self.number(),
                from: turn.map(|turn| turn.provider.clone()),
                reason: turn.and_then(|turn| turn.reason.clone()),
            });
        }
    }

    /// What it is to be in another phase.
    fn entered(&self, before: &Self, event: &Event) -> Option<Step> {
        let provider = || self.agent.as_ref().map(|agent| agent.provider.clone());
        let attempt = self.number();
        let blocked = |phase: &Phase| match phase {
            Phase::Agent { blocked, .. } => *blocked,
            Phase::Parked { blocked, .. } => Some(*blocked),
            _ => None,
        };
        match (&self.phase, blocked(&before.phase), blocked(&self.phase)) {
            (_, None, Some(Blocked { kind, .. })) => Some(Step::Blocked { provider: provider(), kind }),
            (Phase::Agent { .. }, Some(_), None) => Some(Step::Resumed { provider: provider() }),
            (Phase::Waiting { until }, ..) => {
                let shut = match event {
                    Event::NoProvider { shut, .. } => shut.clone(),
                    _ => Vec::new(),
                };
                Some(Step::Waiting { until: *until, shut })
            }
            (Phase::Checking { .. }, ..) => Some(Step::ChecksBegun { attempt }),
            (Phase::AskingHelper { inquiry, .. }, ..) => Some(Step::HelperAsked { attempt, about: *inquiry }),
            _ => None,
        }
    }
}

fn first(errors: &[String]) -> Vec<String> {
    errors.iter().take(MAX_ERRORS).cloned().collect()
}

/// What has become of somebody's part in an attempt.
fn turn_since(before: &Run, attempt: u32, known: &Turn, turn: &Turn) -> Option<Step> {
    let provider = turn.provider.clone();
    if turn.submitted.is_some() && known.submitted.is_none() {
        let context = before.outbox.iter().find_map(|action| match action {
            Action::Deliver { context, .. } => context.as_ref().map(|context| context.kind),
            _ => None,
        });
        return Some(Step::Prompted { attempt, provider, context, proof: turn.proof.clone() });
    }
    let stopped = turn.ended.is_some() && turn.ended != known.ended;
    stopped.then(|| Step::AgentStopped { attempt, provider, reason: turn.reason.clone() })
}
