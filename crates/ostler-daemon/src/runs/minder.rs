//! Minds one agent of a run: when it is ready, when it stops, and why.

use std::time::Duration;

use ostler_core::breaker::Limit;
use ostler_core::detector::{At, Reporter};
use ostler_core::reset_time::reset_time;
use ostler_core::run::{AgentId, Event, Policy, Stop};
use ostler_core::{Asking, Failure, State, Timestamp, Usage};
use tokio::sync::{mpsc, watch};

use crate::clock;
use crate::session::{Command, SessionHandle, Standing};

/// A state that would end a turn is looked at again after this: an agent may rest for a moment between two tools.
const SETTLE: Duration = Duration::from_millis(150);
/// The same where the agent itself says so: it knows whether it rests.
const SETTLE_SHORT: Duration = Duration::from_millis(50);
/// The same where nothing definite speaks for it.
const SETTLE_LONG: Duration = Duration::from_millis(600);
/// An agent that has a prompt and has been idle since before it for this long did its work unseen: while nobody
/// watched, or faster than anybody can see.
const UNSEEN: Duration = Duration::from_secs(10);
/// A screen that was found again is understood by then.
const CATCHING_UP: Duration = Duration::from_secs(3);
/// A dialog that the policy answers is gone by then.
const DIALOG: Duration = Duration::from_secs(3);

/// What a minder says.
#[derive(Debug)]
pub(super) enum News {
    Event(Event),
    /// A session has spent this much in all.
    Spent(String, Usage),
}

/// What the agent has been given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// Nothing: it is being started.
    Nothing,
    /// Something is on its way.
    Delivering,
    /// A prompt.
    Prompt {
        /// When it was sent.
        sent: Timestamp,
        /// When the agent had it.
        taken: Option<Timestamp>,
    },
}

