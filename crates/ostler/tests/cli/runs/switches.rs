//! Another provider takes over.

use std::fs;

use serde_json::json;

use super::world::{World, reasons};

#[test]
fn an_agent_whose_composer_is_never_seen_is_left_for_the_next() {
    // It looks like nothing that is known; or, as it reads, like one at rest.
    for reads in ["sleep 600", "dd bs=1 status=none of=/dev/null"] {
        let world = World::new();
        world.agent("a", "", &[]).agent("b", "--status", &["!write out.txt hello !say done"]);
        world.extend("a", "[timing]\nstartup_deadline_ms = 1000\n");
        let program = world.path("bin").join("a");
        fs::write(program, format!("#!/bin/sh\nstty raw -echo; echo a new look; exec {reads}\n")).unwrap();
        let run = world.task(0, &["--agent", "a,b", "--check", "grep -q hello out.txt"]);
        let told = run.to_string();
        assert!(told.contains("composer was never seen"), "{told}");
        assert_eq!(run["outcome"], json!({ "outcome": "done" }), "{told}");
    }
}

#[test]
fn a_limit_brings_the_next_provider_with_what_is_there() {
    let world = World::new();
    world.agent("a", "--trust-dialog", &["!write one.txt 1 !work 300ms !limit 7pm"]);
    world.agent("b", "--status", &["!write two.txt 2 !say done", "!write two.txt 3 !say done"]);
    let run = world.task(0, &["--agent", "a,b", "--check", "cat one.txt two.txt", "--trust"]);
    assert_eq!(reasons(&run), [("a".into(), "quota used up".into()), ("b".into(), "idle".into())]);
    assert_eq!((run["attempts"].as_array().unwrap().len(), &run["switches"]), (1, &json!(1)));
    assert_eq!(run["files"]["created"], json!(["one.txt", "two.txt"]));
    let block = "--- PROVIDER SWITCH CONTEXT ---\nPrevious provider (a) failed: quota used up\n\
                 Previous attempt created: one.txt\n\
                 Continue from where a left off. Avoid recreating existing files.\n--- END CONTEXT ---\n\n";
    assert_eq!(world.prompts("b"), [format!("{block}{}", world.prompts("a")[0])]);

    // The breaker is open until the limit ends, whatever becomes of the daemon.
    world.home.kill_daemon();
    assert_eq!(world.breaker("a"), ("open".into(), "quota".into()));
    let until = world.json(&["providers", "--json"])["providers"][0]["until"].clone();
    assert!(until.as_str().unwrap().contains(":00:00"), "{until}");
    let next = world.task(0, &["--agent", "a,b", "--check", "cat one.txt"]);
    assert_eq!(reasons(&next), [("b".into(), "idle".into())]);
    assert_eq!(world.prompts("a").len(), 1);
    assert!(world.run(&["providers", "reset", "a"]).ok().contains("a            closed"));
    assert!(
        world.run(&["metrics"]).ok().contains("ostler_context_injection_count{type=\"provider_switch\"} 1\n")
    );
}

#[test]
fn whatever_befalls_an_agent_the_next_one_goes_on() {
    let table = [
        ("!error 429 Too many requests", "", "rate limit exceeded", "open", "rate_limit"),
        ("!error 401 Unauthorized", "", "login refused", "open", "auth"),
        ("!error 401 Unauthorized", "--status", "login refused", "open", "auth"),
        ("!error 529 Overloaded", "", "provider overloaded", "open", "overloaded"),
        ("!error 500 Internal", "--status", "provider unavailable", "open", "unavailable"),
        ("!work 100ms !crash", "", "agent crashed (signal 9)", "open", "crash"),
        ("!work 100ms !exit 3", "", "agent crashed (status 3)", "open", "crash"),
        ("", "--die-after 300", "agent crashed (status 1)", "open", "crash"),
    ];
    let world = World::new();
    world.scripted("good", "--status", &json!([{ "do": "!write out.txt 1 !say done", "repeat": true }]));
    for (number, (act, flags, reason, state, why)) in table.into_iter().enumerate() {
        let name = format!("bad{number}");
        world.agent(&name, flags, &[act]);
        let run = world.task(0, &["--agent", &format!("{name},good"), "--check", "cat out.txt"]);
        assert_eq!(reasons(&run), [(name.clone(), reason.into()), ("good".into(), "idle".into())], "{act}");
        assert_eq!(world.breaker(&name), (state.into(), why.into()), "{act}");
    }
    assert_eq!(world.breaker("good"), (String::new(), String::new()));
    world.await_quiet();
}

#[test]
fn an_agent_that_tries_again_and_again_is_not_waited_for() {
    let world = World::new();
    world.agent("patient", "--status", &["!write one.txt 1 !tool retry-429 10m !say done"]);
    world.agent("b", "--status", &["!write two.txt 2 !say done"]);
    let check = ["--check", "cat one.txt two.txt", "--retrying", "1"];
    let run = world.task(0, &[&["--agent", "patient,b"], &check[..]].concat());
    let told = [("patient".into(), "rate limit exceeded".into()), ("b".into(), "idle".into())];
    assert_eq!(reasons(&run), told);
    assert_eq!(world.breaker("patient"), ("open".into(), "rate_limit".into()));
    assert!(world.prompts("b")[0].contains("Previous attempt created: one.txt\n"));

    // One that gets through in time goes on.
    world.agent("lucky", "--status", &["!tool retry-429 1500ms !write three.txt 3 !say done"]);
    let run = world.task(0, &["--agent", "lucky", "--check", "cat three.txt"]);
    assert_eq!(reasons(&run), [("lucky".into(), "idle".into())]);
    assert_eq!(world.breaker("lucky"), (String::new(), String::new()));
}

