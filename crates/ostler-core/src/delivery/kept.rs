//! What the agent has, while a turn with it has yet to begin.

use super::{Action, ComposerView, Delivery, Event, FailReason, ProofEvidence, Stage, View};
use crate::{Proof, State, Steady};

/// What is known of a message that the agent has and did not begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) by: Keeper,
}

/// Where the agent has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeper {
    /// Its session-start hook took it: it goes with whatever turn is next.
    Hook,
    /// In a queue of its own: it has a turn for itself, behind the one that runs.
    Agent {
        /// When that was seen.
        since: Steady,
        /// Since when the agent rests.
        rested: Option<Steady>,
    },
}

impl Kept {
    pub(super) fn by_hook() -> Self {
        Self { by: Keeper::Hook }
    }

    pub(super) fn by_agent(since: Steady) -> Self {
        Self { by: Keeper::Agent { since, rested: None } }
    }
}

impl Delivery {
    /// A message that the agent's hook took while another daemon looked after it.
    #[must_use]
    pub fn held_by_hook(self) -> Self {
        Self { stage: Stage::Kept(Kept::by_hook()), proof: Proof::Seen, ..self }
    }

    /// A message that the agent had in its queue when another daemon looked after it.
    #[must_use]
    pub fn queued_by_agent(self, now: Steady) -> Self {
        Self { stage: Stage::Kept(Kept::by_agent(now)), ..self }
    }

    /// The agent has it: that is said also where its text was seen before.
    pub(super) fn keep(&mut self, kept: Kept, because: ProofEvidence) -> Vec<Action> {
        self.stage = Stage::Kept(kept);
        self.proof = Proof::Seen;
        vec![Action::Prove(Proof::Seen, because)]
    }

    pub(super) fn await_turn(&mut self, kept: Kept, event: Event, view: &View, now: Steady) -> Vec<Action> {
        match kept.by {
            // Whatever the turn is about, what the hook took goes with it.
            Keeper::Hook if event == Event::TurnBegan || view.at_work => {
                self.submitted(ProofEvidence::TurnBegan)
            }
            Keeper::Hook => Vec::new(),
            Keeper::Agent { since, rested } => self.await_own_turn(since, rested, view, now),
        }
    }

    /// An agent that tells which prompts it takes says when its turn begins. What another one did with its queue shows
    /// when it rests: before, the queue and what was said look the same.
    fn await_own_turn(
        &mut self,
        since: Steady,
        rested: Option<Steady>,
        view: &View,
        now: Steady,
    ) -> Vec<Action> {
        if !view.current {
            return Vec::new();
        }
        let rests = matches!(view.situation.state, State::Idle | State::Watching | State::Error);
        let rested = rests.then(|| rested.unwrap_or(now));
        self.stage = Stage::Kept(Kept { by: Keeper::Agent { since, rested } });
        let Some(rested) = rested else { return Vec::new() };
        let due = rested.plus(self.policy.rest);
        if now < due {
            return self.come_back(due);
        }
        match view.sight {
            // A turn that was stopped has put it back, or it was never begun with.
            ComposerView::Ours if view.echoed => self.submitted(ProofEvidence::PutBack),
            ComposerView::Ours => {
                self.stage = Stage::Looking { since: now };
                self.look(now, Event::Looked, view, now)
            }
            // Its queue is empty when it rests.
            _ if view.echoed => self.submitted(ProofEvidence::Echoed),
            _ => {
                let due = rested.plus(self.policy.look);
                if now < due { self.come_back(due) } else { self.fail(FailReason::Uncertain) }
            }
        }
    }
}
