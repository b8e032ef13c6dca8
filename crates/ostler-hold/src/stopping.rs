//! Ending a process tree: ask, insist, compel.

use std::time::{Duration, Instant};

use rustix::process::Signal;

/// How often a killed tree is looked at until nothing of it is left.
const RECHECK: Duration = Duration::from_millis(50);
/// When to stop looking: a process the kernel cannot end (waiting for dead hardware) is not ours to wait for.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The end of a session under way: TERM at once, HUP for shells (which ignore TERM) after a fifth of the
/// grace time, KILL when it is over.
#[derive(Debug)]
pub(crate) struct Stopping {
    began: Instant,
    grace: Duration,
    stage: Stage,
    next: Instant,
    /// Signals every process of the tree, also the program, and says how many there were.
    signal: Send,
}

/// Sends a signal to the tree of a program that still runs, or to what it left.
type Send = fn(Option<u32>, Signal) -> usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asked,
    Insisted,
    Killed,
    Over,
}

impl Stopping {
    pub(crate) fn begin(grace: Duration, now: Instant, program: Option<u32>, signal: Send) -> Self {
        signal(program, Signal::TERM);
        // A stopped process acts on TERM only when it is continued.
        signal(program, Signal::CONT);
        // The tree may be gone before anybody looks; the first look is soon.
        Self { began: now, grace, stage: Stage::Asked, next: now + (grace / 5).min(RECHECK * 20), signal }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.next
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Someone wants it done sooner; a longer grace than the one that runs changes nothing.
    pub(crate) fn hurry(&mut self, grace: Duration, now: Instant) {
        if self.stage != Stage::Over && now + grace < self.began + self.grace {
            self.grace = (now + grace).saturating_duration_since(self.began);
            self.next = self.next.min(now + grace);
        }
    }

    /// Takes the next step if it is due. When a process has ended, it also looks whether the tree is gone.
    pub(crate) fn advance(&mut self, now: Instant, some_ended: bool, program: Option<u32>) {
        if self.stage == Stage::Over || now < self.next && !some_ended {
            return;
        }
        // CONT harms nobody and counts.
        if (self.signal)(program, Signal::CONT) == 0 {
            self.finish(now);
            return;
        }
        if now < self.next {
            return;
        }
        match self.stage {
            Stage::Asked => {
                (self.signal)(program, Signal::HUP);
                self.stage = Stage::Insisted;
                self.next = (self.began + self.grace).max(now);
            }
            Stage::Insisted | Stage::Killed => {
                (self.signal)(program, Signal::KILL);
                self.stage = Stage::Killed;
                self.next = now + RECHECK;
                if now > self.began + self.grace + GIVE_UP {
                    self.finish(now);
                }
            }
            Stage::Over => {}
        }
    }

    fn finish(&mut self, now: Instant) {
        self.stage = Stage::Over;
        self.next = now + GIVE_UP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    thread_local! {
        static TREE: RefCell<(Vec<Signal>, usize)> = const { RefCell::new((Vec::new(), 0)) };
    }

    fn signal(_: Option<u32>, signal: Signal) -> usize {
        TREE.with_borrow_mut(|(sent, alive)| {
            if signal != Signal::CONT {
                sent.push(signal);
            }
            if signal == Signal::KILL {
                return std::mem::take(alive);
            }
            *alive
        })
    }

    #[test]
    fn asks_insists_compels_and_then_looks_once_more() {
        TREE.set((Vec::new(), 2));
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut stopping = Stopping::begin(Duration::from_secs(5), start, None, signal);
        for ms in [0, 500, 1000, 1001, 4999, 5000] {
            stopping.advance(at(ms), false, None);
            assert!(!stopping.is_over(), "{ms}");
        }
        stopping.advance(at(5050), true, None);
        assert!(stopping.is_over());
        assert_eq!(TREE.take().0, [Signal::TERM, Signal::HUP, Signal::KILL]);
    }

    #[test]
    fn a_tree_that_obeys_is_over_at_once() {
        TREE.set((Vec::new(), 0));
        let now = Instant::now();
        let mut stopping = Stopping::begin(Duration::from_secs(5), now, None, signal);
        stopping.advance(now, true, None);
        assert!(stopping.is_over());
        assert_eq!(TREE.take().0, [Signal::TERM]);
    }

    #[test]
    fn a_shorter_grace_counts_and_a_longer_one_does_not() {
        let start = Instant::now();
        let mut stopping = Stopping::begin(Duration::from_hours(1), start, None, |_, _| 1);
        stopping.hurry(Duration::ZERO, start + Duration::from_secs(1));
        stopping.advance(start + Duration::from_secs(1), false, None);
        stopping.hurry(Duration::from_hours(2), start + Duration::from_secs(1));
        assert_eq!(stopping.stage, Stage::Insisted);
        stopping.advance(start + Duration::from_secs(1), false, None);
        assert_eq!(stopping.stage, Stage::Killed);
    }
}