#[test]
fn a_program_that_is_not_there_is_told_and_blamed_on_nobody() {
    let world = World::new();
    world.preset("gone").agent("good", "--status", &["!write out.txt 1 !say done"]);
    let run = world.task(0, &["--agent", "gone,good", "--check", "cat out.txt"]);
    let told = &reasons(&run)[0].1;
    assert!(told.starts_with("cannot be started: ") && told.contains("gone"), "{told}");
    assert_eq!(world.breaker("gone"), (String::new(), String::new()));
    let done = world.run(&["run", "Do it.", "--agent", "gone", "--check", "true"]);
    assert!(done.out.contains("gone (cannot be started: "), "{done:?}");
    done.fails(1, &["no provider can be used", "name other agents"]);
}

#[test]
fn when_nobody_is_left_the_report_says_until_when() {
    let world = World::new();
    world.agent("a", "", &["!error 429 slow down"]).agent("b", "", &["!error 529 busy"]);
    let args = ["run", "Do it.", "--agent", "a,b", "--check", "true", "--max-time", "40"];
    let done = world.run(&args);
    assert!(done.out.contains("a (rate limit exceeded), then b (provider overloaded)"), "{done:?}");
    let said =
        done.fails(1, &["no provider can be used", "a: rate limit exceeded", "b: provider overloaded"]);
    assert!(said.contains("can be tried again at 20"), "{said}");
    world.await_quiet();
}

#[test]
fn words_about_limits_are_no_limits() {
    let world = World::new();
    let words = "rate limit exceeded, 429 Too Many Requests; quota used up; authentication failed; \
                 usage limit reached, resets 7pm; API Error: 529 overloaded";
    world.agent("a", "", &[&format!("!write out.txt {words} !work 200ms !say I handle it: {words}")]);
    let run: serde_json::Value = {
        let done =
            world.run(&["run", words, "--agent", "a", "--check", &format!("echo '{words}'"), "--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        serde_json::from_str(&done.out).unwrap()
    };
    assert_eq!(reasons(&run), [("a".into(), "idle".into())]);
    assert!(world.run(&["providers"]).ok().contains("no run has had trouble"));
}

#[test]
fn agents_of_a_task_with_a_long_name_have_names_of_their_own() {
    let world = World::new();
    world.agent("a", "--status", &["!limit 7pm"]).agent("b", "--status", &["!write one.txt 1 !say done"]);
    let id = "a-name-of-a-task-that-says-all-there-is-to-say-about-it-and-more";
    let file = world.path("tasks.toml");
    std::fs::write(
        &file,
        format!("[[tasks]]\nid = \"{id}\"\ninstructions = \"Do it.\"\nchecks = [\"cat one.txt\"]\n"),
    )
    .unwrap();
    let run = world.json(&["run", "--task", file.to_str().unwrap(), "--agent", "a,b", "--json"]);
    assert_eq!(run["state"], "done", "{run:#}");
    assert_eq!(reasons(&run), [("a".into(), "quota used up".into()), ("b".into(), "idle".into())]);
}

#[test]
fn an_agent_that_a_person_stopped_is_blamed_on_nobody() {
    let world = World::new();
    world.preset("a").agent("b", "--status", &["!say done"]);
    // It ends by itself when it is asked to, with a status of its own.
    let (program, ostler) = (world.path("bin/a"), crate::support::ostler());
    let script = format!(
        "#!/bin/sh\ntrap 'kill $child; exit 143' TERM\n{} stand-in --status </dev/tty >/dev/tty & child=$!\nwait\n",
        ostler.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let id = world.run(&["run", "!work 60s", "--agent", "a,b", "--detach"]).ok().trim().to_owned();
    world.await_state(&id, "working");
    let session = world.json(&["runs", "show", &id, "--json"])["session"].as_str().unwrap().to_owned();
    world.run(&["stop", &session]).ok();
    let done = world.run(&["runs", "wait", &id, "--json"]);
    let run: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, reasons(&run)), (1, vec![("a".into(), "agent was ended".into())]), "{run:#}");
    assert_eq!(world.breaker("a"), (String::new(), String::new()));
}

#[test]
fn a_run_that_waits_for_a_provider_goes_on_when_it_is_reset() {
    let world = World::new();
    world.agent("a", "--status", &["!error 429 Too many requests"]);
    let run = world.json(&["run", "Do it.", "--agent", "a", "--check", "cat out.txt", "--detach", "--json"]);
    let id = run["id"].as_str().unwrap();
    world.await_state(id, "waiting");
    world.agent("a", "--status", &["!write out.txt 1 !say done"]);
    world.run(&["providers", "reset", "a"]).ok();
    let run = world.json(&["runs", "wait", id, "--json"]);
    assert_eq!(run["outcome"], json!({ "outcome": "done" }), "{run}");
}
