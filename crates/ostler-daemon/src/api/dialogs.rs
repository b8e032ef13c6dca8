//! What clients ask about dialogs.

use std::time::Duration;

use ostler_core::State;
use ostler_protocol::{AnswerRequest, AnsweredInfo, PendingInfo, Problem};

use super::messages::ended;
use crate::session::{Command, SessionHandle, dialog_info};
use crate::sessions::{Found, Sessions};

/// How often a screen that is being drawn is looked at, and how long between the looks.
const LOOKS: u32 = 40;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The dialog that waits for a person.
pub(crate) async fn pending(sessions: &Sessions, name: &str) -> Result<PendingInfo, Problem> {
    let handle = live(sessions, name).await?;
    let mut looks = 0;
    loop {
        let (state, dialog) = handle.ask(Command::Dialog).await.map_err(|_| ended(&handle.name))?;
        looks += 1;
        // What a state says may be known before its screen was looked at.
        if dialog.as_ref().is_some_and(|dialog| dialog.rule.is_some())
            || state != State::Blocked
            || looks >= LOOKS
        {
            let dialog = dialog.map(|dialog| dialog_info(&handle.name, *dialog));
            return Ok(PendingInfo { session: handle.name, state, dialog });
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// Answers a dialog, if it is the one that is meant; returns when it is gone, or left.
pub(crate) async fn answer(sessions: &Sessions, request: AnswerRequest) -> Result<AnsweredInfo, Problem> {
    let handle = live(sessions, &request.name).await?;
    let answer = handle.ask(|answer| Command::Answer { request: Box::new(request), answer }).await;
    answer.unwrap_or_else(|_| Err(ended(&handle.name)))
}

async fn live(sessions: &Sessions, name: &str) -> Result<SessionHandle, Problem> {
    match sessions.find(name).await? {
        Found::Live(handle) => Ok(handle),
        Found::Ended(session) => Err(ended(&session.start.name)),
    }
}
