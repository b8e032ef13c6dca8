//! A run for people.

use std::fmt::Write;

use ostler_core::run::{Changes, Stop, Turn};
use ostler_protocol::{CommittedWork, RunInfo, RunWorkTree};

use super::{helping, tasks};

/// A run in one line.
pub(super) fn line(run: &RunInfo) -> String {
    format!("{}  {:<16} {:<18} {}\n", run.id, run.task, run.state, run.summary)
}

/// Where the work is, and what to do with it.
fn worktree(run: &RunInfo, text: &mut String) {
    let Some(tree) = &run.worktree else { return };
    let RunWorkTree { name, repository, path, branch, left_out, .. } = tree;
    let committed = match &run.committed {
        Some(CommittedWork { problem: Some(problem), .. }) => format!(" (not committed: {problem})"),
        Some(CommittedWork { commit: Some(commit), .. }) => {
            format!(" (committed: {})", commit.get(..10).unwrap_or(commit))
        }
        Some(CommittedWork { commit: None, problem: None }) | None => String::new(),
    };
    let _ = writeln!(text, "  branch {branch}{committed}, in {path}");
    if let Some(left) = tasks::left_out(left_out) {
        let _ = writeln!(text, "    {left}");
    }
    if run.is_over() {
        let _ = writeln!(text, "    see:    git -C {repository} log -p HEAD..{branch}");
        let _ = writeln!(text, "    merge:  git -C {repository} merge {branch}");
        let _ = writeln!(text, "    remove: ostler worktrees remove {name}");
    }
}

/// Characters of what an agent said that are shown.
const MAX_SAID: usize = 400;

/// What an agent asked in the end, or showed when its program ended by itself.
fn said(turn: &Turn, text: &mut String) {
    let Some(words) = &turn.words else { return };
    match turn.stop {
        Some(Stop::Idle { asks: true }) => {
            // The question is the last thing that it said.
            let question = words.rsplit("\n\n").find(|part| !part.trim().is_empty()).unwrap_or(words);
            let _ = writeln!(text, "    {} asks: {}", turn.provider, short(question));
        }
        Some(Stop::Exited { status, .. }) if status != Some(0) => {
            let _ = writeln!(text, "    {} last showed: {}", turn.provider, short(words));
        }
        _ => {}
    }
}

/// The end of a text in one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let skip = line.chars().count().saturating_sub(MAX_SAID);
    let end: String = line.chars().skip(skip).collect();
    if skip > 0 { format!("…{end}") } else { end }
}

/// Everything that matters of a run.
pub(super) fn report(run: &RunInfo) -> String {
    let mut text = format!("{}: {}\n", run.task, run.summary);
    if let Some(trouble) = &run.trouble {
        let _ = writeln!(text, "  the shared store does not answer: {trouble}");
    }
    if let Some(earlier) = &run.continues {
        let _ = writeln!(text, "  continues {earlier}, which did not get it done (--fresh begins anew)");
    }
    for attempt in &run.attempts {
        let turns: Vec<String> = attempt
            .turns
            .iter()
            .map(|turn| match (&turn.reason, turn.stop) {
                (Some(_), Some(Stop::Idle { .. })) | (None, _) => turn.provider.clone(),
                (Some(reason), _) => format!("{} ({reason})", turn.provider),
            })
            .collect();
        let status = serde_json::to_value(attempt.status).ok();
        let status = status.as_ref().and_then(|status| status.as_str()).unwrap_or("?");
        let _ = writeln!(text, "  attempt {}: {status}: {}", attempt.number, turns.join(", then "));
        for error in &attempt.errors {
            let _ = writeln!(text, "    {error}");
        }
        if let Some(turn) = attempt.turns.last() {
            said(turn, &mut text);
        }
    }
    helping::add_findings(run, &mut text);
    let Changes { created, modified, deleted, more } = &run.files;
    for (word, files) in [("created", created), ("modified", modified), ("deleted", deleted)] {
        if !files.is_empty() {
            let _ = writeln!(text, "  {word}: {}", files.join(", "));
        }
    }
    if *more > 0 {
        let _ = writeln!(text, "  and {more} files more");
    }
    worktree(run, &mut text);
    for check in
        run.checks.iter().filter(|check| Some(check.attempt) == run.attempts.last().map(|last| last.number))
    {
        let result = if check.passed { "passed" } else { "failed" };
        let _ = writeln!(text, "  check {result}: {} ({:.1} s)", check.command, check.seconds);
    }
    let usage = &run.usage;
    if usage.input + usage.output > 0 {
        let _ = write!(text, "  tokens: {} in, {} out", usage.input, usage.output);
        if usage.cost_micros > 0 {
            #[expect(clippy::cast_precision_loss, reason = "money for people")]
            let cost = usage.cost_micros as f64 / 1e6;
            let _ = write!(text, ", {cost:.2} USD");
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "  time: {:.1} s, attempts: {}, switches: {}",
        run.seconds,
        run.attempts.len(),
        run.switches
    );
    text
}
