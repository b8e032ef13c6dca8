//! The task that owns a session: it waits, hands events to the session, and performs what the session says.

mod commands;
mod commit;
mod conversation;
mod escalation;
mod examining;
mod perform;

pub(crate) use examining::{environment, keep_environment};

use std::collections::HashMap;
use std::process::Child;

use ostler_core::stop_watch::Findings;
use ostler_core::{State, Steady};
use ostler_hold::SessionDir;
use ostler_screen::Size;
use ostler_session::{Event, Session, TerminalStatus, Ticket};
use ostler_store::{Session as Record, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use self::commands::Reply;
use super::{Command, Services, SessionHandle};
use crate::hooks::Claim;
use crate::judge::Question;
use crate::knowledge::SessionKnowledge;
use crate::transcript::{Batch, Watcher};
use crate::transport::{Arrived, Holder, LinkError, Transport};
use crate::{clock, evidence, ready_file};

/// Commands that may wait for an actor.
const BACKLOG: usize = 32;

/// Where an actor's session comes from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// It was started just now.
    Launched(Child),
    /// It was found in the record.
    Recovered,
}

/// A session, and the hands that do what it says.
#[derive(Debug)]
pub(crate) struct Actor {
    services: Services,
    record: Record,
    dir: SessionDir,
    session: Session,
    transport: Option<Holder>,
    connecting: Option<JoinHandle<Result<(Holder, TerminalStatus), LinkError>>>,
    /// The holder, if it is a child of this process and has to be reaped.
    holder: Option<Child>,
    /// What is being done aside, until it comes back as an event.
    errands: JoinSet<Event<'static>>,
    /// The rules are being read; only the last reading counts.
    reading_rules: Option<JoinHandle<SessionKnowledge>>,
    /// Who is asked as a judge, or why nobody is.
    judge: crate::judge::Appointed,
    question: Option<Question>,
    watcher: Option<Watcher>,
    replies: HashMap<Ticket, Reply>,
    /// Reports of hooks, kept until they were heard, and what they are about.
    claims: HashMap<Ticket, (Claim, String)>,
    last_ticket: u64,
    stoppers: Vec<oneshot::Sender<()>>,
    /// Why the store did not take the last commit.
    /// What a stop means is being found out.
    examination: Option<tokio::task::AbortHandle>,
    store_error: Option<StoreError>,
    mailbox: Mailbox,
}

/// The actor's end of the tickets to it.
#[derive(Debug)]
pub(crate) struct Mailbox {
    commands: mpsc::Receiver<Command>,
    state: watch::Sender<State>,
    stops: watch::Sender<Option<Findings>>,
    told: watch::Sender<u64>,
    size: watch::Sender<Size>,
    editions: watch::Receiver<u64>,
}

/// What woke the actor.
enum Woken {
    Command(Option<Command>),
    Deadline,
    RulesChanged,
    Rules(Option<SessionKnowledge>),
    Arrived(Result<<Holder as Transport>::Arrived, LinkError>),
    Transcript(Batch),
    Judge(ostler_core::judge::Event),
    Connected(Result<(Holder, TerminalStatus), LinkError>),
    Errand(Event<'static>),
}

/// Makes a ticket to a session, and the other end of it.
pub(crate) fn mailbox(services: &Services, record: &Record) -> (Mailbox, SessionHandle) {
    let size = Size::clamped(record.start.cols, record.start.rows);
    let (sender, commands) = mpsc::channel(BACKLOG);
    let (state, state_receiver) = watch::channel(State::Starting);
    let (stops, stops_receiver) = watch::channel(None);
    let (told, told_receiver) = watch::channel(0);
    let (size, size_receiver) = watch::channel(size);
    let handle = SessionHandle {
        id: record.start.id.clone(),
        name: record.start.name.clone(),
        process: record.process,
        dir: SessionDir::new(&record.start.dir),
        commands: sender,
        state: state_receiver,
        stops: stops_receiver,
        told: told_receiver,
        size: size_receiver,
    };
    (Mailbox { commands, state, stops, told, size, editions: services.knowledge.editions() }, handle)
}

impl Actor {
    /// Looks after a session until it has ended and nobody has to be told.
    pub(crate) async fn run(services: Services, record: Record, origin: Origin, mailbox: Mailbox) {
        let recovered = matches!(origin, Origin::Recovered);
        let dir = SessionDir::new(&record.start.dir);
        let saved = match commit::load(&services, &record, &dir).await {
            Ok(saved) => saved,
            Err(error) => {
                // Without the record, a message could be typed twice: leave the session to a better day.
                tracing::error!(session = %record.start.name, %error, "cannot take up the session");
                return;
            }
        };
        let (holder, event) = match origin {
            Origin::Launched(holder) => (Some(holder), Event::Launched),
            Origin::Recovered => (None, Event::Recovered),
        };
        let mut actor = Self {
            session: Session::new(saved, recovered, clock::both()),
            services,
            record,
            dir,
            transport: None,
            connecting: None,
            holder,
            errands: JoinSet::new(),
            reading_rules: None,
            judge: crate::judge::Appointed::default(),
            question: None,
            watcher: None,
            replies: HashMap::new(),
            claims: HashMap::new(),
            last_ticket: 0,
            stoppers: Vec::new(),
            store_error: None,
            examination: None,
            mailbox,
        };
        if !recovered {
            let made = ready_file::await_made(actor.services.hints.clone(), actor.dir.path().to_owned());
            actor.errands.spawn(async move {
                made.await;
                Event::ReadyMarked
            });
        }
        actor.hand(event).await;
        actor.tell_answers(None).await;
        while !actor.session.is_over() {
            let woken = actor.wait().await;
            if !actor.wake(woken).await {
                break;
            }
        }
        actor.close();
    }

