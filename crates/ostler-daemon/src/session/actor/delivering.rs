//! Prompts on their way into the agent: what is seen and heard goes to the delivery machine, what it says is done.

use std::io;

use ostler_agents::{Prompt, Reader};
use ostler_core::delivery::{Action, Because, Delivery, Event as News, Up, Witness, Write};
use ostler_core::detector::Event;
use ostler_core::queue::Priority;
use ostler_core::start_plan::Way;
use ostler_core::{Proof, State, Timestamp, start_plan};
use ostler_hold::wire::Request;
use ostler_store::MessageState;

use super::Actor;
use crate::session::deliveries::Open;
use crate::session::{by_file, keys};
use crate::{clock, process};

/// Steps that one event may lead to.
const MAX_STEPS: usize = 32;

impl Actor {
    /// Lets the delivery in hand go on.
    pub(super) async fn deliver(&mut self, news: Option<(u64, News)>) {
        self.deliver_one(news).await;
        if self.held_keys.until().is_some() {
            Box::pin(self.release_keys()).await;
        }
        Box::pin(self.type_raw()).await;
    }

    async fn deliver_one(&mut self, news: Option<(u64, News)>) {
        self.see_untouched();
        if self.deliveries.open.is_empty() || !self.deliveries.settled_in {
            return;
        }
        let mut news = news;
        if news.is_none() {
            self.look_after_given().await;
        }
        for _ in 0..MAX_STEPS {
            let (wall, steady) = (clock::now(), clock::steady());
            for order in self.deliveries.expired(wall, steady) {
                self.withdraw(order).await;
                self.give_up(order, MessageState::Failed, "it was not typed in time".into()).await;
            }
            let situation = self.situation();
            let (order, event) = match news.take() {
                Some((order, event)) => (order, event),
                None => match self.deliveries.choose(situation, wall, steady) {
                    Some(order) => (order, News::Looked),
                    None => return,
                },
            };
            let Some(view) = self.view(order, situation) else { return };
            // One write at a time: it goes on when the other one is settled, and when the store takes records again.
            let barred = self.deliveries.is_barred(order) || self.store_retry_at.is_some();
            let barred = barred && situation.state != State::Exited;
            let Some(open) = self.deliveries.open.get_mut(&order) else { return };
            if barred && may_type(event, &open.delivery) {
                return open.delivery.postpone();
            }
            let actions = open.delivery.handle(event, &view, steady);
            if actions.is_empty() {
                return;
            }
            self.deliveries.take_in_hand(order);
            for action in actions {
                self.perform(order, action).await;
            }
            // Nothing more until the holder has answered.
            if self.deliveries.under_way.is_some() || self.deliveries.inspecting.is_some() {
                return;
            }
        }
    }

    /// Sees what became of the messages that the agent gets from its start.
    async fn look_after_given(&mut self) {
        let given = self.deliveries.open.values().filter(|open| open.delivery.is_given());
        let orders: Vec<u64> = given.map(|open| open.message.seq).collect();
        for order in orders {
            let situation = self.situation();
            let Some(view) = self.view(order, situation) else { continue };
            // One message at a time is typed.
            let free = self.deliveries.held().is_none() && self.deliveries.under_way.is_none();
            let Some(open) = self.deliveries.open.get_mut(&order).filter(|_| free) else { continue };
            let actions = open.delivery.handle(News::Looked, &view, clock::steady());
            if !actions.is_empty() && !open.delivery.is_given() {
                self.deliveries.take_in_hand(order);
            }
            for action in actions {
                self.perform(order, action).await;
            }
        }
    }

    /// The context that a hook is to give the agent, if there is one.
    pub(super) fn context_for_hook(&self) -> Option<(u64, String)> {
        let waits = |open: &&Open| open.delivery.awaits_hook() && open.message.proof == Proof::Queued;
        let open = self.deliveries.open.values().find(waits)?;
        Some((open.message.seq, open.plain.to_string()))
    }

    /// The hook has the context.
    pub(super) async fn hook_took(&mut self, order: u64) {
        self.deliver(Some((order, News::Taken))).await;
        self.deliver(None).await;
    }

