//! Scripts of the form `seconds event -> actions`, one line each; what falls due between two lines must be a line
//! of its own. See [`Stage::event`] for the words.

use super::*;
use proptest::prelude::*;

const BEGIN: Steady = Steady(1_000_000);

fn settings() -> Settings {
    Settings {
        enabled: true,
        agent: "other".into(),
        after_seconds: 60,
        limit_seconds: 90,
        cooldown_seconds: 180,
        max_errors: 3,
    }
}

/// A judge in simulated time.
struct Stage {
    judge: Judge,
    now: Steady,
}

impl Stage {
    fn new(settings: Settings) -> Self {
        Self { judge: Judge::new(settings), now: BEGIN }
    }

    fn handle(&mut self, event: Event) -> Vec<Action> {
        let actions = self.judge.handle(event, self.now);
        assert!(self.judge.deadline().is_none_or(|due| due > self.now), "a deadline in the past");
        actions
    }

    /// The words of a script.
    fn event(words: &str) -> Event {
        let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
        let (number, said) = rest.split_once(' ').unwrap_or((rest, ""));
        let question = || number.parse().unwrap();
        match word {
            "puzzled" => Event::Puzzled,
            "clear" => Event::Clear,
            "put" => Event::Put { question: question() },
            "answer" => Event::Answered {
                question: question(),
                answer: Word::read(said).ok_or_else(|| said.to_owned()),
            },
            "tick" => Event::Tick,
            _ => panic!("no event is called {words:?}"),
        }
    }

    fn play(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (words, expected) = line.split_once("->").unwrap_or((line, ""));
            let (seconds, words) = words.trim().split_once(' ').unwrap();
            let at = BEGIN.plus(Duration::from_secs(seconds.parse().unwrap()));
            assert!(self.judge.deadline().is_none_or(|due| due >= at), "something falls due before {line:?}");
            self.now = at;
            let actions = self.handle(Self::event(words));
            let shown: Vec<String> = actions.iter().map(shown).collect();
            assert_eq!(shown.join(" "), expected.trim(), "{line}");
        }
    }
}

fn shown(action: &Action) -> String {
    match action {
        Action::Ask { question } => format!("ask-{question}"),
        Action::Cancel => "cancel".into(),
        Action::Tell(word) => word.to_string(),
    }
}

#[track_caller]
fn play(script: &str) -> Judge {
    let mut stage = Stage::new(settings());
    stage.play(script);
    stage.judge
}

#[test]
fn it_is_asked_after_a_while_without_a_decision() {
    let judge =
        play("0 puzzled\n 59 tick\n 60 tick -> ask-1\n 61 put 1\n 70 answer 1 idle -> idle\n 9999 puzzled");
    assert_eq!((judge.phase(), judge.deadline()), (Phase::Answered, None));
    assert_eq!(judge.last().unwrap().what, Ok(Word::Idle));
}

#[test]
fn it_is_never_asked_unless_a_user_wants_it() {
    let mut stage = Stage::new(Settings::default());
    stage.play("0 puzzled\n 9999 tick\n 10000 clear\n 10001 puzzled\n 99999 tick");
    assert_eq!(stage.judge.deadline(), None);
    assert!(!stage.judge.is_enabled());
}

#[test]
fn time_with_a_decision_does_not_count() {
    play("0 puzzled\n 59 clear\n 60 puzzled\n 119 puzzled\n 120 tick -> ask-1");
}

#[test]
fn an_answer_about_another_screen_is_dropped() {
    play(
        "0 puzzled
         60 tick -> ask-1
         61 put 1
         62 clear -> cancel
         63 answer 1 idle
         64 puzzled
         65 answer 1 idle
         124 tick -> ask-2
         125 put 1
         125 answer 1 idle
         126 put 2
         127 answer 2 blocked -> blocked
         128 answer 2 idle",
    );
}

#[test]
fn an_answer_holds_until_something_new_is_written() {
    play(
        "0 puzzled\n 60 tick -> ask-1\n 61 answer 1 idle -> idle\n 500 clear\n 502 puzzled\n 562 tick -> ask-2",
    );
}

#[test]
fn work_that_it_saw_is_left_alone_for_a_while_whatever_is_written() {
    play("0 puzzled\n 60 tick -> ask-1\n 61 answer 1 working -> working\n 241 tick -> ask-2");
    play(
        "0 puzzled
         60 tick -> ask-1
         61 answer 1 working -> working
         70 clear
         71 puzzled
         200 tick
         240 tick
         241 tick -> ask-2",
    );
    // Afterwards it is as patient as ever.
    play(
        "0 puzzled\n 60 tick -> ask-1\n 61 answer 1 working -> working\n 200 clear\n 210 puzzled\n 270 tick -> ask-2",
    );
}

