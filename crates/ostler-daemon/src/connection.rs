//! One client on the unix socket: frames in, calls of the api, frames out.

use ostler_protocol::frame::{Frame, FrameError, MAX_FRAME};
use ostler_protocol::{
    Code, DaemonInfo, ErrorKind, MessageInfo, PROTOCOL, Problem, Request, Response, RunInfo, SessionInfo,
    ViewRequest,
};
use tokio::net::UnixStream;

use crate::api::context::{self, ProjectRecords};
use crate::api::messages::{self, Draft};
use crate::api::providers::{self, Providers};
use crate::api::views::{self, View, ViewEvent};
use crate::api::{conversation, daemon, dialogs, events, hooks, metrics, questions, runs, sessions, tools};
use crate::frame_stream::FrameStream;
use crate::services::Services;

/// Most bytes of a greeting.
const HELLO: usize = 4 * 1024;

/// Serves a client until it leaves.
pub(crate) async fn serve(stream: UnixStream, services: Services) {
    let own = rustix::process::geteuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == own) {
        tracing::warn!("a client of another user was refused");
        return;
    }
    let mut connection = Connection { services, stream: FrameStream::new(stream) };
    match connection.run().await {
        Ok(()) | Err(FrameError::Closed) => {}
        Err(error) => tracing::debug!(%error, "a client's connection ended"),
    }
}

struct Connection {
    services: Services,
    stream: FrameStream,
}

