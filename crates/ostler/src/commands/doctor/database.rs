//! Whether the database is whole, and its repair.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use ostler_core::Wall;
use ostler_daemon::repair::{self, Repaired, Salvaged};
use ostler_daemon::{Home, StoreError, held_sessions};
use ostler_protocol::{Request, Response};
use rustix::fs::FlockOperation::NonBlockingLockExclusive;

use super::Check;
use crate::client::Client;
use crate::commands::daemon;
use crate::error::{CommandError, Kind};
use crate::{hints, output};

/// What is wrong with the database, if anything is.
pub(super) fn check(home: &Home) -> Check {
    const WHAT: &str = "database";
    let path = home.database();
    if !path.exists() {
        let running = held_sessions(home).len();
        return match (daemon::is_locked(home), running) {
            (true, _) => Check::bad(
                WHAT,
                format!("{} was removed; the daemon has it open still", path.display()),
                "ostler daemon stop writes it anew; programs under care go on",
            ),
            (false, 0) => Check::good(WHAT, "not there yet; the first command that needs it makes it"),
            (false, running) => Check::bad(
                WHAT,
                format!("{} is missing, and {running} sessions run", path.display()),
                "the next command finds them again; their messages and history are lost",
            ),
        };
    }
    match repair::check(&path) {
        Ok(contents) => {
            Check::good(WHAT, format!("{} sessions, {} messages", contents.sessions, contents.messages))
        }
        Err(error @ StoreError::Damaged(_)) => {
            Check::bad(WHAT, format!("{}: {error}", path.display()), hints::REPAIR)
        }
        Err(error @ StoreError::Newer { .. }) => {
            Check::bad(WHAT, format!("{}: {error}", path.display()), "use the ostler that wrote it")
        }
        Err(error) => {
            let advice = "see that it is a file that can be read and written, or take it away";
            Check::bad(WHAT, format!("{}: {error}", path.display()), advice)
        }
    }
}

/// Whether the daemon knows every session that runs.
pub(super) fn sessions(home: &Home) -> Option<Check> {
    let mut client = Client::connect(home).ok().flatten()?;
    let held = held_sessions(home);
    let Ok(Response::Sessions { sessions }) = client.call(&Request::List { all: true }, None, None) else {
        return None;
    };
    let known = |id: &String| sessions.iter().any(|session| session.id == *id);
    let unknown: Vec<String> = held.iter().filter(|id| !known(id)).cloned().collect();
    Some(if unknown.is_empty() {
        Check::good("sessions", format!("{} run", held.len()))
    } else {
        let found = format!("{} run that the daemon does not know: {}", unknown.len(), unknown.join(", "));
        Check::bad("sessions", found, "ostler daemon stop: the next daemon finds them again")
    })
}

/// Makes a new database of what can be read of a damaged one.
pub(super) fn repair(home: &Home) -> Result<(), CommandError> {
    daemon::end(home)?;
    let lock = File::options().read(true).write(true).create(true).truncate(false).open(home.lock())?;
    if rustix::fs::flock(&lock, NonBlockingLockExclusive).is_err() {
        return Err(CommandError::new(Kind::Failed, "another daemon has just been started")
            .hint("try again when no other command runs"));
    }
    let path = home.database();
    if path.exists() && matches!(repair::check(&path), Err(StoreError::Damaged(_))) {
        let repaired = repair::repair(&path, now())
            .map_err(|error| CommandError::new(Kind::Failed, format!("cannot repair it: {error}")))?;
        print_repaired(&repaired, &path)?;
    } else {
        output::print("the database needs no repair\n")?;
    }
    drop(lock);
    let client = Client::connect_or_start(home)?;
    output::print(&format!("the daemon looks after {} sessions\n\n", client.daemon.sessions))
}

fn print_repaired(repaired: &Repaired, path: &Path) -> Result<(), CommandError> {
    let Repaired { kept, tables } = repaired;
    output::print(&format!("{} is made anew; the damaged file is {}\n", path.display(), kept.display()))?;
    for Salvaged { table, rows, whole } in tables.iter().filter(|table| table.rows > 0 || !table.whole) {
        let rest = if *whole { "" } else { "; the rest cannot be read" };
        output::print(&format!("  {table:18} {rows} rows{rest}\n"))?;
    }
    Ok(())
}

fn now() -> Wall {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Wall(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
