//! Is the program on the PATH really the agent whose name it bears, and which version?
//!
//! A program is asked once: it is run with the arguments that make it tell, under close watch. What it said is kept
//! on disk for as long as its file stays the same, so that the next start costs nothing.

mod cache;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ostler_agents::Agent;
use ostler_screen::SafeText;
use semver::Version;

use crate::Home;
use crate::errand::{self, Errand, Trouble};
use cache::{Cache, Entry, Key};

/// How long a program may take to tell what it is.
const LIMIT: Patience = Patience { limit: Duration::from_secs(20), on_busy: 6, is_busy };
/// How much of what it said is kept for people, in characters.
const KEPT: usize = 500;

/// How long a program is waited for.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// On a machine with time to spare.
    limit: Duration,
    /// On a busy one it is asked once more, and may take so many times as long.
    on_busy: u32,
    is_busy: fn() -> bool,
}

/// Whether more programs want to run than there are cores, where that is told.
fn is_busy() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|load| load.parse::<f64>().ok());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    load.is_some_and(|load| load > f64::from(u32::try_from(cores).unwrap_or(u32::MAX)))
}

/// What a program turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// It is the agent, or nothing is known that would tell.
    pub is_agent: bool,
    /// Its version, if it told.
    pub version: Option<Version>,
    /// What it said, fit for a terminal.
    pub said: String,
    /// What went wrong while it was asked.
    pub trouble: Option<String>,
    /// It was asked earlier.
    pub cached: bool,
}

impl Identity {
    /// Nothing is known that would tell the agent from others.
    fn taken_at_its_word() -> Self {
        Self { is_agent: true, version: None, said: String::new(), trouble: None, cached: false }
    }

    /// Why the program is not taken for the agent, in one line.
    pub fn complaint(&self) -> Option<String> {
        if self.is_agent {
            return None;
        }
        let line = self.said.lines().find(|line| !line.trim().is_empty());
        Some(match (&self.trouble, line) {
            (Some(trouble), Some(line)) => format!("{trouble}, and said {line:?}"),
            (Some(trouble), None) => trouble.clone(),
            (None, Some(line)) => format!("it said {line:?}"),
            (None, None) => "it said nothing".to_owned(),
        })
    }
}

/// Finds out what a program is: from what it said earlier, or by running it.
///
/// `program` is the file as it was found, links included: some programs go by the name they are called by. `env` is
/// its whole environment.
pub async fn identify(
    home: &Home,
    agent: &Agent,
    program: &Path,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Identity {
    let (home, agent) = (home.clone(), agent.clone());
    let (program, env, cwd) = (program.to_owned(), env.to_owned(), cwd.to_owned());
    let asked = move || ask(&home, &agent, &program, &env, &cwd, LIMIT);
    match tokio::task::spawn_blocking(asked).await {
        Ok(identity) => identity,
        Err(error) => {
            Identity { is_agent: false, trouble: Some(error.to_string()), ..Identity::taken_at_its_word() }
        }
    }
}

/// What a program said when it was asked earlier, if its file is still the same. Runs nothing.
pub fn remembered(home: &Home, agent: &Agent, program: &Path) -> Option<Identity> {
    let key = Key::of(program, agent.preset.run.identity.as_ref()?)?;
    Cache::read(&home.identities()).find(&key).filter(Entry::is_fresh).map(known)
}

fn known(entry: Entry) -> Identity {
    let version = entry.version.as_deref().and_then(|version| Version::parse(version).ok());
    Identity { is_agent: entry.is_agent, version, said: entry.said, trouble: None, cached: true }
}

fn ask(
    home: &Home,
    agent: &Agent,
    program: &Path,
    env: &[(OsString, OsString)],
    cwd: &Path,
    patience: Patience,
) -> Identity {
    let Some(spec) = agent.preset.run.identity.as_ref().filter(|spec| !spec.args.is_empty()) else {
        return Identity::taken_at_its_word();
    };
    // The key is taken before the program runs: one that is replaced meanwhile is asked again.
    let key = Key::of(program, spec);
    let earlier = key.as_ref().and_then(|key| Cache::read(&home.identities()).find(key));
    if let Some(entry) = earlier.clone().filter(Entry::is_fresh) {
        return known(entry);
    }
    let run_for = |args: &[String], limit: Duration| {
        let outcome =
            errand::run(&Errand { program, args, env, cwd, input: None, limit, until_closed: None });
        (String::from_utf8_lossy(&outcome.all()).into_owned(), outcome.trouble)
    };
    let run = |args: &[String]| run_for(args, patience.limit);
    let (mut output, mut trouble) = run(&spec.args);
    // A busy machine is no reason to doubt a file that is the same as ever.
    if let Some(entry) = earlier.filter(|_| trouble.as_ref().is_some_and(Trouble::is_passing)) {
        return known(entry);
    }
    // Nor is it one to doubt a file that has had no time to speak.
    let hung = matches!(trouble, Some(Trouble::Hung(_))) && !spec.recognises(&output);
    if hung && (patience.is_busy)() {
        (output, trouble) = run_for(&spec.args, patience.limit * patience.on_busy);
    }
    let failed = trouble.as_ref().is_some_and(Trouble::is_failure);
    let is_agent = !failed && spec.recognises(&output);
    let mut is_complete = is_agent || trouble.is_none();
    let version = match spec.version_args.as_slice() {
        // Of another program, a version says nothing.
        _ if !is_agent => None,
        [] => spec.version_in(&output),
        args => {
            let (output, trouble) = run(args);
            is_complete = trouble.is_none();
            spec.version_in(&output)
        }
    };
    let identity = Identity {
        is_agent,
        version,
        said: SafeText::new(output.trim()).as_str().chars().take(KEPT).collect(),
        trouble: trouble.as_ref().map(ToString::to_string),
        cached: false,
    };
    // What went wrong may go right the next time.
    if let Some(key) = key.filter(|_| is_complete) {
        let version = identity.version.as_ref().map(ToString::to_string);
        let entry = Entry::new(key, identity.is_agent, version, identity.said.clone());
        if let Err(error) = Cache::remember(home, entry) {
            tracing::debug!(%error, "what a program said is not kept");
        }
    }
    identity
}

#[cfg(test)]
mod tests;
