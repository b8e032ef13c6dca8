//! Ending a session.

use std::time::Duration;

use ostler_hold::{SessionDir, cgroup};
use ostler_protocol::{Problem, SessionInfo};
use ostler_session::Carried;
use tokio::sync::oneshot;

use crate::session::Command;
use crate::sessions::{Found, Sessions};

/// How long a holder may take beyond the grace time.
const HOLDERS_TIME: Duration = Duration::from_secs(5);

/// What nobody can know of a session whose holder was killed.
const UNFOUND: &str =
    "its processes are known by a mark in their environment alone: one that has cleared it is not found";

/// Ends the whole process tree of a session and returns what became of it.
pub(crate) async fn stop(sessions: &Sessions, name: &str, grace_ms: u32) -> Result<SessionInfo, Problem> {
    let found = sessions.find(name).await?;
    // What is left of it is known by a mark that its next process would bear, too: nobody gives it one meanwhile.
    let _stopping = sessions.stopping(found.id());
    let (id, had_ended) = match found {
        Found::Live(handle) => {
            let (done, stopped) = oneshot::channel();
            if handle.send(Command::Stop { grace_ms, done }).await.is_ok() {
                // An error means that the actor is gone, and so the session.
                let patience = Duration::from_millis(u64::from(grace_ms)) + HOLDERS_TIME;
                if tokio::time::timeout(patience, stopped).await.is_err() {
                    tracing::warn!(session = %handle.name, "its holder does not stop it; its processes are killed");
                    sessions.survivors.end(&handle.id, Duration::ZERO).await;
                }
            }
            (handle.id, false)
        }
        Found::Ended(session) => {
            if let Some(carried) = session.memory.as_deref().and_then(Carried::read)
                && carried.resumes_at().is_some()
            {
                sessions.stay_ended(session.start.id.clone(), carried, None).await;
            }
            (session.start.id, true)
        }
    };
    let resumed = had_ended && sessions.record(&id).await?.is_some_and(|session| session.ending.is_none());
    if resumed
        && let Some(handle) = sessions.get(&id)
        && let Ok(info) = handle.ask(Command::Info).await
    {
        // What was to be stopped has ended, and somebody wants the next process.
        return Ok(info);
    }
    if let Some(handle) = sessions.get(&id)
        && let Ok(info) = handle.ask(Command::Info).await
        && info.exit.is_some()
    {
        // It has ended, and the store has no room to record it yet.
        return Ok(info);
    }
    // Where the holder was killed, what it looked after may still be there.
    sessions.survivors.end(&id, Duration::from_millis(u64::from(grace_ms))).await;
    let mut info = sessions.recorded_info(&id).await?;
    let dir = SessionDir::new(&info.dir);
    let has_group = dir.cgroup().exists();
    cgroup::remove(&dir);
    if info.kind.as_deref() == Some("lost") && !has_group {
        info.because.push(UNFOUND.into());
    }
    Ok(info)
}
