//! A person at the terminal.

use ostler_core::Timestamp;
use ostler_core::detector::Event;

use super::Actor;
use crate::clock;
use crate::session::deliveries::{HOLD, PERSON};

/// Not more keys are held back than this.
const MAX_HELD: usize = 4 << 10;

/// Keys that wait until a text has got its Enter: in between they would become a part of it.
#[derive(Debug, Default)]
pub(super) struct HeldKeys {
    bytes: Vec<u8>,
    until: Option<Timestamp>,
}

impl HeldKeys {
    /// When they are passed on, whatever happens.
    pub(super) fn until(&self) -> Option<Timestamp> {
        self.until
    }
}

impl Actor {
    /// A person typed.
    pub(super) async fn on_keys(&mut self, bytes: &[u8]) {
        let now = clock::steady();
        // Who is typing already goes first: the Enter waits for them, and they see what they type behind.
        let typing = self.deliveries.person.is_some_and(|until| now < until);
        let composing = self.deliveries.is_composing();
        if composing && !typing && self.held_keys.bytes.len() + bytes.len() <= MAX_HELD {
            self.held_keys.bytes.extend_from_slice(bytes);
            self.held_keys.until.get_or_insert(now.plus(HOLD));
            return;
        }
        self.pass_on_held().await;
        self.pass_on(bytes).await;
    }

    /// Passes on what was held back, if it need not wait any more.
    pub(super) async fn release_keys(&mut self) {
        let due = self.held_keys.until.is_some_and(|until| clock::steady() >= until);
        if due || !self.deliveries.is_composing() {
            self.pass_on_held().await;
        }
    }

    async fn pass_on_held(&mut self) {
        let HeldKeys { bytes, .. } = std::mem::take(&mut self.held_keys);
        if !bytes.is_empty() {
            self.pass_on(&bytes).await;
        }
    }

    async fn pass_on(&mut self, bytes: &[u8]) {
        match self.typing.keys(bytes) {
            Ok(actions) => {
                let now = clock::steady();
                self.deliveries.person = Some(now.plus(PERSON));
                self.deliveries.touched = Some(now);
                Box::pin(self.learn(Event::Typed { enter: bytes.contains(&b'\r') })).await;
                self.perform_typing(actions).await;
            }
            Err(error) => tracing::warn!(session = %self.record.start.name, %error, "keys dropped"),
        }
    }

    /// A composer that is empty behind what somebody typed has nothing of theirs any more.
    pub(super) fn see_untouched(&mut self) {
        let shown = self.deliveries.touched.is_some_and(|at| clock::steady() >= at.plus(PERSON));
        let is_empty = self.observer.composer().is_some_and(|composer| !composer.draft);
        if shown && is_empty && self.observer.is_current() {
            self.deliveries.touched = None;
        }
    }
}
