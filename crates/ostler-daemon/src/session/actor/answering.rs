//! Dialogs that the user's policy answers.

use ostler_agents::{Answer, RuleSpec};
use ostler_core::detector::{Event, Finding};
use ostler_core::dialog::{
    Action, Circumstances, Consent, Dialog, Doubt, Known, Policy, Press, Sight, Witness, consent,
};
use ostler_core::{State, Timestamp};
use ostler_hold::wire::Request;
use ostler_store::NewEvent;
use regex::Regex;
use serde_json::json;

use super::Actor;
use crate::session::keys;
use crate::{clock, policy, preparation};

/// A dialog that is being answered, or was left to a person.
#[derive(Debug)]
pub(super) struct Answering {
    intent: Intent,
    dialog: Dialog,
    /// What the row looks like that is to be chosen, and what marks the selected one.
    rows: Option<(Regex, Regex)>,
}

/// What is to be done about a dialog that the policy wants answered.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Intent {
    Answer { rule: String, policy: Policy, means: Means },
    Leave { rule: String, doubt: Doubt },
}

impl Intent {
    fn rule(&self) -> &str {
        match self {
            Self::Answer { rule, .. } | Self::Leave { rule, .. } => rule,
        }
    }
}

/// How a dialog is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Means {
    /// The row to choose, and what marks the selected one.
    rows: Option<(String, String)>,
    /// The keys where there are no rows.
    keys: Vec<String>,
}

impl Means {
    /// What the preset knows of doing what the policy wants.
    fn of(answer: &Answer, policy: Policy) -> Known<Self> {
        let (row, keys) = match policy {
            Policy::Allow => (&answer.accept, &answer.accept_keys),
            Policy::Deny => (&answer.decline, &answer.decline_keys),
            Policy::Ask => return Known::Otherwise,
        };
        let rows = row.clone().zip(answer.selected.clone());
        let known = rows.is_some() || !keys.is_empty();
        if known { Known::Way(Self { rows, keys: keys.clone() }) } else { Known::Otherwise }
    }
}

impl Actor {
    /// Answers the dialog on the screen, if the user's policy says how.
    pub(super) async fn answer_dialog(&mut self) {
        // What was drawn since the last look may be another dialog: the next look is due at once.
        if !self.observer.is_current() {
            return;
        }
        let found = self.intent();
        let now = clock::steady();
        match (&mut self.answering, &found) {
            (Some(answering), Some(intent)) if answering.intent == *intent => {}
            (None, None) => return,
            (answering, _) => {
                // Another dialog, or none: the last one is gone.
                let before = answering.take();
                let gone = before.map(|mut before| (before.dialog.look(Sight::Gone, now), before.intent));
                self.answering = found.map(|intent| Answering::begin(intent, now));
                if let Some((Some(Action::Answered), intent)) = gone {
                    self.tell_dialog("dialog.answered", json!({ "rule": intent.rule() })).await;
                }
                match self.answering.as_ref().map(|answering| &answering.intent) {
                    Some(Intent::Answer { rule, policy, .. }) => {
                        let details = json!({ "rule": rule, "policy": policy });
                        self.tell_dialog("dialog.answering", details).await;
                    }
                    Some(Intent::Leave { rule, doubt }) => {
                        let details = json!({ "rule": rule, "reason": doubt.reason() });
                        self.tell_dialog("dialog.left", details).await;
                    }
                    None => {}
                }
            }
        }
        let Some(mut answering) = self.answering.take() else { return };
        let sight = self.dialog_sight(&answering);
        let action = answering.dialog.look(sight, now);
        self.act_on_dialog(answering, action).await;
    }

    /// The holder told how much of what was typed the program has not read.
    pub(super) async fn inspected_for_dialog(&mut self, unread: u32) {
        let Some(mut answering) = self.answering.take() else { return };
        if !self.observer.is_current() {
            answering.dialog.ask_again();
            self.answering = Some(answering);
            return;
        }
        let sight = self.dialog_sight(&answering);
        let action = answering.dialog.inspected(unread, sight, clock::steady());
        self.act_on_dialog(answering, action).await;
    }