/// Watches an agent until it has ended or nobody listens. `blocked` is what the run believes already.
pub(super) async fn mind(
    agent: AgentId,
    handle: SessionHandle,
    mut given: watch::Receiver<Given>,
    mut blocked: bool,
    policy: Policy,
    news: mpsc::Sender<News>,
) {
    let mut state = handle.state.clone();
    let mut ready = *given.borrow() != Given::Nothing;
    let mut stopped_for = None;
    // It stopped with a question, which somebody may answer.
    let mut asked = false;
    let understood = clock::now().plus(CATCHING_UP);
    let mut spent = Usage::default();
    loop {
        state.mark_unchanged();
        given.mark_unchanged();
        let has = *given.borrow();
        let standing = look(&handle).await;
        if standing.usage != spent {
            spent = standing.usage;
            if news.send(News::Spent(handle.id.clone(), spent)).await.is_err() {
                return;
            }
        }
        let mut again = None;
        let event = if standing.state == State::Exited {
            Some(Event::AgentStopped { agent, stop: exited(&standing) })
        } else if standing.state == State::Blocked {
            let due = standing.since.plus(DIALOG);
            if blocked {
                None
            } else if clock::now() < due {
                again = Some(due.since(clock::now()));
                None
            } else {
                blocked = true;
                Some(Event::AgentStopped { agent, stop: halted(&standing) })
            }
        } else if blocked {
            blocked = false;
            Some(Event::AgentResumed { agent })
        } else if asked && standing.state == State::Working {
            (asked, stopped_for) = (false, None);
            Some(Event::AgentResumed { agent })
        } else if !ready && is_ready(&standing) {
            ready = true;
            Some(Event::AgentReady { agent })
        } else if let Given::Prompt { sent, taken } = has
            && stopped_for != Some(sent)
            && let Some((stop, left)) = stopping(&standing, (sent, taken), understood, &policy)
        {
            if left.is_zero() {
                stopped_for = Some(sent);
                asked = stop == Stop::Idle { asks: true };
                Some(Event::AgentStopped { agent, stop })
            } else {
                again = Some(left);
                None
            }
        } else {
            None
        };
        let over = matches!(event, Some(Event::AgentStopped { stop: Stop::Exited { .. } | Stop::Lost, .. }));
        let told = event.is_some();
        if let Some(event) = event
            && news.send(News::Event(event)).await.is_err()
        {
            return;
        }
        if over {
            return;
        }
        if told {
            continue;
        }
        let sleep = async {
            match again {
                Some(again) => tokio::time::sleep(again).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = state.changed() => if changed.is_err() && has == *given.borrow() {
                // The actor is gone, and with it the session: the last look says how.
                let _ = news.send(News::Event(Event::AgentStopped { agent, stop: exited(&look(&handle).await) })).await;
                return;
            },
            changed = given.changed() => if changed.is_err() { return },
            () = sleep => {}
        }
    }
}

async fn look(handle: &SessionHandle) -> Standing {
    match handle.ask(Command::Standing).await {
        Ok(standing) => standing,
        Err(_) => Standing {
            state: State::Exited,
            kind: None,
            opaque: false,
            until: None,
            since: clock::now(),
            confidence: 1.0,
            failed: None,
            asks: false,
            retrying: None,
            exit: handle.exit(),
            usage: Usage::default(),
        },
    }
}

fn is_ready(standing: &Standing) -> bool {
    let unrecognised = standing.state == State::Unknown && standing.kind.as_deref() == Some("unrecognised");
    unrecognised || matches!(standing.state, State::Idle | State::Watching | State::Error | State::Limited)
}

/// Why an agent that has a prompt is taken for one that does no more, and in how long. `understood` is when a screen
/// that was found again is.
fn stopping(
    standing: &Standing,
    (sent, taken): (Timestamp, Option<Timestamp>),
    understood: Timestamp,
    policy: &Policy,
) -> Option<(Stop, Duration)> {
    let Some(stop) = stop(standing) else { return hopeless(standing, policy) };
    let wait = match standing.confidence {
        // What went wrong may be told more exactly in a moment.
        0.97.. if standing.state == State::Idle => SETTLE_SHORT,
        0.9.. => SETTLE,
        _ => SETTLE_LONG,
    };
    let unseen = taken.unwrap_or(sent).plus(UNSEEN).max(understood);
    let due = if standing.since < sent { unseen } else { standing.since.plus(wait) };
    Some((stop, due.since(clock::now())))
}

/// Why an agent does no more, if its state says so.
fn stop(standing: &Standing) -> Option<Stop> {
    let until = standing
        .until
        .as_deref()
        .and_then(|text| reset_time(text, clock::now(), &jiff::tz::TimeZone::system()));
    let failed = standing.failed.map(|(by, failure)| Stop::TurnFailed { by, failure, until });
    Some(match standing.state {
        State::Idle => Stop::Idle { asks: standing.asks },
        State::Limited => {
            failed.unwrap_or(Stop::Limited { limit: Limit::of_kind(standing.kind.as_deref()), until })
        }
        State::Error => failed.unwrap_or(Stop::StatusError),
        _ => return None,
    })
}

/// Why an agent that only tries again what fails is to stop, and in how long.
fn hopeless(standing: &Standing, policy: &Policy) -> Option<(Stop, Duration)> {
    let (by, At { what: failure, at }) = standing.retrying.filter(|_| standing.state == State::Working)?;
    let left = at.plus(policy.patience(failure)?).since(clock::steady());
    Some((Stop::TurnFailed { by, failure, until: None }, left))
}

fn exited(standing: &Standing) -> Stop {
    match standing.exit {
        Some((status, signal)) if status.is_some() || signal.is_some() => Stop::Exited { status, signal },
        _ => Stop::Lost,
    }
}

/// What an agent waits for. A login is no dialog that the work could wait for: others may be logged in.
fn halted(standing: &Standing) -> Stop {
    match asking(standing.kind.as_deref()) {
        Asking::Auth => {
            let by = standing.failed.map_or(Reporter::Screen, |(by, _)| by);
            Stop::TurnFailed { by, failure: Failure::Auth, until: None }
        }
        kind => Stop::Blocked { kind },
    }
}

fn asking(kind: Option<&str>) -> Asking {
    let all =
        [Asking::Permission, Asking::Question, Asking::Plan, Asking::Trust, Asking::Auth, Asking::Dialog];
    all.into_iter().find(|asking| kind == Some(asking.as_str())).unwrap_or(Asking::Dialog)
}
