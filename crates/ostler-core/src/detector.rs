//! What an agent is doing.
//!
//! Signals come in as events; each kind has a place where its newest word is kept. After every event the whole
//! is weighed afresh, best evidence first:
//!
//! 1. a dialog on the screen, in the place where dialogs are, or the agent's word that it waits for a person;
//! 2. definitive word of the agent: its status on the terminal, or its hooks;
//! 3. rules that know this agent's screen;
//! 4. signs that prove nothing alone, and rules for agents in general, added up.
//!
//! What looks like a dialog of agents in general comes before all but the word that it works.
//!
//! What nothing speaks for is `unknown`. A weighing also says when it would come out differently if nothing
//! happened; that is the deadline. With none, an agent at rest costs nothing.

mod event;
mod evidence;
mod limits;
mod looks;
mod seen;
mod settings;
mod signs;
mod turn_begin;
mod verdict;
mod view;
mod weigh;
mod word;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use event::{Action, Event};
pub use evidence::{At, Claim, Finding, ProcessSample, Reading, Reporter, TurnRecord};
pub use settings::{Settings, Weights};
pub use verdict::Verdict;

use self::evidence::Activity;
use self::limits::Limits;
use self::looks::Looks;
use self::seen::Seen;
use self::weigh::Ground;
use crate::{Asking, State, Steady};

/// What is known beforehand about a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Expectations {
    /// It tells its status on the terminal once it is ready.
    pub status: bool,
    /// There are rules that know its screen.
    pub rules: bool,
    /// Its transcript tells the end of a turn.
    pub transcript_ends: bool,
    /// Its composer is known: it is ready when that is there.
    pub composer: bool,
}

/// What a detector must not forget when the daemon dies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    verdict: Verdict,
    ready: bool,
    claim: Option<At<Claim>>,
    hooks: TurnRecord,
    transcript: TurnRecord,
}

/// The detector of one session.
#[derive(Debug, Clone)]
pub struct Detector {
    settings: Settings,
    expectations: Expectations,
    born: Steady,
    /// It was ready once.
    ready: bool,
    claim: Option<At<Claim>>,
    /// When it claimed to be idle for the first time.
    first_idle: Option<Steady>,
    /// When it last claimed to be at work.
    told_of_work: Option<Steady>,
    hooks: TurnRecord,
    transcript: TurnRecord,
    reading: Reading,
    sight: ScreenKnowledge,
    /// Since when the screen shows each of these, without a break.
    seen: Seen,
    /// When the composer was emptied of a prompt, and until when that means work.
    emptied: Option<Steady>,
    emptied_until: Steady,
    typed: Option<Steady>,
    /// What was typed last ended with Enter; otherwise it is what empties the composer.
    typed_enter: bool,
    /// When Enter was typed, or a prompt taken otherwise, until something shows what became of it.
    entered: Option<Steady>,
    /// The composer was seen without a draft since then: what stands in it later is another one.
    vacant: bool,
    /// It was given a prompt where it was idle, and has not been idle since.
    away: bool,
    /// Something was asked of it, in the time of this daemon or an earlier one.
    asked: bool,
    /// When it was last given a prompt, as far as one can tell, and which failures and answers its screen showed then.
    prompted: Option<At<Vec<u64>>>,
    activity: Activity,
    sample: Option<At<ProcessSample>>,
    looks: Looks,
    judged: Option<At<State>>,
    limits: Limits,
    /// Its own process has ended, and the program that is its terminal's has not.
    gone: bool,
    verdict: Verdict,
    ground: Ground,
    deadline: Option<Steady>,
}

/// How much the last reading tells about the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScreenKnowledge {
    /// What it does not tell is not there.
    Current,
    /// Output is missing since.
    Lost,
    /// Nobody has looked since another daemon did: until then its verdict holds, whatever else is remembered.
    Remembered { until: Steady },
}

impl Detector {
    /// The detector of a program that was just started.
    pub fn new(settings: Settings, expectations: Expectations, now: Steady) -> Self {
        let verdict = Verdict {
            state: State::Starting,
            kind: None,
            confidence: 1.0,
            because: vec!["the program was started".into()],
            until: None,
            since: now,
        };
        Self {
            settings,
            expectations,
            born: now,
            ready: false,
            claim: None,
            first_idle: None,
            told_of_work: None,
            hooks: TurnRecord::default(),
            transcript: TurnRecord::default(),
            reading: Reading::default(),
            sight: ScreenKnowledge::Current,
            seen: Seen { reading: now, ..Seen::default() },
            emptied: None,
            emptied_until: now,
            typed: None,
            typed_enter: false,
            entered: None,
            vacant: false,
            away: false,
            asked: false,
            prompted: None,
            activity: Activity::default(),
            sample: None,
            looks: Looks::default(),
            judged: None,
            limits: Limits::default(),
            gone: false,
            verdict,
            ground: Ground::Evidence,
            // A program that never does anything is weighed too.
            deadline: Some(now.plus(millis(settings.pause_ms))),
        }
    }

