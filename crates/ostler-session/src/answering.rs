//! Dialogs that somebody answers by a command.
//!
//! The answer goes to the dialog that was shown, or nowhere: at every look it is read afresh, and as soon as it says
//! something else, no key is pressed any more. How a row is selected and entered is decided by the same machine that answers
//! for a policy (`ostler_core::dialog`).

use std::time::Duration;

use ostler_core::dialog::writing::{Deed, Sight, Writing};
use ostler_core::dialog::{Action, Dialog, DialogView, Press, Reason};
use ostler_core::{Steady, continuation, detector};
use serde_json::json;

use crate::change::Change;
use crate::effect::{Answer, Effect};
use crate::event::{AnswerCommand, Ticket};
use crate::keys;
use crate::note::{Note, Then};
use crate::pending_dialog::PendingDialog;
use crate::refusal::Refusal;
use crate::resolving::{Goal, resolve};
use crate::session::Session;

/// A screen that says something else for so long shows something else, and is not only being drawn.
const DRAWN: Duration = Duration::from_millis(400);
/// A command waits so long for a screen that is being drawn.
const PATIENCE: Duration = Duration::from_secs(2);
/// So many of the last characters of what was written are looked for.
const TAIL: usize = 40;

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The dialog.
    pub id: String,
    /// What was chosen, or written.
    pub choice: String,
    /// Why it is not known to be answered.
    pub left: Option<&'static str>,
    /// An answer was pressed.
    pub pressed: bool,
    /// The dialog that is open now.
    pub next: Option<Box<PendingDialog>>,
}

/// A dialog that is being answered for somebody.
#[derive(Debug)]
pub(crate) struct ByHand {
    ticket: Ticket,
    id: String,
    rule: Option<String>,
    print: u64,
    goal: Goal,
    /// What was chosen, for people.
    choice: String,
    /// The choice that has to be selected, by its place in the list.
    row: Option<usize>,
    /// The choice in which one writes.
    text_row: Option<usize>,
    dialog: Dialog,
    writing: Option<Writing>,
    /// How often the words stood on the screen before they were typed.
    stood: usize,
    /// Since when the screen says something else.
    changed: Option<Steady>,
    /// It stood there before this daemon, and has not followed a key yet: the choice that was selected first.
    unproven: Option<usize>,
    /// The choices stand beside one another.
    across: bool,
}

impl Session {
    /// Somebody answers a dialog.
    pub(crate) fn on_answer(&mut self, command: AnswerCommand) {
        let until = self.now.steady.plus(PATIENCE);
        if self.dialogs.asked.is_some() || self.dialogs.by_hand.is_some() || self.is_answering() {
            return self.refuse(vec![command.ticket], &Refusal::BeingAnswered);
        }
        if !self.life.abilities.keys {
            return self.refuse(vec![command.ticket], &Refusal::NoKeys);
        }
        self.dialogs.asked = Some((command, until));
        self.take_up_answer();
    }

    /// Looks which dialog is meant, when all that was drawn is looked at.
    pub(crate) fn take_up_answer(&mut self) {
        let Some((_, until)) = &self.dialogs.asked else { return };
        let overdue = self.now.steady >= *until || !self.is_attached();
        if !self.observer.is_current() && !overdue {
            return;
        }
        let pending = self.pending_dialog();
        let Some((command, _)) = self.dialogs.asked.take() else { return };
        let ticket = command.ticket;
        let Some(pending) = pending else {
            let refusal = if self.life.is_ended() { Refusal::Ended } else { Refusal::NoDialog };
            return self.refuse(vec![ticket], &refusal);
        };
        if pending.id != command.dialog {
            return self.refuse(vec![ticket], &Refusal::AnotherDialog { id: pending.id });
        }
        let known = self.known_of(pending.rule.as_deref());
        match resolve(&pending, &known, &command) {
            Err(refusal) => self.refuse(vec![ticket], &refusal),
            Ok((goal, choice, row)) => {
                if command.word.eq_ignore_ascii_case("no") && !command.own_words {
                    // What comes instead is for whoever refuses it to say.
                    self.note(Note::CarryOn(continuation::Event::TakenOver));
                }
                let by_hand = self.begun(pending, goal, choice, row, ticket);
                // Another daemon is to know that it may have been answered.
                self.dialogs.answers += 1;
                let changes = self.remembered().map(|memory| Change::Remembered { memory });
                let otherwise = Some(Then::NotAnswered(ticket));
                self.intend(changes.into_iter().collect(), Then::AnswerByHand(Box::new(by_hand)), otherwise);
            }
        }
    }

