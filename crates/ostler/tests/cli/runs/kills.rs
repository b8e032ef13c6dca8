//! Runs that outlive the daemon, whenever it is killed.

#![allow(clippy::print_stdout, reason = "the seed, to repeat it")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::shared::Server;
use super::team::reasons;
use crate::support::{PATIENCE, Random, TestHome, pid, seed, setting, until, until_file, until_gone};

/// Runs that go on at a time.
const AT_ONCE: usize = 3;

/// Attempt 1 fails its check, attempt 2 passes; the second kind of run loses an agent first.
fn play(home: &TestHome) {
    let script = json!([
        { "when": "RETRY CONTEXT", "do": "!work 150ms !write out.txt good !say done" },
        { "do": "!work 150ms !write out.txt bad !say done" },
    ]);
    home.scripted("steady", "--status", &script);
    home.scripted("plain", "", &script);
    home.scripted("mortal", "", &json!([{ "do": "!work 200ms !write left.txt x !crash" }]));
}

/// One run, each in a directory of its own.
struct Kept {
    id: String,
    project: String,
    agents: &'static str,
}

fn begin(home: &TestHome, number: usize) -> Kept {
    let project = format!("p{number}");
    let cwd = home.repository(&project);
    let agents = ["steady", "plain", "mortal,steady"][number % 3];
    // Else only the first of them would have an agent that dies.
    home.run(["providers", "reset"]).ok();
    let check = "sleep 0.2; grep -q good out.txt || { echo 'error: it is bad' >&2; exit 1; }";
    let args = ["run", "Do it.", "--agent", agents, "--check", check, "--cwd", &cwd, "--detach"];
    Kept { id: home.run(args).ok().trim().to_owned(), project, agents }
}

