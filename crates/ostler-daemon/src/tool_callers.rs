//! Who calls tools: only an agent that can prove which session it runs in, and not without limit.

use std::sync::Arc;

use ostler_protocol::{Code, ErrorKind, Problem};

use crate::clock;
use crate::hooks::{self, ReportRates};
use crate::session::SessionHandle;
use crate::sessions::{Found, Sessions};

/// Tells callers apart.
#[derive(Debug, Clone)]
pub(crate) struct ToolCallers {
    sessions: Sessions,
    rates: Arc<ReportRates>,
}

impl ToolCallers {
    pub(crate) fn new(sessions: Sessions) -> Self {
        Self { sessions, rates: Arc::default() }
    }

    /// The running session that the caller is in, by its id and the secret that only its processes are given.
    pub(crate) async fn identify(&self, session: &str, nonce: &str) -> Result<SessionHandle, Problem> {
        let found = match self.sessions.find(session).await {
            Ok(Found::Live(handle)) if handle.id == session => Some(handle),
            _ => None,
        };
        // Whether there is such a session is nobody's concern who cannot prove to be of it.
        let Some(handle) = found.filter(|handle| hooks::has_nonce(&handle.dir, nonce)) else {
            tracing::warn!(session, "a call of a tool with a wrong nonce is refused");
            let message =
                "this is not an agent of a running session of ostler: the session or its nonce is wrong";
            return Err(Problem::new(ErrorKind::Failed, message)
                .code(Code::SessionUnproven)
                .about("session", session));
        };
        if !self.rates.admits(&handle.id, clock::steady()) {
            return Err(Problem::new(ErrorKind::Failed, "too many calls in a short time; call again later")
                .code(Code::TooManyCalls));
        }
        Ok(handle)
    }
}
