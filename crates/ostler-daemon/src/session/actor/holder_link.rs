//! The holder: what it says, and what becomes of the connection to it.

use std::time::Duration;

use ostler_core::detector::Event;
use ostler_core::lifecycle;
use ostler_core::typing::Answer;
use ostler_hold::wire::{self, Outcome, Reply, Request, Status};
use ostler_protocol::TerminalInfo;
use ostler_screen::Size;

use super::Actor;
use crate::link::{Link, LinkError};
use crate::session::output::Output;
use crate::{clock, evidence};

/// How long the output that was there before may take to be read.
const CATCH_UP: Duration = Duration::from_secs(2);

impl Actor {
    pub(super) async fn on_connect(&mut self, result: Result<(Link, Status), LinkError>) {
        let (link, status) = match result {
            Ok(connected) => connected,
            Err(error) => {
                tracing::debug!(session = %self.record.start.name, %error, "no connection to the holder");
                return self
                    .live(lifecycle::Event::Disconnected(evidence::gather(
                        &self.dir,
                        self.record.pid.is_some(),
                    )))
                    .await;
            }
        };
        self.link = Some(link);
        self.holder_pid = self.dir.read_identity().map(|identity| identity.pid);
        self.on_welcome(&status).await;
        self.request(&Request::Subscribe { from: self.output.offset, paced: true });
        if self.output.offset < status.written {
            self.catching_up = Some((status.written, clock::steady().plus(CATCH_UP)));
        }
        self.live(lifecycle::Event::Connected).await;
        let [_, keys, replies] = status.seqs;
        let actions = self.typing.connected(keys, replies);
        self.perform_typing(actions).await;
        // What was asked on a connection that was lost is not answered on this one.
        if self.deliveries.inspecting.is_some() {
            self.request(&Request::Query);
        }
        self.type_raw().await;
        self.deliver(None).await;
    }

    pub(super) async fn on_welcome(&mut self, status: &Status) {
        // A ledger that is ahead of the record has typed messages that the record lost.
        let [message, keys, _] = status.seqs;
        self.resume_deliveries(Some(message), keys > 0);
        if self.record.pid != Some(status.child) {
            self.record.pid = Some(status.child);
            let (id, pid, at) = (self.record.start.id.clone(), status.child, clock::now());
            let recorded = self.shared.store.run(move |store| store.session_started(&id, pid, at)).await;
            self.log_store(&recorded);
        }
        if self.output.offset > status.written {
            // A picture of more than there is: not one of this session.
            self.output = Output::new(self.dir.clone(), self.output.screen.size());
        }
        let size = Size::clamped(status.cols, status.rows);
        if size != self.output.screen.size() {
            self.output.screen.resize(size);
            self.size.send_replace(size);
        }
    }

    pub(super) fn request(&mut self, request: &Request<'_>) {
        if let Some(link) = &mut self.link {
            link.queue(request);
        }
    }

    /// Reads the frames that have arrived.
    pub(super) async fn on_frames(&mut self) {
        let Some(link) = &mut self.link else { return };
        let inbox = link.take_inbox();
        let mut rest = inbox.as_slice();
        let failed = loop {
            match wire::split_frame(rest) {
                Ok(None) => break None,
                Ok(Some((frame, behind))) => {
                    rest = behind;
                    match Reply::decode(frame) {
                        Ok(Some(reply)) => self.on_reply(reply).await,
                        Ok(None) => {}
                        Err(error) => break Some(error),
                    }
                }
                Err(error) => break Some(error),
            }
        };
        let used = inbox.len() - rest.len();
        if let Some(link) = &mut self.link {
            link.put_back(used, inbox);
        }
        if self.catching_up.is_some_and(|(offset, _)| self.output.offset >= offset) {
            self.catching_up = None;
            self.on_caught_up().await;
        }
        if let Some(error) = failed {
            self.on_disconnect(&error.into()).await;
        } else if self.output.picture_due().is_some_and(|at| clock::steady() >= at) {
            self.output.picture(clock::steady());
        }
    }

    pub(super) async fn on_reply(&mut self, reply: Reply<'_>) {
        match reply {
            Reply::Output { offset, bytes } => {
                let (owed, signals) = self.output.feed(offset, bytes);
                let answers = self.shared.answer_status;
                for owed in owed.into_iter().filter(|owed| answers || !owed.is_status()) {
                    let actions = self.typing.reply(owed.offset, owed.bytes);
                    self.perform_typing(actions).await;
                }
                self.on_output(&signals).await;
            }
            Reply::Gap { from, resumed } => {
                tracing::warn!(session = %self.record.start.name, from, resumed, "output was lost");
                self.output.gap(from, resumed);
                self.learn(Event::Lost).await;
            }
            Reply::Input { outcome, offset, .. } => {
                let actions = self.typing.answered(answer(outcome, offset), clock::steady());
                self.perform_typing(actions).await;
            }
            Reply::Exited(record) => {
                self.exit = Some(record);
                self.live(lifecycle::Event::Exited { status: record.status, signal: record.signal }).await;
            }
            Reply::Refused { reason } => {
                tracing::warn!(session = %self.record.start.name, reason, "the holder refused a request");
            }
            Reply::Status(status) => {
                self.inspected(Some(&status));
                self.on_inspected(status.canonical, status.pending, status.foreground).await;
            }
            Reply::Welcome { .. } => {}
        }
    }

    pub(super) async fn on_disconnect(&mut self, error: &LinkError) {
        self.catching_up = None;
        self.inspected(None);
        tracing::debug!(session = %self.record.start.name, %error, "the connection to the holder has ended");
        self.link = None;
        self.typing.disconnected();
        self.live(lifecycle::Event::Disconnected(evidence::gather(&self.dir, self.record.pid.is_some())))
            .await;
    }

    /// Answers all who asked for the terminal's settings, with what the holder said of them.
    pub(super) fn inspected(&mut self, status: Option<&Status>) {
        let mut info = self.info();
        info.terminal = status.map(|status| TerminalInfo {
            canonical: status.canonical,
            echo: status.echo,
            signals: status.signals,
            foreground: Some(status.foreground).filter(|group| *group > 0),
            pending: status.pending,
        });
        for (_, inspector) in self.inspectors.drain(..) {
            let _ = inspector.send(info.clone());
        }
    }
}

fn answer(outcome: Outcome, offset: u64) -> Answer {
    match outcome {
        Outcome::Written => Answer::Written { offset },
        Outcome::Duplicate => Answer::Duplicate { offset },
        Outcome::Pending => Answer::Pending,
        Outcome::Stale => Answer::Stale,
        Outcome::Corrupt => Answer::Corrupt,
        Outcome::Full => Answer::Full,
        Outcome::Closed => Answer::Closed,
        Outcome::LineTooLong => Answer::LineTooLong,
    }
}
