//! `ostler attach`
//!
//! The session's output is fed to a screen here, and that screen is painted on the terminal. Nothing of the
//! program's own bytes reaches the terminal: it cannot be asked questions whose answers would be typed into the
//! program, its size may differ, and leaving restores every mode that was set.

mod keys;
mod raw_mode;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use ostler_daemon::FrameStream;
use ostler_protocol::frame::{Frame, FrameError};
use ostler_protocol::{Request, Response, SessionInfo, Since, ViewRequest};
use ostler_screen::{Painter, Screen, Size};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::logs;
use crate::cli::Attach;
use crate::client::{self, CallError, Client};
use crate::error::{CommandError, Kind};
use crate::output;
use raw_mode::RawMode;

/// Output that comes in quick succession is painted as one frame.
const FRAME: Duration = Duration::from_millis(4);
/// A program that begins a frame and does not finish it is painted all the same after this.
const UNFINISHED: Duration = Duration::from_millis(100);
const BACKLOG: usize = 64;

/// How an attachment ended.
enum End {
    Detached,
    Session(Box<SessionInfo>),
}

pub(crate) fn run(args: &Attach) -> Result<ExitCode, CommandError> {
    need_terminal("attach", "`ostler screen` and `ostler logs -f` work without one")?;
    attach(args, false)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses to go on where there is no terminal.
pub(super) fn need_terminal(command: &str, hint: &str) -> Result<(), CommandError> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(CommandError::new(Kind::Usage, format!("{command} needs a terminal")).hint(hint))
}

/// Puts a session in this terminal until the person leaves, or it ends; returns the session if it did. With `leaves` what
/// the program left in its terminal then stands in this one.
pub(super) fn attach(args: &Attach, leaves: bool) -> Result<Option<SessionInfo>, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (name, end) = runtime.block_on(async { Attachment::open(args)?.run().await })?;
    match end {
        End::Detached => {
            output::print(&format!("[left {name}; it goes on]\n"))?;
            Ok(None)
        }
        End::Session(session) => {
            if leaves {
                output::print(&output::visible(&logs::left_by(&session.id)?))?;
            }
            output::print(&format!("[{} has ended: {}]\n", session.name, session.because.join("; ")))?;
            Ok(Some(*session))
        }
    }
}

struct Attachment<'a> {
    args: &'a Attach,
    name: String,
    screen: Screen,
    painter: Painter,
    connection: Connection,
    /// When what is on the screen is to be painted.
    paint_at: Option<Instant>,
    /// The latest moment for it.
    paint_by: Option<Instant>,
}

/// An open view.
struct Connection {
    stream: FrameStream,
    session: SessionInfo,
}

impl Connection {
    fn open(args: &Attach, viewer: Size) -> Result<Self, CommandError> {
        let keys = (!args.read_only).then_some((viewer.cols, viewer.rows));
        let request = ViewRequest { name: args.name.clone(), since: Since::Screen, follow: true, keys };
        let mut client = Client::connect_or_start(&client::home()?)?;
        refuse_own_session(&mut client, &args.name)?;
        let session = match client.call(&Request::View(request), None, None) {
            Ok(Response::View { session, .. }) => *session,
            Ok(_) => return Err(super::unexpected()),
            Err(CallError::Command(error)) => return Err(error),
            Err(CallError::Lost | CallError::TimedOut) => {
                return Err(CommandError::new(Kind::Unreachable, "the daemon has ended"));
            }
        };
        let stream = client.into_stream();
        stream.set_nonblocking(true)?;
        Ok(Self { stream: FrameStream::new(UnixStream::from_std(stream)?), session })
    }
}

impl<'a> Attachment<'a> {
    fn open(args: &'a Attach) -> Result<Self, CommandError> {
        let viewer = terminal_size();
        let connection = Connection::open(args, viewer)?;
        let session = &connection.session;
        Ok(Self {
            args,
            name: session.name.clone(),
            screen: Screen::new(Size::clamped(session.cols, session.rows), 0),
            painter: Painter::new(viewer),
            connection,
            paint_at: None,
            paint_by: None,
        })
    }

    async fn run(mut self) -> Result<(String, End), CommandError> {
        let raw = RawMode::enter()?;
        write_terminal(&self.painter.enter())?;
        let end = self.converse().await;
        let _ = write_terminal(&self.painter.leave());
        drop(raw);
        end.map(|end| (self.name, end))
    }

