//! Messages from one agent to another: only within a project, and only if the user allows it.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_protocol::{Code, ErrorKind, MessageInfo, Problem, Proof, SendTerms};
use ostler_store::StoreHandle;

use crate::api::messages::{self, Draft};
use crate::home::Home;
use crate::project::Project;
use crate::session::SessionHandle;
use crate::sessions::{Found, Sessions};
use crate::settings;

/// Sends what an agent says to another session of its project; returns when that is recorded.
pub(super) async fn send(
    home: &Arc<Home>,
    sessions: &Sessions,
    store: &StoreHandle,
    caller: &SessionHandle,
    id: String,
    to: &str,
    text: &str,
) -> Result<MessageInfo, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::new(ErrorKind::Usage, "text is empty"));
    }
    let own = PathBuf::from(sessions.existing_record(&caller.id).await?.start.cwd);
    let (at, here) = (home.clone(), own.clone());
    let allowed = aside(move || settings::load(&at, &here).tools.send_message).await?;
    if !allowed {
        let message = format!(
            "agents may not send messages to each other: your owner allows it with send_message = true under [tools] in {}",
            home.settings().display()
        );
        return Err(Problem::new(ErrorKind::Failed, message).code(Code::SendNotAllowed));
    }
    let missing = || {
        Problem::new(ErrorKind::NotFound, format!("no other session of this project is called {to:?}"))
            .code(Code::SessionNotFound)
            .about("session", to)
    };
    let Ok(Found::Live(other)) = sessions.find(to).await else { return Err(missing()) };
    let there = PathBuf::from(sessions.existing_record(&other.id).await?.start.cwd);
    let same = aside(move || Project::of(&own) == Project::of(&there)).await?;
    if !same || other.id == caller.id {
        return Err(missing());
    }
    let draft = Draft {
        id,
        body: format!("Message from session {}: {}", caller.name, text.trim()).into_bytes(),
        terms: SendTerms { sender: format!("session {}", caller.name), ..SendTerms::default() },
    };
    messages::send(sessions, store, &other.id, draft, Proof::Queued).await?.settled().await
}

/// Looks at the disk: a dead network file system must not hold up the others.
async fn aside<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.map_err(|error| Problem::new(ErrorKind::Internal, error.to_string()))
}
