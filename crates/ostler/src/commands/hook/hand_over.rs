//! Handing a report to the daemon, quickly or not at all.

use std::io::ErrorKind::WouldBlock;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ostler_daemon::Home;
use ostler_hold::SocketPath;
use ostler_protocol::frame::{self, Frame, FrameError};
use ostler_protocol::{ErrorKind, HookReport, PROTOCOL, Request, Response};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// How long the daemon may take. A report that it has and has not answered in time is also put in the spool, and
/// handled once all the same: being early costs little, being late costs the agent.
const PATIENCE: Duration = Duration::from_millis(4);
/// How long context is waited for.
const PATIENCE_FOR_CONTEXT: Duration = Duration::from_millis(1_500);

/// Why a report was not handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The daemon does not want it, now or later.
    Refused,
    /// There is no daemon, or it has no time.
    Away,
}

impl From<FrameError> for Failure {
    fn from(_: FrameError) -> Self {
        Self::Away
    }
}

/// Hands a report over; returns what to print, if the daemon says so.
pub(super) fn hand_over(home: &Home, report: &HookReport, payload: &[u8]) -> Result<Option<String>, Failure> {
    let patience = if report.context { PATIENCE_FOR_CONTEXT } else { PATIENCE };
    let deadline = Instant::now() + patience;
    // All in one go: the daemon's greeting has nothing to tell that would matter here.
    let hello = Request::Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() };
    let mut bytes = frame::encode_json(&hello)?;
    bytes.extend(frame::encode_json(&Request::Hook(Box::new(report.clone())))?);
    bytes.extend(frame::encode_bytes(payload));
    let mut stream = reach(home).ok_or(Failure::Away)?;
    write_until(&mut stream, &bytes, deadline)?;
    let mut inbox = Vec::new();
    loop {
        match next_frame(&mut stream, &mut inbox, deadline)?.json()? {
            Response::Welcome(_) => {}
            Response::Hook { print } => return Ok(print),
            Response::Failed(problem) if problem.kind == ErrorKind::Usage => return Err(Failure::Refused),
            _ => return Err(Failure::Away),
        }
    }
}

/// Connects if that is possible at once: the queue of a daemon that is stuck may be full.
fn reach(home: &Home) -> Option<UnixStream> {
    let path = SocketPath::new(&home.socket()).ok()?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&socket, &SocketAddrUnix::new(path.as_path()).ok()?).ok()?;
    Some(UnixStream::from(socket))
}

fn write_until(stream: &mut UnixStream, mut bytes: &[u8], deadline: Instant) -> Result<(), Failure> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) if count > 0 => bytes = &bytes[count..],
            Err(error) if error.kind() == WouldBlock => wait(stream, PollFlags::OUT, deadline)?,
            _ => return Err(Failure::Away),
        }
    }
    Ok(())
}

fn next_frame(stream: &mut UnixStream, inbox: &mut Vec<u8>, deadline: Instant) -> Result<Frame, Failure> {
    let mut buffer = [0; 16 << 10];
    loop {
        if let Some(frame) = frame::take(inbox, frame::MAX_FRAME)? {
            return Ok(frame);
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => inbox.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == WouldBlock => wait(stream, PollFlags::IN, deadline)?,
            _ => return Err(Failure::Away),
        }
    }
}

/// Waits for the daemon. The socket's own timeouts are counted in ticks of the kernel's clock, of which one is
/// as long as all our patience.
fn wait(stream: &UnixStream, what: PollFlags, deadline: Instant) -> Result<(), Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(|_| Failure::Away)?;
    match poll(&mut [PollFd::new(stream, what)], Some(&left)) {
        Ok(0) => Err(Failure::Away),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(_) => Err(Failure::Away),
    }
}
