//! What clients ask of a session.

use ostler_core::message::{Message, Terms};
use ostler_core::start_plan::StartupRoute;
use ostler_core::{Wall, continuation};
use ostler_protocol::{
    AnswerRequest, AnsweredInfo, ErrorKind, InterruptInfo, MessageInfo, Problem, SendTerms, SessionInfo,
};
use ostler_session::{
    AgentCall, AnswerCommand, Command as Event, Event as SessionEvent, HookReport, Send, Ticket,
};
use tokio::sync::oneshot;

use super::Actor;
use crate::clock;
use crate::session::{
    Command, HookCommand, Look, SendCommand, answers, explain, info, shown_reply, store_problem,
};

/// Somebody who waits for an answer of the session.
#[derive(Debug)]
pub(super) enum Reply {
    /// For a message, or for why there is none.
    Message(oneshot::Sender<Result<MessageInfo, Problem>>),
    /// For a message to get that far.
    Settled(oneshot::Sender<MessageInfo>),
    /// For the session, its terminal's settings included.
    Terminal(oneshot::Sender<SessionInfo>),
    /// An agent, for the word that what it said is recorded.
    Noted(oneshot::Sender<()>),
    /// For what becomes of an answer to a dialog.
    Answer(oneshot::Sender<Result<AnsweredInfo, Problem>>),
    /// For what becomes of an interrupt.
    Interrupt(oneshot::Sender<Result<InterruptInfo, Problem>>),
    /// A hook, for what it is to print.
    Hook(oneshot::Sender<Option<String>>),
}

impl Actor {
    pub(super) async fn on_command(&mut self, command: Command) {
        if matches!(
            command,
            Command::Info(_)
                | Command::Inspect(_)
                | Command::Explain(_)
                | Command::Look(_)
                | Command::Send(_)
                | Command::Interrupt { .. }
                | Command::Answer { .. }
        ) {
            self.notice_stopped_holder().await;
        }
        match command {
            Command::Info(reply) => drop(reply.send(self.info())),
            Command::Inspect(reply) => {
                let ticket = self.ticket(Reply::Terminal(reply));
                self.ask(Event::Inspect(ticket)).await;
            }
            Command::Explain(reply) => {
                drop(reply.send(explain::explanation(&self.session, self.info(), clock::steady())));
            }
            Command::AgentStatus(reply) => drop(reply.send(self.session.agent_status())),
            Command::LastWords(reply) => {
                drop(reply.send(self.session.summary().last_words().map(str::to_owned)));
            }
            Command::Transcript(_) | Command::ShownReply(_) | Command::Dialog(_) => self.show(command),
            Command::Look(reply) => {
                let look = Look {
                    info: self.info(),
                    restore: self.session.screen().to_restore(),
                    offset: self.session.offset(),
                    missing: self.session.missing(),
                };
                drop(reply.send(look));
            }
            Command::Send(command) => self.on_send(*command).await,
            Command::Message { id, answer } => {
                let shown = match self.session.message(&id) {
                    Some(view) => Some(self.shown(view).await),
                    None => None,
                };
                drop(answer.send(shown));
            }
            Command::Await { id, wait: wants, answer } => {
                // If there is none, the answer's sender is dropped.
                if let Ok((stored, _)) = self.stored(&id).await {
                    let ticket = self.ticket(Reply::Settled(answer));
                    self.ask(Event::Await { stored: Box::new(stored), wants, ticket }).await;
                }
            }
            Command::RetryMessage { id, answer } => {
                let event = |stored, body, ticket| Event::Retry { stored, body, ticket };
                self.ask_of_stored(&id, answer, event).await;
            }
            Command::DropMessage { id, answer } => {
                let event = |stored, _, ticket| Event::Drop { stored, ticket };
                self.ask_of_stored(&id, answer, event).await;
            }
            Command::Acknowledge { id, answer } => {
                let event = |stored, _, ticket| Event::Acknowledge { stored, ticket };
                self.ask_of_stored(&id, answer, event).await;
            }
            Command::Keys(bytes) => self.ask(Event::Keys(bytes)).await,
            Command::Viewer { viewer, size } => self.ask(Event::Viewer { viewer, size }).await,
            Command::ViewerGone { viewer } => self.ask(Event::ViewerGone { viewer }).await,
            Command::Hook(report) => self.on_hook(*report).await,
            Command::AgentCall { id, says, noted } => {
                let ticket = noted.map(|noted| self.ticket(Reply::Noted(noted)));
                self.hand(SessionEvent::AgentCalled(AgentCall { id, says, ticket })).await;
            }
            Command::SetPatience(patience) => self.ask(Event::SetPatience(patience)).await,
            Command::CarryOn { event, done } => {
                if *event == continuation::Event::Ended {
                    self.cancel_examination();
                }
                self.ask(Event::CarryOn(*event)).await;
                drop(done.send(self.info()));
            }
            Command::TellAnswers(told) => self.tell_answers(Some(told)).await,
            Command::SpoolHeard => self.hand(SessionEvent::SpoolHeard).await,
            Command::Answer { request, answer } => {
                let ticket = self.ticket(Reply::Answer(answer));
                let AnswerRequest { dialog, word, own_words, always, .. } = *request;
                self.ask(Event::AnswerDialog(AnswerCommand { dialog, word, own_words, always, ticket }))
                    .await;
            }
            Command::Interrupt { patience, answer } => {
                let ticket = self.ticket(Reply::Interrupt(answer));
                self.ask(Event::Interrupt { patience, ticket }).await;
            }
            Command::Stop { grace_ms, done } => {
                self.stoppers.push(done);
                self.ask(Event::Stop { grace_ms }).await;
            }
            Command::Park(done) => {
                self.ask(Event::Park).await;
                let _ = done.send(());
            }
        }
    }