    async fn act_on_dialog(&mut self, answering: Answering, action: Option<Action>) {
        let press = match action {
            Some(Action::Press(press)) => Some(press),
            Some(Action::Inspect) => {
                self.request(&Request::Query);
                None
            }
            Some(Action::Leave(reason)) => {
                let details = json!({ "rule": answering.intent.rule(), "reason": reason.as_str() });
                self.tell_dialog("dialog.left", details).await;
                None
            }
            Some(Action::Answered) | None => None,
        };
        let names = press.map(|press| match (press, &answering.intent) {
            (Press::Up, _) => vec!["up".to_owned()],
            (Press::Down, _) => vec!["down".to_owned()],
            (Press::Enter, _) => vec!["enter".to_owned()],
            (Press::Answer, Intent::Answer { means, .. }) => means.keys.clone(),
            (Press::Answer, Intent::Leave { .. }) => Vec::new(),
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

    /// The program has ended: so has its dialog, perhaps by the answer.
    pub(super) async fn end_dialog(&mut self) {
        let Some(mut answering) = self.answering.take() else { return };
        if answering.dialog.look(Sight::Gone, clock::steady()) == Some(Action::Answered)
            && let Intent::Answer { rule, policy, .. } = &answering.intent
        {
            let details = json!({ "rule": rule, "policy": policy, "ended": true });
            self.tell_dialog("dialog.answered", details).await;
        }
    }

    /// Whether a dialog is being answered that was not left to a person.
    pub(super) fn is_answering(&self) -> bool {
        self.answering.as_ref().is_some_and(|answering| !answering.dialog.is_over())
    }

    /// When the dialog is to be looked at again, if nothing new is drawn; the look at that comes by itself.
    pub(super) fn answering_until(&self) -> Option<Timestamp> {
        let answering = self.answering.as_ref().filter(|_| self.observer.is_current());
        answering.and_then(|answering| answering.dialog.deadline())
    }

    /// What the policy wants done about the dialog on the screen, and whether that may be.
    fn intent(&self) -> Option<Intent> {
        let detector = self.observer.detector();
        if detector.verdict().state != State::Blocked || !self.watches() {
            return None;
        }
        let own = |finding: &&Finding| finding.state == State::Blocked && !finding.general;
        let own = detector.reading().findings.iter().filter(own);
        let witnesses: Vec<_> = own.filter_map(|finding| self.witness(finding)).collect();
        let told = detector.told_to_wait_for();
        let circumstances = Circumstances { started: detector.has_started(), told: &told };
        match consent(&witnesses, circumstances) {
            Consent::Ask => None,
            Consent::Answer { rule, policy, answer } => {
                Some(Intent::Answer { rule: rule.to_owned(), policy, means: answer })
            }
            Consent::Refuse { rule, doubt } => Some(Intent::Leave { rule: rule.to_owned(), doubt }),
        }
    }

    /// What a rule that sees a dialog knows of it, and what the user says of such dialogs.
    fn witness<'a>(&self, finding: &'a Finding) -> Option<Witness<'a, Means>> {
        let spec: &RuleSpec = self.known.agent.preset.rules.get(&*finding.rule)?;
        let (rule, kind) = (&*finding.rule, finding.kind.as_deref());
        let policy = self.known.policy.of(rule, kind);
        let Some(answer) = &spec.answer else {
            return Some(Witness { rule, kind, policy, answer: Known::Nothing, startup: false });
        };
        // What the user said beforehand.
        let said = || match answer.grants.as_deref() {
            Some("folder") => policy::is_trusted(&self.shared.home, self.record.start.cwd.as_ref()),
            Some("unattended") => preparation::is_unattended(self.record.start.dir.as_ref()),
            _ => false,
        };
        let policy = if policy == Policy::Ask && said() { Policy::Allow } else { policy };
        let (startup, answer) = (answer.is_for_startup(kind), Means::of(answer, policy));
        Some(Witness { rule, kind, policy, answer, startup })
    }

    /// What the screen shows of the dialog, from where the rule saw it begin: above it stands what the agent wrote.
    fn dialog_sight(&self, answering: &Answering) -> Sight {
        let Some((wanted, selected)) = &answering.rows else { return Sight::Plain };
        let screen = &self.output.screen;
        let begin = self.observer.begins(answering.intent.rule()).unwrap_or(0);
        let mut text = String::new();
        let mut rows = (None, None);
        for row in begin..screen.size().rows {
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

impl Answering {
    fn begin(intent: Intent, now: Timestamp) -> Self {
        let Intent::Answer { means, .. } = &intent else {
            return Self { intent, dialog: Dialog::left(), rows: None };
        };
        let regexes = |(wanted, selected): &(String, String)| {
            Some((Regex::new(wanted).ok()?, Regex::new(selected).ok()?))
        };
        let rows = means.rows.as_ref().and_then(regexes);
        // Keys are for dialogs without rows. The patterns were checked with the preset.
        let can = rows.is_some() == means.rows.is_some();
        let dialog = if can { Dialog::new(now) } else { Dialog::left() };
        Self { intent, dialog, rows }
    }
}
