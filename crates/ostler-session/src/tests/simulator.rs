//! Whole sessions in virtual time, from a seed.
//!
//! The stand-in agent, decided by its own pure `App`, sits behind a simulated terminal and a simulated holder with a
//! ledger; the session's record is a simulated store that may refuse. People type, hooks are late, lost and doubled, the
//! agent stalls, connections break, clocks jump, and the daemon is killed between any two effects and before or after any
//! commit, and taken up again from what was committed. In the end what the session said is held against what the agent
//! truly received.

mod agent;
mod carrying_on;
mod contexts;
mod holder;
mod plan;
mod scenarios;
mod store;
mod verdict;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ostler_core::message::MessageState;
use ostler_testkit::stand_in::Record;

use crate::{Abilities, Safeguard};
use plan::Plan;
use world::{Sabotage, World};

/// Plays one seed and returns what was wrong.
fn play(seed: u64, sabotage: Option<Sabotage>) -> Result<(), String> {
    let mut world = World::new(Plan::new(seed), sabotage);
    world.run();
    let complaints = verdict::complaints(&world);
    if complaints.is_empty() { Ok(()) } else { Err(world.story(&complaints)) }
}

/// Plays seeds on all cores until `enough` have failed, and returns the stories of those.
fn play_all(seeds: std::ops::Range<u64>, sabotage: Option<Sabotage>, enough: usize) -> Vec<(u64, String)> {
    play_on_all_cores(seeds, enough, |seed| play(seed, sabotage))
}

/// The same for any kind of day.
fn play_on_all_cores(
    seeds: std::ops::Range<u64>,
    enough: usize,
    play: impl Fn(u64) -> Result<(), String> + Sync,
) -> Vec<(u64, String)> {
    let next = AtomicU64::new(seeds.start);
    let failed = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || failed.lock().unwrap().len() >= enough {
                        return;
                    }
                    if let Err(story) = play(seed) {
                        failed.lock().unwrap().push((seed, story));
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    failed
}

#[expect(clippy::disallowed_methods, reason = "which seeds to play is asked by whoever tests")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// The seeds to play: so many, if nobody asks for others.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let first = number("OSTLER_SIM_FIRST").unwrap_or(1);
    first..first + number("OSTLER_SIM_SEEDS").unwrap_or(usual)
}

/// `OSTLER_SIM_SEEDS` plays more of them, from `OSTLER_SIM_FIRST` on, until `OSTLER_SIM_FAILURES` have failed;
/// `OSTLER_SIM_SEED` plays one and tells its story.
#[test]
fn a_session_keeps_its_word_on_bad_days() {
    if let Some(seed) = number("OSTLER_SIM_SEED") {
        let sabotage = number("OSTLER_SIM_SABOTAGE").map(|at| NOTICED[usize::try_from(at).unwrap()].0);
        let mut world = World::new(Plan::new(seed), sabotage);
        world.run();
        let complaints = verdict::complaints(&world);
        println!("{}", world.story(&complaints));
        assert!(complaints.is_empty(), "seed {seed}");
        return;
    }
    let enough = usize::try_from(number("OSTLER_SIM_FAILURES").unwrap_or(1)).unwrap();
    let failed = play_all(seeds(20_000), None, enough);
    for (_, story) in failed.iter().skip(1) {
        println!("{}", story.lines().next().unwrap_or_default());
    }
    if let Some((seed, story)) = failed.first() {
        panic!("{story}\nagain: OSTLER_SIM_SEED={seed} cargo test -p ostler-session bad_days -- --nocapture");
    }
}

#[test]
fn a_send_that_meets_no_trouble_needs_four_commits() {
    let mut world = World::new(Plan::quiet(), None);
    world.run();
    assert_eq!(verdict::complaints(&world), Vec::<String>::new());
    let (message, _) = world.store.message("m0").unwrap();
    assert_eq!((message.proof, world.store.message_commits), (ostler_core::Proof::Submitted, 4));
}