#[test]
fn the_limit_begins_when_the_question_is_put() {
    let judge = play(
        "0 puzzled
         60 tick -> ask-1
         600 put 1
         689 tick
         690 tick -> cancel
         691 answer 1 idle
         750 tick -> ask-2",
    );
    assert_eq!(judge.errors(), 1);
    assert!(judge.last().unwrap().what.as_ref().unwrap_err().contains("90 s"));
}

#[test]
fn it_is_given_up_after_errors_in_a_row() {
    let judge = play(
        "0 puzzled
         60 tick -> ask-1
         61 answer 1 who knows
         121 tick -> ask-2
         122 put 2
         212 tick -> cancel
         272 tick -> ask-3
         273 answer 3 idle and working
         9999 tick
         10000 clear
         10001 puzzled
         99999 tick",
    );
    assert_eq!((judge.phase(), judge.deadline(), judge.errors()), (Phase::GivenUp, None, 3));
    let answered = play(
        "0 puzzled
         60 tick -> ask-1
         61 answer 1 what
         121 tick -> ask-2
         122 answer 2 what
         182 tick -> ask-3
         183 answer 3 working -> working
         363 tick -> ask-4
         364 answer 4 what",
    );
    assert_eq!(answered.errors(), 1);
}

#[test]
fn other_settings_are_another_chance() {
    let mut stage = Stage::new(Settings { max_errors: 1, ..settings() });
    stage.play("0 puzzled\n 60 tick -> ask-1\n 61 answer 1 what\n 500 tick");
    assert_eq!(stage.judge.configure(Settings { max_errors: 1, ..settings() }, stage.now), []);
    assert_eq!(stage.judge.phase(), Phase::GivenUp);
    // It has been puzzled for long enough.
    let asked = stage.judge.configure(settings(), stage.now);
    assert_eq!(asked, [Action::Ask { question: 2 }]);
    let off = Settings { enabled: false, ..settings() };
    assert_eq!(stage.judge.configure(off, stage.now), [Action::Cancel]);
    assert_eq!(stage.judge.deadline(), None);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    assert_eq!(Settings::default().check(), Ok(()));
    assert_eq!(settings().check(), Ok(()));
    assert_eq!(Settings { cooldown_seconds: 0, ..settings() }.check(), Ok(()));
    let table = [
        (Settings { agent: String::new(), ..settings() }, "agent is missing"),
        (Settings { after_seconds: 0, ..settings() }, "after_seconds must be"),
        (Settings { limit_seconds: 0, ..settings() }, "limit_seconds must be"),
        (Settings { max_errors: 0, ..settings() }, "max_errors must be"),
    ];
    for (settings, complaint) in table {
        let error = settings.check().unwrap_err();
        assert!(error.starts_with(complaint), "{error}");
    }
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let question = 0..6_u64;
    let answer = prop_oneof![
        proptest::sample::select(Word::ALL.to_vec()).prop_map(Ok),
        Just(Err("nonsense".to_owned()))
    ];
    let event = prop_oneof![
        3 => Just(Event::Puzzled),
        1 => Just(Event::Clear),
        2 => question.clone().prop_map(|question| Event::Put { question }),
        2 => (question, answer).prop_map(|(question, answer)| Event::Answered { question, answer }),
        2 => Just(Event::Tick),
    ];
    proptest::collection::vec((0..200_u64, event), 0..60)
}

proptest! {
    /// One question at a time; what is told was asked about this very screen; errors in a row have an end.
    #[test]
    fn a_question_is_asked_once_and_answered_once(script in events()) {
        let mut stage = Stage::new(settings());
        let (mut open, mut puzzled) = (None, false);
        for (wait, event) in script {
            let at = stage.now.plus(Duration::from_secs(wait));
            // What falls due comes first, as a shell does it.
            let mut event = Some(event);
            loop {
                let due = stage.judge.deadline().filter(|due| *due <= at);
                let Some(event) = due.map(|_| Event::Tick).or_else(|| event.take()) else { break };
                stage.now = due.unwrap_or(at);
                puzzled = event == Event::Puzzled || puzzled && event != Event::Clear;
                let answered = matches!(event, Event::Answered { question, .. } if open == Some(question));
                if answered {
                    open = None;
                }
                for action in stage.handle(event) {
                    match action {
                        Action::Ask { question } => {
                            prop_assert!(open.is_none() && puzzled && stage.judge.errors() < 3);
                            open = Some(question);
                        }
                        Action::Cancel => prop_assert!(open.take().is_some()),
                        Action::Tell(_) => prop_assert!(answered && puzzled),
                    }
                }
                prop_assert_eq!(open.is_some(), matches!(stage.judge.phase(), Phase::Asking { .. }));
            }
        }
    }

    /// A judge that is never asked for costs nothing.
    #[test]
    fn a_judge_that_is_off_does_nothing(script in events()) {
        let mut stage = Stage::new(Settings { enabled: false, ..settings() });
        for (wait, event) in script {
            stage.now = stage.now.plus(Duration::from_secs(wait));
            prop_assert_eq!(stage.handle(event), []);
            prop_assert_eq!(stage.judge.deadline(), None);
        }
    }
}
