//! What clients ask of a session.

use std::time::Duration;

use ostler_core::detector::Reporter;
use ostler_core::lifecycle::{self, Phase};
use ostler_core::{Failure, State};
use ostler_hold::wire::Request;
use ostler_protocol::SessionInfo;
use ostler_screen::Size;
use tokio::sync::oneshot;

use super::Actor;
use crate::clock;
use crate::session::{Command, Look, Standing, info};

/// How long a holder may take to tell about its terminal.
const INSPECTION: Duration = Duration::from_secs(1);

impl Actor {
    pub(super) async fn on_command(&mut self, command: Command) {
        match command {
            Command::Info(reply) => drop(reply.send(self.info())),
            Command::Inspect(reply) => {
                self.inspectors.push((clock::steady().plus(INSPECTION), reply));
                self.request(&Request::Query);
                if self.link.is_none() {
                    self.inspected(None);
                }
            }
            Command::Explain(reply) => drop(reply.send(self.explanation())),
            Command::Standing(reply) => drop(reply.send(self.standing())),
            Command::Look(reply) => {
                let look = Look {
                    info: self.info(),
                    restore: self.output.screen.to_restore(),
                    offset: self.output.offset,
                    missing: self.output.missing,
                };
                drop(reply.send(look));
            }
            Command::Send(command) => self.on_send(*command).await,
            Command::Message { id, answer } => {
                let open = self.deliveries.find(&id).map(|open| self.shown(&open.message));
                drop(answer.send(open));
            }
            Command::Await { id, wait, answer } => self.on_await(id, wait, answer).await,
            Command::RetryMessage { id, answer } => drop(answer.send(self.retry_message(&id).await)),
            Command::DropMessage { id, answer } => drop(answer.send(self.drop_message(&id).await)),
            Command::Acknowledge { id, answer } => {
                drop(answer.send(self.acknowledged(&id, "command: ostler ack").await));
                self.deliver(None).await;
            }
            Command::Keys(bytes) => self.on_keys(&bytes).await,
            Command::Viewer { viewer, size } => {
                self.viewers.insert(viewer, size);
                self.fit_viewers().await;
            }
            Command::ViewerGone { viewer } => {
                self.viewers.remove(&viewer);
                self.fit_viewers().await;
            }
            Command::Hook(report) => self.on_hook(*report).await,
            Command::Stop { grace_ms, done } => self.on_stop(grace_ms, done).await,
            Command::Park(done) => {
                self.output.picture(clock::steady());
                let _ = done.send(());
            }
        }
    }

    pub(super) async fn on_stop(&mut self, grace_ms: u32, done: oneshot::Sender<()>) {
        self.stoppers.push(done);
        self.grace_ms = grace_ms;
        if !self.record.stop_requested {
            self.record.stop_requested = true;
            let (id, at) = (self.record.start.id.clone(), clock::now());
            let recorded = self.shared.store.run(move |store| store.stop_requested(&id, at)).await;
            // A person who wants a program gone wants it gone on a full disk too.
            self.log_store(&recorded);
        }
        self.live(lifecycle::Event::StopRequested).await;
    }

    /// The terminal is as large as the smallest terminal of those who type in it.
    pub(super) async fn fit_viewers(&mut self) {
        let Some(size) = self
            .viewers
            .values()
            .copied()
            .reduce(|a, b| Size::clamped(a.cols.min(b.cols), a.rows.min(b.rows)))
        else {
            return;
        };
        if size == self.output.screen.size() {
            return;
        }
        let (id, at) = (self.record.start.id.clone(), clock::now());
        let recorded =
            self.shared.store.run(move |store| store.session_resized(&id, size.cols, size.rows, at)).await;
        self.log_store(&recorded);
        (self.record.start.cols, self.record.start.rows) = (size.cols, size.rows);
        self.request(&Request::Resize { cols: size.cols, rows: size.rows });
        self.output.screen.resize(size);
        self.size.send_replace(size);
    }

    /// What the agent is doing, for decisions.
    fn standing(&self) -> Standing {
        let (state, kind, _) = self.described();
        let detector = self.observer.detector();
        let verdict = detector.verdict();
        let [(_, hooks), (_, transcript)] = detector.records();
        // Each may know it more exactly than the other, and the screen than both.
        let on_screen = verdict.kind.as_deref().and_then(Failure::named);
        let said = [
            hooks.failed.map(|failed| (Reporter::Hook, failed.what)),
            transcript.failed.map(|failed| (Reporter::Transcript, failed.what)),
            on_screen.filter(|_| state == State::Error).map(|failure| (Reporter::Screen, failure)),
        ];
        let failed = said
            .into_iter()
            .flatten()
            .reduce(|told, other| if told.1.or_rather(other.1) == told.1 { told } else { other });
        let ending = self.record.ending.as_ref().or(self.unrecorded.as_ref());
        Standing {
            state,
            kind,
            opaque: self.is_opaque(),
            until: verdict.until.clone(),
            since: self.since,
            confidence: verdict.confidence,
            failed,
            asks: self.conversation.told.asks(),
            retrying: detector.retrying(),
            exit: ending.map(|ending| (ending.status, ending.signal)),
            usage: self.conversation.usage,
        }
    }

    pub(super) fn info(&self) -> SessionInfo {
        let mut info = info::from_record(&self.record);
        (info.state, info.kind, info.because) = self.described();
        if matches!(self.lifecycle.phase(), Phase::Attached) {
            let verdict = self.observer.detector().verdict();
            info.confidence = info::rounded(verdict.confidence);
            info.until.clone_from(&verdict.until);
        }
        info.since = clock::shown(self.since);
        info.title = self.output.screen.title().map(str::to_owned);
        info.output = self.output.offset;
        info.waiting = self.deliveries.open.len();
        info.holder = self.holder_pid;
        info.claims = self.output.claims.as_ref().and_then(|claims| serde_json::to_value(claims).ok());
        info.usage = Some(self.conversation.usage).filter(|usage| *usage != ostler_core::Usage::default());
        info.answering = self.is_answering();
        if self.output.missing > 0 {
            info.because.push(format!("{} bytes of output were lost", self.output.missing));
        }
        if let Some(ending) = self.record.ending.as_ref().or(self.unrecorded.as_ref()) {
            info::add_ending(&mut info, ending, self.record.stop_requested);
        }
        info
    }
}
