//! Carrying on an agent that stops early: what the continuation hears, and what is done for it.

use std::time::Duration;

use ostler_agents::speech::rows_above;
use ostler_core::Steady;
use ostler_core::continuation::{Action, Continuation, Event, Examined, Standing};
use ostler_core::message::{MessageState, Terms};
use ostler_core::queue::Priority;
use ostler_core::stop_analysis::{Checked, LastWords};
use ostler_core::stop_watch::Findings;
use serde_json::json;

use crate::change::Change;
use crate::effect::{Effect, Request};
use crate::event::Send;
use crate::note::Note;
use crate::outbox::Open;
use crate::session::Session;

/// Who prompts an agent to go on.
pub const CARRIES_ON: &str = "carry-on";
/// Who gives an agent the prompts of a run.
pub const RUN: &str = "run";
/// How long an agent's last words are waited for.
const WORDS: Duration = Duration::from_secs(3);
/// And how long for more of them.
const MORE_WORDS: Duration = Duration::from_millis(300);
/// How long an agent that is paused may take to end by itself.
const GRACE_MS: u32 = 5_000;

/// What was found out about a stop, outside of the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examination {
    /// What was asked.
    pub question: u64,
    /// What the checks said, if there are any.
    pub checks: Option<Checked>,
    /// The first line of each complaint.
    pub failures: Vec<String>,
    /// Whether the work tree is another than when it was last looked at, if that can be told.
    pub changed: Option<bool>,
    /// A question of the agent to its owner is open.
    pub asked: Option<String>,
    /// The checks cannot be run at all.
    pub trouble: Option<String>,
}

/// A continuation in its session.
#[derive(Debug, Default)]
pub(crate) struct CarryingOn {
    pub(crate) machine: Continuation,
    /// Counts what was asked.
    question: u64,
    /// What was found out about a stop, while the agent's last words are still on their way, and until when that lasts.
    awaits_words: Option<(Examination, Steady)>,
}

impl CarryingOn {
    pub(crate) fn new(machine: Continuation) -> Self {
        Self { machine, question: 0, awaits_words: None }
    }
}

fn message_id(number: u32) -> String {
    format!("{CARRIES_ON}-{number}")
}

impl Session {
    /// Where the continuation stands; nothing if the agent is not carried on.
    pub fn carried_on(&self) -> Option<Standing> {
        self.carrying_on.machine.standing()
    }

    /// When the continuation wants to look again; what has ended is not carried on.
    pub(crate) fn carrying_on_until(&self) -> Option<Steady> {
        let words = self.carrying_on.awaits_words.as_ref().map(|(_, until)| *until);
        let due = self.carrying_on.machine.deadline().into_iter().chain(words).min();
        due.filter(|_| !self.life.is_ending())
    }

    /// The agent said something: these may be its last words, and more may follow in a moment.
    pub(crate) fn heard_words(&mut self) {
        if let Some((_, until)) = &mut self.carrying_on.awaits_words {
            *until = (*until).min(self.now.steady.plus(MORE_WORDS));
        }
    }

    /// The agent's last words have had their time.
    pub(crate) fn look_for_words(&mut self) {
        let due = |(_, until): &(Examination, Steady)| self.now.steady >= *until;
        if self.carrying_on.awaits_words.as_ref().is_some_and(due)
            && let Some((examination, _)) = self.carrying_on.awaits_words.take()
        {
            self.conclude(examination);
        }
    }

    /// What the user asks of the continuation.
    pub(crate) fn on_carry_on(&mut self, mut event: Event) {
        if let Event::Began(terms) = &mut event {
            let first = || self.conversation.summary.first_prompt().map(str::to_owned);
            terms.goal = terms.goal.take().or_else(first);
            self.push(Effect::Examine { question: 0, checks: Vec::new() });
        }
        self.note(Note::CarryOn(event));
    }

    /// Enter was typed behind a message, or the agent took it. What is heard late may be of a turn that is over.
    pub(crate) fn carry_on_prompted(&mut self, terms: &Terms, late: bool) {
        if terms.raw || terms.command || terms.priority == Priority::Startup {
            return;
        }
        let ours = terms.sender == CARRIES_ON;
        let over = late && self.stops.found().turn.is_some();
        if ours || !over {
            self.note(Note::CarryOn(Event::Prompted { ours }));
        }
    }

    /// A message was given up, or is not wanted any more: the agent may have nothing to do now.
    pub(crate) fn carry_on_gave_up(&mut self, terms: &Terms) {
        if terms.raw {
            return;
        }
        let event = match self.stops.found().turn {
            _ if terms.sender == CARRIES_ON => Event::NotDelivered,
            Some(turn) => Event::Stopped(turn),
            None => Event::Requested,
        };
        self.note(Note::CarryOn(event));
    }

    /// What was found of the agent's stops has changed.
    pub(crate) fn carry_on_found(&mut self, before: &Findings, found: &Findings) {
        let answered = before.dialog.is_some() && found.dialog.is_none();
        let went_on = before.turn.is_some_and(|turn| turn.stop.asks()) && found.turn.is_none();
        if (answered || went_on) && found.end.is_none() {
            self.note(Note::CarryOn(Event::Resumed));
        }
    }