    /// The detector of a program that another daemon looked after.
    ///
    /// Moments of another daemon's clock mean nothing here: what is remembered is as old as this detector.
    pub fn recovered(settings: Settings, expectations: Expectations, memory: Memory, now: Steady) -> Self {
        let Memory { verdict, ready, claim, hooks, transcript } = memory;
        // It went to work since it said that it rests, and has yet to tell, or nobody has heard it.
        let outdated = verdict.state == State::Working;
        let rested = |claim: &At<Claim>| matches!(claim.what, Claim::Idle | Claim::Watching | Claim::Done);
        let record = |record: TurnRecord| {
            let record = record.learnt(now);
            if outdated { record.without_end() } else { record }
        };
        Self {
            ready,
            asked: ready,
            sight: ScreenKnowledge::Remembered { until: now.plus(millis(settings.silence_ms)) },
            claim: claim.filter(|claim| !(outdated && rested(claim))).map(|claim| At { at: now, ..claim }),
            hooks: record(hooks),
            transcript: record(transcript),
            verdict: Verdict { since: now, ..verdict },
            ..Self::new(settings, expectations, now)
        }
    }

    /// Uses other settings from now on.
    pub fn configure(&mut self, settings: Settings, expectations: Expectations) {
        (self.settings, self.expectations) = (settings, expectations);
    }

    /// Takes an event in and says what to do.
    #[must_use]
    pub fn handle(&mut self, event: Event, now: Steady) -> Vec<Action> {
        match event {
            Event::Drawn { at } => {
                let echo = millis(self.settings.echo_ms);
                let echo = self.typed.is_some_and(|typed| at >= typed && at.since(typed) < echo);
                self.activity.output(at, echo, self.settings.pause_ms);
            }
            Event::Typed { enter } => {
                (self.typed, self.typed_enter) = (Some(now), enter);
                // Before the agent is ready, Enter answers a dialog of its start; in a dialog, that one.
                if enter && self.ready && self.seen.blocked.is_none() {
                    self.entered = Some(now);
                    self.vacant = false;
                    self.prompt(now);
                }
            }
            Event::Begun => {
                self.entered = Some(now).filter(|_| self.ready);
                self.vacant = true;
                self.prompt(now);
            }
            Event::Read(reading) => {
                self.sight = ScreenKnowledge::Current;
                self.read(reading, now);
            }
            Event::Claimed(claim) => self.claimed(claim, now),
            Event::Reported(reporter, fact) => self.record_of(reporter).update(&fact, now, now),
            Event::Written { fact, at } => self.transcript.update(&fact, at.min(now), now),
            Event::Sampled(sample) => {
                self.sample = sample.map(|what| At { what, at: now });
                self.looks.reported(&self.settings, now);
            }
            Event::AgentRuns(runs) => self.gone = !runs,
            Event::LimitEnds(at) => self.limits.stated(at),
            Event::Judged(state) => self.judged = Some(At { what: state, at: now }),
            Event::Lost => {
                self.claim = None;
                self.sight = ScreenKnowledge::Lost;
                self.activity.output(now, false, self.settings.pause_ms);
                self.read(Reading::default(), now);
            }
            Event::Tick => {}
        }
        self.settle(now)
    }

    fn prompt(&mut self, now: Steady) {
        self.asked = true;
        self.away |= self.verdict.state == State::Idle;
        let shown = self.reading.failures().chain(self.reading.answers());
        let what = shown.map(|finding| finding.print).collect();
        self.prompted = Some(At { what, at: now });
    }

    fn claimed(&mut self, claim: Option<Claim>, now: Steady) {
        if self.first_idle.is_none() && claim == Some(Claim::Idle) {
            self.first_idle = Some(now);
        }
        if claim == Some(Claim::Working) {
            self.told_of_work = Some(now);
        }
        self.emptied = None;
        // That it still rests may have been said before it saw what was typed.
        let rested = matches!(self.claim, Some(At { what: Claim::Idle | Claim::Watching | Claim::Done, .. }));
        if !(rested && claim == Some(Claim::Idle)) {
            self.entered = None;
        }
        self.claim = claim.map(|what| At { what, at: now });
    }

