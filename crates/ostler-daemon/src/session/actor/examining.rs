//! Finding out what a stop of the agent means: its checks are run, and its work tree is looked at.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_core::stop_analysis::Checked;
use ostler_protocol::{OsText, RunCheck};
use ostler_session::{Event, Examination};
use ostler_work::{Limits, Observed, Snapshot};

use super::Actor;
use crate::{Home, checks, presets};

/// How long the checks may take together.
const CHECKS: Duration = Duration::from_mins(25);
/// What was seen of the work tree last, and the environment that checks run in.
const TREE: &str = "carry-on-tree.json";
const ENVIRONMENT: &str = "carry-on-environment.json";

impl Actor {
    /// Runs the checks and looks at the work tree, aside.
    pub(super) fn examine(&mut self, question: u64, lines: Vec<String>) {
        let (home, start) = (self.services.home.clone(), self.record.start.clone());
        let store = self.services.store.clone();
        if let Some(earlier) = self.examination.take() {
            earlier.abort();
        }
        let mark = format!("carry-on-{}", start.id);
        self.examination = Some(self.errands.spawn(async move {
            // Checks outlive a daemon that was killed.
            ostler_work::end_marked(&mark);
            let (cwd, kept) = (PathBuf::from(&start.cwd), home.sessions().join(&start.id));
            let wanted: Vec<RunCheck> = lines.into_iter().map(RunCheck::Shell).collect();
            let env = environment(&kept);
            let results = checks::run(&wanted, 0, &cwd, &env, CHECKS, &mark).await;
            let trouble = if cwd.is_dir() {
                results.iter().find(|result| result.not_runnable).and_then(|result| result.error.clone())
            } else {
                Some(format!("its directory {} is gone", cwd.display()))
            };
            let failures = results.iter().filter(|result| !result.passed);
            let failures: Vec<String> = failures
                .map(|result| result.error.clone().unwrap_or_else(|| format!("{} failed", result.command)))
                .collect();
            let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            let checks = (!results.is_empty()).then(|| Checked {
                passed: count(results.len() - failures.len()),
                failed: count(failures.len()),
            });
            let changed = changed(&home, &cwd, &kept.join(TREE)).await;
            let open = store.run(move |store| store.questions(Some(&start.id), false, 1)).await;
            let asked = open.ok().and_then(|open| open.into_iter().next()).map(|question| question.question);
            Event::Examined(Examination { question, checks, failures, changed, asked, trouble })
        }));
    }
}

impl Actor {
    /// Nobody wants to know any more.
    pub(super) fn cancel_examination(&mut self) {
        if let Some(examination) = self.examination.take() {
            examination.abort();
        }
    }
}

/// Keeps the environment in which the checks of a session are to run.
pub(crate) fn keep_environment(dir: &Path, env: &[(OsText, OsText)]) -> std::io::Result<()> {
    ostler_hold::create_private(dir)?;
    crate::home::put_private(&dir.join(ENVIRONMENT), &serde_json::to_vec(env)?)
}

/// That environment; the daemon's own where none was kept.
pub(crate) fn environment(dir: &Path) -> Vec<(OsText, OsText)> {
    let kept = std::fs::read(dir.join(ENVIRONMENT)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    kept.unwrap_or_else(|| {
        std::env::vars_os().map(|(name, value)| ((&name).into(), (&value).into())).collect()
    })
}

/// Whether the work tree is another than when it was last looked at, and notes what it is now.
async fn changed(home: &Home, cwd: &Path, file: &Path) -> Option<bool> {
    let exclude = presets::exclude(home, cwd);
    let before = std::fs::read(file).ok().and_then(|text| serde_json::from_slice::<Snapshot>(&text).ok());
    let (changed, now) = match before {
        Some(before) => match ostler_work::changes(cwd, &before, &exclude, Limits::default()).await {
            // That nothing has changed does not count where not all was looked at.
            Ok(Observed { changes, now }) => {
                let known = !changes.is_empty() || changes.notes.is_empty();
                (known.then(|| !changes.is_empty()), Some(now))
            }
            Err(_) => (None, None),
        },
        None => (None, ostler_work::snapshot(cwd, &exclude, Limits::default()).await.ok()),
    };
    if let Some(now) = now
        && let Ok(text) = serde_json::to_vec(&now)
        && let Err(error) = crate::home::put_private(file, &text)
    {
        tracing::warn!(%error, "what was seen of the work tree is not kept");
    }
    changed
}