/// What must be true of a run that has ended, however often its daemon was killed.
fn examine(home: &TestHome, kept: &Kept) {
    let Kept { id, project, agents } = kept;
    let ended = until(&format!("run {id} has ended"), || {
        let run = home.json(["runs", "show", id, "--json"]);
        (!run["outcome"].is_null()).then_some(run)
    });
    assert_eq!(ended["state"], "done", "{ended:#}");
    let attempts: Vec<&Value> =
        ended["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["status"]).collect();
    assert_eq!(attempts, ["failed", "passed"], "{ended:#}");
    let prompts = ended["prompts"].as_array().unwrap();
    for agent in agents.split(',') {
        let told: Vec<&str> = prompts
            .iter()
            .filter(|prompt| prompt["provider"] == agent)
            .map(|prompt| prompt["contextual"].as_str().unwrap().trim())
            .collect();
        assert_eq!(home.prompts_in(project, agent), told, "{agent}: {ended:#}");
    }
    let turns: Vec<&Value> = ended["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|attempt| attempt["turns"].as_array().unwrap())
        .collect();
    // The daemon died between recording an agent and starting it: nobody was there, and nobody was told anything.
    let stillborn = |turn: &&&Value| turn["stop"]["why"] == "lost" && turn["submitted"].is_null();
    let steps = turns.len() - turns.iter().filter(stillborn).count();
    assert!(steps == 2 || (steps == 3 && agents.contains(',')), "{ended:#}");
    assert_eq!(ended["switches"], turns.len() - 2);
    assert_eq!(ended["checks"].as_array().unwrap().len(), 2, "each attempt was checked once: {ended:#}");
}

/// The number of kills is a setting: `OSTLER_RUN_KILLS=200` takes some minutes.
#[test]
fn a_daemon_killed_at_random_moments_ends_every_run_right() {
    killed_at_random(&TestHome::with_repository(), None);
}

#[test]
fn a_daemon_and_its_server_killed_at_random_moments_end_every_run_right() {
    let Some(mut server) = Server::start() else { return };
    killed_at_random(&server.home(), Some(&mut server));
}

fn killed_at_random(home: &TestHome, mut server: Option<&mut Server>) {
    let (kills, seed) = (setting("OSTLER_RUN_KILLS", 20), seed());
    println!("OSTLER_RUN_KILLS={kills} OSTLER_SEED={seed}");
    let mut random = Random(seed);
    play(home);
    let mut going: Vec<Kept> = Vec::new();
    let mut begun = 0;
    let (mut killed, deadline) = (0, Instant::now() + PATIENCE * u32::try_from(kills).unwrap());
    while killed < kills {
        assert!(Instant::now() < deadline);
        while going.len() < AT_ONCE {
            going.push(begin(home, begun));
            begun += 1;
        }
        let daemon = home.daemon_pid();
        // The moment of the kill is what this test is about: any, from taking up the runs to deep in their work.
        std::thread::sleep(Duration::from_millis(random.below(1_500)));
        // The server alone, the daemon alone, or both.
        let victims = if server.is_some() { random.below(3) } else { 1 };
        if victims != 0 {
            crate::support::kill(daemon);
        }
        if let Some(server) = server.as_deref_mut().filter(|_| victims != 1) {
            server.kill();
            server.restart();
            until("the store answers", || (home.run(["providers"]).code == 0).then_some(()));
        }
        killed += 1;
        let runs = home.json(["runs", "list", "--all", "--json"]);
        let over = |kept: &Kept| {
            let run = runs.as_array().unwrap().iter().find(|run| run["id"] == kept.id.as_str());
            !run.expect("no run is lost")["outcome"].is_null()
        };
        let (ended, rest): (Vec<Kept>, Vec<Kept>) = going.into_iter().partition(over);
        for kept in &ended {
            examine(home, kept);
        }
        going = rest;
    }
    for kept in &going {
        examine(home, kept);
    }
    println!("{begun} runs through {kills} kills");
    home.await_quiet();
}

/// Begins a run, and kills the daemon when its agent is at work. Returns the run's id and the agent's process.
fn abandon(home: &TestHome, agents: &str) -> (String, u32) {
    let args = ["run", "Do it.", "--agent", agents, "--check", "cat out.txt", "--detach"];
    let id = home.run(args).ok().trim().to_owned();
    home.await_state(&id, "working");
    let session = home.json(["runs", "show", &id, "--json"])["session"].as_str().unwrap().to_owned();
    let agent = pid(&home.status(&session)["pid"]);
    home.kill_daemon();
    (id, agent)
}

#[test]
fn what_an_agent_did_while_nobody_looked_is_found() {
    let home = TestHome::with_repository();
    for (name, flags) in [("told", "--status"), ("seen", "")] {
        home.agent(name, flags, &["!work 500ms !write out.txt 1 !say done"]);
        let (id, _) = abandon(&home, name);
        let log = home.file(&format!("project.{name}.log"));
        until_file(&log, "it is done", || {
            std::fs::read_to_string(&log).unwrap().contains("\"done\"").then_some(())
        });
        let run = home.json(["runs", "wait", &id, "--json"]);
        assert_eq!((&run["state"], &run["files"]["created"]), (&json!("done"), &json!(["out.txt"])));
        assert_eq!(home.prompts(name).len(), 1);
        std::fs::remove_file(home.file("project/out.txt")).unwrap();
    }
}

#[test]
fn an_agent_that_died_while_nobody_looked_is_not_waited_for() {
    let home = TestHome::with_repository();
    home.agent("mortal", "", &["!work 500ms !crash"]);
    home.agent("good", "--status", &["!write out.txt 1 !say done"]);
    let (id, agent) = abandon(&home, "mortal,good");
    until_gone("it is dead", agent);
    let run = home.json(["runs", "wait", &id, "--json"]);
    let ends = [("mortal".into(), "agent crashed (signal 9)".into()), ("good".into(), "idle".into())];
    assert_eq!(reasons(&run), ends);
    assert_eq!(home.breaker("mortal").1, "crash");
}

#[test]
fn a_batch_keeps_its_order_and_its_width_through_a_kill() {
    let home = TestHome::with_repository();
    home.scripted(
        "a",
        "--status",
        &json!([{ "do": "!work 700ms !write out.txt 1 !say done", "repeat": true }]),
    );
    let task = |id: &str| {
        format!("[[tasks]]\nid = \"{id}\"\ninstructions = \"x\"\nagents = [\"a\"]\nchecks = [\"true\"]\n")
    };
    let file = home.file("tasks.toml");
    std::fs::write(&file, ["one", "two", "three"].map(task).concat()).unwrap();
    let begun = home.json(["run", "--task", file.to_str().unwrap(), "--detach", "--json"]);
    let ids: Vec<&str> = begun.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    for id in &ids {
        home.await_state(id, "working");
        home.kill_daemon();
    }
    let runs: Vec<Value> = ids.iter().map(|id| home.json(["runs", "wait", id, "--json"])).collect();
    let time = |run: &Value, name: &str| run["attempts"][0][name].as_u64().unwrap();
    for pair in runs.windows(2) {
        assert!(time(&pair[0], "ended") <= time(&pair[1], "started"), "{runs:#?}");
    }
    assert_eq!(home.prompts("a").len(), 3);
}
