//! The task that owns a session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::process::Child;
use std::time::Duration;

use ostler_core::lifecycle::{self, End, Lifecycle, Phase};
use ostler_core::typing::{self, Answer, Failure, Frame, Settled, Typing};
use ostler_core::{State, Timestamp};
use ostler_hold::wire::{self, Lane, Outcome, Reply, Request, Status};
use ostler_hold::{SessionDir, crc32, read_remains};
use ostler_protocol::{ErrorKind, MessageInfo, Problem, SessionInfo, TerminalInfo};
use ostler_screen::Size;
use ostler_store::{Accepted, Ending, MessageState, NewMessage, Session, Store, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::output::Output;
use super::{Command, Look, SendCommand, SessionHandle, info};
use crate::link::{Link, LinkError};
use crate::registry::Shared;
use crate::{clock, evidence};

/// Commands that may wait for an actor.
const BACKLOG: usize = 32;
/// How long a holder whose program has ended may stay; it leaves earlier unless it is still killing.
const FAREWELL: Duration = Duration::from_secs(30);
/// How long the output that was there before may take to be read.
const CATCH_UP: Duration = Duration::from_secs(2);
/// How long a holder may take to tell about its terminal.
const INSPECTION: Duration = Duration::from_secs(1);
/// When to try again to record what the store refused.
const STORE_RETRY: Duration = Duration::from_secs(1);

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
    link: Option<Link>,
    connecting: Option<JoinHandle<Result<(Link, Status), LinkError>>>,
    /// The holder, if it is a child of this process and has to be reaped.
    holder: Option<Child>,
    holder_pid: Option<u32>,
    /// Sequence of the last message.
    last_seq: u64,
    /// Those who wait for a message to be settled.
    senders: HashMap<u64, Vec<oneshot::Sender<MessageInfo>>>,
    stoppers: Vec<oneshot::Sender<()>>,
    /// Those who wait for the holder's word on the terminal, until this moment.
    inspectors: Vec<(Timestamp, oneshot::Sender<SessionInfo>)>,
    grace_ms: u32,
    viewers: BTreeMap<u64, Size>,
    since: Timestamp,
    /// The end, until the store has it.
    unrecorded: Option<Ending>,
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
        let actor = Self {
            lifecycle: Lifecycle::recorded(record.stop_requested),
            since: record.start.created,
            shared,
            record,
            dir,
            typing: Typing::default(),
            output,
            link: None,
            connecting: None,
            holder: None,
            holder_pid: None,
            last_seq: 0,
            senders: HashMap::new(),
            stoppers: Vec::new(),
            inspectors: Vec::new(),
            grace_ms: 5_000,
            viewers: BTreeMap::new(),
            unrecorded: None,
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
        if let Err(error) = self.load_messages().await {
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
        self.live(event).await;
        while !self.is_over() {
            match self.wait().await {
                Woken::Command(Some(command)) => self.on_command(command).await,
                Woken::Command(None) => break,
                Woken::Link(Ok(())) => self.on_frames().await,
                Woken::Link(Err(error)) => self.on_disconnect(&error).await,
                Woken::Connected(result) => self.on_connect(result).await,
                Woken::Deadline => self.on_deadline().await,
            }
        }
        self.close();
    }

    async fn load_messages(&mut self) -> Result<(), StoreError> {
        let id = self.record.start.id.clone();
        let (last, unsettled) =
            self.shared.store.run(move |store| Ok((store.last_seq(&id)?, store.unsettled(&id)?))).await?;
        self.last_seq = last;
        for seq in unsettled {
            let actions = self.typing.message(seq);
            debug_assert!(actions.is_empty(), "nothing is offered before the holder is there");
        }
        Ok(())
    }

    async fn wait(&mut self) -> Woken {
        let deadline = self.deadline();
        let listens = self.listens();
        let Self { commands, link, connecting, .. } = self;
        let woken = tokio::select! {
            Some(result) = async { Some(link.as_mut()?.ready().await) } => Woken::Link(result),
            Some(result) = async { Some(connecting.as_mut()?.await) } => {
                Woken::Connected(result.unwrap_or(Err(LinkError::Silent)))
            }
            () = sleep_until(deadline) => Woken::Deadline,
            command = commands.recv(), if listens => Woken::Command(command),
        };
        if matches!(woken, Woken::Connected(_)) {
            *connecting = None;
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
        ]
        .into_iter()
        .flatten()
        .min()
    }

    async fn on_deadline(&mut self) {
        let now = clock::now();
        if self.output.picture_due().is_some_and(|at| now >= at) {
            self.output.picture(now);
        }
        self.catching_up = self.catching_up.filter(|(_, until)| now < *until);
        if self.inspectors.first().is_some_and(|(until, _)| now >= *until) {
            self.inspected(None);
        }
        if self.store_retry_at.is_some_and(|at| now >= at) {
            self.record_end().await;
        }
        self.live(lifecycle::Event::Tick).await;
        let actions = self.typing.tick(now);
        self.perform_typing(actions).await;
    }

    /// Whether there is nothing left to do.
    fn is_over(&self) -> bool {
        let recorded = self.unrecorded.is_none();
        let left = self.link.is_none() || self.leave_at.is_some_and(|at| clock::now() >= at);
        self.stood_down || matches!(self.lifecycle.phase(), Phase::Ended(_)) && recorded && left
    }

    fn close(&mut self) {
        if self.stood_down {
            return;
        }
        self.output.picture(clock::now());
        if let Some(mut holder) = self.holder.take() {
            // The connection has ended, so the holder is about to, and nothing else waits for it.
            std::thread::spawn(move || drop(holder.wait()));
        }
        for stopper in self.stoppers.drain(..) {
            let _ = stopper.send(());
        }
        self.shared.sessions.remove(&self.record.start.id);
    }

    /// Gives an event to the lifecycle and does what it says.
    async fn live(&mut self, event: lifecycle::Event) {
        let before = info::describe(self.lifecycle.phase()).0;
        for action in self.lifecycle.handle(event, clock::now()) {
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
        let (state, kind, because) = info::describe(self.lifecycle.phase());
        if state != before {
            self.since = clock::now();
            tracing::info!(session = %self.record.start.name, from = %before, to = %state, ?kind, ?because, "state");
        }
        self.state.send_replace(state);
    }

    async fn on_connect(&mut self, result: Result<(Link, Status), LinkError>) {
        let (link, status) = match result {
            Ok(connected) => connected,
            Err(error) => {
                tracing::debug!(session = %self.record.start.name, %error, "no connection to the holder");
                return self.live(lifecycle::Event::Disconnected(evidence::gather(&self.dir))).await;
            }
        };
        self.link = Some(link);
        self.holder_pid = self.dir.read_identity().map(|identity| identity.pid);
        self.on_welcome(&status).await;
        self.request(&Request::Subscribe { from: self.output.offset, paced: true });
        if self.output.offset < status.written {
            self.catching_up = Some((status.written, clock::now().plus(CATCH_UP)));
        }
        self.live(lifecycle::Event::Connected).await;
        let [_, keys, replies] = status.seqs;
        let actions = self.typing.connected(keys, replies);
        self.perform_typing(actions).await;
    }

    async fn on_welcome(&mut self, status: &Status) {
        // A ledger that is ahead of the record has typed messages that the record lost.
        self.last_seq = self.last_seq.max(status.seqs[Lane::Message.index()]);
        if self.record.pid != Some(status.child) {
            self.record.pid = Some(status.child);
            let (id, pid, at) = (self.record.start.id.clone(), status.child, clock::now());
            let recorded = self.shared.store.run(move |store| store.session_started(&id, pid, at)).await;
            self.log_store(&recorded);
        }
        let size = Size::clamped(status.cols, status.rows);
        if size != self.output.screen.size() {
            self.output.screen.resize(size);
            self.size.send_replace(size);
        }
    }

    fn request(&mut self, request: &Request<'_>) {
        if let Some(link) = &mut self.link {
            link.queue(request);
        }
    }

    /// Reads the frames that have arrived.
    async fn on_frames(&mut self) {
        let Some(link) = &mut self.link else { return };
        let inbox = link.take_inbox();
        let mut rest = inbox.as_slice();
        let failed = loop {
            match wire::split_frame(rest) {
                Ok(None) => break None,
                Ok(Some((frame, behind))) => {
                    rest = behind;
                    match Reply::decode(frame) {
                        Ok(Some(reply)) => self.on_reply(reply).await,
                        Ok(None) => {}
                        Err(error) => break Some(error),
                    }
                }
                Err(error) => break Some(error),
            }
        };
        let used = inbox.len() - rest.len();
        if let Some(link) = &mut self.link {
            link.put_back(used, inbox);
        }
        self.catching_up = self.catching_up.filter(|(offset, _)| self.output.offset < *offset);
        if let Some(error) = failed {
            self.on_disconnect(&error.into()).await;
        } else if self.output.picture_due().is_some_and(|at| clock::now() >= at) {
            self.output.picture(clock::now());
        }
    }

    async fn on_reply(&mut self, reply: Reply<'_>) {
        match reply {
            Reply::Output { offset, bytes } => {
                for owed in self.output.feed(offset, bytes) {
                    let actions = self.typing.reply(owed.offset, owed.bytes);
                    self.perform_typing(actions).await;
                }
            }
            Reply::Gap { from, resumed } => {
                tracing::warn!(session = %self.record.start.name, from, resumed, "output was lost");
                self.output.gap(from, resumed);
            }
            Reply::Input { outcome, offset, .. } => {
                let actions = self.typing.answered(answer(outcome, offset), clock::now());
                self.perform_typing(actions).await;
            }
            Reply::Exited(record) => {
                self.live(lifecycle::Event::Exited { status: record.status, signal: record.signal }).await;
            }
            Reply::Refused { reason } => {
                tracing::warn!(session = %self.record.start.name, reason, "the holder refused a request");
            }
            Reply::Status(status) => self.inspected(Some(&status)),
            Reply::Welcome { .. } => {}
        }
    }

    async fn on_disconnect(&mut self, error: &LinkError) {
        self.catching_up = None;
        self.inspected(None);
        tracing::debug!(session = %self.record.start.name, %error, "the connection to the holder has ended");
        self.link = None;
        self.typing.disconnected();
        self.live(lifecycle::Event::Disconnected(evidence::gather(&self.dir))).await;
    }

    async fn perform_typing(&mut self, actions: Vec<typing::Action>) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            match action {
                typing::Action::Offer(frame) => self.offer(frame).await,
                typing::Action::Settle(seq, settled) => {
                    if let Err(error) = self.settle(seq, settled).await {
                        // Not recorded is not told. Offered again, the ledger will say the same.
                        self.log_store(&Err::<(), _>(error));
                        actions.extend(self.typing.message(seq));
                    }
                }
                typing::Action::StandDown => {
                    tracing::error!(session = %self.record.start.name, "a newer daemon has the session");
                    self.stood_down = true;
                }
            }
        }
    }

    async fn offer(&mut self, frame: Frame) {
        let (lane, seq, bytes) = match frame {
            Frame::Reply { seq, bytes } => (Lane::Reply, seq, bytes),
            Frame::Keys { seq, bytes } => (Lane::Keys, seq, bytes),
            Frame::Message { seq } => {
                let id = self.record.start.id.clone();
                match self.shared.store.run(move |store| store.begin_attempt(&id, seq)).await {
                    Ok(Some(body)) => (Lane::Message, seq, body),
                    Ok(None) => return tracing::error!(seq, "a queued message has no record"),
                    Err(error) => {
                        // Not offered, so not typed: as if the holder had no room yet.
                        tracing::warn!(%error, "a message has to wait for the store");
                        let waiting = self.typing.answered(Answer::Full, clock::now());
                        debug_assert!(waiting.is_empty());
                        return;
                    }
                }
            }
        };
        let epoch = self.shared.epoch;
        self.request(&Request::Input { lane, epoch, seq, crc: crc32(&bytes), bytes: &bytes });
    }

    /// Records what became of a message, then tells those who wait for it.
    async fn settle(&mut self, seq: u64, settled: Settled) -> Result<(), StoreError> {
        let (state, evidence) = match settled {
            Settled::Written { offset, earlier: false } => (
                MessageState::Written,
                format!("holder ledger: sequence {seq} typed at output offset {offset}"),
            ),
            Settled::Written { earlier: true, .. } => (
                MessageState::Written,
                format!("holder ledger: sequence {seq} was typed by an earlier attempt"),
            ),
            Settled::Failed(Failure::ProgramEnded) => (MessageState::Failed, "the program has ended".into()),
            Settled::Failed(Failure::Damaged) => {
                (MessageState::Failed, "the bytes did not arrive whole".into())
            }
        };
        let (id, at) = (self.record.start.id.clone(), clock::now());
        let settle = move |store: &mut Store| {
            store.settle_message(&id, seq, state, &evidence, at)?;
            store.message_by_seq(&id, seq)
        };
        let message = self.shared.store.run(settle).await?;
        if let (Some(senders), Some(message)) = (self.senders.remove(&seq), message) {
            let message = info::message(&self.record.start.name, &message);
            for sender in senders {
                let _ = sender.send(message.clone());
            }
        }
        Ok(())
    }

    async fn on_command(&mut self, command: Command) {
        match command {
            Command::Info(reply) => drop(reply.send(self.info())),
            Command::Inspect(reply) => {
                self.inspectors.push((clock::now().plus(INSPECTION), reply));
                self.request(&Request::Query);
                if self.link.is_none() {
                    self.inspected(None);
                }
            }
            Command::Look(reply) => {
                let look = Look {
                    info: self.info(),
                    restore: self.output.screen.to_restore(),
                    offset: self.output.offset,
                    missing: self.output.missing,
                };
                drop(reply.send(look));
            }
            Command::Send(command) => self.on_send(*command).await,
            Command::Keys(bytes) => match self.typing.keys(&bytes) {
                Ok(actions) => self.perform_typing(actions).await,
                Err(error) => tracing::warn!(session = %self.record.start.name, %error, "keys dropped"),
            },
            Command::Viewer { viewer, size } => {
                self.viewers.insert(viewer, size);
                self.fit_viewers().await;
            }
            Command::ViewerGone { viewer } => {
                self.viewers.remove(&viewer);
                self.fit_viewers().await;
            }
            Command::Stop { grace_ms, done } => self.on_stop(grace_ms, done).await,
            Command::Park(done) => {
                self.output.picture(clock::now());
                let _ = done.send(());
            }
        }
    }

    async fn on_send(&mut self, command: SendCommand) {
        let SendCommand { id, body, queued, settled } = command;
        let seq = self.last_seq + 1;
        let session = self.record.start.id.clone();
        let message = NewMessage { session, id, seq, body, at: clock::now() };
        let accepted = self
            .shared
            .store
            .run(move |store| {
                let accepted = store.add_message(&message)?;
                Ok((accepted, store.message(&message.session, &message.id)?))
            })
            .await;
        let (accepted, stored) = match accepted {
            Ok((accepted, Some(stored))) => (accepted, stored),
            Ok((_, None)) => {
                return drop(
                    queued.send(Err(Problem::new(ErrorKind::Internal, "the message has no record"))),
                );
            }
            Err(error) => return drop(queued.send(Err(store_problem(&error)))),
        };
        let shown = info::message(&self.record.start.name, &stored);
        match accepted {
            Accepted::Conflict => {
                let problem = Problem::new(
                    ErrorKind::Conflict,
                    format!("message {:?} was sent before with another body", stored.id),
                )
                .hint("use another --id for another message");
                return drop(queued.send(Err(problem)));
            }
            Accepted::New => self.last_seq = seq,
            Accepted::Known(_) => {}
        }
        let _ = queued.send(Ok(shown.clone()));
        if stored.state == MessageState::Queued {
            self.senders.entry(stored.seq).or_default().push(settled);
        } else {
            let _ = settled.send(shown);
        }
        if matches!(accepted, Accepted::New) {
            let actions = if matches!(self.lifecycle.phase(), Phase::Ended(_)) {
                vec![typing::Action::Settle(seq, Settled::Failed(Failure::ProgramEnded))]
            } else {
                self.typing.message(seq)
            };
            self.perform_typing(actions).await;
        }
    }

    async fn on_stop(&mut self, grace_ms: u32, done: oneshot::Sender<()>) {
        self.stoppers.push(done);
        self.grace_ms = grace_ms;
        if !self.record.stop_requested {
            self.record.stop_requested = true;
            let (id, at) = (self.record.start.id.clone(), clock::now());
            let recorded = self.shared.store.run(move |store| store.stop_requested(&id, at)).await;
            // A person who wants a program gone wants it gone on a full disk too.
            self.log_store(&recorded);
        }
        self.live(lifecycle::Event::StopRequested).await;
    }

    /// The terminal is as large as the smallest terminal of those who type in it.
    async fn fit_viewers(&mut self) {
        let Some(size) = self
            .viewers
            .values()
            .copied()
            .reduce(|a, b| Size::clamped(a.cols.min(b.cols), a.rows.min(b.rows)))
        else {
            return;
        };
        if size == self.output.screen.size() {
            return;
        }
        let (id, at) = (self.record.start.id.clone(), clock::now());
        let recorded =
            self.shared.store.run(move |store| store.session_resized(&id, size.cols, size.rows, at)).await;
        self.log_store(&recorded);
        (self.record.start.cols, self.record.start.rows) = (size.cols, size.rows);
        self.request(&Request::Resize { cols: size.cols, rows: size.rows });
        self.output.screen.resize(size);
        self.size.send_replace(size);
    }

    async fn finish(&mut self, end: &End) {
        let now = clock::now();
        let mut ending = info::ending(end, now);
        if let Some(exit) = self.dir.read_exit() {
            ending.at = Timestamp(exit.at_ms);
            ending.output = exit.written;
            ending.cpu_us = exit.user_us + exit.system_us;
            ending.max_rss_kib = exit.max_rss_kib;
        }
        // What the holder had no time to hand over is in its ring.
        if let Ok(remains) = read_remains(&self.dir.ring()) {
            if remains.oldest > self.output.offset {
                self.output.gap(self.output.offset, remains.oldest);
            }
            // A terminal that is gone is owed no answers.
            drop(self.output.feed(remains.oldest, &remains.bytes));
        }
        ending.output = ending.output.max(self.output.offset);
        self.leave_at = Some(now.plus(FAREWELL));
        self.unrecorded = Some(ending);
        self.record_end().await;
        let actions = self.typing.ended();
        self.perform_typing(actions).await;
    }

    /// Records the end and lets the holder go; tried again until the store takes it.
    async fn record_end(&mut self) {
        self.store_retry_at = None;
        let Some(ending) = self.unrecorded.clone() else { return };
        let id = self.record.start.id.clone();
        let recorded = self.shared.store.run(move |store| store.session_ended(&id, &ending)).await;
        self.log_store(&recorded);
        if recorded.is_ok() {
            self.record.ending = self.unrecorded.take();
            self.request(&Request::Release);
        } else {
            self.store_retry_at = Some(clock::now().plus(STORE_RETRY));
        }
    }

    /// Answers all who asked for the terminal's settings, with what the holder said of them.
    fn inspected(&mut self, status: Option<&Status>) {
        let mut info = self.info();
        info.terminal = status.map(|status| TerminalInfo {
            canonical: status.canonical,
            echo: status.echo,
            signals: status.signals,
            foreground: Some(status.foreground).filter(|group| *group > 0),
            pending: status.pending,
        });
        for (_, inspector) in self.inspectors.drain(..) {
            let _ = inspector.send(info.clone());
        }
    }

    fn info(&self) -> SessionInfo {
        let mut info = info::from_record(&self.record);
        (info.state, info.kind, info.because) = info::describe(self.lifecycle.phase());
        info.since = clock::shown(self.since);
        info.title = self.output.screen.title().map(str::to_owned);
        info.output = self.output.offset;
        info.waiting = self.typing.waiting();
        info.holder = self.holder_pid;
        info.claims = self.output.claims.as_ref().and_then(|claims| serde_json::to_value(claims).ok());
        if self.output.missing > 0 {
            info.because.push(format!("{} bytes of output were lost", self.output.missing));
        }
        if let Some(ending) = self.record.ending.as_ref().or(self.unrecorded.as_ref()) {
            info::add_ending(&mut info, ending, self.record.stop_requested);
        }
        info
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

fn answer(outcome: Outcome, offset: u64) -> Answer {
    match outcome {
        Outcome::Written => Answer::Written { offset },
        Outcome::Duplicate => Answer::Duplicate { offset },
        Outcome::Pending => Answer::Pending,
        Outcome::Stale => Answer::Stale,
        Outcome::Corrupt => Answer::Corrupt,
        Outcome::Full => Answer::Full,
        Outcome::Closed => Answer::Closed,
    }
}
