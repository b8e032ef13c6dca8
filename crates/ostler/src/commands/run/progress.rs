//! What has happened in a run, for people who watch.

use ostler_core::pre_context::Kind;
use ostler_core::run::{Stop, Turn};
use ostler_protocol::{CheckInfo, PromptInfo, RunInfo};

/// What has happened, in order. What comes later is added at the end.
pub(super) fn lines(run: &RunInfo) -> Vec<String> {
    let mut lines = Vec::new();
    for attempt in &run.attempts {
        let own = run.prompts.iter().filter(|prompt| prompt.attempt == attempt.number);
        // What helpers were told stands behind the checks.
        let is_helpers = |prompt: &PromptInfo| prompt.context.as_deref() == Some(Kind::Helper.as_str());
        let mut prompts = own.filter(|prompt| !is_helpers(prompt)).peekable();
        for turn in &attempt.turns {
            if let Some(prompt) = prompts.next_if(|prompt| prompt.provider == turn.provider) {
                push_prompt(prompt, &mut lines);
            }
            if turn.ended.is_some() {
                lines.push(stopped(turn));
            }
        }
        lines.extend(run.checks.iter().filter(|check| check.attempt == attempt.number).map(checked));
    }
    lines
}

fn push_prompt(prompt: &PromptInfo, lines: &mut Vec<String>) {
    let what = if prompt.context.is_some() { "the task, and before it:" } else { "the task" };
    lines.push(format!("attempt {}: {} gets {what}", prompt.attempt, prompt.provider));
    let block = prompt.contextual.strip_suffix(&prompt.original).unwrap_or_default();
    lines.extend(block.trim_end().lines().map(|line| format!("  | {line}")));
    if let Some(proof) = &prompt.proof {
        lines.push(format!("  submitted (proof: {proof})"));
    }
}

fn stopped(turn: &Turn) -> String {
    let reason = turn.reason.as_deref().unwrap_or("it ended");
    match turn.stop {
        Some(Stop::Idle { asks: true }) => format!("  {} asks something", turn.provider),
        Some(Stop::Idle { asks: false }) => format!("  {} is idle again", turn.provider),
        _ => format!("  {} stopped: {reason}", turn.provider),
    }
}

fn checked(check: &CheckInfo) -> String {
    let result = if check.passed { "passed" } else { "failed" };
    let error = check.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    format!("  check {result}: {} ({:.1} s){error}", check.command, check.seconds)
}
