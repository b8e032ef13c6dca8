//! What the agent is doing, and how everybody hears of it.

use ostler_agents::Observer;
use ostler_core::detector::{Action, Event, Memory, Verdict};
use ostler_core::lifecycle::Phase;
use ostler_core::{Timestamp, Usage};
use ostler_screen::{Screen, Signal};
use serde::{Deserialize, Serialize};

use super::Actor;
use super::conversation::Conversation;
use crate::continuity::Told;
use crate::knowledge::Known;
use crate::session::info;
use crate::transcript::TailState;
use crate::{clock, process};

/// What the record keeps of a detector.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// Since when the agent has been in its state.
    since: Timestamp,
    detector: Memory,
    /// How far the transcript was read.
    #[serde(default)]
    transcript: Option<TailState>,
    /// What was said of late.
    #[serde(default)]
    told: Told,
    /// The transcript tells what the agent says.
    #[serde(default)]
    tells_replies: bool,
    /// What was spent, as far as the transcript was read.
    #[serde(default)]
    usage: Usage,
}

impl Remembered {
    pub(super) fn read(text: Option<&str>) -> Option<Self> {
        serde_json::from_str(text?).ok()
    }
}

/// The observer of a session, since when the agent has been in its state, and what is known of its conversation.
pub(super) fn observer(known: &Known, memory: Option<&str>) -> (Observer, Option<Timestamp>, Conversation) {
    let Known { book, settings, expectations, .. } = known;
    let remembered = Remembered::read(memory);
    let since = remembered.as_ref().map(|remembered| remembered.since);
    let (memory, conversation) = remembered.map_or_else(Default::default, |remembered| {
        let Remembered { detector, transcript, told, usage, tells_replies, .. } = remembered;
        (Some(detector), Conversation::resumed(transcript, told, usage, tells_replies))
    });
    (Observer::new(book.clone(), *settings, *expectations, memory, clock::steady()), since, conversation)
}

impl Actor {
    /// Takes in what the output said beside the picture.
    pub(super) async fn on_output(&mut self, signals: &[Signal]) {
        if !self.watches() {
            // Old output is no sign of work; what it said of the agent holds until it says otherwise.
            let mut told = signals.iter().filter(|signal| matches!(signal, Signal::ProgramStatus(_)));
            self.old_signals.extend(told.next_back().cloned());
            return;
        }
        self.deliveries.changed = clock::steady();
        self.observe(|observer, screen, now| observer.output(screen, signals, now)).await;
    }

    /// The output that was there before is on the screen now.
    pub(super) async fn on_caught_up(&mut self) {
        if !self.watches() {
            return;
        }
        let told: Vec<Signal> = std::mem::take(&mut self.old_signals).into_iter().rev().take(1).collect();
        self.observe(|observer, screen, now| observer.output(screen, &told, now)).await;
    }

    /// Lets the observer learn something, and does what follows from it.
    pub(super) async fn learn(&mut self, event: Event) {
        self.observe(|observer, _, now| observer.event(event, now)).await;
    }

    pub(super) async fn observe(
        &mut self,
        step: impl FnOnce(&mut Observer, &mut Screen, Timestamp) -> Vec<Action>,
    ) {
        let before = self.observer.detector().verdict().state;
        let actions = step(&mut self.observer, &mut self.output.screen, clock::steady());
        self.deliveries.composer_seen |= self.observer.composer().is_some();
        if actions.contains(&Action::Announce) {
            self.announce(before != self.observer.detector().verdict().state).await;
        }
        if actions.contains(&Action::Sample) {
            self.sample().await;
        }
        Box::pin(self.answer_dialog()).await;
        Box::pin(self.overhear()).await;
        Box::pin(self.deliver(None)).await;
        self.consult().await;
    }

    /// Records what the agent is doing now, then tells those who wait.
    async fn announce(&mut self, changed: bool) {
        let verdict = self.observer.detector().verdict().clone();
        let at = clock::now();
        if changed {
            self.since = at;
        }
        self.conversation.set_active(verdict.state);
        let remembered = Remembered {
            since: self.since,
            detector: self.observer.detector().memory(),
            transcript: self.conversation.read.clone(),
            told: self.conversation.told.clone(),
            tells_replies: self.conversation.tells_replies,
            usage: self.conversation.usage,
        };
        let Verdict { state, kind, confidence, because, until, .. } = &verdict;
        tracing::info!(session = %self.record.start.name, %state, ?kind, confidence, ?because, "state");
        let details = serde_json::json!({
            "state": state, "kind": kind, "confidence": info::rounded(*confidence), "because": because, "until": until,
        });
        if let Ok(memory) = serde_json::to_string(&remembered) {
            let id = self.record.start.id.clone();
            let recorded =
                self.shared.store.run(move |store| store.session_observed(&id, &memory, details, at)).await;
            self.log_store(&recorded);
        }
        self.publish();
    }

    /// Tells those who wait what the session is doing.
    pub(super) fn publish(&mut self) {
        let (state, ..) = self.described();
        self.state.send_replace(state);
    }

    /// What the session is doing: its life first, then the agent.
    pub(super) fn described(&self) -> (ostler_core::State, Option<String>, Vec<String>) {
        match self.lifecycle.phase() {
            Phase::Attached => {
                let verdict = self.observer.detector().verdict();
                (verdict.state, verdict.kind.clone(), verdict.because.clone())
            }
            phase => info::describe(phase),
        }
    }

    /// Looks at the processes, because nothing better tells.
    async fn sample(&mut self) {
        let Some(program) = self.record.pid else { return };
        let session = self.record.start.id.clone();
        let now = clock::steady();
        let before =
            self.ticks.map(|(ticks, at)| (ticks, u64::try_from(now.since(at).as_millis()).unwrap_or(0)));
        let look = move || process::sample(program, &session, before);
        let Ok((sample, ticks)) = tokio::task::spawn_blocking(look).await else { return };
        self.ticks = Some((ticks, now));
        // No look leads to another at once: the next one has its deadline.
        let actions = self.observer.event(Event::Sampled(sample), clock::steady());
        if actions.contains(&Action::Announce) {
            Box::pin(self.announce(true)).await;
        }
    }

    /// Whether the agent is watched: the old output is on the screen, and the rules are known.
    pub(super) fn watches(&self) -> bool {
        self.catching_up.is_none() && self.learning.is_none()
    }

    /// Reads the rules, aside: compiling them takes its time, and nobody has to wait for it.
    pub(super) fn learn_rules(&mut self) {
        let (knowledge, start) = (self.shared.knowledge.clone(), self.record.start.clone());
        self.learning = Some(tokio::task::spawn_blocking(move || {
            knowledge.of(start.agent.as_deref(), start.agent_version.as_deref(), start.cwd.as_ref())
        }));
    }

    /// Waits until the rules are known, where nothing can be said without them.
    pub(super) async fn await_rules(&mut self) {
        if let Some(learning) = self.learning.take() {
            self.on_rules(learning.await.ok()).await;
        }
    }

    /// The rules are known now.
    pub(super) async fn on_rules(&mut self, known: Option<Known>) {
        let Some(known) = known else { return };
        let Known { book, settings, expectations, .. } = known.clone();
        self.known = known;
        self.observer.use_rules(book, settings, expectations, clock::steady());
        self.learn_policy();
        self.appoint().await;
        self.follow_conversation();
        self.on_caught_up().await;
    }
}
