//! What the agent is doing: its output, its transcript and its hooks go to the detector, and what that concludes is
//! recorded and told.

use ostler_agents::Observer;
use ostler_agents::hooks::{HookSpec, decode};
use ostler_agents::transcript::TranscriptSpec;
use ostler_core::delivery::Witness;
use ostler_core::detector::{self, Action, Event, ProcessSample, Reporter, Verdict};
use ostler_core::{Fact, State, Steady};
use ostler_screen::Screen;
use serde_json::{Value, json};

use crate::change::Change;
use crate::effect::{Effect, Log};
use crate::event::{HookReport, TranscriptBatch};
use crate::memory::Remembered;
use crate::note::{Deferred, Note};
use crate::profile::AgentProfile;
use crate::session::Session;

impl Session {
    /// The program wrote something.
    pub(crate) fn on_output(&mut self, offset: u64, bytes: &[u8]) {
        let (owed, signals) = self.terminal.feed(offset, bytes);
        for owed in owed {
            if self.answer_status || !owed.is_status() {
                let actions = self.typing.reply(owed.offset, owed.bytes);
                self.note(Note::Typing(actions));
            }
        }
        if self.watches() {
            self.changed = self.now.steady;
            self.observe(|observer, screen, now| observer.output(screen, &signals, now));
        } else {
            // Old output is no sign of work.
            self.terminal.keep_old_status(&signals);
        }
        if self.terminal.take_caught_up(self.now.steady) {
            self.on_caught_up();
        }
        self.save_screen_if_due();
    }

    /// The output that was there before is on the screen now.
    pub(crate) fn on_caught_up(&mut self) {
        if self.watches() {
            let told: Vec<_> = self.terminal.take_old_status().into_iter().collect();
            self.observe(|observer, screen, now| observer.output(screen, &told, now));
            // What an earlier daemon saw of the agent may be how it still is: nothing changes then, and it may have stopped.
            self.look_for_stop();
        }
    }

    /// The rules are known now.
    pub(crate) fn on_rules(&mut self, profile: Option<Box<AgentProfile>>) {
        let deferred = self.unread_rules.take().unwrap_or_default();
        if let Some(profile) = profile {
            let AgentProfile { book, settings, expectations, judge, .. } = (*profile).clone();
            self.profile = *profile;
            self.observer.use_rules(book, settings, expectations, self.now.steady);
            self.configure_deliveries();
            self.configure_judge(judge);
            self.push(Effect::FollowTranscript);
            self.follow_state(self.observer.detector().verdict().state);
            self.on_caught_up();
        }
        for deferred in deferred {
            match deferred {
                Deferred::Hook(report) => self.on_hook(report),
                Deferred::Send(send) => self.on_send(*send),
            }
        }
        self.note(Note::Finish);
    }

    /// Whether there are reports that only the rules make sense of, and those are being read.
    pub(crate) fn has_unheard_reports(&self) -> bool {
        let deferred = self.unread_rules.iter().flatten();
        deferred.into_iter().any(|deferred| matches!(deferred, Deferred::Hook(_)))
    }

    /// Lets the detector learn something.
    pub(crate) fn detect(&mut self, event: Event) {
        self.observe(|observer, _, now| observer.event(event, now));
    }

    pub(crate) fn observe(&mut self, step: impl FnOnce(&mut Observer, &mut Screen, Steady) -> Vec<Action>) {
        let before = self.observer.detector().verdict().state;
        let actions = step(&mut self.observer, &mut self.terminal.screen, self.now.steady);
        if self.observer.composer().is_some() {
            self.outbox.composer_seen = true;
            let state = self.observer.detector().verdict().state;
            self.outbox.was_ready |= matches!(state, State::Idle | State::Working);
        }
        if self.observer.is_current() {
            self.terminal.complete_frame();
        }
        self.note(Note::Detected { actions, before });
    }

