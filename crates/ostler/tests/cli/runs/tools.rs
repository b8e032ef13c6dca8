//! What an agent of a run learns of its task by a tool.

use std::fs;
use std::path::Path;

use crate::support::{Done, TestHome, until};

#[test]
fn an_agent_reads_its_task() {
    let home = TestHome::with_repository();
    home.agent("one", "", &["failed so far", "!work 600s done"]);
    home.ok(["run", "Fix the parser", "--agent", "one", "--check", "test -e done", "--detach"]);
    let session = until("the second attempt began", || {
        let run = &home.json(["runs", "list", "--json"])[0];
        let begun = run["attempts"].as_array().is_some_and(|attempts| attempts.len() == 2);
        run["session"].as_str().filter(|_| begun && run["state"] == "working").map(str::to_owned)
    });
    let dir = home.status(&session)["dir"].as_str().unwrap().to_owned();
    let nonce = fs::read_to_string(Path::new(&dir).join("hook-nonce")).unwrap();
    let call = |nonce: &str| {
        let mut command = home.command(["mcp", "call", "task_status"]);
        command.env("OSTLER_SESSION_ID", &session).env("OSTLER_HOOK_NONCE", nonce);
        Done::from(&command.output().unwrap())
    };
    let told = call(&nonce).ok();
    for part in [", attempt 2 (run ", "What failed before:\n- ", "- test -e done\n", "Fix the parser"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    call("forged").fails(1, &["not an agent of a running session"]);
}