    /// What was asked about a stop is known.
    pub(crate) fn on_examined(&mut self, examination: Examination) {
        if examination.question != 0 && examination.question == self.carrying_on.question {
            // Transcripts are written a moment later than screens. Where every check passes, words change nothing.
            let passed = examination.checks.is_some_and(|checks| checks.failed == 0);
            let known = passed || self.conversation.summary.last_words().is_some();
            let wait = if known { Duration::ZERO } else { WORDS };
            self.carrying_on.awaits_words = Some((examination, self.now.steady.plus(wait)));
            self.look_for_words();
        }
    }

    /// What an agent said last that tells nothing of it but on its screen.
    fn shown_words(&self) -> Option<String> {
        let book = &self.profile.book;
        let speech = book.speech().filter(|_| !self.conversation.tells_replies)?;
        speech.shown_reply(&rows_above(&self.terminal.screen, self.observer.composer()))
    }

    fn conclude(&mut self, examination: Examination) {
        let Examination { checks, failures, changed, asked, trouble, .. } = examination;
        let (awaited, wants_on) = self.take_wishes();
        let summary = &self.conversation.summary;
        let told = summary.last_words().map(str::to_owned);
        let said = told.or_else(|| self.shown_words());
        let words = said.as_deref().map_or(LastWords::Other, |said| summary.meaning_of(said));
        let open = summary.open();
        let prompt = |open: &Open| !open.message.terms.raw && open.message.terms.sender != CARRIES_ON;
        let queued = self.outbox.open.values().any(|open| prompt(open) && open.delivery.is_waiting());
        let examined = Examined {
            checks,
            failures,
            changed,
            words,
            said,
            open,
            queued,
            awaited,
            wants_on,
            asked,
            trouble,
        };
        self.note(Note::CarryOn(Event::Examined(examined)));
    }

    /// Tells the continuation something, records what it makes of it, and does what it says.
    pub(crate) fn carry_on(&mut self, event: Event) {
        let event = if event == Event::Tick && self.is_prompt_under_way() { Event::Restarted } else { event };
        let machine = &mut self.carrying_on.machine;
        let before = machine.clone();
        let _ = machine.handle(Event::Spent(self.conversation.usage.tokens()), self.now);
        let actions = machine.handle(event, self.now);
        if *machine == before {
            return;
        }
        self.outbox.held_back = machine.is_held();
        let mut recorded = false;
        for action in actions {
            let (event, details) = match &action {
                Action::Record(decision) => ("continuation.decided", json!(decision)),
                Action::Notify(why) => ("continuation.notified", json!({ "why": why })),
                Action::Prompt { number, .. } => {
                    ("continuation.prompted", json!({ "id": message_id(*number) }))
                }
                Action::Pause => ("continuation.paused", json!({})),
                Action::Examine(_) | Action::Withdraw { .. } => {
                    self.perform_carry_on(action);
                    continue;
                }
            };
            if self.stops.found().end.is_some() {
                // Nothing is remembered of a process that has ended.
                self.record(Change::Event { event, details });
            } else if let Some(memory) = self.remembered() {
                self.record(Change::Observed { memory, event, details });
            }
            recorded = true;
            self.perform_carry_on(action);
        }
        if !recorded && let Some(memory) = self.remembered() {
            self.record(Change::Remembered { memory });
        }
        self.note(Note::Deliver);
    }

    /// Whether a prompt to go on waits for the agent, or is being typed: it is not lost, however long that takes.
    fn is_prompt_under_way(&self) -> bool {
        match self.carrying_on.machine.prompting() {
            Some(number) => self.outbox.find(&message_id(number)).is_some(),
            None => false,
        }
    }

    fn perform_carry_on(&mut self, action: Action) {
        match action {
            Action::Record(_) | Action::Notify(_) => {}
            Action::Examine(checks) => {
                self.carrying_on.question += 1;
                self.push_behind(Effect::Examine { question: self.carrying_on.question, checks });
            }
            Action::Prompt { number, text } => self.on_send(Send {
                id: message_id(number),
                body: text.into_bytes(),
                terms: Terms { sender: CARRIES_ON.into(), ..Terms::default() },
                known: None,
                queued: None,
                waiter: None,
            }),
            Action::Withdraw { number } => self.withdraw_waiting(&message_id(number), CARRIES_ON),
            Action::Pause => self.request(Request::Stop { grace_ms: GRACE_MS }),
        }
    }

    /// Takes back a message of ostler's own that was not typed yet.
    pub(crate) fn withdraw_waiting(&mut self, id: &str, sender: &str) {
        let Some(open) = self.outbox.find(id) else { return };
        if open.message.terms.sender != sender || !open.delivery.is_waiting() {
            return;
        }
        let (order, id) = (open.message.seq, open.message.id.clone());
        if let Some(open) = self.outbox.open.get_mut(&order) {
            open.message.state = MessageState::Failed;
        }
        self.outbox.done_with(order, self.now);
        self.record(Change::Cancelled { id });
        self.note(Note::Deliver);
    }
}
