//! The part of a run that asks a helper. What a helper says decides nothing: what its commands find does.

use std::time::Duration;

use super::record::{Attempt, Changes, HelperRecord};
use super::{Action, AttemptNotes, Context, GiveUp, Inquiry, Outcome, Phase, Run};
use crate::Wall;
use crate::pre_context::{self, Failed, Helper, Kind};

impl Run {
    /// The agent is finished, and its checks pass if it has any: what is left are criteria in words.
    pub(super) fn accomplished(&mut self, now: Wall) -> Vec<Action> {
        if !self.policy.has_criteria {
            return self.finished(now);
        }
        let reason = match self.used_up(now) {
            Some(GiveUp::Time) => "the time of the run is up",
            Some(_) => "the tokens of the run are spent",
            None if !self.policy.helper => "no helper may be asked",
            None => return self.inquire(Inquiry::Criteria, now),
        };
        self.criteria = Some(HelperRecord::Failed { reason: reason.into() });
        self.finished(now)
    }

    /// Asks a helper for commands.
    pub(super) fn inquire(&mut self, inquiry: Inquiry, now: Wall) -> Vec<Action> {
        let files: Vec<Vec<String>> = self.attempts.iter().map(touched).collect();
        let attempts: Vec<Failed<'_>> = self
            .attempts
            .iter()
            .zip(&files)
            .map(|(attempt, files)| Failed {
                number: self.earlier.count.saturating_add(attempt.number),
                files,
                error: attempt.first_error().unwrap_or_default(),
            })
            .collect();
        let helper = Helper { attempts: &attempts, unverified: inquiry == Inquiry::Criteria };
        let text = pre_context::helper(&helper, &self.policy.pre_context);
        let context = (!text.is_empty()).then_some(Context { kind: Kind::Helper, text });
        let last = self.attempts.last();
        let attempt = AttemptNotes {
            failures: last.map_or_else(Vec::new, |attempt| attempt.errors.clone()),
            response: last.and_then(|attempt| attempt.turns.last()?.words.clone()),
            files: files.last().cloned().unwrap_or_default(),
        };
        let act = self.next_act();
        let due = now.plus(Duration::from_secs(self.policy.helper_secs));
        let ask = Action::AskHelper { act, context, prompt: self.prompt.clone(), attempt };
        self.go(Phase::AskingHelper { due, inquiry }, vec![ask])
    }

    /// The helper answered, or could not.
    pub(super) fn helped(&mut self, record: HelperRecord, now: Wall) -> Vec<Action> {
        match self.phase {
            Phase::AskingHelper { inquiry: Inquiry::Failures, .. } => self.advised(record, now),
            // It has attempts left: else nobody would have been asked.
            Phase::AskingHelper { inquiry: Inquiry::Failure, .. } => {
                self.helper = Some(record);
                self.retry(now)
            }
            Phase::AskingHelper { inquiry: Inquiry::Criteria, .. } => {
                let findings = record.findings().to_vec();
                self.criteria = Some(record);
                if findings.is_empty() { self.finished(now) } else { self.failed(findings, now) }
            }
            _ => Vec::new(),
        }
    }

    /// What a helper found of attempts that fail in the same way is told to one more.
    fn advised(&mut self, record: HelperRecord, now: Wall) -> Vec<Action> {
        let answered = matches!(record, HelperRecord::Answered(_));
        self.helper = Some(record);
        if answered && self.number() >= self.attempts_allowed() {
            self.earned = self.policy.helper_attempts;
        }
        if answered && self.number() < self.attempts_allowed() {
            self.retry(now)
        } else {
            self.end(Outcome::GivenUp { why: GiveUp::Loop }, now)
        }
    }

    /// The run's time is up. Criteria that are being verified do not undo what the checks said.
    pub(super) fn too_late_to_go_on(&mut self, now: Wall) -> Vec<Action> {
        if matches!(self.phase, Phase::AskingHelper { inquiry: Inquiry::Criteria, .. }) {
            self.helped(HelperRecord::Failed { reason: "the time of the run is up".into() }, now)
        } else {
            self.break_off(GiveUp::Time, now)
        }
    }

    /// What a helper found, for the attempts behind it.
    pub(super) fn findings(&self) -> &[String] {
        self.helper.as_ref().map_or(&[], HelperRecord::findings)
    }
}

/// The files that an attempt created or modified.
fn touched(attempt: &Attempt) -> Vec<String> {
    let Changes { mut created, modified, .. } = attempt.changes();
    created.extend(modified);
    created
}