    async fn perform(&mut self, order: u64, action: Action) {
        match action {
            Action::Inspect => {
                if self.deliveries.inspecting.replace(order).is_none() {
                    self.request(&Request::Query);
                }
            }
            Action::Type(write) => {
                if write == Write::Body
                    && let Err(error) = self.shorten(order)
                {
                    // As it is, it would be cut, or every line of it be a prompt.
                    let reason = format!("it has to go by file, and the file cannot be written: {error}");
                    self.escalate(order, true).await;
                    return self.give_up(order, MessageState::Failed, reason).await;
                }
                let bytes = self.bytes_of(order, write);
                Box::pin(self.type_for(order, Some(write), bytes)).await;
            }
            Action::Prove(proof, because) => {
                if because == Because::Composer {
                    self.note_mark(order);
                }
                let evidence = self.evidence(order, because);
                let begins = proof == Proof::Submitted && self.is_on_command_line(order);
                self.prove(order, proof, evidence).await;
                // Nobody pressed Enter, from which the detector would know.
                if begins && self.observer.detector().shows_work() {
                    Box::pin(self.learn(Event::Begun)).await;
                }
            }
            Action::Missed => {
                self.missed(order).await;
                self.escalate(order, false).await;
            }
            Action::Give(up) => {
                let state =
                    if matches!(up, Up::Uncertain) { MessageState::Uncertain } else { MessageState::Failed };
                let refused = self.why_refused.take().filter(|_| up == Up::Refused);
                let reason = refused.unwrap_or_else(|| up.as_str().to_owned());
                match up {
                    Up::Ended => {}
                    // Another way could give the agent twice what it has.
                    Up::Uncertain => self.withdraw(order).await,
                    _ => self.escalate(order, true).await,
                }
                self.give_up(order, state, reason).await;
            }
        }
    }

    /// Whether the agent has a message from its command line, and nothing was typed for it.
    pub(super) fn is_on_command_line(&self, order: u64) -> bool {
        let open = self.deliveries.open.get(&order);
        open.is_some_and(|open| open.message.terms.way == Way::Argument && open.delivery.enters() == 0)
    }

    /// Takes note of the mark that the agent shows in place of a text: some leave it there when they took the text.
    fn note_mark(&mut self, order: u64) {
        let (screen, mark) = (&self.output.screen, self.deliveries.placeholder.as_ref());
        if let (Some(composer), Some(open)) =
            (Reader::glance(&self.known.book, screen), self.deliveries.open.get_mut(&order))
        {
            let noted = open.body.note_mark(screen, &self.known.book, &composer, mark);
            open.message.mark = noted.map(str::to_owned);
        }
    }

    pub(super) async fn missed(&mut self, order: u64) {
        let Some(open) = self.deliveries.open.get_mut(&order) else { return };
        open.message.proof = Proof::Queued;
        open.message.evidence.clear();
        let (session, id, at) = (self.record.start.id.clone(), open.message.id.clone(), clock::now());
        let recorded = self.shared.store.run(move |store| store.missed(&session, &id, at)).await;
        self.log_store(&recorded);
    }

    fn bytes_of(&mut self, order: u64, write: Write) -> Vec<u8> {
        let modes = self.output.screen.modes();
        let input = &self.known.agent.preset.input;
        match write {
            Write::Enter => keys::bytes(&["enter".to_owned()], &modes),
            Write::Clear => keys::bytes(&input.clear, &modes),
            Write::Interrupt => keys::bytes(&input.interrupt, &modes),
            Write::Body => {
                let above = self.above();
                let Some(open) = self.deliveries.open.get_mut(&order) else { return Vec::new() };
                open.echoes = open.body.echoes(&self.output.screen, above);
                open.prompt = open.delivery.is_blind().then(|| Prompt::at_cursor(&self.output.screen));
                open.text.paste(modes.bracketed_paste)
            }
        }
    }

