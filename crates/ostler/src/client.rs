//! The command line's end of the daemon's socket.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ostler_daemon::{Home, HomeError, store_choice};
use ostler_hold::{DAEMON_MARK, SESSION_MARK, SocketPath, create_private, detach};
use ostler_protocol::frame::{self, Frame, FrameError};
use ostler_protocol::{DaemonInfo, PROTOCOL, Request, Response};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{CommandError, Kind};
use crate::hints;

/// How long a daemon may take to come up, and how long a lost one is sought.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the daemon's greeting is waited for at the least.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);
/// Between looks for a daemon that another command is starting.
const PAUSE: Duration = Duration::from_millis(5);

/// The home that the environment says.
pub(crate) fn home() -> Result<Home, CommandError> {
    Home::resolve(|name| std::env::var_os(name)).map_err(|error| {
        let hint = match error {
            HomeError::Unset => "set OSTLER_HOME to a directory of your own",
            HomeError::Relative(_) => "start it with /",
        };
        CommandError::new(Kind::Usage, error.to_string()).hint(hint)
    })
}

/// The file of this program, also when it was replaced by a newer one since it was started.
pub(crate) fn executable() -> Result<PathBuf, CommandError> {
    let path = std::env::current_exe()?;
    match path.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(replaced) => Ok(replaced.into()),
        None => Ok(path),
    }
}

/// A connection to the daemon.
#[derive(Debug)]
pub(crate) struct Client {
    stream: UnixStream,
    pub(crate) daemon: DaemonInfo,
}

/// Why a request got no answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The connection is gone; another one may do better.
    Lost,
    /// The time given is over.
    TimedOut,
    /// The daemon's answer, or what stands in for one.
    Command(CommandError),
}

impl From<CommandError> for CallError {
    fn from(error: CommandError) -> Self {
        Self::Command(error)
    }
}

impl From<FrameError> for CallError {
    fn from(error: FrameError) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, WouldBlock};
        match error {
            FrameError::Closed => Self::Lost,
            FrameError::Io(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Self::Lost,
            FrameError::Io(error) if matches!(error.kind(), TimedOut | WouldBlock) => Self::TimedOut,
            other => Self::Command(CommandError::new(Kind::Internal, other.to_string())),
        }
    }
}

/// Waits for the first byte of an answer, in slices: where the whole machine stood still meanwhile, that takes up one of
/// them, and the daemon has the others.
fn await_answer(stream: &UnixStream, patience: Duration) -> Result<(), CallError> {
    const SLICES: u32 = 5;
    let slice = Timespec::try_from(patience / SLICES).ok();
    for _ in 0..SLICES {
        match poll(&mut [PollFd::new(stream, PollFlags::IN)], slice.as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(FrameError::Io(error.into()).into()),
        }
    }
    Err(CallError::TimedOut)
}

impl Client {
    /// Connects to the daemon if one runs.
    pub(crate) fn connect(home: &Home) -> Result<Option<Self>, CommandError> {
        Self::connect_within(home, PATIENCE)
    }

