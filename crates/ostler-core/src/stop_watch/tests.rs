//! Scripts of the form `milliseconds event -> reports`, one line each; what falls due between two lines must be a line of
//! its own. See [`Stage::event`] for the words. The reports are those of a listener that gave the prompt.

use proptest::prelude::*;

use super::*;
use crate::detector::{At, Reporter};

/// The moment 0 of a script: long after 1970, and after the daemon's start.
const BEGIN: Now = Now { wall: Wall(1_760_000_000_000), steady: Steady(1_000_000) };
const HOUR: i64 = 3_600_000;
const NOTHING: PromptState = PromptState::Nothing;
const PATIENCE: Patience = Patience(Some(Duration::from_secs(30)));

/// A watch and one who listens, in simulated time.
struct Stage {
    watch: StopWatch,
    listener: Listener,
    prompt: PromptState,
    now: Now,
    status: AgentStatus,
    /// By how much the wall clock was set, in milliseconds.
    set: i64,
}

fn status(state: State, since: Wall) -> AgentStatus {
    AgentStatus {
        state,
        kind: None,
        composer_never_seen: false,
        until: None,
        since,
        confidence: 0.95,
        failed: None,
        asks: false,
        retrying: None,
        exit: None,
        stop_requested: false,
        usage: Usage::default(),
        transcript_lags: false,
        last_output: None,
        last_heartbeat: None,
    }
}

fn stopped(trigger: Trigger, stop: Stop) -> Stopped {
    let (last_output, last_heartbeat) = (None, None);
    Stopped { trigger, stop, exit: None, last_output, idle_for: Duration::ZERO, last_heartbeat }
}

fn reporter(name: &str) -> Reporter {
    match name {
        "hook" => Reporter::Hook,
        "transcript" => Reporter::Transcript,
        "screen" => Reporter::Screen,
        _ => panic!("no reporter is called {name:?}"),
    }
}

/// The moment of a script on both clocks, where the wall clock was set by so much.
fn at(ms: i64, set: i64) -> Now {
    Now { wall: wall(ms + set), steady: Steady(BEGIN.steady.0.checked_add_signed(ms).unwrap()) }
}

fn wall(ms: i64) -> Wall {
    Wall(BEGIN.wall.0.checked_add_signed(ms).unwrap())
}

impl Stage {
    fn new(prompt: PromptState, found: &Findings) -> Self {
        let zone = jiff::tz::TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap();
        let mut watch = StopWatch::new(prompt, *found, zone, BEGIN);
        assert_eq!(watch.handle(Event::PatienceChanged(PATIENCE), BEGIN), None);
        let mut listener = if prompt == NOTHING { Listener::default() } else { Listener::again(false) };
        let _ = listener.on_findings(found, prompt.sent());
        Self { watch, listener, prompt, now: BEGIN, status: status(State::Starting, BEGIN.wall), set: 0 }
    }

