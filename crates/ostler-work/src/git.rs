//! Asking git about a repository without leaving a trace in it, and without running what its settings name.

mod filters;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::kept::{Keep, Kept};
use crate::process::{self, Bounds, End};

/// How long one question may take.
const LIMIT: Duration = Duration::from_mins(1);
/// How much of an answer is read.
const MOST: usize = 64 << 20;

/// Settings that would run programs, take locks or reach for the network.
const NEUTRAL: &[&str] = &[
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=keep",
    "core.splitIndex=false",
    "core.quotePath=false",
    "diff.external=",
    "diff.ignoreSubmodules=dirty",
    "submodule.recurse=false",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Why git did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It cannot be started.
    #[error("git cannot be run: {0} (is it installed?)")]
    NotRun(#[source] io::Error),
    /// It ended with an error.
    #[error("`git {command}` {end}: {message}")]
    Failed {
        /// The subcommand.
        command: String,
        /// How it ended.
        end: End,
        /// What it said, in one line.
        message: String,
    },
    /// It said more than is read.
    #[error("`git {command}` lists more than {} MiB of names; ignore generated files (.gitignore)", MOST >> 20)]
    TooMuch {
        /// The subcommand.
        command: String,
    },
    /// It said something that is not understood.
    #[error("`git {command}` gives an answer of an unknown form")]
    Unclear {
        /// The subcommand.
        command: String,
    },
    /// Its settings name a program that cannot be kept from running.
    #[error("the settings of the repository have a filter with an odd name ({0:?}); rename it")]
    OddFilter(String),
    /// Its settings name more programs than can be kept from running.
    #[error("the settings of the repository have more than {} filters; remove some", filters::MOST)]
    TooManyFilters,
    /// Files around it cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
}

/// A repository with a work tree.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    /// The file of git itself.
    program: PathBuf,
    top: PathBuf,
    /// Settings of this repository's filters, made harmless.
    filters: Vec<String>,
    /// How long one question may take.
    limit: Duration,
}

impl Repository {
    /// The repository that a directory is in.
    pub(crate) async fn around(dir: &Path) -> Result<Option<Self>, GitError> {
        let dir = dir.canonicalize().map_err(|source| GitError::Io { path: dir.to_owned(), source })?;
        match dir.ancestors().find(|dir| is_top(dir)) {
            Some(top) => Self::open(top.to_owned()).await.map(Some),
            None => Ok(None),
        }
    }

    /// The repository whose work tree begins at `top`.
    pub(crate) async fn open(top: PathBuf) -> Result<Self, GitError> {
        Self::unchecked(top, LIMIT)?.without_filters().await
    }

    /// The same, if git itself would work on it: not if it belongs to another user, whom nobody trusts. No question
    /// may take longer than `limit`.
    pub(crate) async fn open_trusted(top: PathBuf, limit: Duration) -> Result<Self, GitError> {
        let repository = Self::unchecked(top, limit)?;
        // Whoever says where a repository is, is not asked whether it is to be trusted.
        let mut command = repository.command("rev-parse", None);
        command.arg("--git-dir").env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        repository.finish("rev-parse", command, MOST).await?;
        repository.without_filters().await
    }

