//! A helper is asked what nobody gets right.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::world::World;

const CHECK: &str = "grep -q good out.txt || { echo 'error: it is bad' >&2; exit 1; }";

/// An agent that is asked without a terminal: it keeps what it was told, and says what it is to say.
fn helper(world: &World, says: &str) {
    let (told, program) = (world.path("told.txt"), world.path("bin/helper"));
    let line = format!("printf '%s' \"$2\" > '{}'\ncat <<'END'\n{says}\nEND\n", told.display());
    fs::write(&program, format!("#!/bin/sh\n{line}")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let preset = "run.command = \"helper\"\nheadless.args = [\"-p\", \"{prompt}\"]\n";
    fs::write(world.path("home/config/agents/helper.toml"), preset).unwrap();
}

/// An agent that is wrong in another way each time, until it is told what a helper found.
fn stubborn(world: &World) {
    let wrong = |number: u32| json!({ "do": format!("!write out.txt bad{number} !say done") });
    let right = json!({ "when": "Attempt #4", "do": "!write out.txt good !say done" });
    world.scripted("a", "--status", &json!([right, wrong(1), wrong(2), wrong(3)]));
}

#[test]
fn what_a_helpers_commands_find_is_told_to_the_next_attempt() {
    let world = World::new();
    stubborn(&world);
    helper(&world, "Here:\n[[\"grep\", \"-c\", \"good\", \"out.txt\"], [\"true\"]]");
    let args = ["--agent", "a", "--helper", "helper", "--check", CHECK, "--max-attempts", "4"];
    let done = world.run(&[&["run", "Do it.", "--json"], &args[..]].concat());
    let run: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    // A system that cannot contain a command does not run it.
    if run["helper"]["reason"].as_str().is_some_and(|reason| reason.contains("landlock")) {
        return;
    }
    assert_eq!((done.code, &run["state"]), (0, &json!("done")), "{run:#}");
    assert_eq!(run["helper"]["findings"], json!(["grep -c good out.txt: 0"]));
    let told = fs::read_to_string(world.path("told.txt")).unwrap();
    let block = "\n--- HELPER AGENT CONTEXT ---\nAttempt #3 (2 previous retries) - validation failed\n\
                 Attempt 2 touched: out.txt - error: \"error: it is bad\"\n\
                 Attempt 3 touched: out.txt - error: \"error: it is bad\"\n\
                 Task appears stuck in validation loop - try different approach\n\
                 Generate commands to verify ALL failed criteria from ALL attempts.\n--- END CONTEXT ---\n\n";
    assert!(told.starts_with(block), "{told}");
    let last = world.prompts("a").pop().unwrap();
    assert!(last.contains("failures:\n- grep -c good out.txt: 0\n- error: it is bad\n"), "{last}");
    let shown = world.run(&["runs", "show", run["id"].as_str().unwrap()]).ok();
    assert!(shown.contains("the helper's commands found: grep -c good out.txt: 0"), "{shown}");
}

#[test]
fn a_helper_of_no_use_is_told_of() {
    let world = World::new();
    stubborn(&world);
    helper(&world, "I would look at it.");
    let args = ["--agent", "a", "--helper", "helper", "--check", CHECK, "--max-attempts", "4"];
    let done = world.run(&[&["run", "Do it."], &args[..]].concat());
    assert!(done.out.contains("the helper could not help: its answer has no JSON array"), "{done:?}");
    done.fails(1, &["fail in the same way again and again"]);
}
