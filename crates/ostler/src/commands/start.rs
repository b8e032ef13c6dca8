//! `ostler start`

use std::process::ExitCode;

use ostler_protocol::{OsText, Request, StartRequest};

use crate::cli::Start;
use crate::error::{CommandError, Kind};
use crate::{client, output};

const MIB: u64 = 1 << 20;
/// How often a start that a dying daemon cut short is tried.
const TRIES: u32 = 10;

pub(crate) fn run(args: Start) -> Result<ExitCode, CommandError> {
    let here = std::env::current_dir().map_err(|error| {
        CommandError::new(Kind::Failed, format!("the current directory is not there: {error}"))
    })?;
    let cwd = args.cwd.map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let cwd = cwd.canonicalize().unwrap_or(cwd);
    let text = |(name, value): &(String, String)| (OsText::from(name), OsText::from(value));
    let mut request = StartRequest {
        id: client::fresh_id(),
        program: OsText::from(&args.program),
        args: args.args.iter().map(OsText::from).collect(),
        agent: args.agent,
        hooks: !args.no_hooks,
        name: args.name,
        cwd: OsText::from(&cwd),
        env: client::environment().iter().map(|(name, value)| (name.into(), value.into())).collect(),
        extra_env: args.env.iter().map(text).collect(),
        cols: args.size.cols,
        rows: args.size.rows,
        record: args.record.map_or(0, |mib| u64::from(mib) * MIB),
        open_files: rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(0),
        umask: umask(),
    };
    let mut tries = TRIES;
    let session = loop {
        let session = super::session(client::call(&Request::Start(Box::new(request.clone())))?)?;
        if session.kind.as_deref() != Some("failed") {
            break session;
        }
        // The daemon died between recording the session and starting it: nothing ran, so it can be asked anew.
        tries -= 1;
        if tries == 0 {
            return Err(CommandError::new(Kind::Failed, session.because.join("; ")));
        }
        request.id = client::fresh_id();
    };
    if args.json {
        output::json(&session)?;
    } else {
        output::print(&format!("{}\n", session.name))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// This process's umask, read without changing it.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o22)
}