    /// The words of a script. A state begins when it is first named, unless `since=` says otherwise.
    fn event(&mut self, words: &str) -> Event {
        let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
        let number = |text: &str| text.parse::<i64>().unwrap_or_else(|_| panic!("{text:?} in {words:?}"));
        let moment = |text: &str| wall(number(text));
        match word {
            "tick" => return Event::StatusChanged(self.status.clone()),
            "prompt" => {
                let mut times = rest.split(' ').filter(|word| !word.is_empty()).map(moment);
                let (sent, taken) = (times.next().unwrap(), times.next());
                self.prompt = PromptState::Prompt { sent, taken };
                return Event::PromptChanged(self.prompt);
            }
            _ => {}
        }
        let (name, kind) = word.split_once('/').map_or((word, None), |(name, kind)| (name, Some(kind)));
        let state = name.parse().unwrap();
        let since = if state == self.status.state { self.status.since } else { self.now.wall };
        let mut status = AgentStatus { kind: kind.map(str::to_owned), ..status(state, since) };
        for word in rest.split(' ').filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match name {
                "since" => status.since = moment(value),
                "sure" => status.confidence = value.parse().unwrap(),
                "asks" => status.asks = true,
                "lags" => status.transcript_lags = true,
                "stop" => status.stop_requested = true,
                "until" => status.until = Some(value.replace('_', " ")),
                "exit" => status.exit = Some(Exit { status: value.parse().ok(), signal: None }),
                "signal" => status.exit = Some(Exit { status: None, signal: value.parse().ok() }),
                "spent" => status.usage.output = value.parse().unwrap(),
                "output" => status.last_output = Some(at(number(value), 0).steady),
                "beat" => status.last_heartbeat = Some(at(number(value), 0).wall),
                "failed" | "retrying" => {
                    let parts: Vec<&str> = value.split(':').collect();
                    let (by, failure) = (reporter(parts[0]), Failure::named(parts[1]).unwrap());
                    if name == "failed" {
                        status.failed = Some((by, failure));
                    } else {
                        let since = at(number(parts[2]), 0).steady;
                        status.retrying = Some((by, At { what: failure, at: since }));
                    }
                }
                _ => panic!("{word:?} in {words:?}"),
            }
        }
        self.status = status.clone();
        Event::StatusChanged(status)
    }

    fn handle(&mut self, event: Event) -> Vec<Report> {
        let stopped = self.watch.handle(event, self.now);
        assert!(self.watch.deadline().is_none_or(|due| due > self.now.steady), "a deadline in the past");
        let found = self.watch.found();
        let known = [found.dialog, found.turn, found.end];
        assert!(stopped.is_none() || known.contains(&stopped), "a stop that is not among the findings");
        self.listener.on_findings(found, self.prompt.sent())
    }

    #[track_caller]
    fn play(&mut self, script: &str) -> &mut Self {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (words, expected) = line.split_once("->").unwrap_or((line, ""));
            let (ms, words) = words.trim().split_once(' ').unwrap();
            let ms = ms.parse().unwrap();
            if let Some(("set", by)) = words.split_once(' ') {
                self.set += by.parse::<i64>().unwrap();
                continue;
            }
            let due = self.watch.deadline();
            assert!(due.is_none_or(|due| due >= at(ms, 0).steady), "something falls due before {line:?}");
            self.now = at(ms, self.set);
            let event = self.event(words);
            let shown: Vec<String> = self.handle(event).iter().map(shown).collect();
            assert_eq!(shown.join(" "), expected.trim(), "{line}");
        }
        self
    }
}

fn shown(report: &Report) -> String {
    let Stopped { stop, .. } = match report {
        Report::Ready => return "ready".into(),
        Report::Resumed => return "resumed".into(),
        Report::Spent(usage) => return format!("spent:{}", usage.output),
        Report::Stopped(stopped) => stopped,
    };
    let shown = |until: &Option<Wall>| {
        until.map_or(String::new(), |at| format!("@{}", (at.0 - BEGIN.wall.0) / 1_000))
    };
    match stop {
        Stop::Idle { asks: false } => "idle".into(),
        Stop::Idle { asks: true } => "asks".into(),
        Stop::TurnFailed { by, failure, until } => {
            let by = serde_json::to_value(by).unwrap();
            format!("failed:{}:{}{}", by.as_str().unwrap(), failure.as_str(), shown(until))
        }
        Stop::StatusError => "error".into(),
        Stop::Exited { status: Some(status), .. } => format!("exited:{status}"),
        Stop::Exited { signal, .. } => format!("signal:{}", signal.unwrap()),
        Stop::Ended => "ended".into(),
        Stop::Lost => "lost".into(),
        Stop::Limited { limit, until } => format!("limited:{limit:?}{}", shown(until)),
        Stop::Blocked { kind } => format!("blocked:{}", kind.as_str()),
    }
}

#[track_caller]
fn play(script: &str) -> Stage {
    let mut stage = Stage::new(NOTHING, &Findings::default());
    stage.play(script);
    stage
}

