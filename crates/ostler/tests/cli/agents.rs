//! `ostler agents`, with shell scripts for agents.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Done, TestHome};

/// Three agents that are installed and one that is not, and a project that may have presets of its own.
fn home_with_agents() -> TestHome {
    let home = TestHome::new();
    for dir in ["project/.ostler/agents", "project/.git", "project/src"] {
        fs::create_dir_all(home.file(dir)).unwrap();
    }
    for (name, priority, cost) in [
        ("test-cheap", 100_010, "economy"),
        ("test-dear", 100_030, "premium"),
        ("test-usual", 100_020, "standard"),
        ("test-absent", 100_040, "standard"),
    ] {
        home.write_preset_of(name, &format!("title = \"The {name}\"\npriority = {priority}\ncost = \"{cost}\"\nrun.command = \"{name}\"\nrun.identity = {{ args = [\"--version\"], matches = \"^{name} \" }}\n"));
        if name != "test-absent" {
            home.script(name, &format!("echo '{name} 1.2.3'"));
        }
    }
    home
}

fn write(home: &TestHome, name: &str, text: &str) -> PathBuf {
    fs::write(home.file(name), text).unwrap();
    home.file(name)
}

/// Runs a command deep in the project, where no agents but those of the test are installed.
fn run_with(home: &TestHome, env: &[(&str, &str)], args: &[&str]) -> Done {
    let mut command = home.command(args);
    command.current_dir(home.file("project/src"));
    command.env("PATH", format!("{}:/usr/bin:/bin", home.file("bin").display()));
    Done::from(&command.envs(env.iter().copied()).output().unwrap())
}

fn run(home: &TestHome, args: &[&str]) -> Done {
    run_with(home, &[], args)
}

#[track_caller]
fn json(home: &TestHome, args: &[&str]) -> Value {
    serde_json::from_str(&run(home, args).ok()).unwrap()
}

/// The agent's entry in the list.
#[track_caller]
fn listed(home: &TestHome, agent: &str, args: &[&str]) -> Value {
    let list = json(home, &[&["agents", "list", "--json"], args].concat());
    list.as_array().unwrap().iter().find(|row| row["name"] == agent).cloned().unwrap_or_default()
}

/// Which agent is chosen, and by whom.
#[track_caller]
fn which(home: &TestHome, env: &[(&str, &str)], args: &[&str]) -> (String, String) {
    let done = run_with(home, env, &[&["agents", "which", "--json"], args].concat());
    let answer: Value = serde_json::from_str(&done.ok()).unwrap();
    let text = |name: &str| answer[name].as_str().unwrap().to_owned();
    (text("agent"), text("step"))
}

fn place(file: &Path, rest: &str) -> String {
    format!("{}{rest}", file.display())
}

#[test]
fn a_user_changes_one_field_and_the_rest_stays() {
    let home = home_with_agents();
    assert_eq!(listed(&home, "test-dear", &[])["priority"], 100_030);
    write(&home, "project/.ostler/agents/test-dear.toml", "run.args = [\"--from-project\"]\n");
    run(&home, &["agents", "trust"]).ok();
    let shown = json(&home, &["agents", "show", "test-dear", "--json"]);
    assert_eq!(shown["preset"]["run"]["args"], serde_json::json!(["--from-project"]));
    assert_eq!(shown["preset"]["run"]["command"], "test-dear");
    assert_eq!(shown["preset"]["title"], "The test-dear");
    assert_eq!(shown["files"].as_array().unwrap().len(), 2);

    // The next command sees a change.
    let preset = home.file("home/config/agents/test-dear.toml");
    let text = fs::read_to_string(&preset).unwrap().replace("The test-dear", "Another title");
    fs::write(&preset, text).unwrap();
    assert_eq!(listed(&home, "test-dear", &[])["title"], "Another title");
    let toml = run(&home, &["agents", "show", "test-dear"]).ok();
    for part in [place(&preset, "\n"), "title = \"Another title\"".into(), "\"--from-project\"".into()] {
        assert!(toml.contains(&part), "{part} is not in {toml}");
    }
}

#[test]
fn what_is_shown_can_be_used_as_a_preset() {
    let home = home_with_agents();
    let toml = run(&home, &["agents", "show", "test-dear"]).ok();
    let before = json(&home, &["agents", "show", "test-dear", "--json"]);
    home.write_preset_of("test-dear", &toml);
    assert_eq!(json(&home, &["agents", "show", "test-dear", "--json"])["preset"], before["preset"]);
}

