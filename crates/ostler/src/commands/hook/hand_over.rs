//! Handing a report to the daemon, quickly or not at all.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ostler_daemon::Home;
use ostler_hold::SocketPath;
use ostler_protocol::frame::{self, FrameError};
use ostler_protocol::{ErrorKind, HookReport, PROTOCOL, Request, Response};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// How long the daemon may take. A report that it has and has not answered in time is also put in the spool, and
/// handled once all the same: being early costs little, being late costs the agent.
const PATIENCE: Duration = Duration::from_millis(5);
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
    loop {
        // The kernel takes zero for no limit at all.
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).map_err(|_| Failure::Away)?;
        match frame::read(&mut stream)?.json()? {
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
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false).ok()?;
    Some(stream)
}

fn write_until(stream: &mut UnixStream, mut bytes: &[u8], deadline: Instant) -> Result<(), Failure> {
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::Away);
        }
        stream.set_write_timeout(Some(left)).map_err(|_| Failure::Away)?;
        match stream.write(bytes) {
            Ok(count) if count > 0 => bytes = &bytes[count..],
            _ => return Err(Failure::Away),
        }
    }
    Ok(())
}
