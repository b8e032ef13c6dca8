//! Tasks in work trees of their own.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::TestHome;

#[track_caller]
fn git(dir: &Path, args: &[&str]) -> String {
    let done = Command::new("git").args(args).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "git {args:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn every_task_has_a_work_tree_and_the_repository_stays_as_it_is() {
    let home = TestHome::with_repository();
    let project = home.file("project");
    std::fs::write(project.join("base.txt"), "base\n").unwrap();
    git(&project, &["add", "."]);
    git(&project, &["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "base"]);
    std::fs::write(project.join("dirty.txt"), "not committed\n").unwrap();
    let script = json!([
        { "when": "RETRY CONTEXT", "do": "!write out.txt good !say done", "repeat": true },
        { "do": "!write out.txt bad !say done", "repeat": true },
    ]);
    home.scripted("a", "--status", &script);
    let task = |id: &str| {
        format!("[[tasks]]\nid = \"{id}\"\ninstructions = \"x\"\nchecks = [\"grep good out.txt base.txt\"]\n")
    };
    let file = home.file("tasks.toml");
    std::fs::write(&file, ["one", "two"].map(task).concat()).unwrap();
    let args =
        ["run", "--task", file.to_str().unwrap(), "--worktree", "--parallel", "2", "--agent", "a", "--json"];
    let done = home.run(args);
    assert_eq!(done.code, 0, "{done:?}");
    let runs: Vec<Value> = serde_json::from_str(&done.out).unwrap();
    let dirs: Vec<&Path> = runs.iter().map(|run| Path::new(run["cwd"].as_str().unwrap())).collect();
    assert!(dirs.len() == 2 && dirs[0] != dirs[1] && !dirs.contains(&project.as_path()), "{dirs:?}");
    for (run, dir) in runs.iter().zip(&dirs) {
        assert_eq!(
            (&run["state"], &run["files"]["created"]),
            (&json!("done"), &json!(["out.txt"])),
            "{run:#}"
        );
        assert_eq!(run["attempts"].as_array().unwrap().len(), 2);
        assert_eq!(std::fs::read_to_string(dir.join("out.txt")).unwrap().trim(), "good");
        let branch = git(dir, &["branch", "--show-current"]);
        assert!(done.err.contains(&format!("branch {}", branch.trim())), "{branch}: {done:?}");
    }
    assert_eq!(git(&project, &["status", "--porcelain"]), "?? dirty.txt\n");
    home.await_quiet();
    // The work is on its branch; whoever merged it can have the trees removed.
    let shown = home.run(["runs", "show", runs[0]["id"].as_str().unwrap()]).ok();
    let branch = runs[0]["worktree"]["branch"].as_str().unwrap();
    for text in [&format!("merge {branch}\n"), "(committed: ", "not committed, so left out: dirty.txt\n"] {
        assert!(shown.contains(text), "{text:?} is not in {shown}");
    }
    git(&project, &["merge", "--quiet", branch]);
    assert_eq!(std::fs::read_to_string(project.join("out.txt")).unwrap().trim(), "good");
    let listed = home.json(["worktrees", "list", "--json"]);
    let merged: Vec<&Value> = listed.as_array().unwrap().iter().map(|tree| &tree["merged"]).collect();
    assert_eq!(merged.iter().filter(|merged| **merged == &json!(true)).count(), 1, "{listed:#}");
    let pruned = home.run(["worktrees", "prune"]).ok();
    assert!(pruned.starts_with("removed ") && pruned.lines().count() == 1, "{pruned}");
    let left = runs[1]["worktree"]["name"].as_str().unwrap();
    home.run(["worktrees", "remove", left]).ok();
    assert_eq!(home.json(["worktrees", "list", "--json"]), json!([]));
    home.run(["worktrees", "remove", left]).fails(2, &["ostler made no work tree"]);
}
