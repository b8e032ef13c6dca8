//! One client of the daemon.

mod messages;
mod runs_of;

use std::sync::atomic::{AtomicU64, Ordering};

use ostler_core::State;
use ostler_protocol::frame::FrameError;
use ostler_protocol::{
    DaemonInfo, ErrorKind, EventInfo, Explanation, PROTOCOL, Problem, Request, Response, SessionInfo,
};
use tokio::net::UnixStream;

use crate::daemon::Control;
use crate::frame_stream::FrameStream;
use crate::registry::{Found, Shared};
use crate::session::{Command, ended_info, store_problem};
use crate::{clock, context, hooks, runs, start, stop, store_choice, view};

/// Most events in one answer.
const MAX_EVENTS: u32 = 1_000;

static VIEWERS: AtomicU64 = AtomicU64::new(1);

/// Serves a client until it leaves.
pub(crate) async fn serve(stream: UnixStream, shared: Shared, control: Control) {
    let own = rustix::process::geteuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
        tracing::warn!("a client of another user was refused");
        return;
    }
    let mut connection = Connection { shared, control, stream: FrameStream::new(stream) };
    match connection.run().await {
        Ok(()) | Err(FrameError::Closed) => {}
        Err(error) => tracing::debug!(%error, "a client's connection ended"),
    }
}

struct Connection {
    shared: Shared,
    control: Control,
    stream: FrameStream,
}

impl Connection {
    async fn run(&mut self) -> Result<(), FrameError> {
        let Request::Hello { protocol, version } = self.request().await? else {
            let problem = Problem::new(ErrorKind::Usage, "a connection begins with hello");
            return self.stream.say(&Response::Failed(problem)).await;
        };
        if protocol != PROTOCOL {
            tracing::warn!(protocol, version, "a client speaks another protocol");
        }
        self.stream.say(&Response::Welcome(self.daemon_info())).await?;
        loop {
            let request = match self.request().await {
                Err(FrameError::Json(error)) => {
                    let problem = Problem::new(
                        ErrorKind::Usage,
                        format!("the daemon does not know this request: {error}"),
                    )
                    .hint("its version may be older: ostler daemon stop, then try again (programs go on)");
                    self.stream.say(&Response::Failed(problem)).await?;
                    continue;
                }
                other => other?,
            };
            if let Request::View(request) = request {
                let viewer = VIEWERS.fetch_add(1, Ordering::Relaxed);
                view::serve(&self.shared, request, viewer, &mut self.stream).await?;
            } else {
                let answer = self.answer(request).await?;
                self.stream.say(&answer.unwrap_or_else(Response::Failed)).await?;
            }
        }
    }

    async fn request(&mut self) -> Result<Request, FrameError> {
        self.stream.next().await?.json()
    }

    /// Answers a request; an error of the outer kind ends the connection.
    async fn answer(&mut self, request: Request) -> Result<Result<Response, Problem>, FrameError> {
        let session = |info: SessionInfo| Response::Session(Box::new(info));
        Ok(match request {
            Request::Hello { .. } | Request::Daemon => Ok(Response::Welcome(self.daemon_info())),
            Request::Start(request) => start::start(&self.shared, *request).await.map(session),
            Request::List { all } => self.list(all).await,
            Request::Status { name } => self.status(&name).await.map(session),
            Request::Explain { name } => self.explain(&name).await,
            Request::Send { name, id, wait, terms } => {
                let body = self.stream.next().await?.bytes()?;
                self.send(&name, messages::Sent { id, body, terms }, wait).await?
            }
            Request::Await { name, id, wait } => self.await_message(&name, id, wait).await?,
            Request::Messages { name, all } => self.messages(name, all).await,
            Request::RetryMessage { id, name } => self.retry_message(&id, name.as_deref()).await,
            Request::DropMessage { id, name } => self.drop_message(&id, name.as_deref()).await,
            Request::Acknowledge { id, session } => self.acknowledge(&id, session.as_deref()).await,
            Request::Metrics => self.metrics().await,
            Request::Run(request) => {
                runs::begin(&self.shared, *request).await.map(|run| Response::Run(Box::new(run)))
            }
            Request::RunStatus { id, after } => self.run_status(&id, after).await?,
            Request::Runs { all } => runs::list(&self.shared, all).await.map(|runs| Response::Runs { runs }),
            Request::CancelRun { id } => {
                runs::cancel(&self.shared, &id).await.map(|run| Response::Run(Box::new(run)))
            }
            Request::Providers => self.providers().await,
            Request::ResetProvider { provider } => match runs::reset(&self.shared, provider.as_deref()).await
            {
                Ok(()) => self.providers().await,
                Err(error) => Err(runs::trouble(&error)),
            },
            Request::Wait { name, states } => self.wait(&name, &states).await?.map(session),
            Request::Stop { name, grace_ms } => stop::stop(&self.shared, &name, grace_ms).await.map(session),
            Request::Events { name, after, follow } => self.events(name, after, follow).await?,
            Request::Hook(report) => {
                let payload = self.stream.next().await?.bytes()?;
                hooks::receive(&self.shared, *report, payload).await
            }
            Request::Context(request) => context::load(&self.shared, *request).await,
            Request::ContextRecords { place } => context::records(&self.shared, place).await,
            Request::SaveContext(request) => context::save(&self.shared, *request).await,
            Request::ClearContext { place, records } => context::clear(&self.shared, place, records).await,
            Request::Shutdown => {
                self.control.shut_down();
                Ok(Response::Done)
            }
            Request::View(_) | Request::Resize { .. } => {
                Err(Problem::new(ErrorKind::Usage, "this request belongs to a view"))
            }
        })
    }