    fn unchecked(top: PathBuf, limit: Duration) -> Result<Self, GitError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = program_on(&path).ok_or_else(|| GitError::NotRun(io::ErrorKind::NotFound.into()))?;
        Ok(Self { program, top, filters: Vec::new(), limit })
    }

    async fn without_filters(mut self) -> Result<Self, GitError> {
        let settings = self.ask("config", ["--list", "--name-only", "-z"], None).await?;
        self.filters = filters::harmless(&settings)?;
        Ok(self)
    }

    /// The same with more time.
    pub(crate) fn patient(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The same with the filters as the user set them: without, files that are kept elsewhere are not filled in.
    pub(crate) fn with_filters(mut self) -> Self {
        self.filters.clear();
        self
    }

    /// Where the work tree begins.
    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// A command that works on this repository and on nothing that the environment may name. The place of both
    /// is given, so settings cannot move the work tree elsewhere.
    fn command(&self, subcommand: &str, index: Option<&Path>) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_git_variable(name)) {
            command.env_remove(name);
        }
        command.args(["--no-pager", "--literal-pathspecs"]);
        for setting in NEUTRAL.iter().copied().chain(self.filters.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command.arg(subcommand).current_dir(&self.top).stdin(Stdio::null());
        command.env("GIT_DIR", self.top.join(".git")).env("GIT_WORK_TREE", &self.top);
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_LAZY_FETCH", "1");
        // A repository that allows a protocol by its name overrides a setting for all of them, but not this.
        command.env("GIT_ALLOW_PROTOCOL", "");
        command.env("LC_ALL", "C").env_remove("LANGUAGE").env_remove(ostler_hold::SESSION_MARK);
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        command
    }

    /// Runs a subcommand to its end and returns what it printed.
    pub(crate) async fn ask<A: AsRef<OsStr>>(
        &self,
        subcommand: &str,
        args: impl IntoIterator<Item = A>,
        index: Option<&Path>,
    ) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(subcommand, index);
        command.args(args);
        self.whole(subcommand, command).await
    }

    /// Runs a subcommand to its end and returns the first `most` bytes of what it printed.
    pub(crate) async fn ask_first<A: AsRef<OsStr>>(
        &self,
        subcommand: &str,
        args: impl IntoIterator<Item = A>,
        most: usize,
    ) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(subcommand, None);
        command.args(args);
        Ok(self.finish(subcommand, command, most).await?.into_head())
    }

    async fn whole(&self, subcommand: &str, command: Command) -> Result<Vec<u8>, GitError> {
        let answer = self.finish(subcommand, command, MOST).await?;
        answer.complete().ok_or_else(|| GitError::TooMuch { command: subcommand.to_owned() })
    }

    async fn finish(&self, subcommand: &str, command: Command, most: usize) -> Result<Kept, GitError> {
        let keep = Keep { head: most, tail: 0 };
        let bounds = Bounds::of_work(self.limit, keep);
        let done = process::run(command, bounds).await.map_err(GitError::NotRun)?;
        let end = done.end();
        if !end.is_success() {
            let said = done.stderr.text();
            let message =
                said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
            let message = message.chars().take(400).collect();
            return Err(GitError::Failed { command: subcommand.to_owned(), end, message });
        }
        Ok(done.stdout)
    }

    /// One line of an answer.
    pub(crate) async fn line<A: AsRef<OsStr>>(
        &self,
        subcommand: &str,
        args: impl IntoIterator<Item = A>,
    ) -> Result<String, GitError> {
        let answer = self.ask(subcommand, args, None).await?;
        let unclear = |_| GitError::Unclear { command: subcommand.to_owned() };
        Ok(String::from_utf8(answer).map_err(unclear)?.trim_end_matches('\n').to_owned())
    }

    /// The commit that is checked out; none before the first one.
    pub(crate) async fn head(&self) -> Result<Option<String>, GitError> {
        match self.line("rev-parse", ["--verify", "--quiet", "HEAD^{commit}"]).await {
            Ok(commit) => Ok(Some(commit)),
            Err(GitError::Failed { end: End::Exited(1), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Git's names for the contents of files on the disk, as they are; none for what is no file.
    pub(crate) async fn contents(&self, paths: &[PathBuf]) -> Result<Vec<Option<String>>, GitError> {
        let failed = |source| GitError::Io { path: std::env::temp_dir(), source };
        let is_plain = |path: &PathBuf| {
            let bytes = path.as_os_str().as_encoded_bytes();
            // Git takes one name a line, and reads one in quotes otherwise.
            !bytes.contains(&b'\n')
                && !bytes.starts_with(b"\"")
                && self.top.join(path).symlink_metadata().is_ok_and(|found| found.is_file())
        };
        let plain: Vec<bool> = paths.iter().map(is_plain).collect();
        if !plain.contains(&true) {
            return Ok(vec![None; paths.len()]);
        }
        let named = paths.iter().zip(&plain).filter(|(_, plain)| **plain);
        let input: Vec<u8> =
            named.flat_map(|(path, _)| [path.as_os_str().as_encoded_bytes(), b"\n"].concat()).collect();
        let mut command = self.command("hash-object", None);
        command.args(["--no-filters", "--stdin-paths"]).stdin(file_with(&input).map_err(failed)?);
        let answer = self.whole("hash-object", command).await?;
        let mut answers =
            answer.split(|byte| *byte == b'\n').map(|name| String::from_utf8_lossy(name).into_owned());
        Ok(plain.into_iter().map(|plain| if plain { answers.next() } else { None }).collect())
    }

    /// Puts files into the index, or takes out those that are gone.
    pub(crate) async fn add(&self, paths: &[&OsStr]) -> Result<(), GitError> {
        let failed = |source| GitError::Io { path: std::env::temp_dir(), source };
        let input: Vec<u8> =
            paths.iter().flat_map(|path| [path.as_encoded_bytes(), b"\0"].concat()).collect();
        let mut command = self.command("add", None);
        command.args(["--all", "--pathspec-from-file=-", "--pathspec-file-nul"]);
        command.stdin(file_with(&input).map_err(failed)?);
        self.whole("add", command).await.map(drop)
    }

    /// Commits what is in the index, as the user, or as ostler where the user has no name.
    pub(crate) async fn commit(&self, message: &str) -> Result<(), GitError> {
        let mut command = self.command("commit", None);
        command.args(["--quiet", "--no-verify", "--no-gpg-sign", "-m", message]);
        if self.line("var", ["GIT_COMMITTER_IDENT"]).await.is_err() {
            for (who, what) in [("NAME", "ostler"), ("EMAIL", "ostler@localhost")] {
                command.env(format!("GIT_AUTHOR_{who}"), what).env(format!("GIT_COMMITTER_{who}"), what);
            }
        }
        self.whole("commit", command).await.map(drop)
    }

    /// A copy of the index, for commands that would write to it.
    pub(crate) async fn index(&self) -> Result<Index, GitError> {
        let place = self.ask("rev-parse", ["--git-path", "index"], None).await?;
        let place = self.top.join(crate::names::path(place.strip_suffix(b"\n").unwrap_or(&place)));
        Index::copy(&place).map_err(|source| GitError::Io { path: place, source })
    }
}

/// A private copy of an index. It goes with this value.
#[derive(Debug)]
pub(crate) struct Index {
    dir: tempfile::TempDir,
}

impl Index {
    fn copy(from: &Path) -> io::Result<Self> {
        let private = fs::Permissions::from_mode(0o700);
        let dir = tempfile::Builder::new().prefix("ostler-index-").permissions(private).tempdir()?;
        match fs::File::open(from) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                let copy = dir.path().join("index");
                fs::write(&copy, bytes)?;
                // A file is looked at again if it is not older than the index: a newer copy would miss changes.
                fs::File::options().write(true).open(copy)?.set_modified(file.metadata()?.modified()?)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Self { dir })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }
}

/// The file of git. A relative entry of the path would lead into the work tree, so it does not count.
fn program_on(path: &OsStr) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join("git")).find(is_program)
}

/// Whether a work tree begins here.
pub(crate) fn is_top(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

/// Whether a variable changes what git does. Those that only say where its settings are stay.
fn is_git_variable(name: &OsString) -> bool {
    let name = name.as_encoded_bytes();
    let places: [&[u8]; 3] = [b"GIT_CONFIG_GLOBAL", b"GIT_CONFIG_SYSTEM", b"GIT_CONFIG_NOSYSTEM"];
    name.starts_with(b"GIT_") && !places.contains(&name)
}

fn file_with(input: &[u8]) -> io::Result<fs::File> {
    use std::io::{Seek, Write};
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests;
