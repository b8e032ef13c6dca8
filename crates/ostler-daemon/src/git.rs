//! What git says of a work tree.
//!
//! A work tree may have been written by anybody, and git runs programs that its configuration names: hooks, monitors,
//! filters. All of them are switched off, as is what would write to the repository or wait for a person.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use ostler_core::Timestamp;

use crate::errand::{self, Errand};
use crate::programs;

/// How long one question may take.
const LIMIT: Duration = Duration::from_secs(3);
/// Commits that are looked at.
const COMMITS: &str = "-n11";

/// A work tree at one moment; empty where nothing can be told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WorkTree {
    /// The branch, if one is checked out.
    pub(crate) branch: Option<String>,
    /// The last commit: its short name and its subject.
    pub(crate) commit: Option<String>,
    /// The commits since a moment, newest first.
    pub(crate) commits: Vec<String>,
    /// Files that differ from the last commit, and new ones.
    pub(crate) files: Vec<String>,
}

/// Looks at a work tree. Waits for the disk and for git, for a limited time.
pub(crate) fn look(root: &Path, since: Option<Timestamp>) -> WorkTree {
    let Some(git) = Git::new(root) else { return WorkTree::default() };
    let status = ["status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--ignore-submodules=all"];
    let status = git.ask(&status).unwrap_or_default();
    let log = ["log", COMMITS, "--no-show-signature", "--format=%ct %h %s"];
    let log = git.ask(&log).unwrap_or_default();
    let (branch, files) = read_status(&status);
    let (commit, commits) = read_log(&log, since);
    WorkTree { branch, commit, commits, files }
}

/// Git, made harmless for one work tree.
struct Git<'a> {
    program: std::path::PathBuf,
    env: Vec<(OsString, OsString)>,
    options: Vec<String>,
    root: &'a Path,
}

impl<'a> Git<'a> {
    fn new(root: &'a Path) -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        // A relative entry of the path must not lead into the work tree.
        let program = programs::find(OsStr::new("git"), &path, Path::new("/")).ok()?;
        let inherited = ["PATH", "HOME", "XDG_CONFIG_HOME"];
        let inherited =
            inherited.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let own = [
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("LC_ALL", "C"),
        ];
        let own = own.map(|(name, value)| (name.into(), value.into()));
        let options = ["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
        let mut git = Self {
            program,
            env: inherited.chain(own).collect(),
            options: options.map(str::to_owned).to_vec(),
            root,
        };
        // Filters run when git compares files. Those of a work tree's own configuration are not to be trusted, and
        // none is needed: at worst a file that was only touched counts as changed.
        let filters = git.ask(&["config", "--null", "--name-only", "--get-regexp", r"^filter\."]);
        for name in filter_names(&filters.unwrap_or_default()) {
            for (key, value) in [("clean", ""), ("process", ""), ("smudge", ""), ("required", "false")] {
                git.options.extend(["-c".to_owned(), format!("filter.{name}.{key}={value}")]);
            }
        }
        Some(git)
    }

    /// What git answers, if it does.
    fn ask(&self, question: &[&str]) -> Option<Vec<u8>> {
        let words = question.iter().map(|word| (*word).to_owned());
        let args: Vec<String> = self.options.iter().cloned().chain(words).collect();
        let outcome = errand::run(&Errand {
            program: &self.program,
            args: &args,
            env: &self.env,
            cwd: self.root,
            input: None,
            limit: LIMIT,
            until_closed: None,
        });
        // An answer that is too long is good as far as it goes.
        if outcome.trouble.is_some_and(|trouble| trouble.is_failure()) {
            return None;
        }
        Some(outcome.output)
    }
}

/// The names of filters among the names of settings, `filter.NAME.KEY`.
fn filter_names(settings: &[u8]) -> Vec<String> {
    let settings = settings.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let mut names: Vec<String> = settings
        .filter_map(|name| Some(name.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned()))
        // Where a setting is given on the command line, everything behind this is its value.
        .filter(|name| !name.contains('='))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The branch and the changed files in `git status --porcelain=v2 --branch -z`.
fn read_status(status: &[u8]) -> (Option<String>, Vec<String>) {
    let mut branch = None;
    let mut files = Vec::new();
    // Behind the last entry there is nothing, or an entry that was cut.
    let Some(end) = status.iter().rposition(|byte| *byte == 0) else { return (None, files) };
    for entry in status[..end].split(|byte| *byte == 0).map(String::from_utf8_lossy) {
        let fields = |count: usize| entry.splitn(count, ' ').nth(count - 1).map(str::to_owned);
        match entry.split(' ').next() {
            Some("#") => {
                let head = entry.strip_prefix("# branch.head ");
                branch = branch.or(head.filter(|head| *head != "(detached)").map(str::to_owned));
            }
            Some("1") => files.extend(fields(9)),
            Some("u") => files.extend(fields(11)),
            Some("?") => files.extend(fields(2)),
            _ => {}
        }
    }
    (branch, files)
}

/// The last commit and those since a moment, in `git log --format='%ct %h %s'`.
fn read_log(log: &[u8], since: Option<Timestamp>) -> (Option<String>, Vec<String>) {
    let log = String::from_utf8_lossy(log);
    let commits: Vec<(u64, &str)> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(seconds, commit)| Some((seconds.parse().ok()?, commit)))
        .collect();
    let is_since = |seconds: u64| since.is_some_and(|since| seconds.saturating_mul(1_000) + 999 >= since.0);
    let made =
        commits.iter().filter(|(seconds, _)| is_since(*seconds)).map(|(_, commit)| (*commit).to_owned());
    (commits.first().map(|(_, commit)| (*commit).to_owned()), made.collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn answers_are_read_as_far_as_they_go() {
        let status = b"# branch.oid abc\0# branch.head main\0\
            1 .M N... 100644 100644 100644 a b src/a b.rs\0\
            u UU N... 1 2 3 4 a b c both.rs\0? new\n.rs\0? cu";
        assert_eq!(
            read_status(status),
            (Some("main".into()), vec!["src/a b.rs".into(), "both.rs".into(), "new\n.rs".into()])
        );
        assert_eq!(read_status(b"# branch.head (detached)\0"), (None, vec![]));
        assert_eq!(read_status(b""), (None, vec![]));
        let log = b"20 b22 Second one\n10 a11 First\nnonsense\n";
        let commits = |since| read_log(log, since);
        assert_eq!(commits(None), (Some("b22 Second one".into()), vec![]));
        assert_eq!(commits(Some(Timestamp(15_000))).1, ["b22 Second one"]);
        assert_eq!(commits(Some(Timestamp(10_500))).1.len(), 2);
        assert_eq!(
            filter_names(b"filter.lfs.clean\0filter.a.b.process\0filter.lfs.smudge\0x"),
            ["a.b", "lfs"]
        );
    }

    /// A work tree, if there is a git to make one.
    fn work_tree() -> Option<tempfile::TempDir> {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), &["init", "-q", "-b", "trunk"]).then_some(dir)
    }

