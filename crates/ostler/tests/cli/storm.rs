//! Agents with every combination of misbehaviours, and messages of every kind: what is said of each message is
//! held against the agent's own log.

mod scenario;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use self::scenario::{DRAFT, Kind, Message, Scenario};
use crate::stand_in::{PRESET, Sending, texts};
use crate::support::{TestHome, ostler, setting, within};

/// Agents at the same time.
const WORKERS: usize = 8;
/// A message is waited for this long; then the session is ended, and what is known of it counts.
const PATIENCE: &str = "25";
/// All messages of an agent have this long.
const LIMIT: Duration = Duration::from_secs(70);

/// What became of all messages, and what must not be.
#[derive(Debug, Default)]
struct Tally {
    outcomes: BTreeMap<String, u64>,
    /// What is not so.
    violations: Vec<String>,
    /// What is so, or said to be unknown, and has no good reason.
    unexplained: Vec<String>,
}

impl Tally {
    fn count(&mut self, outcome: impl Into<String>) {
        *self.outcomes.entry(outcome.into()).or_default() += 1;
    }
}

/// The number of agents is a setting: `OSTLER_STORM=2000` takes an hour or two.
#[test]
fn whatever_agents_do_what_is_said_of_a_message_is_so() {
    let (count, seed) = (setting("OSTLER_STORM", 16), setting("OSTLER_SEED", 1));
    println!("OSTLER_STORM={count} OSTLER_SEED={seed}");
    let home = TestHome::with_stand_in();
    home.write_preset_of("taker", &format!("{PRESET}[prompt]\nfirst = \"flag\"\nflag = \"--\"\n"));
    home.daemon_pid();
    let next = AtomicU64::new(0);
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let scenario = Scenario::new(seed, index);
                    play(&home, &scenario);
                    judge(&home, &scenario, &tally);
                }
            });
        }
    });
    let Tally { outcomes, violations, unexplained } = tally.into_inner().unwrap();
    println!("{outcomes:#?}");
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
    let all: u64 = outcomes.values().sum();
    println!("{} of {all} have no good reason:\n{}", unexplained.len(), unexplained.join("\n"));
    // One of a hundred: a machine that stands still for a moment is a reason that nobody sees.
    assert!(
        unexplained.len() as u64 <= all.div_ceil(100),
        "{} of {all} have no good reason",
        unexplained.len()
    );
    let taken = outcomes.get("delivered, taken").copied().unwrap_or(0);
    assert!(taken * 2 > all, "too few arrived to mean anything: {outcomes:?}");
}

fn play(home: &TestHome, scenario: &Scenario) {
    let project = home.scratch().join(&scenario.name);
    fs::create_dir_all(&project).unwrap();
    let mut start = match scenario.kind {
        Kind::Known => vec!["start", "standin"],
        Kind::TakesArgument => vec!["start", "taker"],
        Kind::Unknown => vec!["start", ostler().to_str().unwrap()],
    };
    start.extend(["--no-wait", "--name", &scenario.name, "--cwd", project.to_str().unwrap()]);
    start.extend(scenario.trusted.then_some("--trust"));
    if let Some(prompt) = &scenario.prompt {
        start.extend(["--no-beacon", "--prompt", prompt]);
    }
    start.push("--");
    start.extend((scenario.kind == Kind::Unknown).then_some("stand-in"));
    let log = home.log_file(&scenario.name);
    start.extend(["--log", log.to_str().unwrap()]);
    start.extend(scenario.flags.iter().map(String::as_str));
    // One that dies early is told about: that is as it should be.
    home.run(&start);
    let began = Instant::now();
    let mut draft = scenario.has("--draft") && scenario.clears_draft;
    let mut waiting = scenario.messages.iter();
    let mut sending: Vec<Sending> = Vec::new();
    loop {
        sending.retain_mut(|sending| !sending.is_over());
        if sending.is_empty() {
            let Some(first) = waiting.next() else { break };
            sending.push(send(home, &scenario.name, first));
            while let Some(message) = waiting.as_slice().first().filter(|message| message.at_once) {
                sending.push(send(home, &scenario.name, message));
                waiting.next();
            }
        }
        if began.elapsed() > LIMIT {
            break;
        }
        let state = home.run(["wait", &scenario.name, "blocked,exited,idle", "--timeout", "1", "--json"]);
        let Ok(state) = serde_json::from_str::<Value>(&state.out) else { continue };
        match state["state"].as_str() {
            Some("blocked") => answer(home, scenario, &state["kind"]),
            // It may have died since.
            Some("idle") if std::mem::take(&mut draft) => {
                home.run(["send", &scenario.name, "--raw", "\x15"]);
            }
            _ => {}
        }
    }
    home.run(["stop", &scenario.name, "--grace", "0"]);
}