    fn begun(
        &self,
        pending: PendingDialog,
        goal: Goal,
        choice: String,
        row: Option<usize>,
        ticket: Ticket,
    ) -> ByHand {
        let PendingDialog { id, rule, print, text, text_row, .. } = pending;
        let now = self.now.steady;
        let inherited = self.dialogs.inherited.is_some_and(|drawn| self.terminal.drawn <= drawn);
        let dialog =
            if inherited && row.is_none() { Dialog::inherited(now) } else { Dialog::new(now) }.once();
        let unproven = text.selected.filter(|_| inherited);
        ByHand {
            ticket,
            id,
            rule,
            print,
            goal,
            choice,
            row,
            text_row,
            dialog,
            writing: None,
            stood: 0,
            changed: None,
            unproven,
            across: text.across,
        }
    }

    /// It could not be recorded that the answer begins: it does not.
    pub(crate) fn on_not_answered(&mut self, ticket: Ticket) {
        self.dialogs.answers -= 1;
        self.refuse(vec![ticket], &Refusal::NotRecorded);
    }

    /// It is recorded that the answer begins.
    pub(crate) fn answer_by_hand(&mut self, by_hand: ByHand) {
        let details = json!({ "rule": by_hand.rule, "by": "command", "choice": by_hand.choice });
        self.dialogs.by_hand = Some(by_hand);
        self.record_dialog("dialog.answering", details);
        self.look_by_hand();
    }

    /// Looks at the dialog that is being answered for somebody; `true` if there is one.
    pub(crate) fn look_by_hand(&mut self) -> bool {
        let Some(mut by_hand) = self.dialogs.by_hand.take() else { return false };
        let now = self.now.steady;
        match self.sight_by_hand(&mut by_hand) {
            None => self.dialogs.by_hand = Some(by_hand),
            Some(view) => {
                if let Some(mut writing) = by_hand.writing.take() {
                    let deed = writing.look(self.sight_of_words(&by_hand, view), now);
                    by_hand.writing = Some(writing);
                    self.write_by_hand(by_hand, deed);
                } else {
                    let action = by_hand.dialog.look(view, self.terminal.drawn, now);
                    self.act_by_hand(by_hand, action);
                }
            }
        }
        true
    }

    /// The holder told how much of what was typed the program has not read; `true` if somebody waited for that.
    pub(crate) fn inspected_by_hand(&mut self, unread: u32, drawn: u64) -> bool {
        let Some(mut by_hand) = self.dialogs.by_hand.take() else { return false };
        let now = self.now.steady;
        let view = self.observer.is_current().then(|| self.sight_by_hand(&mut by_hand)).flatten();
        let Some(view) = view else {
            by_hand.dialog.ask_again();
            by_hand.writing.iter_mut().for_each(Writing::ask_again);
            self.dialogs.by_hand = Some(by_hand);
            return true;
        };
        if let Some(mut writing) = by_hand.writing.take() {
            let deed = writing.inspected(unread, self.sight_of_words(&by_hand, view), now);
            by_hand.writing = Some(writing);
            self.write_by_hand(by_hand, deed);
        } else {
            let action = by_hand.dialog.inspected(unread, drawn, view, now);
            self.act_by_hand(by_hand, action);
        }
        true
    }

    /// What is seen of the dialog: nothing while it cannot be told whether it is still that one.
    fn sight_by_hand(&self, by_hand: &mut ByHand) -> Option<DialogView> {
        if !self.is_attached() {
            return Some(DialogView::Gone);
        }
        let written = by_hand.writing.as_ref().and(by_hand.text_row);
        let pending = self.pending_with(written).filter(|pending| pending.print == by_hand.print);
        let Some(pending) = pending else {
            let since = *by_hand.changed.get_or_insert(self.now.steady);
            return (self.now.steady >= since.plus(DRAWN)).then_some(DialogView::Gone);
        };
        by_hand.changed = None;
        let Some(row) = by_hand.row else { return Some(DialogView::Plain) };
        let (options, selected) = (&pending.text.options, pending.text.selected);
        let place = |at: usize| options.get(at).map(|option| option.place);
        if by_hand.unproven.is_some_and(|first| selected.is_some_and(|selected| selected != first)) {
            by_hand.unproven = None;
        }
        // A key that an earlier daemon pressed may be with the program: it shows that it has done with that when the
        // selection follows ours.
        let wanted = match by_hand.unproven {
            Some(first) if first == row => {
                if row == 0 {
                    1
                } else {
                    row - 1
                }
            }
            _ => row,
        };
        Some(DialogView::Rows { wanted: place(wanted), selected: selected.and_then(place) })
    }

    fn sight_of_words(&self, by_hand: &ByHand, view: DialogView) -> Sight {
        match (&by_hand.goal, view) {
            (_, DialogView::Gone) => Sight::Gone,
            (Goal::Write { text, .. }, _) if self.words_on_screen(text) > by_hand.stood => Sight::Written,
            _ => Sight::Unwritten,
        }
    }

    /// How often words stand on the screen, however lines are broken.
    fn words_on_screen(&self, text: &str) -> usize {
        let squeezed = |text: &str| -> String {
            let is_drawn = |c: char| c.is_whitespace() || ('\u{2500}'..='\u{259f}').contains(&c) || c == '█';
            text.chars().filter(|c| !is_drawn(*c)).collect()
        };
        let wanted = squeezed(text);
        let skip = wanted.chars().count().saturating_sub(TAIL);
        let tail: String = wanted.chars().skip(skip).collect();
        if tail.is_empty() { 0 } else { squeezed(&self.terminal.screen.text()).matches(&*tail).count() }
    }