    /// Hands an event to the session and performs what follows.
    async fn hand(&mut self, event: Event<'_>) {
        self.session.handle(event, clock::both());
        while let Some(effect) = self.session.poll() {
            self.perform(effect).await;
        }
    }

    async fn wait(&mut self) -> Woken {
        let deadline = self.session.deadline();
        let listens = self.session.listens();
        let Self { transport, connecting, errands, reading_rules, question, watcher, mailbox, .. } = self;
        // People first: a program that floods its terminal must not keep those who look at it waiting.
        let woken = tokio::select! {
            biased;
            command = mailbox.commands.recv(), if listens => Woken::Command(command),
            () = sleep_until(deadline) => Woken::Deadline,
            Ok(()) = mailbox.editions.changed() => Woken::RulesChanged,
            Some(known) = async { Some(reading_rules.as_mut()?.await) } => Woken::Rules(known.ok()),
            Some(errand) = errands.join_next() => match errand {
                Ok(event) => Woken::Errand(event),
                // A defect there is one here: another actor takes over.
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => Woken::Deadline,
                },
            },
            Some(arrived) = async { Some(transport.as_mut()?.arrived().await) } => Woken::Arrived(arrived),
            Some(batch) = async { Some(watcher.as_mut()?.next().await) } => Woken::Transcript(batch),
            Some(event) = async { Some(question.as_mut()?.news().await) } => Woken::Judge(event),
            Some(result) = async { Some(connecting.as_mut()?.await) } => {
                Woken::Connected(result.unwrap_or(Err(LinkError::Silent)))
            }
        };
        match woken {
            Woken::Connected(_) => *connecting = None,
            Woken::Rules(_) => *reading_rules = None,
            _ => {}
        }
        woken
    }

    /// Tells the session what woke the actor; returns whether anybody is left to wait for.
    async fn wake(&mut self, woken: Woken) -> bool {
        match woken {
            Woken::Command(None) => return false,
            Woken::Command(Some(command)) => self.on_command(command).await,
            Woken::Deadline => self.hand(Event::Tick).await,
            Woken::RulesChanged => self.hand(Event::RulesChanged).await,
            Woken::Rules(known) => {
                let profile = known.map(|known| {
                    self.judge = known.judge;
                    Box::new(known.profile)
                });
                self.hand(Event::Rules(profile)).await;
            }
            Woken::Errand(event) => self.hand(event).await,
            Woken::Arrived(Ok(mut arrived)) => {
                let failed = loop {
                    match arrived.next() {
                        Ok(Some(event)) => self.hand(event).await,
                        Ok(None) => break None,
                        Err(error) => break Some(error),
                    }
                };
                if let Some(error) = failed {
                    self.disconnected(&error).await;
                }
                // A flood would otherwise keep this thread's other tasks waiting.
                tokio::task::yield_now().await;
            }
            Woken::Arrived(Err(error)) | Woken::Connected(Err(error)) => self.disconnected(&error).await,
            Woken::Connected(Ok((holder, status))) => {
                let abilities = holder.abilities();
                self.transport = Some(holder);
                self.hand(Event::Connected { status, abilities }).await;
            }
            Woken::Transcript(batch) => {
                let event = conversation::event(batch);
                self.hand(event).await;
                self.mailbox.told.send_modify(|told| *told += 1);
            }
            Woken::Judge(event) => {
                if let ostler_core::judge::Event::Answered { .. } = &event {
                    self.question = None;
                }
                self.hand(Event::Judge(event)).await;
            }
        }
        true
    }

    async fn disconnected(&mut self, error: &LinkError) {
        tracing::debug!(session = %self.record.start.name, %error, "no connection to the holder");
        self.transport = None;
        let evidence = evidence::gather(&self.dir, self.session.pid().is_some());
        self.hand(Event::Disconnected(evidence)).await;
    }

    /// A holder that somebody has stopped answers nobody, and what it showed last says nothing of now.
    async fn notice_stopped_holder(&mut self) {
        let is_stopped = || self.dir.read_identity().is_some_and(|holder| holder.is_stopped());
        if self.transport.is_some() && is_stopped() {
            self.disconnected(&LinkError::Silent).await;
        }
    }

    fn close(&mut self) {
        if self.session.has_stood_down() {
            return;
        }
        self.save_screen();
        if let Some(mut holder) = self.holder.take() {
            // The connection has ended, so the holder is about to, and nothing else waits for it.
            std::thread::spawn(move || drop(holder.wait()));
        }
        self.answer_stoppers();
        self.services.sessions.remove(&self.record.start.id, self.record.process);
    }

    fn answer_stoppers(&mut self) {
        for stopper in self.stoppers.drain(..) {
            let _ = stopper.send(());
        }
    }
}

/// Waits for a moment, or for ever if there is none.
async fn sleep_until(deadline: Option<Steady>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(clock::instant(at)).await,
        None => std::future::pending().await,
    }
}
