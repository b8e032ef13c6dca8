//! Scripts of the form `milliseconds event -> state`, one line each; what falls due between two lines happens in
//! its moment. Without an event a line only looks. See [`Stage::event`] for the words.

mod claim;
mod memory;
mod properties;
mod record;
mod screen;
mod signs;

use super::*;
use crate::{Fact, Failure};

const BEGIN: Steady = Steady(1_000_000);

const KNOWN: Expectations =
    Expectations { status: false, rules: true, transcript_ends: true, composer: false };
const SPEAKS: Expectations = Expectations { status: true, ..KNOWN };
const STRANGE: Expectations = Expectations { rules: false, ..KNOWN };

/// An unknown agent at its prompt.
const AT_REST: &str = "0 out\n 30 read ~idle\n 5000 -> idle\n";

const WEIGHTS: Weights = Weights {
    silence: 0.30,
    stable: 0.20,
    transcript: 0.30,
    ending: 0.20,
    reading: 0.95,
    agreement: 0.10,
    judge: 0.70,
    threshold: 0.70,
};

/// Times that the scripts count with, whatever the defaults become.
fn settings() -> Settings {
    Settings {
        idle_confirm_ms: 350,
        certain_confirm_ms: 100,
        startup_confirm_ms: 1_200,
        startup_status_ms: 2_500,
        noisy_idle_ms: 0,
        submit_grace_ms: 2_000,
        enter_grace_ms: 10_000,
        refusal_confirm_ms: 1_000,
        startup_deadline_ms: 30_000,
        echo_ms: 400,
        flow_ms: 500,
        pause_ms: 1_200,
        silence_ms: 2_000,
        stall_ms: 10_000,
        still_dialog_ms: 10_000,
        contradiction_ms: 1_000,
        interrupt_confirm_ms: 1_500,
        begin_confirm_ms: 9_000,
        end_confirm_ms: 0,
        veto_expiry_ms: 120_000,
        flicker_ms: 100,
        limit_ms: 60_000,
        limit_max_ms: 200_000,
        look_ms: 400,
        look_wait_ms: 800,
        look_again_ms: 2_000,
        look_again_max_ms: 10_000,
        weights: WEIGHTS,
    }
}

/// A detector in simulated time.
struct Stage {
    detector: Detector,
    now: Steady,
    announced: Vec<(u64, State)>,
    samples: usize,
}

impl Stage {
    fn new(settings: Settings, expectations: Expectations) -> Self {
        let detector = Detector::new(settings, expectations, BEGIN);
        Self { detector, now: BEGIN, announced: Vec::new(), samples: 0 }
    }

    fn handle(&mut self, event: Event, now: Steady) {
        self.now = now;
        for action in self.detector.handle(event, now) {
            match action {
                Action::Announce => {
                    self.announced.push((now.0 - BEGIN.0, self.detector.verdict.state));
                }
                Action::Sample => self.samples += 1,
            }
        }
        assert!(self.detector.deadline().is_none_or(|deadline| deadline > now), "a deadline in the past");
    }

    /// Lets everything happen that falls due before `now`.
    fn run_until(&mut self, now: Steady) {
        while let Some(due) = self.detector.deadline().filter(|due| *due <= now) {
            self.handle(Event::Tick, due);
        }
        self.now = now;
    }

    fn restart(&mut self) {
        let Detector { settings, expectations, .. } = self.detector;
        // As it is stored: what the next daemon gets has been written down and read.
        let memory: Memory = self.detector.memory();
        self.detector = Detector::recovered(settings, expectations, memory, self.now);
    }

    fn shown(&self) -> String {
        let verdict = self.detector.verdict();
        let kind = verdict.kind.as_ref().map(|kind| format!("/{kind}")).unwrap_or_default();
        let until = verdict.until.as_ref().map(|until| format!("@{until}")).unwrap_or_default();
        format!("{}{kind}{until}", verdict.state)
    }

    /// The words of a script.
    fn event(words: &str, now: Steady) -> Event {
        let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
        match word {
            "out" => Event::Drawn { at: now },
            "type" => Event::Typed { enter: false },
            "enter" => Event::Typed { enter: true },
            "begun" => Event::Begun,
            "read" => Event::Read(reading(rest)),
            "claim" => Event::Claimed(claim(rest)),
            "hook" => Event::Reported(Reporter::Hook, fact(rest)),
            "transcript" => Event::Reported(Reporter::Transcript, fact(rest)),
            "written" => {
                let (at, what) = rest.split_once(' ').unwrap();
                Event::Written { fact: fact(what), at: Steady(BEGIN.0 + at.parse::<u64>().unwrap()) }
            }
            "transport" => Event::Reported(Reporter::Transport, fact(rest)),
            "sample" => Event::Sampled(sample(rest)),
            "agent" => Event::AgentRuns(rest == "runs"),
            "limit-ends" => Event::LimitEnds(Some(Steady(BEGIN.0 + rest.parse::<u64>().unwrap()))),
            "judge" => Event::Judged(rest.parse().unwrap()),
            "lost" => Event::Lost,
            "tick" => Event::Tick,
            _ => panic!("no event is called {words:?}"),
        }
    }
}

