//! Scripts of the form `milliseconds event -> state`, one line each; what falls due between two lines happens in
//! its moment. Without an event a line only looks. See [`Stage::event`] for the words.

use super::*;
use crate::Failure;
use proptest::prelude::*;

const BEGIN: Timestamp = Timestamp(1_000_000);

const KNOWN: Expectations = Expectations { status: false, rules: true, transcript_ends: true };
const SPEAKS: Expectations = Expectations { status: true, ..KNOWN };
const STRANGE: Expectations = Expectations { rules: false, ..KNOWN };

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
        startup_deadline_ms: 30_000,
        echo_ms: 400,
        flow_ms: 500,
        pause_ms: 1_200,
        silence_ms: 2_000,
        stall_ms: 10_000,
        still_dialog_ms: 10_000,
        contradiction_ms: 1_000,
        interrupt_confirm_ms: 1_500,
        veto_expiry_ms: 120_000,
        flicker_ms: 100,
        look_again_ms: 2_000,
        look_again_max_ms: 10_000,
        weights: WEIGHTS,
    }
}

/// A detector in simulated time.
struct Stage {
    detector: Detector,
    now: Timestamp,
    announced: Vec<(u64, State)>,
    samples: usize,
}

impl Stage {
    fn new(settings: Settings, expectations: Expectations) -> Self {
        let detector = Detector::new(settings, expectations, BEGIN);
        Self { detector, now: BEGIN, announced: Vec::new(), samples: 0 }
    }

