//! Work that is done a few pieces at a time.

use std::sync::{Mutex, PoisonError};

/// Does all that is in the queue, so many at a time, from its end, and returns what came of it in the order in which it
/// was done.
pub fn drain<T: Send, R: Send>(at_once: usize, queue: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let (queue, results) = (Mutex::new(queue), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once.max(1) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
                    let Some(next) = next else { break };
                    let result = work(next);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