    /// What follows from a look.
    pub(crate) fn on_detected(&mut self, actions: &[Action], before: State) {
        if actions.contains(&Action::Announce) {
            self.announce(before != self.observer.detector().verdict().state);
        }
        if let Some(words) = self.observer.detector().unread_limit() {
            let ends = self.stops.limit_end(words, self.now);
            self.note(Note::Detect(Event::LimitEnds(ends)));
        }
        self.follow_agent(actions.contains(&Action::Sample));
        if actions.contains(&Action::Sample) && self.pid.is_some() {
            self.push(Effect::Sample);
        }
        self.ask_for_grants();
        self.note(Note::LookAtDialog);
        self.note(Note::ReadAgentSpeech);
        self.note(Note::Deliver);
        self.note(Note::UpdateJudge);
    }

    /// The processes were looked at.
    pub(crate) fn on_sample(&mut self, sample: Option<ProcessSample>) {
        if sample.is_none() && self.hidden_processes.is_none() {
            self.hidden_processes = Some(self.now.steady);
            let warning =
                "its processes cannot be seen in /proc: what they do is no sign of what the agent does";
            self.push(Effect::Log(Log::Warning(warning.into())));
        }
        let before = self.observer.detector().verdict().state;
        // No look leads to another at once: the next one has its deadline.
        let mut actions = self.observer.event(Event::Sampled(sample), self.now.steady);
        actions.retain(|action| *action == Action::Announce);
        self.note(Note::Detected { actions, before });
    }

    /// Since when the processes cannot be seen, if they cannot.
    pub fn hidden_processes(&self) -> Option<Steady> {
        self.hidden_processes
    }

    /// Records what the agent is doing now, then tells those who wait.
    fn announce(&mut self, changed: bool) {
        if changed {
            self.since = self.now.wall;
        }
        let detector = self.observer.detector();
        let Verdict { state, kind, confidence, because, until, .. } = detector.verdict().clone();
        self.follow_state(state);
        let details = json!({
            "state": state, "kind": kind, "confidence": rounded(confidence), "because": because, "until": until,
        });
        self.push(Effect::Log(Log::State { state, kind, confidence, because }));
        self.look_for_stop();
        if let Some(memory) = self.remembered() {
            self.record_note(Change::Observed { memory, event: "session.state", details });
        }
        // An end is told when it is recorded.
        if !self.life.is_ended() {
            self.publish();
        }
    }

    /// Records what the next daemon has to know, where no event tells of it.
    fn remember(&mut self) {
        if let Some(memory) = self.remembered() {
            self.record_note(Change::Remembered { memory });
        }
    }

    /// What the next daemon has to know.
    pub(crate) fn remembered(&self) -> Option<String> {
        let (detector, stops) = (self.observer.detector().memory(), self.stops.memory());
        let carrying_on = &self.carrying_on.machine;
        let remembered =
            Remembered::new(self.since, detector, &self.conversation, &stops, carrying_on, &self.calls);
        serde_json::to_string(&remembered.with_answers(self.dialogs.answers)).ok()
    }

    fn follow_state(&mut self, state: State) {
        let active = !matches!(state, State::Idle | State::Watching | State::Unknown);
        self.push(Effect::TranscriptActive(active));
    }

    /// Tells those who wait what the session is doing, behind its record.
    pub(crate) fn publish(&mut self) {
        let (state, ..) = self.described();
        self.push_behind(Effect::State(state));
    }

    /// When the observer wants to look again; of a program that is gone there is nothing to see.
    pub(crate) fn observing_until(&self) -> Option<Steady> {
        self.observer.deadline().filter(|_| self.is_attached() && self.watches())
    }