fn send(home: &TestHome, name: &str, message: &Message) -> Sending {
    let Message { id, text, mode, priority, .. } = message;
    home.begin_send(
        name,
        text.as_bytes(),
        &["--id", id, "--mode", mode, "--priority", priority, "--timeout", PATIENCE],
    )
}

/// Answers a dialog as a person does: with a look first.
fn answer(home: &TestHome, scenario: &Scenario, kind: &Value) {
    let name = &scenario.name;
    let screen = home.run(["screen", name]).out;
    let keys = match kind.as_str() {
        Some("trust") if scenario.trusted => return,
        Some("trust") if screen.contains("❯ Yes, I trust") => "\r",
        Some("trust") if screen.contains("❯ No, exit") => "\x1b[B",
        Some("dialog") if screen.contains("❯ Dark mode") => "\r",
        // What it quotes may look like one while it asks something else.
        Some("permission") if screen.contains("❯ 1. Yes") && !screen.contains("Go left") => "1",
        Some("question") if screen.contains("❯ 1. Go left") => "2",
        _ => return,
    };
    let seen = home.count(name, "answered");
    home.run(["send", name, "--raw", keys]);
    // A slow look must not answer the next dialog with keys for this one.
    if keys.len() == 1 {
        within(Duration::from_secs(2), || (home.count(name, "answered") != seen).then_some(()));
    }
}

fn judge(home: &TestHome, scenario: &Scenario, tally: &Mutex<Tally>) {
    let name = &scenario.name;
    let log = home.log(name);
    let taken: Vec<String> = texts(&log).iter().map(|text| text.trim_end().to_owned()).collect();
    let listed = home.run(["messages", "list", name, "--all", "--json"]).out;
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap_or_default();
    let mut tally = tally.lock().unwrap();
    let mut wrong = Vec::new();
    for text in &taken {
        if !scenario.texts().any(|sent| sent == text) {
            wrong.push(format!("the agent took what nobody sent: {text:?}"));
        }
    }
    let ids = scenario
        .prompt
        .iter()
        .map(|_| "prompt-")
        .chain(scenario.messages.iter().map(|message| message.id.as_str()));
    for (id, text) in ids.zip(scenario.texts()) {
        let times = taken.iter().filter(|taken| *taken == text).count();
        if times > 1 {
            wrong.push(format!("{id} was taken {times} times"));
        }
        let Some(said) = listed.iter().find(|said| said["id"].as_str().unwrap().starts_with(id)) else {
            tally.count(if times == 0 { "never sent" } else { "taken, not known" });
            continue;
        };
        let state = said["state"].as_str().unwrap();
        let what = if times == 0 { "not taken" } else { "taken" };
        let lie = if scenario.lies { " (lie)" } else { "" };
        let why = said["failure"].as_str().map_or_else(String::new, |why| format!(": {why}"));
        let kind = if scenario.kind == Kind::Unknown { " (unknown program)" } else { "" };
        tally.count(format!("{state}{lie}{kind}, {what}{why}"));
        let honest = match state {
            "delivered" => times == 1 || scenario.lies,
            "failed" => times == 0,
            _ => true,
        };
        // A session that was ended explains much; what else may go wrong needs a reason.
        let excused =
            ["--cut-pastes", "--die-on-submit", "--die-after"].iter().any(|flag| scenario.has(flag));
        let explained = excused
            || scenario.kind == Kind::Unknown
            || said["failure"].is_null()
            || said["failure"] == "the program has ended";
        if !honest || state == "queued" {
            wrong.push(format!("{id} is said to be {state}, and was {what}: {said}"));
        } else if !explained {
            tally.unexplained.push(format!("{:?}: {said}", scenario.flags));
        }
    }
    let dialogs = log.iter().filter(|record| record["event"] == "answered");
    for record in dialogs {
        let expected = match record["kind"].as_str().unwrap() {
            "trust" => "Yes, I trust this folder",
            "theme" => "Dark mode",
            "permission" => "Yes",
            _ => "Go right",
        };
        if record["choice"] != expected {
            wrong.push(format!("a dialog was answered by nobody: {record}"));
        }
    }
    for (text, whose) in [(DRAFT, "a person's draft"), (scenario::GHOST, "a suggestion")] {
        if taken.iter().any(|taken| taken.contains(text)) {
            wrong.push(format!("{whose} was submitted"));
        }
    }
    if !wrong.is_empty() {
        let lines = |all: &[Value]| all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n    ");
        let (said, log) = (lines(&listed), lines(&log));
        let wrong = wrong.join("\n  ");
        tally.violations.push(format!("{scenario:#?}\n  {wrong}\n  said:\n    {said}\n  log:\n    {log}"));
    }
}