/// Plays a script behind a prompt that was sent at 100 and that the agent works on since 200.
#[track_caller]
fn play_prompted(script: &str) -> Stage {
    let mut stage = play("0 idle -> ready\n 150 prompt 100 150\n 200 working");
    stage.play(script);
    stage
}

#[test]
fn what_the_last_answer_cost_is_waited_for_and_not_for_long() {
    play_prompted("300 idle sure=0.99 -> \n 350 tick -> idle");
    play_prompted("300 idle sure=0.99 lags\n 500 idle sure=0.99 spent=7 -> spent:7 idle");
    play_prompted("300 idle sure=0.99 lags\n 1000 tick -> idle\n 1100 idle sure=0.99 spent=7 -> spent:7");
    // How a turn failed is told at once.
    play_prompted("300 limited/rate_limit lags\n 450 tick -> limited:Rate");
}

#[test]
fn an_agent_is_ready_once() {
    play("0 starting\n 900 idle -> ready\n 1000 working\n 1100 idle");
    for state in ["watching", "error", "limited", "unknown/unrecognised"] {
        play(&format!("0 starting\n 900 {state} -> ready"));
    }
    play("0 starting\n 10 unknown\n 20 unknown/unreachable\n 30 working\n 40 idle -> ready");
    let prompt = PromptState::Prompt { sent: wall(-9_000), taken: None };
    Stage::new(prompt, &Findings::default()).play("0 working");
}

#[test]
fn a_rest_has_to_last_and_the_surer_it_is_the_shorter() {
    play_prompted("1000 idle\n 1149 tick\n 1150 tick -> idle");
    play_prompted("1000 idle sure=0.97\n 1049 tick\n 1050 tick -> idle");
    play_prompted("1000 idle sure=0.8\n 1599 tick\n 1600 tick -> idle");
    // Only rest is known so surely at once: an error may be known more exactly in a moment.
    play_prompted(
        "1000 error sure=0.99\n 1049 tick\n 1100 error failed=hook:quota\n 1150 tick -> failed:hook:quota",
    );
    // Surer in the middle of it.
    play_prompted("1000 idle sure=0.8\n 1400 idle sure=0.98 -> idle");
}

#[test]
fn a_flicker_between_two_tools_is_no_stop() {
    let stage = play_prompted("1000 idle\n 1100 working\n 2000 idle\n 2149 tick\n 2149 working\n 9999 tick");
    assert_eq!(stage.watch.deadline(), None);
    // One that nobody saw: the state is the same, and began again.
    play_prompted("1000 idle\n 1140 idle since=1130\n 1150 tick\n 1279 tick\n 1280 tick -> idle");
}

#[test]
fn a_stop_is_reported_once_for_its_prompt() {
    play_prompted(
        "1000 idle\n 1150 tick -> idle\n 2000 working\n 3000 idle\n 9000 tick\n 9100 error\n 9900 tick
         10200 prompt 10010 10200\n 10300 working\n 10400 idle\n 10550 tick -> idle",
    );
}

#[test]
fn watching_starting_and_unknown_are_no_stop() {
    let stage = play_prompted("1000 watching\n 2000 unknown/unreachable\n 3000 starting\n 99999 tick");
    assert_eq!(stage.watch.deadline(), None);
}

#[test]
fn an_agent_without_a_prompt_does_not_stop_by_resting() {
    let stage = play("0 idle -> ready\n 10000 tick\n 11000 working\n 12000 idle\n 99999 idle");
    assert_eq!(stage.watch.deadline(), None);
}

#[test]
fn one_that_rests_since_before_its_prompt_is_given_time_to_begin() {
    let script = "0 idle -> ready\n 2000 prompt 510 2000";
    play(&format!("{script}\n 11999 tick\n 12000 tick -> idle"));
    play(&format!("{script}\n 5000 working\n 6000 idle\n 6150 tick -> idle"));
    // Nobody knows when it had the prompt: it counts from when that was sent.
    play("0 idle -> ready\n 4100 prompt 4010\n 14009 tick\n 14010 tick -> idle");
}

