//! Looking at sessions over the daemon's socket.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ostler_protocol::{PROTOCOL, Request, Response, SessionInfo, frame};

/// Between two looks: fine compared with everything that is timed by them.
const PAUSE: Duration = Duration::from_millis(2);
/// No measurement here takes this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(100);

/// A connection that asks without starting a process for it.
#[derive(Debug)]
pub(crate) struct Client(UnixStream);

impl Client {
    /// Connects to the daemon of a home; it must be running.
    pub(crate) fn connect(home: &Path) -> Result<Self> {
        let stream = UnixStream::connect(home.join("daemon.sock")).context("cannot reach the daemon")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut client = Self(stream);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        match client.call(&Request::Hello { protocol: PROTOCOL, version })? {
            Response::Welcome(_) => Ok(client),
            other => bail!("the daemon did not greet: {other:?}"),
        }
    }

    fn call(&mut self, request: &Request) -> Result<Response> {
        frame::write_json(&mut self.0, request)?;
        match frame::read(&mut self.0)?.json()? {
            Response::Failed(problem) => bail!("{}", problem.message),
            response => Ok(response),
        }
    }

    pub(crate) fn status(&mut self, name: &str) -> Result<SessionInfo> {
        match self.call(&Request::Status { name: name.to_owned() })? {
            Response::Session(session) => Ok(*session),
            other => bail!("not a session: {other:?}"),
        }
    }

    /// The sessions that run.
    pub(crate) fn list(&mut self) -> Result<Vec<SessionInfo>> {
        match self.call(&Request::List { all: false })? {
            Response::Sessions { sessions } => Ok(sessions),
            other => bail!("not a list of sessions: {other:?}"),
        }
    }

    /// Waits until the session's screen stands at this offset of the output, which must be its last.
    pub(crate) fn wait_for_output(&mut self, name: &str, bytes: u64) -> Result<SessionInfo> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let session = self.status(name)?;
            if session.output >= bytes {
                ensure!(session.output == bytes, "{name} printed {}, not {bytes} bytes", session.output);
                return Ok(session);
            }
            ensure!(Instant::now() < deadline, "{name} stands at {} of {bytes} bytes", session.output);
            std::thread::sleep(PAUSE);
        }
    }
}

/// Whether output was gone before the daemon could read it.
pub(crate) fn has_lost(session: &SessionInfo) -> bool {
    session.because.iter().any(|why| why.contains("lost"))
}
