//! Doing what a session says.

use std::time::Duration;

use ostler_hold::{Remains, read_remains, tree};
use ostler_protocol::InterruptInfo;
use ostler_session::{
    Answer, ConversationSummary, Effect, Event, Grants, HookContext, LastOutput, Log, MessageView,
};
use ostler_store::StoreError;

use super::commands::Reply;
use super::{Actor, commit};
use crate::context::Wanted;
use crate::judge::Question;
use crate::session::{by_file, info, problems};
use crate::transport::{Holder, Transport, exit};
use crate::{clock, left_blocks, policy, preparation, process, snapshot};

impl Actor {
    pub(super) async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Commit { changes, at } => {
                let id = self.record.start.id.clone();
                let record = move |store: &mut ostler_store::Store| {
                    store.batch(|store| {
                        changes.iter().try_for_each(|change| commit::apply(store, &id, change, at))
                    })
                };
                let recorded = self.services.store.run(record).await;
                self.note_store_error(recorded);
            }
            Effect::Connect
            | Effect::Disconnect
            | Effect::Request(_)
            | Effect::StopBySignal
            | Effect::ReadRemains => self.perform_transport(effect),
            Effect::SaveScreen => self.save_screen(),
            Effect::LoadRules => {
                let (knowledge, start) = (self.services.knowledge.clone(), self.record.start.clone());
                self.reading_rules = Some(tokio::task::spawn_blocking(move || {
                    knowledge.of(start.agent.as_deref(), start.agent_version.as_deref(), start.cwd.as_ref())
                }));
            }
            Effect::FollowTranscript | Effect::NameTranscript { .. } | Effect::TranscriptActive(_) => {
                self.perform_transcript(effect);
            }
            Effect::Sample => self.sample(),
            Effect::FindKeyDriven { group, names } => self.find_key_driven(group, names),
            Effect::CheckGrants => {
                let grants = Grants {
                    folder: policy::is_trusted(&self.services.home, self.record.start.cwd.as_ref()),
                    unattended: preparation::is_unattended(self.record.start.dir.as_ref()),
                };
                self.session.handle(Event::Grants(grants), clock::both());
            }
            Effect::StoreBody { order, id, text } => {
                let dir = self.dir.path().to_owned();
                self.errands.spawn_blocking(move || {
                    let stored = by_file::put(&dir, &id, &text).map_err(|error| error.to_string());
                    Event::BodyStored { order, stored }
                });
            }
            Effect::FindAgent { names } => self.find_agent(names),
            Effect::AwaitAgentEnd { pid } => self.await_agent_end(pid),
            Effect::AskJudge { question } => self.ask_judge(question),
            Effect::CancelJudge => self.question = None,
            Effect::Examine { question, checks } => self.examine(question, checks),
            Effect::GatherContext => {
                let (context, start) = (self.services.context.clone(), self.record.start.clone());
                self.errands.spawn(async move {
                    let found =
                        context.for_session(Some(&start.id), start.cwd.as_ref(), Wanted::default()).await;
                    let found = found.inspect_err(
                        |error| tracing::warn!(%error, "what waits for the session cannot be read"),
                    );
                    let known = found.map(|found| found.text).ok().filter(|text| !text.is_empty());
                    let unknown = || "Nothing is known of this project yet.".to_owned();
                    Event::ContextGathered(known.unwrap_or_else(unknown))
                });
            }
            Effect::Escalate(escalation) => self.escalate(escalation).await,
            Effect::Withdraw { id } => self.withdraw(&id).await,
            Effect::GotThrough(message) => self.de_escalate(&message).await,
            Effect::KeepSummary(summary) => {
                let at = self.session.ending().map_or_else(clock::now, |ending| ending.at);
                self.services.records.record_so_far(&self.record.start, at, &summary).await;
            }
            Effect::Ended(summary) => self.ended(*summary).await,
            Effect::Answer(ticket, answer) => {
                if let Some(reply) = self.replies.remove(&ticket) {
                    self.answer(reply, answer).await;
                }
            }
            Effect::Print { ticket, context } => self.print(ticket, context),
            Effect::Heard(ticket) => {
                if let Some((claim, event)) = self.claims.remove(&ticket) {
                    tracing::debug!(session = %self.record.start.name, event, "hook heard");
                    claim.heard();
                }
            }
            Effect::AnswerStoppers => {
                let id = Some(self.record.start.id.as_str());
                let gone =
                    self.session.holder().is_none_or(|holder| tree::descendants(holder, id).is_empty());
                if gone {
                    self.answer_stoppers();
                }
            }
            Effect::State(state) => drop(self.mailbox.state.send_replace(state)),
            Effect::StopsChanged => drop(self.mailbox.stops.send_replace(Some(*self.session.stops()))),
            Effect::Size(size) => drop(self.mailbox.size.send_replace(size)),
            Effect::Log(log) => self.log(&log),
        }
    }

    /// Does what concerns the program and its holder.
    fn perform_transport(&mut self, effect: Effect) {
        match effect {
            Effect::Connect => {
                let (dir, epoch) = (self.dir.clone(), self.services.epoch);
                self.connecting = Some(tokio::spawn(async move { Holder::connect(&dir, epoch).await }));
            }
            Effect::Disconnect => self.transport = None,
            Effect::Request(request) => {
                if let Some(transport) = &mut self.transport {
                    transport.request(&request);
                }
            }
            Effect::StopBySignal => {
                if let Some(holder) = self.dir.read_identity() {
                    holder.signal(rustix::process::Signal::TERM);
                }
            }
            Effect::ReadRemains => {
                let exit = self.dir.read_exit().as_ref().map(exit);
                let output = read_remains(&self.dir.ring()).ok();
                let output = output.map(|Remains { oldest: offset, modes, bytes }| LastOutput {
                    offset,
                    modes,
                    bytes,
                });
                self.session.handle(Event::Remains { exit, output }, clock::both());
            }
            _ => {}
        }
    }

    /// Does what concerns the agent's transcript.
    fn perform_transcript(&mut self, effect: Effect) {
        match effect {
            Effect::FollowTranscript => {
                if let Some(event) = self.follow_transcript() {
                    self.session.handle(event, clock::both());
                }
            }
            Effect::NameTranscript { path, session } => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.named(path.map(Into::into), session);
                }
            }
            Effect::TranscriptActive(active) => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.set_active(active);
                }
            }
            _ => {}
        }
    }

    /// Tells the session whether the store took its last commit.
    fn note_store_error(&mut self, recorded: Result<(), StoreError>) {
        let event = match recorded {
            Ok(()) => Event::Committed,
            Err(error) => {
                tracing::error!(session = %self.record.start.name, %error, "not recorded");
                self.store_error = Some(error);
                Event::NotCommitted
            }
        };
        self.session.handle(event, clock::both());
    }

    pub(super) fn save_screen(&mut self) {
        if let Err(error) = snapshot::save(&self.dir, self.session.screen(), self.session.offset()) {
            // The ring has to do.
            tracing::debug!(%error, dir = %self.dir.path().display(), "the screen is not saved");
        }
    }

    /// Looks at the processes, aside.
    fn sample(&mut self) {
        let Some(program) = self.session.pid() else { return };
        let session = self.record.start.id.clone();
        let looks = self.services.processes.clone();
        self.errands.spawn_blocking(move || Event::Sampled(process::sample(&looks, program, &session)));
    }

    /// Looks whether a program that takes keys for commands has the terminal, aside.
    fn find_key_driven(&mut self, group: u32, names: Vec<String>) {
        let (pid, session) = (self.session.pid(), self.record.start.id.clone());
        let looks = self.services.processes.clone();
        let look =
            move || pid.is_some_and(|pid| process::runs_in_group(&looks, pid, &session, group, &names));
        self.errands.spawn_blocking(move || Event::KeyDriven(look()));
    }

    /// Looks for the agent's own process, aside.
    fn find_agent(&mut self, names: Vec<String>) {
        let Some(program) = self.session.pid() else { return };
        let session = self.record.start.id.clone();
        let looks = self.services.processes.clone();
        let find = move || process::find_agent(&looks, program, &session, &names);
        self.errands.spawn_blocking(move || Event::AgentFound(find()));
    }

    fn await_agent_end(&mut self, pid: u32) {
        self.errands.spawn(async move {
            process::await_end(pid).await;
            Event::AgentEnded
        });
    }

    fn ask_judge(&mut self, number: u64) {
        let limit = Duration::from_secs(self.judge.settings.limit_seconds.into());
        let asked = match self.judge.agent.clone() {
            Some(Ok(agent)) => {
                let (screen, home) = (self.session.screen().text(), self.services.home.clone());
                Question::ask(number, &screen, agent, home, &self.services.turns, limit)
                    .map_err(|error| error.to_string())
            }
            Some(Err(reason)) => Err(reason),
            None => Err("no judge is appointed".into()),
        };
        match asked {
            Ok(question) => {
                tracing::info!(session = %self.record.start.name, number, "the judge is asked");
                self.question = Some(question);
            }
            Err(reason) => {
                let event = ostler_core::judge::Event::Answered { question: number, answer: Err(reason) };
                self.session.handle(Event::Judge(event), clock::both());
            }
        }
    }

    async fn ended(&mut self, summary: ConversationSummary) {
        self.record.ending = self.session.ending().cloned();
        let at = self.session.ending().map_or_else(clock::now, |ending| ending.at);
        self.services.records.record_end(&self.record.start, at, summary, self.watcher.take());
        left_blocks::take_out_at_end(&self.services.home, &self.services.store, &self.record.start).await;
        self.services.ended.notify_one();
    }

    async fn answer(&mut self, reply: Reply, answer: Answer) {
        match (reply, answer) {
            (Reply::Message(reply), Answer::Message(view)) => {
                let _ = reply.send(Ok(self.shown(*view).await));
            }
            (Reply::Message(reply), Answer::Refused(refusal)) => {
                let error = self.store_error.as_ref();
                let _ = reply.send(Err(problems::of(refusal, error)));
            }
            (Reply::Settled(reply), Answer::Message(view)) => {
                let _ = reply.send(self.shown(*view).await);
            }
            (Reply::Noted(reply), Answer::Noted) => drop(reply.send(())),
            // Who waits for a message that was refused is told by the refusal.
            (Reply::Settled(_), Answer::Refused(_)) => {}
            (Reply::Terminal(reply), Answer::Terminal(status)) => {
                let mut info = self.info();
                info.terminal = status.as_ref().map(info::terminal);
                let _ = reply.send(info);
            }
            (Reply::Answer(reply), Answer::Answered(answered)) => {
                let _ = reply.send(Ok(info::answered(&self.record.start.name, *answered)));
            }
            (Reply::Answer(reply), Answer::Refused(refusal)) => {
                let _ = reply.send(Err(problems::of(refusal, self.store_error.as_ref())));
            }
            (Reply::Interrupt(reply), Answer::Interrupted(outcome)) => {
                let session = Box::new(self.info());
                let (outcome, pressed) = (outcome.as_str().to_owned(), outcome.pressed());
                let _ = reply.send(Ok(InterruptInfo { outcome, pressed, session }));
            }
            (Reply::Interrupt(reply), Answer::Refused(refusal)) => {
                let _ = reply.send(Err(problems::of(refusal, self.store_error.as_ref())));
            }
            (reply, answer) => tracing::error!(?reply, ?answer, "an answer to another question"),
        }
    }

    /// A message as its sender sees it. How else one went that failed, the record knows.
    pub(super) async fn shown(&self, view: MessageView) -> ostler_protocol::MessageInfo {
        let MessageView { mut message, waits_for } = view;
        if message.failure.is_some() {
            let (session, id) = (self.record.start.id.clone(), message.id.clone());
            let stored = self.services.store.run(move |store| store.message(&session, &id)).await;
            message.escalated = stored.ok().flatten().and_then(|stored| stored.escalated);
        }
        let mut shown = info::message(&self.record.start.name, &message);
        shown.waits_for = waits_for.map(str::to_owned);
        shown
    }

    /// Lets a hook print what it is to give its agent, and tells the session whether it could.
    fn print(&mut self, ticket: ostler_session::Ticket, context: Option<HookContext>) {
        let (given, text) = context.map(|it| ((it.orders, it.again), it.text)).unzip();
        let taken = match self.replies.remove(&ticket) {
            Some(Reply::Hook(print)) => print.send(text).is_ok(),
            _ => false,
        };
        if let Some((orders, again)) = given {
            self.session.handle(Event::HookPrinted { orders, again, taken }, clock::both());
        }
    }

    fn log(&self, log: &Log) {
        let session = &self.record.start.name;
        match log {
            Log::State { state, kind, confidence, because } => {
                tracing::info!(%session, %state, ?kind, confidence, ?because, "state");
            }
            Log::Dialog { event, details } => tracing::info!(%session, event, %details, "dialog"),
            Log::Warning(warning) => tracing::warn!(%session, warning),
        }
    }
}