    fn act_by_hand(&mut self, mut by_hand: ByHand, action: Option<Action>) {
        let across = by_hand.across;
        match action {
            Some(Action::Press(Press::Up)) => self.press_named(&[if across { "left" } else { "up" }]),
            Some(Action::Press(Press::Down)) => self.press_named(&[if across { "right" } else { "down" }]),
            Some(Action::Press(Press::Enter | Press::Answer)) => match &by_hand.goal {
                Goal::Choose(_) => self.press_named(&["enter"]),
                Goal::Press(keys) => self.press_keys(&keys.clone()),
                Goal::Write { keys, .. } => {
                    let keys = keys.clone();
                    by_hand.writing = Some(Writing::new(self.now.steady));
                    if !keys.is_empty() {
                        self.press_keys(&keys);
                    }
                    self.dialogs.by_hand = Some(by_hand);
                    self.look_by_hand();
                    return;
                }
            },
            Some(Action::Inspect) => self.inspect(),
            Some(Action::Answered) if by_hand.dialog.is_answered() => return self.end_by_hand(by_hand, None),
            Some(Action::Answered) => return self.end_by_hand(by_hand, Some(Reason::WentAway)),
            Some(Action::Leave(reason)) => return self.end_by_hand(by_hand, Some(reason)),
            None if by_hand.dialog.is_over() => return self.end_by_hand(by_hand, Some(Reason::WentAway)),
            None => {}
        }
        self.dialogs.by_hand = Some(by_hand);
    }

    fn write_by_hand(&mut self, mut by_hand: ByHand, deed: Option<Deed>) {
        match deed {
            Some(Deed::Type) => {
                if let Goal::Write { text, .. } = &by_hand.goal {
                    by_hand.stood = self.words_on_screen(text);
                    let text = text.clone();
                    self.type_keys(text.as_bytes());
                }
            }
            Some(Deed::Inspect) => self.inspect(),
            Some(Deed::Enter) => self.press_named(&["enter"]),
            Some(Deed::Answered) => return self.end_by_hand(by_hand, None),
            Some(Deed::Leave(reason)) => return self.end_by_hand(by_hand, Some(reason)),
            None => {}
        }
        self.dialogs.by_hand = Some(by_hand);
    }

    fn press_named(&mut self, names: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.press_keys(&names);
    }

    fn press_keys(&mut self, names: &[String]) {
        let bytes = keys::bytes(names, &self.terminal.screen.modes());
        self.type_keys(&bytes);
    }

    fn type_keys(&mut self, bytes: &[u8]) {
        if let Ok(actions) = self.typing.keys(bytes) {
            self.note(Note::Typing(actions));
            self.note(Note::Detect(detector::Event::Typed { enter: bytes.contains(&b'\r') }));
        }
    }

    fn end_by_hand(&mut self, by_hand: ByHand, left: Option<Reason>) {
        let ByHand { ticket, id, rule, choice, dialog, writing, goal, .. } = by_hand;
        let pressed = match (&goal, &writing) {
            (Goal::Write { .. }, writing) => {
                // What opens the place to write is no answer, but words that were typed may be.
                writing.is_some()
                    && left.is_none_or(|reason| reason == Reason::Stays || reason == Reason::Unseen)
            }
            _ => dialog.is_answered(),
        };
        let left = left.map(Reason::as_str);
        match left {
            None => self.record_dialog("dialog.answered", json!({ "rule": rule, "choice": choice })),
            Some(reason) => self.record_dialog("dialog.left", json!({ "rule": rule, "reason": reason })),
        }
        if !pressed {
            // It is still that one, if it is still there.
            self.dialogs.answers -= 1;
        }
        let next = self.pending_dialog().filter(|next| next.id != id).map(Box::new);
        let answered = Answered { id, choice, left, pressed, next };
        self.push_behind(Effect::Answer(ticket, Answer::Answered(Box::new(answered))));
        // What the policy wants may be done now.
        self.note(Note::LookAtDialog);
    }

    /// When the dialog is to be looked at again, if nothing new is drawn.
    pub(crate) fn by_hand_until(&self) -> Option<Steady> {
        let asked = self.dialogs.asked.as_ref().map(|(_, until)| *until);
        let by_hand = self.dialogs.by_hand.as_ref().filter(|_| self.observer.is_current());
        let by_hand = by_hand.and_then(|by_hand| {
            let settled = by_hand.changed.map(|since| since.plus(DRAWN));
            let machine = match &by_hand.writing {
                Some(writing) => writing.deadline(),
                None => by_hand.dialog.deadline(),
            };
            settled.or(machine)
        });
        [asked, by_hand].into_iter().flatten().min()
    }
}
