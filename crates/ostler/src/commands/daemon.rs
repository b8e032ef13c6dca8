//! `ostler daemon`

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ostler_daemon::{Home, StartupError, StoreError};
use ostler_protocol::{DaemonInfo, Request};
use tracing_subscriber::EnvFilter;

use crate::cli::Daemon;
use crate::client::{self, CallError, Client};
use crate::error::{CommandError, Kind};
use crate::output;

/// How long a daemon may take to leave.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// How long work that blocks may take at the end.
const FAREWELL: Duration = Duration::from_secs(1);
/// A log larger than this makes room for a new one.
const MAX_LOG: u64 = 8 << 20;

pub(crate) fn run(command: &Daemon) -> Result<ExitCode, CommandError> {
    let home = client::home()?;
    match command {
        Daemon::Start(args) => {
            let client = Client::connect_or_start(&home)?;
            print_daemon(&client.daemon, args.json)
        }
        Daemon::Status(args) => match Client::connect(&home)? {
            Some(client) => print_daemon(&client.daemon, args.json),
            None => Err(CommandError::new(
                Kind::Unreachable,
                format!("no daemon runs for {}", home.path().display()),
            )
            .hint("any command that needs it starts it, and so does `ostler daemon start`")),
        },
        Daemon::Stop(args) => stop(&home, args.json),
        Daemon::Run => run_here(home),
    }
}

fn print_daemon(daemon: &DaemonInfo, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        output::json(daemon)?;
    } else {
        let since = output::ago(daemon.since, jiff::Timestamp::now());
        output::print(&format!(
            "daemon {} (version {}) runs for {since} in {}, {} sessions, runs are kept at {}\n",
            daemon.pid, daemon.version, daemon.home, daemon.sessions, daemon.store
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn stop(home: &Home, json: bool) -> Result<ExitCode, CommandError> {
    match end(home)? {
        Some(daemon) if json => output::json(&daemon)?,
        Some(_) => output::print("daemon ended; sessions go on\n")?,
        None if json => {}
        None => output::print("no daemon runs\n")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends the daemon, if one runs, and waits until it has left.
pub(super) fn end(home: &Home) -> Result<Option<DaemonInfo>, CommandError> {
    let Some(mut client) = Client::connect(home)? else { return Ok(None) };
    match client.call(&Request::Shutdown, None, Some(PATIENCE)) {
        Ok(_) | Err(CallError::Lost) => {}
        Err(CallError::TimedOut) => {
            return Err(CommandError::new(Kind::TimedOut, "the daemon does not answer"));
        }
        Err(CallError::Command(error)) => return Err(error),
    }
    let deadline = Instant::now() + PATIENCE;
    // It has left when its lock is free.
    while is_locked(home) {
        if Instant::now() > deadline {
            return Err(CommandError::new(Kind::TimedOut, "the daemon is slow to leave")
                .hint(format!("its log is {}", home.log().display())));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Some(client.daemon))
}

pub(super) fn is_locked(home: &Home) -> bool {
    use rustix::fs::FlockOperation::NonBlockingLockShared;
    std::fs::File::open(home.lock()).is_ok_and(|file| {
        rustix::fs::flock(&file, NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    })
}

/// Runs the daemon in this process. The first line on standard output says how it went.
fn run_here(home: Home) -> Result<ExitCode, CommandError> {
    trim_log(&home);
    let filter = EnvFilter::try_from_env("OSTLER_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .init();
    raise_handle_limit();
    let executable = client::executable()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, |cores| cores.get().min(4)))
        .enable_all()
        .build()?;
    // For tests of programs that hear nothing: without an answer they keep their status to themselves.
    let answer_status = std::env::var_os("OSTLER_ANSWER_STATUS_QUERY").is_none_or(|value| value != "0");
    let store = std::env::var("OSTLER_STORE").ok().filter(|url| !url.is_empty());
    let ended = runtime.block_on(async {
        let daemon = match ostler_daemon::Daemon::open(home, &executable, answer_status, store.as_deref()) {
            Ok(daemon) => daemon,
            Err(error) => {
                let word = match &error {
                    StartupError::Running { .. } => "running",
                    StartupError::Store { source: StoreError::Damaged(_), .. } => "damaged",
                    _ => "failed",
                };
                announce(&format!("{word} {}\n", error.to_string().replace('\n', " ")));
                return Err(CommandError::new(Kind::Failed, error.to_string()));
            }
        };
        announce("ready\n");
        daemon.run().await?;
        Ok(ExitCode::SUCCESS)
    });
    // Whatever still blocks must not keep the lock.
    runtime.shutdown_timeout(FAREWELL);
    ended
}

fn announce(line: &str) {
    // Whoever started us may be gone already.
    let _ = std::io::stdout().write_all(line.as_bytes());
    let _ = std::io::stdout().flush();
}

/// Every session costs a handle, every viewer two.
fn raise_handle_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Keeps the log bounded: one older file beside the present one.
fn trim_log(home: &Home) {
    if std::fs::metadata(home.log()).is_ok_and(|log| log.len() > MAX_LOG) {
        let _ = std::fs::rename(home.log(), home.log().with_extension("log.1"));
    }
}
