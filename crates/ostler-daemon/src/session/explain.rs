//! Why a session is in its state.

use ostler_core::Steady;
use ostler_core::detector::{Claim, ProcessSample, TurnRecord};
use ostler_protocol::{Explanation, RuleInfo, SessionInfo, SignalInfo};
use ostler_session::Session;

/// What each signal says now, and which rules hold.
pub(super) fn explanation(session: &Session, info: SessionInfo, now: Steady) -> Explanation {
    let detector = session.observer().detector();
    let signal = |signal: &str, says: Option<String>, at: Option<Steady>| SignalInfo {
        signal: signal.to_owned(),
        age: says.is_some().then(|| at.map(|at| now.since(at).as_secs_f64())).flatten(),
        says,
    };
    let claim = detector.claim();
    let [(_, hooks), (_, transcript)] = detector.records();
    let output = detector.last_output();
    let sample = detector.sample();
    let (judged, judged_at) = session.judgement(now);
    let cursor = session.screen().cursor();
    let modes = session.screen().modes();
    let signals = vec![
        signal("program status", claim.map(|claim| describe_claim(claim.what)), claim.map(|claim| claim.at)),
        signal("hooks", turn(hooks), hooks.open.map(|open| open.at)),
        signal(
            "transcript",
            session.transcript_problem().map(str::to_owned).or(turn(transcript)),
            transcript.open.map(|open| open.at),
        ),
        signal("title", session.screen().title().map(str::to_owned), None),
        signal("composer", Some(composer(session)), None),
        signal("output", output.map(|_| "something was written".to_owned()), output),
        match session.hidden_processes() {
            Some(since) => signal("processes", Some(HIDDEN.to_owned()), Some(since)),
            None => signal(
                "processes",
                sample.map(|sample| processes(sample.what)),
                sample.map(|sample| sample.at),
            ),
        },
        signal(
            "terminal",
            Some(format!(
                "cursor {}, bracketed paste {}, {} screen",
                if cursor.visible { "shown" } else { "hidden" },
                if modes.bracketed_paste { "on" } else { "off" },
                if modes.alternate_screen { "alternate" } else { "main" }
            )),
            None,
        ),
        signal("judge", judged, judged_at),
    ];
    let rules = detector.reading().findings.iter().map(|finding| RuleInfo {
        rule: finding.rule.to_string(),
        state: finding.state,
        kind: finding.kind.as_deref().map(str::to_owned),
        general: finding.general,
    });
    Explanation {
        session: info,
        signals,
        rules: rules.collect(),
        files: session.profile().agent.files.clone(),
    }
}

/// What is said of processes where nothing can be said.
const HIDDEN: &str = "cannot be seen: /proc does not show them here, and the screen has to do";

fn composer(session: &Session) -> String {
    match session.observer().composer() {
        Some(composer) if composer.draft => "there, with something written in it".into(),
        Some(_) => "there, empty".into(),
        None => "not there".into(),
    }
}

fn describe_claim(claim: Claim) -> String {
    match claim {
        Claim::Idle => "idle".into(),
        Claim::Working => "working".into(),
        Claim::Watching => "done, with work of its own in the background".into(),
        Claim::Done => "done".into(),
        Claim::Error => "error".into(),
        Claim::Blocked(asking) => format!("blocked ({})", asking.as_str()),
    }
}

fn turn(record: &TurnRecord) -> Option<String> {
    let open = record.open?;
    Some(match (record.failed, record.asked) {
        (Some(failed), _) => format!("the turn failed ({})", failed.what.as_str()),
        (None, Some(asked)) => format!("waits for a person ({})", asked.what.as_str()),
        (None, None) if open.what => "a turn is open".into(),
        (None, None) => "the turn is over".into(),
    })
}

fn processes(sample: ProcessSample) -> String {
    let ProcessSample { reads_terminal, deaf, children, cpu_percent, awaits_answer, .. } = sample;
    let reads = match (reads_terminal, deaf) {
        (true, _) => "reads from the terminal",
        (false, true) => "sleeps or waits for another process, and does not listen to the terminal",
        (false, false) => "does not read from the terminal",
    };
    let awaits = if awaits_answer { ", waits for an answer from the network" } else { "" };
    format!("{reads}, {children} below it, {cpu_percent} % of a core{awaits}")
}
