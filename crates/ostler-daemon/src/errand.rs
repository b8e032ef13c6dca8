//! Running a program to hear what it says, under close watch.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use ostler_work::Keep;
use ostler_work::process::{Bounds, Excess, Stopped, run_here};

/// How much of its output is read.
const MAX_OUTPUT: usize = 64 << 10;

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand<'a> {
    /// The file.
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [String],
    /// Its whole environment.
    pub(crate) env: &'a [(OsString, OsString)],
    pub(crate) cwd: &'a Path,
    /// What it can read; it has to fit into a pipe.
    pub(crate) input: Option<&'a str>,
    /// How long it may take.
    pub(crate) limit: Duration,
    /// Nobody waits for it any more once the other end of this pipe is closed.
    pub(crate) until_closed: Option<&'a io::PipeReader>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What the program wrote to its output.
    pub(crate) output: Vec<u8>,
    /// What it wrote to its error output.
    pub(crate) errors: Vec<u8>,
    /// What was not as it should be.
    pub(crate) trouble: Option<Trouble>,
}

impl Outcome {
    /// Both outputs in one: warnings come first in time, and last in importance.
    pub(crate) fn all(&self) -> Vec<u8> {
        let mut all = self.output.clone();
        if !all.is_empty() && !all.ends_with(b"\n") && !self.errors.is_empty() {
            all.push(b'\n');
        }
        all.extend_from_slice(&self.errors);
        all.truncate(MAX_OUTPUT);
        all
    }
}

/// What was not as it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// It could not be run.
    #[error("it cannot be run: {0}")]
    NotRun(String),
    /// It ended as programs end that failed.
    #[error("it ended with {0}")]
    Failed(ExitStatus),
    /// It did not end.
    #[error("it did not end within {} s", .0.as_secs())]
    Hung(Duration),
    /// It did not stop talking.
    #[error("it said more than {} KiB", MAX_OUTPUT >> 10)]
    Flooded,
    /// Nobody waited for it any more.
    #[error("it was called off")]
    CalledOff,
}

impl Trouble {
    /// Whether it may do better another time.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::NotRun(_) | Self::Hung(_))
    }

    /// Whether what was said is worth nothing. A program that says who it is and then stays is believed.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::NotRun(_) | Self::Failed(_))
    }
}

/// Runs a program without a terminal, for a limited time, and reads a limited amount of what it says.
///
/// This blocks; the program ends with the thread.
pub(crate) fn run(errand: &Errand<'_>) -> Outcome {
    let Errand { program, args, env, cwd, input, limit, until_closed } = *errand;
    let finished = input_of(input).and_then(|input| {
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(env.iter().cloned()).current_dir(cwd).stdin(input);
        let keep = Keep { head: MAX_OUTPUT, tail: 0 };
        run_here(command, Bounds { limit, keep, excess: Excess::Kill, mark: None }, until_closed)
    });
    let finished = match finished {
        Ok(finished) => finished,
        Err(error) => {
            return Outcome { trouble: Some(Trouble::NotRun(error.to_string())), ..Outcome::default() };
        }
    };
    let trouble = match finished.stopped {
        Some(Stopped::Flooded) => Some(Trouble::Flooded),
        Some(Stopped::CalledOff) => Some(Trouble::CalledOff),
        Some(Stopped::TimedOut) => Some(Trouble::Hung(limit)),
        None => (!finished.status.success()).then_some(Trouble::Failed(finished.status)),
    };
    Outcome { output: finished.stdout.into_head(), errors: finished.stderr.into_head(), trouble }
}

/// What a program reads: all of it is in the pipe before it starts.
fn input_of(input: Option<&str>) -> io::Result<Stdio> {
    let Some(text) = input else { return Ok(Stdio::null()) };
    let (reader, mut writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    writer.write_all(text.as_bytes())?;
    Ok(reader.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_are_heard_apart_and_together() {
        let outcome = run(&Errand {
            program: Path::new("/bin/sh"),
            args: &["-c".into(), "echo warning >&2; read line; printf \"$line\"".into()],
            env: &[("PATH".into(), std::env::var_os("PATH").unwrap())],
            cwd: Path::new("/"),
            input: Some("hello\nworld"),
            limit: Duration::from_secs(30),
            until_closed: None,
        });
        assert!(outcome.trouble.is_none());
        assert_eq!((&*outcome.output, &*outcome.errors), (&b"hello"[..], &b"warning\n"[..]));
        assert_eq!(outcome.all(), b"hello\nwarning\n");
    }
}
