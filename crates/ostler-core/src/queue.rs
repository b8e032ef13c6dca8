//! Which message is next.
//!
//! A higher class goes first, but waiting counts: a message climbs one class with every [`PATIENCE`], so that none
//! waits for ever behind others that keep coming. Only what an agent has to know from the start is never overtaken:
//! there is little of it, and the rest makes sense behind it. Within a class the order of arrival holds, also while the
//! first is held up by itself (a pause, a composer that is not to be seen): the next may not make sense without it. A
//! message whose gate is shut does not hold up others.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Wall;
use crate::delivery::{Mode, Situation};

/// How long a message waits before it counts as one of the next class.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// How urgent a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// When nothing else is to be said.
    Low,
    /// In its turn.
    #[default]
    Normal,
    /// What an agent has to know from the start.
    Startup,
}

impl Priority {
    /// Every class, the least urgent first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Normal, Self::Startup];

    /// The name on the command line and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::Startup => "startup",
        }
    }

    /// The class of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|priority| priority.as_str() == name)
    }

    fn rank(self, waited: Duration) -> (bool, u64) {
        (self == Self::Startup, self as u64 + waited.as_secs() / PATIENCE.as_secs())
    }
}

/// A message that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Its place in the order of arrival.
    pub order: u64,
    /// How urgent it is.
    pub priority: Priority,
    /// When it may be typed.
    pub mode: Mode,
    /// When it came.
    pub since: Wall,
    /// When it is of no use any more.
    pub expires: Option<Wall>,
    /// It pauses after an attempt that failed, or waits for a composer to be seen: all could be typed but this one.
    pub held_up: bool,
}

/// The message to take in hand, if one can be: of those that may be typed now, the most urgent; else the most urgent.
pub fn next(waiting: &[Waiting], situation: Situation, now: Wall) -> Option<u64> {
    let key = |message: &&Waiting| {
        let admitted = may(message.mode, situation);
        let rank = message.priority.rank(now.since(message.since));
        (admitted, rank, std::cmp::Reverse(message.order))
    };
    let first = waiting.iter().max_by_key(key)?;
    // Whoever cannot wait for an agent at rest cannot wait for another message either.
    let hurried = |message: &&Waiting| {
        matches!(message.mode, Mode::Now | Mode::Interrupt)
            && !message.held_up
            && may(message.mode, situation)
    };
    let instead = waiting.iter().filter(hurried).max_by_key(key).filter(|_| first.held_up);
    Some(instead.unwrap_or(first).order)
}

fn may(mode: Mode, situation: Situation) -> bool {
    mode == Mode::Interrupt && situation.admits(Mode::Now).is_ok() || situation.admits(mode).is_ok()
}

/// Messages that are of no use any more.
pub fn expired(waiting: &[Waiting], now: Wall) -> Vec<u64> {
    let over = |message: &&Waiting| message.expires.is_some_and(|expires| expires <= now);
    waiting.iter().filter(over).map(|message| message.order).collect()
}

