//! Running commands that a model proposed: contained, or not at all.
//!
//! # What holds
//!
//! A command runs in a copy of the work tree. It reads system directories and what the policy adds to them; it
//! writes to the copy and a temporary directory. It has no network, none of the user's environment, no privilege
//! to gain, and no way to signal, trace or read the processes of anybody else. It has limits on time, memory,
//! processes and files, and when it ends, or its time is over, everything that it started ends.
//!
//! Where the kernel lacks a part of this, the command is refused: landlock (Linux 5.13) and seccomp must be there.
//! Namespaces are used where the system allows them; elsewhere the rules are stricter instead
//! ([`Containment::Rules`]), and landlock must be that of Linux 6.2, for older ones let a command empty what it may read.
//!
//! # What does not hold
//!
//! - Bugs of the kernel are not contained: the command shares it.
//! - The copy has what the tree has, secrets in it too, and output is what the command makes of it.
//! - Memory and disk are limited for each process and each file, not in sum: a command can fill the disk with
//!   many files, or the memory with many processes, until its time is over.
//! - Other work slows down meanwhile, if little.
//! - With [`Containment::Rules`], names and sizes of files elsewhere can be found out by guessing, though not their
//!   content, and the command lines of other processes cannot be read but their existence can be.

mod calls;
mod copy;
mod entry;
mod policy;
mod root;
mod rules;
mod signs;
mod spec;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::exclude::Exclude;
use crate::kept::{Keep, Kept};
use crate::process::{self, Bounds, End};
use spec::{Channel, Report, Spec};

pub use copy::{Copy, CopyLimits};
pub use entry::sandbox_exec;
pub use policy::tool_dirs;
pub use spec::{Containment, SandboxLimits};

/// How commands are contained.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The program that calls [`sandbox_exec`], and the words that make it do so.
    pub launcher: Vec<OsString>,
    /// Where copies are made. If ostler is run by root, everybody must be able to reach it.
    pub scratch: PathBuf,
    /// Places beyond the system's own that may be read and run from: toolchains.
    pub readable: Vec<PathBuf>,
    /// Places that must not be readable, whatever else is: the home, the state of ostler. A readable place that
    /// contains one of them is not readable.
    pub private: Vec<PathBuf>,
    /// Where programs are looked for; only readable places count.
    pub path: OsString,
    /// Variables for the command. It has no others but `PATH`, `HOME`, `TMPDIR`, `LANG` and `TERM`.
    pub env: Vec<(OsString, OsString)>,
    /// What is not copied.
    pub exclude: Exclude,
    /// How large a copy may get.
    pub copy_limits: CopyLimits,
    /// What a command may use up.
    pub limits: SandboxLimits,
    /// How much of each of its outputs is kept.
    pub keep: Keep,
    /// Whether namespaces are tried at all. Without, [`Containment::Rules`] is used.
    pub namespaces: bool,
}

/// What came of a command.
#[derive(Debug)]
pub struct SandboxResult {
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub took: Duration,
    /// What it wrote to its output.
    pub stdout: Kept,
    /// What it wrote to its error output.
    pub stderr: Kept,
    /// How it was contained.
    pub containment: Containment,
}

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// It is no command that may be run here, or nothing here can contain it.
    #[error("not run: {0}")]
    Refused(String),
    /// The tree cannot be copied.
    #[error("the work tree cannot be copied: {}: {source}", path.display())]
    Copy {
        /// What of it.
        path: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
    /// The tree is too large to be copied.
    #[error(
        "the work tree is too large to be copied (more than {files} files or {} MiB); exclude generated directories",
        bytes >> 20
    )]
    TooLarge {
        /// The most files.
        files: u64,
        /// The most bytes.
        bytes: u64,
    },
    /// The sandbox itself failed.
    #[error("the sandbox failed: {0}")]
    Failed(#[source] io::Error),
}

impl Sandbox {
    /// Makes a copy of a work tree, for one command or for several that belong together.
    pub async fn copy(&self, tree: &Path) -> Result<Copy, SandboxError> {
        let failed = |source| SandboxError::Copy { path: tree.to_owned(), source };
        let (tree, scratch) = (tree.canonicalize().map_err(failed)?, self.scratch.clone());
        let private = self.private.iter().filter_map(|place| place.canonicalize().ok());
        if let Some(secret) = private.into_iter().find(|place| place.starts_with(&tree)) {
            let reason = format!("{} is private and lies in the work tree", secret.display());
            return Err(SandboxError::Refused(reason));
        }
        let (exclude, limits) = (self.exclude.clone(), self.copy_limits);
        let made = tokio::task::spawn_blocking(move || Copy::make(&tree, &scratch, &exclude, limits)).await;
        made.map_err(|error| SandboxError::Failed(io::Error::other(error)))?
    }

    /// Runs a command in a copy: a program and its arguments, which no shell interprets. Dropped, it ends with all
    /// that it started.
    pub async fn run(&self, copy: &Copy, words: &[OsString]) -> Result<SandboxResult, SandboxError> {
        let readable = policy::readable(&self.readable, &self.private);
        let path = policy::path(&self.path, &readable);
        let program = policy::program(words, &path, copy, &readable)?;
        let spec = |containment| Spec {
            containment,
            program: program.clone(),
            words: words.to_vec(),
            env: policy::env(&self.env, &path, copy),
            cwd: copy.tree(),
            readable: readable.clone(),
            tree: copy.tree(),
            tmp: copy.tmp(),
            root: copy.root(),
            limits: self.limits,
        };
        if self.namespaces
            && let Some(result) = self.attempt(&spec(Containment::Namespaces)).await?
        {
            return Ok(result);
        }
        let unexpected = || SandboxError::Refused("it was not asked for namespaces".into());
        self.attempt(&spec(Containment::Rules)).await?.ok_or_else(unexpected)
    }

    /// Tries one way to contain a command; none if the system allows no namespaces.
    async fn attempt(&self, spec: &Spec) -> Result<Option<SandboxResult>, SandboxError> {
        let failed = SandboxError::Failed;
        let channel = Channel::create(spec).map_err(failed)?;
        let (launcher, args) =
            self.launcher.split_first().ok_or_else(|| failed(io::Error::other("no launcher")))?;
        let mut command = Command::new(launcher);
        command.args(args).env_clear().current_dir("/").stdin(channel.share().map_err(failed)?);
        let bounds = Bounds::of_work(self.limits.wall, self.keep);
        let done = process::run(command, bounds).await.map_err(failed)?;
        let end = match (done.end(), channel.report().map_err(failed)?) {
            (_, Some(Report::NoNamespaces(_))) => return Ok(None),
            (_, Some(Report::Refused(reason))) => return Err(SandboxError::Refused(reason)),
            (_, Some(Report::Exited(status))) => End::Exited(status),
            (_, Some(Report::Signalled(signal))) => End::Signalled(signal),
            (end @ (End::TimedOut | End::Signalled(_)), None) => end,
            (end @ End::Exited(_), None) => {
                let reason =
                    format!("{} {end} without a word: {}", launcher.to_string_lossy(), done.stderr.text());
                return Err(failed(io::Error::other(reason)));
            }
        };
        let (took, stdout, stderr) = (done.took, done.stdout, done.stderr);
        Ok(Some(SandboxResult { end, took, stdout, stderr, containment: spec.containment }))
    }
}
