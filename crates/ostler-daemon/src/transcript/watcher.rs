//! The part of a watcher that sleeps.

use std::path::PathBuf;
use std::time::Duration;

use ostler_core::{Fact, Wall};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::place::TailState;
use super::reader::{Reader, Step};
use crate::hints::Sleeper;

/// Between two looks at one transcript: an agent that writes all the time is read in pieces.
const PAUSE: Duration = Duration::from_millis(20);
/// The same where there are files of which nobody can tell whose they are.
const DOUBT: Duration = Duration::from_secs(1);
/// The first look without a hint.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// The longest time between looks without a hint.
const LAST_LOOK: Duration = Duration::from_secs(30);
/// Bytes after which the state is given though there is no fact in them.
const QUIET: u64 = 1 << 20;

/// A fact in a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The fact.
    pub fact: Fact,
    /// When it was written down, if that is told.
    pub at: Option<Wall>,
}

/// What a transcript told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The facts, in order. Empty if there is only a problem, or much that means nothing.
    pub facts: Vec<Written>,
    /// How far the transcript was read: to be kept with what the facts changed.
    pub state: TailState,
    /// Why it cannot be read, in words for the user.
    pub problem: Option<String>,
}

/// Follows the transcript of one session.
#[derive(Debug)]
pub struct Watcher {
    work: Work,
    sleeper: Option<Sleeper>,
    /// What a hook said while the reader was away.
    named: Option<(Option<PathBuf>, Option<String>)>,
    active: bool,
    /// Hints come for every change.
    reliable: bool,
    /// When to look next without a hint, and the time after that.
    look: Option<Instant>,
    interval: Duration,
    /// Not before this.
    earliest: Instant,
    /// The state that was given last.
    given: TailState,
    #[cfg(test)]
    pub(super) steps: u32,
}

#[derive(Debug)]
enum Work {
    /// Something may have changed.
    Due(Box<Reader>),
    /// Everything was read.
    Resting(Box<Reader>),
    Away(JoinHandle<(Box<Reader>, Step)>),
    /// The runtime goes down, or a step panicked.
    Lost,
}

impl Watcher {
    pub(super) fn new(reader: Reader, sleeper: Option<Sleeper>) -> Self {
        Self {
            given: reader.state(),
            work: Work::Due(Box::new(reader)),
            sleeper,
            named: None,
            active: false,
            reliable: false,
            look: None,
            interval: FIRST_LOOK,
            earliest: Instant::now(),
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Takes the word of a hook: the path of the transcript, the agent's id of the conversation.
    pub fn named(&mut self, path: Option<PathBuf>, session: Option<String>) {
        let (old_path, old_session) = self.named.take().unwrap_or_default();
        self.named = Some((path.or(old_path), session.or(old_session)));
    }

    /// Says whether the session is at work. One that is not is never looked at without a hint.
    pub fn set_active(&mut self, active: bool) {
        if active != self.active {
            self.active = active;
            self.interval = FIRST_LOOK;
            self.look = None;
        }
    }

    /// How far the transcript was read, as far as it was told.
    pub fn state(&self) -> &TailState {
        &self.given
    }

    /// Waits for what the transcript tells next.
    ///
    /// Nothing is lost if the wait is given up: the next one goes on.
    pub async fn next(&mut self) -> Batch {
        loop {
            if let Some(step) = self.turn().await
                && let Some(batch) = self.batch(step)
            {
                return batch;
            }
        }
    }

    /// Does one thing: waits for a reason to look, or sends the reader off, or waits for it.
    async fn turn(&mut self) -> Option<Step> {
        match &mut self.work {
            Work::Away(handle) => {
                let Ok((reader, step)) = handle.await else {
                    self.work = Work::Lost;
                    let problem = Some("the transcript is not read: reading it failed".to_owned());
                    return Some(Step { problem, ..Step::default() });
                };
                self.settle(reader, &step);
                Some(step)
            }
            Work::Lost => std::future::pending().await,
            Work::Due(_) => {
                tokio::time::sleep_until(self.earliest).await;
                self.send();
                None
            }
            Work::Resting(_) => {
                self.rest().await;
                // At once: a hint that was taken must not be lost with this future.
                if let Work::Resting(reader) = std::mem::replace(&mut self.work, Work::Lost) {
                    self.work = Work::Due(reader);
                }
                None
            }
        }
    }

    /// Waits for a hint or the time to look. Whoever names a file polls anew, and so gets past this.
    async fn rest(&mut self) {
        if self.named.is_some() {
            return;
        }
        if self.look.is_none() && self.active && !self.reliable {
            self.look = Some(Instant::now() + self.interval);
        }
        let look = self.look;
        let time = async {
            match look {
                Some(look) => tokio::time::sleep_until(look).await,
                None => std::future::pending().await,
            }
        };
        let hint = async {
            match &self.sleeper {
                Some(sleeper) => sleeper.woken().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = hint => {}
            () = time => self.interval = (self.interval * 2).min(LAST_LOOK),
        }
        self.look = None;
    }

    fn send(&mut self) {
        let Work::Due(mut reader) = std::mem::replace(&mut self.work, Work::Lost) else { return };
        let named = self.named.take();
        #[cfg(test)]
        {
            self.steps += 1;
        }
        self.work = Work::Away(tokio::task::spawn_blocking(move || {
            let problem = named.and_then(|(path, session)| reader.named(path, session));
            let mut step = reader.step();
            step.problem = step.problem.or(problem);
            (reader, step)
        }));
    }

    fn settle(&mut self, reader: Box<Reader>, step: &Step) {
        if !step.facts.is_empty() {
            self.interval = FIRST_LOOK;
        }
        if step.more {
            self.work = Work::Due(reader);
            return;
        }
        self.earliest = Instant::now() + if step.doubtful { DOUBT } else { PAUSE };
        let watched = self.sleeper.as_mut().map(|sleeper| sleeper.watch(&step.watch));
        self.reliable = step.reliable && watched.is_some_and(|watched| watched.all);
        self.work = if watched.is_some_and(|watched| watched.more) {
            self.earliest = Instant::now();
            Work::Due(reader)
        } else {
            Work::Resting(reader)
        };
    }

    fn batch(&mut self, step: Step) -> Option<Batch> {
        let state = match &self.work {
            Work::Due(reader) | Work::Resting(reader) => reader.state(),
            Work::Away(_) | Work::Lost => self.given.clone(),
        };
        let quiet = state.position.offset.abs_diff(self.given.position.offset) < QUIET
            && state.path == self.given.path;
        if step.facts.is_empty() && step.problem.is_none() && quiet {
            return None;
        }
        self.given = state.clone();
        Some(Batch { facts: step.facts, state, problem: step.problem })
    }

    /// Whether everything was read, and only a reason to look can bring more.
    #[cfg(test)]
    pub(super) fn is_resting(&self) -> bool {
        matches!(self.work, Work::Resting(_)) && self.named.is_none()
    }

    /// Goes without the kernel's word.
    #[cfg(test)]
    pub(super) fn be_deaf(&mut self) {
        self.sleeper = None;
    }
}