/// What the processes do, in words; a child by its age in milliseconds.
fn sample(words: &str) -> Option<ProcessSample> {
    let mut sample = ProcessSample::default();
    for word in words.split_whitespace() {
        match word {
            "hidden" => return None,
            "reads" => sample.reads_terminal = true,
            "alone" => sample.single_threaded = true,
            "deaf" => sample.deaf = true,
            "cpu" => sample.cpu_percent = 80,
            "network" => sample.awaits_answer = true,
            age => (sample.children, sample.newest_child_ms) = (1, Some(age.parse().unwrap())),
        }
    }
    Some(sample)
}

/// `~` is general, `!` certain, `+` moving, `=` an answer, `#print`, `/kind`, `@until`; `draft` and `empty` are the composer.
fn reading(words: &str) -> Reading {
    let mut reading = Reading::default();
    for word in words.split_whitespace() {
        if let "draft" | "empty" = word {
            reading.draft = Some(word == "draft");
            continue;
        }
        let (word, print) = word.split_once('#').unwrap_or((word, "0"));
        let (word, until) = word.split_once('@').map_or((word, None), |(word, until)| (word, Some(until)));
        let (word, kind) = word.split_once('/').map_or((word, None), |(word, kind)| (word, Some(kind)));
        let state: State = word.trim_matches(['~', '!', '+', '=']).parse().unwrap();
        reading.findings.push(Finding {
            rule: word.into(),
            state,
            kind: kind.map(Into::into),
            until: until.map(Into::into),
            general: word.starts_with('~'),
            certain: word.ends_with('!'),
            answered: word.ends_with('='),
            moving: word.ends_with('+'),
            print: print.parse().unwrap(),
        });
    }
    reading
}

fn claim(word: &str) -> Option<Claim> {
    Some(match word {
        "idle" => Claim::Idle,
        "working" => Claim::Working,
        "watching" => Claim::Watching,
        "done" => Claim::Done,
        "error" => Claim::Error,
        "blocked" => Claim::Blocked(Asking::Permission),
        "clear" => return None,
        _ => panic!("nothing to claim: {word:?}"),
    })
}

fn fact(word: &str) -> Fact {
    let failed = |failure| Fact::TurnFailed { failure, detail: None };
    match word {
        "prompt" => Fact::PromptSubmitted { text: None },
        "started" => Fact::TurnStarted,
        "tool" => Fact::ToolStarted { id: None },
        "tool-end" => Fact::ToolEnded { id: None },
        "stop" => Fact::TurnEnded { background: 0 },
        "stop-watching" => Fact::TurnEnded { background: 2 },
        "asked" => Fact::Asked { kind: Asking::Permission },
        "answered" => Fact::Answered,
        "interrupted" => Fact::Interrupted,
        "idle" => Fact::IdleNotified,
        "quota" => failed(Failure::Quota),
        "rate-limit" => failed(Failure::RateLimit),
        "overloaded" => failed(Failure::Overloaded),
        "other" => failed(Failure::Other),
        "retry" => Fact::Retrying { failure: Failure::Overloaded },
        "session" => Fact::SessionStarted,
        "subagent" => Fact::SubagentEnded,
        "heartbeat" => Fact::Heartbeat,
        "used" => Fact::Used(crate::Usage::default()),
        _ => panic!("no fact is called {word:?}"),
    }
}

/// Plays a script and checks every state that it names.
fn play_with(settings: Settings, expectations: Expectations, script: &str) -> Stage {
    let mut stage = Stage::new(settings, expectations);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (did, expected) =
            line.split_once("->").map_or((line, None), |(did, expected)| (did.trim(), Some(expected.trim())));
        let (ms, words) = did.split_once(' ').unwrap_or((did, ""));
        let at = Steady(BEGIN.0 + ms.parse::<u64>().unwrap());
        assert!(at >= stage.now, "time goes back at {line:?}");
        stage.run_until(at);
        match words {
            "" => {}
            "restart" => stage.restart(),
            _ => stage.handle(Stage::event(words, at), at),
        }
        if let Some(expected) = expected {
            assert_eq!(stage.shown(), expected, "at {line:?}: {:?}", stage.detector.verdict());
        }
    }
    stage
}

fn play(expectations: Expectations, script: &str) -> Stage {
    play_with(settings(), expectations, script)
}
