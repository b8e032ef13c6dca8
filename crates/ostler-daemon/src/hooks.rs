//! What agents' hooks report.
//!
//! `ostler hook` hands its report to the daemon, or leaves it in the spool if there is none or it is slow; a
//! report that came both ways is handled once. Reports are hints of an untrusted program, bound to their session
//! by a nonce that only processes of that session are given.

mod claim;
mod nonce;
mod rate;
mod spool;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ostler_core::Timestamp;
use ostler_hold::SessionDir;
use ostler_protocol::{ErrorKind, HookReport, MAX_HOOK_PAYLOAD, Problem, Response};
use tokio::sync::oneshot;

use crate::clock;
use crate::home::Home;
use crate::registry::Shared;
use crate::session::{Command, HookCommand, SessionHandle};

pub(crate) use claim::Claim;
pub(crate) use spool::replay_spool;

/// Variables that speak of one session's hooks, and are not to be inherited by another session.
pub(crate) const VARIABLES: [&str; 2] = [nonce::VARIABLE, "OSTLER_HOOKS"];

/// Longest name of an event or an agent.
const MAX_NAME: usize = 128;
/// How long a session may take to hear a report.
const HEARING: Duration = Duration::from_secs(1);
/// How long a session that was just started may take to be looked after, and how often it is looked for.
const LAUNCH: Duration = Duration::from_millis(400);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// How many reports each session has made lately.
#[derive(Debug, Default)]
pub(crate) struct Hooks(Mutex<HashMap<String, rate::Bucket>>);

impl Hooks {
    /// Whether a session may report once more. The others' reports cost it nothing.
    fn admits(&self, session: &str, now: Timestamp) -> bool {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A bucket that is full again says nothing.
        if buckets.len() > 1_000 {
            buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        buckets.entry(session.to_owned()).or_insert_with(|| rate::Bucket::full(now)).take(now)
    }
}

/// What a program is given so that its hooks find their way: a fresh nonce, and where ostler lives.
pub(crate) fn environment(home: &Home, dir: &SessionDir) -> io::Result<Vec<(OsString, OsString)>> {
    dir.create()?;
    Ok(vec![
        (nonce::VARIABLE.into(), nonce::make(dir)?.into()),
        ("OSTLER_HOME".into(), home.path().as_os_str().to_owned()),
    ])
}

/// Finds what an earlier daemon had in its hands. To be called before this one takes reports.
pub(crate) fn put_back_unheard(home: &Home) {
    claim::put_back(home);
}

/// Takes a report from a hook that waits for the answer.
pub(crate) async fn receive(
    shared: &Shared,
    report: HookReport,
    payload: Vec<u8>,
) -> Result<Response, Problem> {
    if !shared.hooks.admits(&report.session, clock::steady()) {
        tracing::debug!(session = report.session, event = report.event, "too many reports; one is dropped");
        return Ok(Response::Hook { print: None });
    }
    handle(shared, report, payload).await.map(|print| Response::Hook { print })
}

/// Hears a report, at most once in the life of this home.
async fn handle(shared: &Shared, report: HookReport, payload: Vec<u8>) -> Result<Option<String>, Problem> {
    let refused = |reason: &str| Err(Problem::new(ErrorKind::Usage, reason));
    let named = |name: &str| (1..=MAX_NAME).contains(&name.len()) && !name.chars().any(char::is_control);
    if !named(&report.event) || !report.agent.as_deref().is_none_or(named) || !report.has_plain_id() {
        return refused("the report makes no sense");
    }
    if payload.len() > MAX_HOOK_PAYLOAD {
        return refused("the payload is too long");
    }
    let Some(handle) = find(shared, &report.session).await else {
        return refused("the session is not there");
    };
    if !nonce::matches(&handle.dir, &report.nonce) {
        tracing::warn!(session = %handle.name, event = report.event, "a hook's report with a wrong nonce is refused");
        return refused("the nonce is wrong");
    }
    let unusable = |error: io::Error| Problem::new(ErrorKind::Storage, error.to_string());
    let Some(claim) = claim::take(&shared.home, &report, &payload).map_err(unusable)? else {
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
        at: Timestamp(report.at),
        print: report.context.then_some(sender),
    }));
    // All of it in less time than the hook has.
    let heard_by = tokio::time::Instant::now() + HEARING;
    match tokio::time::timeout_at(heard_by, handle.tell(command)).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) => return refused("the session has ended"),
        Err(_) => {
            // It was not heard: the hook leaves it in the spool, from where it is taken later.
            claim::give_up(&shared.home, &id);
            return Err(Problem::new(ErrorKind::Failed, "the session does not listen"));
        }
    }
    if !report.context {
        return Ok(None);
    }
    Ok(tokio::time::timeout_at(heard_by, printed).await.ok().and_then(Result::ok).flatten())
}

/// The session that a report is of. A quick program reports before anybody looks after it.
async fn find(shared: &Shared, id: &str) -> Option<SessionHandle> {
    let given_up = tokio::time::Instant::now() + LAUNCH;
    loop {
        if let Some(handle) = shared.sessions.get(id) {
            return Some(handle);
        }
        let wanted = id.to_owned();
        let known = shared.store.run(move |store| store.session(&wanted)).await.ok().flatten();
        if known.is_none_or(|session| session.ending.is_some()) || tokio::time::Instant::now() >= given_up {
            return None;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}