    async fn converse(&mut self) -> Result<End, CommandError> {
        let mut keys = read_keys();
        let mut resized = signal(SignalKind::window_change())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        loop {
            let paint_at = self.paint_at;
            tokio::select! {
                typed = keys.recv() => match typed {
                    Some(typed) if !self.on_keys(&typed).await => {}
                    _ => return Ok(End::Detached),
                },
                frame = self.connection.stream.next() => {
                    if let Some(end) = self.on_frame(frame)? {
                        return Ok(end);
                    }
                }
                _ = resized.recv() => self.on_resize().await?,
                () = sleep_until(paint_at) => self.paint()?,
                _ = terminate.recv() => return Ok(End::Detached),
                _ = hangup.recv() => return Ok(End::Detached),
            }
        }
    }

    /// Passes keys on; `true` if they end the attachment.
    async fn on_keys(&mut self, keys: &[u8]) -> bool {
        let (before, leave) = keys::split_at_detach(keys, self.args.detach_key);
        if self.args.read_only {
            // Nobody is typed to, so the usual keys for leaving do too.
            return leave || before == b"q" || before.contains(&3);
        }
        if !before.is_empty() {
            // Where it cannot be sent, reading will tell why.
            let _ = self.connection.stream.bytes(before).await;
        }
        leave
    }

    fn on_frame(&mut self, frame: Result<Frame, FrameError>) -> Result<Option<End>, CommandError> {
        let frame = match frame {
            Ok(frame) => frame,
            // The daemon died; the session did not.
            Err(FrameError::Closed) => return self.reconnect(),
            Err(error) => return Err(CommandError::new(Kind::Internal, error.to_string())),
        };
        if let Frame::Bytes(bytes) = frame {
            drop(self.screen.feed(&bytes));
            self.schedule();
            return Ok(None);
        }
        match frame.json().map_err(|error| CommandError::new(Kind::Internal, error.to_string()))? {
            Response::Resized { cols, rows } => {
                self.screen.resize(Size::clamped(cols, rows));
                self.schedule();
            }
            Response::Restarted { .. } => self.screen = Screen::new(self.screen.size(), 0),
            Response::ViewEnded { session } => {
                self.paint()?;
                return Ok(Some(End::Session(session)));
            }
            Response::Failed(problem) => return Err(problem.into()),
            _ => {}
        }
        Ok(None)
    }

    fn reconnect(&mut self) -> Result<Option<End>, CommandError> {
        self.connection = Connection::open(self.args, terminal_size())?;
        let session = &self.connection.session;
        self.screen = Screen::new(Size::clamped(session.cols, session.rows), 0);
        Ok(None)
    }

    async fn on_resize(&mut self) -> Result<(), CommandError> {
        let viewer = terminal_size();
        self.painter.resize(viewer);
        if !self.args.read_only {
            let request = Request::Resize { cols: viewer.cols, rows: viewer.rows };
            let _ = self.connection.stream.say(&request).await;
        }
        self.paint()
    }

    fn schedule(&mut self) {
        let now = Instant::now();
        let by = *self.paint_by.get_or_insert(now + UNFINISHED);
        let at = if self.screen.modes().synchronized { by } else { (now + FRAME).min(by) };
        // The first piece of a frame sets its moment; later ones do not push it away.
        self.paint_at = Some(
            self.paint_at.map_or(at, |set| if self.screen.modes().synchronized { by } else { set.min(at) }),
        );
    }

    fn paint(&mut self) -> Result<(), CommandError> {
        (self.paint_at, self.paint_by) = (None, None);
        write_terminal(&self.painter.frame(&self.screen))
    }
}

/// A session that showed itself would show itself showing itself.
fn refuse_own_session(client: &mut Client, name: &str) -> Result<(), CommandError> {
    let Some(own) = std::env::var_os("OSTLER_SESSION_ID") else { return Ok(()) };
    match client.call(&Request::Status { name: name.to_owned() }, None, None) {
        Ok(Response::Session(session)) if own == session.id.as_str() => {
            Err(CommandError::new(Kind::Usage, "this terminal is that session; it cannot show itself"))
        }
        Err(CallError::Command(error)) => Err(error),
        _ => Ok(()),
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Reads the terminal on a thread of its own, which ends with the process.
fn read_keys() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    std::thread::spawn(move || {
        let mut buffer = [0u8; 4096];
        while let Ok(count) = rustix::io::read(std::io::stdin(), &mut buffer) {
            if count == 0 || sender.blocking_send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn write_terminal(bytes: &[u8]) -> Result<(), CommandError> {
    let mut stdout = std::io::stdout().lock();
    Ok(stdout.write_all(bytes).and_then(|()| stdout.flush())?)
}

pub(super) fn terminal_size() -> Size {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .filter(|size| size.ws_col > 0 && size.ws_row > 0)
        .map_or(Size::clamped(80, 24), |size| Size::clamped(size.ws_col, size.ws_row))
}