    /// Shows what talking with the agent needs.
    fn show(&self, command: Command) {
        match command {
            Command::Transcript(reply) => drop(reply.send(self.transcript())),
            Command::ShownReply(reply) => {
                drop(reply.send(shown_reply(self.session.profile(), self.session.screen())));
            }
            Command::Dialog(reply) => {
                let dialog = self.session.pending_dialog().map(Box::new);
                drop(reply.send((self.session.described().0, dialog)));
            }
            _ => {}
        }
    }

    async fn ask(&mut self, command: Event) {
        self.hand(SessionEvent::Command(command)).await;
    }

    fn ticket(&mut self, reply: Reply) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.replies.insert(ticket, reply);
        ticket
    }

    async fn on_send(&mut self, command: SendCommand) {
        let SendCommand { id, body, terms, wait, queued, settled } = command;
        let (session, wanted) = (self.record.start.id.clone(), id.clone());
        let known = self.services.store.run(move |store| {
            let body = store.message_body(&session, &wanted)?;
            Ok(store.message(&session, &wanted)?.zip(body))
        });
        let known = match known.await {
            Ok(known) => known.map(|(message, known)| {
                let same = known == body && message.terms.raw == terms.raw;
                (message, same)
            }),
            Err(error) => return drop(queued.send(Err(store_problem(&error)))),
        };
        let queued = self.ticket(Reply::Message(queued));
        let waiter = self.ticket(Reply::Settled(settled));
        let send = Send {
            id,
            body,
            terms: agreed(terms),
            known,
            queued: Some(queued),
            waiter: Some((wait, waiter)),
        };
        self.ask(Event::Send(Box::new(send))).await;
    }

    /// Sends the agent the answers that it was not told of.
    pub(super) async fn tell_answers(&mut self, told: Option<oneshot::Sender<()>>) {
        let (store, session) = (self.services.store.clone(), self.record.start.id.clone());
        let untold = match store.run(move |store| store.untold_answers(&session)).await {
            Ok(untold) => untold,
            Err(error) => {
                tracing::error!(session = %self.record.start.name, %error, "answers cannot be told yet");
                return;
            }
        };
        let mut recorded = Vec::new();
        for question in untold {
            let (queued, outcome) = oneshot::channel();
            if let Some(message) = answers::message(&question, queued) {
                self.on_send(message).await;
                recorded.push((question.number, outcome));
            }
        }
        // The word that a message is recorded comes through this actor.
        tokio::spawn(async move {
            for (number, outcome) in recorded {
                if matches!(outcome.await, Ok(Ok(_)))
                    && let Err(error) = store.run(move |store| store.answer_told(number)).await
                {
                    tracing::warn!(%error, number, "an answer may be told again, as the same message");
                }
            }
            told.map(|told| told.send(()))
        });
    }

    async fn on_hook(&mut self, report: HookCommand) {
        let HookCommand { claim, id, agent, event, payload, at, print } = report;
        let (session, bytes) = (&self.record.start.name, payload.len());
        tracing::debug!(%session, id, agent, event, bytes, at = at.0, "a hook reports");
        let wants_context = print.is_some();
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.claims.insert(ticket, (claim, event.clone()));
        self.replies.extend(print.map(|print| (ticket, Reply::Hook(print))));
        self.hand(SessionEvent::Hook(HookReport { ticket, agent, event, payload, at, wants_context })).await;
    }

    /// Asks something of a message as it is recorded.
    async fn ask_of_stored(
        &mut self,
        id: &str,
        answer: oneshot::Sender<Result<MessageInfo, Problem>>,
        event: impl FnOnce(Box<Message>, Vec<u8>, Ticket) -> Event,
    ) {
        match self.stored(id).await {
            Ok((stored, body)) => {
                let ticket = self.ticket(Reply::Message(answer));
                self.ask(event(Box::new(stored), body, ticket)).await;
            }
            Err(problem) => drop(answer.send(Err(problem))),
        }
    }

    /// A recorded message, and what it says.
    async fn stored(&self, id: &str) -> Result<(Message, Vec<u8>), Problem> {
        let (session, wanted) = (self.record.start.id.clone(), id.to_owned());
        let found = self.services.store.run(move |store| {
            Ok(store.message(&session, &wanted)?.zip(store.message_body(&session, &wanted)?))
        });
        let missing = || Problem::new(ErrorKind::NotFound, format!("there is no message {id:?}"));
        found.await.map_err(|error| store_problem(&error))?.ok_or_else(missing)
    }

    pub(super) fn info(&self) -> SessionInfo {
        info::of_running(&self.record, &self.session)
    }
}

fn agreed(terms: SendTerms) -> Terms {
    let SendTerms { raw, sender, priority, mode, ack, command, expires_ms } = terms;
    let way = StartupRoute::Message;
    let expires = expires_ms.map(|ms| Wall(clock::now().0.saturating_add(ms)));
    Terms { raw, sender, priority, mode, ack, expires, way, command }
}