    /// Learns what the transcript says.
    pub(crate) fn on_transcript(&mut self, batch: TranscriptBatch) {
        let read = self.conversation.read.replace(batch.state);
        let path = |read: &Option<Value>| read.as_ref().and_then(|read| read.get("path").cloned());
        if path(&read) != path(&self.conversation.read) {
            // The next daemon is to know which file it is, and not to look for it.
            self.remember();
        }
        if let Some(problem) = &batch.problem {
            self.push(Effect::Log(Log::Warning(format!("transcript: {problem}"))));
        }
        self.conversation.tells_replies &= batch.problem.is_none();
        self.conversation.problem = batch.problem;
        let spent = self.conversation.usage;
        for (fact, at) in batch.facts {
            if let Fact::Used(usage) = &fact {
                let total = &mut self.conversation.usage;
                total.input += usage.input;
                total.cached += usage.cached;
                total.output += usage.output;
                total.cost_micros += usage.cost_micros;
            }
            // Where the prompt is, the reply will be.
            let spec = self.profile.agent.preset.transcript.as_ref();
            let prompt = matches!(fact, Fact::PromptSubmitted { .. });
            let expects_reply = prompt && spec.is_some_and(TranscriptSpec::tells_replies);
            self.conversation.tells_replies |= matches!(fact, Fact::Said { .. }) || expects_reply;
            let event = match at {
                Some(at) => Event::Written { fact: fact.clone(), at: self.now.steady_at(at) },
                None => Event::Reported(Reporter::Transcript, fact.clone()),
            };
            self.on_fact(fact, event, Witness::Transcript);
        }
        if self.conversation.usage != spent {
            // Those who listen are told what was spent, too.
            self.look_for_stop();
        }
    }

    /// A hook of the agent reports.
    pub(crate) fn on_hook(&mut self, report: HookReport) {
        // An agent that this one started inherits its environment, and speaks of itself.
        let foreign = report.agent.is_some() && report.agent != self.agent;
        if foreign {
            return self.done_with_hook(&report);
        }
        // What a report means is in the rules, and the first one may be quicker than their reader.
        if let Some(deferred) = &mut self.unread_rules {
            return deferred.push(Deferred::Hook(report));
        }
        let spec = self.profile.agent.preset.hooks.as_ref();
        let Some(decoded) = spec.map(|spec| decode(spec, &report.event, &report.payload)) else {
            return self.done_with_hook(&report);
        };
        // One hook runs, so the others will.
        self.outbox.tells_prompts |= spec.is_some_and(HookSpec::tells_prompts);
        let is_news = decoded.agent_session.clone().is_some_and(|id| self.conversation.identify(id));
        // Answered first: the agent waits for its hook.
        self.on_hook_chance(&report, &decoded);
        if is_news {
            self.remember();
        }
        if decoded.transcript.is_some() || decoded.agent_session.is_some() {
            let (path, session) = (decoded.transcript, decoded.agent_session);
            self.push(Effect::NameTranscript { path, session });
        }
        for fact in decoded.facts {
            self.outbox.contexts.on_fact(&fact);
            let event = Event::Reported(Reporter::Hook, fact.clone());
            self.on_fact(fact, event, Witness::Hook);
        }
        self.push_behind(Effect::Heard(report.ticket));
    }

    fn done_with_hook(&mut self, report: &HookReport) {
        if report.wants_context {
            self.push(Effect::Print { ticket: report.ticket, context: None });
        }
        self.push_behind(Effect::Heard(report.ticket));
    }

    /// Takes in what a hook or the transcript tells.
    fn on_fact(&mut self, fact: Fact, event: detector::Event, by: Witness) {
        self.conversation.on_fact(&fact);
        self.note(Note::Detect(event));
        match fact {
            Fact::PromptSubmitted { text } => self.note(Note::PromptTaken(by, text)),
            Fact::Said { text } => {
                self.heard_words();
                self.note(Note::AgentText(text));
                // A message may have waited for a confirmation.
                self.note(Note::Deliver);
            }
            _ => {}
        }
    }
}

/// A confidence as people want it: two digits.
pub(crate) fn rounded(confidence: f32) -> f64 {
    (f64::from(confidence) * 100.0).round() / 100.0
}