#[test]
fn a_screen_that_was_found_again_is_given_time_to_be_understood() {
    let prompt = PromptState::Prompt { sent: wall(-60_000), taken: Some(wall(-59_000)) };
    let mut stage = Stage::new(prompt, &Findings::default());
    stage.play("0 idle since=-90000\n 2999 tick\n 3000 tick -> idle");
    // It rested after the prompt: that was seen by the daemon before.
    let mut stage = Stage::new(prompt, &Findings::default());
    stage.play("0 idle since=-30000 -> idle");
}

#[test]
fn what_happened_before_the_daemon_keeps_its_order() {
    let (started, zone) = (Now { steady: Steady(5), ..BEGIN }, TimeZone::UTC);
    for (since, stops) in [(-90_000, false), (-30_000, true)] {
        let prompt = PromptState::Prompt { sent: wall(-60_000), taken: None };
        let mut watch = StopWatch::new(prompt, Findings::default(), zone.clone(), started);
        let idle = Event::StatusChanged(status(State::Idle, wall(since)));
        assert_eq!(watch.handle(idle, started).is_some(), stops, "idle since {since}");
    }
}

#[test]
fn a_dialog_has_to_stay_open_and_may_be_answered() {
    let begin = "0 idle -> ready\n 150 prompt 100 150\n 200 working";
    play(&format!(
        "{begin}\n 1000 blocked/permission\n 3999 tick\n 4000 tick -> blocked:permission\n 9000 tick
         10000 working -> resumed\n 11000 blocked/plan\n 13999 working
         20000 blocked/plan\n 23000 tick -> blocked:plan\n 24000 idle -> resumed\n 24150 tick -> idle"
    ));
    // Also before the agent has anything to do, and in words that no rule has.
    play("0 blocked/trust\n 3000 tick -> blocked:trust\n 4000 idle -> resumed ready");
    play("0 blocked\n 3000 tick -> blocked:dialog");
    play("0 blocked/whatever since=-5000 -> blocked:dialog");
}

#[test]
fn a_dialog_that_was_reported_before_a_restart_is_not_reported_again() {
    let prompt = PromptState::Prompt { sent: wall(-9_000), taken: None };
    let dialog = Some(stopped(Trigger::DialogOpen, Stop::Blocked { kind: crate::Asking::Permission }));
    let mut stage = Stage::new(prompt, &Findings { dialog, ..Findings::default() });
    stage.play("0 blocked/permission since=-8000\n 9000 tick\n 10000 working -> resumed");
}

#[test]
fn a_login_is_a_failure_of_the_turn() {
    play_prompted("1000 blocked/auth\n 4000 tick -> failed:screen:auth");
    play_prompted("1000 blocked/auth failed=hook:other\n 4000 tick -> failed:hook:auth");
}

#[test]
fn retries_that_fail_for_too_long_are_a_stop() {
    play_prompted(
        "900 working/retrying retrying=hook:overloaded:900\n 30899 tick\n 30900 tick -> failed:hook:overloaded",
    );
    // Retrying mends neither of these.
    for failure in ["quota", "auth"] {
        play_prompted(&format!(
            "900 working retrying=screen:{failure}:900\n 5899 tick\n 5900 tick -> failed:screen:{failure}\n 99999 tick"
        ));
    }
    for failure in ["invalid", "other"] {
        let stage = play_prompted(&format!("900 working retrying=hook:{failure}:900\n 99999 tick"));
        assert_eq!(stage.watch.deadline(), None);
    }
    // It has got through.
    play_prompted("900 working retrying=hook:unavailable:900\n 2000 working\n 99999 tick");
    // A call that was retried for long, and a turn that then ended, is a turn that ended.
    play_prompted("900 working retrying=hook:unavailable:900\n 2000 idle\n 2150 tick -> idle");
}

#[test]
fn patience_is_the_policys() {
    assert_eq!(Patience::limited(Duration::ZERO), Patience::UNLIMITED);
    assert_eq!(Patience::UNLIMITED.after(Failure::Quota), None);
    let patience = Patience::limited(Duration::from_secs(2));
    assert_eq!(patience.after(Failure::Quota), Some(Duration::from_secs(2)));
    assert_eq!(crate::run::Policy { retry_secs: 2, ..Default::default() }.patience(), patience);
}

