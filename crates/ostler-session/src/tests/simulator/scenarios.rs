//! One thing at a time: what seeds mix, each of these days has alone, so that it is plain what becomes of a message.

use ostler_core::delivery::Mode;
use ostler_core::interrupt::Outcome;
use ostler_core::message::{Message, MessageState, Terms};
use ostler_core::queue::Priority;
use ostler_testkit::stand_in::{Damage, Record};

use super::plan::{Hooks, Plan, Sent};
use super::verdict;
use super::world::World;

/// A day with an agent of these manners.
pub(super) fn agent(flags: &[&str]) -> Plan {
    let agent = flags.iter().map(|flag| (*flag).to_owned()).collect();
    // A person takes some time to answer.
    Plan { agent, sends: Vec::new(), answers_after: 6_000, ..Plan::quiet() }
}

impl Plan {
    pub(super) fn sends(self, at: u64, body: &str) -> Self {
        self.sends_as(at, body, Mode::WhenIdle)
    }

    fn sends_as(self, at: u64, body: &str, mode: Mode) -> Self {
        self.sends_with(at, body, Terms { mode, ..Terms::default() })
    }

    pub(super) fn sends_with(mut self, at: u64, body: &str, mut terms: Terms) -> Self {
        let id = format!("m{}", self.sends.len());
        terms.sender = "tester".into();
        self.sends.push(Sent { at, id, body: body.into(), terms });
        self
    }

    fn person_types(mut self, at: u64, keys: &str) -> Self {
        self.keys.push((at, keys.into()));
        self
    }

    pub(super) fn dies_after_effects(mut self, effects: u64) -> Self {
        self.kills.push(effects);
        self
    }

    /// Plays the day; what was said of it is so.
    #[track_caller]
    pub(super) fn play(self) -> World {
        let world = self.play_with_draft();
        let complaints = verdict::complaints(&world);
        assert!(complaints.is_empty(), "{}", world.story(&complaints));
        world
    }

    /// Plays a day on which the agent also takes what neither a message nor a person brought.
    pub(super) fn play_with_draft(self) -> World {
        let mut world = World::new(self, None);
        world.run();
        world
    }
}

impl World {
    pub(super) fn message(&self, number: usize) -> &Message {
        &self.store.message(&format!("m{number}")).unwrap().0
    }

    /// What became of a message, and how often its text and Enter were typed.
    fn outcome(&self, number: usize) -> (MessageState, u32, u32) {
        let message = self.message(number);
        (message.state, message.attempts, message.enters)
    }

    fn failure(&self, number: usize) -> &str {
        self.message(number).failure.as_deref().unwrap_or_default()
    }

    /// The prompts that the agent took.
    pub(super) fn taken(&self) -> Vec<&str> {
        self.submissions().into_iter().map(|(text, _)| text).collect()
    }

    /// The prompts that the agent took, and whether it was at work.
    fn submissions(&self) -> Vec<(&str, bool)> {
        let taken = self.agent.log.iter().filter_map(|(_, record)| match record {
            Record::Submitted { text, queued, .. } => Some((text.as_str(), *queued)),
            _ => None,
        });
        taken.collect()
    }

    /// When something first happened to the agent.
    fn first(&self, what: impl Fn(&Record) -> bool) -> Option<u64> {
        self.agent.log.iter().find(|(_, record)| what(record)).map(|(at, _)| *at)
    }

    fn count(&self, what: impl Fn(&Record) -> bool) -> usize {
        self.agent.log.iter().filter(|(_, record)| what(record)).count()
    }

    fn choices(&self) -> Vec<&str> {
        let answered = self.agent.log.iter().filter_map(|(_, record)| match record {
            Record::Answered { choice, .. } => Some(*choice),
            _ => None,
        });
        answered.collect()
    }

    /// When something was typed for a message.
    fn typed(&self, text: &str) -> Vec<u64> {
        self.writes.iter().filter(|(_, typed)| typed.contains(text)).map(|(at, _)| *at).collect()
    }
}

const DELIVERED: MessageState = MessageState::Delivered;

