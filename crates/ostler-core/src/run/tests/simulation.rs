//! Whole runs against providers that fail at random and a shell that dies at random.
//!
//! Everything follows from a seed. The world remembers what it did for each act, as a real shell does, so that an act
//! that is asked for twice is done once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use crate::breaker::{AgentReport, Breakers, Choice, Evidence, Key, Limit, Probes, Side, State};
use crate::detector::Reporter;
use crate::run::*;
use crate::{Asking, Failure};

/// Events in one run; more of them and it does not end.
const MAX_EVENTS: usize = 2_000;

/// Deaths of the shell in one run: one that always dies gets nothing done.
const MAX_DEATHS: u32 = 100;

/// Numbers that look random and follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}

/// The machine that the runs are on.
const HOST: &str = "here";

struct World {
    dice: Dice,
    now: Wall,
    providers: Vec<Key>,
    breakers: Breakers,
    /// What came of each act.
    done: BTreeMap<u32, Vec<Event>>,
    alive: BTreeSet<u32>,
    delivered: u32,
    /// What the last checks said, and the prompts that were given before them.
    checked: Option<(bool, u32)>,
    reports: u32,
    /// How often a helper was asked.
    asked: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let count = 1 + dice.roll(3);
        Self {
            providers: (0..count).map(|number| Key::of(format!("p{number}"))).collect(),
            dice,
            now: Wall(1_000_000_000_000),
            breakers: Breakers::default(),
            done: BTreeMap::new(),
            alive: BTreeSet::new(),
            delivered: 0,
            checked: None,
            reports: 0,
            asked: 0,
        }
    }

    fn policy(&mut self) -> Policy {
        let mut flag = || self.dice.one_in(2);
        let (has_checks, helper, fresh_agent, stop_unchanged, bounded) =
            (!flag() || !flag(), flag(), flag(), flag(), flag());
        let (has_criteria, helper_always) = (flag(), flag());
        Policy {
            max_attempts: 1 + u32::try_from(self.dice.roll(7)).unwrap(),
            max_iterations: 1 + u32::try_from(self.dice.roll(60)).unwrap(),
            max_switches: u32::try_from(self.dice.roll(12)).unwrap(),
            time_secs: if bounded { self.dice.roll(20_000) + 1 } else { 0 },
            tokens: if bounded { self.dice.roll(3_000) } else { 0 },
            has_checks,
            has_criteria,
            helper,
            helper_always,
            helper_attempts: u32::try_from(self.dice.roll(3)).unwrap(),
            fresh_agent,
            stop_unchanged,
            ..Policy::default()
        }
    }

    /// Does what the run asks for, once.
    fn perform(&mut self, action: &Action) -> Vec<Event> {
        let act = match action {
            Action::ChooseProvider { act, .. }
            | Action::StartAgent { act, .. }
            | Action::Deliver { act, .. }
            | Action::ObserveTree { act }
            | Action::RunChecks { act }
            | Action::AskHelper { act, .. } => *act,
            Action::TripBreaker { provider, evidence, until, probe } => {
                self.report(provider, AgentReport::Failed { evidence: *evidence, until: *until }, *probe);
                return Vec::new();
            }
            Action::CloseBreaker { provider, began } => {
                self.report(provider, AgentReport::Succeeded { began: *began }, None);
                return Vec::new();
            }
            Action::ReleaseProbe { provider, probe } => {
                self.report(provider, AgentReport::Nothing, Some(*probe));
                return Vec::new();
            }
            Action::StopAgent { agent } => {
                self.alive.remove(&agent.step);
                return Vec::new();
            }
            Action::Report { .. } => {
                self.reports += 1;
                return Vec::new();
            }
        };
        if let Some(events) = self.done.get(&act.step) {
            return events.clone();
        }
        let events = self.invent(action, act);
        self.done.insert(act.step, events.clone());
        events
    }

    fn report(&mut self, provider: &str, news: AgentReport, probes: Option<Probes>) {
        let now = self.now;
        for side in Side::BOTH {
            let key = Key::of(provider).on(side, HOST);
            let _ = self
                .breakers
                .change(&key, |breaker, settings| breaker.on_report(side, news, probes, settings, now));
        }
    }

    fn invent(&mut self, action: &Action, act: Act) -> Vec<Event> {
        match action {
            Action::ChooseProvider { excluding, .. } => {
                vec![match self.breakers.choose(&self.providers, HOST, excluding, self.now) {
                    Ok(Choice { key, probe }) => Event::ProviderChosen { act, provider: key.provider, probe },
                    Err(shut) => Event::NoProvider { act, shut },
                }]
            }
            Action::StartAgent { .. } => {
                self.alive.insert(act.step);
                let stopped = |stop| Event::AgentStopped { agent: act, stop };
                match self.dice.roll(12) {
                    0 => vec![stopped(self.exit(act.step))],
                    1 => vec![],
                    2 => vec![stopped(Stop::Blocked { kind: Asking::Trust })],
                    3 => vec![
                        stopped(Stop::Blocked { kind: Asking::Trust }),
                        Event::AgentResumed { agent: act },
                        Event::AgentReady { agent: act },
                    ],
                    _ => vec![stopped(Stop::Idle { asks: false }), Event::AgentReady { agent: act }],
                }
            }
            Action::Deliver { agent, .. } => {
                self.delivered += 1;
                let mut events = match self.dice.roll(15) {
                    0 => vec![Event::DeliveryFailed { act, reason: "gone".into() }],
                    1 => vec![],
                    _ => vec![Event::PromptSubmitted { act, proof: "hook".into() }],
                };
                events.extend(self.work(*agent));
                events
            }
            Action::ObserveTree { .. } => {
                let created = if self.dice.one_in(3) { vec![] } else { vec![format!("f{}", act.step)] };
                let changes =
                    Some(Changes { created, ..Changes::default() }).filter(|_| !self.dice.one_in(8));
                let words = Some("I did it.".to_owned()).filter(|_| self.dice.one_in(2));
                if self.dice.one_in(20) { vec![] } else { vec![Event::TreeObserved { act, changes, words }] }
            }
            Action::RunChecks { .. } => {
                let passed = self.dice.one_in(4);
                self.checked = Some((passed, self.delivered));
                let failures = vec![format!("E{}", self.dice.roll(2))];
                if self.dice.one_in(20) {
                    self.checked = Some((false, self.delivered));
                    vec![]
                } else {
                    vec![Event::ChecksFinished { act, passed, failures }]
                }
            }
            Action::AskHelper { .. } => {
                self.asked += 1;
                let roll = self.dice.roll(5);
                let findings = if roll > 2 { vec![format!("look{roll}")] } else { vec![] };
                match roll {
                    0 => vec![],
                    1 => vec![Event::HelperFailed { act, reason: "no".into() }],
                    _ => {
                        let answer = HelperAnswer { findings, ..HelperAnswer::default() };
                        vec![Event::HelperAnswered { act, answer }]
                    }
                }
            }
            _ => Vec::new(),
        }
    }

    /// What an agent does with a prompt.
    fn work(&mut self, agent: AgentId) -> Vec<Event> {
        let until =
            Some(self.now.plus(Duration::from_secs(self.dice.roll(20_000)))).filter(|_| self.dice.one_in(2));
        let failures =
            [Failure::RateLimit, Failure::Quota, Failure::Auth, Failure::Overloaded, Failure::Invalid];
        let failure = failures[usize::try_from(self.dice.roll(5)).unwrap()];
        let spent = Event::Spent { tokens: u64::from(self.delivered) * self.dice.roll(300) };
        let idle = Stop::Idle { asks: self.dice.one_in(4) };
        let stops = match self.dice.roll(16) {
            0 => vec![self.exit(agent.step)],
            1 => vec![Stop::Limited { limit: Limit::Quota, until }],
            2 | 3 => vec![Stop::TurnFailed { by: Reporter::Hook, failure, until }],
            4 => vec![Stop::Blocked { kind: Asking::Permission }],
            5 => vec![Stop::Blocked { kind: Asking::Permission }, idle],
            6 => vec![idle, self.exit(agent.step)],
            7 => vec![Stop::StatusError],
            _ => vec![idle, idle],
        };
        let stops = stops.into_iter().map(|stop| Event::AgentStopped { agent, stop });
        std::iter::once(spent).chain(stops).collect()
    }

    /// Somebody comes to the agent of a run that was reported as blocked.
    fn visit(&mut self, run: &Run) -> Vec<Event> {
        let Some((agent, _)) = run.agent() else { return Vec::new() };
        if self.dice.one_in(4) {
            return vec![Event::AgentStopped { agent, stop: self.exit(agent.step) }];
        }
        let next = match run.phase() {
            Phase::Parked { stage: Stage::Starting, .. } => Event::AgentReady { agent },
            _ => Event::AgentStopped { agent, stop: Stop::Idle { asks: self.dice.one_in(4) } },
        };
        vec![Event::AgentResumed { agent }, next]
    }

    fn exit(&mut self, agent: u32) -> Stop {
        self.alive.remove(&agent);
        match self.dice.roll(5) {
            0 => Stop::Exited { status: Some(0), signal: None },
            1 => Stop::Exited { status: None, signal: Some(9) },
            2 => Stop::Exited { status: None, signal: Some(15) },
            3 => Stop::Lost,
            _ => Stop::Exited { status: Some(1), signal: None },
        }
    }

    /// What a shell finds out about an agent that it takes over.
    fn taken_over(&self, run: &Run) -> Vec<Event> {
        let working = matches!(run.phase(), Phase::Agent { stage: Stage::Working, .. });
        let Some((agent, _)) = run.agent().filter(|_| working) else { return Vec::new() };
        let mut events = self.done.get(&run.act().step).cloned().unwrap_or_default();
        if !events.iter().any(|event| matches!(event, Event::AgentStopped { .. })) {
            // A person came to it, and it is at rest.
            events.push(Event::AgentStopped { agent, stop: Stop::Idle { asks: false } });
        }
        events
    }
}