impl Connection {
    async fn run(&mut self) -> Result<(), FrameError> {
        let Request::Hello { protocol, version } = self.stream.due(HELLO).await?.json()? else {
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
                    .code(Code::UnknownRequest);
                    self.stream.say(&Response::Failed(problem)).await?;
                    continue;
                }
                other => other?,
            };
            if let Request::View(request) = request {
                self.view(request).await?;
            } else {
                let answer = self.answer(request).await?;
                self.stream.say(&answer.unwrap_or_else(Response::Failed)).await?;
            }
        }
    }

    async fn request(&mut self) -> Result<Request, FrameError> {
        self.stream.next().await?.json()
    }

    fn daemon_info(&self) -> DaemonInfo {
        let Services { control, home, sessions, shared_store, .. } = &self.services;
        daemon::info(control, home, sessions, shared_store)
    }

    /// Answers a request; an error of the outer kind ends the connection.
    async fn answer(&mut self, request: Request) -> Result<Result<Response, Problem>, FrameError> {
        let Self { services, stream } = self;
        let Services { control, store, sessions, starter, runs, .. } = services;
        Ok(match request {
            Request::Hello { .. } | Request::Daemon => Ok(Response::Welcome(self.daemon_info())),
            Request::Shutdown => {
                daemon::shut_down(control);
                Ok(Response::Done)
            }
            Request::Start(request) => sessions::start(starter, *request).await.map(session),
            Request::Resume(request) => sessions::resume(starter, *request).await.map(session),
            Request::List { all } => {
                sessions::list(sessions, store, all).await.map(|sessions| Response::Sessions { sessions })
            }
            Request::Status { name } => sessions::status(sessions, store, &name).await.map(session),
            Request::Explain { name } => sessions::explain(sessions, &name)
                .await
                .map(|explanation| Response::Explanation(Box::new(explanation))),
            Request::Wait { name, states } => {
                let wait = sessions::wait(sessions, store, &name, &states);
                unless_left(stream, wait).await?.map(session)
            }
            Request::CarryOn { name, wanted } => sessions::carry_on(starter, name.as_deref(), *wanted)
                .await
                .map(|sessions| Response::Sessions { sessions }),
            request @ (Request::Dialog { .. }
            | Request::Answer(_)
            | Request::Interrupt { .. }
            | Request::Last { .. }
            | Request::Transcript { .. }
            | Request::Reply { .. }) => talk(services, stream, request).await?,
            Request::Stop { name, grace_ms } => sessions::stop(sessions, &name, grace_ms).await.map(session),
            Request::Send { name, id, wait, terms } => {
                let body = stream.due(MAX_FRAME).await?.bytes()?;
                // It is recorded before anybody looks whether the client is still there.
                match messages::send(sessions, store, &name, Draft { id, body, terms }, wait).await {
                    Ok(sent) => unless_left(stream, sent.settled()).await?.map(message),
                    Err(problem) => Err(problem),
                }
            }
            Request::Await { name, id, wait } => {
                let wait = messages::wait(sessions, store, &name, id, wait);
                unless_left(stream, wait).await?.map(message)
            }
            Request::Messages { name, all } => messages::list(sessions, store, name.as_deref(), all)
                .await
                .map(|messages| Response::Messages { messages }),
            Request::RetryMessage { id, name } => {
                messages::retry(sessions, store, &id, name.as_deref()).await.map(message)
            }
            Request::DropMessage { id, name } => {
                messages::drop(sessions, store, &id, name.as_deref()).await.map(message)
            }
            Request::Acknowledge { id, session } => {
                messages::acknowledge(sessions, store, &id, session.as_deref()).await.map(message)
            }
            Request::Metrics => {
                metrics::read(sessions, store).await.map(|metrics| Response::Metrics(Box::new(metrics)))
            }
            Request::Events { name, after, follow } => {
                let events = if follow {
                    let follow = events::follow(sessions, store, name.as_deref(), after);
                    unless_left(stream, follow).await?
                } else {
                    events::list(sessions, store, name.as_deref(), after).await
                };
                events.map(|events| Response::Events { events })
            }
            Request::Run(request) => runs::begin(runs, *request).await.map(run),
            Request::RunStatus { id, after } => {
                unless_left(stream, runs::status(runs, &id, after)).await?.map(run)
            }
            Request::Runs { all } => runs::list(runs, all).await.map(|runs| Response::Runs { runs }),
            Request::CancelRun { id } => runs::cancel(runs, &id).await.map(run),
            Request::Providers => providers::list(runs.breakers()).await.map(known_providers),
            Request::ResetProvider { provider } => {
                providers::reset(runs.breakers(), provider.as_deref()).await.map(known_providers)
            }
            Request::Hook(report) => {
                let payload = stream.due(MAX_FRAME).await?.bytes()?;
                let printed = hooks::report(&services.hook_reports, *report, payload).await;
                printed.map(|print| Response::Hook { print })
            }
            request @ (Request::Questions { .. }
            | Request::AnswerQuestion { .. }
            | Request::Tool(_)
            | Request::Context(_)
            | Request::ContextRecords { .. }
            | Request::SaveContext(_)
            | Request::ClearContext { .. }) => know(services, request).await,
            Request::View(_) | Request::Resize { .. } => {
                Err(Problem::new(ErrorKind::Usage, "this request belongs to a view"))
            }
        })
    }

    /// Serves a view until it is over.
    async fn view(&mut self, request: ViewRequest) -> Result<(), FrameError> {
        match views::open(&self.services.sessions, request).await {
            Ok(mut view) => {
                let served = pump(&mut view, &mut self.stream).await;
                view.close().await;
                served
            }
            Err(problem) => self.stream.say(&Response::Failed(problem)).await,
        }
    }
}

/// Answers what is asked of questions, tools and what is known of a project.
async fn know(services: &Services, request: Request) -> Result<Response, Problem> {
    let Services { home, store, sessions, records, context, .. } = services;
    match request {
        Request::Questions { name, all } => questions::list(sessions, store, name.as_deref(), all)
            .await
            .map(|questions| Response::Questions { questions }),
        Request::AnswerQuestion { id, text } => questions::answer(sessions, store, &id, &text)
            .await
            .map(|question| Response::Questions { questions: vec![question] }),
        Request::Tool(request) => {
            tools::call(services, *request).await.map(|answer| Response::Tool { answer })
        }
        Request::Context(request) => context::load(sessions, store, context, *request)
            .await
            .map(|context| Response::Context(Box::new(context))),
        Request::ContextRecords { place } => {
            context::records(sessions, records, place).await.map(project_records)
        }
        Request::SaveContext(request) => {
            context::save(sessions, records, *request).await.map(project_records)
        }
        Request::ClearContext { place, records: forget } => {
            let forgotten = forget.then_some(records);
            context::clear(home, sessions, store, place, forgotten).await.map(Response::Cleared)
        }
        _ => Err(Problem::new(ErrorKind::Usage, "this request is for somebody else")),
    }
}