    fn read(&mut self, reading: Reading, now: Steady) {
        self.seen.look(&self.reading, &reading, now);
        let (working, blocked) = (self.seen.working.is_some(), self.seen.blocked.is_some());
        let was_emptied = self.reading.draft == Some(true) && reading.draft == Some(false);
        // What somebody erased was not submitted.
        let erased = self.typed.is_some() && !self.typed_enter;
        if self.ready && was_emptied && !erased && !self.is_answered() {
            self.emptied = Some(now);
            self.emptied_until = now.plus(self.begin_grace(now));
        }
        if reading.draft == Some(true) || working || blocked {
            self.emptied = None;
        }
        // Work that shows since before Enter is of another turn.
        let went_to_work = self.entered.is_some_and(|entered| self.seen.working >= Some(entered));
        if went_to_work || blocked {
            self.entered = None;
        }
        // An answer is on the screen that was not there before: nothing more comes of what was typed.
        let old = |finding: &Finding| {
            self.prompted.as_ref().is_some_and(|prompted| prompted.what.contains(&finding.print))
        };
        if !working && !blocked && reading.answers().any(|answer| !old(answer)) {
            (self.entered, self.emptied) = (None, None);
        }
        self.vacant |= reading.draft == Some(false);
        self.reading = reading;
    }

    /// How long an agent may take to show work once it has taken a prompt: the longer, the longer it took for that.
    fn begin_grace(&self, taken: Steady) -> Duration {
        let took = self.entered.map_or(Duration::ZERO, |entered| taken.since(entered));
        let longest = millis(self.settings.enter_grace_ms);
        millis(self.settings.submit_grace_ms).max(longest.min(took * 2))
    }

    /// Whether the agent has told that it is done with the last prompt: its screen may be slower than its word.
    ///
    /// That it worked, and rests now, does not tell so: some work for a moment while they start.
    fn is_answered(&self) -> bool {
        let Some(prompted) = &self.prompted else { return false };
        let over = |claim: Claim| matches!(claim, Claim::Done | Claim::Watching);
        let claimed = self.claim.is_some_and(|claim| over(claim.what) && claim.at >= prompted.at);
        let told = |record: &TurnRecord| {
            let began = record.begun.is_some_and(|begun| begun >= prompted.at);
            began && record.open.is_some_and(|open| !open.what)
        };
        claimed || told(&self.hooks) || told(&self.transcript)
    }

    fn record_of(&mut self, reporter: Reporter) -> &mut TurnRecord {
        match reporter {
            Reporter::Hook | Reporter::Transport | Reporter::Screen => &mut self.hooks,
            Reporter::Transcript => &mut self.transcript,
        }
    }

    /// Weighs everything, and announces what is new.
    fn settle(&mut self, now: Steady) -> Vec<Action> {
        let weighed = self.weigh(now);
        let weighed = self.heed_limit(weighed, now);
        let mut actions = Vec::new();
        let moved = self.moved();
        if self.looks.is_due(weighed.ground, moved, &self.settings, now) {
            actions.push(Action::Sample);
        }
        self.ground = weighed.ground;
        let look = self.looks.deadline(weighed.ground, moved, &self.settings);
        self.deadline = [weighed.again, look].into_iter().flatten().filter(|again| *again > now).min();
        if matches!(weighed.state, State::Idle | State::Working | State::Watching) {
            self.ready = true;
        }
        if matches!(weighed.state, State::Idle | State::Watching) {
            self.away = false;
        }
        let same = weighed.state == self.verdict.state;
        let verdict = Verdict {
            state: weighed.state,
            kind: weighed.kind,
            confidence: weighed.confidence,
            because: weighed.because,
            until: weighed.until,
            since: if same { self.verdict.since } else { now },
        };
        if verdict.differs(&self.verdict) {
            actions.push(Action::Announce);
        }
        self.verdict = verdict;
        actions
    }

    /// The record of the turn that counts: hooks, where the agent has them, for they come at once.
    fn record(&self) -> &TurnRecord {
        if self.hooks.open.is_some() || self.hooks.asked.is_some() { &self.hooks } else { &self.transcript }
    }

    fn waits_for(&self) -> Option<At<Asking>> {
        self.record().asked
    }
}

fn millis(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

#[cfg(test)]
mod tests;