/// When the next of them will be.
pub fn next_expiry(waiting: &[Waiting]) -> Option<Wall> {
    waiting.iter().filter_map(|message| message.expires).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    fn situation(state: State) -> Situation {
        Situation { state, reachable: true, person: false, unrecognised: false }
    }

    fn message(order: u64, priority: Priority, mode: Mode, since: u64) -> Waiting {
        let since = Wall(since);
        Waiting { order, priority, mode, since, expires: None, held_up: false }
    }

    #[test]
    fn the_urgent_goes_first_and_order_decides_among_equals() {
        let waiting = [
            message(1, Priority::Low, Mode::WhenIdle, 0),
            message(2, Priority::Normal, Mode::WhenIdle, 0),
            message(3, Priority::Normal, Mode::WhenIdle, 0),
            message(4, Priority::Startup, Mode::WhenIdle, 0),
        ];
        assert_eq!(next(&waiting, situation(State::Idle), Wall(10)), Some(4));
        assert_eq!(next(&waiting[..3], situation(State::Idle), Wall(10)), Some(2));
        assert_eq!(next(&waiting[..1], situation(State::Idle), Wall(10)), Some(1));
        assert_eq!(next(&[], situation(State::Idle), Wall(10)), None);
    }

    #[test]
    fn nobody_waits_for_ever() {
        // A normal message every ten seconds, each delivered at once, and one low message from the start.
        let low = message(0, Priority::Low, Mode::WhenIdle, 0);
        let served = (1..100).find(|round| {
            let now = round * 10_000;
            let fresh = message(*round, Priority::Normal, Mode::WhenIdle, now);
            next(&[low, fresh], situation(State::Idle), Wall(now)) == Some(0)
        });
        assert_eq!(served, Some(6), "after a minute it counts as normal, and came first");
    }

    #[test]
    fn what_an_agent_has_to_know_does_not_wait_behind_old_messages() {
        let hour = 3_600_000;
        let waiting = [
            message(1, Priority::Low, Mode::WhenIdle, 0),
            message(2, Priority::Normal, Mode::WhenIdle, 0),
            message(3, Priority::Startup, Mode::WhenIdle, hour),
            message(4, Priority::Startup, Mode::WhenIdle, hour),
        ];
        assert_eq!(next(&waiting, situation(State::Idle), Wall(hour)), Some(3));
        assert_eq!(next(&waiting[..2], situation(State::Idle), Wall(hour)), Some(2));
        // Nor do they pass it while it is held up.
        let held = Waiting { held_up: true, ..waiting[2] };
        assert_eq!(next(&[waiting[1], held, waiting[3]], situation(State::Idle), Wall(hour)), Some(3));
    }

    #[test]
    fn order_holds_behind_one_that_is_held_up_but_for_those_who_cannot_wait() {
        let held = Waiting { held_up: true, ..message(1, Priority::Normal, Mode::WhenIdle, 0) };
        let next_one = message(2, Priority::Normal, Mode::WhenIdle, 0);
        let hurried = message(3, Priority::Low, Mode::Now, 0);
        let idle = situation(State::Idle);
        assert_eq!(next(&[held, next_one], idle, Wall(0)), Some(1));
        assert_eq!(next(&[held, next_one, hurried], idle, Wall(0)), Some(3));
        assert_eq!(next(&[next_one, hurried], idle, Wall(0)), Some(2));
        let both = [held, Waiting { held_up: true, ..hurried }];
        assert_eq!(next(&both, idle, Wall(0)), Some(1));
        assert_eq!(next(&[held, hurried], situation(State::Blocked), Wall(0)), Some(1));
    }

    #[test]
    fn a_shut_gate_does_not_hold_up_others() {
        let waiting = [
            message(1, Priority::Normal, Mode::WhenIdle, 0),
            message(2, Priority::Low, Mode::Queue, 0),
            message(3, Priority::Low, Mode::Interrupt, 0),
        ];
        assert_eq!(next(&waiting, situation(State::Working), Wall(0)), Some(2));
        assert_eq!(next(&waiting[..1], situation(State::Working), Wall(0)), Some(1));
        assert_eq!(next(&waiting[1..], situation(State::Blocked), Wall(0)), Some(2));
        let held = Waiting { held_up: true, ..waiting[1] };
        assert_eq!(next(&[waiting[0], held], situation(State::Idle), Wall(0)), Some(1));
    }

    #[test]
    fn what_is_of_no_use_is_found() {
        let fresh = message(1, Priority::Low, Mode::Now, 0);
        let old = Waiting { expires: Some(Wall(5)), ..message(2, Priority::Low, Mode::Now, 0) };
        assert_eq!(expired(&[fresh, old], Wall(4)), Vec::<u64>::new());
        assert_eq!(expired(&[fresh, old], Wall(5)), [2]);
        assert_eq!(next_expiry(&[fresh, old]), Some(Wall(5)));
    }
}
