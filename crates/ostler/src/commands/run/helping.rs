//! What came of asking helpers, for people.

use std::fmt::Write;

use ostler_core::run::{HelperAnswer, HelperRecord};
use ostler_protocol::RunInfo;

/// Adds what helpers found, and who they are.
pub(super) fn add_findings(run: &RunInfo, text: &mut String) {
    match &run.helper {
        Some(HelperRecord::Failed { reason }) => {
            let _ = writeln!(text, "  the helper could not help: {reason}");
        }
        Some(HelperRecord::Answered(answer)) => {
            if answer.findings.is_empty() {
                text.push_str("  the helper's commands found nothing wrong; look at the checks\n");
            } else {
                let _ = writeln!(text, "  the helper's commands found: {}", answer.findings.join("; "));
            }
            asked(answer, text);
        }
        None => {}
    }
    match &run.criteria {
        Some(HelperRecord::Failed { reason }) => {
            let _ = writeln!(text, "  the criteria were not verified: {reason}");
        }
        Some(HelperRecord::Answered(answer)) => {
            for command in &answer.passed {
                let _ = writeln!(text, "  criteria: passed: {command}");
            }
            for finding in &answer.findings {
                let _ = writeln!(text, "  criteria: failed: {finding}");
            }
            asked(answer, text);
        }
        None => {}
    }
}

/// Whose commands they were, which of them were not run, and who was not asked.
fn asked(answer: &HelperAnswer, text: &mut String) {
    for command in &answer.void {
        let _ = writeln!(text, "    proves nothing: {command}");
    }
    for command in &answer.refused {
        let _ = writeln!(text, "    not run: {command}");
    }
    let _ = writeln!(text, "    asked: {}", answer.by);
    for skipped in &answer.skipped {
        let _ = writeln!(text, "    not asked, or of no help: {skipped}");
    }
}
