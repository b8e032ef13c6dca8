//! Watching runs, leaving them, ending them; several at a time.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::TestHome;

#[test]
fn a_run_goes_on_without_a_watcher_and_can_be_waited_for_and_shown() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!work 500ms !write out.txt 1 !say done"]);
    let id = home.run(["run", "Do it.", "--agent", "a", "--check", "cat out.txt", "--detach"]).ok();
    let id = id.trim();
    assert_eq!(home.json(["runs", "list", "--json"])[0]["id"], id);
    let ended = home.json(["runs", "wait", &id[..30], "--json"]);
    assert_eq!((&ended["id"], &ended["state"]), (&json!(id), &json!("done")));
    assert_eq!(home.json(["runs", "show", id, "--json"])["files"], ended["files"]);
    assert!(home.run(["runs", "show", id]).ok().contains("attempt 1: passed: a"));
    assert!(home.run(["runs", "list", "--all"]).ok().contains(id));
    home.await_quiet();
    home.run(["runs", "show", "nothing"]).fails(1, &["there is no run \"nothing\"", "runs list --all"]);
}

#[test]
fn a_cancelled_run_ends_with_its_agent_also_while_that_is_being_started() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!work 60s"]).agent("slow", "--ready-after 60000", &[]);
    let begin = |agent: &str| {
        home.run(["run", "Do it.", "--agent", agent, "--check", "true", "--detach"]).ok().trim().to_owned()
    };
    let working = begin("a");
    home.await_state(&working, "working");
    assert!(home.run(["runs", "cancel", &working]).ok().contains("cancelled"));
    let early = begin("slow");
    assert_eq!(home.json(["runs", "cancel", &early, "--json"])["outcome"], json!({ "outcome": "cancelled" }));
    home.await_quiet();
    // Once more changes nothing.
    assert_eq!(home.json(["runs", "cancel", &early, "--json"])["state"], "cancelled");
    home.run(["runs", "wait", &early]).fails(1, &["cancelled"]);
}

/// Starts a run in the foreground and interrupts it when its agent is at work.
fn interrupted(home: &TestHome, flags: &[&str]) -> (Child, BufReader<ChildStderr>) {
    let args = ["run", "Do it.", "--agent", "a", "--check", "cat out.txt"];
    let mut command = home.command([&args, flags].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("a works") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended too soon");
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    (child, said)
}

#[test]
fn an_interrupt_leaves_the_run_or_ends_it() {
    let home = TestHome::with_repository();
    home.scripted("a", "--status", &json!([{ "do": "!work 2s !write out.txt 1 !say done", "repeat": true }]));
    let (mut child, said) = interrupted(&home, &[]);
    let said: Vec<String> = said.lines().map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "nobody knows yet how it ends");
    assert!(said.last().unwrap().contains("goes on: ostler runs wait "), "{said:?}");
    let id = home.json(["runs", "list", "--json"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(home.json(["runs", "wait", &id, "--json"])["state"], "done");

    let (mut child, _) = interrupted(&home, &["--on-interrupt", "stop"]);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    home.await_quiet();
    let runs = home.json(["runs", "list", "--all", "--json"]);
    let states: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["state"]).collect();
    assert_eq!(states, ["done", "cancelled"]);
}

#[test]
fn tasks_of_a_file_go_on_side_by_side_or_one_after_the_other() {
    let home = TestHome::with_repository();
    let script = json!([
        { "when": "the first thing", "do": "!work 400ms !write first.txt 1 !say done", "repeat": true },
        { "when": "the second thing", "do": "!work 400ms !write second.txt 2 !say done", "repeat": true },
    ]);
    home.scripted("a", "--status", &script);
    let file = home.file("tasks.toml");
    fs::write(
        &file,
        "[[tasks]]\nid = \"one\"\ninstructions = \"Do the first thing.\"\nagents = [\"a\"]\nchecks = [\"cat first.txt\"]\n\
         [[tasks]]\nid = \"two\"\ninstructions = \"Do the second thing.\"\nagents = [\"a\"]\nchecks = [\"cat second.txt\"]\n",
    )
    .unwrap();
    let tasks = |parallel: &str| {
        let file = file.to_str().unwrap();
        let runs = home.json(["run", "--task", file, "--parallel", parallel, "--share-directory", "--json"]);
        let runs = runs.as_array().unwrap().clone();
        assert_eq!(runs.iter().map(|run| &run["state"]).collect::<Vec<_>>(), ["done", "done"]);
        assert_eq!(runs.iter().map(|run| &run["task"]).collect::<Vec<_>>(), ["one", "two"]);
        runs
    };
    home.run(["run", "--task", file.to_str().unwrap(), "--parallel", "2"])
        .fails(2, &["in one directory at a time", "--worktree", "--share-directory"]);
    let time = |run: &Value, name: &str| run[name].as_str().unwrap().to_owned();
    let apart = tasks("1");
    let began = |run: &Value| run["attempts"][0]["started"].as_u64().unwrap();
    let ended = |run: &Value| run["attempts"][0]["ended"].as_u64().unwrap();
    assert!(began(&apart[1]) >= ended(&apart[0]), "{apart:?}");
    // What the first did is not the second's work.
    assert_eq!(apart[1]["files"]["created"], json!(["second.txt"]));
    let together = tasks("2");
    assert!(
        began(&together[1]) < ended(&together[0]),
        "{} {}",
        time(&together[0], "ended"),
        time(&together[1], "started")
    );
    home.await_quiet();
}

#[test]
fn a_wrong_task_file_is_told_with_its_place() {
    let home = TestHome::with_repository();
    let file = home.file("tasks.toml");
    let name = file.display().to_string();
    let table = [
        ("[[tasks]]\nid = \"one\"\ninstruction = \"x\"\n", &["instruction"][..]),
        ("[[tasks]]\nid = \"a b\"\ninstructions = \"x\"\n", &["\"a b\" cannot be an id"]),
        ("tasks = []\n", &["there are no tasks"]),
        ("[[tasks\n", &["tasks.toml:1"]),
    ];
    for (text, said) in table {
        fs::write(&file, text).unwrap();
        let err = home.run(["run", "--task", &name]).fails(2, said);
        assert!(err.contains(&name), "{err}");
    }
    fs::remove_file(&file).unwrap();
    home.run(["run", "--task", &name]).fails(2, &[&name, "No such file"]);
    home.run(["run", "x", "--check", " "]).fails(2, &["an empty check always succeeds"]);
    home.run(["run", "  "]).fails(2, &["there is nothing to do"]);
    home.run(["run", "x", "--agent", "a", "--cwd", "/no/such/place"]).fails(2, &["/no/such/place"]);
}
