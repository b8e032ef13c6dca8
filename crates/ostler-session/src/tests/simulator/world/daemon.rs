//! The daemon around the session: it performs effects, and may die between any two.

use jiff::tz::TimeZone;
use ostler_core::delivery::Mode;
use ostler_core::lifecycle::Evidence;
use ostler_core::message::{Message, MessageState};
use ostler_core::{State, Wall, typing};
use ostler_screen::{Cursor, Screen, Size};

use super::super::agent::Typed;
use super::{Arrival, Happening, KNOWN, NOON, SIZE, Sabotage, World};
use crate::effect::{Effect, Escalation, HookContext, Lane, Request};
use crate::event::{Event, Exit, LastOutput};
use crate::saved::Saved;
use crate::terminal::SavedScreen;
use crate::{Change, Session};

impl World {
    pub(super) fn start_daemon(&mut self, recovered: bool) {
        self.daemon += 1;
        self.effects = 0;
        self.over = false;
        self.narrate(if recovered { "a daemon takes over" } else { "a daemon starts the agent" });
        let screen = self.saved_screen.as_ref().map(|(bytes, offset)| {
            let mut screen = Screen::new(Size::clamped(SIZE.0, SIZE.1), 0);
            drop(screen.feed(bytes));
            SavedScreen { screen, offset: *offset }
        });
        let saved = Saved {
            id: "s".into(),
            created: Wall(NOON),
            agent: Some("standin".into()),
            size: Size::clamped(SIZE.0, SIZE.1),
            pid: self.store.pid,
            stop_requested: self.store.stop_requested,
            memory: self.store.memory.clone(),
            answer_status: true,
            zone: TimeZone::UTC,
            screen,
            messages: self.store.load(self.sabotage == Some(Sabotage::WritesAreForgotten)),
        };
        let mut session = Session::new(saved, recovered, self.now());
        session.disabled = match self.sabotage {
            Some(Sabotage::Session(safeguard)) => Some(safeguard),
            _ => None,
        };
        self.session = Some(session);
        self.hand(if recovered { Event::Recovered } else { Event::Launched });
        self.schedule(self.now + 20, Happening::Spool);
    }

    /// Hands over the reports that found no daemon, in the order of the session's mailbox.
    pub(super) fn hear_spool(&mut self) {
        if !self.session.as_ref().is_some_and(Session::listens) {
            return self.schedule(self.now + 20, Happening::Spool);
        }
        for (event, text, at) in std::mem::take(&mut self.spool) {
            // Nobody waits for what it could print.
            self.hand_report(event, text, at, false);
        }
        self.hand(Event::SpoolHeard);
    }

    pub(super) fn kill(&mut self) {
        self.narrate("the daemon is killed");
        self.killed_at = self.now;
        // What anybody was told is in the record.
        for told in self.told.iter().filter(|told| told.state == MessageState::Delivered) {
            let recorded =
                self.store.message(&told.id).is_some_and(|(message, _)| message.proof >= told.proof);
            if !recorded {
                self.complaints
                    .push(format!("{} was called {:?}, which is not recorded", told.id, told.proof));
            }
        }
        self.session = None;
        self.subscribed = None;
        self.promised.clear();
        self.tickets.clear();
        self.spool.extend(std::mem::take(&mut self.claims).into_values());
        self.kill_at = self.kills.next();
        self.soon(1500, Happening::Restart);
    }

    pub(super) fn hand(&mut self, event: Event<'_>) {
        if self.over {
            return;
        }
        let now = self.now();
        let Some(session) = &mut self.session else { return };
        session.handle(event, now);
        while let Some(effect) = self.session.as_mut().and_then(Session::poll) {
            self.effects += 1;
            if !self.healed && self.kill_at.is_some_and(|at| self.effects >= at) {
                // Before what it was about to do, or right behind it.
                if self.rng.bool() {
                    self.perform_dying(effect);
                }
                return self.kill();
            }
            self.perform(effect);
        }
        let Some(session) = &self.session else { return };
        if session.is_over() && self.store.ending.is_some() {
            self.narrate("the session is over: nobody listens for it any more");
            self.over = true;
            return;
        }
        if let Some(due) = session.deadline() {
            let at = due.0.saturating_sub(1_000);
            self.schedule(at, Happening::Tick);
        }
    }

    /// Does the last thing of a daemon's life.
    pub(super) fn perform_dying(&mut self, effect: Effect) {
        match effect {
            Effect::Commit { changes, at } if !self.is_store_down() => self.store.commit(&changes, at),
            Effect::Request(Request::Input { lane, seq, bytes }) => {
                let epoch = self.daemon;
                let late = if self.rng.u64(0..4) == 0 { 3_000 } else { 2 };
                let sent = self.now;
                self.soon(late, Happening::Stray { lane, epoch, seq, bytes, sent });
            }
            _ => {}
        }
    }

