//! `ostler continue` and `ostler hold`

use std::fmt::Write as _;
use std::process::ExitCode;

use jiff::Timestamp;
use ostler_core::Wall;
use ostler_core::continuation::{Phase, Standing, Terms};
use ostler_protocol::{CarryOnRequest, Request, Response, SessionInfo};

use super::start;
use crate::cli::{Continue, Hold, Limits};
use crate::error::CommandError;
use crate::{client, output};

/// How far an agent is carried on, as the options say.
pub(super) fn terms(goal: Option<String>, limits: &Limits) -> Terms {
    let Limits { checks, max_turns, max_time, max_tokens, pause } = limits.clone();
    let usual = Terms::default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the parser bounds it")]
    let time_secs = max_time.map_or(usual.time_secs, |seconds| seconds.ceil() as u64);
    Terms {
        goal,
        checks,
        max_turns: max_turns.unwrap_or(usual.max_turns),
        time_secs,
        tokens: max_tokens.unwrap_or(usual.tokens),
        pause_secs: pause.unwrap_or(usual.pause_secs),
        ..usual
    }
}

pub(crate) fn continue_on(args: &Continue) -> Result<ExitCode, CommandError> {
    let wanted = if args.off {
        CarryOnRequest::End
    } else if args.goal.is_none() && !args.limits.is_given() && is_carried_on(&args.name)? {
        // Its goal, its checks and its limits stay what they are.
        CarryOnRequest::Request
    } else {
        let terms = terms(args.goal.clone(), &args.limits);
        CarryOnRequest::Begin { terms, env: start::own_environment() }
    };
    tell(&ask(Some(&args.name), wanted)?, args.json)
}

fn is_carried_on(name: &str) -> Result<bool, CommandError> {
    let session = super::session(client::call(&Request::Status { name: name.to_owned() })?)?;
    Ok(session.carry_on.is_some_and(|standing| standing.phase != Phase::Off))
}

pub(crate) fn hold(args: &Hold) -> Result<ExitCode, CommandError> {
    let wanted = || if args.release { CarryOnRequest::Release } else { CarryOnRequest::Hold };
    let mut held = Vec::new();
    if args.all {
        held = ask(None, wanted())?;
    }
    for name in &args.names {
        held.extend(ask(Some(name), wanted())?);
    }
    tell(&held, args.json)
}

/// Asks something of one session, or of all that run.
pub(super) fn ask(name: Option<&str>, wanted: CarryOnRequest) -> Result<Vec<SessionInfo>, CommandError> {
    let request = Request::CarryOn { name: name.map(str::to_owned), wanted: Box::new(wanted) };
    let Response::Sessions { sessions } = client::call(&request)? else { return Err(super::unexpected()) };
    Ok(sessions)
}

pub(super) fn tell(sessions: &[SessionInfo], json: bool) -> Result<ExitCode, CommandError> {
    if json {
        output::json(&sessions)?;
        return Ok(ExitCode::SUCCESS);
    }
    if sessions.is_empty() {
        output::print("no session is running\n")?;
    }
    for session in sessions {
        let says = session.carry_on.as_ref().map_or_else(|| "not carried on".to_owned(), line);
        output::print(&format!("{}: {says}\n", session.name))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where carrying on an agent stands, in a line.
pub(crate) fn line(standing: &Standing) -> String {
    let Standing { phase, held, turns, max_turns, resumes, .. } = standing;
    if let Some(at) = resumes {
        return format!("runs again in {} s (`ostler stop` prevents it)", seconds_until(*at));
    }
    let mut text = String::new();
    if *held {
        text.push_str("on hold (`ostler resume` ends that)");
    }
    let says = match phase {
        Phase::Off => String::new(),
        Phase::Watching => "carried on when it stops".to_owned(),
        Phase::Examining { .. } => "it stopped; looking what that means".to_owned(),
        Phase::Waiting { until, why, .. } => {
            format!("goes on in {} s ({})", seconds_until(*until), output::plain(why))
        }
        Phase::Prompting { .. } => "is told to go on".to_owned(),
        Phase::Yielded => {
            "yours since you stopped its turn; your next prompt, or `ostler continue`, goes on".to_owned()
        }
        Phase::NeedsOwner { why } => format!("needs you: {}", output::plain(why)),
        Phase::Done { why } => format!("done: {}", output::plain(why)),
    };
    if !says.is_empty() {
        let colon = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{colon}{says} [{turns} of {max_turns} prompts]");
    }
    text
}

fn seconds_until(at: Wall) -> u64 {
    let now = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    at.0.saturating_sub(now).div_ceil(1_000)
}

/// Why that is so.
pub(super) fn explanation(standing: &Standing) -> String {
    let mut text = format!("\ncarrying on: {}\n", line(standing));
    if let Some(decision) = &standing.decision {
        let analysis = &decision.analysis;
        let conclusion = serde_json::to_value(analysis.conclusion).unwrap_or_default();
        let _ = writeln!(
            text,
            "  decided    {} ({} sure) after {}: {}",
            conclusion.as_str().unwrap_or_default(),
            analysis.confidence,
            decision.trigger.as_str(),
            decision.action.as_str()
        );
        for evidence in &analysis.evidence {
            let _ = writeln!(text, "  because    {}", output::plain(evidence));
        }
    }
    text
}