#[test]
fn a_text_that_its_composer_garbles_is_not_submitted() {
    let table = [
        (Damage::Signs, "run rm -rf ./build/../tmp now"),
        (Damage::Breaks, "first line\nand a second one"),
        (Damage::Pairs, "look at foo(a, b[0"),
    ];
    for (damage, text) in table {
        let world = agent(&[]).damaged(damage).sends(2_000, text).sends(9_000, "and then the tests").play();
        assert_eq!(world.outcome(0), (MessageState::Failed, 2, 0), "{damage:?}");
        assert!(world.failure(0).starts_with("the prompt box shows something else"), "{damage:?}");
        // It is not in the way of the next one.
        assert_eq!(
            (world.outcome(1), world.taken()),
            ((DELIVERED, 1, 1), vec!["and then the tests"]),
            "{damage:?}"
        );
    }
}

#[test]
fn what_the_composer_does_not_show_is_compared_where_the_agent_tells_it() {
    let text = "a long text with many words, ".repeat(12);
    for (damage, how) in [
        (Damage::Head, r#""alongtextwithmanywords,a…" was sent, "longtextwithmanywords,al…" arrived"#),
        (Damage::Signs, r#""…anywords,alongtextwithma…" was sent, "…anywordsalongtextwithman…" arrived"#),
    ] {
        let mut plan = agent(&["--collapse-pastes", "220"]).damaged(damage);
        // From the first report on it is known that the agent tells its prompts.
        plan = plan.sends(2_000, "look at it").sends(9_000, &text);
        plan.hooks = Some(Hooks { lost: 0, doubled: 0, late: 300 });
        let world = plan.play();
        assert_eq!((world.outcome(0), world.outcome(1)), ((DELIVERED, 1, 1), (MessageState::Failed, 1, 1)));
        let failure = format!("the agent took a different text than was sent: {how}");
        assert!(world.failure(1).starts_with(&failure), "{}", world.failure(1));
        assert_eq!(world.message(1).evidence.last().unwrap(), "hook: the agent took a different text");
    }
}

#[test]
fn a_command_that_is_refused_has_failed_and_is_out_of_the_way() {
    for how in ["empty", "keep"] {
        let terms = Terms { command: true, ..Terms::default() };
        let day = agent(&["--refuse-commands", how]).sends_with(2_000, "/nosuch", terms.clone());
        let world = day.sends(12_000, "look at it").sends_with(20_000, "/nosuch", terms).play();
        for refused in [0, 2] {
            assert_eq!(world.outcome(refused), (MessageState::Failed, 1, 1), "{how}");
            assert_eq!(
                world.failure(refused),
                r#"the agent refused the command: "⎿  Unknown command: /nosuch""#
            );
        }
        assert_eq!((world.outcome(1), world.taken()), ((DELIVERED, 1, 1), vec!["look at it"]), "{how}");
    }
}

#[test]
fn what_an_agent_swallows_is_typed_again_and_only_that() {
    // Flags, text, how often it is typed at least and at most, how often Enter is.
    let table = [
        (&["--swallow-enter", "3"][..], "stubborn", 1..=1, 4..=4),
        (&["--swallow-early", "9000"], "deaf at first", 2..=9, 1..=9),
        (&["--slow-echo", "2000"], "patience\nis a virtue", 1..=1, 1..=1),
        (&["--paste-burst", "500"], "too fast", 1..=1, 2..=9),
        (&["--ready-after", "3000"], "good morning", 1..=1, 1..=1),
    ];
    for (flags, text, attempts, enters) in table {
        let world = agent(flags).sends(1_000, text).play();
        let (state, typed, entered) = world.outcome(0);
        assert!(
            state == DELIVERED && attempts.contains(&typed) && enters.contains(&entered),
            "{flags:?}: {typed} {entered}"
        );
        let taken: Vec<&str> = world.taken().into_iter().map(str::trim_end).collect();
        assert_eq!(taken, [text], "{flags:?}");
    }
}

#[test]
fn nothing_is_typed_before_the_agent_is_ready() {
    let world = agent(&["--ready-after", "3000"]).sends(200, "good morning").play();
    let ready = world.first(|record| matches!(record, Record::Ready)).unwrap();
    assert!(world.typed("good morning")[0] > ready);
}

#[test]
fn a_collapsed_paste_is_known_by_its_size() {
    let long = (0..9).map(|line| format!("line number {line}")).collect::<Vec<_>>().join("\n");
    let flat = "word ".repeat(60).trim_end().to_owned();
    let world = agent(&["--collapse-pastes", "60"]).sends(1_000, &long).sends(4_000, &flat).play();
    assert_eq!((world.outcome(0), world.outcome(1)), ((DELIVERED, 1, 1), (DELIVERED, 1, 1)));
    assert_eq!(world.taken(), [long, flat]);
    // A mark that stands for less than what was pasted is not ours.
    let text = (0..9).map(|line| format!("line number {line}")).collect::<Vec<_>>().join("\n");
    let world = agent(&["--collapse-pastes", "60", "--cut-pastes", "100"]).sends(1_000, &text).play();
    assert_eq!(world.outcome(0), (MessageState::Failed, 2, 0));
    assert!(world.failure(0).contains("something else than the text that was typed"), "{}", world.failure(0));
    assert_eq!(world.taken(), [] as [&str; 0]);
}

#[test]
fn a_text_that_was_cut_is_cleared_and_never_submitted() {
    let long = "a text that is longer than what it takes";
    let world = agent(&["--cut-pastes", "30"]).sends(1_000, long).sends(1_100, "a short one").play();
    // By then somebody may have emptied the composer, and it cannot be told what became of the last try.
    assert!(matches!(world.message(0).state, MessageState::Failed | MessageState::Uncertain));
    assert_eq!(world.message(1).state, DELIVERED);
    assert_eq!(world.taken(), ["a short one"]);
}

#[test]
fn neither_suggestions_nor_repeated_prompts_are_taken_for_the_text() {
    let world = agent(&["--ghost"]).sends(1_000, "what I mean").sends(4_000, "and this").play();
    assert_eq!(world.taken(), ["what I mean", "and this"]);
    let texts = ["same words", "same words", "other words\nin two lines"];
    let world = (1..)
        .zip(texts)
        .fold(agent(&["--history-echo"]), |day, (at, text)| day.sends(at * 5_000, text))
        .play();
    assert!((0..3).all(|number| world.outcome(number) == (DELIVERED, 1, 1)));
    assert_eq!(world.taken(), texts);
}

#[test]
fn a_draft_is_never_submitted_typed_over_or_taken_for_the_message() {
    for (draft, text) in [("half a thou", "ours"), ("ship it", "ship it"), ("ship it", "ship it now")] {
        let done = 9_000;
        let day = agent(&["--draft", draft]).sends(1_000, text).person_types(done, "ght\r");
        let world = day.play_with_draft();
        assert_eq!(world.taken(), [&format!("{draft}ght"), text], "{draft}");
        assert!(world.writes[0].0 > done, "{draft}");
        assert_eq!(world.outcome(0), (DELIVERED, 1, 1), "{draft}");
    }
    let marked = "[Pasted text #1 +3 lines]";
    let world = agent(&["--collapse-pastes", "60", "--draft", marked])
        .sends(1_000, &"line\n".repeat(20))
        .person_types(9_000, "\x15")
        .play_with_draft();
    assert!(world.writes[0].0 > 9_000);
    assert_eq!(world.taken().len(), 1);
}

#[test]
fn what_kills_an_agent_is_uncertain() {
    let world = agent(&["--die-on-submit"]).sends(1_000, "deadly").play();
    assert_eq!((world.message(0).state, world.taken()), (MessageState::Uncertain, vec!["deadly"]));
}

#[test]
fn an_agent_that_lies_is_believed_once_and_typed_to_once() {
    let world = agent(&["--lie"]).sends(1_000, "believe me").play_with_draft();
    assert_eq!(world.outcome(0), (DELIVERED, 1, 1));
    // All that there is to see is the screen, and the evidence says so.
    assert!(
        world.message(0).evidence.iter().any(|line| line.starts_with("screen")),
        "{:?}",
        world.message(0)
    );
    assert_eq!((world.count(|record| matches!(record, Record::Lied { .. })), world.taken().len()), (1, 0));
}

#[test]
fn an_agent_at_work_gets_it_after_its_turn_or_at_once_as_the_sender_wants() {
    let day = || agent(&[]).sends(1_000, "!work 8s first");
    let world = day().sends(3_000, "second").play();
    assert_eq!(world.submissions(), [("!work 8s first", false), ("second", false)]);
    let world =
        day().sends_as(3_000, "by its queue", Mode::Queue).sends_as(5_000, "at once", Mode::Now).play();
    assert_eq!(world.submissions()[1..], [("by its queue", true), ("at once", true)]);
    let evidence = world.message(1).evidence.join("; ");
    assert!(evidence.contains("screen: queued by the agent, for after its turn"), "{evidence}");
}

#[test]
fn an_interrupt_stops_a_turn_and_is_nothing_at_rest() {
    let escapes = |world: &World| world.typed("\x1b").len() - world.typed("\x1b[").len();
    let world = agent(&[]).sends(1_000, "!work 5m first").sends_as(4_000, "second", Mode::Interrupt).play();
    assert_eq!(world.submissions(), [("!work 5m first", false), ("second", false)]);
    assert_eq!((world.count(|record| *record == Record::Interrupted), escapes(&world)), (1, 1));
    let world = agent(&[]).sends_as(4_000, "third", Mode::Interrupt).play();
    assert_eq!((world.taken(), escapes(&world)), (vec!["third"], 0));
}

#[test]
fn a_turn_is_interrupted_by_request_and_nothing_else_is() {
    let day = |prompt: &str| agent(&[]).sends(1_000, prompt);
    let played = |day: Plan| {
        let world = day.play();
        let escapes = world.keys_typed.iter().filter(|(_, keys)| keys == "\x1b").count();
        (world.interrupted.clone(), escapes, world.count(|record| *record == Record::Interrupted))
    };
    let at = |at: u64, day: Plan| Plan { interrupts: vec![at], ..day };
    assert_eq!(played(at(4_000, day("!work 5m first"))), (vec![Outcome::Stopped], 1, 1));
    assert_eq!(played(at(4_000, day("!say done"))), (vec![Outcome::Nothing], 0, 0));
    let asked = (vec![Outcome::Dialog { pressed: false }], 0, 0);
    assert_eq!(played(at(4_000, day("!permission make"))), asked);
    // What was typed before is not read, so the keys could go to whatever comes next.
    let stalled = Plan { stalls: vec![(3_500, 18_000)], ..day("!work 10s first") };
    let world = Plan { interrupts: vec![4_000], ..stalled.person_types(3_800, "x") }.play_with_draft();
    assert_eq!(world.interrupted, [Outcome::Unread]);
    assert!(world.keys_typed.iter().all(|(_, keys)| keys != "\x1b"));
    // A text that waits for its Enter is not torn from it.
    let slow = Plan { agent: vec!["--slow-echo".into(), "3000".into()], ..day("!work 20s first") };
    let world = Plan { interrupts: vec![8_500], ..slow.sends_as(8_000, "second", Mode::Now) }.play();
    let (escape, enter) = (world.keys_typed.iter().find(|(_, keys)| keys == "\x1b"), world.typed("\r"));
    assert!(escape.is_none_or(|(at, _)| *at > enter[1]), "{}", world.story(&[]));
    // One that does not heed them.
    let silent = Plan { stalls: vec![(3_500, 18_000)], ..day("!work 25s first") };
    assert_eq!(played(at(4_000, silent)), (vec![Outcome::StillWorking], 1, 1));
    // Two who want the same press it once, and a message goes behind.
    let twice = day("!work 5m first").sends(2_500, "second");
    let world = Plan { interrupts: vec![4_000, 4_001], ..twice }.play();
    assert_eq!((world.interrupted.clone(), world.taken().len()), (vec![Outcome::Stopped; 2], 2));
    assert_eq!(world.count(|record| *record == Record::Interrupted), 1);
}

/// A day on which nobody but a command answers dialogs.
fn answers(prompt: &str, answers: &[(u64, &'static str)]) -> Plan {
    Plan { answers: answers.to_vec(), answers_after: 300_000, ..agent(&[]).sends(1_000, prompt) }
}

#[test]
fn a_dialog_is_answered_by_a_command_and_no_other_one_is() {
    for (word, chosen) in [("yes", "Yes"), ("no", "No"), ("2", "Yes, and always allow this command")] {
        let world = answers("!permission make", &[(5_000, word)]).play();
        assert_eq!((world.answers.clone(), world.choices()), (vec![(None, true)], vec![chosen]));
    }
    let world = answers("!question where", &[(5_000, "nonsense"), (6_000, "go right")]).play();
    assert_eq!(world.answers, [(Some("refused"), false), (None, true)]);
    assert_eq!(world.choices(), ["Go right"]);
    // The next one says the same, at once: nobody can tell, and it is not answered.
    let same = answers("!permission make !permission make", &[(5_000, "yes"), (5_100, "no")]);
    let world = same.play_with_draft();
    let stays = "it is still there after it was answered";
    assert_eq!(
        world.answers,
        [(Some("refused"), false), (Some(stays), true)],
        "two at a time are one too many"
    );
    assert_eq!(world.choices(), ["Yes"]);
    // One that says something else is none of ours.
    let other = answers("!permission make !permission rm", &[(5_000, "yes")]).play_with_draft();
    assert_eq!((other.answers.clone(), other.choices()), (vec![(None, true)], vec!["Yes"]));
    // Somebody else answers while the row is being selected.
    let raced = answers("!permission make", &[(5_000, "no")]).person_types(5_450, "1");
    let world = raced.play_with_draft();
    assert_eq!(world.choices(), ["Yes"]);
    assert_eq!(world.answers, [(Some("it went away before it was answered"), false)]);
}

#[test]
fn what_was_answered_is_not_answered_again_by_another_daemon() {
    let mut answered = 0;
    for effects in 20..140 {
        // The next one says the same, and there is no moment between them.
        let day = answers(
            "!permission make !permission make",
            &[(5_000, "yes"), (9_000, "=yes"), (14_000, "=yes")],
        );
        let world = day.dies_after_effects(effects).play_with_draft();
        assert!(world.choices().len() <= 1, "{effects}: {}", world.story(&[]));
        answered += world.choices().len();
    }
    assert!(answered > 60, "{answered}");
}

#[test]
fn what_an_agent_puts_back_is_cleared_if_it_is_ours() {
    let first = "!work 5m first\nsecond line";
    let day =
        agent(&["--restore-draft"]).sends(1_000, first).sends_as(4_000, "another matter", Mode::Interrupt);
    assert_eq!(day.play().taken(), [first, "another matter"]);
    // A person's words are theirs, and they clear them.
    let day = agent(&["--restore-draft"])
        .person_types(1_000, "!work 5m theirs\r")
        .sends_as(4_000, "ours", Mode::Interrupt)
        .person_types(14_000, "\x15");
    let world = day.play_with_draft();
    assert_eq!(world.taken(), ["!work 5m theirs", "ours"]);
    assert!(world.typed("ours")[0] > 14_000);
    // The same words twice are two messages.
    let text = "!work 5m carry on";
    let day = || agent(&["--restore-draft"]).sends(1_000, text).sends_as(5_000, text, Mode::Interrupt);
    let world = day().play();
    assert_eq!((world.taken().len(), world.count(|record| *record == Record::Interrupted)), (2, 1));
    // Also for a daemon that has only read of the first.
    for effects in (10..80).step_by(5) {
        day().dies_after_effects(effects).play();
    }
}

#[test]
fn no_message_answers_a_dialog_and_all_come_after_it() {
    let day = agent(&[]).sends(1_000, "!permission rm -r build");
    let modes = [Mode::WhenIdle, Mode::Queue, Mode::Interrupt, Mode::Now];
    let day =
        (0..).zip(modes).fold(day, |day, (at, mode)| day.sends_as(4_000 + at, &format!("yes {at}"), mode));
    let world = day.play();
    let answered = world.first(|record| matches!(record, Record::Answered { .. })).unwrap();
    assert!(world.typed("yes").iter().all(|at| *at > answered));
    assert_eq!((world.choices(), world.taken().len()), (vec!["Yes"], 5));
}

#[test]
fn a_dialog_between_text_and_enter_gets_neither() {
    // What is typed shows later than the dialog comes: Enter has to wait behind both.
    let day = agent(&["--slow-echo", "4500"]).sends(1_000, "!work 12s !permission make");
    let world = day.sends_as(17_000, "after the dialog, yes", Mode::Now).play();
    let answered = world.first(|record| matches!(record, Record::Answered { .. })).unwrap();
    assert!(world.typed("after the dialog")[0] < answered, "it is typed while the agent works");
    assert!(world.typed("\r").last().unwrap() > &answered);
    assert_eq!(world.taken(), ["!work 12s !permission make", "after the dialog, yes"]);
}

#[test]
fn a_dialog_right_after_enter_gets_no_second_one() {
    let day = (0..3).fold(agent(&[]), |day, round| day.sends(1_000, &format!("!permission touch {round}")));
    let world = day.play();
    assert!((0..3).all(|number| world.outcome(number) == (DELIVERED, 1, 1)));
    assert_eq!(world.choices(), ["Yes"; 3]);
}

#[test]
fn raw_bytes_never_come_between_a_text_and_its_enter() {
    let raw = Terms { raw: true, ..Terms::default() };
    let day = agent(&["--slow-echo", "700"]).sends(2_000, "the text").sends_with(2_300, " and more\r", raw);
    let world = day.play_with_draft();
    assert_eq!((world.taken()[0], world.outcome(0)), ("the text", (DELIVERED, 1, 1)));
}

#[test]
fn the_urgent_goes_first_and_the_rest_in_its_order() {
    let wishes = [
        ("low", Priority::Low),
        ("one", Priority::Normal),
        ("start", Priority::Startup),
        ("two", Priority::Normal),
        ("begin", Priority::Startup),
    ];
    let day = agent(&[]).sends(1_000, "!work 5s");
    let day = (0..).zip(wishes).fold(day, |day, (at, (text, priority))| {
        day.sends_with(3_000 + at, text, Terms { priority, ..Terms::default() })
    });
    assert_eq!(day.play().taken()[1..], ["start", "begin", "one", "two", "low"]);
}

#[test]
fn a_person_who_types_behind_our_text_is_not_cut_short() {
    let day = agent(&["--slow-echo", "1500"])
        .sends(2_000, "ours")
        .person_types(2_400, " and theirs")
        .person_types(9_000, "\r");
    let world = day.play_with_draft();
    assert_eq!(world.taken(), ["ours and theirs"]);
    assert!(world.failure(0).contains("something else than what was typed"), "{:?}", world.message(0));
}

#[test]
fn messages_come_between_the_prompts_of_a_person() {
    let day = agent(&[])
        .person_types(2_000, "I was just ab")
        .sends(2_500, "from a program")
        .person_types(9_000, "out to ask\r");
    let world = day.play_with_draft();
    assert_eq!(world.taken(), ["I was just about to ask", "from a program"]);
    assert_eq!(world.outcome(0), (DELIVERED, 1, 1));
    // One of our own prompts, taken up again, is the person's.
    let day = agent(&[])
        .sends(1_000, "run the tests")
        .person_types(6_000, "run the tests")
        .sends(7_000, "from a program");
    let world = day.person_types(14_000, " once more\r").play_with_draft();
    assert_eq!(world.taken(), ["run the tests", "run the tests once more", "from a program"]);
}

#[test]
fn the_next_daemon_goes_on_where_the_last_one_was_killed() {
    // At any point of the way: what is swallowed is typed again, what stands in the composer is found there, and the
    // agent's name says the same as the message.
    for (flags, text) in [
        (&["--swallow-early", "9000", "--name", "go on with it"][..], "go on with it"),
        (&["--swallow-enter", "2"], "still there\nin two lines"),
    ] {
        let mut delivered = 0;
        for effects in 5..40 {
            let day = agent(flags).dies_after_effects(effects).dies_after_effects(effects);
            let world = day.sends(1_000, text).play();
            match world.message(0).state {
                DELIVERED => assert_eq!(world.taken(), [text], "{flags:?} {effects}"),
                // Nobody saw whether the agent read what was typed just before the daemon died.
                MessageState::Uncertain => {}
                state => panic!("{flags:?} {effects}: {state:?}"),
            }
            delivered += u32::from(world.message(0).state == DELIVERED);
        }
        assert!(delivered > 30, "{flags:?}: {delivered}");
    }
}

#[test]
fn what_waits_for_an_agent_that_ends_has_failed() {
    let world = agent(&[]).sends(1_000, "!work 4s !exit 3").sends(3_000, "never").play();
    assert_eq!((world.message(1).state, world.failure(1)), (MessageState::Failed, "the program has ended"));
    assert_eq!(world.taken(), ["!work 4s !exit 3"]);
}