#[test]
fn a_limit_says_when_it_ends() {
    play_prompted("1000 limited/rate_limit until=in_30_seconds\n 1150 tick -> limited:Rate@31");
    play_prompted("1000 limited\n 1150 tick -> limited:Quota");
    play_prompted(
        "1000 limited until=in_1_minute failed=transcript:quota\n 1150 tick -> failed:transcript:quota@61",
    );
    // 08:53:20 UTC is 10:53:20 in Berlin, where the machine is, and 17:53:20 in Tokyo.
    play_prompted("1000 limited until=resets_11am\n 1150 tick -> limited:Quota@400");
    play_prompted("1000 limited until=resets_6pm_(Asia/Tokyo)\n 1150 tick -> limited:Quota@400");
    play_prompted("1000 error\n 1150 tick -> error");
}

#[test]
fn an_end_is_reported_whatever_the_agent_has() {
    play("0 starting\n 10 exited exit=3 -> exited:3\n 20 idle");
    play("0 starting\n 10 exited signal=9 -> signal:9");
    play("0 idle -> ready\n 10 exited -> lost");
    play_prompted("1000 exited exit=0 -> exited:0\n 2000 prompt 2000\n 3000 exited exit=0");
    play_prompted("1000 exited exit=143 stop -> ended");
    play_prompted("1000 blocked\n 1100 exited exit=1 -> exited:1");
    let stage = play("0 exited exit=1 -> exited:1");
    assert_eq!(stage.watch.deadline(), None);
    // The terminal was lost on the way: it was stopped all the same.
    play("0 idle -> ready\n 10 exited exit= stop -> ended");
    play("0 idle -> ready\n 10 exited exit= -> lost");
}

#[test]
fn a_question_may_be_answered_and_the_prompt_stops_again() {
    let stage = play_prompted(
        "1000 idle asks\n 1150 tick -> asks\n 2000 unknown\n 3000 idle asks\n 3500 tick
         4000 working -> resumed\n 5000 idle\n 5150 tick -> idle\n 6000 working\n 7000 idle\n 8000 tick",
    );
    assert!(stage.watch.found().turn.is_some_and(|turn| !turn.stop.asks()));
}

#[test]
fn a_restart_reports_nothing_again() {
    let prompt = PromptState::Prompt { sent: wall(-9_000), taken: None };
    let turn = Some(stopped(Trigger::TurnEnded, Stop::Idle { asks: false }));
    Stage::new(prompt, &Findings { turn, ..Findings::default() })
        .play("0 idle since=-8000\n 20000 tick\n 21000 working\n 22000 idle\n 23000 tick");
    let turn = Some(stopped(Trigger::TurnEnded, Stop::Idle { asks: true }));
    let text = serde_json::to_string(&Findings { turn, ..Findings::default() }).unwrap();
    let found = serde_json::from_str(&text).unwrap();
    Stage::new(prompt, &found).play("0 idle asks since=-8000\n 20000 tick\n 21000 working -> resumed");
    assert_eq!(serde_json::from_str::<Findings>("{}").unwrap(), Findings::default());
}

#[test]
fn a_listener_that_comes_late_misses_nothing() {
    let mut stage = play("0 idle -> ready\n 150 prompt 100 150\n 200 working");
    stage.play("1000 idle asks\n 1150 tick -> asks");
    let found = *stage.watch.found();
    let turn = found.turn.unwrap();
    let mut late = Listener::default();
    assert_eq!(late.on_findings(&found, None), [Report::Ready]);
    assert_eq!(late.on_findings(&found, Some(wall(100))), [Report::Stopped(turn)]);
    assert_eq!(late.on_findings(&found, Some(wall(100))), []);
    // One that was told before a restart, and one that knew of a dialog that is gone.
    assert_eq!(Listener::again(false).on_findings(&found, Some(wall(100))), [Report::Stopped(turn)]);
    let again = Listener::again(true).on_findings(&found, Some(wall(100)));
    assert_eq!(again, [Report::Resumed, Report::Stopped(turn)]);
    // The end of the process is the last that is heard.
    let end = stopped(Trigger::PtyExit, Stop::Lost);
    let ended = Findings { end: Some(end), ..found };
    assert_eq!(late.on_findings(&ended, None), [Report::Stopped(end)]);
    assert_eq!(late.on_findings(&found, Some(wall(200))), []);
}

