//! How long things may take, and how often they are tried.

use std::time::Duration;

use super::Backoff;

/// The times of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Between seeing the text and Enter: some agents take an Enter that follows too fast for a line break, or ignore it.
    pub enter_delay: Duration,
    /// The screen has to stand still for this long before Enter behind a command: agents look it up as it is typed, and
    /// Enter may choose what they found for a part of it.
    pub command_rest: Duration,
    /// Text that is not seen after this, in a composer at rest, is missing.
    pub look: Duration,
    /// A screen that did not change for this long is at rest.
    pub rest: Duration,
    /// Enter that was ignored is pressed again after this; longer each time.
    pub enter_again: Duration,
    /// A terminal is no longer than this behind what was written to it: only then it tells whether that was read.
    pub read_delay: Duration,
    /// How often Enter is pressed for one text.
    pub max_enters: u32,
    /// What became of an Enter is known after this, or not at all.
    pub confirm: Duration,
    /// An agent that tells what prompt it took is waited for this long, when other signs say that it took one.
    pub word: Duration,
    /// An agent that was interrupted has this long to come to rest.
    pub interrupt: Duration,
    /// How often the text is written.
    pub max_attempts: u32,
    /// The pauses between attempts.
    pub backoff: Backoff,
    /// The terminal must be in raw mode.
    pub raw_only: bool,
    /// The agent's composer is known: where it is not, there is nothing to see.
    pub has_composer: bool,
    /// It is known how to empty the composer.
    pub can_clear: bool,
    /// The keys that empty the composer also stop a turn.
    pub clear_stops: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            enter_delay: Duration::from_millis(150),
            command_rest: Duration::from_millis(600),
            look: Duration::from_secs(5),
            rest: Duration::from_secs(2),
            enter_again: Duration::from_millis(800),
            read_delay: Duration::from_millis(150),
            max_enters: 12,
            confirm: Duration::from_secs(20),
            word: Duration::from_secs(2),
            interrupt: Duration::from_secs(10),
            max_attempts: 5,
            backoff: Backoff::default(),
            raw_only: true,
            has_composer: true,
            can_clear: false,
            clear_stops: false,
        }
    }
}

impl Policy {
    /// An agent of which nothing can be told, or whose screen never comes to rest, is waited for this long.
    pub(super) fn patience(&self) -> Duration {
        self.confirm * 3
    }

    /// The pause before Enter is pressed once more.
    pub(super) fn enter_pause(&self, enters: u32) -> Duration {
        self.enter_again * (1 << enters.saturating_sub(1).min(3))
    }
}
