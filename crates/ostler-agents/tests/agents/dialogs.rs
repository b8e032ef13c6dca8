//! Dialogs of the real programs: whoever allows one kind of them has it answered, and only that.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_agents::{Agent, Answer, DialogText, Observer, Reader, Registry, settings_for};
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

/// What a dialog says, as `ostler answer` reads it: what it asks, its choices with the selected one in brackets, and the
/// choice in which one writes.
fn said(moment: &Moment) -> String {
    let findings = &moment.observer.detector().reading().findings;
    let own = || findings.iter().filter(|it| it.state == State::Blocked && !it.general);
    let seen = own().find(|it| moment.observer.begins(&it.rule).is_some()).or_else(|| own().next());
    let Some(rule) = seen.map(|finding| &*finding.rule) else { return "no rule of its own".into() };
    let spec = &moment.agent.preset.rules[rule];
    let version = None;
    let book = Registry::new(&[]).rulebook(&moment.agent, version).unwrap();
    let (begins, answer, choice) = (moment.observer.begins(rule), spec.answer.as_ref(), spec.choice.as_ref());
    let read = DialogText::read(&moment.screen, begins, answer, choice, book.speech());
    let shown = |(at, option): (usize, &ostler_agents::Choosable)| {
        let number = option.number.map(|number| format!("{number}. ")).unwrap_or_default();
        let text = format!("{number}{}", option.label);
        if read.selected == Some(at) { format!("[{text}]") } else { text }
    };
    let options: Vec<String> = read.options.iter().enumerate().map(shown).collect();
    format!("{rule}: {} -> {}", read.about.join(" / "), options.join(", "))
}

/// By agent and scene: what stands in front of the choices, and the choices, as far as all recorded versions agree.
const SAID: [(&str, &str, &str, &str); 18] = [
    ("aider", "permission", "sh work.sh 2 / Run shell command?", ""),
    ("claude", "permission", "Bash command", "[1. Yes], 2. Yes, and don’t ask again for: sh work.sh 2, 3. "),
    (
        "claude",
        "small",
        "Do you want to proceed?",
        "[1. Yes], 2. Yes, and don’t ask again for: sh work.sh 2, 3. ",
    ),
    (
        "claude",
        "question",
        "Which colour shall it be?",
        "[1. Red], 2. Blue, 3. Type something., 4. Chat about this",
    ),
    (
        "claude",
        "review",
        "Which colour shall it be?",
        "[1. Red], 2. Blue, 3. Type something., 4. Chat about this",
    ),
    ("claude", "trust", "/home/dev/project", "Yes, I trust this folder"),
    ("codex", "permission", "Would you like to run the following command?", "[1. Yes, proceed (y)], 2. "),
    ("codex", "small", "$ sh work.sh 2", "[1. Yes, proceed (y)], 2. "),
    ("codex", "question", "Which colour shall it be?", "[1. Red], 2. Blue, 3. None of the above"),
    ("codex", "trust", "Trust this folder?", "[1. Trust and continue], 2. "),
    ("copilot", "permission", "sh work.sh 2", "[1. Yes], 2. No, and tell Copilot what to do differently"),
    ("copilot", "question", "Which colour shall it be?", ""),
    ("copilot", "trust", "/home/dev/project", "[1. Yes], 2. Yes, and remember"),
    (
        "gemini",
        "permission",
        "sh work.sh 2",
        "[1. Allow once], 2. Allow for this session, 3. No, suggest changes",
    ),
    ("gemini", "question", "Which colour shall it be?", "[1. Red], 2. Blue, 3. Enter a custom value"),
    ("opencode", "permission", "$ sh work.sh 2", "[Allow once], Allow always, Reject"),
    ("opencode", "question", "Which colour shall it be?", "[1. Red], 2. Blue, 3. Type your own answer"),
    ("qwen", "permission", "sh work.sh 2", "[1. Yes, allow once], 2. Always allow run 'sh *' commands"),
];

#[test]
fn what_a_dialog_says_is_read() {
    let moments = moments();
    for (agent, scene, about, choices) in SAID {
        let of = |moment: &&Moment| {
            let mut parts = moment.name.rsplit('/');
            parts.next() == Some(scene) && parts.nth(1) == Some(agent)
        };
        let said: Vec<String> = moments.iter().filter(of).map(said).collect();
        assert!(!said.is_empty(), "{agent} {scene}");
        for said in said {
            let (asked, offered) = said.split_once(" -> ").unwrap();
            assert!(asked.contains(about), "{agent} {scene}: {said}");
            let fits = if choices.is_empty() { offered.is_empty() } else { offered.contains(choices) };
            assert!(fits, "{agent} {scene}: {said}");
        }
    }
}
