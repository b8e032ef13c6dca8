//! Showing a session's output to a viewer, and typing for one.
//!
//! A viewer reads from the holder over a connection of its own. A slow one is not waited for, by the program or
//! by anybody else; when it has missed something it gets the present screen and goes on from there.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ostler_core::State;
use ostler_hold::wire::{self, Reply, Request as HolderRequest};
use ostler_hold::{SessionDir, read_remains};
use ostler_protocol::{Code, ErrorKind, Problem, SessionInfo, Since, ViewRequest};
use ostler_screen::Size;
use ostler_store::Session;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::session::{Command, Look, SessionHandle, ended_info, ended_screen};
use crate::sessions::{Found, Sessions};
use crate::transport::{Link, LinkError};

/// Most bytes of kept output in one event.
const CHUNK: usize = 1 << 20;
/// How long an actor may need to notice what a viewer has seen already.
const CATCH_UP: Duration = Duration::from_secs(2);

static VIEWERS: AtomicU64 = AtomicU64::new(1);

/// What a viewer is shown.
#[derive(Debug)]
pub(crate) enum ViewEvent {
    /// The view begins, from a clean screen.
    Began {
        session: Box<SessionInfo>,
        /// Bytes of output that are no longer kept.
        missing: u64,
    },
    /// Bytes for the viewer's screen.
    Output(Vec<u8>),
    /// The terminal has this size from here on.
    Resized(Size),
    /// Output was lost; what comes next begins from a clean screen.
    Restarted { missing: u64 },
    /// The view is over; the session as it is now.
    Ended { session: Box<SessionInfo> },
}

/// A look at a session's output. [`View::close`] has to be called at the end.
#[derive(Debug)]
pub(crate) struct View {
    /// What is to be shown next.
    events: VecDeque<ViewEvent>,
    /// Where more comes from; nothing where all is said.
    live: Option<Live>,
}

/// A view of a session that has an actor.
#[derive(Debug)]
struct Live {
    sessions: Sessions,
    handle: SessionHandle,
    request: ViewRequest,
    viewer: u64,
    sizes: watch::Receiver<Size>,
    link: Option<Link>,
    /// Output up to here was shown.
    next: u64,
    /// Output is shown up to here, where the view does not follow.
    until: Option<u64>,
    stage: Stage,
}

/// What a view does next. Each stage can be begun again, so waiting for the next event can be given up at any time.
#[derive(Debug)]
enum Stage {
    /// Passes on what the holder sends.
    Following,
    /// Asks for the present screen, because output was lost.
    Resyncing,
    /// Reads on from here, over another connection.
    Resubscribing { from: u64 },
    /// Says how the session is now. The actor has until `patience` to see what the viewer has seen.
    Ending { cause: Cause, patience: Instant },
}

/// Why a view ends.
#[derive(Debug)]
enum Cause {
    /// All that was asked for was shown.
    Complete,
    /// The holder is gone, and perhaps not all that it had was shown.
    Cut,
    /// The session ended before it could be shown.
    SessionGone,
    /// The holder cannot be reached: the session has just ended, or something is wrong.
    Unreachable(LinkError),
}

/// Begins a view.
pub(crate) async fn open(sessions: &Sessions, request: ViewRequest) -> Result<View, Problem> {
    let handle = match sessions.find(&request.name).await? {
        Found::Live(handle) => handle,
        Found::Ended(session) => {
            return Ok(View { events: of_ended(&session, request.since), live: None });
        }
    };
    let viewer = VIEWERS.fetch_add(1, Ordering::Relaxed);
    let mut live = Live {
        sessions: sessions.clone(),
        sizes: handle.size.clone(),
        handle,
        request,
        viewer,
        link: None,
        next: 0,
        until: None,
        stage: Stage::Following,
    };
    if let Some((cols, rows)) = live.request.keys {
        live.set_size(Size::clamped(cols, rows)).await;
    }
    let mut events = VecDeque::new();
    if let Err(cause) = live.begin(&mut events).await {
        live.end(cause);
    }
    Ok(View { events, live: Some(live) })
}

impl View {
    /// The next event; none when the view is over. May be cancelled at any time.
    pub(crate) async fn next(&mut self) -> Option<Result<ViewEvent, Problem>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            let live = self.live.as_mut()?;
            if let Stage::Ending { .. } = live.stage {
                let said = live.last_events().await;
                self.live = None;
                match said {
                    Ok(events) => self.events = events,
                    Err(problem) => return Some(Err(problem)),
                }
            } else {
                live.step(&mut self.events).await;
            }
        }
    }

    /// Types keys, if the view was asked for with keys.
    pub(crate) async fn type_keys(&mut self, keys: Vec<u8>) {
        if let Some(live) = self.live.as_mut().filter(|live| live.request.keys.is_some())
            && live.handle.send(Command::Keys(keys)).await.is_err()
        {
            live.end(Cause::SessionGone);
        }
    }

    /// The viewer's terminal has this size now; it counts if the view was asked for with keys.
    pub(crate) async fn resize(&mut self, cols: u16, rows: u16) {
        if let Some(live) = self.live.as_mut().filter(|live| live.request.keys.is_some())
            && !live.set_size(Size::clamped(cols, rows)).await
        {
            live.end(Cause::SessionGone);
        }
    }

    /// The viewer is gone, or has seen all.
    pub(crate) async fn close(self) {
        if let Some(live) = self.live {
            live.leave().await;
        }
    }
}

