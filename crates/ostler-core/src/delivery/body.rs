//! Up to Enter: when the text is typed, and whether it arrived.

use super::kept::Kept;
use super::{
    Action, ComposerView, Delivery, Event, FailReason, HoldReason, Mode, ProofEvidence, Stage, StartText,
    View, Write,
};
use crate::start_plan::StartupRoute;
use crate::{Proof, State, Steady};

impl Delivery {
    pub(super) fn await_given(
        &mut self,
        given: StartText,
        event: Event,
        view: &View,
        now: Steady,
    ) -> Vec<Action> {
        if event == Event::Taken {
            return self.keep(Kept::by_hook(), ProofEvidence::HookTook);
        }
        let argument = given.way == StartupRoute::Argument;
        if argument && view.at_work {
            return self.submitted(ProofEvidence::WentToWork);
        }
        let echoed = given.echoed.or((argument && view.echoed).then_some(now));
        let admitted = view.situation.admits(Mode::WhenIdle);
        if echoed.is_some() {
            if view.sight == ComposerView::Ours && self.policy.has_composer {
                return self.submitted(ProofEvidence::PutBack);
            }
            if matches!(admitted, Err(HoldReason::Working | HoldReason::Blocked | HoldReason::Limited)) {
                return self.submitted(ProofEvidence::Echoed);
            }
        } else if argument && view.sight == ComposerView::Ours {
            // It stands in the composer, and nobody pressed Enter.
            self.stage = Stage::Looking { since: now };
            return self.look(now, Event::Looked, view, now);
        }
        // Where its composer was never seen, nobody can tell that it rests.
        let unseen = view.situation.state == State::Unknown && self.policy.has_composer;
        let free = admitted.is_ok() && view.sight != ComposerView::Foreign && !unseen;
        let idle = free.then(|| given.idle.unwrap_or(now));
        self.stage = Stage::Given(StartText { idle, echoed, ..given });
        if let Some(echoed) = echoed {
            // It stands among what was said by an agent at rest, which may have yet to go to work.
            let rested = idle.map(|since| since.plus(self.policy.rest));
            let due = echoed.plus(self.policy.look).min(rested.unwrap_or(Steady(u64::MAX)));
            self.deadline = Some(due);
            return if now >= due { self.submitted(ProofEvidence::Echoed) } else { Vec::new() };
        }
        let Some(since) = idle else { return Vec::new() };
        let due = since.plus(if argument { self.policy.look } else { self.policy.look * 2 });
        if now < due {
            self.deadline = Some(due);
            return Vec::new();
        }
        if argument && self.unwatched {
            // It rests, but who knows since when: it may have answered it already.
            return self.fail(FailReason::Uncertain);
        }
        // An agent at rest has not begun with it.
        self.attempts = 0;
        let mut actions = self.missing(now);
        self.stage = Stage::Waiting { not_before: Steady(0) };
        self.deadline = Some(now);
        actions.extend(self.wait(Steady(0), view, now));
        actions
    }

    /// Whether the text is typed without seeing it, because that was asked for and nothing was ever seen.
    fn goes_blind(&self, view: &View) -> bool {
        let never_seen = view.situation.is_opaque() && view.sight == ComposerView::Hidden;
        never_seen && self.mode == Mode::Now && self.policy.has_composer
    }

    /// Nothing was typed for it, and the hook of a turn that begins took it.
    pub(super) fn is_taken_by_prompt_hook(&self, event: Event) -> bool {
        event == Event::Taken && self.is_waiting() && self.attempts == 0
    }

    pub(super) fn wait(&mut self, not_before: Steady, view: &View, now: Steady) -> Vec<Action> {
        if now < not_before {
            self.deadline = Some(not_before);
            return Vec::new();
        }
        if let Err(shut) = view.situation.admits(self.mode) {
            if shut == HoldReason::Working && self.mode == Mode::Interrupt && !self.interrupted {
                self.interrupted = true;
                self.stage = Stage::Interrupting { typed: None };
                return vec![Action::Type(Write::Interrupt)];
            }
            self.shut = Some(shut);
            return Vec::new();
        }
        match view.sight {
            // What a crash, or the agent, has put there.
            ComposerView::Ours if self.attempts > 0 => {
                self.stage = Stage::Looking { since: now };
                self.look(now, Event::Looked, view, now)
            }
            ComposerView::Part | ComposerView::Garbled if self.attempts > 0 => self.begin_clearing(view, now),
            ComposerView::Earlier => self.begin_clearing(view, now),
            // Where no composer is known, it may be the question that the text answers.
            ComposerView::Ours | ComposerView::Part | ComposerView::Garbled if self.policy.has_composer => {
                self.shut = Some(HoldReason::Draft);
                Vec::new()
            }
            ComposerView::Foreign if self.policy.has_composer || self.mode != Mode::Now => {
                self.shut = Some(HoldReason::Draft);
                Vec::new()
            }
            // A known composer that is not there is behind something, or was never there.
            ComposerView::Hidden if self.policy.has_composer && !self.goes_blind(view) => {
                let never = view.situation.is_opaque();
                self.shut = Some(if never { HoldReason::Unrecognised } else { HoldReason::Hidden });
                // Time alone may tell that it will not be seen.
                self.deadline = Some(now.plus(self.policy.look)).filter(|_| !never);
                Vec::new()
            }
            _ => {
                self.stage = Stage::Checking;
                vec![Action::Inspect]
            }
        }
    }