#[test]
fn a_gap_in_the_output_is_no_gap_in_the_modes() {
    // A holder that does not know the modes, and one that does.
    for (modes, taken) in [("", "Read the file and do what it says."), ("\x1b[?2004h", "two\nlines")] {
        let mut plan = Plan::quiet();
        plan.sends[0].body = "two\nlines".into();
        plan.breaks = vec![1_500];
        let mut world = World::new(plan, None);
        world.loses_output = true;
        world.holder.modes = modes.into();
        world.run();
        let submitted = world.agent.log.iter().filter_map(|(_, record)| match record {
            Record::Submitted { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(submitted.collect::<Vec<_>>(), [taken]);
        let (message, _) = world.store.message("m0").unwrap();
        assert_eq!(message.proof, ostler_core::Proof::Submitted);
        let named = "; file: a reference to /messages/m.md was typed instead of the text, which has several lines, and \
                     the terminal takes no bracketed paste";
        for line in &message.evidence {
            assert_eq!(line.ends_with(named), modes.is_empty(), "{line}");
        }
    }
}

#[test]
fn a_transport_is_asked_for_no_more_than_it_can_do() {
    let played = |abilities: Abilities| {
        let mut world = World::new(Plan::quiet(), None);
        world.abilities = abilities;
        world.run();
        assert_eq!(verdict::complaints(&world), Vec::<String>::new(), "{abilities:?}");
        let (message, _) = world.store.message("m0").unwrap();
        (message.state, message.enters, message.failure.clone())
    };
    let told_nothing = played(Abilities { keys: true, terminal: false });
    assert_eq!(told_nothing, (MessageState::Delivered, 1, None));
    let (state, enters, failure) = played(Abilities { keys: false, terminal: true });
    assert_eq!((state, enters), (MessageState::Failed, 0));
    assert_eq!(failure.as_deref(), Some("nothing can be typed into this session"));
}

/// The daemon is killed at every moment of a delivery to an agent that takes the message, reports it and ends. Returns
/// how often it is not said that the message was submitted.
fn unproven_at_the_end(sabotage: Option<Sabotage>) -> usize {
    let unproven = (1..150).filter(|kill| {
        let mut plan = Plan::quiet();
        plan.sends[0].body = "please end !exit 0".into();
        plan.kills = vec![*kill];
        plan.hooks = Some(plan::Hooks { lost: 0, doubled: 0, late: 1 });
        let mut world = World::new(plan, sabotage);
        world.run();
        let taken = world.agent.log.iter().any(|(_, record)| matches!(record, Record::Submitted { .. }));
        let proof = world.store.message("m0").map(|(message, _)| message.proof);
        assert!(world.store.ending.is_some() || !taken, "the end is recorded");
        taken && proof != Some(ostler_core::Proof::Submitted)
    });
    unproven.count()
}

#[test]
fn a_report_that_found_no_daemon_is_heard_before_the_end_is_recorded() {
    assert_eq!(unproven_at_the_end(None), 0);
    assert!(unproven_at_the_end(Some(Sabotage::Session(Safeguard::ReportsBeforeTheEnd))) > 0);
}

/// What may be broken, and a seed that notices it. `OSTLER_SIM_FIND=1` looks for others where they do not, as after a
/// change of the plans, and prints them.
const NOTICED: [(Sabotage, u64); 18] = [
    (Sabotage::Session(Safeguard::OnlyIntoAnEmptyComposer), 46),
    (Sabotage::Session(Safeguard::EnterOnlyWhileSeen), 1720),
    (Sabotage::Session(Safeguard::NothingIntoDialogs), 5),
    (Sabotage::Session(Safeguard::NothingBeforeReady), 2527),
    (Sabotage::Session(Safeguard::NothingIntoTurns), 12),
    (Sabotage::Session(Safeguard::PeopleTypeFirst), 2706),
    (Sabotage::Session(Safeguard::KeysWaitForEnter), 374),
    (Sabotage::Session(Safeguard::OldEchoesDoNotCount), 721),
    (Sabotage::Session(Safeguard::UnreadIsNotMissing), 12357),
    (Sabotage::Session(Safeguard::ReadIsNotDone), 19),
    (Sabotage::Session(Safeguard::KeysAreAnswers), 439),
    (Sabotage::Session(Safeguard::OldOutputProvesNothing), 91),
    (Sabotage::Session(Safeguard::OthersEnterForThemselves), 802),
    (Sabotage::Session(Safeguard::RecordedBeforeTold), 66),
    (Sabotage::Session(Safeguard::RecordedPromptsStop), 104),
    (Sabotage::LedgerForgets, 345),
    (Sabotage::CommitsAreLate, 13),
    (Sabotage::WritesAreForgotten, 38),
];

#[test]
fn the_simulator_notices_every_safeguard_that_is_switched_off() {
    let find = number("OSTLER_SIM_FIND").is_some();
    for (sabotage, seed) in NOTICED {
        if find && (seed == 0 || play(seed, Some(sabotage)).is_ok() || play(seed, None).is_err()) {
            let found = play_all(1..20_000, Some(sabotage), 1);
            let line = found.first().and_then(|(_, story)| story.lines().next());
            println!("{sabotage:?}: {}", line.unwrap_or("nobody notices"));
        } else if !find {
            assert!(play(seed, None).is_ok(), "seed {seed} fails by itself");
            assert!(play(seed, Some(sabotage)).is_err(), "seed {seed} does not notice {sabotage:?}");
        }
    }
}
