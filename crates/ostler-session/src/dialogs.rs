//! Dialogs that the user's policy answers.

use ostler_agents::{Answer, RuleSpec};
use ostler_core::detector::{Event, Finding};
use ostler_core::dialog::{
    Action, Circumstances, Consent, Dialog, DialogView, Doubt, Policy, Press, RuleAnswer, Witness, consent,
};
use ostler_core::{State, Steady};
use regex::Regex;
use serde_json::{Value, json};

use crate::Safeguard;
use crate::answering::ByHand;
use crate::change::Change;
use crate::effect::{Effect, Log};
use crate::event::{AnswerCommand, Grants};
use crate::keys;
use crate::note::Note;
use crate::session::Session;

/// What a session does about dialogs.
#[derive(Debug, Default)]
pub(crate) struct Dialogs {
    answering: Option<Answering>,
    /// Output up to here was drawn before this daemon, while keys were typed that it knows nothing of.
    pub(crate) inherited: Option<u64>,
    /// What the user granted beforehand, as it was found at the last look.
    pub(crate) grants: Grants,
    /// Somebody's answer that waits for the screen to be drawn, until this moment.
    pub(crate) asked: Option<(AnswerCommand, Steady)>,
    /// A dialog that is being answered for somebody.
    pub(crate) by_hand: Option<ByHand>,
    /// How many answers somebody began, in the time of this daemon or an earlier one.
    pub(crate) answers: u64,
}

impl Dialogs {
    /// What is known when so many answers were begun before.
    pub(crate) fn recovered(answers: u64) -> Self {
        Self { answers, ..Self::default() }
    }
}

/// A dialog that is being answered, or was left to a person.
#[derive(Debug)]
struct Answering {
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
    fn of(answer: &Answer, policy: Policy) -> RuleAnswer<Self> {
        let (row, keys) = match policy {
            Policy::Allow => (&answer.accept, &answer.accept_keys),
            Policy::Deny => (&answer.decline, &answer.decline_keys),
            Policy::Ask => return RuleAnswer::Unwanted,
        };
        let rows = row.clone().zip(answer.selected.clone());
        let known = rows.is_some() || !keys.is_empty();
        if known { RuleAnswer::Wanted(Self { rows, keys: keys.clone() }) } else { RuleAnswer::Unwanted }
    }
}

impl Answering {
    fn begin(intent: Intent, inherited: bool, now: Steady) -> Self {
        let Intent::Answer { means, .. } = &intent else {
            return Self { intent, dialog: Dialog::left(), rows: None };
        };
        let regexes = |(wanted, selected): &(String, String)| {
            Some((Regex::new(wanted).ok()?, Regex::new(selected).ok()?))
        };
        let rows = means.rows.as_ref().and_then(regexes);
        // Keys are for dialogs without rows. The patterns were checked with the preset.
        let can = rows.is_some() == means.rows.is_some();
        let dialog = match can {
            true if inherited => Dialog::inherited(now),
            true => Dialog::new(now),
            false => Dialog::left(),
        };
        Self { intent, dialog, rows }
    }
}

impl Session {
    /// Finds out what the user granted beforehand, where a dialog may be answered by that.
    pub(crate) fn ask_for_grants(&mut self) {
        let granted = |finding: &Finding| {
            let spec = self.profile.agent.preset.rules.get(&*finding.rule);
            spec.and_then(|spec| spec.answer.as_ref()).is_some_and(|answer| answer.grants.is_some())
        };
        if self.watches() && self.own_dialogs().any(granted) {
            self.push(Effect::CheckGrants);
        }
    }

    /// What the agent's own rules see of dialogs.
    fn own_dialogs(&self) -> impl Iterator<Item = &Finding> {
        let detector = self.observer.detector();
        let blocked = detector.verdict().state == State::Blocked;
        let own = move |finding: &&Finding| blocked && finding.state == State::Blocked && !finding.general;
        detector.reading().findings.iter().filter(own)
    }

    /// Answers the dialog on the screen, if the user's policy says how.
    pub(crate) fn look_at_dialog(&mut self) {
        // What was drawn since the last look may be another dialog: the next look is due at once.
        self.take_up_answer();
        if !self.observer.is_current() || self.look_by_hand() {
            return;
        }
        let found = self.intent();
        let inherited = self.dialogs.inherited.is_some_and(|drawn| self.terminal.drawn <= drawn)
            && self.guards(Safeguard::KeysAreAnswers);
        let now = self.now.steady;
        match (&mut self.dialogs.answering, &found) {
            (Some(answering), Some(intent)) if answering.intent == *intent => {}
            (None, None) => return,
            (answering, _) => {
                // Another dialog, or none: the last one is gone.
                let before = answering.take();
                let gone =
                    before.map(|mut before| (before.dialog.look(DialogView::Gone, 0, now), before.intent));
                self.dialogs.answering = found.map(|intent| Answering::begin(intent, inherited, now));
                if let Some((Some(Action::Answered), intent)) = gone {
                    self.record_dialog("dialog.answered", json!({ "rule": intent.rule() }));
                }
                match self.dialogs.answering.as_ref().map(|answering| &answering.intent) {
                    Some(Intent::Answer { rule, policy, .. }) => {
                        let details = json!({ "rule": rule, "policy": policy });
                        self.record_dialog("dialog.answering", details);
                    }
                    Some(Intent::Leave { rule, doubt }) => {
                        let details = json!({ "rule": rule, "reason": doubt.reason() });
                        self.record_dialog("dialog.left", details);
                    }
                    None => {}
                }
            }
        }
        let Some(mut answering) = self.dialogs.answering.take() else { return };
        let sight = self.dialog_sight(&answering);
        let action = answering.dialog.look(sight, self.drawn(Safeguard::KeysAreAnswers), now);
        self.act_on_dialog(answering, action);
    }