    fn handle(&mut self, event: Event, now: Timestamp) {
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
    fn run_until(&mut self, now: Timestamp) {
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
    fn event(words: &str) -> Event {
        let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
        match word {
            "out" => Event::Output,
            "type" => Event::Typed { enter: false },
            "enter" => Event::Typed { enter: true },
            "read" => Event::Read(reading(rest)),
            "claim" => Event::Claimed(claim(rest)),
            "hook" => Event::Reported(Reporter::Hook, fact(rest)),
            "transcript" => Event::Reported(Reporter::Transcript, fact(rest)),
            "transport" => Event::Reported(Reporter::Transport, fact(rest)),
            "sample" => Event::Sampled(match rest {
                "reads" => ProcessSample { reads_terminal: true, ..ProcessSample::default() },
                "children" => ProcessSample { children: 1, ..ProcessSample::default() },
                "cpu" => ProcessSample { cpu_percent: 80, ..ProcessSample::default() },
                "network" => ProcessSample { awaits_answer: true, ..ProcessSample::default() },
                _ => ProcessSample::default(),
            }),
            "judge" => Event::Judged(rest.parse().unwrap()),
            "lost" => Event::Lost,
            "tick" => Event::Tick,
            _ => panic!("no event is called {words:?}"),
        }
    }
}

/// `~` is general, `!` certain, `+` moving, `#print`, `/kind`, `@until`; `draft` and `empty` are the composer.
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
        let state: State = word.trim_matches(['~', '!', '+']).parse().unwrap();
        reading.findings.push(Finding {
            rule: word.into(),
            state,
            kind: kind.map(Into::into),
            until: until.map(Into::into),
            general: word.starts_with('~'),
            certain: word.ends_with('!'),
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
        let at = Timestamp(BEGIN.0 + ms.parse::<u64>().unwrap());
        assert!(at >= stage.now, "time goes back at {line:?}");
        stage.run_until(at);
        match words {
            "" => {}
            "restart" => stage.restart(),
            _ => stage.handle(Stage::event(words), at),
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

#[test]
fn a_claim_counts_at_once_and_costs_nothing_afterwards() {
    let stage = play(
        SPEAKS,
        "0 -> starting
         500 claim idle -> idle
         1000 enter -> working
         1010 claim working -> working
         60000 -> working
         60001 claim done -> idle
         70000 claim working -> working
         71000 claim error -> error
         72000 claim working -> working
         73000 claim blocked -> blocked/permission
         99000 -> blocked/permission
         99001 claim working -> working
         99500 claim idle -> idle",
    );
    assert_eq!(stage.detector.deadline(), None);
}

#[test]
fn a_claim_that_flickers_at_the_start_is_no_work() {
    let stage = play(
        SPEAKS,
        "500 claim idle -> idle
         550 claim working -> idle
         580 claim idle -> idle
         2000 -> idle",
    );
    assert_eq!(stage.announced, [(500, State::Idle)]);
    play(SPEAKS, "500 claim idle -> idle\n 550 claim working -> idle\n 649 -> idle\n 650 -> working");
    play(SPEAKS, "500 claim idle -> idle\n 700 claim working -> working");
}

#[test]
fn a_claim_that_is_taken_back_leaves_the_screen() {
    play(
        SPEAKS,
        "500 claim idle -> idle
         1000 claim clear
         5000 -> unknown
         5100 out
         5130 read idle
         6000 -> idle",
    );
}

#[test]
fn a_claimed_error_is_told_as_the_screen_and_the_records_know_it() {
    play(SPEAKS, "0 claim working\n 10 read limited/quota@5pm\n 20 claim error -> limited/quota@5pm");
    play(
        SPEAKS,
        "0 claim working\n 10 hook prompt\n 20 hook rate-limit\n 30 claim error -> limited/rate_limit",
    );
    play(SPEAKS, "0 claim working\n 10 read error/auth\n 20 claim error -> error/auth");
}

#[test]
fn work_on_the_screen_that_was_not_announced_is_believed_after_a_while() {
    play(
        SPEAKS,
        "500 claim idle -> idle
         5000 out
         5030 read working -> idle
         6029 -> idle
         6030 -> working
         7000 read idle -> idle",
    );
    // What is older than the claim has yet to be drawn over.
    play(SPEAKS, "100 read working\n 500 claim idle -> idle\n 9000 -> idle");
}

#[test]
fn a_dialog_beats_every_claim_but_the_answer() {
    play(
        SPEAKS,
        "500 claim working -> working
         900 out
         930 read blocked/plan -> blocked/plan
         60000 claim working -> working
         60999 -> working
         61000 -> blocked/plan
         62000 claim working -> working
         62500 read working -> working
         99000 -> working",
    );
    play(
        SPEAKS,
        "10 claim idle -> idle\n 20 read blocked -> blocked/dialog\n 30 claim idle -> blocked/dialog",
    );
    let stage =
        play(SPEAKS, "10 read blocked/trust\n 20 claim blocked -> blocked/trust\n 999999 -> blocked/trust");
    assert!(stage.detector.verdict().confidence > 0.98 && stage.detector.verdict().because.len() == 2);
}

#[test]
fn word_of_work_beats_what_only_looks_like_a_dialog_of_some_agent() {
    for work in ["claim working", "hook prompt", "transcript prompt"] {
        // Text that streams by, or is quoted; the agent's own dialogs count as ever.
        play(
            KNOWN,
            &format!(
                "100 {work} -> working
                 200 out
                 230 read ~blocked -> working
                 10199 -> working
                 10200 -> blocked/dialog
                 11000 out -> working
                 11030 read -> working
                 11040 read blocked/plan -> blocked/plan"
            ),
        );
    }
    play(KNOWN, "100 claim idle\n 200 read ~blocked -> blocked/dialog");
    play(KNOWN, "100 hook prompt\n 200 hook stop\n 300 read ~blocked -> blocked/dialog");
    play(KNOWN, "100 hook prompt\n 200 hook asked\n 300 read ~blocked/plan -> blocked/plan");
}

#[test]
fn a_dialog_is_never_released_by_time() {
    for script in [
        "100 read blocked/permission -> blocked/permission",
        "100 read ~blocked/permission -> blocked/permission",
        "100 claim blocked -> blocked/permission",
        "50 hook tool\n 100 hook asked -> blocked/permission",
        "50 transcript tool\n 100 transcript asked -> blocked/permission",
    ] {
        let mut stage = play(KNOWN, script);
        stage.run_until(BEGIN.plus(Duration::from_hours(24)));
        assert_eq!(stage.shown(), "blocked/permission", "{script}");
        assert_eq!(stage.detector.deadline(), None, "{script}");
    }
}

#[test]
fn a_dialog_that_is_gone_was_answered() {
    play(
        KNOWN,
        "100 read idle
         3000 -> idle
         3100 out
         3130 read blocked/permission -> blocked/permission
         9000 out
         9030 read -> working
         9060 read working -> working",
    );
    // Before the agent was ready it still starts.
    play(KNOWN, "100 read blocked/trust -> blocked/trust\n 5000 out\n 5030 read -> starting");
}

#[test]
fn hooks_open_and_close_a_turn_at_once() {
    for reporter in ["hook", "transport", "transcript"] {
        let script = "100 # session -> starting
             200 # prompt -> working
             300 # tool -> working
             60000 # tool-end -> working
             60500 # used -> working
             61000 # subagent -> working
             62000 # stop -> idle
             63000 # heartbeat -> idle
             90000 # idle -> idle";
        let stage = play(KNOWN, &script.replace('#', reporter));
        assert_eq!(stage.detector.deadline(), None, "{reporter}");
    }
}

#[test]
fn the_end_of_a_turn_from_before_the_last_prompt_is_no_rest() {
    // The transcript is late: it tells of the first turn when the second prompt is in.
    let late = "100 transcript prompt -> working
         200 read idle empty
         300 enter
         400 read working -> working
         500 transcript stop -> working
         600 transcript prompt -> working
         700 read idle empty
         800 transcript stop -> idle";
    play(KNOWN, late);
    // It has nothing about the second turn yet, and the screen shows that there is one.
    let silent = "100 transcript prompt -> working
         150 read idle empty
         200 transcript stop -> idle
         5000 enter -> working
         5100 read working -> working
         5200 tick -> working
         5300 transcript prompt -> working";
    play(KNOWN, silent);
}

#[test]
fn enter_begins_a_turn_before_a_hook_tells_it() {
    for reporter in ["hook", "transcript"] {
        let script = "100 # prompt -> working
             200 # stop -> idle
             300 read idle empty
             5000 enter -> working
             5300 # prompt -> working
             5400 # stop -> idle
             9000 enter -> working
             10999 -> working
             11000 -> idle";
        play(KNOWN, &script.replace('#', reporter));
    }
    // What was typed into a turn that was open is no news when it ends.
    play(
        KNOWN,
        "0 claim idle\n 10 claim clear\n 100 hook prompt\n 200 enter -> working\n 300 hook stop -> idle",
    );
}

#[test]
fn the_word_of_a_hook_goes_over_a_quiet_screen() {
    play(
        KNOWN,
        "100 read idle
         3000 hook prompt -> working
         3010 out
         3040 read -> working
         600000 -> working
         600001 hook stop -> idle",
    );
}

#[test]
fn an_interrupt_that_no_hook_reports_shows_on_the_screen() {
    play(
        KNOWN,
        "100 hook prompt -> working
         200 out
         230 read working -> working
         20000 out
         20030 read idle -> working
         21529 -> working
         21530 -> idle
         30000 hook prompt -> working
         31499 -> working
         31500 -> idle",
    );
    play(KNOWN, "100 hook prompt -> working\n 200 hook interrupted -> idle");
}

#[test]
fn a_general_prompt_on_the_screen_does_not_end_a_turn_soon() {
    // Many agents show their prompt while they work, and a tool may be silent for long.
    play(
        KNOWN,
        "100 hook prompt -> working
         200 out
         230 read ~idle -> working
         60000 -> working
         130000 -> idle",
    );
}

#[test]
fn work_on_the_screen_behind_a_closed_turn() {
    play(
        KNOWN,
        "100 hook prompt
         200 read working
         300 hook stop -> idle
         1299 -> idle
         1300 -> working
         1400 read idle -> idle",
    );
}

#[test]
fn what_a_hook_asked_is_doubted_if_the_screen_goes_on() {
    play(
        KNOWN,
        "100 hook prompt
         200 hook asked -> blocked/permission
         300 read working -> blocked/permission
         1199 -> blocked/permission
         1200 -> working",
    );
    play(KNOWN, "100 hook prompt\n 200 hook asked -> blocked/permission\n 300 claim working -> working");
    play(KNOWN, "100 hook prompt\n 200 hook asked -> blocked/permission\n 300 hook tool-end -> working");
    play(KNOWN, "100 hook prompt\n 200 hook asked -> blocked/permission\n 300 hook answered -> working");
    play(KNOWN, "100 hook prompt\n 200 hook asked -> blocked/permission\n 300 hook stop -> idle");
    // A prompt that agents in general show proves nothing against it.
    play(KNOWN, "100 hook prompt\n 200 hook asked\n 300 read ~idle\n 60000 -> blocked/permission");
}

#[test]
fn a_failed_turn_is_limited_or_an_error() {
    for (kind, state) in [
        ("quota", "limited/quota"),
        ("rate-limit", "limited/rate_limit"),
        ("overloaded", "error/overloaded"),
        ("other", "error"),
    ] {
        let script = format!("100 hook prompt\n 200 hook {kind} -> {state}\n 99000 hook prompt -> working");
        play(KNOWN, &script);
    }
    play(KNOWN, "100 hook prompt\n 200 read limited/usage@5pm\n 300 hook quota -> limited/quota@5pm");
    play(KNOWN, "100 hook prompt\n 200 hook quota -> limited/quota\n 300 hook tool -> working");
    play(KNOWN, "100 hook prompt\n 200 hook retry -> working/retrying\n 300 hook tool -> working");
}

#[test]
fn an_agent_that_tries_again_what_failed_is_at_work_and_says_why() {
    let since = |stage: &Stage| stage.detector.retrying().map(|(by, why)| (by, why.what, why.at.0 - BEGIN.0));
    let stage = play(
        SPEAKS,
        "0 claim working
         100 read working -> working
         200 read working/rate_limit working -> working/retrying
         9000 read working/overloaded working -> working/retrying",
    );
    assert_eq!(since(&stage), Some((Reporter::Screen, Failure::Overloaded, 200)));
    let stage = play(SPEAKS, "0 claim working\n 200 read working/rate_limit\n 300 read working -> working");
    assert_eq!(since(&stage), None);
    // What agents in general look like is no evidence against a provider, nor are kinds that are no failures.
    let stage = play(SPEAKS, "0 claim working\n 200 read ~working/rate_limit working/odd -> working");
    assert_eq!(since(&stage), None);
    let stage =
        play(KNOWN, "0 transcript started\n 50 transcript retry\n 900 transcript retry -> working/retrying");
    assert_eq!(since(&stage), Some((Reporter::Transcript, Failure::Overloaded, 50)));
    for over in ["stop", "tool", "tool-end", "prompt", "interrupted", "overloaded"] {
        let stage = play(KNOWN, &format!("0 hook prompt\n 50 hook retry\n 900 hook {over}"));
        assert_eq!(since(&stage), None, "{over}");
    }
}

#[test]
fn work_in_the_background_is_watched() {
    play(
        KNOWN,
        "100 hook prompt\n 200 hook stop-watching -> watching\n 300 hook prompt -> working\n 400 hook stop -> idle",
    );
    play(SPEAKS, "100 hook prompt\n 200 hook stop-watching\n 300 claim idle -> watching");
    play(KNOWN, "100 read watching\n 5000 -> watching");
    play(SPEAKS, "100 read watching\n 200 claim idle -> watching");
}

#[test]
fn the_transcript_is_asked_only_where_there_are_no_hooks() {
    play(
        KNOWN,
        "100 transcript prompt -> working
         200 transcript stop -> idle
         300 transcript prompt -> working
         400 hook prompt -> working
         500 transcript stop -> working
         600 hook stop -> idle
         700 transcript prompt -> idle",
    );
}

#[test]
fn a_transcript_that_never_tells_the_end_leaves_it_to_the_screen() {
    let expected = Expectations { transcript_ends: false, ..KNOWN };
    let script = "100 transcript prompt -> working
         200 out
         230 read -> working
         60000 -> working
         60100 out
         60130 read idle -> working
         60479 -> working
         60480 -> #";
    play(expected, &script.replace('#', "idle"));
    play(KNOWN, &script.replace('#', "working"));
    // Hooks tell it.
    play(expected, "100 hook prompt\n 60130 read idle -> working\n 61629 -> working\n 61630 -> idle");
}

#[test]
fn a_screen_that_looks_idle_is_believed_after_a_quiet_while() {
    let stage = play(
        KNOWN,
        "0 out
         30 read idle -> starting
         1229 -> starting
         1230 -> idle
         5000 out
         5030 read working -> working
         9000 out
         9030 read idle -> working
         9200 out -> working
         9549 -> working
         9550 -> idle",
    );
    assert_eq!(stage.detector.deadline(), None);
    assert_eq!(stage.announced, [(1230, State::Idle), (5030, State::Working), (9550, State::Idle)]);
}

#[test]
fn an_agent_that_will_tell_its_status_has_longer_to_start() {
    play(SPEAKS, "0 out\n 30 read idle -> starting\n 2529 -> starting\n 2530 -> idle");
    play(SPEAKS, "0 out\n 30 read idle -> starting\n 900 claim idle -> idle");
}

#[test]
fn a_prompt_that_flashes_between_two_tools_is_not_idle() {
    let stage = play(
        KNOWN,
        "0 read idle
         2000 -> idle
         3000 out
         3030 read working -> working
         9000 out
         9030 read idle -> working
         9200 out
         9230 read working -> working
         9500 out
         9530 read -> working
         9600 read idle
         9700 read working -> working",
    );
    assert_eq!(stage.announced.len(), 2);
}

#[test]
fn noise_keeps_idle_away_unless_the_rule_is_certain() {
    let noise: Vec<String> = (0..50).map(|n| format!("{} out\n", 5000 + n * 100)).collect();
    let noise = noise.concat();
    let script = |finding: &str, state: &str| {
        format!(
            "100 read working -> working\n 4990 out\n 4995 read {finding} -> working\n {noise} 9950 -> {state}"
        )
    };
    play(KNOWN, &script("idle", "working"));
    play(KNOWN, &script("idle!", "idle"));
    let settings = Settings { noisy_idle_ms: 3_000, ..settings() };
    play_with(settings, KNOWN, &script("idle", "idle"));
    // Certain rules need less time, counted from when they are.
    play(KNOWN, "100 read working\n 5000 out\n 5000 read idle! -> working\n 5099 -> working\n 5100 -> idle");
    play(
        KNOWN,
        "100 read working\n 5000 read idle\n 5200 out\n 5200 read idle! idle -> working\n 5299 -> working\n 5300 -> idle",
    );
}

#[test]
fn what_is_idle_stays_so_while_a_person_types() {
    let stage = play(
        KNOWN,
        "0 read idle empty
         2000 -> idle
         3000 type
         3010 out
         3040 read idle draft -> idle
         3600 type
         3610 out -> idle
         9000 out -> idle
         20000 -> idle",
    );
    assert_eq!(stage.announced, [(1200, State::Idle)]);
    // A prompt with something in it is known to no general rule.
    let stage = play(
        STRANGE,
        &format!(
            "{AT_REST} 5100 type
             5110 out
             5140 read -> idle
             6000 type
             6010 out
             7000 enter -> working
             7010 out
             7040 read ~idle -> working
             12000 -> idle
             13000 type
             13010 out
             13040 read -> idle
             14999 -> idle
             15000 -> unknown"
        ),
    );
    assert_eq!(stage.announced.len(), 4);
}

#[test]
fn enter_means_work_for_a_while() {
    play(
        KNOWN,
        "0 read idle empty
         2000 -> idle
         3000 enter -> working
         4999 -> working
         5000 -> idle",
    );
    // What was written is not taken: an agent may be slow.
    play(
        KNOWN,
        "0 read idle draft
         2000 -> idle
         3000 enter -> working
         12999 -> working
         13000 -> idle",
    );
    // Taken, and still no sign of work.
    play(
        KNOWN,
        "0 read idle draft
         2000 -> idle
         3000 enter -> working
         8000 read idle empty -> working
         9999 -> working
         10000 -> idle",
    );
    // A start is not over because somebody typed, nor is what was typed then a prompt.
    let stage = play(
        KNOWN,
        "0 read blocked\n 1000 enter\n 1030 read idle -> starting\n 2230 -> idle\n 2300 out -> idle",
    );
    assert_eq!(stage.announced.last(), Some(&(2230, State::Idle)));
}

#[test]
fn an_emptied_composer_means_work_for_a_while() {
    play(
        SPEAKS,
        "0 claim idle -> idle
         100 read idle draft -> idle
         3000 read idle empty -> working
         4999 -> working
         5000 -> idle
         6000 read idle draft
         7000 read idle empty -> working
         7001 claim idle -> idle",
    );
    play(
        SPEAKS,
        "0 claim idle\n 100 read idle draft\n 3000 read idle empty -> working\n 3100 read idle draft -> idle",
    );
    // The agent has told all of a quick turn before its screen shows that it took the prompt.
    play(
        SPEAKS,
        "0 claim idle
         100 read idle draft -> idle
         3000 enter -> working
         3000 claim working -> working
         3001 claim done -> idle
         3002 read idle empty -> idle
         9000 read idle draft
         9500 enter -> working
         9600 read idle empty -> working
         9700 claim done -> idle",
    );
    // That it rests, it says again before it takes the prompt.
    play(
        SPEAKS,
        "0 claim idle
         100 read idle draft -> idle
         3000 enter -> working
         3010 claim idle -> working
         3020 read idle empty -> working
         3030 claim idle -> working
         3060 claim working -> working",
    );
    // Or it was still starting, and works for a moment at something else.
    play(
        SPEAKS,
        "0 claim idle
         100 read idle draft
         300 enter -> working
         310 claim working -> working
         330 claim idle -> idle
         340 read idle empty -> working
         360 claim working -> working",
    );
}

#[test]
fn an_error_at_the_end_of_the_conversation() {
    play(
        KNOWN,
        "0 read idle
         2000 -> idle
         3000 read working -> working
         9000 read idle error/api -> error/api
         99000 -> error/api
         99100 enter -> working
         99200 read idle -> working
         99300 read working -> working",
    );
    play(KNOWN, "0 read idle\n 2000 -> idle\n 3000 read idle limited/usage@5pm -> limited/usage@5pm");
    // Words that hold for agents in general prove no error.
    play(KNOWN, "0 read idle\n 2000 -> idle\n 3000 read idle ~error -> idle");
    // The error of the turn before is still there; another one like it is not the same.
    play(
        KNOWN,
        "0 read idle error/api#7 -> error/api
         5000 read idle -> idle
         9100 read idle error/api#7 -> error/api
         9200 enter -> working
         9300 read working error/api#7 -> working
         12000 read idle error/api#7 -> working
         12350 -> idle
         20000 enter -> working
         20100 read working error/api#7 -> working
         22000 read idle error/api#8 -> error/api",
    );
    // The error of a turn so short that nobody saw it work.
    play(
        KNOWN,
        "0 read idle draft
         2000 -> idle
         3000 enter -> working
         3100 read idle empty -> working
         3200 read idle empty limited/usage -> working
         9000 -> limited/usage",
    );
}

#[test]
fn work_that_holds_for_agents_in_general_needs_motion() {
    play(
        KNOWN,
        "0 out
         30 read ~working -> working
         1999 -> working
         2000 out -> working
         3999 -> working
         20000 -> unknown",
    );
    play(KNOWN, "0 read working -> working\n 900000 -> working");
    // What has moved is nobody's quotation, and may stand still for longer.
    play(STRANGE, "0 out\n 30 read ~working+ ~idle -> working\n 10029 -> working\n 10030 -> idle");
    play(STRANGE, "0 out\n 30 read ~working ~idle -> working\n 2029 -> working\n 2030 -> idle");
}

/// An unknown agent at its prompt.
const AT_REST: &str = "0 out\n 30 read ~idle\n 5000 -> idle\n";

#[test]
fn an_unknown_agent_that_came_to_rest_needs_less_silence() {
    let turn = "5100 enter -> working
         5200 out
         5230 read ~working ~idle -> working
         9000 out
         9030 read ~idle -> working";
    play(STRANGE, &format!("{AT_REST} {turn}\n 10229 -> working\n 10230 -> idle"));
    // A prompt that was there all the time tells nothing.
    let turn = "5100 enter -> working
         5600 out
         7000 out
         8000 out
         9000 out";
    play(STRANGE, &format!("{AT_REST} {turn}\n 10999 -> working\n 11000 -> idle"));
}

#[test]
fn an_unknown_agent_that_has_not_answered_enter_is_waited_for() {
    play(STRANGE, &format!("{AT_REST} 5100 enter -> working\n 15099 -> working\n 15100 -> idle"));
    // It echoed it.
    play(STRANGE, &format!("{AT_REST} 5100 enter -> working\n 5110 out\n 7099 -> working\n 7100 -> idle"));
}

#[test]
fn an_unknown_agent_whose_screen_ends_with_an_error_is_not_idle() {
    play(
        STRANGE,
        &format!(
            "{AT_REST} 5100 enter -> working
             5200 out
             5230 read ~working ~idle
             6000 out
             6030 read ~idle ~limited/rate_limit#3 -> working
             9000 -> limited/rate_limit
             9010 out -> limited/rate_limit
             9100 enter -> working
             9200 out
             9230 read ~working ~idle ~limited/rate_limit#3 -> working
             10000 out
             10030 read ~idle ~limited/rate_limit#3 -> working
             15000 -> idle"
        ),
    );
    // Where nothing says that it waits for a person, it may go on.
    play(STRANGE, "0 out\n 30 read ~error#3\n 90000 -> unknown/unrecognised");
}

#[test]
fn signs_are_added_up() {
    // Silence 0.3, stable 0.2, ending 0.2, agreement 0.1.
    let stage = play(STRANGE, "0 out\n 30 read ~idle -> starting\n 1999 -> starting\n 2030 -> idle");
    assert!((stage.detector.verdict().confidence - 0.8).abs() < 0.001);
    assert_eq!(stage.detector.verdict().because.len(), 3);
    assert_eq!(stage.detector.deadline(), None);
    let settings = Settings { weights: Weights { threshold: 0.85, ..WEIGHTS }, ..settings() };
    let stage = play_with(settings, STRANGE, "0 out\n 30 read ~idle\n 90000 -> unknown/unrecognised");
    assert_eq!(stage.samples, 1);
    // A read of the terminal is worth more than all else.
    let stage = play(STRANGE, "0 out\n 2500 sample reads -> idle");
    assert!((stage.detector.verdict().confidence - 0.95).abs() < 0.001);
    // Processes at work are.
    play(STRANGE, "0 out\n 30 read ~idle\n 1900 sample children\n 2100 -> working");
    play(STRANGE, "0 out\n 30 read ~idle\n 1900 sample cpu\n 2100 -> working");
    // An agent that is known is not ready because of them.
    play(
        KNOWN,
        "0 out\n 2500 sample cpu -> starting\n 3000 out\n 3030 read idle\n 4229 -> starting\n 4230 -> idle",
    );
    // A look that is older than the last output says nothing.
    play(STRANGE, "0 out\n 10 sample reads\n 20 out\n 9000 -> starting");
}

#[test]
fn a_program_that_never_wrote_is_looked_at_too() {
    let stage = play(STRANGE, "0 tick\n 2500 -> starting");
    assert_eq!(stage.samples, 1);
    play(STRANGE, "0 tick\n 2500 sample reads -> idle");
}

#[test]
fn output_that_flows_is_work_and_pauses_are_not_idle() {
    let flow = "100 out\n 300 out\n 500 out\n 700 out";
    play(STRANGE, &format!("{flow} -> working\n 1899 -> working\n 1900 -> working\n 60000 -> unknown"));
    // An agent with rules draws much before it is ready.
    play(KNOWN, &format!("{flow} -> starting"));
}

#[test]
fn the_echo_of_what_was_typed_is_no_activity() {
    let stage = play(STRANGE, "0 out\n 1000 type\n 1100 out\n 1399 out\n 1500 tick");
    assert_eq!(stage.detector.last_output(), Some(BEGIN));
    let stage = play(STRANGE, "0 out\n 1000 type\n 1400 out\n 1500 tick");
    assert_eq!(stage.detector.last_output(), Some(BEGIN.plus(Duration::from_millis(1400))));
    play(
        KNOWN,
        "0 read working
         5000 read idle
         5100 type
         5200 out
         5349 -> working
         5350 -> idle",
    );
}

#[test]
fn a_judge_is_asked_last_and_heard_until_something_is_written() {
    play(
        STRANGE,
        "0 out\n 40000 -> unknown/unrecognised\n 40001 judge idle -> idle\n 50000 out\n 60000 -> unknown",
    );
    play(STRANGE, "0 out\n 40000 judge working -> working");
    play(STRANGE, "0 out\n 40000 judge blocked -> blocked/dialog");
    play(KNOWN, "0 read blocked\n 40000 judge idle -> blocked/dialog");
    play(KNOWN, "0 read working\n 40000 judge idle -> working");
    play(
        KNOWN,
        "0 claim working\n 40000 judge idle -> working\n 40001 claim idle\n 40002 judge working -> idle",
    );
    play(
        KNOWN,
        "0 hook prompt\n 40000 judge idle -> working\n 40001 hook stop\n 40002 judge blocked -> idle",
    );
    let stage = play(STRANGE, "0 out\n 40000 judge idle -> idle");
    assert_eq!(stage.detector.verdict().because[0], "judge: idle");
}

#[test]
fn a_judge_does_not_call_working_processes_idle() {
    let stage = play(
        STRANGE,
        "0 out
         2500 sample children -> working
         40000 judge idle -> working
         50000 sample -> idle",
    );
    assert_eq!(stage.detector.verdict().because[0], "judge: idle");
    play(STRANGE, "0 out\n 2500 sample children -> working\n 40000 judge blocked -> blocked/dialog");
}

#[test]
fn processes_at_work_are_looked_at_again_less_and_less_often() {
    let mut stage = play(STRANGE, "0 out\n 2500 sample children -> working");
    assert_eq!(stage.samples, 1);
    let mut looks = Vec::new();
    while looks.len() < 6 {
        let due = stage.detector.deadline().unwrap();
        let before = stage.samples;
        stage.handle(Event::Tick, due);
        if stage.samples > before {
            looks.push(due.0 - BEGIN.0);
            assert_eq!(stage.detector.deadline(), None, "one look at a time");
            stage.handle(Stage::event("sample children"), due.plus(Duration::from_millis(50)));
        }
    }
    assert_eq!(looks, [4_500, 8_550, 16_600, 26_650, 36_700, 46_750]);
    // The child is gone: so is the reason to look.
    let due = stage.detector.deadline().unwrap();
    stage.handle(Event::Tick, due);
    stage.handle(Stage::event("sample"), due);
    assert_eq!(stage.detector.verdict().state, State::Unknown);
    assert_eq!(stage.detector.deadline(), None);
}

#[test]
fn a_question_over_the_network_is_work_unless_the_terminal_is_read() {
    let stage = play(STRANGE, "0 out\n 2500 sample network -> working");
    assert_eq!(stage.detector.verdict().because, ["it waits for an answer from the network"]);
    assert!(stage.detector.deadline().is_some(), "it is looked at again");
    let mut stage = play(STRANGE, "0 out\n 2400 tick");
    let both = ProcessSample { reads_terminal: true, awaits_answer: true, ..ProcessSample::default() };
    stage.handle(Event::Sampled(both), BEGIN.plus(Duration::from_millis(2_500)));
    assert_eq!(stage.detector.verdict().state, State::Idle);
    // It supports, and no more.
    play(KNOWN, "0 read idle\n 2500 sample network -> idle");
    play(KNOWN, "0 claim done\n 2500 sample network -> idle");
}

#[test]
fn looks_begin_anew_with_every_silence_and_end_with_better_evidence() {
    let stage = play(
        STRANGE,
        "0 out
         2500 sample children -> working
         4600 sample children
         10000 out
         12100 sample children -> working
         14099 tick",
    );
    assert_eq!(
        (stage.samples, stage.detector.deadline()),
        (4, Some(BEGIN.plus(Duration::from_millis(14_100))))
    );
    let stage = play(
        STRANGE,
        "0 out\n 2500 sample children -> working\n 3000 claim idle -> idle\n 99999 tick -> idle",
    );
    assert_eq!((stage.samples, stage.detector.deadline()), (1, None));
    // An agent that waits for its terminal is not looked at again.
    let stage = play(STRANGE, "0 out\n 2500 sample reads -> idle\n 99999 tick -> idle");
    assert_eq!((stage.samples, stage.detector.deadline()), (1, None));
}

#[test]
fn it_is_puzzled_while_nothing_better_than_processes_or_a_judge_tells() {
    let table = [
        (STRANGE, "0 out\n 1000 tick", false),
        (STRANGE, "0 out\n 2500 tick", true),
        (STRANGE, "0 out\n 40000 tick", true),
        (STRANGE, "0 out\n 2500 sample children", true),
        (STRANGE, "0 out\n 2500 sample reads", false),
        (STRANGE, "0 out\n 40000 judge idle", true),
        (STRANGE, "0 out\n 40000 judge idle\n 40001 out", false),
        (STRANGE, "0 out\n 40000 claim working", false),
        (STRANGE, "0 out\n 40000 hook stop", false),
        (STRANGE, "0 out\n 40000 transcript stop", false),
        (KNOWN, "0 read idle\n 40000 tick", false),
        (KNOWN, "0 read blocked\n 40000 tick", false),
        // What is on the screen is not what the program wrote.
        (STRANGE, "0 out\n 40000 lost\n 60000 tick", false),
    ];
    for (expected, script, puzzled) in table {
        assert_eq!(play(expected, script).detector.is_puzzled(), puzzled, "{script}");
    }
}

#[test]
fn what_nothing_speaks_for_is_unknown_and_never_idle() {
    let stage = play(
        KNOWN,
        "0 out
         29999 -> starting
         30000 -> unknown/unrecognised
         999999 -> unknown/unrecognised",
    );
    assert_eq!(stage.detector.deadline(), None);
    play(KNOWN, "0 read idle\n 2000 -> idle\n 3000 out\n 3030 read -> idle\n 10000 -> unknown");
}

#[test]
fn the_next_daemon_takes_over_what_was_known() {
    for (script, state) in [
        ("100 claim idle -> idle", "idle"),
        ("100 claim working -> working", "working"),
        ("100 hook prompt -> working", "working"),
        ("100 hook prompt\n 200 hook asked -> blocked/permission", "blocked/permission"),
        ("100 hook prompt\n 200 hook quota -> limited/quota", "limited/quota"),
        ("100 hook prompt\n 200 hook stop-watching -> watching", "watching"),
        ("0 read working -> working", "working"),
    ] {
        play(SPEAKS, &format!("{script}\n 1000 restart -> {state}\n 1010 tick -> {state}"));
    }
    // A dialog on the screen is there again, or was answered; it is not idle.
    let stage = play(
        KNOWN,
        "100 read blocked/plan -> blocked/plan
         1000 restart
         1010 out -> blocked/plan
         1040 read blocked/plan -> blocked/plan
         5000 lost
         5010 out -> blocked/plan
         5040 read blocked/plan -> blocked/plan
         6000 restart
         6010 out
         6040 read -> starting",
    );
    assert_eq!(stage.announced.len(), 2);
    let stage = play(
        KNOWN,
        "0 read idle
         2000 read working -> working
         3000 restart
         3001 out
         3031 read idle -> working
         3100 out
         3130 read working -> working
         60000 -> working",
    );
    assert!(stage.announced.iter().filter(|(_, state)| *state == State::Idle).count() == 1);
    // What was claimed before the dialog came does not count before the screen was looked at.
    play(
        SPEAKS,
        "100 claim idle -> idle
         200 read blocked/trust -> blocked/trust
         1000 restart
         1010 out -> blocked/trust
         1020 claim idle -> blocked/trust
         1040 read blocked/trust -> blocked/trust",
    );
    // Nothing comes to look at.
    play(
        KNOWN,
        "100 read blocked/trust\n 1000 restart\n 2999 -> blocked/trust\n 3000 -> starting\n 31000 -> unknown/unrecognised",
    );
    // The end of a turn was missed: the screen tells.
    play(
        KNOWN,
        "100 hook prompt\n 200 read working\n 1000 restart -> working\n 1001 out\n 1031 read idle -> working\n 2531 -> idle",
    );
}

#[test]
fn word_of_work_gives_way_to_a_long_silence_that_looks_idle() {
    play(
        SPEAKS,
        "0 claim working -> working
         100 read idle -> working
         60000 out -> working
         179999 -> working
         180000 -> idle",
    );
    play(SPEAKS, "0 claim working -> working\n 900000 -> working");
}

#[test]
fn lost_output_makes_the_screen_unknown_and_leaves_the_hooks() {
    play(SPEAKS, "0 claim idle -> idle\n 100 read idle\n 5000 lost -> unknown\n 9000 -> unknown");
    play(KNOWN, "0 hook prompt\n 100 hook stop -> idle\n 5000 lost -> idle");
    play(KNOWN, "0 read idle draft\n 2000 -> idle\n 5000 lost\n 9000 -> unknown");
}

#[test]
fn a_verdict_says_since_when() {
    let stage = play(SPEAKS, "0 claim idle\n 700 claim working\n 5000 claim working\n 5100 out");
    assert_eq!(stage.detector.verdict().since, BEGIN.plus(Duration::from_millis(700)));
}

fn findings() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        proptest::sample::select(vec![
            "idle",
            "idle!",
            "~idle",
            "working",
            "~working",
            "~working+",
            "watching",
            "blocked/plan",
            "~blocked",
            "limited/quota",
            "error#1",
            "error#2",
            "~error#3",
            "~limited#4",
            "draft",
            "empty",
        ]),
        0..4,
    )
    .prop_map(|words| words.join(" "))
}

fn words() -> impl Strategy<Value = String> {
    let fixed = |words: &[&'static str]| proptest::sample::select(words.to_vec()).prop_map(str::to_owned);
    let facts = [
        "prompt",
        "tool",
        "tool-end",
        "stop",
        "stop-watching",
        "asked",
        "answered",
        "interrupted",
        "idle",
        "quota",
        "other",
        "retry",
        "used",
    ];
    prop_oneof![
        4 => fixed(&["out", "type", "enter", "tick"]),
        4 => findings().prop_map(|findings| format!("read {findings}")),
        2 => fixed(&["claim idle", "claim working", "claim done", "claim error", "claim blocked", "claim clear"]),
        2 => (fixed(&["hook", "transcript", "transport"]), fixed(&facts)).prop_map(|(who, what)| format!("{who} {what}")),
        1 => fixed(&["sample reads", "sample children", "sample cpu", "sample network", "sample", "judge idle", "judge working", "lost"]),
        1 => Just("restart".to_owned()),
    ]
}

/// Events with the time before each.
fn scripts() -> impl Strategy<Value = Vec<(u64, String)>> {
    let wait = prop_oneof![0..50_u64, 0..3_000_u64, 0..200_000_u64];
    proptest::collection::vec((wait, words()), 0..40)
}

fn expected() -> impl Strategy<Value = Expectations> {
    proptest::sample::select(vec![KNOWN, SPEAKS, STRANGE])
}

fn perform(stage: &mut Stage, wait: u64, words: &str) {
    let at = stage.now.plus(Duration::from_millis(wait));
    stage.run_until(at);
    match words {
        "restart" => stage.restart(),
        _ => stage.handle(Stage::event(words), at),
    }
}

/// Whether anything in an event speaks for idle.
fn speaks_for_idle(words: &str) -> bool {
    let says = |word: &str| words.split([' ', '~', '!']).any(|part| part == word);
    says("idle") || says("done") || words.contains("stop") || says("interrupted") || says("reads")
}

proptest! {
    #[test]
    fn idle_needs_a_reason(expected in expected(), script in scripts()) {
        let mut stage = Stage::new(settings(), expected);
        for (wait, words) in script.iter().filter(|(_, words)| !speaks_for_idle(words)) {
            perform(&mut stage, *wait, words);
        }
        stage.run_until(stage.now.plus(Duration::from_hours(24)));
        prop_assert!(stage.announced.iter().all(|(_, state)| *state != State::Idle), "{:?}", stage.announced);
    }

    /// The machine is called at its deadline, so between now and then nothing may come out differently.
    #[test]
    fn nothing_changes_before_the_deadline(expected in expected(), script in scripts(), share in 0.0..1.0_f64) {
        let mut stage = Stage::new(settings(), expected);
        for (wait, words) in &script {
            perform(&mut stage, *wait, words);
            let horizon = stage.detector.deadline().map_or(400_000, |deadline| deadline.0 - stage.now.0 - 1);
            #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let later = stage.now.0 + (horizon as f64 * share) as u64;
            let mut other = stage.detector.clone();
            let before = other.verdict().clone();
            let actions = other.handle(Event::Tick, Timestamp(later));
            prop_assert!(!actions.contains(&Action::Announce), "{words:?}: {before:?} at {:?}, {:?} at {later}", stage.now, other.verdict());
            prop_assert_eq!(other.verdict().since, before.since);
        }
    }

    #[test]
    fn every_script_comes_to_rest(expected in expected(), script in scripts()) {
        let mut stage = Stage::new(settings(), expected);
        for (wait, words) in &script {
            perform(&mut stage, *wait, words);
        }
        let mut ticks = 0;
        while let Some(due) = stage.detector.deadline() {
            stage.handle(Event::Tick, due);
            ticks += 1;
            prop_assert!(ticks < 20, "it wants to be called again and again: {:?}", stage.detector);
        }
        // Ticks at rest change nothing, whenever they come.
        let verdict = stage.detector.verdict().clone();
        let later = stage.now.plus(Duration::from_secs(1));
        stage.handle(Event::Tick, later);
        prop_assert_eq!(stage.detector.verdict(), &verdict);
        prop_assert_eq!(stage.detector.deadline(), None);
    }

    #[test]
    fn the_same_events_give_the_same_verdicts(expected in expected(), script in scripts()) {
        let run = || {
            let mut stage = Stage::new(settings(), expected);
            for (wait, words) in &script {
                perform(&mut stage, *wait, words);
            }
            (stage.announced, stage.detector.verdict().clone(), stage.detector.deadline(), stage.samples)
        };
        prop_assert_eq!(run(), run());
    }

    /// Samples are asked for when something was written since the last one, not in a circle.
    #[test]
    fn no_sample_asks_for_another(expected in expected(), script in scripts()) {
        let mut stage = Stage::new(settings(), expected);
        for (wait, words) in &script {
            perform(&mut stage, *wait, words);
        }
        stage.run_until(stage.now.plus(Duration::from_hours(24)));
        let samples = stage.samples;
        for _ in 0..5 {
            let now = stage.now.plus(Duration::from_millis(1));
            stage.handle(Event::Sampled(ProcessSample::default()), now);
            stage.run_until(now.plus(Duration::from_hours(24)));
        }
        prop_assert!(stage.samples <= samples + 1);
    }
}
