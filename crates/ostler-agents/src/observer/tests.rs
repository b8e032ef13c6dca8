use super::*;
use crate::Preset;
use ostler_core::State;
use ostler_screen::Size;

const RULES: &str = "
    [rules.busy]
    state = 'working'
    when = { in = 'screen', row = 'busy' }
    [rules.ready]
    state = 'idle'
    when = { in = 'screen', row = 'ready' }
    [rules.dialog]
    state = 'blocked'
    kind = 'permission'
    when = { in = 'screen', row = 'allow' }";

fn book(rules: &str) -> Arc<RuleBook> {
    let preset: Preset = toml::from_str(rules).unwrap();
    Arc::new(RuleBook::new(&preset, None, None).unwrap())
}

/// An observer with its screen, in simulated time.
struct Stage {
    screen: Screen,
    observer: Observer,
    looks: usize,
}

impl Stage {
    fn new(memory: Option<Memory>, now: u64) -> Self {
        let expectations = Expectations { rules: true, ..Expectations::default() };
        Self {
            screen: Screen::new(Size::clamped(20, 5), 0),
            observer: Observer::new(book(RULES), Settings::default(), expectations, memory, Steady(now)),
            looks: 0,
        }
    }

    fn run_until(&mut self, now: u64) {
        while let Some(due) = self.observer.deadline().filter(|due| due.0 <= now) {
            let _ = self.observer.tick(&mut self.screen, due);
            self.looks += 1;
            assert!(self.observer.deadline().is_none_or(|next| next > due), "it goes round at {due:?}");
        }
    }

    fn output(&mut self, now: u64, output: &str) -> Vec<Action> {
        self.run_until(now);
        let signals = self.screen.feed(output.as_bytes());
        self.observer.output(&mut self.screen, &signals, Steady(now))
    }

    fn state(&self) -> State {
        self.observer.detector().verdict().state
    }
}

#[test]
fn a_frame_is_looked_at_when_it_is_complete() {
    let mut stage = Stage::new(None, 1000);
    let _ = stage.output(2000, "al");
    assert_eq!(stage.observer.deadline(), Some(Steady(2030)));
    let _ = stage.output(2020, "low");
    assert_eq!(stage.observer.deadline(), Some(Steady(2050)));
    stage.run_until(2049);
    assert_eq!(stage.state(), State::Starting);
    stage.run_until(2050);
    assert_eq!(stage.state(), State::Blocked);
}

#[test]
fn a_screen_that_is_drawn_all_the_time_is_looked_at_too() {
    let mut stage = Stage::new(None, 1000);
    for step in 0..20 {
        let _ = stage.output(2000 + step * 10, "\rallow");
    }
    assert_eq!(stage.state(), State::Blocked);
    // So is a frame that never ends.
    let mut stage = Stage::new(None, 1000);
    let _ = stage.output(2000, "\x1b[?2026hallow");
    assert_eq!(stage.observer.deadline(), Some(Steady(2100)));
    stage.run_until(2100);
    assert_eq!(stage.state(), State::Blocked);
}

#[test]
fn the_status_of_the_program_itself_is_a_claim() {
    let mut stage = Stage::new(None, 1000);
    let status = |fields: &str| format!("\x1b]7501;{fields}\x07");
    let mut parsed = |text: String| {
        let signals = stage.screen.feed(text.as_bytes());
        let statuses = signals.iter().any(|signal| matches!(signal, Signal::ProgramStatus(_)));
        let _ = stage.observer.output(&mut stage.screen, &signals, Steady(2000));
        (statuses, stage.observer.detector().claim().map(|claim| claim.what))
    };
    let told = parsed(status("state=working"));
    assert_eq!(told, (true, Some(Claim::Working)));
    assert_eq!(
        parsed(status("state=idle:id=7")),
        (true, Some(Claim::Working)),
        "that of a part of it is not"
    );
    assert_eq!(parsed(status("state=blocked:kind=question")), (true, Some(Claim::Blocked(Asking::Question))));
    assert_eq!(parsed(status("state=clear")), (true, None));
}

#[test]
fn an_agent_at_rest_wants_nothing() {
    let mut stage = Stage::new(None, 1000);
    let _ = stage.output(2000, "ready");
    stage.run_until(10_000);
    assert_eq!((stage.state(), stage.observer.deadline()), (State::Idle, None));
    let mut stage = Stage::new(None, 1000);
    let _ = stage.output(2000, "\x1b]7501;state=idle\x07");
    stage.run_until(10_000);
    assert_eq!((stage.state(), stage.observer.deadline()), (State::Idle, None));
}

#[test]
fn what_was_lost_is_seen_again_even_if_it_looks_the_same() {
    let mut stage = Stage::new(None, 1000);
    let _ = stage.output(2000, "allow");
    stage.run_until(3000);
    assert_eq!(stage.state(), State::Blocked);
    let _ = stage.observer.event(Event::Lost, Steady(3000));
    let _ = stage.output(3010, "\r");
    stage.run_until(60_000);
    assert_eq!(stage.state(), State::Blocked);
}

#[test]
fn other_rules_take_the_place_of_what_was_seen() {
    let mut stage = Stage::new(None, 1000);
    let _ = stage.output(2000, "allow");
    stage.run_until(3000);
    assert_eq!(stage.state(), State::Blocked);
    let expectations = Expectations { rules: true, ..Expectations::default() };
    let other = book(&RULES.replace("allow", "other"));
    stage.observer.use_rules(other, Settings::default(), expectations, Steady(3000));
    stage.run_until(60_000);
    assert_ne!(stage.state(), State::Blocked, "no rule sees it now");
    assert!(stage.observer.detector().reading().findings.is_empty());
}

#[test]
fn the_next_daemon_reads_the_screen_before_it_says_something_new() {
    for (text, state) in [("allow", State::Blocked), ("busy", State::Working), ("ready", State::Idle)] {
        let mut stage = Stage::new(None, 1000);
        let _ = stage.output(2000, text);
        stage.run_until(9000);
        assert_eq!(stage.state(), state);
        let mut next = Stage::new(Some(stage.observer.detector().memory()), 50);
        let announced = next.output(60, &format!("\x1b[2J\x1b[H{text}"));
        assert_eq!((announced, next.state()), (vec![], state));
        next.run_until(60_000);
        assert_eq!((next.state(), next.observer.detector().verdict().since), (state, Steady(50)));
    }
    // Nothing that is known is on the screen any more.
    let mut stage = Stage::new(None, 1000);
    let _ = stage.output(2000, "allow");
    stage.run_until(9000);
    let mut next = Stage::new(Some(stage.observer.detector().memory()), 50);
    let _ = next.output(60, "something else");
    next.run_until(60_000);
    assert_eq!(next.state(), State::Unknown);
}