/// Passes on what a view shows, and what its viewer types.
async fn pump(view: &mut View, client: &mut FrameStream) -> Result<(), FrameError> {
    loop {
        let event = tokio::select! {
            event = view.next() => event,
            frame = client.next() => {
                match frame? {
                    Frame::Bytes(keys) => view.type_keys(keys).await,
                    frame @ Frame::Json(_) => {
                        if let Request::Resize { cols, rows } = frame.json()? {
                            view.resize(cols, rows).await;
                        }
                    }
                }
                continue;
            }
        };
        match event {
            Some(Ok(ViewEvent::Output(bytes))) => client.bytes(&bytes).await?,
            Some(Ok(ViewEvent::Began { session, missing })) => {
                client.say(&Response::View { session, missing }).await?;
            }
            Some(Ok(ViewEvent::Resized(size))) => {
                client.say(&Response::Resized { cols: size.cols, rows: size.rows }).await?;
            }
            Some(Ok(ViewEvent::Restarted { missing })) => {
                client.say(&Response::Restarted { missing }).await?;
            }
            Some(Ok(ViewEvent::Ended { session })) => client.say(&Response::ViewEnded { session }).await?,
            Some(Err(problem)) => client.say(&Response::Failed(problem)).await?,
            None => return Ok(()),
        }
    }
}

/// Answers a request about talking with an agent.
async fn talk(
    services: &Services,
    stream: &mut FrameStream,
    request: Request,
) -> Result<Result<Response, Problem>, FrameError> {
    let Services { store, sessions, .. } = services;
    Ok(match request {
        Request::Dialog { name } => {
            let dialog = dialogs::pending(sessions, &name);
            unless_left(stream, dialog).await?.map(Response::Dialog)
        }
        Request::Answer(request) => {
            let answer = dialogs::answer(sessions, *request);
            unless_left(stream, answer).await?.map(Response::Answered)
        }
        Request::Interrupt { name, patience_ms } => {
            let interrupt = sessions::interrupt(sessions, &name, patience_ms);
            unless_left(stream, interrupt).await?.map(Response::Interrupted)
        }
        Request::Last { name, count } => {
            conversation::last(sessions, &name, count).await.map(Response::Answers)
        }
        Request::Transcript { name, after, follow } => {
            let page = conversation::transcript(sessions, &name, after, follow);
            unless_left(stream, page).await?.map(Response::Transcript)
        }
        Request::Reply { name, id } => {
            let reply = conversation::reply(sessions, store, &name, id);
            unless_left(stream, reply).await?.map(Response::Reply)
        }
        _ => Err(Problem::new(ErrorKind::Internal, "this request is about something else")),
    })
}

/// Waits for an answer, unless the client leaves, or says something before it has its answer, which none of ours does.
async fn unless_left<T>(client: &mut FrameStream, answer: impl Future<Output = T>) -> Result<T, FrameError> {
    tokio::select! {
        biased;
        answer = answer => Ok(answer),
        frame = client.next() => Err(frame.err().unwrap_or(FrameError::Unexpected)),
    }
}

fn session(session: SessionInfo) -> Response {
    Response::Session(Box::new(session))
}

fn message(message: MessageInfo) -> Response {
    Response::Message(Box::new(message))
}

fn run(run: RunInfo) -> Response {
    Response::Run(Box::new(run))
}

fn known_providers(Providers { providers, store }: Providers) -> Response {
    Response::Providers { providers, store }
}

fn project_records(ProjectRecords { project, records }: ProjectRecords) -> Response {
    Response::Records { project, records }
}
