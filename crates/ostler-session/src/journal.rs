//! What is to be recorded, in which order, and what follows when it is.
//!
//! Entries go to the store together, oldest first, as one commit at a time. What depends on an entry is given out when
//! it is recorded. When the store refuses a commit, *facts* are kept and offered again after a pause, because they have
//! happened; *intents* are dropped, because what was right to do a moment ago may not be then; and *notes* are
//! dropped, because the next one says as much. While something is kept, no intent is taken: whoever wants to act waits
//! until the store takes records again.

use std::time::Duration;

use ostler_core::Steady;

use crate::change::Change;

/// When to offer again what the store refused.
const RETRY: Duration = Duration::from_secs(1);
/// What nobody waits for goes with the next commit, or after this.
const LAZY: Duration = Duration::from_millis(500);

/// How an entry is dealt with that the store refuses, and whether it can wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It happened: it is offered until it is recorded.
    Fact,
    /// The same, and nobody waits for it.
    LazyFact,
    /// It is about to be done, if it is recorded.
    Intent,
    /// It is good to know.
    Note,
}

#[derive(Debug)]
struct Entry<T> {
    kind: Kind,
    changes: Vec<Change>,
    then: Vec<T>,
    otherwise: Vec<T>,
}

/// What is not recorded yet; `T` is what follows from a record.
#[derive(Debug)]
pub(crate) struct Journal<T> {
    entries: Vec<Entry<T>>,
    /// How many of the entries are being recorded.
    offered: usize,
    retry_at: Option<Steady>,
    flush_at: Option<Steady>,
}

impl<T> Default for Journal<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), offered: 0, retry_at: None, flush_at: None }
    }
}

impl<T> Journal<T> {
    /// Records something that happened, or is good to know.
    pub(crate) fn add(&mut self, kind: Kind, change: Change, then: Vec<T>) {
        self.entries.push(Entry { kind, changes: vec![change], then, otherwise: Vec::new() });
    }

    /// Records what is about to be done; `otherwise` follows if it cannot be.
    pub(crate) fn intend(&mut self, changes: Vec<Change>, then: T, otherwise: Option<T>) {
        let otherwise = otherwise.into_iter().collect();
        self.entries.push(Entry { kind: Kind::Intent, changes, then: vec![then], otherwise });
    }

    /// Whether everything is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the store refused something that it has yet to take.
    pub(crate) fn is_stuck(&self) -> bool {
        self.retry_at.is_some()
    }

    /// When to come back.
    pub(crate) fn deadline(&self) -> Option<Steady> {
        self.retry_at.or(self.flush_at)
    }

    /// Whether what the store refused is to be offered again now; asked once.
    pub(crate) fn take_retry(&mut self, now: Steady) -> bool {
        self.retry_at.take_if(|at| now >= *at).is_some()
    }

    /// What to record now, if anything: not while a commit is under way, nor before its time.
    pub(crate) fn offer(&mut self, now: Steady) -> Option<Vec<Change>> {
        if self.offered > 0 || self.entries.is_empty() || self.retry_at.is_some_and(|at| now < at) {
            return None;
        }
        let lazy = self.entries.iter().all(|entry| entry.kind == Kind::LazyFact && entry.then.is_empty());
        let flush_at = *self.flush_at.get_or_insert(now.plus(LAZY));
        if lazy && now < flush_at {
            return None;
        }
        (self.flush_at, self.retry_at) = (None, None);
        self.offered = self.entries.len();
        Some(self.entries.iter().flat_map(|entry| entry.changes.iter().cloned()).collect())
    }

    /// What was offered is recorded: what follows from it.
    pub(crate) fn committed(&mut self) -> Vec<T> {
        let offered = std::mem::take(&mut self.offered);
        self.entries.drain(..offered).flat_map(|entry| entry.then).collect()
    }

    /// What was offered was refused: what follows from that.
    pub(crate) fn refused(&mut self, now: Steady) -> Vec<T> {
        let offered = std::mem::take(&mut self.offered);
        self.retry_at = Some(now.plus(RETRY));
        let behind = self.entries.split_off(offered);
        let mut follows = Vec::new();
        for entry in std::mem::take(&mut self.entries) {
            match entry.kind {
                Kind::Fact | Kind::LazyFact => self.entries.push(entry),
                Kind::Intent => follows.extend(entry.otherwise),
                Kind::Note => {}
            }
        }
        self.entries.extend(behind);
        follows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(pid: u32) -> Change {
        Change::Started { pid }
    }

    #[test]
    fn what_follows_waits_for_the_record() {
        let mut journal = Journal::default();
        journal.add(Kind::Fact, change(1), vec!['a']);
        journal.intend(vec![change(2), change(3)], 'b', Some('x'));
        assert_eq!(journal.offer(Steady(0)), Some(vec![change(1), change(2), change(3)]));
        assert_eq!(journal.offer(Steady(0)), None, "one at a time");
        journal.add(Kind::Fact, change(4), vec!['d']);
        assert_eq!(journal.committed(), ['a', 'b']);
        assert_eq!(journal.offer(Steady(0)), Some(vec![change(4)]));
        assert_eq!(journal.committed(), ['d']);
        assert!(journal.is_empty());
    }

    #[test]
    fn facts_are_kept_and_intents_are_not() {
        let mut journal = Journal::default();
        journal.add(Kind::Fact, change(1), vec!['a']);
        journal.intend(vec![change(2)], 'b', Some('x'));
        journal.add(Kind::Note, change(3), vec!['n']);
        assert!(journal.offer(Steady(0)).is_some());
        assert_eq!(journal.refused(Steady(10)), ['x']);
        assert!(journal.is_stuck());
        journal.add(Kind::Fact, change(4), vec!['d']);
        assert_eq!((journal.offer(Steady(500)), journal.deadline()), (None, Some(Steady(1010))));
        assert!(!journal.take_retry(Steady(500)) && journal.take_retry(Steady(1010)));
        assert_eq!(journal.offer(Steady(1010)), Some(vec![change(1), change(4)]));
        assert_eq!(journal.committed(), ['a', 'd']);
        assert!(!journal.is_stuck());
    }

    #[test]
    fn what_nobody_waits_for_goes_along() {
        let mut journal: Journal<char> = Journal::default();
        journal.add(Kind::LazyFact, change(1), Vec::new());
        assert_eq!((journal.offer(Steady(0)), journal.deadline()), (None, Some(Steady(500))));
        journal.add(Kind::Fact, change(2), Vec::new());
        assert_eq!(journal.offer(Steady(1)), Some(vec![change(1), change(2)]));
        assert_eq!((journal.committed(), journal.deadline()), (vec![], None));
        journal.add(Kind::LazyFact, change(3), Vec::new());
        assert_eq!(journal.offer(Steady(100)), None);
        assert_eq!(journal.offer(Steady(600)), Some(vec![change(3)]), "but not for ever");
    }
}