#[test]
fn a_broken_preset_is_told_with_its_place_and_takes_no_other_down() {
    let home = home_with_agents();
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
        let file = home.write_preset_of("test-broken", text);
        let done = run(&home, &["agents", "list"]);
        assert!(done.err.contains(&place(&file, told)), "{told:?} is not in {:?}", done.err);
        assert!(done.ok().contains("The test-dear"));
        assert_eq!(listed(&home, "test-broken", &[]), Value::Null);
    }
    // An overlay that is broken leaves what is below it.
    let file = write(&home, "project/.ostler/agents/test-dear.toml", "cost = \"free\"\n");
    run(&home, &["agents", "trust"]).ok();
    let done = run(&home, &["agents", "check", "test-dear"]);
    assert!(done.err.contains(&place(&file, ":1: cost: ")), "{done:?}");
    assert!(done.ok().contains("test-dear (The test-dear): ok"));
}

#[test]
fn a_projects_presets_are_used_only_as_they_were_trusted() {
    let home = home_with_agents();
    let file = write(&home, "project/.ostler/agents/test-dear.toml", "run.args = [\"--evil\"]\n");
    let args = || json(&home, &["agents", "show", "test-dear", "--json"])["preset"]["run"]["args"].clone();
    let told = || run(&home, &["agents", "list"]).err;
    assert_eq!(args(), serde_json::json!([]));
    assert!(
        told().contains(&place(&file, ": not used")) && told().contains("ostler agents trust"),
        "{}",
        told()
    );

    let shown = run(&home, &["agents", "trust"]).ok();
    assert!(shown.contains(&place(&file, "")) && shown.contains("run.args = [\"--evil\"]"), "{shown}");
    assert_eq!(args(), serde_json::json!(["--evil"]));
    assert!(!told().contains("not used"), "{}", told());

    fs::write(&file, "run.args = [\"--worse\"]\n").unwrap();
    assert_eq!(args(), serde_json::json!([]));
    assert!(told().contains("not used"));
    // From elsewhere, by its directory.
    let project = home.file("project");
    let done = home.run(["agents", "trust", project.to_str().unwrap(), "--json"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&done).unwrap(), serde_json::json!([file]));
    assert_eq!(args(), serde_json::json!(["--worse"]));
    home.run(["agents", "trust", "/"]).fails(1, &["no project", ".ostler/agents"]);
}

#[test]
fn the_list_is_fast_and_asks_only_when_told() {
    let home = home_with_agents();
    home.script("test-usual", &format!("touch {}; echo 'test-usual 2.0'", home.file("ran").display()));
    let row = listed(&home, "test-usual", &[]);
    assert_eq!((&row["installed"], &row["version"], &row["tier"]), (&true.into(), &Value::Null, &0.into()));
    assert_eq!(row["program"], home.file("bin/test-usual").to_str().unwrap());
    assert!(!home.file("ran").exists());
    assert_eq!(listed(&home, "test-absent", &[])["installed"], false);
    assert!(run(&home, &["agents", "list"]).ok().contains("--probe"));

    assert_eq!(listed(&home, "test-usual", &["--probe"])["version"], "2.0.0");
    fs::remove_file(home.file("ran")).unwrap();
    assert_eq!(listed(&home, "test-usual", &[])["version"], "2.0.0");
    assert!(!home.file("ran").exists());
    let text = run(&home, &["agents", "list"]).ok();
    assert!(text.lines().next().unwrap().starts_with("NAME"), "{text}");
    assert!(
        text.contains("test-absent") && text.contains("not installed") && text.contains("2.0.0"),
        "{text}"
    );
}

#[test]
fn whoever_is_asked_first_decides_and_it_is_told_why() {
    let home = home_with_agents();
    let is =
        |found: (String, String), agent: &str, step: &str| assert_eq!(found, (agent.into(), step.into()));
    is(which(&home, &[], &[]), "test-dear", "installed");
    home.write_settings("[agents]\ndefault = \"test-cheap\"\n[roles]\nreviewer = \"test-dear\"\n");
    is(which(&home, &[], &[]), "test-cheap", "user-default");
    is(which(&home, &[], &["--role", "reviewer"]), "test-dear", "user-role");
    is(which(&home, &[], &["--role", "other"]), "test-cheap", "user-default");
    let project = write(&home, "project/.ostler/config.toml", "[agents]\ndefault = \"test-usual\"\n");
    is(which(&home, &[], &[]), "test-usual", "project-default");
    is(which(&home, &[], &["--role", "reviewer"]), "test-dear", "user-role");
    fs::write(&project, "roles.reviewer = \"test-usual\"\n").unwrap();
    is(which(&home, &[], &["--role", "reviewer"]), "test-usual", "project-role");
    is(which(&home, &[("OSTLER_TIER", "economy")], &["--role", "reviewer"]), "test-cheap", "tier");
    let both = [("OSTLER_TIER", "economy"), ("OSTLER_AGENT", "test-dear")];
    is(which(&home, &both, &[]), "test-dear", "environment");
    is(which(&home, &both, &["test-usual"]), "test-usual", "command");

    let text = run(&home, &["agents", "which", "--role", "reviewer"]).ok();
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
    let home = home_with_agents();
    let refused = |env: &[(&str, &str)], args: &[&str], said: &[&str]| {
        let done = run_with(&home, env, &[&["agents", "which"], args].concat());
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
    write(&home, "project/.ostler/config.toml", "agents.default = \"test-absent\"\n");
    refused(&[], &[], &["test-absent is not installed", "config.toml: agents.default"]);
    let done = run(&home, &["agents", "which", "--json"]);
    let answer: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &answer["agent"]), (1, &Value::Null));
    assert!(answer["error"].as_str().unwrap().contains("not installed") && answer["hint"].is_string());

    // A project's settings that are broken are told and passed over; a user's own are not.
    let file = write(&home, "project/.ostler/config.toml", "[agents]\ndefalt = \"test-cheap\"\n");
    let done = run(&home, &["agents", "which"]);
    assert!(done.err.contains(&place(&file, ":2: agents.defalt: unknown field")), "{done:?}");
    assert!(done.ok().starts_with("test-dear "));
    let file = home.write_settings("[detector]\nsilence_ms = \"long\"\n");
    run(&home, &["agents", "which"]).fails(1, &[&place(&file, ":2: detector.silence_ms: "), "mend the file"]);
    run(&home, &["agents", "which", "test-dear"]).ok();
}

