//! Whose runs are taken up by whom.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::shared::Server;
use super::team::reasons;

use crate::support::TestHome;

/// Begins a run whose agent is at work, and kills the daemon.
fn left_alone(home: &TestHome) -> String {
    home.agent("a", "--status", &["!work 1s !write out.txt 1 !say done"]);
    let args = ["run", "Do it.", "--agent", "a", "--check", "cat out.txt", "--detach"];
    let id = home.run(args).ok().trim().to_owned();
    home.await_state(&id, "working");
    home.kill_daemon();
    id
}

#[track_caller]
fn ends_well(home: &TestHome, id: &str) {
    let run = home.json(["runs", "wait", id, "--json"]);
    assert_eq!(run["state"], "done", "{run:#}");
    assert_eq!(reasons(&run), [("a".into(), "idle".into())]);
    assert_eq!(home.prompts("a").len(), 1);
    home.await_quiet();
}

#[test]
fn a_home_on_a_machine_with_another_name_goes_on_with_its_runs() {
    let home = TestHome::with_repository();
    let id = left_alone(&home);
    // In its own database nothing can be somebody else's, whatever was lost besides.
    fs::remove_file(home.file("home/owner")).unwrap();
    ends_well(&home, &id);
}

#[test]
fn a_machine_of_the_same_name_and_paths_leaves_the_runs_of_others_alone() {
    let Some(server) = Server::start() else { return };
    let home = server.home();
    let id = left_alone(&home);
    let owner = fs::read_to_string(home.file("home/owner")).unwrap();
    assert_eq!(server.recorded_owner(&id), owner);
    // All that a clone does not have is the owner.
    fs::remove_file(home.file("home/owner")).unwrap();
    assert_eq!(home.json(["runs", "list", "--all", "--json"]), json!([]));
    home.kill_daemon();
    assert_ne!(fs::read_to_string(home.file("home/owner")).unwrap(), owner);
    assert_eq!(server.recorded_owner(&id), owner);

    fs::write(home.file("home/owner"), owner).unwrap();
    ends_well(&home, &id);
}

#[test]
fn a_run_that_names_host_and_path_is_taken_up_and_claimed() {
    let Some(server) = Server::start() else { return };
    let home = server.home();
    let id = left_alone(&home);
    let host = String::from_utf8(Command::new("uname").arg("-n").output().unwrap().stdout).unwrap();
    let former = |host: &str| format!("{}:{}", host.trim(), home.path().display());
    let owner = fs::read_to_string(home.file("home/owner")).unwrap();
    server.record_owner(&id, &former(&format!("other-{host}")));
    assert_eq!(home.json(["runs", "list", "--all", "--json"]), json!([]));
    home.kill_daemon();
    server.record_owner(&id, &former(&host));
    ends_well(&home, &id);
    assert_eq!(server.recorded_owner(&id), owner);
}