    fn daemon_info(&self) -> DaemonInfo {
        DaemonInfo {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            sessions: self.shared.sessions.all().len(),
            since: clock::shown(self.control.started),
            home: self.shared.home.path().display().to_string(),
            store: store_choice::shown(&self.shared.common),
        }
    }

    async fn list(&self, all: bool) -> Result<Response, Problem> {
        let mut sessions = Vec::new();
        for handle in self.shared.sessions.all() {
            if let Ok(info) = handle.ask(Command::Info).await {
                sessions.push(info);
            }
        }
        if all {
            let recorded = self
                .shared
                .store
                .run(|store| store.sessions(true))
                .await
                .map_err(|error| store_problem(&error))?;
            let ended = recorded.iter().filter(|session| session.ending.is_some()).map(ended_info);
            let live: Vec<String> = sessions.iter().map(|session| session.id.clone()).collect();
            sessions.extend(ended.filter(|session| !live.contains(&session.id)));
        }
        sessions.sort_by(|a, b| a.started.cmp(&b.started).then_with(|| a.id.cmp(&b.id)));
        Ok(Response::Sessions { sessions })
    }

    async fn status(&self, name: &str) -> Result<SessionInfo, Problem> {
        let mut info = match self.shared.find(name).await? {
            Found::Live(handle) => match handle.ask(Command::Inspect).await {
                Ok(info) => info,
                Err(_) => self.recorded(&handle.id).await?,
            },
            Found::Ended(session) => ended_info(&session),
        };
        info.deliveries = messages::delivered(&self.shared, &info.id).await;
        Ok(info)
    }

    async fn explain(&self, name: &str) -> Result<Response, Problem> {
        let explained = |explanation| Response::Explanation(Box::new(explanation));
        let ended = |session| {
            explained(Explanation { session, signals: Vec::new(), rules: Vec::new(), files: Vec::new() })
        };
        match self.shared.find(name).await? {
            Found::Live(handle) => match handle.ask(Command::Explain).await {
                Ok(explanation) => Ok(explained(explanation)),
                Err(_) => self.recorded(&handle.id).await.map(ended),
            },
            Found::Ended(session) => Ok(ended(ended_info(&session))),
        }
    }

    async fn recorded(&self, id: &str) -> Result<SessionInfo, Problem> {
        let id = id.to_owned();
        let found = self
            .shared
            .store
            .run(move |store| store.session(&id))
            .await
            .map_err(|error| store_problem(&error))?;
        found
            .as_ref()
            .map(ended_info)
            .ok_or_else(|| Problem::new(ErrorKind::Internal, "the session has no record"))
    }

    /// Completes when the client leaves, or says something before it has its answer, which none of ours does.
    async fn left(&mut self) -> FrameError {
        self.stream.next().await.err().unwrap_or(FrameError::Unexpected)
    }

    async fn wait(
        &mut self,
        name: &str,
        states: &[State],
    ) -> Result<Result<SessionInfo, Problem>, FrameError> {
        let handle = match self.shared.find(name).await {
            Ok(Found::Live(handle)) => handle,
            Ok(Found::Ended(session)) => return Ok(Ok(ended_info(&session))),
            Err(problem) => return Ok(Err(problem)),
        };
        let mut state = handle.state.clone();
        let wanted = |state: State| states.contains(&state) || state == State::Exited;
        loop {
            let ended = tokio::select! {
                // An actor that ends drops its side, and an ended session is no longer waited for.
                found = state.wait_for(|state| wanted(*state)) => found.is_err(),
                left = self.left() => return Err(left),
            };
            let found = self.status(&handle.id).await;
            // It may have been so for a moment only, and is something else by the time it is asked.
            if ended || found.as_ref().map_or(true, |info| wanted(info.state)) {
                return Ok(found);
            }
            tokio::select! {
                _ = state.changed() => {}
                left = self.left() => return Err(left),
            }
        }
    }

    async fn events(
        &mut self,
        name: Option<String>,
        after: i64,
        follow: bool,
    ) -> Result<Result<Response, Problem>, FrameError> {
        let session = match name {
            None => None,
            Some(name) => match self.shared.find(&name).await {
                Ok(Found::Live(handle)) => Some(handle.id),
                Ok(Found::Ended(session)) => Some(session.start.id),
                Err(problem) => return Ok(Err(problem)),
            },
        };
        let mut changes = self.shared.store.changes();
        loop {
            // Before the look: what is recorded after it wakes us.
            changes.mark_unchanged();
            let of = session.clone();
            let found =
                self.shared.store.run(move |store| store.events(of.as_deref(), after, MAX_EVENTS)).await;
            let events: Vec<EventInfo> = match found {
                Ok(events) => events.into_iter().map(shown_event).collect(),
                Err(error) => return Ok(Err(store_problem(&error))),
            };
            if !events.is_empty() || !follow {
                return Ok(Ok(Response::Events { events }));
            }
            tokio::select! {
                _ = changes.changed() => {}
                left = self.left() => return Err(left),
            }
        }
    }
}

fn shown_event(event: ostler_store::Event) -> EventInfo {
    EventInfo {
        seq: event.seq,
        at: clock::shown(event.at),
        session: event.session,
        event: event.event,
        details: event.details,
    }
}