#[test]
fn another_program_of_the_same_name_is_not_taken_for_the_agent() {
    let home = home_with_agents();
    home.script("test-dear", "echo 'pancakes 7.1'");
    // It was the best of the installed; it is not installed then.
    assert_eq!(which(&home, &[], &[]), ("test-usual".into(), "installed".into()));
    assert!(run(&home, &["agents", "which"]).ok().contains("bin/test-dear is not The test-dear: it said"));
    run(&home, &["agents", "which", "test-dear"]).fails(1, &["is not The test-dear", "pancakes 7.1", "PATH"]);
    let done = run(&home, &["agents", "check", "test-dear"]);
    assert!(done.out.contains("test-dear (The test-dear): not usable"), "{done:?}");
    done.fails(1, &["it said \"pancakes 7.1\"", "PATH"]);
    let row = listed(&home, "test-dear", &[]);
    assert!(row["problem"].as_str().unwrap().contains("pancakes"), "{row}");
    // The right one is put there, and is noticed at once.
    home.script("test-dear", "echo 'test-dear 3.0.0'");
    assert_eq!(which(&home, &[], &[]).0, "test-dear");
    home.script("test-dear", "exit 3");
    run(&home, &["agents", "check", "test-dear"]).fails(1, &["exit status: 3"]);
}

#[test]
fn a_check_tells_what_a_start_would_do() {
    let home = home_with_agents();
    home.write_preset_of(
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
        let done = run_with(&home, env, &["agents", "check", "test-dear", "--json"]).ok();
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

    let text = run(&home, &["agents", "check", "test-dear"]).ok();
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
    home.script("test-dear", "echo 'test-dear 2.5-beta'");
    assert_eq!(checked(&[])["version_checked"], false);
}

#[test]
fn what_was_recorded_of_an_agent_is_told_and_once_that_this_one_is_newer() {
    let home = home_with_agents();
    let newest = ostler_agents::recorded::releases()["claude"].last_key_value().unwrap().0.clone();
    let check = |version: &str| {
        let script = format!("[ $# = 1 ] && echo '{version} (Claude Code)' || exec sleep 60");
        home.script("claude", &script);
        run(&home, &["agents", "check", "claude"]).ok()
    };
    let known = check(&newest.to_string());
    assert!(known.contains(&format!("{newest}; recorded: ")), "{known}");
    let newer = check("99.0.0");
    assert!(newer.contains("newer than the newest recorded version"), "{newer}");
    let started = run(&home, &["start", "claude", "--name", "new", "--no-wait"]);
    let told = |text: &str| text.matches("claude 99.0.0 is newer than").count();
    assert_eq!(told(&started.err), 1, "{started:?}");
    assert_eq!(told(&run(&home, &["status", "new"]).ok()), 1);
}

#[test]
fn a_check_of_everything_fails_for_none_and_a_check_of_names_does() {
    let home = home_with_agents();
    let text = run(&home, &["agents", "check"]).ok();
    assert!(text.contains("test-dear (The test-dear): ok"), "{text}");
    assert!(text.contains("test-absent (The test-absent): not installed"), "{text}");
    run(&home, &["agents", "check", "test-dear", "test-absent"])
        .fails(1, &["test-absent cannot be used", "install it"]);
    run(&home, &["agents", "check", "nobody"]).fails(1, &["nobody cannot be used", "ostler agents list"]);
    run(&home, &["agents", "show", "nobody"])
        .fails(2, &["no agent is called \"nobody\"", "ostler agents list"]);
    // No daemon was needed for any of it.
    assert!(!home.file("home/daemon.sock").exists());
}
