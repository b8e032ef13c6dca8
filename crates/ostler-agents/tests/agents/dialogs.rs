//! Dialogs of the real programs: whoever allows one kind of them has it answered, and only that.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_agents::{Agent, Answer, Observer, Reader, Registry, settings_for};
use ostler_core::dialog::{Circumstances, Consent, Doubt, Policy, RuleAnswer, Witness, consent};
use ostler_core::{State, Steady, detector::Settings};
use ostler_screen::asciicast::{EventKind, Recording};
use ostler_screen::{Screen, Size};
use regex::Regex;
use serde_json::Value;

const BEGIN: Steady = Steady(1_000_000);

/// A recording in the midst of its dialog.
struct Moment {
    name: String,
    agent: Arc<Agent>,
    kind: String,
    screen: Screen,
    observer: Observer,
}

impl Moment {
    /// What becomes of the dialog where the user allows what is of these kinds.
    fn consent(&self, allowed: &[&str]) -> Consent<'_, &Answer> {
        let detector = self.observer.detector();
        let own = detector.reading().findings.iter();
        let own = own.filter(|finding| finding.state == State::Blocked && !finding.general);
        let witnesses: Vec<_> = own
            .map(|finding| {
                let spec = &self.agent.preset.rules[&*finding.rule];
                let kind = finding.kind.as_deref();
                let allows = allowed.contains(&kind.unwrap_or("dialog"));
                let answer = match &spec.answer {
                    None => RuleAnswer::None,
                    Some(answer) if allows && is_known(answer) => RuleAnswer::Wanted(answer),
                    Some(_) => RuleAnswer::Unwanted,
                };
                let startup = spec.answer.as_ref().is_some_and(|answer| answer.is_for_startup(kind));
                let policy = if allows { Policy::Allow } else { Policy::Ask };
                Witness { rule: &finding.rule, kind, policy, answer, startup }
            })
            .collect();
        let told = detector.told_to_wait_for();
        consent(&witnesses, Circumstances { started: detector.has_started(), told: &told })
    }

    /// Whether the rows that the preset says are chosen and marked are below the begin of the dialog.
    fn has_rows(&self, rule: &str, answer: &Answer) -> bool {
        let (Some(row), Some(selected)) = (&answer.accept, &answer.selected) else {
            return !answer.accept_keys.is_empty();
        };
        let begin = self.observer.begins(rule).unwrap();
        let mut text = String::new();
        let mut has = |pattern: &str| {
            let pattern = Regex::new(pattern).unwrap();
            (begin..self.screen.size().rows).any(|row| {
                self.screen.read_row(row, &mut text);
                pattern.is_match(&text)
            })
        };
        has(row) && has(selected)
    }
}

fn is_known(answer: &Answer) -> bool {
    (answer.accept.is_some() && answer.selected.is_some()) || !answer.accept_keys.is_empty()
}

fn inner(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

fn moments() -> Vec<Moment> {
    let registry = Registry::new(&[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let versions = inner(&root).into_iter().flat_map(|agent| inner(&agent));
    let scenes = versions.flat_map(|version| inner(&version));
    scenes.filter_map(|dir| moment(&registry, &dir)).collect()
}

fn moment(registry: &Registry, dir: &Path) -> Option<Moment> {
    let truth: Value = serde_json::from_slice(&std::fs::read(dir.join("truth.json")).unwrap()).unwrap();
    let intervals = truth["intervals"].as_array().unwrap();
    let is_dialog = |interval: &&Value| {
        interval["state"] == "blocked" && interval["any"].is_null() && interval["kind"] != "auth"
    };
    let dialog = intervals.iter().find(is_dialog)?;
    let middle = f64::midpoint(dialog["from"].as_f64().unwrap(), dialog["to"].as_f64().unwrap());
    let packed = std::fs::read(dir.join("session.cast.gz")).unwrap();
    let mut cast = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut cast).unwrap();
    let recording = Recording::parse(&cast).unwrap();
    let agent = registry.get(truth["agent"].as_str().unwrap()).unwrap().clone();
    let version = truth["version"].as_str().unwrap().parse().ok();
    let book = Arc::new(registry.rulebook(&agent, version.as_ref()).unwrap());
    let (settings, expectations) =
        (settings_for(&agent, Settings::default()), agent.expectations(version.as_ref()));
    let mut observer = Observer::new(book, settings, expectations, None, BEGIN);
    let mut screen = Screen::new(Size::clamped(recording.header.width, recording.header.height), 0);
    let end = Duration::from_secs_f64(middle);
    for event in recording.events.iter().filter(|event| event.at <= end) {
        run_until(&mut observer, &mut screen, BEGIN.plus(event.at));
        if let EventKind::Output(text) = &event.kind {
            let signals = screen.feed(text.as_bytes());
            let _ = observer.output(&mut screen, &signals, BEGIN.plus(event.at));
        }
    }
    run_until(&mut observer, &mut screen, BEGIN.plus(end));
    let kind = dialog["kind"].as_str().unwrap().to_owned();
    Some(Moment { name: dir.display().to_string(), agent, kind, screen, observer })
}

fn run_until(observer: &mut Observer, screen: &mut Screen, now: Steady) {
    while let Some(due) = observer.deadline().filter(|due| *due <= now) {
        let _ = observer.tick(screen, due);
    }
}

#[test]
fn a_question_about_a_key_is_no_question_for_leave() {
    let registry = Registry::new(&[]);
    let agent = registry.get("claude").unwrap();
    let seen = |text: &str| {
        let mut screen = Screen::new(Size::clamped(120, 40), 0);
        screen.feed(text.replace('\n', "\r\n").as_bytes());
        let mut reader = Reader::new(Arc::new(registry.rulebook(agent, None).unwrap()));
        reader.look(&mut screen);
        let findings = reader.reading().findings.iter();
        findings.map(|finding| finding.rule.to_string()).collect::<Vec<_>>()
    };
    let rows = "\n\n    1. Yes\n  ❯ 2. No (recommended)\n\n  Enter to confirm · Esc to cancel";
    assert_eq!(seen(&format!("  Do you want to use this API key?{rows}")), ["api-key"]);
    assert_eq!(seen(&format!(" Do you want to proceed?{rows}")), ["permission"]);
    // Part of a command, it stands beside the real question.
    let quoted =
        seen(&format!("  echo 'Do you want to use this API key?'\n\n Do you want to proceed?{rows}"));
    assert_eq!(quoted, ["api-key", "permission"]);
}

#[test]
fn a_dialog_is_answered_under_the_policy_of_its_kind_and_under_no_other() {
    let moments = moments();
    let of = |kind: &str| moments.iter().filter(|moment| moment.kind == kind).count();
    assert!(of("trust") >= 6 && of("permission") >= 8, "{} and {}", of("trust"), of("permission"));
    for moment in &moments {
        let Moment { name, kind, .. } = moment;
        match moment.consent(&[kind]) {
            Consent::Answer { rule, answer, .. } => assert!(moment.has_rows(rule, answer), "{name}"),
            Consent::Refuse { doubt: Doubt::NoWay, .. } => {}
            other => panic!("{name}: {other:?}"),
        }
        let others: Vec<&str> = ["permission", "question", "plan", "trust", "auth"]
            .into_iter()
            .filter(|other| other != kind)
            .collect();
        let other = moment.consent(&others);
        assert!(!matches!(other, Consent::Answer { .. }), "{name}: {other:?}");
    }
}
