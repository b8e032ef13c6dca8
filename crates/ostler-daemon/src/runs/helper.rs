//! A helper: another agent that proposes commands which verify what failed, or what must be true in words.
//!
//! It is asked without a terminal, in a copy of the work tree, and what it proposes is run in the sandbox or not at
//! all: a model's command is nobody's wish. The commands have a copy of their own, so that a helper which changes
//! files verifies nothing but the work.

mod proposal;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostler_core::run::{AttemptNotes, HelperAnswer};
use ostler_protocol::OsText;
use ostler_work::Keep;
use ostler_work::sandbox::{CopyLimits, Sandbox, SandboxError, SandboxLimits};

use super::breakers::ProviderBreakers;
use crate::home::Home;
use crate::presets::exclude;
use proposal::{Proposal, Proposed};

/// What it takes to ask a helper.
#[derive(Debug, Clone)]
pub(super) struct Helpers {
    pub(super) home: Arc<Home>,
    /// The program that enters the sandbox.
    pub(super) executable: Arc<Path>,
    pub(super) breakers: ProviderBreakers,
}

/// What a helper is asked.
pub(super) struct Question {
    /// Who is to be asked, and nobody else.
    pub(super) named: Option<String>,
    /// Who may be asked if nobody is named, the first that can be.
    pub(super) agents: Vec<String>,
    /// What it is told of the attempts.
    pub(super) context: String,
    /// The task.
    pub(super) task: String,
    /// What must be true in the end, in words.
    pub(super) criteria: Vec<String>,
    /// What is known of the last attempt.
    pub(super) attempt: AttemptNotes,
    pub(super) env: Vec<(OsText, OsText)>,
    pub(super) limit: Duration,
}

/// What a helper was told.
#[derive(Debug)]
pub(super) struct HelperPrompt {
    /// Who.
    pub(super) to: String,
    /// The block before the prompt.
    pub(super) context: String,
    /// The prompt alone.
    pub(super) original: String,
}

impl HelperPrompt {
    /// Whether a block stands before it.
    pub(super) fn has_context(&self) -> bool {
        !self.context.is_empty()
    }
}

/// Asks a helper, and runs what it proposes where that can do no harm. Adds what was asked to `prompts`. Dropped, it ends
/// what it began.
pub(super) async fn ask(
    helpers: &Helpers,
    cwd: &Path,
    question: Question,
    prompts: &mut Vec<HelperPrompt>,
) -> Result<HelperAnswer, String> {
    let sandbox = sandbox(helpers, cwd);
    let failed = |error: SandboxError| error.to_string();
    let seen = sandbox.copy(cwd).await.map_err(failed)?;
    let Proposal { by, commands, skipped } =
        proposal::propose(helpers, &seen.tree(), cwd, &question, prompts).await?;
    drop(seen);
    let copy = sandbox.copy(cwd).await.map_err(failed)?;
    // A tree with nothing in it: what succeeds there, too, says nothing about the work.
    let nothing = tempfile::tempdir().map_err(|error| error.to_string())?;
    let control = sandbox.copy(nothing.path()).await.map_err(failed)?;
    let mut answer = HelperAnswer { by, skipped, ..HelperAnswer::default() };
    for Proposed { words, criterion } in commands {
        let shown = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let shown = criterion.map_or(shown.clone(), |number| format!("criterion {number}: {shown}"));
        let result = match sandbox.run(&copy, &words).await {
            Ok(result) => result,
            Err(SandboxError::Refused(reason)) => {
                answer.refused.push(format!("{shown}: {reason}"));
                continue;
            }
            Err(error) => return Err(error.to_string()),
        };
        if result.end.is_success() {
            match sandbox.run(&control, &words).await {
                Ok(control) if control.end.is_success() => {
                    answer.void.push(format!("{shown}: it succeeds in an empty directory, too"));
                }
                _ => answer.passed.push(shown),
            }
        } else if let Some(sign) = result.contained() {
            answer.void.push(format!("{shown}: it may have failed because of the sandbox ({sign})"));
        } else {
            let said = ostler_work::check::first_error(&result.stdout.text(), &result.stderr.text());
            let said = said.unwrap_or_else(|| format!("it {}", result.end));
            answer.findings.push(format!("{shown}: {said}"));
        }
    }
    if answer.passed.is_empty() && answer.findings.is_empty() {
        let why = answer.void.iter().chain(&answer.refused).cloned().collect::<Vec<_>>().join("; ");
        return Err(format!("no command that {} proposed tells anything: {why}", answer.by));
    }
    Ok(answer)
}

fn sandbox(helpers: &Helpers, cwd: &Path) -> Sandbox {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    Sandbox {
        launcher: vec![helpers.executable.as_os_str().to_owned(), "sandbox-exec".into()],
        scratch: std::env::temp_dir(),
        readable: ostler_work::sandbox::tool_dirs(&home),
        private: vec![home, helpers.home.path().to_owned()],
        path: std::env::var_os("PATH").unwrap_or_default(),
        env: Vec::new(),
        exclude: exclude(&helpers.home, cwd),
        copy_limits: CopyLimits::default(),
        limits: SandboxLimits::default(),
        keep: Keep::default(),
        namespaces: true,
    }
}