    fn connect_within(home: &Home, patience: Duration) -> Result<Option<Self>, CommandError> {
        use io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
        let stream = match SocketPath::new(&home.socket()).and_then(|path| path.connect()) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), NotFound | ConnectionRefused) => return Ok(None),
            Err(error) if error.kind() == PermissionDenied => {
                let message = format!("{} belongs to another user", home.socket().display());
                return Err(CommandError::new(Kind::Unreachable, message)
                    .hint("set OSTLER_HOME to a directory of your own"));
            }
            Err(error) => {
                let message = format!("cannot reach the daemon at {}: {error}", home.socket().display());
                return Err(CommandError::new(Kind::Unreachable, message).hint("run `ostler doctor`"));
            }
        };
        match Self::greet(stream, patience) {
            Ok(client) => Ok(Some(client)),
            Err(CallError::Lost) => Ok(None),
            Err(CallError::TimedOut) => Err(CommandError::new(
                Kind::Unreachable,
                format!("the daemon (see {}) does not answer", home.lock().display()),
            )
            .hint("if it is stuck, kill that process: programs under care go on, and the next command starts another")),
            Err(CallError::Command(error)) => Err(error),
        }
    }

    fn greet(mut stream: UnixStream, patience: Duration) -> Result<Self, CallError> {
        let _ = stream.set_read_timeout(Some(patience));
        let hello = Request::Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() };
        frame::write_json(&mut stream, &hello)?;
        await_answer(&stream, patience)?;
        let daemon = match frame::read(&mut stream)?.json()? {
            Response::Welcome(daemon) => daemon,
            Response::Failed(problem) => return Err(CommandError::from(problem).into()),
            _ => return Err(CommandError::new(Kind::Internal, "the daemon did not greet").into()),
        };
        if daemon.protocol != PROTOCOL {
            let message = format!(
                "the running daemon (version {}) speaks protocol {}, this command {PROTOCOL}",
                daemon.version, daemon.protocol
            );
            let hint = "run `ostler daemon stop` with its own version; programs under care go on";
            return Err(CommandError::new(Kind::Unreachable, message).hint(hint).into());
        }
        let _ = stream.set_read_timeout(None);
        Ok(Self { stream, daemon })
    }

    /// Connects to the daemon, and starts it first if none runs.
    pub(crate) fn connect_or_start(home: &Home) -> Result<Self, CommandError> {
        Self::connect_or_start_with(home, None, PATIENCE)
    }

    /// Connects to the daemon that keeps runs in this store (see [`store_choice`]), and starts it first if none runs.
    pub(crate) fn connect_with_store(home: &Home, url: &str) -> Result<Self, CommandError> {
        let wanted =
            store_choice::name(url).map_err(|error| CommandError::new(Kind::Usage, error.to_string()))?;
        let client = Self::connect_or_start_with(home, Some(url), PATIENCE)?;
        if client.daemon.store == wanted {
            return Ok(client);
        }
        let message = format!("the running daemon keeps runs in {}, not in {wanted}", client.daemon.store);
        Err(CommandError::new(Kind::Usage, message).hint(
            "run `ostler daemon stop`, then this again; programs under care go on, unfinished runs when their store \
             is used again",
        ))
    }

    fn connect_or_start_with(
        home: &Home,
        store: Option<&str>,
        patience: Duration,
    ) -> Result<Self, CommandError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(client) = Self::connect_within(home, patience)? {
                return Ok(client);
            }
            start_daemon(home, store)?;
            if let Some(client) = Self::connect_within(home, patience)? {
                return Ok(client);
            }
            if Instant::now() > deadline {
                let message = format!("the daemon does not answer at {}", home.socket().display());
                return Err(CommandError::new(Kind::Unreachable, message)
                    .hint(format!("its log is {}", home.log().display())));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Sends a request, with a body if it has one, and waits for the answer.
    pub(crate) fn call(
        &mut self,
        request: &Request,
        body: Option<&[u8]>,
        timeout: Option<Duration>,
    ) -> Result<Response, CallError> {
        self.stream.set_read_timeout(timeout).map_err(FrameError::from)?;
        self.ask(request)?;
        if let Some(body) = body {
            frame::write_bytes(&mut self.stream, body)?;
        }
        match self.read()?.json()? {
            Response::Failed(problem) => Err(CommandError::from(problem).into()),
            response => Ok(response),
        }
    }

    /// Sends a request whose answers are read one by one.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<(), CallError> {
        Ok(frame::write_json(&mut self.stream, request)?)
    }

    /// Reads the next frame.
    pub(crate) fn read(&mut self) -> Result<Frame, CallError> {
        Ok(frame::read(&mut self.stream)?)
    }

    /// Whether something can be read within this time.
    pub(crate) fn is_ready(&self, patience: Duration) -> io::Result<bool> {
        let patience = Timespec::try_from(patience).ok();
        match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], patience.as_ref()) {
            Ok(count) => Ok(count > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The bare connection.
    pub(crate) fn into_stream(self) -> UnixStream {
        self.stream
    }
}

/// Asks the daemon, starting it if need be and again if it dies meanwhile. Every request can be repeated:
/// those that change something carry an id.
pub(crate) fn call(request: &Request) -> Result<Response, CommandError> {
    call_with(request, None, None)
}

/// Asks the daemon something that must not be done twice, starting it if need be.
pub(crate) fn call_once(request: &Request) -> Result<Response, CommandError> {
    match Client::connect_or_start(&home()?)?.call(request, None, None) {
        Ok(response) => Ok(response),
        Err(CallError::Command(error)) => Err(error),
        Err(CallError::Lost | CallError::TimedOut) => {
            let text = "the daemon ended meanwhile: whether anything was pressed is not known";
            Err(CommandError::new(Kind::Unreachable, text)
                .hint("`ostler screen NAME` shows what the agent does; the session goes on"))
        }
    }
}

/// Like [`call`], with a body and a limit.
pub(crate) fn call_with(
    request: &Request,
    body: Option<&[u8]>,
    timeout: Option<Duration>,
) -> Result<Response, CommandError> {
    let home = home()?;
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut lost = None;
    loop {
        // A daemon that runs and says nothing is not waited for longer than was asked; one may have to come up first.
        let patience = deadline.map_or(PATIENCE, |at| {
            at.saturating_duration_since(Instant::now()).clamp(LEAST_PATIENCE, PATIENCE)
        });
        let mut client = Client::connect_or_start_with(&home, None, patience)?;
        // The kernel takes zero for no limit at all.
        let left =
            deadline.map(|at| at.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
        match client.call(request, body, left) {
            Ok(response) => return Ok(response),
            Err(CallError::TimedOut) => return Err(CommandError::new(Kind::TimedOut, "timed out")),
            Err(CallError::Command(error)) => return Err(error),
            Err(CallError::Lost) => {}
        }
        // A daemon that was killed is replaced at once; one that dies of this very request is not.
        let first = *lost.get_or_insert_with(Instant::now);
        if first.elapsed() > PATIENCE {
            return Err(CommandError::new(Kind::Unreachable, "the daemon keeps ending the connection")
                .hint(format!("its log is {}", home.log().display())));
        }
        if deadline.is_some_and(|at| Instant::now() >= at) {
            return Err(CommandError::new(Kind::TimedOut, "timed out"));
        }
    }
}

/// Starts a daemon in the background and waits for its word. One that is already there is as good.
fn start_daemon(home: &Home, store: Option<&str>) -> Result<(), CommandError> {
    let cannot = |what: &str, error: &io::Error| {
        CommandError::new(Kind::Unreachable, format!("cannot {what}: {error}"))
            .hint("set OSTLER_HOME to a directory of your own that can be written")
    };
    create_private(home.path()).map_err(|error| cannot("keep state", &error))?;
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(home.log())
        .map_err(|error| cannot("write the daemon's log", &error))?;
    let mut command = Command::new(executable()?);
    // A daemon that is started from within a session is none of that session's processes.
    command.args(["daemon", "run"]).env("OSTLER_HOME", home.path()).current_dir("/");
    command.env_remove("OSTLER_SESSION").env_remove(SESSION_MARK).env(DAEMON_MARK, "1");
    if let Some(store) = store {
        command.env("OSTLER_STORE", store);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = detach(&mut command).spawn().map_err(|error| cannot("start the daemon", &error))?;
    let mut word = String::new();
    if let Some(stdout) = child.stdout.take() {
        let _ = BufReader::new(stdout).read_line(&mut word);
    }
    // It may end before this command does, and is to leave no zombie then.
    std::thread::spawn(move || drop(child.wait()));
    if word.starts_with("ready") {
        return Ok(());
    }
    // One that was killed on the way says nothing; the caller tries again.
    let (reason, hint) = if let Some(reason) = word.strip_prefix("damaged ") {
        (reason, hints::REPAIR.to_owned())
    } else if let Some(reason) = word.strip_prefix("failed ") {
        (reason, format!("its log is {}; `ostler doctor` checks the rest", home.log().display()))
    } else {
        return Ok(());
    };
    Err(CommandError::new(Kind::Unreachable, format!("the daemon did not start: {}", reason.trim()))
        .hint(hint))
}

/// A fresh id for a request or a message.
pub(crate) fn fresh_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// This process's environment, for a program to be started.
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}
