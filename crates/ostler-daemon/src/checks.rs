//! Checks: commands that pass when work is done.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use ostler_protocol::{CheckInfo, OsText, RunCheck};
use ostler_work::check::{self, Check, CheckCommand, Missing};
use ostler_work::{End, Keep};

/// Characters of a check's output that are recorded.
const OUTPUT: usize = 4_000;

/// How a shell says that there is no such program.
const NOT_FOUND: End = End::Exited(127);

/// Runs the checks one after the other, within `limit` together; the first that fails is not the last, so that all
/// complaints are known.
pub(crate) async fn run(
    checks: &[RunCheck],
    attempt: u32,
    cwd: &Path,
    env: &[(OsText, OsText)],
    limit: Duration,
    mark: &str,
) -> Vec<CheckInfo> {
    let began = Instant::now();
    let env: Vec<(OsString, OsString)> =
        env.iter().map(|(name, value)| (name.clone().into(), value.clone().into())).collect();
    let mut results = Vec::new();
    for wanted in checks {
        let command = match wanted {
            RunCheck::Argv(words) => CheckCommand::Argv(words.iter().map(OsString::from).collect()),
            RunCheck::Shell(line) => CheckCommand::Shell(line.clone()),
        };
        let check = Check {
            command,
            cwd: cwd.to_owned(),
            env: env.clone(),
            limit: limit.saturating_sub(began.elapsed()),
            keep: Keep::default(),
            mark: Some(mark.to_owned()),
        };
        let missing = check.missing_programs();
        let result = check::run(&check).await;
        let (passed, error, output, seconds) = match &result {
            Ok(result) => {
                let output = format!("{}{}", result.stdout.text(), result.stderr.text());
                (result.passed(), result.first_error(&wanted.shown()), output, result.took.as_secs_f64())
            }
            Err(error) => (false, Some(error.to_string()), String::new(), 0.0),
        };
        // What the agent was to make may be missing because it is not made yet; what is sought on the PATH is not its to make.
        // Behind a `!`, a program that is missing looks like success.
        let not_found = result.as_ref().map_or(true, |result| result.end == NOT_FOUND);
        let missing = missing.into_iter().find(|missing| not_found || missing.negated);
        let reason = |Missing { program, .. }| {
            format!("`{}` cannot be run: {program} is not on the PATH", wanted.shown())
        };
        let (not_runnable, missing) = (missing.is_some(), missing.map(reason));
        results.push(CheckInfo {
            attempt,
            command: wanted.shown(),
            passed: passed && !not_runnable,
            error: missing.or(error),
            not_runnable,
            output: tail(&output),
            seconds: (seconds * 1e3).round() / 1e3,
        });
    }
    results
}

fn tail(output: &str) -> String {
    let skip = output.chars().count().saturating_sub(OUTPUT);
    output.chars().skip(skip).collect()
}
