//! Dialogs that the user's policy answers.

use ostler_agents::{Answer, RuleSpec};
use ostler_core::detector::{Event, Finding};
use ostler_core::dialog::{Action, Dialog, Policy, Press, Sight};
use ostler_core::{State, Timestamp};
use ostler_store::NewEvent;
use regex::Regex;
use serde_json::json;

use super::Actor;
use crate::session::keys;
use crate::{clock, policy, preparation};

/// A dialog that is being answered, or was left to a person.
#[derive(Debug)]
pub(super) struct Answering {
    rule: String,
    policy: Policy,
    dialog: Dialog,
    /// What the row looks like that is to be chosen, and what marks the selected one.
    rows: Option<(Regex, Regex)>,
    /// The keys that answer it where there are no rows.
    keys: Vec<String>,
}

impl Actor {
    /// Answers the dialog on the screen, if the user's policy says how.
    pub(super) async fn answer_dialog(&mut self) {
        let found = self.dialog_rule();
        let now = clock::steady();
        match (&mut self.answering, &found) {
            (Some(answering), Some((rule, ..))) if answering.rule == *rule => {}
            (None, None) => return,
            (answering, _) => {
                // Another dialog, or none: the last one is gone.
                let before = answering.take();
                let gone = before.map(|mut before| (before.dialog.look(Sight::Gone, now), before.rule));
                self.answering = found.and_then(|(rule, policy, answer)| begin(rule, policy, &answer, now));
                if let Some((Some(Action::Answered), rule)) = gone {
                    self.tell_dialog("dialog.answered", json!({ "rule": rule })).await;
                }
                if let Some(Answering { rule, policy, .. }) = &self.answering {
                    let details = json!({ "rule": rule, "policy": policy });
                    self.tell_dialog("dialog.answering", details).await;
                }
            }
        }
        let Some(mut answering) = self.answering.take() else { return };
        let sight = self.dialog_sight(&answering);
        let action = answering.dialog.look(sight, now);
        let press = match action {
            Some(Action::Press(press)) => Some(press),
            Some(Action::Leave(reason)) => {
                let details = json!({ "rule": answering.rule, "reason": reason.as_str() });
                self.tell_dialog("dialog.left", details).await;
                None
            }
            Some(Action::Answered) | None => None,
        };
        let names = press.map(|press| match press {
            Press::Up => vec!["up".to_owned()],
            Press::Down => vec!["down".to_owned()],
            Press::Enter => vec!["enter".to_owned()],
            Press::Answer => answering.keys.clone(),
        });
        self.answering = Some(answering);
        if let Some(names) = names {
            let bytes = keys::bytes(&names, &self.output.screen.modes());
            let enter = bytes.contains(&b'\r');
            if let Ok(actions) = self.typing.keys(&bytes) {
                self.perform_typing(actions).await;
                Box::pin(self.learn(Event::Typed { enter })).await;
            }
        }
    }

    /// Whether a dialog is being answered that was not left to a person.
    pub(super) fn is_answering(&self) -> bool {
        self.answering.as_ref().is_some_and(|answering| !answering.dialog.is_over())
    }

    /// When the dialog is to be looked at again.
    pub(super) fn answering_until(&self) -> Option<Timestamp> {
        self.answering.as_ref().and_then(|answering| answering.dialog.deadline())
    }

    /// The rule that knows the dialog on the screen, what the policy says of it, and how it is answered.
    fn dialog_rule(&self) -> Option<(String, Policy, Answer)> {
        let detector = self.observer.detector();
        if detector.verdict().state != State::Blocked || !self.watches() {
            return None;
        }
        let own = |finding: &&Finding| finding.state == State::Blocked && !finding.general;
        let finding = detector.reading().findings.iter().find(own)?;
        let spec: &RuleSpec = self.known.agent.preset.rules.get(&*finding.rule)?;
        let answer = spec.answer.clone()?;
        let mut policy = self.known.policy.of(&finding.rule, finding.kind.as_deref());
        // What the user said beforehand.
        let said = match answer.grants.as_deref() {
            Some("folder") => policy::is_trusted(&self.shared.home, self.record.start.cwd.as_ref()),
            Some("unattended") => preparation::is_unattended(self.record.start.dir.as_ref()),
            _ => false,
        };
        if policy == Policy::Ask && said {
            policy = Policy::Allow;
        }
        (policy != Policy::Ask).then(|| (finding.rule.to_string(), policy, answer))
    }

    fn dialog_sight(&self, answering: &Answering) -> Sight {
        let Some((wanted, selected)) = &answering.rows else { return Sight::Plain };
        let screen = &self.output.screen;
        let mut text = String::new();
        let mut rows = (None, None);
        for row in 0..screen.size().rows {
            screen.read_row(row, &mut text);
            if selected.is_match(&text) {
                rows.1 = Some(row);
            }
            if wanted.is_match(&text) {
                rows.0 = Some(row);
            }
        }
        Sight::Rows { wanted: rows.0, selected: rows.1 }
    }

    async fn tell_dialog(&self, event: &'static str, details: serde_json::Value) {
        tracing::info!(session = %self.record.start.name, event, %details, "dialog");
        let event =
            NewEvent { at: clock::now(), session: Some(self.record.start.id.clone()), event, details };
        let recorded = self.shared.store.run(move |store| store.record(&event)).await;
        self.log_store(&recorded);
    }
}

/// Begins to answer, if the preset says how.
fn begin(rule: String, policy: Policy, answer: &Answer, now: Timestamp) -> Option<Answering> {
    let (row, keys) = match policy {
        Policy::Allow => (&answer.accept, &answer.accept_keys),
        Policy::Deny => (&answer.decline, &answer.decline_keys),
        Policy::Ask => return None,
    };
    let regex = |text: &Option<String>| text.as_deref().and_then(|text| Regex::new(text).ok());
    let rows = regex(row).zip(regex(&answer.selected));
    (rows.is_some() || !keys.is_empty()).then(|| Answering {
        rule,
        policy,
        dialog: Dialog::new(now),
        rows,
        keys: keys.clone(),
    })
}