/// Plays a run to its end. The shell dies once in so many events.
fn play(seed: u64, dies: Option<u64>) -> (Run, World) {
    let mut world = World::new(seed);
    let mut death = Dice(!seed);
    let policy = world.policy();
    let cancels = death.one_in(20).then(|| death.roll(60));
    let mut run = Run::new("do it", policy);
    let mut queue = VecDeque::from([Event::Started { since: world.now }]);
    let (mut started, mut deaths) = (false, 0);
    for count in 0u64.. {
        assert!(
            usize::try_from(count).unwrap() < MAX_EVENTS,
            "seed {seed}: it does not end: {:?}",
            run.phase()
        );
        if Some(count) == cancels {
            queue.push_front(Event::Cancelled);
        }
        let event = match queue.pop_front() {
            Some(event) => event,
            None if run.is_parked() && world.dice.one_in(2) => {
                world.now = world.now.plus(Duration::from_hours(world.dice.roll(100)));
                queue.extend(world.visit(&run));
                continue;
            }
            None if run.outcome().is_some() => break,
            None => {
                let Some(deadline) = run.deadline() else {
                    panic!("seed {seed}: stuck in {:?}", run.phase())
                };
                world.now = world.now.max(deadline);
                Event::Tick
            }
        };
        world.now = world.now.plus(Duration::from_millis(world.dice.roll(30_000)));
        started |= matches!(event, Event::Started { .. });
        let was_over = run.is_final();
        let mut actions = run.handle(event, world.now);
        assert!(!was_over || actions.is_empty(), "seed {seed}: it acts after its end");
        check_step(seed, &run);
        if started && deaths < MAX_DEATHS && dies.is_some_and(|dies| death.one_in(dies)) {
            deaths += 1;
            // It dies before it did all that was asked for, or after, with all answers on their way.
            let performed = death.roll(4);
            for action in actions.iter().take(usize::try_from(performed).unwrap()) {
                world.perform(action);
            }
            let stored = serde_json::to_string(&run).unwrap();
            let loaded: Run = serde_json::from_str(&stored).unwrap();
            assert_eq!(loaded, run);
            run = loaded;
            queue.clear();
            actions = run.handle(Event::Restarted, world.now);
            queue.extend(world.taken_over(&run));
        }
        for action in &actions {
            queue.extend(world.perform(action));
        }
    }
    (run, world)
}

