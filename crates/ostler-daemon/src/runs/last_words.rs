//! What an agent of a run said last.

use std::time::Duration;

use ostler_core::stop::Stop;
use ostler_store::StoreHandle;

use crate::session::{Command, ended_screen};
use crate::sessions::Sessions;

/// How long an agent's session may take to tell.
const PATIENCE: Duration = Duration::from_secs(2);
/// Rows of the last screen of a program that ended by itself.
const ROWS: usize = 20;

/// What the agent of a session said before it came to rest, or showed when its program ended by itself.
pub(super) async fn last_words(
    sessions: &Sessions,
    store: &StoreHandle,
    session: String,
    stop: Option<Stop>,
) -> Option<String> {
    match stop? {
        Stop::Idle { .. } | Stop::TurnFailed { .. } => {
            let handle = sessions.get(&session)?;
            tokio::time::timeout(PATIENCE, handle.ask(Command::LastWords)).await.ok()?.ok()?
        }
        Stop::Exited { .. } => {
            let record = store.run(move |store| store.session(&session)).await.ok()??;
            let screen = tokio::task::spawn_blocking(move || ended_screen(&record).text()).await.ok()?;
            Some(last_rows(&screen)).filter(|rows| !rows.is_empty())
        }
        Stop::StatusError | Stop::Ended | Stop::Lost | Stop::Limited { .. } | Stop::Blocked { .. } => None,
    }
}

/// The last rows of a screen with something on them.
fn last_rows(screen: &str) -> String {
    let rows: Vec<&str> = screen.lines().map(str::trim_end).filter(|row| !row.is_empty()).collect();
    rows[rows.len().saturating_sub(ROWS)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_screen_is_told() {
        assert_eq!(last_rows("\n  \n cannot be used with root  \n\n"), " cannot be used with root");
        let many = (0..40).map(|row| row.to_string()).collect::<Vec<_>>().join("\n\n");
        assert_eq!(last_rows(&many).lines().next(), Some("20"));
        assert_eq!(last_rows(""), "");
    }
}
