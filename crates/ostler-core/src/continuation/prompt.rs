//! What an agent is told that is sent on.

/// Lines of reasons that it is told.
const REASONS: usize = 10;

/// Why the work is not done: what fails, else what the agent itself has left open.
pub(super) fn reasons(failures: &[String], open: &[String]) -> Vec<String> {
    let what = if failures.is_empty() { open } else { failures };
    what.iter().take(REASONS).cloned().collect()
}

/// The prompt.
pub(super) fn text(goal: Option<&str>, reasons: &[String]) -> String {
    let mut text = String::from("You stopped before the work was done. Go on with it until it is.");
    if let Some(goal) = goal {
        text.push_str("\n\nThe task:\n");
        text.push_str(goal);
    }
    if !reasons.is_empty() {
        text.push_str("\n\nWhat is left:");
        for reason in reasons {
            text.push_str("\n- ");
            text.push_str(&reason.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    text.push_str("\n\nIf you cannot go on, say why and what you need.");
    text
}
