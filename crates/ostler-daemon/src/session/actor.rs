//! The task that owns a session.

mod accepting;
mod afterwards;
mod answering;
mod commands;
mod conversation;
mod delivering;
mod ending;
mod escalating;
mod explaining;
mod holder_link;
mod hook_report;
mod judging;
mod listening;
mod messages;
mod observing;
mod person;
mod resuming;
mod viewing;
mod writes;

use std::collections::BTreeMap;
use std::process::Child;

use ostler_agents::Observer;
use ostler_core::judge;
use ostler_core::lifecycle::{self, Lifecycle, Phase};
use ostler_core::typing::Typing;
use ostler_core::{Proof, State, Timestamp};
use ostler_hold::wire::{Request, Status};
use ostler_hold::{ExitRecord, SessionDir};
use ostler_protocol::{ErrorKind, Problem, SessionInfo};
use ostler_screen::{Signal, Size};
use ostler_store::{Ending, MessageState, Session, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

pub(crate) use self::afterwards::droppable;
use self::answering::Answering;
use self::conversation::Conversation;
use self::judging::Judging;
pub(crate) use self::messages::with_request;
use self::person::HeldKeys;
use self::resuming::Resumable;
use super::deliveries::Deliveries;
use super::output::Output;
use super::{Command, SessionHandle};
use crate::clock;
use crate::knowledge::Known;
use crate::link::{Link, LinkError};
use crate::process::Ticks;
use crate::registry::Shared;
use crate::transcript::Batch;

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

/// All that the daemon knows of one session.
#[derive(Debug)]
pub(crate) struct Actor {
    shared: Shared,
    record: Session,
    dir: SessionDir,
    lifecycle: Lifecycle,
    typing: Typing,
    output: Output,
    /// What is known of the agent.
    known: Known,
    observer: Observer,
    conversation: Conversation,
    judging: Judging,
    /// The rules are being read.
    learning: Option<JoinHandle<Known>>,
    /// What was last told in output that was there before us.
    old_signals: Vec<Signal>,
    /// CPU time of the session's processes at the last look.
    ticks: Option<(Ticks, Timestamp)>,
    editions: watch::Receiver<u64>,
    link: Option<Link>,
    connecting: Option<JoinHandle<Result<(Link, Status), LinkError>>>,
    /// The holder, if it is a child of this process and has to be reaped.
    holder: Option<Child>,
    holder_pid: Option<u32>,
    deliveries: Deliveries,
    answering: Option<Answering>,
    /// When the agent last wished for its context.
    wished: Option<Timestamp>,
    resumable: Resumable,
    /// What a person typed in the moment between a text and its Enter.
    held_keys: HeldKeys,
    /// Why the terminal did not take the last write.
    why_refused: Option<String>,
    stoppers: Vec<oneshot::Sender<()>>,
    /// Those who wait for the holder's word on the terminal, until this moment.
    inspectors: Vec<(Timestamp, oneshot::Sender<SessionInfo>)>,
    grace_ms: u32,
    viewers: BTreeMap<u64, Size>,
    since: Timestamp,
    /// The holder's word on the end.
    exit: Option<ExitRecord>,
    /// The end, until the store has it.
    unrecorded: Option<Ending>,
    /// What is proven of messages, until the store has it.
    unproven: BTreeMap<u64, Proof>,
    /// Messages that were given up, until the store has it.
    ungiven: BTreeMap<u64, (MessageState, String)>,
    store_retry_at: Option<Timestamp>,
    /// When an ended session is left, whatever its holder does.
    leave_at: Option<Timestamp>,
    /// Output up to this offset was there before we were; until it is read, or this moment has come, nobody is
    /// told what the screen shows.
    catching_up: Option<(u64, Timestamp)>,
    stood_down: bool,
    commands: mpsc::Receiver<Command>,
    state: watch::Sender<State>,
    size: watch::Sender<Size>,
}

/// What woke the actor.
enum Woken {
    Command(Option<Command>),
    Link(Result<(), LinkError>),
    Connected(Result<(Link, Status), LinkError>),
    /// Files about agents have changed.
    Edited,
    /// The rules were read.
    Learnt(Option<Known>),
    /// The agent wrote something down.
    Conversation(Batch),
    /// The judge was asked, or has answered.
    Judge(judge::Event),
    Deadline,
}

impl Actor {
    /// Makes an actor and the first ticket to it.
    pub(crate) fn new(shared: Shared, record: Session, origin: &Origin) -> (Self, SessionHandle) {
        let dir = SessionDir::new(&record.start.dir);
        let size = Size::clamped(record.start.cols, record.start.rows);
        let (sender, commands) = mpsc::channel(BACKLOG);
        let (state, state_receiver) = watch::channel(State::Starting);
        let (size_sender, size_receiver) = watch::channel(size);
        let handle = SessionHandle {
            id: record.start.id.clone(),
            name: record.start.name.clone(),
            dir: dir.clone(),
            commands: sender,
            state: state_receiver,
            size: size_receiver,
        };
        let output = match origin {
            Origin::Launched(_) => Output::new(dir.clone(), size),
            Origin::Recovered => Output::recovered(dir.clone(), size),
        };
        let known = Known::default();
        let (observer, since, conversation) = observing::observer(&known, record.memory.as_deref());
        let actor = Self {
            lifecycle: Lifecycle::recorded(record.stop_requested),
            since: since.unwrap_or(record.start.created),
            editions: shared.knowledge.editions(),
            known,
            observer,
            old_signals: Vec::new(),
            ticks: None,
            learning: None,
            conversation,
            judging: Judging::default(),
            shared,
            record,
            dir,
            typing: Typing::default(),
            output,
            link: None,
            connecting: None,
            holder: None,
            holder_pid: None,
            deliveries: Deliveries::default(),
            answering: None,
            wished: None,
            resumable: Resumable::default(),
            held_keys: HeldKeys::default(),
            why_refused: None,
            stoppers: Vec::new(),
            inspectors: Vec::new(),
            grace_ms: 5_000,
            viewers: BTreeMap::new(),
            exit: None,
            unrecorded: None,
            unproven: BTreeMap::new(),
            ungiven: BTreeMap::new(),
            store_retry_at: None,
            leave_at: None,
            catching_up: None,
            stood_down: false,
            commands,
            state,
            size: size_sender,
        };
        (actor, handle)
    }

    /// Looks after the session until it has ended and nobody has to be told.
    pub(crate) async fn run(mut self, origin: Origin) {
        let recovered = matches!(origin, Origin::Recovered);
        if let Err(error) = self.load_messages(recovered).await {
            // Without the record, a message could be typed twice: leave the session to a better day.
            tracing::error!(session = %self.record.start.name, %error, "cannot take up the session");
            return;
        }
        let event = match origin {
            Origin::Launched(holder) => {
                self.holder = Some(holder);
                lifecycle::Event::Launched
            }
            Origin::Recovered => lifecycle::Event::Recovered,
        };
        self.learn_rules();
        self.live(event).await;
        while !self.is_over() {
            match self.wait().await {
                Woken::Command(Some(command)) => self.on_command(command).await,
                Woken::Command(None) => break,
                Woken::Link(Ok(())) => {
                    self.on_frames().await;
                    // A flood would otherwise keep this thread's other tasks waiting.
                    tokio::task::yield_now().await;
                }
                Woken::Link(Err(error)) => self.on_disconnect(&error).await,
                Woken::Connected(result) => self.on_connect(result).await,
                Woken::Edited => self.learn_rules(),
                Woken::Learnt(known) => self.on_rules(known).await,
                Woken::Conversation(batch) => self.on_conversation(batch).await,
                Woken::Judge(event) => self.on_judge(event).await,
                Woken::Deadline => self.on_deadline().await,
            }
        }
        self.close();
    }

    async fn wait(&mut self) -> Woken {
        let deadline = self.deadline();
        let listens = self.listens();
        let Self { commands, link, connecting, editions, learning, conversation, judging, .. } = self;
        // People first: a program that floods its terminal must not keep those who look at it waiting.
        let woken = tokio::select! {
            biased;
            command = commands.recv(), if listens => Woken::Command(command),
            () = sleep_until(deadline) => Woken::Deadline,
            Ok(()) = editions.changed() => Woken::Edited,
            Some(known) = async { Some(learning.as_mut()?.await) } => Woken::Learnt(known.ok()),
            Some(result) = async { Some(link.as_mut()?.ready().await) } => Woken::Link(result),
            Some(batch) = conversation.news() => Woken::Conversation(batch),
            Some(event) = judging.news() => Woken::Judge(event),
            Some(result) = async { Some(connecting.as_mut()?.await) } => {
                Woken::Connected(result.unwrap_or(Err(LinkError::Silent)))
            }
        };
        match woken {
            Woken::Connected(_) => *connecting = None,
            Woken::Learnt(_) => *learning = None,
            _ => {}
        }
        woken
    }

    /// Whether commands are taken now. In the moments after a start, answers would be out of date.
    fn listens(&self) -> bool {
        !matches!(self.lifecycle.phase(), Phase::Launching | Phase::Attaching { attempt: 0 })
            && self.catching_up.is_none()
    }

    fn deadline(&self) -> Option<Timestamp> {
        [
            self.lifecycle.deadline(),
            self.typing.deadline(),
            self.output.picture_due(),
            self.store_retry_at,
            self.leave_at,
            self.catching_up.map(|(_, until)| until),
            self.inspectors.first().map(|(until, _)| *until),
            self.observing_until(),
            self.delivering_until(),
            self.held_keys.until(),
            self.answering_until(),
            self.judging.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    async fn on_deadline(&mut self) {
        let now = clock::steady();
        if self.output.picture_due().is_some_and(|at| now >= at) {
            self.output.picture(now);
        }
        if self.catching_up.is_some_and(|(_, until)| now >= until) {
            self.catching_up = None;
            self.on_caught_up().await;
        }
        if self.observing_until().is_some_and(|at| now >= at) {
            self.observe(Observer::tick).await;
        }
        if self.deliveries.person.is_some_and(|until| now >= until) {
            self.deliveries.person = None;
        }
        if self.judging.deadline().is_some_and(|at| now >= at) {
            self.on_judge(judge::Event::Tick).await;
        }
        if self.leave_at.is_some_and(|at| now >= at) {
            // The holder had its time.
            self.leave_at = None;
            self.link = None;
        }
        if self.inspectors.first().is_some_and(|(until, _)| now >= *until) {
            self.inspected(None);
        }
        if self.store_retry_at.is_some_and(|at| now >= at) {
            self.retry_store().await;
        }
        self.live(lifecycle::Event::Tick).await;
        let actions = self.typing.tick(now);
        self.perform_typing(actions).await;
        self.answer_dialog().await;
        self.deliver(None).await;
        self.release_keys().await;
    }

    /// Gives an event to the lifecycle and does what it says.
    async fn live(&mut self, event: lifecycle::Event) {
        let before = self.described().0;
        for action in self.lifecycle.handle(event, clock::steady()) {
            match action {
                lifecycle::Action::Connect => {
                    let dir = self.dir.clone();
                    self.connecting = Some(tokio::spawn(async move { Link::connect(&dir).await }));
                }
                lifecycle::Action::Stop => {
                    let grace_ms = self.grace_ms;
                    self.request(&Request::Stop { grace_ms });
                }
                lifecycle::Action::StopBySignal => {
                    if let Some(holder) = self.dir.read_identity() {
                        holder.signal(rustix::process::Signal::TERM);
                    }
                }
                lifecycle::Action::Finish(end) => self.finish(&end).await,
            }
        }
        let (state, kind, because) = self.described();
        if state != before && matches!(self.lifecycle.phase(), Phase::Ended(_)) {
            self.since = clock::now();
            tracing::info!(session = %self.record.start.name, from = %before, to = %state, ?kind, ?because, "state");
        }
        self.publish();
        // Nobody is asked about a program that cannot be seen.
        self.consult().await;
    }

    /// When the observer wants to look again; of a program that is gone there is nothing to see.
    fn observing_until(&self) -> Option<Timestamp> {
        self.observer
            .deadline()
            .filter(|_| matches!(self.lifecycle.phase(), Phase::Attached) && self.watches())
    }

    fn log_store<T>(&self, result: &Result<T, StoreError>) {
        if let Err(error) = result {
            tracing::error!(session = %self.record.start.name, %error, "not recorded");
        }
    }
}

/// Waits for a moment, or for ever if there is none.
async fn sleep_until(deadline: Option<Timestamp>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(clock::instant(at)).await,
        None => std::future::pending().await,
    }
}

/// One id for two messages.
pub(crate) fn reused_id(id: &str) -> Problem {
    Problem::new(
        ErrorKind::Conflict,
        format!("message {id:?} was sent before with another body, or in another way (--raw)"),
    )
    .hint("use another --id for another message")
}

/// A failure of the store as the client sees it.
pub(crate) fn store_problem(error: &StoreError) -> Problem {
    match error {
        StoreError::NameTaken(name) => {
            Problem::new(ErrorKind::Conflict, format!("a running session is called {name:?} already"))
                .hint(format!("choose another --name, or end it: ostler stop {name}"))
        }
        StoreError::Unwritable(_) => Problem::new(ErrorKind::Storage, error.to_string()).hint(
            "free some disk space, or point OSTLER_HOME elsewhere; programs under care go on meanwhile",
        ),
        _ => Problem::new(ErrorKind::Internal, error.to_string()),
    }
}
