//! A message that may not be typed now: a shut window counts as a failed attempt, and is looked at again.

use super::Backoff;
use crate::Steady;

/// The failed attempts of a message that found the window shut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClosedWindow {
    failures: u32,
    next: Option<Steady>,
}

impl ClosedWindow {
    /// Takes note of whether the window is shut now; returns whether that is one more failed attempt. After `enough` of
    /// them nothing more is counted.
    ///
    /// A window that opens for a moment sets nothing back, and does not make attempts come faster.
    pub fn look(&mut self, shut: bool, enough: u32, backoff: &Backoff, now: Steady) -> bool {
        if !shut || self.failures >= enough || self.next.is_some_and(|next| now < next) {
            return false;
        }
        self.failures = self.failures.saturating_add(1);
        self.next = Some(now.plus(backoff.pause(self.failures)));
        true
    }

    /// How often it was shut.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// When to look again, if so many failures are not enough.
    pub fn deadline(&self, enough: u32) -> Option<Steady> {
        self.next.filter(|_| self.failures < enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shut_window_fails_once_a_step() {
        let (mut window, backoff) = (ClosedWindow::default(), Backoff::default());
        let looks = [
            (0, false, 0),
            (10, true, 1),
            (20, true, 1),
            (1_009, true, 1),
            (1_010, true, 2),
            // Open for a moment, and shut again.
            (2_000, false, 2),
            (2_010, true, 2),
            (3_010, true, 3),
            (8_009, true, 3),
            (8_010, true, 4),
        ];
        for (at, shut, failures) in looks {
            window.look(shut, 5, &backoff, Steady(at));
            assert_eq!(window.failures(), failures, "at {at}");
        }
        assert_eq!(window.deadline(5), Some(Steady(18_010)));
        assert!(!window.look(true, 4, &backoff, Steady(90_000)));
        assert_eq!(window.deadline(4), None, "nobody is woken for what changes nothing");
    }
}
