//! What holds for whatever happens.

use proptest::prelude::*;

use super::*;

fn findings() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        proptest::sample::select(vec![
            "idle",
            "idle!",
            "~idle",
            "working",
            "~working",
            "~working+",
            "watching",
            "blocked/plan",
            "~blocked",
            "limited/quota",
            "error#1",
            "error#2",
            "~error#3",
            "~limited#4",
            "draft",
            "empty",
        ]),
        0..4,
    )
    .prop_map(|words| words.join(" "))
}

fn words() -> impl Strategy<Value = String> {
    let fixed = |words: &[&'static str]| proptest::sample::select(words.to_vec()).prop_map(str::to_owned);
    let facts = [
        "prompt",
        "tool",
        "tool-end",
        "stop",
        "stop-watching",
        "asked",
        "answered",
        "interrupted",
        "idle",
        "quota",
        "other",
        "retry",
        "used",
    ];
    prop_oneof![
        4 => fixed(&["out", "type", "enter", "begun", "tick"]),
        4 => findings().prop_map(|findings| format!("read {findings}")),
        2 => fixed(&["claim idle", "claim working", "claim done", "claim error", "claim blocked", "claim clear"]),
        2 => (fixed(&["hook", "transcript", "transport"]), fixed(&facts)).prop_map(|(who, what)| format!("{who} {what}")),
        1 => fixed(&["sample reads", "sample reads alone", "sample deaf", "sample 300", "sample cpu", "sample network", "sample hidden", "sample", "judge idle", "judge working", "lost"]),
        1 => Just("restart".to_owned()),
    ]
}

/// Events with the time before each.
fn scripts() -> impl Strategy<Value = Vec<(u64, String)>> {
    let wait = prop_oneof![0..50_u64, 0..3_000_u64, 0..200_000_u64];
    proptest::collection::vec((wait, words()), 0..40)
}

fn expected() -> impl Strategy<Value = Expectations> {
    proptest::sample::select(vec![KNOWN, SPEAKS, STRANGE])
}

fn perform(stage: &mut Stage, wait: u64, words: &str) {
    let at = stage.now.plus(Duration::from_millis(wait));
    stage.run_until(at);
    match words {
        "restart" => stage.restart(),
        _ => stage.handle(Stage::event(words, at), at),
    }
}

/// Whether anything in an event speaks for idle.
fn speaks_for_idle(words: &str) -> bool {
    let says = |word: &str| words.split([' ', '~', '!']).any(|part| part == word);
    let failed = words.contains(" quota") || words == "claim error";
    says("idle") || says("done") || failed || words.contains("stop") || says("interrupted") || says("reads")
}

proptest! {
    #[test]
    fn idle_needs_a_reason(expected in expected(), script in scripts()) {
        let mut stage = Stage::new(settings(), expected);
        for (wait, words) in script.iter().filter(|(_, words)| !speaks_for_idle(words)) {
            perform(&mut stage, *wait, words);
        }
        stage.run_until(stage.now.plus(Duration::from_hours(24)));
        prop_assert!(stage.announced.iter().all(|(_, state)| *state != State::Idle), "{:?}", stage.announced);
    }

    /// The machine is called at its deadline, so between now and then nothing may come out differently.
    #[test]
    fn nothing_changes_before_the_deadline(expected in expected(), script in scripts(), share in 0.0..1.0_f64) {
        let mut stage = Stage::new(settings(), expected);
        for (wait, words) in &script {
            perform(&mut stage, *wait, words);
            let horizon = stage.detector.deadline().map_or(400_000, |deadline| deadline.0 - stage.now.0 - 1);
            #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let later = stage.now.0 + (horizon as f64 * share) as u64;
            let mut other = stage.detector.clone();
            let before = other.verdict().clone();
            let actions = other.handle(Event::Tick, Steady(later));
            prop_assert!(!actions.contains(&Action::Announce), "{words:?}: {before:?} at {:?}, {:?} at {later}", stage.now, other.verdict());
            prop_assert_eq!(other.verdict().since, before.since);
        }
    }

    #[test]
    fn every_script_comes_to_rest(expected in expected(), script in scripts()) {
        let mut stage = Stage::new(settings(), expected);
        for (wait, words) in &script {
            perform(&mut stage, *wait, words);
        }
        let mut ticks = 0;
        while let Some(due) = stage.detector.deadline() {
            stage.handle(Event::Tick, due);
            ticks += 1;
            prop_assert!(ticks < 20, "it wants to be called again and again: {:?}", stage.detector);
        }
        // Ticks at rest change nothing, whenever they come.
        let verdict = stage.detector.verdict().clone();
        let later = stage.now.plus(Duration::from_secs(1));
        stage.handle(Event::Tick, later);
        prop_assert_eq!(stage.detector.verdict(), &verdict);
        prop_assert_eq!(stage.detector.deadline(), None);
    }

    #[test]
    fn the_same_events_give_the_same_verdicts(expected in expected(), script in scripts()) {
        let run = || {
            let mut stage = Stage::new(settings(), expected);
            for (wait, words) in &script {
                perform(&mut stage, *wait, words);
            }
            (stage.announced, stage.detector.verdict().clone(), stage.detector.deadline(), stage.samples)
        };
        prop_assert_eq!(run(), run());
    }

    /// Samples are asked for when something was written since the last one, not in a circle.
    #[test]
    fn no_sample_asks_for_another(expected in expected(), script in scripts()) {
        let mut stage = Stage::new(settings(), expected);
        for (wait, words) in &script {
            perform(&mut stage, *wait, words);
        }
        stage.run_until(stage.now.plus(Duration::from_hours(24)));
        let samples = stage.samples;
        for _ in 0..5 {
            let now = stage.now.plus(Duration::from_millis(1));
            stage.handle(Event::Sampled(Some(ProcessSample::default())), now);
            stage.run_until(now.plus(Duration::from_hours(24)));
        }
        prop_assert!(stage.samples <= samples + 1);
    }
}
