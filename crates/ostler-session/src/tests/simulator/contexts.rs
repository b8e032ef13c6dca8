//! What an agent has to know, on days on which one thing happens to it.

use ostler_core::delivery::Mode;
use ostler_core::message::{Message, MessageState, Terms};
use ostler_core::queue::Priority;
use ostler_core::start_plan::StartupRoute;
use ostler_core::{Proof, Wall};

use super::plan::{Hooks, Plan};
use super::scenarios::agent;
use super::world::{NOON, World};

const HOOKS: Hooks = Hooks { lost: 0, doubled: 0, late: 1 };

/// An agent with hooks that has to know something from its start.
fn told(starts: &[(u64, &'static str)]) -> Plan {
    let day = agent(&[]);
    let terms = Terms { way: StartupRoute::Hook, ack: true, ..Terms::default() };
    let day = Plan { hooks: Some(HOOKS), starts: starts.to_vec(), ..day };
    day.sends_with(0, "know this", terms)
}

const PRINTED: &str = "[CONTEXT m0 - please acknowledge]\nknow this\n[END CONTEXT - reply \"ACK: m0\"]";

impl World {
    fn prints(&self) -> Vec<(u64, &str)> {
        self.printed.iter().map(|(at, text)| (*at, text.as_str())).collect()
    }

    /// Whether it is recorded that what a hook asked for at this moment was about to be given.
    fn gave_again(&self, at: u64) -> bool {
        let memory = self.store.memory.as_deref().unwrap_or_default();
        memory.contains(&format!("\"context_given\":{}", NOON + at))
    }
}

#[test]
fn what_a_hook_took_is_submitted_when_a_turn_has_it() {
    let world = told(&[(700, "startup")]).play_with_draft();
    assert_eq!(world.prints().len(), 1);
    assert_eq!(world.prints()[0].1, PRINTED, "the agent is asked to confirm it");
    let message = world.message(0);
    assert_eq!((message.proof, message.submitted), (Proof::Seen, None), "{:?}", message.evidence);
    assert_eq!(message.evidence.last().unwrap(), "hook: the agent's session-start hook took it");
    assert_eq!(world.taken(), [""; 0], "nothing is typed");

    let world = told(&[(700, "startup")]).sends(9_000, "begin").play_with_draft();
    let (context, prompt) = (world.message(0), world.message(1));
    assert!(context.submitted.is_some() && prompt.submitted.is_some(), "{:?}", context.evidence);
    assert!(context.evidence.last().unwrap().ends_with("a turn began that has it"), "{:?}", context.evidence);
    assert_eq!(world.taken(), ["begin"]);
}

#[test]
fn what_an_agent_forgets_with_its_conversation_is_given_again_by_its_hook() {
    let starts = [(700, "startup"), (8_000, "clear"), (9_000, "resume"), (16_000, "clear")];
    let world = told(&starts).sends(3_000, "begin").sends(11_000, "again").play_with_draft();
    let moments: Vec<u64> = world.prints().iter().map(|(at, _)| at / 1_000).collect();
    assert_eq!(moments, [0, 8, 16], "once in each conversation");
    assert!(world.prints().iter().all(|(_, text)| *text == PRINTED));
    assert_eq!(world.taken(), ["begin", "again"]);
    // Two reports of one beginning.
    let world = told(&[(700, "startup"), (8_000, "clear"), (8_300, "clear")]).sends(3_000, "begin");
    assert_eq!(world.play_with_draft().prints().len(), 2);
    // Nothing was given yet: the first time is the first time.
    assert_eq!(told(&[(3_000, "clear")]).play_with_draft().prints().len(), 1);
}

#[test]
fn what_was_typed_is_given_again_too() {
    let startup = Terms { priority: Priority::Startup, ack: true, ..Terms::default() };
    let starts = [(700, "startup"), (8_000, "clear"), (20_000, "compact"), (30_000, "clear")];
    let told = |text: &str| {
        let day = Plan { hooks: Some(HOOKS), starts: starts.to_vec(), ..agent(&[]) };
        day.sends_with(1_000, text, startup.clone()).sends(12_000, "go on")
    };
    let world = told("know this").play_with_draft();
    let moments: Vec<u64> = world.prints().iter().map(|(at, _)| at / 1_000).collect();
    assert_eq!(moments, [8, 30], "whenever the conversation begins anew, by its hook");
    assert!(world.prints().iter().all(|(_, text)| text.contains("know this")), "{:?}", world.prints());
    let typed = |world: &World| world.taken().iter().filter(|text| text.contains("know this")).count();
    assert_eq!(typed(&world), 1);
    // A hook's output would be cut.
    let world = told(&format!("know this {}", "and that ".repeat(300))).play_with_draft();
    assert_eq!((world.prints().len(), typed(&world)), (0, 3));
    // It is known to the next daemon.
    for effects in (30..60).step_by(5) {
        let world = told("know this").dies_after_effects(effects).play_with_draft();
        let again = world.prints().len() + typed(&world);
        let unsure = world.gave_again(8_000) || world.gave_again(30_000);
        assert!(again == 3 || (again == 2 && unsure), "{}", world.story(&[format!("{effects}: {again}")]));
    }
}

#[test]
fn another_daemon_knows_what_to_give_again() {
    let starts = [(700, "startup"), (20_000, "clear")];
    for effects in (10..100).step_by(3) {
        let day = told(&starts).sends(3_000, "begin").dies_after_effects(effects);
        let world = day.play_with_draft();
        let printed = world.prints().iter().filter(|(at, _)| *at > 19_000).count();
        let typed = world.taken().iter().filter(|text| text.contains("know this")).count();
        // Of what was being handed over when the daemon died nobody can tell.
        let unsure = world.message(0).proof == Proof::Written || world.gave_again(20_000);
        // Where the first hook was missed, it was typed at first.
        let first = usize::from(world.message(0).enters > 0);
        let right = printed + typed == first + 1 || (printed + typed == first && unsure);
        assert!(right, "{}", world.story(&[format!("{effects}: {printed}, {typed}")]));
    }
}

#[test]
fn what_no_hook_can_print_is_typed() {
    // No daemon hears the hook while it runs.
    let mut typed = 0;
    for effects in 60..110 {
        let starts = [(700, "startup"), (8_000, "clear")];
        let day = told(&starts).sends(3_000, "begin").sends(7_900, "goes on").dies_after_effects(effects);
        let world = day.play_with_draft();
        let again = world.prints().iter().filter(|(at, _)| *at > 7_000).count();
        let written = world.taken().iter().filter(|text| text.contains("know this")).count();
        let right = again + written == 1 || (again + written == 0 && world.gave_again(8_000));
        assert!(right, "{}", world.story(&[format!("{effects}: {again}, {written}")]));
        typed += written;
    }
    assert!(typed > 0, "no daemon was away");
}

/// An agent in a long turn, and something that it has to know.
fn busy(turn: &str, terms: Terms) -> Plan {
    agent(&[]).sends(1_000, &format!("!work {turn} first")).sends_with(4_000, "know this", terms)
}

fn startup() -> Terms {
    Terms { priority: Priority::Startup, ..Terms::default() }
}

impl World {
    /// The notice of a message: what became of it.
    fn notice(&self, number: usize) -> Option<&Message> {
        self.store.message(&format!("notice-m{number}")).map(|(message, _)| message)
    }
}

#[test]
fn what_waits_behind_a_long_turn_takes_another_way_and_comes_live_when_the_turn_is_over() {
    let world = busy("40s", startup()).play();
    // A shut window is a failed attempt: at once, after one second, after two more.
    let (at, id) = &world.escalated[0];
    assert!((7_000..8_000).contains(at) && id == "m1", "{:?}", world.escalated);
    assert_eq!(world.escalated.len(), 1);
    // The turn is over: the message itself comes, the block goes, and nobody need be told where it was.
    assert_eq!(world.taken(), ["!work 40s first", "know this"]);
    let gone = world.withdrawn.iter().find(|(_, id)| id == "m1").unwrap();
    assert!(gone.0 > 40_000);
    let notice = world.notice(1).unwrap();
    assert_eq!((notice.state, notice.attempts), (MessageState::Failed, 0));
    // It is soon over.
    let world = busy("4s", startup()).play();
    assert_eq!((world.escalated.len(), world.taken().len()), (0, 2), "two failures are not enough");
    // Nobody has to know it.
    assert_eq!(busy("40s", Terms::default()).play().escalated, []);
}

#[test]
fn an_agent_that_is_not_ready_yet_was_not_tried() {
    let day = agent(&["--ready-after", "9000", "--trust-dialog"]).sends_with(500, "know this", startup());
    let world = Plan { answers_after: 9_000, ..day }.play();
    assert_eq!((world.escalated.len(), world.taken()), (0, vec!["know this"]));
    // Its composer is drawn for a moment before it asks.
    let day = agent(&["--flash", "150", "--trust-dialog"]).sends_with(500, "know this", startup());
    let world = Plan { answers_after: 9_000, ..day }.play();
    assert_eq!((world.escalated.len(), world.taken()), (0, vec!["know this"]));
}

#[test]
fn an_agent_that_never_got_it_is_told_where_it_is() {
    // It is of no use to type it after that: but the agent has to know it.
    let terms = || Terms { expires: Some(Wall(NOON + 9_000)), ..startup() };
    let world = busy("30s", terms()).play();
    assert_eq!(world.message(1).state, MessageState::Failed);
    assert!(world.taken()[1].starts_with("[OSTLER] Something that you have to know waits for you."));
    assert_eq!(world.taken().len(), 2);
    assert_eq!(world.notice(1).unwrap().state, MessageState::Delivered);
    // Before there was time for three attempts.
    let soon = Terms { expires: Some(Wall(NOON + 5_000)), ..startup() };
    assert_eq!(busy("30s", soon).play().taken().len(), 2);
    // Another daemon knows that the agent has to be told, and tells it once.
    for effects in (40..120).step_by(4) {
        let world = busy("30s", terms()).dies_after_effects(effects).play();
        assert_eq!(world.taken().len(), 2, "{}", world.story(&[format!("{effects}")]));
    }
}

#[test]
fn the_next_prompt_brings_the_notice_where_its_hook_can() {
    let expires = Some(Wall(NOON + 9_000));
    let day = busy("30s", Terms { expires, ..startup() });
    // It is in the agent's queue, before anything could be typed for the notice.
    let day = day.sends_with(12_000, "another", Terms { mode: Mode::Queue, ..Terms::default() });
    let world = Plan { hooks: Some(HOOKS), ..day }.play();
    assert_eq!(world.taken(), ["!work 30s first", "another"]);
    assert_eq!(world.prints().len(), 1);
    assert!(world.prints()[0].1.starts_with("[OSTLER] Something that you have to know"));
    let notice = world.notice(1).unwrap();
    assert_eq!((notice.state, notice.attempts), (MessageState::Delivered, 0), "{:?}", notice.evidence);
}

#[test]
fn what_an_agent_keeps_is_submitted_when_its_turn_begins() {
    for hooks in [None, Some(HOOKS)] {
        let day = agent(&[]).sends(1_000, "!work 20s first");
        let queue = || Terms { mode: Mode::Queue, ..Terms::default() };
        let day = day.sends_with(3_000, "second", queue()).sends_with(4_000, "third", queue());
        let world = Plan { hooks, ..day }.play();
        assert_eq!(world.taken(), ["!work 20s first", "second", "third"]);
        for number in [1, 2] {
            let message = world.message(number);
            let kept = message.evidence.iter().any(|line| line.starts_with("screen: queued by the agent"));
            assert!(kept && message.submitted > Some(Wall(NOON + 20_000)), "{message:?}");
        }
    }
    // Another daemon does not type it again.
    for effects in (20..90).step_by(2) {
        let queue = Terms { mode: Mode::Queue, ..Terms::default() };
        let day = agent(&[]).sends(1_000, "!work 20s first").sends_with(3_000, "second", queue);
        let day = day.sends_with(5_000, "at once", Terms { mode: Mode::Now, ..Terms::default() });
        let world = day.dies_after_effects(effects).play();
        assert_eq!(world.taken().len(), 3, "{}", world.story(&[format!("{effects}")]));
    }
}
