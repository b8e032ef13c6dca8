//! A run for people.

use std::fmt::Write;

use ostler_core::run::{Changes, Stop};
use ostler_protocol::RunInfo;

use super::helping;

/// A run in one line.
pub(super) fn line(run: &RunInfo) -> String {
    format!("{}  {:<16} {:<18} {}\n", run.id, run.task, run.state, run.summary)
}

/// Everything that matters of a run.
pub(super) fn report(run: &RunInfo) -> String {
    let mut text = format!("{}: {}\n", run.task, run.summary);
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
    }
    helping::tell(run, &mut text);
    let Changes { created, modified, deleted, more } = &run.files;
    for (word, files) in [("created", created), ("modified", modified), ("deleted", deleted)] {
        if !files.is_empty() {
            let _ = writeln!(text, "  {word}: {}", files.join(", "));
        }
    }
    if *more > 0 {
        let _ = writeln!(text, "  and {more} files more");
    }
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
