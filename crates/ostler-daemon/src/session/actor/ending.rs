//! The end of a session, recorded before anybody is told.

use std::time::Duration;

use ostler_core::Timestamp;
use ostler_core::lifecycle::{End, Phase};
use ostler_hold::wire::Request;
use ostler_hold::{read_remains, tree};

use super::Actor;
use crate::session::info;
use crate::{clock, continuity, left_blocks};

/// How long a holder whose program has ended may stay; it leaves earlier unless it is still killing.
const FAREWELL: Duration = Duration::from_secs(30);
/// When to try again to record what the store refused.
pub(super) const STORE_RETRY: Duration = Duration::from_secs(1);

impl Actor {
    /// Whether there is nothing left to do.
    pub(super) fn is_over(&self) -> bool {
        let recorded = self.unrecorded.is_none() && self.unproven.is_empty() && self.ungiven.is_empty();
        self.stood_down
            || matches!(self.lifecycle.phase(), Phase::Ended(_)) && recorded && self.link.is_none()
    }

    pub(super) fn close(&mut self) {
        if self.stood_down {
            return;
        }
        self.output.picture(clock::steady());
        if let Some(mut holder) = self.holder.take() {
            // The connection has ended, so the holder is about to, and nothing else waits for it.
            std::thread::spawn(move || drop(holder.wait()));
        }
        self.answer_stoppers();
        self.shared.sessions.remove(&self.record.start.id);
    }

    pub(super) async fn finish(&mut self, end: &End) {
        let now = clock::now();
        let mut ending = info::ending(end, now);
        self.exit = self.exit.or_else(|| self.dir.read_exit());
        if let Some(exit) = self.exit {
            ending.at = Timestamp(exit.at_ms);
            ending.output = exit.written;
            ending.cpu_us = exit.user_us + exit.system_us;
            ending.max_rss_kib = exit.max_rss_kib;
        }
        // What the holder had no time to hand over is in its ring.
        if let Ok(remains) = read_remains(&self.dir.ring()) {
            if remains.oldest > self.output.offset {
                self.output.gap(self.output.offset, remains.oldest);
            }
            // A terminal that is gone is owed no answers.
            drop(self.output.feed(remains.oldest, &remains.bytes));
        }
        ending.output = ending.output.max(self.output.offset);
        self.leave_at = Some(clock::steady().plus(FAREWELL));
        self.unrecorded = Some(ending);
        // Messages first: nobody comes back to those of a session that has ended.
        let actions = self.typing.ended(self.exit.map(|exit| exit.typed));
        self.perform_typing(actions).await;
        self.resume_deliveries(self.exit.map(|exit| exit.typed), false);
        self.end_messages().await;
        self.end_dialog().await;
        self.record_end().await;
    }

    /// Tries again to record what the store refused.
    pub(super) async fn retry_store(&mut self) {
        self.store_retry_at = None;
        self.retry_messages().await;
        self.record_end().await;
    }

    /// Records the end and lets the holder go; tried again until the store takes it.
    async fn record_end(&mut self) {
        let Some(ending) =
            self.unrecorded.clone().filter(|_| self.unproven.is_empty() && self.ungiven.is_empty())
        else {
            return self.tell_stoppers();
        };
        let (id, at) = (self.record.start.id.clone(), ending.at);
        continuity::record_so_far(&self.shared, &self.record.start, at, &self.conversation.told).await;
        let recorded = self.shared.store.run(move |store| store.session_ended(&id, &ending)).await;
        self.log_store(&recorded);
        if recorded.is_ok() {
            self.record.ending = self.unrecorded.take();
            self.request(&Request::Release);
            let (told, transcript) = self.conversation.ended();
            continuity::record_end(&self.shared, &self.record.start, at, told, transcript);
            left_blocks::take_out_at_end(&self.shared, &self.record.start).await;
            return;
        }
        self.store_retry_at.get_or_insert(clock::steady().plus(STORE_RETRY));
        self.tell_stoppers();
    }

    /// Whoever wants a program gone is told when it is, recorded or not.
    fn tell_stoppers(&mut self) {
        if self
            .holder_pid
            .is_none_or(|holder| tree::descendants(holder, Some(&self.record.start.id)).is_empty())
        {
            self.answer_stoppers();
        }
    }

    fn answer_stoppers(&mut self) {
        for stopper in self.stoppers.drain(..) {
            let _ = stopper.send(());
        }
    }
}
