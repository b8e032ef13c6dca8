//! `ostler doctor`

mod database;

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::Doctor;
use crate::client::{self, Client};
use crate::error::{CommandError, Kind};
use crate::output;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    ok: bool,
    /// What was found.
    found: String,
    /// What to do, where something is wrong or could be better.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Check {
    fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, ok: true, found: found.into(), advice: None }
    }

    fn bad(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what, ok: false, found: found.into(), advice: Some(advice.into()) }
    }

    fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

pub(crate) fn run(args: &Doctor) -> Result<ExitCode, CommandError> {
    let home = client::home()?;
    if args.repair {
        database::repair(&home)?;
    }
    let mut checks = vec![
        home_check(home.path()),
        disk_check(home.path()),
        holder_check(),
        kernel_check(),
        settings_check(&home),
        database::check(&home),
        daemon_check(&home),
    ];
    checks.extend(database::sessions(&home));
    if args.json {
        output::json(&checks)?;
    } else {
        for check in &checks {
            let mark = if check.ok { "ok  " } else { "FAIL" };
            output::print(&format!("{mark}  {:8}  {}\n", check.what, check.found))?;
            if let Some(advice) = &check.advice {
                output::print(&format!("                {advice}\n"))?;
            }
        }
    }
    let good = checks.iter().all(|check| check.ok);
    Ok(if good { ExitCode::SUCCESS } else { Kind::Failed.exit_code() })
}

fn home_check(home: &Path) -> Check {
    let shown = home.display().to_string();
    if let Err(error) = ostler_hold::create_private(home) {
        return Check::bad("home", error.to_string(), "set OSTLER_HOME to a directory of your own");
    }
    let probe = home.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"x");
    let _ = std::fs::remove_file(&probe);
    match written {
        Ok(()) => Check::good("home", format!("{shown} can be written")),
        Err(error) => Check::bad(
            "home",
            format!("{shown}: {error}"),
            "set OSTLER_HOME to a directory that can be written",
        ),
    }
}

fn disk_check(home: &Path) -> Check {
    const WANTED: u64 = 64 << 20;
    match rustix::fs::statvfs(home) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let found = format!("{} MiB free", free >> 20);
            if free >= WANTED {
                Check::good("disk", found)
            } else {
                Check::bad("disk", found, "free some space: sessions keep their output there")
            }
        }
        Err(error) => {
            Check::bad("disk", error.to_string(), "set OSTLER_HOME to a directory that can be read")
        }
    }
}

fn holder_check() -> Check {
    let Ok(executable) = client::executable() else {
        return Check::bad("holder", "this program's own file is not known", "start ostler by its full path");
    };
    let small = executable.with_file_name("ostler-hold");
    if small.is_file() {
        Check::good("holder", small.display().to_string())
    } else {
        Check::good("holder", format!("{} hold", executable.display()))
            .with_advice("put the small ostler-hold beside it to save about 1 MB of memory per session (cargo build --release --workspace)")
    }
}

fn kernel_check() -> Check {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (5, 11) {
        Check::good("kernel", format!("Linux {release}"))
    } else {
        Check::bad("kernel", format!("Linux {release}"), "5.11 or newer is needed (close_range)")
    }
}

/// Files of the user, and of the project that the command was given in.
fn settings_check(home: &ostler_daemon::Home) -> Check {
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let problems = super::agents::problems(home, &here);
    if problems.is_empty() {
        return Check::good("settings", "every file can be used");
    }
    let advice = "correct it: until then nothing in that file counts; ostler agents check looks again";
    Check::bad("settings", output::plain(&problems.join("; ")), advice)
}

fn daemon_check(home: &ostler_daemon::Home) -> Check {
    match Client::connect(home) {
        Ok(Some(client)) => {
            let daemon = client.daemon;
            let check = Check::good(
                "daemon",
                format!("process {}, version {}, {} sessions", daemon.pid, daemon.version, daemon.sessions),
            );
            if daemon.version == env!("CARGO_PKG_VERSION") {
                check
            } else {
                check.with_advice("it is another version than this command: ostler daemon stop lets the next command start the new one")
            }
        }
        Ok(None) => Check::good("daemon", "not running; the first command that needs it starts it"),
        Err(error) => Check::bad("daemon", error.message, error.hint.unwrap_or_default()),
    }
}
