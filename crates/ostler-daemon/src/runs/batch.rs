//! Runs of one batch, of which only so many go on at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// Lets so many through at a time, in the order in which they asked.
#[derive(Debug, Clone)]
pub(super) struct Turnstile(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    width: usize,
    taken: usize,
    waiting: VecDeque<oneshot::Sender<Place>>,
}

/// A place in a batch; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place(Turnstile);

impl Turnstile {
    pub(super) fn new(width: usize) -> Self {
        Self(Arc::new(Mutex::new(Inner { width: width.max(1), taken: 0, waiting: VecDeque::new() })))
    }

    /// Whether nobody has or wants a place.
    pub(super) fn is_idle(&self) -> bool {
        self.with(|inner| inner.taken == 0 && inner.waiting.is_empty())
    }

    /// Takes a place for one who had it before, though there may be too few now.
    pub(super) fn keep(&self) -> Place {
        self.with(|inner| inner.taken += 1);
        Place(self.clone())
    }

    /// Asks for a place.
    pub(super) fn ask(&self) -> oneshot::Receiver<Place> {
        let (sender, receiver) = oneshot::channel();
        self.with(|inner| inner.waiting.push_back(sender));
        self.admit();
        receiver
    }

    fn admit(&self) {
        let next = || {
            self.with(|inner| {
                let next = if inner.taken < inner.width { inner.waiting.pop_front() } else { None };
                inner.taken += usize::from(next.is_some());
                next
            })
        };
        while let Some(next) = next() {
            // One who went away gives the place back.
            drop(next.send(Place(self.clone())));
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        // Counts and queue belong together at the end of every statement.
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.with(|inner| inner.taken -= 1);
        self.0.admit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_in_order_and_come_back() {
        let turnstile = Turnstile::new(2);
        let kept = turnstile.keep();
        let mut asked: Vec<_> = (0..4).map(|_| turnstile.ask()).collect();
        let first = asked[0].try_recv().unwrap();
        assert!(asked[1].try_recv().is_err());
        drop(kept);
        let second = asked[1].try_recv().unwrap();
        // The third does not want it any more.
        drop(asked.remove(2));
        drop(first);
        let last = asked[2].try_recv().unwrap();
        assert!(!turnstile.is_idle());
        drop((second, last));
        assert!(turnstile.is_idle());
    }
}