    /// The holder told how much of what was typed the program has not read.
    pub(crate) fn inspected_for_dialog(&mut self, unread: u32, drawn: u64) {
        if self.inspected_by_hand(unread, drawn) {
            return;
        }
        let Some(mut answering) = self.dialogs.answering.take() else { return };
        if !self.observer.is_current() {
            answering.dialog.ask_again();
            self.dialogs.answering = Some(answering);
            return;
        }
        let sight = self.dialog_sight(&answering);
        let unread = if self.guards(Safeguard::KeysAreAnswers) { unread } else { 0 };
        let action = answering.dialog.inspected(unread, drawn, sight, self.now.steady);
        self.act_on_dialog(answering, action);
    }

    fn act_on_dialog(&mut self, answering: Answering, action: Option<Action>) {
        let press = match action {
            Some(Action::Press(press)) => Some(press),
            Some(Action::Inspect) => {
                self.inspect();
                None
            }
            Some(Action::Leave(reason)) => {
                let details = json!({ "rule": answering.intent.rule(), "reason": reason.as_str() });
                self.record_dialog("dialog.left", details);
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
        self.dialogs.answering = Some(answering);
        if let Some(names) = names {
            let bytes = keys::bytes(&names, &self.terminal.screen.modes());
            let enter = bytes.contains(&b'\r');
            if let Ok(actions) = self.typing.keys(&bytes) {
                self.note(Note::Typing(actions));
                self.note(Note::Detect(Event::Typed { enter }));
            }
        }
    }

    /// The program has ended: so has its dialog, perhaps by the answer.
    pub(crate) fn end_dialog(&mut self) {
        self.take_up_answer();
        self.look_by_hand();
        let Some(mut answering) = self.dialogs.answering.take() else { return };
        if answering.dialog.look(DialogView::Gone, 0, self.now.steady) == Some(Action::Answered)
            && let Intent::Answer { rule, policy, .. } = &answering.intent
        {
            let details = json!({ "rule": rule, "policy": policy, "ended": true });
            self.record_dialog("dialog.answered", details);
        }
    }

    /// Whether a dialog is being answered that was not left to a person.
    pub fn is_answering(&self) -> bool {
        self.dialogs.answering.as_ref().is_some_and(|answering| !answering.dialog.is_over())
    }

    /// When the dialog is to be looked at again, if nothing new is drawn; the look at that comes by itself.
    pub(crate) fn answering_until(&self) -> Option<Steady> {
        let answering = self.dialogs.answering.as_ref().filter(|_| self.observer.is_current());
        answering.and_then(|answering| answering.dialog.deadline())
    }

    /// What the policy wants done about the dialog on the screen, and whether that may be.
    fn intent(&self) -> Option<Intent> {
        if !self.watches() {
            return None;
        }
        let detector = self.observer.detector();
        let witnesses: Vec<_> = self.own_dialogs().filter_map(|finding| self.witness(finding)).collect();
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
        let spec: &RuleSpec = self.profile.agent.preset.rules.get(&*finding.rule)?;
        let (rule, kind) = (&*finding.rule, finding.kind.as_deref());
        let policy = self.profile.policy.of(rule, kind);
        let Some(answer) = &spec.answer else {
            return Some(Witness { rule, kind, policy, answer: RuleAnswer::None, startup: false });
        };
        let Grants { folder, unattended } = self.dialogs.grants;
        let granted = match answer.grants.as_deref() {
            Some("folder") => folder,
            Some("unattended") => unattended,
            _ => false,
        };
        let policy = if policy == Policy::Ask && granted { Policy::Allow } else { policy };
        let (startup, answer) = (answer.is_for_startup(kind), Means::of(answer, policy));
        Some(Witness { rule, kind, policy, answer, startup })
    }

    /// What the screen shows of the dialog, from where the rule saw it begin: above it stands what the agent wrote.
    fn dialog_sight(&self, answering: &Answering) -> DialogView {
        let Some((wanted, selected)) = &answering.rows else { return DialogView::Plain };
        let screen = &self.terminal.screen;
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
        DialogView::Rows { wanted: rows.0, selected: rows.1 }
    }

    pub(crate) fn record_dialog(&mut self, event: &'static str, details: Value) {
        self.push(Effect::Log(Log::Dialog { event, details: details.clone() }));
        self.record_note(Change::Event { event, details });
    }
}
