//! What the stand-in does to and with processes: ignored signals, orphans, its own death.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Component, Path};
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Signal, getpid, kill_process};

use super::event::Ending;
use super::options::Process;

/// Set in the environment once the signals are ignored.
const GUARD: &str = "OSTLER_STAND_IN_SIGNALS_IGNORED";

/// Makes the process ignore the signals that `options` names.
///
/// A disposition can only be changed by unsafe code, but an ignored signal stays ignored over `exec`: a
/// shell ignores it and turns back into this program, with the same process id.
pub(super) fn ignore_signals(options: &Process) -> io::Result<()> {
    let wanted = [(options.ignore_hup, "HUP"), (options.ignore_term, "TERM")];
    let names: Vec<_> = wanted.into_iter().filter_map(|(ignored, name)| ignored.then_some(name)).collect();
    if names.is_empty() || std::env::var_os(GUARD).is_some() {
        return Ok(());
    }
    let script = format!("trap '' {}; exec \"$0\" \"$@\"", names.join(" "));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).arg(std::env::current_exe()?).args(std::env::args_os().skip(1));
    Err(shell.env(GUARD, "1").exec())
}

/// Leaves a process behind in a session of its own and returns its id.
///
/// It keeps the terminal open as its standard output, so that whoever waits for the end of output
/// waits for it too.
pub(super) fn start_orphan() -> io::Result<u32> {
    let output = Command::new("sh")
        .args(["-c", "setsid sleep 600 </dev/null >&2 & echo $!"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| io::Error::other("the shell did not tell the orphan's process id"))
}

/// Ends the process, or returns the code of a clean end.
pub(super) fn end(code: u8, ending: Ending) -> io::Result<ExitCode> {
    match ending {
        Ending::Clean => Ok(ExitCode::from(code)),
        // Skips the destructors that would restore the terminal.
        Ending::Abrupt => std::process::exit(code.into()),
        Ending::Killed => {
            kill_process(getpid(), Signal::KILL)?;
            Ok(ExitCode::from(code))
        }
    }
}

/// Writes a file below the working directory, and nowhere else.
pub(super) fn write_file(file: &str, content: &str) -> io::Result<()> {
    let path = Path::new(file);
    let inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside || file.is_empty() {
        return Err(io::Error::other("not a path below the working directory"));
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, content)
}