#[test]
fn a_turn_counts_for_the_prompt_that_the_listener_gave() {
    let mut stage = play("0 idle -> ready\n 150 prompt 100 150\n 200 working");
    stage.play("1000 idle\n 1150 tick -> idle");
    // A person's prompt, of which the listener knows nothing.
    let (prompt, sent) = (PromptState::Prompt { sent: wall(2_000), taken: None }, wall(100));
    stage.now = at(2_000, 0);
    assert_eq!(stage.watch.handle(Event::PromptChanged(prompt), stage.now), None);
    assert_eq!(stage.listener.on_findings(stage.watch.found(), Some(sent)), []);
    stage.play("2100 working\n 3000 idle\n 3150 tick");
    assert!(stage.watch.found().turn.is_some());
}

#[test]
fn spending_is_reported_once_per_change() {
    play(
        "0 starting spent=0\n 10 idle spent=5 -> spent:5 ready\n 20 idle spent=5\n 30 working spent=9 -> spent:9",
    );
    play_prompted("1000 idle\n 1150 idle spent=7 -> spent:7 idle");
}

#[test]
fn a_stop_says_what_was_known_of_it() {
    let mut stage = play_prompted("1000 idle output=400 beat=300");
    stage.now = at(1_150, 0);
    let reports = stage.handle(Event::StatusChanged(stage.status.clone()));
    let stopped = Stopped {
        trigger: Trigger::TurnEnded,
        stop: Stop::Idle { asks: false },
        exit: None,
        last_output: Some(wall(400)),
        idle_for: Duration::from_millis(750),
        last_heartbeat: Some(wall(300)),
    };
    assert_eq!(reports, [Report::Stopped(stopped)]);
    let recorded = serde_json::json!({
        "trigger": "turn_ended",
        "stop": { "why": "idle", "asks": false },
        "exit": null,
        "last_output": BEGIN.wall.0 + 400,
        "idle_for_ms": 750,
        "last_heartbeat": BEGIN.wall.0 + 300,
    });
    assert_eq!(serde_json::to_value(stopped).unwrap(), recorded);
    assert_eq!(serde_json::from_value::<Stopped>(recorded).unwrap(), stopped);
    // Where nothing is known of its output, its state tells since when it rests.
    let mut stage = play_prompted("");
    stage.now = at(1_700, 0);
    let exit = Some(Exit { status: Some(3), signal: None });
    let exited = AgentStatus { exit, ..status(State::Exited, wall(200)) };
    let gone = stage.handle(Event::StatusChanged(exited));
    let [Report::Stopped(stopped)] = gone.as_slice() else { panic!("{gone:?}") };
    let known = (stopped.trigger, stopped.exit, stopped.idle_for);
    assert_eq!(known, (Trigger::PtyExit, exit, Duration::from_millis(1_500)));
    let triggers = [Trigger::TurnEnded, Trigger::DialogOpen, Trigger::RetriesFailing, Trigger::PtyExit];
    for trigger in triggers {
        assert_eq!(serde_json::to_value(trigger).unwrap(), trigger.as_str());
    }
}

