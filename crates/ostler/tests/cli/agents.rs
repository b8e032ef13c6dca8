//! `ostler agents`, with shell scripts for agents.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Done, TestHome};

/// A home with agents of its own, a directory of programs, and a project.
struct World {
    home: TestHome,
}

impl World {
    fn new() -> Self {
        let world = Self { home: TestHome::new() };
        for dir in ["home/config/agents", "bin", "project/.ostler/agents", "project/.git", "project/src"] {
            fs::create_dir_all(world.path(dir)).unwrap();
        }
        fs::set_permissions(world.home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        world
    }

    /// Three agents that are installed and one that is not.
    fn with_agents() -> Self {
        let world = Self::new();
        for (name, priority, cost) in [
            ("test-cheap", 100_010, "economy"),
            ("test-dear", 100_030, "premium"),
            ("test-usual", 100_020, "standard"),
            ("test-absent", 100_040, "standard"),
        ] {
            world.preset(name, &format!("title = \"The {name}\"\npriority = {priority}\ncost = \"{cost}\"\nrun.command = \"{name}\"\nrun.identity = {{ args = [\"--version\"], matches = \"^{name} \" }}\n"));
            if name != "test-absent" {
                world.program(name, &format!("echo '{name} 1.2.3'"));
            }
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.scratch().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// What the user says about an agent.
    fn preset(&self, agent: &str, text: &str) -> PathBuf {
        self.write(&format!("home/config/agents/{agent}.toml"), text)
    }

    fn program(&self, name: &str, script: &str) {
        let file = self.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run_with(&self, env: &[(&str, &str)], args: &[&str]) -> Done {
        let mut command = self.home.command(args);
        command.current_dir(self.path("project/src")).env_remove("OSTLER_AGENT").env_remove("OSTLER_TIER");
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        Done::from(&command.envs(env.iter().copied()).output().unwrap())
    }

    fn run(&self, args: &[&str]) -> Done {
        self.run_with(&[], args)
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(args).ok()).unwrap()
    }

    /// The agent's entry in the list.
    #[track_caller]
    fn listed(&self, agent: &str, args: &[&str]) -> Value {
        let list = self.json(&[&["agents", "list", "--json"], args].concat());
        list.as_array().unwrap().iter().find(|row| row["name"] == agent).cloned().unwrap_or_default()
    }

    /// Which agent is chosen, and by whom.
    #[track_caller]
    fn which(&self, env: &[(&str, &str)], args: &[&str]) -> (String, String) {
        let done = self.run_with(env, &[&["agents", "which", "--json"], args].concat());
        let answer: Value = serde_json::from_str(&done.ok()).unwrap();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        (text("agent"), text("step"))
    }
}

fn place(file: &Path, rest: &str) -> String {
    format!("{}{rest}", file.display())
}

#[test]
fn a_user_changes_one_field_and_the_rest_stays() {
    let world = World::with_agents();
    assert_eq!(world.listed("test-dear", &[])["priority"], 100_030);
    world.write("project/.ostler/agents/test-dear.toml", "run.args = [\"--from-project\"]\n");
    world.run(&["agents", "trust"]).ok();
    let shown = world.json(&["agents", "show", "test-dear", "--json"]);
    assert_eq!(shown["preset"]["run"]["args"], serde_json::json!(["--from-project"]));
    assert_eq!(shown["preset"]["run"]["command"], "test-dear");
    assert_eq!(shown["preset"]["title"], "The test-dear");
    assert_eq!(shown["files"].as_array().unwrap().len(), 2);

    // The next command sees a change.
    let preset = world.path("home/config/agents/test-dear.toml");
    let text = fs::read_to_string(&preset).unwrap().replace("The test-dear", "Another title");
    fs::write(&preset, text).unwrap();
    assert_eq!(world.listed("test-dear", &[])["title"], "Another title");
    let toml = world.run(&["agents", "show", "test-dear"]).ok();
    for part in [place(&preset, "\n"), "title = \"Another title\"".into(), "\"--from-project\"".into()] {
        assert!(toml.contains(&part), "{part} is not in {toml}");
    }
}

#[test]
fn what_is_shown_can_be_used_as_a_preset() {
    let world = World::with_agents();
    let toml = world.run(&["agents", "show", "test-dear"]).ok();
    let before = world.json(&["agents", "show", "test-dear", "--json"]);
    world.preset("test-dear", &toml);
    assert_eq!(world.json(&["agents", "show", "test-dear", "--json"])["preset"], before["preset"]);
}

#[test]
fn a_broken_preset_is_told_with_its_place_and_takes_no_other_down() {
    let world = World::with_agents();
    let table = [
        ("title = \"x\"\n\n[run]\ncomand = \"x\"\n", ":4: run.comand: unknown field"),
        ("[run]\ncommand = 7\n", ":2: run.command: "),
        (
            "run.command = \"x\"\n[rules.a]\nstate = \"idle\"\nwhen = { in = \"bottom 2\", row = \"(\" }\n",
            ":4: rules.a.when.row: ",
        ),
        ("title = \"x\"\n", ": run.command: is missing"),
        ("run = \n", ":1"),
    ];
    for (text, told) in table {
        let file = world.preset("test-broken", text);
        let done = world.run(&["agents", "list"]);
        assert!(done.err.contains(&place(&file, told)), "{told:?} is not in {:?}", done.err);
        assert!(done.ok().contains("The test-dear"));
        assert_eq!(world.listed("test-broken", &[]), Value::Null);
    }
    // An overlay that is broken leaves what is below it.
    let file = world.write("project/.ostler/agents/test-dear.toml", "cost = \"free\"\n");
    world.run(&["agents", "trust"]).ok();
    let done = world.run(&["agents", "check", "test-dear"]);
    assert!(done.err.contains(&place(&file, ":1: cost: ")), "{done:?}");
    assert!(done.ok().contains("test-dear (The test-dear): ok"));
}

#[test]
fn a_projects_presets_are_used_only_as_they_were_trusted() {
    let world = World::with_agents();
    let file = world.write("project/.ostler/agents/test-dear.toml", "run.args = [\"--evil\"]\n");
    let args = || world.json(&["agents", "show", "test-dear", "--json"])["preset"]["run"]["args"].clone();
    let told = || world.run(&["agents", "list"]).err;
    assert_eq!(args(), serde_json::json!([]));
    assert!(
        told().contains(&place(&file, ": not used")) && told().contains("ostler agents trust"),
        "{}",
        told()
    );

    let shown = world.run(&["agents", "trust"]).ok();
    assert!(shown.contains(&place(&file, "")) && shown.contains("run.args = [\"--evil\"]"), "{shown}");
    assert_eq!(args(), serde_json::json!(["--evil"]));
    assert!(!told().contains("not used"), "{}", told());

    fs::write(&file, "run.args = [\"--worse\"]\n").unwrap();
    assert_eq!(args(), serde_json::json!([]));
    assert!(told().contains("not used"));
    // From elsewhere, by its directory.
    let project = world.path("project");
    let done = world.home.run(["agents", "trust", project.to_str().unwrap(), "--json"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&done).unwrap(), serde_json::json!([file]));
    assert_eq!(args(), serde_json::json!(["--worse"]));
    world.home.run(["agents", "trust", "/"]).fails(1, &["no project", ".ostler/agents"]);
}

#[test]
fn the_list_is_fast_and_asks_only_when_told() {
    let world = World::with_agents();
    world.program("test-usual", &format!("touch {}; echo 'test-usual 2.0'", world.path("ran").display()));
    let row = world.listed("test-usual", &[]);
    assert_eq!((&row["installed"], &row["version"], &row["tier"]), (&true.into(), &Value::Null, &0.into()));
    assert_eq!(row["program"], world.path("bin/test-usual").to_str().unwrap());
    assert!(!world.path("ran").exists());
    assert_eq!(world.listed("test-absent", &[])["installed"], false);
    assert!(world.run(&["agents", "list"]).ok().contains("--probe"));

    assert_eq!(world.listed("test-usual", &["--probe"])["version"], "2.0.0");
    fs::remove_file(world.path("ran")).unwrap();
    assert_eq!(world.listed("test-usual", &[])["version"], "2.0.0");
    assert!(!world.path("ran").exists());
    let text = world.run(&["agents", "list"]).ok();
    assert!(text.lines().next().unwrap().starts_with("NAME"), "{text}");
    assert!(
        text.contains("test-absent") && text.contains("not installed") && text.contains("2.0.0"),
        "{text}"
    );
}

#[test]
fn whoever_is_asked_first_decides_and_it_is_told_why() {
    let world = World::with_agents();
    let is =
        |found: (String, String), agent: &str, step: &str| assert_eq!(found, (agent.into(), step.into()));
    is(world.which(&[], &[]), "test-dear", "installed");
    world.write(
        "home/config/config.toml",
        "[agents]\ndefault = \"test-cheap\"\n[roles]\nreviewer = \"test-dear\"\n",
    );
    is(world.which(&[], &[]), "test-cheap", "user-default");
    is(world.which(&[], &["--role", "reviewer"]), "test-dear", "user-role");
    is(world.which(&[], &["--role", "other"]), "test-cheap", "user-default");
    let project = world.write("project/.ostler/config.toml", "[agents]\ndefault = \"test-usual\"\n");
    is(world.which(&[], &[]), "test-usual", "project-default");
    is(world.which(&[], &["--role", "reviewer"]), "test-dear", "user-role");
    fs::write(&project, "roles.reviewer = \"test-usual\"\n").unwrap();
    is(world.which(&[], &["--role", "reviewer"]), "test-usual", "project-role");
    is(world.which(&[("OSTLER_TIER", "economy")], &["--role", "reviewer"]), "test-cheap", "tier");
    let both = [("OSTLER_TIER", "economy"), ("OSTLER_AGENT", "test-dear")];
    is(world.which(&both, &[]), "test-dear", "environment");
    is(world.which(&both, &["test-usual"]), "test-usual", "command");

    let text = world.run(&["agents", "which", "--role", "reviewer"]).ok();
    assert!(text.starts_with("test-usual (The test-usual 1.2.3), "), "{text}");
    assert!(
        text.contains(&format!("=> project role     {}", place(&project, ": roles.reviewer is test-usual"))),
        "{text}"
    );
    for step in [
        "command",
        "OSTLER_AGENT",
        "OSTLER_TIER",
        "user role",
        "project default",
        "user default",
        "installed",
    ] {
        assert!(text.contains(&format!("   {step}")), "{step} is not in {text}");
    }
}

#[test]
fn an_agent_that_was_named_is_never_replaced() {
    let world = World::with_agents();
    let refused = |env: &[(&str, &str)], args: &[&str], said: &[&str]| {
        let done = world.run_with(env, &[&["agents", "which"], args].concat());
        assert!(done.out.starts_with("none\n"), "{done:?}");
        done.fails(1, said);
    };
    refused(
        &[],
        &["test-absent"],
        &["test-absent is not installed", "no program called", "hint: install it"],
    );
    refused(&[], &["test-deer"], &["no agent is called \"test-deer\"", "did you mean test-dear?"]);
    refused(&[("OSTLER_AGENT", "nobody")], &[], &["OSTLER_AGENT says nobody"]);
    refused(&[("OSTLER_TIER", "free")], &[], &["is no tier", "economy, standard or premium"]);
    world.write("project/.ostler/config.toml", "agents.default = \"test-absent\"\n");
    refused(&[], &[], &["test-absent is not installed", "config.toml: agents.default"]);
    let done = world.run(&["agents", "which", "--json"]);
    let answer: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &answer["agent"]), (1, &Value::Null));
    assert!(answer["error"].as_str().unwrap().contains("not installed") && answer["hint"].is_string());

    // A project's settings that are broken are told and passed over; a user's own are not.
    let file = world.write("project/.ostler/config.toml", "[agents]\ndefalt = \"test-cheap\"\n");
    let done = world.run(&["agents", "which"]);
    assert!(done.err.contains(&place(&file, ":2: agents.defalt: unknown field")), "{done:?}");
    assert!(done.ok().starts_with("test-dear "));
    let file = world.write("home/config/config.toml", "[detector]\nsilence_ms = \"long\"\n");
    world.run(&["agents", "which"]).fails(1, &[&place(&file, ":2: detector.silence_ms: "), "mend the file"]);
    world.run(&["agents", "which", "test-dear"]).ok();
}

#[test]
fn another_program_of_the_same_name_is_not_taken_for_the_agent() {
    let world = World::with_agents();
    world.program("test-dear", "echo 'pancakes 7.1'");
    // It was the best of the installed; it is not installed then.
    assert_eq!(world.which(&[], &[]), ("test-usual".into(), "installed".into()));
    assert!(world.run(&["agents", "which"]).ok().contains("bin/test-dear is not The test-dear: it said"));
    world.run(&["agents", "which", "test-dear"]).fails(1, &["is not The test-dear", "pancakes 7.1", "PATH"]);
    let done = world.run(&["agents", "check", "test-dear"]);
    assert!(done.out.contains("test-dear (The test-dear): not usable"), "{done:?}");
    done.fails(1, &["it said \"pancakes 7.1\"", "PATH"]);
    let row = world.listed("test-dear", &[]);
    assert!(row["problem"].as_str().unwrap().contains("pancakes"), "{row}");
    // The right one is put there, and is noticed at once.
    world.program("test-dear", "echo 'test-dear 3.0.0'");
    assert_eq!(world.which(&[], &[]).0, "test-dear");
    world.program("test-dear", "exit 3");
    world.run(&["agents", "check", "test-dear"]).fails(1, &["exit status: 3"]);
}

#[test]
fn a_check_tells_what_a_start_would_do() {
    let world = World::with_agents();
    world.preset(
        "test-dear",
        r#"
        title = "The test-dear"
        instructions = "TEST.md"
        prompt = { first = "flag", flag = "--ask" }
        config = { dir = "~/.test-dear", env = "TEST_DEAR_HOME" }
        status = { speaks = "always", versions = ">=1" }
        [run]
        command = "test-dear"
        args = ["--quiet", "two words"]
        unattended = ["--yes"]
        env = { TEST_SET = "1" }
        unset = ["TEST_UNSET"]
        identity = { args = ["--version"], matches = "^test-dear", checked = ">=1, <2" }
        [rules.prompt]
        state = "idle"
        when = { in = "bottom 1", row = "^>" }
        [rules.old]
        state = "idle"
        versions = "<1"
        when = { in = "bottom 1", row = "^<" }
        [rules.trust]
        state = "blocked"
        kind = "trust"
        when = { in = "dialog", row = "Trust\\?" }
        answer = { accept = "Yes" }
        "#,
    );
    let checked = |env: &[(&str, &str)]| {
        let done = world.run_with(env, &["agents", "check", "test-dear", "--json"]).ok();
        serde_json::from_str::<Value>(&done).unwrap()[0].clone()
    };
    let report = checked(&[("TEST_UNSET", "x"), ("TMUX", "y"), ("HOME", "/home/u")]);
    assert_eq!(
        (&report["usable"], &report["version"], &report["tier"]),
        (&true.into(), &"1.2.3".into(), &1.into())
    );
    assert_eq!((&report["version_checked"], &report["tells_status"]), (&true.into(), &true.into()));
    assert_eq!(report["rules"]["other_versions"], serde_json::json!(["old"]));
    let start = &report["start"];
    assert_eq!(start["command"], serde_json::json!(["test-dear", "--quiet", "two words"]));
    assert_eq!(start["set"], serde_json::json!([["TEST_SET", "1"]]));
    assert_eq!((&start["unset"][0], &start["unset_here"][0]), (&"TEST_UNSET".into(), &"TEST_UNSET".into()));
    assert!(start["dropped"].as_array().unwrap().contains(&"TMUX".into()), "{start}");
    assert_eq!(
        (&start["first_prompt"], &start["config_dir"]),
        (&"behind --ask".into(), &"/home/u/.test-dear".into())
    );
    assert_eq!(start["dialogs"], serde_json::json!([{ "id": "trust", "kind": "trust", "answer": true }]));
    assert_eq!(checked(&[("TEST_DEAR_HOME", "/moved")])["start"]["config_dir"], "/moved");

    let text = world.run(&["agents", "check", "test-dear"]).ok();
    for part in [
        "test-dear (The test-dear): ok",
        "right: it said \"test-dear 1.2.3\"",
        "1.2.3; never recorded: the rules have not met the real program",
        "1, by its preset alone",
        "test-dear --quiet 'two words'",
        "trust (trust, can be answered)",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    world.program("test-dear", "echo 'test-dear 2.5-beta'");
    assert_eq!(checked(&[])["version_checked"], false);
}

#[test]
fn what_was_recorded_of_an_agent_is_told_and_once_that_this_one_is_newer() {
    let world = World::with_agents();
    let newest = ostler_agents::recorded::releases()["claude"].last_key_value().unwrap().0.clone();
    let check = |version: &str| {
        let script = format!("[ $# = 1 ] && echo '{version} (Claude Code)' || exec sleep 60");
        world.program("claude", &script);
        world.run(&["agents", "check", "claude"]).ok()
    };
    let known = check(&newest.to_string());
    assert!(known.contains(&format!("{newest}; recorded: ")), "{known}");
    let newer = check("99.0.0");
    assert!(newer.contains("newer than the newest recorded version"), "{newer}");
    let started = world.run(&["start", "claude", "--name", "new", "--no-wait"]);
    let told = |text: &str| text.matches("claude 99.0.0 is newer than").count();
    assert_eq!(told(&started.err), 1, "{started:?}");
    assert_eq!(told(&world.run(&["status", "new"]).ok()), 1);
}

#[test]
fn a_check_of_everything_fails_for_none_and_a_check_of_names_does() {
    let world = World::with_agents();
    let text = world.run(&["agents", "check"]).ok();
    assert!(text.contains("test-dear (The test-dear): ok"), "{text}");
    assert!(text.contains("test-absent (The test-absent): not installed"), "{text}");
    world
        .run(&["agents", "check", "test-dear", "test-absent"])
        .fails(1, &["test-absent cannot be used", "install it"]);
    world.run(&["agents", "check", "nobody"]).fails(1, &["nobody cannot be used", "ostler agents list"]);
    world
        .run(&["agents", "show", "nobody"])
        .fails(2, &["no agent is called \"nobody\"", "ostler agents list"]);
    // No daemon was needed for any of it.
    assert!(!world.path("home/daemon.sock").exists());
}