    fn clear_garbled(&mut self, view: &View, now: Steady) -> Vec<Action> {
        self.garbled = true;
        self.begin_clearing(view, now)
    }

    pub(super) fn check(&mut self, event: Event, view: &View, now: Steady) -> Vec<Action> {
        let Event::Inspected { cooked, .. } = event else { return Vec::new() };
        let cooked = (cooked && self.policy.raw_only).then_some(HoldReason::Cooked);
        let taken = (view.taken && self.mode != Mode::Now).then_some(HoldReason::Taken);
        if let Some(shut) = cooked.or(taken) {
            let not_before = now.plus(self.policy.enter_again);
            self.stage = Stage::Waiting { not_before };
            self.deadline = Some(not_before);
            self.shut = Some(shut);
            return Vec::new();
        }
        self.blind = self.goes_blind(view);
        let free = matches!(view.sight, ComposerView::Empty) || self.is_blind();
        if view.situation.admits(self.mode).is_err() || !free {
            self.stage = Stage::Waiting { not_before: Steady(0) };
            return self.wait(Steady(0), view, now);
        }
        self.attempts += u32::from(!std::mem::take(&mut self.counted));
        self.enters = 0;
        self.stage = Stage::Writing;
        vec![Action::Type(Write::Body)]
    }

    pub(super) fn interrupt(
        &mut self,
        typed: Option<Steady>,
        event: Event,
        view: &View,
        now: Steady,
    ) -> Vec<Action> {
        let waiting = Stage::Waiting { not_before: Steady(0) };
        let Some(typed) = typed else {
            let typed = Stage::Interrupting { typed: Some(now) };
            return self.await_keys(event, typed, now.plus(self.policy.interrupt));
        };
        let rested = view.situation.admits(Mode::WhenIdle).is_ok();
        if rested || now >= typed.plus(self.policy.interrupt) {
            self.stage = waiting;
            return self.wait(Steady(0), view, now);
        }
        self.deadline = Some(typed.plus(self.policy.interrupt));
        Vec::new()
    }

    pub(super) fn look(&mut self, since: Steady, event: Event, view: &View, now: Steady) -> Vec<Action> {
        self.blind |= self.goes_blind(view);
        // What is seen to be wrong is not entered unseen.
        let blind = self.is_blind() && view.sight != ComposerView::Garbled;
        let seen = view.sight == ComposerView::Ours;
        if seen || (blind && now >= since.plus(self.policy.enter_delay * 2)) {
            self.shut = None;
            // A text that is seen late was taken late.
            let enter_at = if seen { now.plus(self.policy.enter_delay) } else { now };
            self.stage = Stage::Seen { enter_at };
            let mut actions =
                if seen { self.prove(Proof::Seen, ProofEvidence::Composer) } else { Vec::new() };
            actions.extend(self.enter(enter_at, event, view, now));
            return actions;
        }
        if blind {
            self.deadline = Some(since.plus(self.policy.enter_delay * 2));
            return Vec::new();
        }
        // Another key was faster than our Enter, a person's perhaps.
        if view.sight == ComposerView::Empty && view.echoed && !view.repeated && self.proof >= Proof::Seen {
            return self.submitted(ProofEvidence::Echoed);
        }
        let rested = view.changed.max(since).plus(self.policy.rest);
        let latest = self.latest(since);
        // It never comes to rest: nothing is proven by what it does not show.
        let restless = now < rested && now >= latest;
        let due = since.plus(self.policy.look).max(rested.min(latest));
        // Behind a dialog there is nothing to see, and a person decides how long.
        let visible = view.situation.admits_enter().is_ok() && view.sight != ComposerView::Hidden;
        if !visible {
            // In the middle of a frame it is not there for a moment.
            let hidden =
                Some(HoldReason::Hidden).filter(|_| view.sight == ComposerView::Hidden && view.current);
            self.shut = view.situation.admits_enter().err().or(hidden).or(self.shut);
            return Vec::new();
        }
        // From when it was read on, what the agent draws tells something.
        if view.sight == ComposerView::Empty && !self.reading.is_read() {
            return self.ask_whether_read(since, event, now);
        }
        if now < due {
            self.deadline = Some(due);
            return Vec::new();
        }
        match view.sight {
            // It was never seen in the composer, and yet its words stand above it: typing again could double it.
            ComposerView::Empty if view.echoed || restless => self.fail(FailReason::Uncertain),
            ComposerView::Empty if self.reading.is_gone(self.policy.rest, view) => self.missing(now),
            // It was read, and nothing says that anything was done about it.
            ComposerView::Empty if now >= self.doubtful(since) => self.fail(FailReason::Uncertain),
            ComposerView::Empty => self.come_back(self.doubtful(since)),
            ComposerView::Part => self.begin_clearing(view, now),
            ComposerView::Garbled => self.clear_garbled(view, now),
            // Nothing stood there before, and nobody else has typed.
            ComposerView::Foreign if self.typed && !view.touched => self.clear_garbled(view, now),
            _ => self.fail(FailReason::Mixed),
        }
    }
}