fn check_step(seed: u64, run: &Run) {
    let numbers: Vec<u32> = run.attempts().iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, (1..=u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>(), "seed {seed}");
    let (given, allowed) = run.iterations();
    assert!(given <= allowed && allowed <= MAX_ITERATIONS, "seed {seed}");
    assert!(run.switches() <= run.policy().max_switches, "seed {seed}");
    let allowed = run.policy().max_attempts + run.policy().helper_attempts;
    assert!(numbers.len() <= usize::try_from(allowed).unwrap(), "seed {seed}");
    let open = run.attempts().iter().filter(|attempt| attempt.status == Status::Running).count();
    assert!(open <= 1, "seed {seed}");
}

fn check_end(seed: u64, run: &Run, world: &World) {
    let outcome = run.outcome().unwrap();
    assert_eq!(world.delivered, run.iterations().0, "seed {seed}: a prompt was given twice, or never");
    assert!(world.reports >= 1, "seed {seed}");
    assert!(run.attempts().iter().all(|attempt| attempt.status != Status::Running), "seed {seed}");
    let attempts = u32::try_from(run.attempts().len()).unwrap();
    assert!(
        world.asked <= attempts + 1,
        "seed {seed}: a helper is asked once for each attempt, and once more"
    );
    if matches!(outcome, Outcome::Done | Outcome::FinishedUnchecked) && run.policy().has_criteria {
        let found = run.criteria().map(HelperRecord::findings);
        assert_eq!(found, Some(&[][..]), "seed {seed}: it is not known what came of the criteria");
    }
    match outcome {
        Outcome::Done => {
            assert_eq!(world.checked, Some((true, world.delivered)), "seed {seed}: done without its checks");
            assert_eq!(run.attempts().last().unwrap().status, Status::Passed, "seed {seed}");
        }
        Outcome::FinishedUnchecked => {
            assert!(!run.policy().has_checks && world.checked.is_none(), "seed {seed}");
        }
        Outcome::Blocked { .. } | Outcome::GivenUp { .. } | Outcome::Cancelled => {
            assert!(run.attempts().iter().all(|attempt| attempt.status != Status::Passed), "seed {seed}");
        }
    }
    if !matches!(outcome, Outcome::Blocked { .. }) {
        assert!(world.alive.is_empty(), "seed {seed}: an agent was left behind: {:?}", world.alive);
    }
    // A provider that was chosen, though the run was cancelled meanwhile, is the shell's to give back.
    if *outcome != Outcome::Cancelled {
        let probing =
            world.breakers.iter().any(|(_, breaker)| matches!(breaker.state(), State::HalfOpen { .. }));
        assert!(!probing, "seed {seed}: a probe was left behind");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_run_ends_and_done_means_checked(seed in any::<u64>()) {
        let (run, world) = play(seed, None);
        check_end(seed, &run, &world);
    }

    #[test]
    fn a_shell_that_dies_changes_nothing_of_that(seed in any::<u64>(), dies in 1u64..12) {
        let (run, world) = play(seed, Some(dies));
        check_end(seed, &run, &world);
    }
}

#[test]
fn the_same_seed_is_the_same_run_and_seeds_lead_everywhere() {
    let mut ends = BTreeSet::new();
    for seed in 0..600 {
        let (run, _) = play(seed, Some(7));
        assert_eq!(run, play(seed, Some(7)).0);
        ends.insert(match run.outcome().unwrap() {
            Outcome::GivenUp { why } => {
                serde_json::to_value(why).unwrap()["why"].as_str().unwrap().to_owned()
            }
            outcome => outcome.as_str().to_owned(),
        });
    }
    let all = [
        "agent_ended",
        "attempts",
        "blocked",
        "cancelled",
        "done",
        "finished_unchecked",
        "iterations",
        "loop",
        "no_provider",
        "switches",
        "time",
        "tokens",
        "unchanged",
    ];
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn evidence_of_every_stop_is_structured() {
    // The words of a task cannot come into it: this is all that a breaker is ever told.
    let stop = Stop::TurnFailed { by: Reporter::Hook, failure: Failure::Quota, until: None };
    let evidence = Evidence::TurnFailed { by: Reporter::Hook, failure: Failure::Quota };
    assert_eq!(stop.evidence(), Some((evidence, None)));
    for harmless in [Stop::Idle { asks: true }, Stop::Blocked { kind: Asking::Auth }, Stop::Lost] {
        assert_eq!(harmless.evidence(), None);
    }
}
