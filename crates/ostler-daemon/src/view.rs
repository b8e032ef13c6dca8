//! Showing a session's output to a client, and typing for one.
//!
//! A viewer reads from the holder over a connection of its own. A slow one is not waited for, by the program or
//! by anybody else; when it has missed something it gets the present screen and goes on from there.

use std::time::Duration;

use ostler_core::State;
use ostler_hold::wire::{self, Reply, Request as HolderRequest};
use ostler_hold::{SessionDir, read_remains};
use ostler_protocol::frame::{Frame, FrameError};
use ostler_protocol::{ErrorKind, Problem, Request, Response, SessionInfo, Since, ViewRequest};
use ostler_screen::Size;
use ostler_store::Session;
use tokio::sync::watch;

use crate::frame_stream::FrameStream;
use crate::link::{Link, LinkError};
use crate::registry::{Found, Shared};
use crate::session::{Command, Gone, Look, SessionHandle, ended_info, ended_screen, store_problem};

/// Output sent to a client in one frame.
const CHUNK: usize = 1 << 20;
/// How long an actor may need to notice what a viewer has seen already.
const CATCH_UP: Duration = Duration::from_secs(2);

/// Serves a view until it is over.
pub(crate) async fn serve(
    shared: &Shared,
    request: ViewRequest,
    viewer: u64,
    client: &mut FrameStream,
) -> Result<(), FrameError> {
    let handle = match shared.find(&request.name).await {
        Ok(Found::Live(handle)) => handle,
        Ok(Found::Ended(session)) => return show_ended(&session, &request, client).await,
        Err(problem) => return client.say(&Response::Failed(problem)).await,
    };
    if let Some((cols, rows)) = request.keys {
        let size = Size::clamped(cols, rows);
        let _ = handle.tell(Command::Viewer { viewer, size }).await;
    }
    let mut view = View { handle: &handle, request: &request, viewer, client, next: 0 };
    let outcome = view.run().await;
    let next = view.next;
    let _ = handle.tell(Command::ViewerGone { viewer }).await;
    match outcome {
        Ok(end) => match last_info(shared, &handle, request.follow).await {
            Ok(session) => {
                if end == Go::Cut && session.state == State::Exited {
                    show_rest(&handle.dir, next, client).await?;
                }
                client.say(&Response::ViewEnded { session: Box::new(session) }).await
            }
            Err(problem) => client.say(&Response::Failed(problem)).await,
        },
        Err(ViewError::Client(error)) => Err(error),
        Err(ViewError::Session) => match last_record(shared, &handle).await {
            Ok(session) => show_ended(&session, &request, client).await,
            Err(problem) => client.say(&Response::Failed(problem)).await,
        },
        Err(ViewError::Holder(error)) => {
            await_end(&handle).await;
            match last_record(shared, &handle).await {
                Ok(session) if session.ending.is_some() => show_ended(&session, &request, client).await,
                Ok(_) => client.say(&Response::Failed(unreachable(&handle.name, &error))).await,
                Err(problem) => client.say(&Response::Failed(problem)).await,
            }
        }
    }
}

/// Why a view cannot go on as it is.
enum ViewError {
    /// The client is gone.
    Client(FrameError),
    /// The session ended before it could be shown.
    Session,
    /// Its holder cannot be reached: the session has just ended, or something is wrong.
    Holder(LinkError),
}

impl From<FrameError> for ViewError {
    fn from(error: FrameError) -> Self {
        Self::Client(error)
    }
}

impl From<Gone> for ViewError {
    fn from(_: Gone) -> Self {
        Self::Session
    }
}

struct View<'a> {
    handle: &'a SessionHandle,
    request: &'a ViewRequest,
    viewer: u64,
    client: &'a mut FrameStream,
    /// Output up to here was shown.
    next: u64,
}

/// Whether a view goes on.
#[derive(PartialEq, Eq)]
enum Go {
    On,
    /// All that was asked for was shown.
    End,
    /// The holder is gone, and perhaps not all that it had was shown.
    Cut,
}

