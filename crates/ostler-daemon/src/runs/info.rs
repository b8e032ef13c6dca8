//! A run as users see it.

use ostler_core::Wall;
use ostler_core::run::{GiveUp, HelperRecord, Inquiry, Outcome, Phase, Run, Stage};
use ostler_protocol::RunInfo;

use super::record::RunRecord;
use crate::clock;

pub(super) fn info(record: &RunRecord, version: u64) -> RunInfo {
    let RunRecord { request, run, .. } = record;
    let ended = record.ended;
    let agent = run.agent();
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let seconds = ended.unwrap_or_else(clock::now).0.saturating_sub(record.created.0) as f64 / 1e3;
    let (state, summary) = state(record);
    RunInfo {
        id: request.id.clone(),
        task: request.task.clone(),
        state,
        outcome: run.outcome().cloned(),
        summary,
        agents: request.agents.clone(),
        provider: agent.map(|(_, provider)| provider.to_owned()),
        session: agent.map(|(agent, _)| record.session_id(agent)),
        cwd: record.cwd().display().to_string(),
        attempts: run.attempts().to_vec(),
        executions: run.executions(),
        continues: record.continues.clone(),
        worktree: request.worktree.clone(),
        committed: record.committed.clone(),
        trouble: None,
        checks: record.checks.clone(),
        prompts: record.prompts.clone(),
        helper: run.helper().cloned(),
        criteria: run.criteria().cloned(),
        files: run.changes(),
        switches: run.switches(),
        usage: record.usage(),
        started: clock::shown(record.created),
        ended: ended.map(clock::shown),
        seconds,
        version,
    }
}

fn state(record: &RunRecord) -> (String, String) {
    let run = &record.run;
    let provider = run.agent().map_or("nobody", |(_, provider)| provider);
    let attempt = run.attempts().len();
    let told = |state: &str, words: String| (state.to_owned(), words);
    match run.phase() {
        Phase::New => told("queued", "waits for its turn".into()),
        Phase::Choosing => told("choosing", "a provider is being chosen".into()),
        Phase::Waiting { until } => {
            told("waiting", format!("no provider can be used before {}", time(*until)))
        }
        Phase::Agent { blocked: Some(blocked), .. } => {
            told("blocked", format!("{provider} waits for a person ({})", blocked.kind.as_str()))
        }
        Phase::Agent { stage: Stage::Starting, .. } => {
            told("starting", format!("{provider} is being started"))
        }
        Phase::Agent { stage: Stage::Delivering, .. } => {
            told("delivering", format!("{provider} is being given the task"))
        }
        Phase::Agent { stage: Stage::Working, .. } => {
            told("working", format!("{provider} works, attempt {attempt}"))
        }
        Phase::Observing { .. } => told("observing", "the work tree is being looked at".into()),
        Phase::Checking { .. } => told("checking", "the checks are running".into()),
        Phase::AskingHelper { inquiry: Inquiry::Failures | Inquiry::Failure, .. } => {
            told("helper", "a helper is being asked".into())
        }
        Phase::AskingHelper { inquiry: Inquiry::Criteria, .. } => {
            told("helper", "a helper is being asked how to verify the criteria".into())
        }
        Phase::Parked { outcome, .. } | Phase::Ended { outcome } => {
            told(outcome.as_str(), format!("{outcome}{}{}", next_probe(outcome), criteria(outcome, run)))
        }
    }
}

/// What is known of the criteria of a task that is done or finished.
fn criteria(outcome: &Outcome, run: &Run) -> String {
    let only = match outcome {
        Outcome::Done => "",
        Outcome::FinishedUnchecked => "only ",
        Outcome::Blocked { .. } | Outcome::GivenUp { .. } | Outcome::Cancelled => return String::new(),
    };
    match run.criteria() {
        None => String::new(),
        Some(HelperRecord::Answered(answer)) => {
            format!("; its criteria were verified {only}by commands that {} proposed", answer.by)
        }
        Some(HelperRecord::Failed { .. }) => "; its criteria were not verified".into(),
    }
}

/// When the first provider can be tried again, where a run ended because none can be used.
fn next_probe(outcome: &Outcome) -> String {
    let Outcome::GivenUp { why: GiveUp::NoProvider { shut } } = outcome else { return String::new() };
    let first = shut.iter().min_by_key(|shut| shut.until);
    first.map_or_else(String::new, |first| {
        format!(" ({} can be tried again at {})", first.provider, time(first.until))
    })
}

fn time(at: Wall) -> String {
    clock::shown(at).strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}
