//! Signs that a turn began after a given moment.

use super::{Claim, Detector, TurnRecord};
use crate::{State, Steady};

impl Detector {
    /// What shows that the agent went to work after this moment, if anything does.
    ///
    /// That Enter was typed is no sign: it is what one wants to know the effect of.
    pub fn went_to_work_since(&self, moment: Steady, now: Steady) -> Option<&'static str> {
        let began = |record: &TurnRecord| record.open.is_some_and(|open| open.at >= moment);
        let shown = self.reading.find(State::Working).is_some_and(|finding| !finding.general);
        let flickers = self.flickers(now).is_some();
        // A dialog alone is no sign: it may be one of the start, which the prompt has yet to come after.
        let ended = |claim: Claim| matches!(claim, Claim::Watching | Claim::Done | Claim::Error);
        let worked = self.told_of_work.is_some_and(|told| told >= moment);
        let claimed = self.claim.is_some_and(|claim| {
            claim.what != Claim::Idle && (worked || claim.at >= moment && ended(claim.what))
        });
        if !flickers && claimed {
            Some("program status")
        } else if began(&self.hooks) {
            Some("hook")
        } else if began(&self.transcript) {
            Some("transcript")
        } else if !flickers && shown && self.seen.working.is_some_and(|since| since >= moment) {
            Some("screen")
        } else {
            None
        }
    }

    /// Whether something shows the agent at work now; that Enter was typed does not.
    pub fn shows_work(&self) -> bool {
        let open = |record: &TurnRecord| record.open.is_some_and(|open| open.what);
        let shown = self.reading.find(State::Working).is_some_and(|finding| !finding.general);
        shown
            || self.claim.is_some_and(|claim| claim.what == Claim::Working)
            || open(&self.hooks)
            || open(&self.transcript)
    }
}