impl Live {
    async fn begin(&mut self, events: &mut VecDeque<ViewEvent>) -> Result<(), Cause> {
        let look = self.handle.ask(Command::Look).await.map_err(|_| Cause::SessionGone)?;
        self.sizes.mark_unchanged();
        let (since, follow) = (self.request.since, self.request.follow);
        if since == Since::Screen && !follow {
            began(events, look, since, 0);
            return Err(Cause::Complete);
        }
        let from = match since {
            Since::Screen => look.offset,
            Since::Oldest => 0,
            Since::Offset(offset) => offset,
        };
        self.next = from;
        let (mut link, status) = Link::connect(&self.handle.dir).await.map_err(Cause::Unreachable)?;
        let missing = match since {
            Since::Screen => look.missing,
            Since::Oldest => status.oldest,
            // What is gone of it is told when it is its turn.
            Since::Offset(_) => 0,
        };
        began(events, look, since, missing);
        link.queue(&HolderRequest::Subscribe { from, paced: false });
        self.link = Some(link);
        self.until = (!follow).then_some(status.written);
        if self.until.is_some_and(|until| until <= status.oldest.max(from)) {
            return Err(Cause::Complete);
        }
        Ok(())
    }

    /// Returns whether the actor is there to be told.
    async fn set_size(&self, size: Size) -> bool {
        self.handle.send(Command::Viewer { viewer: self.viewer, size }).await.is_ok()
    }

    async fn leave(&self) {
        let _ = self.handle.send(Command::ViewerGone { viewer: self.viewer }).await;
    }

    fn end(&mut self, cause: Cause) {
        self.stage = Stage::Ending { cause, patience: Instant::now() + CATCH_UP };
    }

    /// Waits for something to show, or for the next stage.
    async fn step(&mut self, events: &mut VecDeque<ViewEvent>) {
        match self.stage {
            Stage::Following => {
                let Some(link) = self.link.as_mut() else { return self.end(Cause::Cut) };
                tokio::select! {
                    arrived = link.ready() => match arrived {
                        Ok(()) => self.forward(events),
                        Err(_) => self.end(Cause::Cut),
                    },
                    changed = self.sizes.changed() => match changed {
                        Ok(()) => events.push_back(ViewEvent::Resized(*self.sizes.borrow_and_update())),
                        Err(_) => self.end(Cause::Cut),
                    },
                }
            }
            Stage::Resyncing => match self.handle.ask(Command::Look).await {
                Ok(look) => {
                    events.push_back(ViewEvent::Output(look.restore));
                    self.stage = Stage::Resubscribing { from: look.offset };
                }
                Err(_) => self.end(Cause::SessionGone),
            },
            // What is under way on the old connection belongs to the old place in the output.
            Stage::Resubscribing { from } => match Link::connect(&self.handle.dir).await {
                Ok((mut fresh, _)) => {
                    fresh.queue(&HolderRequest::Subscribe { from, paced: false });
                    self.link = Some(fresh);
                    self.stage = Stage::Following;
                }
                Err(LinkError::Silent) => self.stage = Stage::Following,
                Err(_) => self.end(Cause::Cut),
            },
            Stage::Ending { .. } => {}
        }
    }

    /// Passes on the output that has arrived.
    fn forward(&mut self, events: &mut VecDeque<ViewEvent>) {
        let Some(mut link) = self.link.take() else { return };
        let inbox = link.take_inbox();
        let mut rest = inbox.as_slice();
        while let Ok(Some((frame, behind))) = wire::split_frame(rest) {
            rest = behind;
            match Reply::decode(frame) {
                Ok(Some(Reply::Output { offset, bytes })) => {
                    events.push_back(ViewEvent::Output(bytes.to_vec()));
                    self.next = offset + bytes.len() as u64;
                    if self.until.is_some_and(|until| self.next >= until) {
                        self.end(Cause::Complete);
                    }
                }
                // At offset 0 it is what the view began with. The modes are of no use here: a view of the screen gets
                // the present one, and one of all output gets the program's bytes alone.
                Ok(Some(Reply::Gap { from, resumed, .. })) => {
                    if from > 0 {
                        events.push_back(ViewEvent::Restarted { missing: resumed - from });
                    }
                    if from > 0 && self.request.since == Since::Screen {
                        self.stage = Stage::Resyncing;
                        break;
                    }
                    self.next = resumed;
                    if self.until.is_some_and(|until| self.next >= until) {
                        self.end(Cause::Complete);
                    }
                }
                // The holder may have left before it knew what this viewer wants.
                Ok(Some(Reply::Exited(record))) => {
                    self.end(if self.next < record.written { Cause::Cut } else { Cause::Complete });
                }
                Err(_) => self.end(Cause::Cut),
                Ok(_) => {}
            }
        }
        let used = inbox.len() - rest.len();
        link.put_back(used, inbox);
        self.link = Some(link);
    }

