//! Whole days of agents that are carried on.

use ostler_core::continuation::{Phase, Terms};
use ostler_testkit::stand_in::Record;

use super::plan::Plan;
use super::verdict;
use super::world::World;
use super::{play_on_all_cores, seeds};
use crate::CARRIES_ON;

const HOUR: u64 = 3_600_000;

/// A bad day, and an agent that is carried on through it: kills, stalls, people, dialogs, lost connections, a clock that is
/// set, and a hold now and then.
fn day(seed: u64) -> Plan {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0xca44);
    let plan = Plan::new(seed);
    let terms = Terms {
        max_turns: rng.u32(1..20),
        pause_secs: rng.u32(1..90),
        time_secs: if rng.bool() { 0 } else { rng.u64(60..40_000) },
        ..Terms::default()
    };
    let mut holds = Vec::new();
    if rng.bool() {
        let from = rng.u64(0..60_000);
        holds.push((from, true));
        holds.push((from + rng.u64(1_000..4 * HOUR), false));
    }
    let mut clock_jumps = plan.clock_jumps.clone();
    if rng.u8(0..3) == 0 {
        clock_jumps.push((rng.u64(0..12 * HOUR), rng.i64(-7_200_000..7_200_000)));
    }
    let carried_on = Some((rng.u64(1_000..6_000), terms));
    let passes = if rng.bool() { rng.u32(1..12) } else { 0 };
    Plan { carried_on, passes, holds, clock_jumps, day: 24 * HOUR, ..plan }
}

/// Prompts to go on that the agent took: when, and how many other prompts it had taken by then.
fn sent_on(world: &World) -> Vec<(u64, usize)> {
    let mut others = 0;
    let taken = world.agent.log.iter().filter_map(|(at, record)| match record {
        Record::Submitted { text, .. } => Some((*at, text)),
        _ => None,
    });
    let ours = taken.filter_map(|(at, text)| {
        let ours = text.starts_with("You stopped before the work was done.");
        others += usize::from(!ours);
        ours.then_some((at, others))
    });
    ours.collect()
}

fn complaints(world: &World) -> Vec<String> {
    let mut found = verdict::complaints(world);
    let (_, terms) = world.plan.carried_on.as_ref().unwrap();
    let ours = sent_on(world);
    let most = usize::try_from(terms.turns()).unwrap();
    for piece in 0..=ours.last().map_or(0, |(_, others)| *others) {
        let prompts = ours.iter().filter(|(_, others)| *others == piece).count();
        // What was on its way when another prompt came counts for the one before.
        if prompts > most + 1 {
            found.push(format!("{prompts} prompts, where {most} are allowed"));
        }
    }
    let entered = world.store.messages.iter().filter(|(message, _)| message.terms.sender == CARRIES_ON);
    let mut created: Vec<u64> = entered.map(|(message, _)| message.created.0).collect();
    created.sort_unstable();
    let pause = u64::from(terms.pause_secs) * 1_000;
    let is_steady = world.plan.clock_jumps.is_empty();
    // What the store refuses at first is recorded a little later.
    let close = created.windows(2).filter(|pair| is_steady && pair[1] - pair[0] + 5_000 < pause).count();
    if close > 0 {
        found.push(format!("{close} prompts to go on within {pause} ms of another"));
    }
    for hold in world.held.windows(2).filter(|pair| pair[0].1 && !pair[1].1) {
        // Of what is being typed nothing can be taken back.
        let (from, to) = (hold[0].0 + 60_000, hold[1].0);
        if let Some((at, _)) = ours.iter().find(|(at, _)| (from..to).contains(at)) {
            found.push(format!("it was sent on at {at}, while it was held"));
        }
    }
    if let Some(session) = world.session()
        && world.store.ending.is_none()
        && let Some(standing) = session.carried_on()
    {
        let rests = !world.agent.is_working() && session.stops().turn.is_some();
        let held = standing.held;
        let sleeps = rests && !held && matches!(standing.phase, Phase::Watching | Phase::Examining { .. });
        if sleeps {
            found.push(format!("the agent rests, and nobody notices: {standing:?}"));
        }
    }
    found
}

fn play(seed: u64) -> (usize, Result<(), String>) {
    let mut world = World::new(day(seed), None);
    world.run();
    let complaints = complaints(&world);
    (sent_on(&world).len(), if complaints.is_empty() { Ok(()) } else { Err(world.story(&complaints)) })
}

#[test]
fn nobody_is_pushed_too_far_all_day() {
    let pushed = std::sync::atomic::AtomicUsize::new(0);
    let days = seeds(300);
    let failed = play_on_all_cores(days.clone(), 3, |seed| {
        let (count, result) = play(seed);
        pushed.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
        result
    });
    let stories: Vec<&str> = failed.iter().map(|(_, story)| story.as_str()).collect();
    assert!(failed.is_empty(), "{}", stories.join("\n\n"));
    let (days, pushed) = (days.end - days.start, pushed.into_inner() as u64);
    assert!(pushed > days * 2 || days < 100, "hardly anybody was sent on: {pushed} in {days} days");
}
