//! What agents' hooks report, handed to the sessions.
//!
//! `ostler hook` hands its report to the daemon, or leaves it in the spool if there is none or it is slow; a
//! report that came both ways is handled once.

mod spool;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ostler_core::Wall;
use ostler_protocol::{ErrorKind, HookReport, MAX_HOOK_PAYLOAD, Problem};
use ostler_store::StoreHandle;
use tokio::sync::oneshot;

use crate::home::Home;
use crate::hooks::ReportRates;
use crate::session::{Command, HookCommand, SessionHandle};
use crate::sessions::Sessions;
use crate::{clock, hooks};

pub(crate) use spool::replay_spool;

/// Longest name of an event or an agent.
const MAX_NAME: usize = 128;
/// How long a session may take to hear a report.
const HEARING: Duration = Duration::from_secs(1);
/// How long a session that was just started may take to be looked after, and how often it is looked for.
const LAUNCH: Duration = Duration::from_millis(400);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Takes reports and hands them to their sessions.
#[derive(Debug, Clone)]
pub(crate) struct HookReports {
    home: Arc<Home>,
    store: StoreHandle,
    sessions: Sessions,
    rates: Arc<ReportRates>,
}

impl HookReports {
    pub(crate) fn new(home: Arc<Home>, store: StoreHandle, sessions: Sessions) -> Self {
        Self { home, store, sessions, rates: Arc::default() }
    }

    /// Takes a report from a hook that waits for the answer; returns what the hook is to print for its agent.
    pub(crate) async fn receive(
        &self,
        report: HookReport,
        payload: Vec<u8>,
    ) -> Result<Option<String>, Problem> {
        if !self.rates.admits(&report.session, clock::steady()) {
            tracing::debug!(
                session = report.session,
                event = report.event,
                "too many reports; one is dropped"
            );
            return Ok(None);
        }
        self.handle(report, payload).await
    }

    /// Hears a report, at most once in the life of this home.
    async fn handle(&self, report: HookReport, payload: Vec<u8>) -> Result<Option<String>, Problem> {
        let refused = |reason: &str| Err(Problem::new(ErrorKind::Usage, reason));
        let named = |name: &str| (1..=MAX_NAME).contains(&name.len()) && !name.chars().any(char::is_control);
        if !named(&report.event) || !report.agent.as_deref().is_none_or(named) || !report.has_plain_id() {
            return refused("the report makes no sense");
        }
        if payload.len() > MAX_HOOK_PAYLOAD {
            return refused("the payload is too long");
        }
        let Some(handle) = self.find(&report.session).await else {
            return refused("the session is not there");
        };
        if !hooks::has_nonce(&handle.dir, &report.nonce) {
            tracing::warn!(session = %handle.name, event = report.event, "a hook's report with a wrong nonce is refused");
            return refused("the nonce is wrong");
        }
        let unusable = |error: io::Error| Problem::new(ErrorKind::Storage, error.to_string());
        let Some(claim) = hooks::claim(&self.home, &report, &payload).map_err(unusable)? else {
            return Ok(None);
        };
        let (sender, printed) = oneshot::channel();
        let id = report.id.clone();
        let command = Command::Hook(Box::new(HookCommand {
            claim,
            id: report.id,
            agent: report.agent,
            event: report.event,
            payload,
            at: Wall(report.at),
            print: report.context.then_some(sender),
        }));
        // All of it in less time than the hook has.
        let heard_by = tokio::time::Instant::now() + HEARING;
        match tokio::time::timeout_at(heard_by, handle.send(command)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return refused("the session has ended"),
            Err(_) => {
                // It was not heard: the hook leaves it in the spool, from where it is taken later.
                hooks::give_up(&self.home, &id);
                return Err(Problem::new(ErrorKind::Failed, "the session does not listen"));
            }
        }
        if !report.context {
            return Ok(None);
        }
        Ok(tokio::time::timeout_at(heard_by, printed).await.ok().and_then(Result::ok).flatten())
    }

    /// The session that a report is of. A quick program reports before anybody looks after it.
    async fn find(&self, id: &str) -> Option<SessionHandle> {
        let given_up = tokio::time::Instant::now() + LAUNCH;
        loop {
            if let Some(handle) = self.sessions.get(id) {
                return Some(handle);
            }
            let wanted = id.to_owned();
            let known = self.store.run(move |store| store.session(&wanted)).await.ok().flatten();
            if known.is_none_or(|session| session.ending.is_some()) || tokio::time::Instant::now() >= given_up
            {
                return None;
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}
