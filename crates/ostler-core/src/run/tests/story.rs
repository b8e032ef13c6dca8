//! Every step of a run is told, with its reasons.

use super::*;

/// The names of the steps of a run, each with the detail that says most.
fn story(play: &Play) -> Vec<String> {
    let detail = |step: &Step| match step {
        Step::AttemptBegun { attempt, because } => format!("{attempt} {}", because.join(",")),
        Step::AttemptEnded { attempt, errors, .. } => format!("{attempt} {}", errors.join(",")),
        Step::ProviderTaken { provider, .. } => provider.clone(),
        Step::Prompted { provider, context, .. } => {
            format!("{provider} {}", context.map_or("plain", |context| context.as_str()))
        }
        Step::AgentStopped { provider, reason, .. } => {
            format!("{provider} {}", reason.as_deref().unwrap_or_default())
        }
        Step::Switched { from, .. } => from.clone().unwrap_or_default(),
        Step::Waiting { shut, .. } => shut.iter().map(|shut| shut.provider.as_str()).collect(),
        Step::Blocked { kind, .. } => kind.as_str().to_owned(),
        Step::Resumed { provider } => provider.clone().unwrap_or_default(),
        Step::ChecksBegun { attempt } => attempt.to_string(),
        Step::HelperAsked { about, .. } => format!("{about:?}"),
        Step::HelperAnswered { record, .. } => record.findings().join(","),
    };
    play.steps.iter().map(|step| format!("{} {}", step.name(), detail(step)).trim_end().to_owned()).collect()
}

#[test]
fn a_story_has_attempts_switches_waits_checks_and_helpers() {
    let policy = Policy { helper_always: true, ..Policy::default() };
    let play = Play::new(policy).go(&[Chosen("a"), Ready, Submitted, QUOTA, Tree(&["x"])]);
    let play = play.go(&[
        Next::Unavailable(&[("a", Reason::Quota, 60)]),
        Passing(60),
        Chosen("b"),
        Ready,
        Submitted,
    ]);
    let play = play.go(&[BLOCKED, Resumes, IDLE, Tree(&["y"]), Fails("E"), Helps("F")]);
    assert_eq!(
        story(&play),
        [
            "run.attempt 1",
            "run.provider a",
            "run.prompted a plain",
            "run.stopped a quota used up",
            "run.switch a",
            "run.wait a",
            "run.provider b",
            "run.prompted b provider_switch",
            "run.blocked permission",
            "run.resumed b",
            "run.stopped b idle",
            "run.checks 1",
            "run.helper Failure",
            "run.attempt_ended 1 E",
            "run.helper_answered F",
            "run.attempt 2 E",
            "run.provider b",
        ]
    );
    let details = serde_json::to_value(play.steps.last().unwrap()).unwrap();
    assert_eq!(details, serde_json::json!({ "attempt": 2, "provider": "b", "probe": false }));
}

#[test]
fn a_restart_is_no_step() {
    let mut play = Play::new(Policy::default()).go(&FIRST).go(&[Fails("E")]);
    play.steps.clear();
    assert_eq!(story(&play.go(&[Restarts])), Vec::<String>::new());
}
