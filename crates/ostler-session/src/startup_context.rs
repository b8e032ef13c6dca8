//! What an agent has to know from its start, and again whenever its conversation begins anew, for then it has forgotten
//! that. Its hook gives it where it can.

use ostler_agents::hooks::{Decoded, HookSpec, context_output};
use ostler_core::delivery::Event;
use ostler_core::message::{Message, Terms};
use ostler_core::queue::Priority;
use ostler_core::start_plan::StartupRoute;
use ostler_core::{Fact, Proof};
use ostler_screen::SafeText;
use serde_json::json;

use crate::change::Change;
use crate::effect::{Effect, HookContext};
use crate::escalating::NOTICE;
use crate::event::{HookReport, Send};
use crate::message_commands::{prompt, with_request};
use crate::note::{Note, Then};
use crate::outbox::Open;
use crate::session::Session;

/// Texts of one session that are given again, at most.
const MAX_CONTEXTS: usize = 8;
/// Begins the id of a message that gives such a text again.
const AGAIN: &str = "again-";

/// A text that the agent has to know.
#[derive(Debug, Clone)]
struct StartupContext {
    id: String,
    text: SafeText,
    sender: String,
    /// The agent was asked to confirm it, and has not.
    wants_ack: bool,
    /// The agent was given it, or may have been.
    given: bool,
}

impl StartupContext {
    /// What is printed.
    fn printed(&self) -> String {
        if self.wants_ack { with_request(&self.text, &self.id).to_string() } else { self.text.to_string() }
    }
}

/// A conversation, by the agent's id of it if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Window(Option<String>);

/// What the agent was given, and may have to be given again.
#[derive(Debug, Default)]
pub(crate) struct StartupContexts {
    contexts: Vec<StartupContext>,
    /// Where it was given last, until something else is heard of that conversation.
    given_in: Option<Window>,
}

impl StartupContexts {
    /// Takes note of a message, if it is one that the agent has to know.
    pub(crate) fn add(&mut self, message: &Message, body: &[u8]) {
        let Message { id, terms, .. } = message;
        let by_hook = terms.way == StartupRoute::Hook;
        let typed = terms.priority == Priority::Startup && !terms.raw && terms.sender != NOTICE;
        let is_new = !id.starts_with(AGAIN) && self.contexts.iter().all(|known| known.id != *id);
        if (by_hook || typed) && is_new && self.contexts.len() < MAX_CONTEXTS {
            let text = prompt(&String::from_utf8_lossy(body));
            let wants_ack = message.terms.ack && message.proof < Proof::Acknowledged;
            let (id, sender) = (message.id.clone(), message.terms.sender.clone());
            let given = message.proof >= if by_hook { Proof::Written } else { Proof::Submitted };
            self.contexts.push(StartupContext { id, text, sender, wants_ack, given });
        }
    }

    fn given(&self) -> impl Iterator<Item = &StartupContext> {
        self.contexts.iter().filter(|context| context.given)
    }

    /// The agent has it.
    pub(crate) fn note_given(&mut self, id: &str) {
        for context in self.contexts.iter_mut().filter(|context| context.id == id) {
            context.given = true;
        }
    }

    /// The agent has confirmed a message.
    pub(crate) fn acknowledged(&mut self, id: &str) {
        for context in self.contexts.iter_mut().filter(|context| context.id == id) {
            context.wants_ack = false;
        }
    }

    /// A hook reports something: the conversation goes on.
    pub(crate) fn on_fact(&mut self, fact: &Fact) {
        if !matches!(fact, Fact::SessionStarted | Fact::SessionEnded | Fact::Compacting) {
            self.given_in = None;
        }
    }
}