impl View<'_> {
    async fn run(&mut self) -> Result<Go, ViewError> {
        let look = self.handle.ask(Command::Look).await?;
        let mut sizes = self.handle.size.clone();
        sizes.mark_unchanged();
        let from = if self.request.since == Since::Screen { look.offset } else { 0 };
        if self.request.since == Since::Screen && !self.request.follow {
            self.begin(look, 0).await?;
            return Ok(Go::End);
        }
        self.next = from;
        let (mut link, status) = Link::connect(&self.handle.dir).await.map_err(ViewError::Holder)?;
        let missing = if self.request.since == Since::Oldest { status.oldest } else { look.missing };
        self.begin(look, missing).await?;
        link.queue(&HolderRequest::Subscribe { from, paced: false });
        let until = (!self.request.follow).then_some(status.written);
        if until.is_some_and(|until| until <= status.oldest) {
            return Ok(Go::End);
        }
        loop {
            let go = tokio::select! {
                arrived = link.ready() => match arrived {
                    Ok(()) => self.forward(&mut link, until).await?,
                    Err(_) => Go::Cut,
                },
                frame = self.client.next() => self.on_client(frame?).await?,
                changed = sizes.changed() => {
                    if changed.is_err() { Go::Cut } else { self.on_resize(&mut sizes).await? }
                }
            };
            if go != Go::On {
                return Ok(go);
            }
        }
    }

    async fn begin(&mut self, look: Look, missing: u64) -> Result<(), ViewError> {
        let Look { info, restore, .. } = look;
        self.client.say(&Response::View { session: Box::new(info), missing }).await?;
        if self.request.since == Since::Screen {
            self.client.bytes(&restore).await?;
        }
        Ok(())
    }

    /// Passes on the output that has arrived.
    async fn forward(&mut self, link: &mut Link, until: Option<u64>) -> Result<Go, ViewError> {
        let inbox = link.take_inbox();
        let mut rest = inbox.as_slice();
        let mut go = Go::On;
        let mut resubscribe = None;
        while let Ok(Some((frame, behind))) = wire::split_frame(rest) {
            rest = behind;
            match Reply::decode(frame) {
                Ok(Some(Reply::Output { offset, bytes })) => {
                    self.client.bytes(bytes).await?;
                    self.next = offset + bytes.len() as u64;
                    if until.is_some_and(|until| self.next >= until) {
                        go = Go::End;
                    }
                }
                // At offset 0 it is what the view began with.
                Ok(Some(Reply::Gap { from, resumed })) if from > 0 => {
                    self.client.say(&Response::Restarted { missing: resumed - from }).await?;
                    if self.request.since == Since::Screen {
                        let look = self.handle.ask(Command::Look).await?;
                        self.client.bytes(&look.restore).await?;
                        resubscribe = Some(look.offset);
                        break;
                    }
                }
                // The holder may have left before it knew what this viewer wants.
                Ok(Some(Reply::Exited(record))) => {
                    go = if self.next < record.written { Go::Cut } else { Go::End };
                }
                Err(_) => go = Go::Cut,
                Ok(_) => {}
            }
        }
        let used = inbox.len() - rest.len();
        link.put_back(used, inbox);
        if let Some(from) = resubscribe {
            // What is under way on this connection belongs to the old place in the output.
            match Link::connect(&self.handle.dir).await {
                Ok((mut fresh, _)) => {
                    fresh.queue(&HolderRequest::Subscribe { from, paced: false });
                    *link = fresh;
                }
                Err(LinkError::Silent) => {}
                Err(_) => go = Go::Cut,
            }
        }
        Ok(go)
    }

    async fn on_client(&mut self, frame: Frame) -> Result<Go, ViewError> {
        let types = self.request.keys.is_some();
        match frame {
            Frame::Bytes(keys) if types => self.handle.tell(Command::Keys(keys)).await?,
            Frame::Json(_) if types => {
                if let Request::Resize { cols, rows } = frame.json()? {
                    let size = Size::clamped(cols, rows);
                    self.handle.tell(Command::Viewer { viewer: self.viewer, size }).await?;
                }
            }
            _ => {}
        }
        Ok(Go::On)
    }

    async fn on_resize(&mut self, sizes: &mut watch::Receiver<Size>) -> Result<Go, ViewError> {
        let size = *sizes.borrow_and_update();
        self.client.say(&Response::Resized { cols: size.cols, rows: size.rows }).await?;
        Ok(Go::On)
    }
}

/// Shows the end of the output of a session that ended before all of it was passed on.
async fn show_rest(dir: &SessionDir, next: u64, client: &mut FrameStream) -> Result<(), FrameError> {
    let Ok(remains) = read_remains(&dir.ring()) else { return Ok(()) };
    if remains.oldest > next {
        client.say(&Response::Restarted { missing: remains.oldest - next }).await?;
    }
    let seen = usize::try_from(next.saturating_sub(remains.oldest)).unwrap_or(usize::MAX);
    for chunk in remains.bytes.get(seen..).unwrap_or_default().chunks(CHUNK) {
        client.bytes(chunk).await?;
    }
    Ok(())
}

/// Shows what is left of a session that has ended.
async fn show_ended(
    session: &Session,
    request: &ViewRequest,
    client: &mut FrameStream,
) -> Result<(), FrameError> {
    let mut info = ended_info(session);
    let remains = read_remains(&SessionDir::new(&session.start.dir).ring());
    let (bytes, missing) = match request.since {
        Since::Screen => {
            let screen = ended_screen(session);
            info.title = screen.title().map(str::to_owned);
            (screen.to_restore(), 0)
        }
        Since::Oldest => {
            remains.map_or_else(|_| (Vec::new(), info.output), |remains| (remains.bytes, remains.oldest))
        }
    };
    let session = Box::new(info);
    client.say(&Response::View { session: session.clone(), missing }).await?;
    for chunk in bytes.chunks(CHUNK) {
        client.bytes(chunk).await?;
    }
    client.say(&Response::ViewEnded { session }).await
}

fn unreachable(name: &str, error: &LinkError) -> Problem {
    Problem::new(ErrorKind::Failed, format!("the holder of {name:?} cannot be reached: {error}"))
        .hint(format!("`ostler screen {name}` shows what was seen last; the daemon keeps trying"))
}

async fn last_record(shared: &Shared, handle: &SessionHandle) -> Result<Session, Problem> {
    let id = handle.id.clone();
    let found =
        shared.store.run(move |store| store.session(&id)).await.map_err(|error| store_problem(&error))?;
    found.ok_or_else(|| Problem::new(ErrorKind::Internal, "the session has no record"))
}

/// Gives the actor a moment to see that its session has ended.
async fn await_end(handle: &SessionHandle) {
    let mut state = handle.state.clone();
    let _ = tokio::time::timeout(CATCH_UP, state.wait_for(|state| *state == State::Exited)).await;
}

/// The session as it is when a view is over; one that was followed to its end has ended for the actor too,
/// a moment later.
async fn last_info(shared: &Shared, handle: &SessionHandle, followed: bool) -> Result<SessionInfo, Problem> {
    if followed {
        await_end(handle).await;
    }
    match handle.ask(Command::Info).await {
        Ok(info) => Ok(info),
        Err(Gone) => Ok(ended_info(&last_record(shared, handle).await?)),
    }
}
