use super::*;
use crate::Preset;
use ostler_core::State;

fn play(events: &str) -> Vec<(u128, State)> {
    let rules = "
        [rules.busy]
        state = 'working'
        when = { in = 'screen', row = 'busy' }
        [rules.ready]
        state = 'idle'
        when = { in = 'screen', row = 'ready' }";
    let preset: Preset = toml::from_str(rules).unwrap();
    let book = Arc::new(RuleBook::new(&preset, None, None).unwrap());
    let header = r#"{"version": 2, "width": 20, "height": 4}"#;
    let recording = Recording::parse(&format!("{header}\n{events}")).unwrap();
    let expectations = Expectations { rules: true, ..Expectations::default() };
    let settings = Settings { idle_confirm_ms: 350, startup_confirm_ms: 1200, ..Settings::default() };
    let changes = replay(&recording, book, settings, expectations);
    changes.iter().map(|change| (change.at.as_millis(), change.verdict.state)).collect()
}

#[test]
fn what_falls_due_between_two_events_happens_in_its_moment() {
    let events = "[1.0, \"o\", \"ready\"]\n[9.0, \"o\", \"\\u001b[2J\\u001b[Hbusy\"]\n[20.0, \"o\", \"\\u001b[2J\\u001b[Hready\"]\n";
    assert_eq!(
        play(events),
        [
            (0, State::Starting),
            (2230, State::Idle),
            (9030, State::Working),
            // The recording has ended, time goes on.
            (20_380, State::Idle),
        ]
    );
}

#[test]
fn an_empty_recording_is_a_program_that_never_did_anything() {
    assert_eq!(play(""), [(0, State::Starting), (30_000, State::Unknown)]);
}

#[test]
fn what_was_typed_and_how_large_the_terminal_was_counts() {
    let events =
        "[1.0, \"o\", \"ready\"]\n[5.0, \"i\", \"x\"]\n[6.0, \"i\", \"\\r\"]\n[7.0, \"r\", \"3x4\"]\n";
    let said = play(events);
    assert_eq!(said[..3], [(0, State::Starting), (2230, State::Idle), (6000, State::Working)]);
    assert_eq!(said.last().unwrap().1, State::Unknown, "the terminal is too narrow for the prompt");
}

#[test]
fn marks_and_what_is_not_known_change_nothing() {
    let plain = "[1.0, \"o\", \"ready\"]\n[5.0, \"o\", \"\\u0007\"]\n";
    let marked =
        "[1.0, \"o\", \"ready\"]\n[1.5, \"m\", \"here\"]\n[1.6, \"x\", \"0\"]\n[5.0, \"o\", \"\\u0007\"]\n";
    assert_eq!(play(plain), play(marked));
}