impl Session {
    /// The agent may be given something by a hook that reports now.
    pub(crate) fn on_hook_chance(&mut self, report: &HookReport, decoded: &Decoded) {
        let first = self.texts_for_hook(report, decoded);
        let again = decoded.begins_anew && self.is_owed_again(report);
        if first.is_empty() && !again {
            return self.print_nothing(report);
        }
        if again && !report.wants_context {
            self.conversation.context_given = Some(report.at);
            return self.type_contexts();
        }
        let spec = self.profile.agent.preset.hooks.as_ref();
        let limit = spec.and_then(HookSpec::context_at_start).unwrap_or(0);
        let texts = first.iter().map(|(_, text)| text.clone());
        let repeated = self.outbox.contexts.given().filter(|_| again).map(StartupContext::printed);
        let mut text = texts.chain(repeated).collect::<Vec<String>>().join("\n\n");
        let too_long = again && text.len() > limit;
        if too_long {
            // Agents cut what a hook prints.
            self.conversation.context_given = Some(report.at);
            self.type_contexts();
            text = first.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n\n");
        }
        let again = again && !too_long;
        let spec = self.profile.agent.preset.hooks.as_ref();
        let printed =
            spec.filter(|_| !text.is_empty()).and_then(|spec| context_output(spec, &report.event, &text));
        let Some(text) = printed else { return self.print_nothing(report) };
        self.outbox.contexts.given_in = Some(Window(self.conversation.id.clone()));
        let orders: Vec<u64> = first.iter().map(|(order, _)| *order).collect();
        let context = Some(HookContext { orders: orders.clone(), again, text });
        let mut print = vec![Then::Do(Effect::Print { ticket: report.ticket, context })];
        // Recorded before it is given: after a crash nobody could tell, and it is not given twice.
        if again {
            self.conversation.context_given = Some(report.at);
            let then = if orders.is_empty() { std::mem::take(&mut print) } else { Vec::new() };
            self.record_given_again("hook", then);
        }
        for (at, order) in orders.iter().enumerate() {
            let then = if at + 1 == orders.len() { std::mem::take(&mut print) } else { Vec::new() };
            let evidence = "hook: it is being handed to the agent's hook".to_owned();
            self.prove_then(*order, Proof::Written, evidence, then);
        }
    }

    fn print_nothing(&mut self, report: &HookReport) {
        if report.wants_context {
            self.push(Effect::Print { ticket: report.ticket, context: None });
        }
    }

    /// What waits for this hook: what goes by that of the start, and notices by that of a prompt.
    fn texts_for_hook(&self, report: &HookReport, decoded: &Decoded) -> Vec<(u64, String)> {
        let starts = decoded.facts.contains(&Fact::SessionStarted);
        let prompted = decoded.facts.iter().any(|fact| matches!(fact, Fact::PromptSubmitted { .. }));
        let waits = |open: &&Open| {
            let is_notice = open.message.terms.sender == NOTICE && open.message.attempts == 0;
            let context = starts && open.delivery.awaits_hook();
            let notice = prompted && is_notice && open.delivery.is_waiting();
            report.wants_context && open.message.proof == Proof::Queued && (context || notice)
        };
        let waiting = self.outbox.open.values().filter(waits);
        waiting.map(|open| (open.message.seq, open.plain.to_string())).collect()
    }

    /// Whether the agent has to be told once more what it has forgotten: once in each conversation, also where a report
    /// is heard by two daemons.
    fn is_owed_again(&self, report: &HookReport) -> bool {
        let contexts = &self.outbox.contexts;
        let told = contexts.given_in == Some(Window(self.conversation.id.clone()));
        let heard = self.conversation.context_given.is_some_and(|given| report.at <= given);
        contexts.given().next().is_some() && !told && !heard
    }

    /// The hook has what it was to give, or was gone before.
    pub(crate) fn on_hook_printed(&mut self, orders: &[u64], again: bool, taken: bool) {
        for order in orders {
            if !taken {
                self.missed(*order);
                continue;
            }
            if let Some(open) = self.outbox.open.get_mut(order) {
                // What begins from here on has it.
                open.entered = Some(self.now.steady);
                let id = open.message.id.clone();
                self.outbox.contexts.note_given(&id);
            }
            self.note(Note::Delivery(*order, Event::Taken));
        }
        if again && !taken {
            self.type_contexts();
        }
        self.note(Note::Deliver);
    }

    /// Has typed what no hook could give.
    fn type_contexts(&mut self) {
        self.outbox.contexts.given_in = Some(Window(self.conversation.id.clone()));
        self.record_given_again("message", Vec::new());
        for context in self.outbox.contexts.given().cloned().collect::<Vec<_>>() {
            let StartupContext { text, sender, wants_ack: ack, .. } = context;
            self.on_send(Send {
                id: format!("{AGAIN}{}", self.outbox.last_order + 1),
                body: text.to_string().into_bytes(),
                terms: Terms { sender, priority: Priority::Startup, ack, ..Terms::default() },
                known: None,
                queued: None,
                waiter: None,
            });
        }
    }

    fn record_given_again(&mut self, by: &str, then: Vec<Then>) {
        let ids: Vec<&String> = self.outbox.contexts.given().map(|context| &context.id).collect();
        let details = json!({ "ids": ids, "by": by });
        if let Some(memory) = self.remembered() {
            self.record_then(Change::Observed { memory, event: "context.given_again", details }, then);
        }
    }

    /// The agent begins a turn: what its hook took goes with it.
    pub(crate) fn note_turn_began(&mut self) {
        for order in self.outbox.kept() {
            self.note(Note::Delivery(order, Event::TurnBegan));
        }
    }
}
