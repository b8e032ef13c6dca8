//! Starting a holder and hearing from it that the program runs.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::fs::FlockOperation;

use crate::dir::SessionDir;
use crate::spawn::detach;
use crate::spec::Spec;

/// The holder program: its own small binary, or a larger one that has it as a subcommand.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The file to execute.
    pub program: PathBuf,
    /// What to say before the session directory.
    pub args: Vec<OsString>,
}

/// A holder that runs its program.
#[derive(Debug)]
pub struct Launched {
    /// The holder; to be waited for when it ends.
    pub holder: Child,
    /// Process id of the program.
    pub program: u32,
}

/// Why a session did not start.
#[derive(Debug)]
pub enum LaunchError {
    /// The session directory could not be made or written.
    Directory(io::Error),
    /// The holder itself could not be run.
    Holder(PathBuf, io::Error),
    /// The holder ran and said why it gave up.
    Program(String),
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(error) => write!(f, "session directory: {error}"),
            Self::Holder(path, error) => write!(f, "cannot run the holder {}: {error}", path.display()),
            Self::Program(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for LaunchError {}

impl Launcher {
    /// Makes the session directory, starts the holder with `environment` as the program's whole environment,
    /// and waits for its word.
    pub fn launch<K, V>(
        &self,
        dir: &SessionDir,
        spec: &Spec,
        environment: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Launched, LaunchError>
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        dir.create().map_err(LaunchError::Directory)?;
        let stdin = locked_spec(dir, spec).map_err(LaunchError::Directory)?;
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(dir.log())
            .map_err(LaunchError::Directory)?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(dir.path()).env_clear().envs(environment);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(log);
        let mut holder =
            detach(&mut command).spawn().map_err(|error| LaunchError::Holder(self.program.clone(), error))?;
        let mut word = String::new();
        let heard = holder.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut word));
        if let Some(program) = word.strip_prefix("ready ").and_then(|pid| pid.trim().parse().ok()) {
            return Ok(Launched { holder, program });
        }
        let status = holder.wait();
        let reason = match word.strip_prefix("failed ") {
            Some(reason) => reason.trim().to_owned(),
            None => format!(
                "the holder ended without a word ({status:?}, {heard:?}); see {}",
                dir.log().display()
            ),
        };
        Err(LaunchError::Program(reason))
    }
}

/// Writes the spec and locks it. The lock belongs to the open file, which becomes the holder's standard
/// input: at no moment is the session without it, even if we are killed on the way.
fn locked_spec(dir: &SessionDir, spec: &Spec) -> io::Result<std::fs::File> {
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(dir.spec())?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    file.write_all(&spec.to_bytes())?;
    file.rewind()?;
    Ok(file)
}