    fn run(dir: &Path, args: &[&str]) -> bool {
        let mut git = Command::new("git");
        git.arg("-C").arg(dir).args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "commit.gpgSign=false",
        ]);
        git.args(args).env_remove("GIT_DIR").status().is_ok_and(|status| status.success())
    }

    #[test]
    fn a_work_tree_tells_what_was_done_in_it() {
        let Some(dir) = work_tree() else { return };
        let root = dir.path();
        assert_eq!(look(root, None), WorkTree { branch: Some("trunk".into()), ..WorkTree::default() });
        fs::write(root.join("a"), "1").unwrap();
        assert!(run(root, &["add", "."]) && run(root, &["commit", "-qm", "Begin the work"]));
        fs::write(root.join("a"), "22").unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/b"), "1").unwrap();
        let found = look(root, Some(Timestamp(1)));
        assert_eq!(found.files, ["a", "sub/"]);
        assert!(found.commit.as_deref().unwrap().ends_with(" Begin the work"));
        assert_eq!(found.commits, found.commit.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_work_tree_can_make_git_run_nothing() {
        let Some(dir) = work_tree() else { return };
        let root = dir.path();
        fs::write(root.join("a"), "1").unwrap();
        fs::write(root.join(".gitattributes"), "* filter=evil\n").unwrap();
        assert!(run(root, &["add", "."]) && run(root, &["commit", "-qm", "Begin"]));
        let trap = root.join("trap.sh");
        let traced = root.join("traced");
        fs::write(&trap, format!("#!/bin/sh\necho \"$@\" >> {}\ncat\n", traced.display())).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&trap, mode).unwrap();
        let trap = trap.to_str().unwrap();
        for (key, value) in [
            ("core.fsmonitor", trap),
            ("core.pager", trap),
            ("core.sshCommand", trap),
            ("filter.evil.clean", trap),
            ("filter.evil.smudge", trap),
            ("filter.evil.required", "true"),
            ("gpg.program", trap),
            ("log.showSignature", "true"),
        ] {
            assert!(run(root, &["config", key, value]));
        }
        fs::write(root.join("a"), "3").unwrap();
        let found = look(root, None);
        assert!(found.files.contains(&"a".to_owned()), "{found:?}");
        assert!(!traced.exists(), "git ran {}", fs::read_to_string(&traced).unwrap());
    }

    #[test]
    fn without_a_work_tree_nothing_is_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(look(dir.path(), None), WorkTree::default());
    }
}