    pub(super) fn perform(&mut self, effect: Effect) {
        let now = self.now();
        match effect {
            Effect::Commit { changes, at } => {
                let refused = self.is_store_down();
                if !refused {
                    self.commit(changes, at);
                }
                let event = if refused { Event::NotCommitted } else { Event::Committed };
                if let Some(session) = &mut self.session {
                    session.handle(event, now);
                }
            }
            Effect::Connect => {
                let status = self.holder.status(self.agent.input.len());
                let arrival = if self.agent.ended.is_some() {
                    Arrival::NoConnection
                } else {
                    Arrival::Connected(status)
                };
                self.arrive(5, arrival);
            }
            Effect::Disconnect => self.subscribed = None,
            Effect::Request(request) => self.request(request),
            Effect::ReadRemains => {
                let offset = self.holder.oldest();
                let modes = self.holder.modes.clone();
                let output = Some(LastOutput { offset, modes, bytes: self.holder.read(0).to_vec() });
                let exit = self.exit();
                if let Some(session) = &mut self.session {
                    session.handle(Event::Remains { exit, output }, now);
                }
            }
            Effect::SaveScreen => {
                if let Some(session) = &self.session {
                    self.saved_screen = Some((session.screen().to_restore(), session.offset()));
                }
            }
            Effect::LoadRules => self.arrive(30, Arrival::Rules),
            Effect::Examine { question, .. } => self.arrive(3_000, Arrival::Examined(question)),
            Effect::Sample => self.arrive(10, Arrival::Sampled),
            Effect::FindAgent { .. } => self.arrive(10, Arrival::AgentFound),
            Effect::FindKeyDriven { .. } => self.arrive(5, Arrival::KeyDriven),
            Effect::CheckGrants => {
                let grants = self.plan.grants;
                if let Some(session) = &mut self.session {
                    session.handle(Event::Grants(grants), now);
                }
            }
            Effect::StoreBody { order, .. } => self.arrive(10, Arrival::BodyStored(order)),
            Effect::GatherContext => self.arrive(20, Arrival::Context),
            Effect::Answer(ticket, answer) => self.answer(ticket, answer),
            Effect::Print { context: Some(HookContext { orders, again, text }), .. } => {
                self.narrate(format!("the hook prints {text:?}"));
                self.printed.push((self.now, text));
                if let Some(session) = &mut self.session {
                    session.handle(Event::HookPrinted { orders, again, taken: true }, now);
                }
            }
            Effect::Escalate(Escalation { id, notice, .. }) => {
                self.narrate(format!("{id} goes into the instructions file"));
                self.escalated.push((self.now, id.clone()));
                let tell = notice.as_ref().is_some_and(|notice| self.store.message(notice).is_none());
                if let Some(session) = &mut self.session {
                    session.handle(Event::Escalated { id, in_file: true, tell }, now);
                }
            }
            Effect::Withdraw { id } => self.withdrawn.push((self.now, id)),
            Effect::GotThrough(message) if message.terms.sender != crate::NOTICE => {
                self.withdrawn.push((self.now, message.id));
            }
            Effect::Heard(ticket) => _ = self.claims.remove(&ticket),
            Effect::State(state) => self.said_idle = state == State::Idle,
            Effect::StopBySignal => {
                let output = self.agent.hang_up(self.now);
                self.emit(&output);
            }
            Effect::AwaitAgentEnd { .. }
            | Effect::FollowTranscript
            | Effect::NameTranscript { .. }
            | Effect::TranscriptActive(_)
            | Effect::AskJudge { .. }
            | Effect::CancelJudge
            | Effect::GotThrough(_)
            | Effect::KeepSummary(_)
            | Effect::Ended(_)
            | Effect::Print { .. }
            | Effect::AnswerStoppers
            | Effect::StopsChanged
            | Effect::Size(_)
            | Effect::Log(_) => {}
        }
    }

    pub(super) fn commit(&mut self, changes: Vec<Change>, at: Wall) {
        for change in &changes {
            let text = match change {
                Change::Observed { .. } | Change::Remembered { .. } | Change::Event { .. } => continue,
                Change::Accepted { id, body, .. } => {
                    format!("accepts {id} {:?}", String::from_utf8_lossy(body))
                }
                other => format!("records {other:?}"),
            };
            self.narrate(text);
        }
        if self.sabotage == Some(Sabotage::CommitsAreLate) {
            // What was promised before is made now; what is promised now, next time.
            for (changes, at) in std::mem::take(&mut self.promised) {
                self.store.commit(&changes, at);
            }
            self.promised.push((changes, at));
        } else {
            self.store.commit(&changes, at);
        }
    }

    pub(super) fn is_store_down(&self) -> bool {
        let now = self.now;
        !self.healed && self.plan.store_trouble.iter().any(|(from, to)| (*from..*to).contains(&now))
    }