    /// Puts a text that cannot be typed as one piece into a file; a line that says where is typed instead.
    fn shorten(&mut self, order: u64) -> io::Result<()> {
        let bracketed = self.output.screen.modes().bracketed_paste;
        let limit = self.known.agent.preset.input.paste_limit.map_or(usize::MAX, |limit| limit as usize);
        let raw_only = self.deliveries.policy.raw_only;
        let Some(open) = self.deliveries.open.get_mut(&order) else { return Ok(()) };
        let context = open.message.terms.priority == Priority::Startup;
        let limit = if context { limit.min(start_plan::MAX_CONTEXT) } else { limit };
        let text = open.text.as_str();
        // Without brackets every line end would be an Enter.
        let broken = !bracketed && raw_only && text.contains('\n');
        if (text.len() <= limit && !broken) || open.by_file {
            return Ok(());
        }
        open.plain = by_file::put(self.dir.path(), &open.message.id, open.plain.as_str())?;
        open.by_file = true;
        open.learn(&self.known.agent.preset.input);
        Ok(())
    }

    /// The holder told about its terminal.
    pub(super) async fn on_inspected(&mut self, cooked: bool, pending: u32, foreground: u32) {
        self.inspected_for_dialog(pending).await;
        if let Some(order) = self.deliveries.inspecting.take() {
            self.deliveries.taken = self.is_key_driven(foreground).await;
            self.deliver(Some((order, News::Inspected { cooked, pending }))).await;
        }
    }

    /// Whether a program that takes keys for commands has the terminal. Where a composer is known, its sight tells.
    async fn is_key_driven(&self, group: u32) -> bool {
        let names = self.known.agent.preset.input.key_driven.clone();
        let program = self.record.pid.filter(|_| !names.is_empty() && !self.known.book.knows_composer());
        let Some(program) = program else { return false };
        let session = self.record.start.id.clone();
        let look = move || process::runs_in_group(program, &session, group, &names);
        tokio::task::spawn_blocking(look).await.unwrap_or(false)
    }

    /// When something is due for a delivery.
    pub(super) fn delivering_until(&self) -> Option<Timestamp> {
        let steady = clock::steady();
        let expiry = self.deliveries.next_expiry(steady).map(|at| steady.plus(at.since(clock::now())));
        // What the store does not take has a time of its own.
        self.deliveries.deadline().into_iter().chain(expiry).min().filter(|_| self.store_retry_at.is_none())
    }

    /// The agent says which prompt it took.
    pub(super) async fn on_prompt(&mut self, by: Witness, text: Option<&str>) {
        self.deliveries.tells_prompts |= by == Witness::Hook;
        let Some(text) = text else { return };
        let Some(id) = self.deliveries.meant(by, text) else { return };
        if let Some(recent) = self.deliveries.recent.iter_mut().find(|recent| recent.id == id) {
            recent.told.push(by);
            if recent.state != MessageState::Delivered {
                recent.state = MessageState::Delivered;
                self.prove_late(&id, Proof::Submitted, self.evidence(0, Because::Told(by))).await;
            }
            return;
        }
        let Some(order) = self.deliveries.find(&id).map(|open| open.message.seq) else { return };
        self.deliver(Some((order, News::Told { by }))).await;
        self.deliver(None).await;
    }

    /// Records what was learnt of a message after it was done with.
    pub(super) async fn prove_late(&mut self, id: &str, proof: Proof, evidence: String) {
        let (session, id, at) = (self.record.start.id.clone(), id.to_owned(), clock::now());
        let recorded = self
            .shared
            .store
            .run(move |store| {
                if store.message(&session, &id)?.is_some_and(|message| message.proof < proof) {
                    store.prove(&session, &id, proof, &evidence, true, at)?;
                }
                store.message(&session, &id)
            })
            .await;
        self.log_store(&recorded);
        if let Ok(Some(message)) = recorded {
            self.tell(&message);
            self.de_escalate(&message).await;
        }
    }
}

/// Whether a delivery may want to type because of this.
fn may_type(event: News, delivery: &Delivery) -> bool {
    match event {
        News::Looked | News::Inspected { .. } => true,
        News::Taken => !delivery.is_given(),
        News::Typed | News::Refused | News::Told { .. } => false,
    }
}