    /// What is left to be shown of a view that ends.
    async fn last_events(&self) -> Result<VecDeque<ViewEvent>, Problem> {
        let Stage::Ending { cause, patience } = &self.stage else { return Ok(VecDeque::new()) };
        self.leave().await;
        let record = || self.sessions.existing_record(&self.handle.id);
        match cause {
            Cause::Complete | Cause::Cut => {
                // One that was followed to its end has ended for the actor too, a moment later.
                if self.request.follow {
                    self.await_end(*patience).await;
                }
                let session = match self.handle.ask(Command::Info).await {
                    Ok(info) => info,
                    Err(_) => ended_info(&record().await?),
                };
                let mut events = match cause {
                    Cause::Cut if session.state == State::Exited => {
                        rest_of(&self.handle.dir, self.next, self.request.since)
                    }
                    _ => VecDeque::new(),
                };
                events.push_back(ViewEvent::Ended { session: Box::new(session) });
                Ok(events)
            }
            Cause::SessionGone => Ok(of_ended(&record().await?, self.request.since)),
            Cause::Unreachable(error) => {
                self.await_end(*patience).await;
                match record().await? {
                    session if session.ending.is_some() => Ok(of_ended(&session, self.request.since)),
                    _ => Err(unreachable(&self.handle.name, error)),
                }
            }
        }
    }

    /// Gives the actor a moment to see that its session has ended.
    async fn await_end(&self, patience: Instant) {
        let mut state = self.handle.state.clone();
        let _ = tokio::time::timeout_at(patience, state.wait_for(|state| *state == State::Exited)).await;
    }
}

fn began(events: &mut VecDeque<ViewEvent>, look: Look, since: Since, missing: u64) {
    let Look { info, restore, .. } = look;
    events.push_back(ViewEvent::Began { session: Box::new(info), missing });
    if since == Since::Screen {
        events.push_back(ViewEvent::Output(restore));
    }
}

fn chunks(bytes: &[u8]) -> impl Iterator<Item = ViewEvent> {
    bytes.chunks(CHUNK).map(|chunk| ViewEvent::Output(chunk.to_vec()))
}

/// The end of the output of a session that ended before all of it was passed on.
fn rest_of(dir: &SessionDir, next: u64, since: Since) -> VecDeque<ViewEvent> {
    let mut events = VecDeque::new();
    let Ok(remains) = read_remains(&dir.ring()) else { return events };
    if remains.oldest > next {
        events.push_back(ViewEvent::Restarted { missing: remains.oldest - next });
        if since == Since::Screen {
            events.push_back(ViewEvent::Output(remains.modes));
        }
    }
    let seen = usize::try_from(next.saturating_sub(remains.oldest)).unwrap_or(usize::MAX);
    events.extend(chunks(remains.bytes.get(seen..).unwrap_or_default()));
    events
}

/// What is left of a session that has ended.
fn of_ended(session: &Session, since: Since) -> VecDeque<ViewEvent> {
    let mut info = ended_info(session);
    let remains = read_remains(&SessionDir::new(&session.start.dir).ring());
    let (bytes, missing) = match since {
        Since::Screen => {
            let screen = ended_screen(session);
            info.title = screen.title().map(str::to_owned);
            (screen.to_restore(), 0)
        }
        Since::Oldest => {
            remains.map_or_else(|_| (Vec::new(), info.output), |remains| (remains.bytes, remains.oldest))
        }
        Since::Offset(_) => (Vec::new(), 0),
    };
    let session = Box::new(info);
    let mut events = VecDeque::from([ViewEvent::Began { session: session.clone(), missing }]);
    events.extend(chunks(&bytes));
    if let Since::Offset(offset) = since {
        events.extend(rest_of(&SessionDir::new(&session.dir), offset, since));
    }
    events.push_back(ViewEvent::Ended { session });
    events
}

fn unreachable(name: &str, error: &LinkError) -> Problem {
    Problem::new(ErrorKind::Failed, format!("the holder of {name:?} cannot be reached: {error}"))
        .code(Code::HolderUnreachable)
        .about("session", name)
}
