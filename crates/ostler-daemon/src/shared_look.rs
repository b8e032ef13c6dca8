//! A look at something that takes a while: it serves everybody who asked before it began.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A look, and when it began.
type Look<T> = (Instant, Arc<T>);

/// The last look there was.
#[derive(Debug)]
pub(crate) struct SharedLook<T>(Arc<Mutex<Option<Look<T>>>>);

impl<T> Default for SharedLook<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for SharedLook<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> SharedLook<T> {
    /// What there is to be seen now. It takes as long as a look or two: not for threads that others wait for.
    pub(crate) fn get(&self, look: impl FnOnce() -> T) -> Arc<T> {
        self.get_since(Instant::now(), look)
    }

    fn get_since(&self, asked: Instant, look: impl FnOnce() -> T) -> Arc<T> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((began, seen)) if *began >= asked => seen.clone(),
            _ => {
                let began = Instant::now();
                let seen = Arc::new(look());
                *last = Some((began, seen.clone()));
                seen
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_serves_who_asked_before_it_began_and_nobody_else() {
        let shared = SharedLook::default();
        let asked = Instant::now();
        assert_eq!(*shared.get_since(asked, || 1), 1);
        assert_eq!(*shared.get_since(asked, || 2), 1, "it began after both had asked");
        let later = Instant::now() + std::time::Duration::from_nanos(1);
        assert_eq!(*shared.get_since(later, || 3), 3, "it would be an old one");
        assert_eq!(*shared.clone().get(|| 4), 4);
    }
}