    pub(super) fn request(&mut self, request: Request) {
        let asks = match request {
            Request::Input { .. } => self.abilities.keys,
            Request::Inspect => self.abilities.terminal,
            _ => true,
        };
        if !asks {
            self.complaints.push(format!("{request:?} is more than the transport can do"));
        }
        match request {
            Request::Subscribe { from } => {
                self.subscribed = Some(from);
                self.soon(2, Happening::Output);
            }
            Request::Input { lane, seq, bytes } => {
                if lane == Lane::Message {
                    let what = String::from_utf8_lossy(&bytes).into_owned();
                    self.narrate(format!("types write {seq}: {}", what.escape_debug()));
                    self.check_target(seq);
                }
                let answer = self.type_input(lane, self.daemon, seq, &bytes, self.now);
                self.arrive(2, Arrival::Answered(answer));
            }
            Request::Inspect => {
                let status = self.holder.status(self.agent.input.len());
                self.arrive(2, Arrival::Inspected(status));
            }
            Request::Stop { .. } => {
                let output = self.agent.hang_up(self.now);
                self.emit(&output);
            }
            Request::Resize { cols, rows } => self.holder.size = (cols, rows),
            Request::Release => self.arrive(2, Arrival::NoConnection),
        }
    }

    pub(super) fn type_input(
        &mut self,
        lane: Lane,
        epoch: u64,
        seq: u64,
        bytes: &[u8],
        sent: u64,
    ) -> typing::Answer {
        let (typed, answer) = self.holder.accept(lane, epoch, seq, self.agent.ended.is_some());
        if typed {
            let (at, in_hand) = (self.now, self.agent.has_enter_in_hand());
            // What was sent before a dialog opened could not be kept back from it.
            self.agent.input.extend(bytes.iter().map(|byte| Typed { lane, at: sent, byte: *byte }));
            if lane == Lane::Message {
                if bytes == b"\r" && in_hand {
                    self.complaints
                        .push(format!("write {seq} is an Enter before the last one was looked at"));
                }
                self.writes.push((at, String::from_utf8_lossy(bytes).into_owned()));
            }
            if lane == Lane::Keys {
                self.keys_typed.push((at, String::from_utf8_lossy(bytes).into_owned()));
            }
            self.schedule_agent();
        }
        answer
    }

    /// Nothing is typed for a message into a dialog that the session has seen.
    pub(super) fn check_target(&mut self, seq: u64) {
        let raw =
            |(message, _): &(Message, Vec<u8>)| message.terms.raw && message.state == MessageState::Queued;
        if self.store.messages.iter().any(raw) {
            return;
        }
        if self.dialog_since.is_some_and(|since| self.now >= since + KNOWN) {
            self.complaints.push(format!("write {seq} goes into a dialog"));
        }
        // A hook that is late may speak of the turn before.
        let patient = self.store.written_for(seq).is_some_and(|message| message.terms.mode == Mode::WhenIdle)
            && self.plan.hooks.is_none();
        if patient && self.working_since.is_some_and(|since| self.now >= since + KNOWN) {
            self.complaints.push(format!("write {seq} goes into a turn"));
        }
    }

    /// The agent draws for longer than the holder keeps, and in the end what it showed before.
    fn lose_output(&mut self) {
        let Some(screen) = self.session.as_ref().map(Session::screen) else { return };
        let rows = String::from_utf8(screen.to_ansi()).unwrap().replace('\n', "\r\n");
        let Cursor { row, col, .. } = screen.cursor();
        let drawn = format!("\x1b[H\x1b[2J{rows}\x1b[{};{}H", row + 1, col + 1);
        self.holder.forget_all();
        self.holder.write(drawn.as_bytes());
    }

    pub(super) fn break_connection(&mut self) {
        if self.subscribed.is_some() {
            self.narrate("the connection to the holder breaks");
            // What is on its way in either direction is lost with it.
            let daemon = self.daemon;
            self.happenings.retain(|_, (of, happening)| {
                *of != daemon
                    || !matches!(
                        happening,
                        Happening::Arrive(Arrival::Answered(_) | Arrival::Inspected(_) | Arrival::Exited)
                    )
            });
            self.subscribed = None;
            self.arrive(0, Arrival::NoConnection);
            if self.loses_output {
                self.lose_output();
            }
        }
    }

    pub(super) fn evidence(&self) -> Evidence {
        let exit = self.agent.ended.map(|code| (Some(code), None));
        Evidence { exit, held: self.agent.ended.is_none(), started: true }
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        let code = self.agent.ended?;
        Some(Exit {
            status: Some(code),
            signal: None,
            at: self.now().wall,
            written: self.holder.written(),
            typed: self.holder.last_message(),
            cpu_us: 0,
            max_rss_kib: 0,
        })
    }
}
