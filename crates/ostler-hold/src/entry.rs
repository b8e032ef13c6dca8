//! From a command line to a running holder.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ostler_cast::Header;

use crate::cgroup;
use crate::dir::SessionDir;
use crate::holder::Holder;
use crate::identity::Identity;
use crate::ledger::Ledger;
use crate::recorder::Recorder;
use crate::ring::Ring;
use crate::signals::Signals;
use crate::spawn::{self, Pty};
use crate::spec::Spec;
use crate::tree::SESSION_MARK;

/// Smallest ring: below it, output would be cut into too many pieces.
const MIN_RING: usize = 16 * 1024;

/// How long a program that prints much at once waits for the daemon that started it.
const FIRST_READER: Duration = Duration::from_secs(2);

/// Runs a holder for the session directory `dir`. The spec comes on standard input, which stays open: its
/// lock is how others know that the holder lives. Standard output gets one line, `ready PID` or
/// `failed REASON`, and is then let go.
pub fn main(dir: &SessionDir) -> ExitCode {
    match prepare(dir) {
        Ok(holder) => {
            announce(&format!("ready {}\n", holder.child));
            let ran = holder.run();
            cgroup::leave(dir);
            match ran {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => complain(&error),
            }
        }
        Err(error) => {
            announce(&format!("failed {}\n", error.to_string().replace('\n', " ")));
            complain(&error)
        }
    }
}

fn prepare(dir: &SessionDir) -> io::Result<Holder> {
    let signals = Signals::install()?;
    // Orphans of the program become ours, so that ending the session finds them.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let spec = Spec::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let token = dir.write_token()?;
    let ring = Ring::create(&dir.ring(), (spec.ring as usize).max(MIN_RING))?;
    let recorder = (spec.record > 0).then(|| record(dir, &spec)).transpose()?;
    let listener = dir.listen()?;
    listener.set_nonblocking(true)?;
    let identity = Identity::own().ok_or_else(|| io::Error::other("/proc is not readable"))?;
    dir.write_identity(&identity)?;
    if let Some(session) = std::env::var_os(SESSION_MARK) {
        // Most systems keep ordinary users from it; the mark in the environment finds nearly everything as well.
        let _ = cgroup::enter(dir, &session.to_string_lossy());
    }
    let pty = Pty::open(spec.cols, spec.rows)?;
    let child = spawn::start(&spec, &pty).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot run {}: {error}", spec.program.display()))
    })?;
    // Nothing here depends on a directory, and none is to be kept from being unmounted.
    let _ = std::env::set_current_dir("/");
    Ok(Holder {
        dir: dir.clone(),
        token,
        listener,
        signals,
        pty,
        ring,
        recorder,
        child,
        cols: spec.cols,
        rows: spec.rows,
        ledger: Ledger::default(),
        clients: Vec::new(),
        first_reader_until: Some(Instant::now() + FIRST_READER),
        typist: None,
        reaped: None,
        reaped_some: false,
        ended: None,
        stopping: None,
    })
}

fn record(dir: &SessionDir, spec: &Spec) -> io::Result<Recorder> {
    let header = Header {
        width: spec.cols,
        height: spec.rows,
        command: Some(spec.argv0.to_string_lossy().into_owned()),
        agent: Some(spec.agent.clone()).filter(|agent| !agent.is_empty()),
        agent_version: Some(spec.agent_version.clone()).filter(|version| !version.is_empty()),
        ..Header::default()
    };
    Recorder::create(&dir.recording(), &header, spec.record)
}

/// Says one line to whoever started the holder, then points standard output elsewhere.
fn announce(line: &str) {
    // Whoever started us may be dead already; the session goes on all the same.
    let _ = io::stdout().write_all(line.as_bytes());
    let _ = io::stdout().flush();
    if let Ok(null) = std::fs::File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

fn complain(error: &io::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "ostler hold: {error}");
    ExitCode::FAILURE
}