#[test]
fn a_wall_clock_that_is_set_stops_nothing_early_and_hangs_nothing() {
    for set in [HOUR, -HOUR] {
        // In the middle of a rest, of a dialog, and of the time that an agent has to begin.
        play_prompted(&format!("1000 idle\n 1000 set {set}\n 1149 tick\n 1149 idle\n 1150 tick -> idle"));
        play_prompted(&format!(
            "1000 blocked/plan\n 1500 set {set}\n 2000 blocked/plan\n 3999 tick\n 4000 tick -> blocked:plan"
        ));
        play(&format!(
            "0 idle -> ready\n 2000 prompt 510 2000\n 3000 set {set}
             3000 idle\n 11999 tick\n 12000 tick -> idle"
        ));
        // While the agent works: the moments of prompt and rest are from different clocks.
        play_prompted(&format!("500 set {set}\n 1000 idle\n 1149 tick\n 1150 tick -> idle"));
    }
}

/// Numbers that look random and follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        usize::try_from((mixed ^ (mixed >> 27)) >> 33).unwrap() % sides
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.roll(all.len())]
    }
}

/// Plays events at random, restarts of the daemon and a clock that is set among them, and checks every report.
fn storm(seed: u64) {
    let mut dice = Dice(seed);
    let mut stage = Stage::new(NOTHING, &Findings::default());
    let mut ms = 0;
    let mut given = NOTHING;
    // What was reported of the present prompt and not taken back.
    let mut said: Vec<Trigger> = Vec::new();
    for _ in 0..200 {
        ms += [0, 1, 49, 50, 151, 601, 3_001, 10_001, 31_000][dice.roll(9)];
        if dice.roll(20) == 0 {
            stage.set += [-HOUR, HOUR, 5][dice.roll(3)];
        }
        stage.now = at(ms, stage.set);
        if dice.roll(20) == 0 {
            stage.watch = StopWatch::new(given, *stage.watch.found(), TimeZone::UTC, stage.now);
            let again = stage.watch.handle(Event::PatienceChanged(PATIENCE), stage.now);
            assert_eq!(again, None, "seed {seed}: it has seen nothing yet");
        }
        let event = match dice.roll(10) {
            0 => {
                let sent = stage.now.wall.minus(Duration::from_millis(10));
                given = PromptState::Prompt { sent, taken: Some(stage.now.wall) };
                stage.prompt = given;
                said.retain(|trigger| *trigger == Trigger::DialogOpen);
                Event::PromptChanged(given)
            }
            1..=3 => Event::StatusChanged(stage.status.clone()),
            _ => {
                let named = dice.one_of(&[
                    "idle", "idle", "working", "working", "blocked", "error", "limited", "unknown",
                ]);
                let more = dice.one_of(&["", "asks", "sure=0.98", "sure=0.7"]);
                let retrying =
                    format!("retrying=hook:quota:{}", ms - i64::try_from(dice.roll(9_000)).unwrap());
                let retrying = if dice.roll(4) == 0 { retrying.as_str() } else { "" };
                stage.event(&format!("{named} {more} {retrying}"))
            }
        };
        for report in stage.handle(event) {
            match report {
                Report::Resumed => said.clear(),
                Report::Ready | Report::Spent(_) => {}
                Report::Stopped(Stopped { trigger, .. }) => {
                    let turn = [Trigger::TurnEnded, Trigger::RetriesFailing];
                    let same = |known: &Trigger| {
                        *known == trigger || turn.contains(known) && turn.contains(&trigger)
                    };
                    assert!(!said.iter().any(same), "seed {seed}: {trigger:?} again at {ms}");
                    said.push(trigger);
                    let is_retrying = stage.status.retrying.is_some();
                    let working = stage.status.state == State::Working;
                    assert!(!working || is_retrying, "seed {seed}: it works at {ms}");
                    assert!(
                        trigger == Trigger::DialogOpen || matches!(given, PromptState::Prompt { .. }),
                        "seed {seed}: it had no prompt at {ms}"
                    );
                }
            }
        }
        // Time that has passed is waited for by nobody.
        let due = stage.watch.deadline();
        assert!(due.is_none_or(|due| due.since(stage.now.steady) <= Duration::from_secs(30)), "seed {seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_stop_is_reported_once_and_never_of_an_agent_at_work(seed in any::<u64>()) {
        storm(seed);
    }
}
