//! Another provider takes over.

use std::fs;

use serde_json::json;

use super::team::reasons;

use crate::support::TestHome;

#[test]
fn an_agent_whose_composer_is_never_seen_is_left_for_the_next() {
    // It looks like nothing that is known; or, as it reads, like one at rest.
    for reads in ["sleep 600", "dd bs=1 status=none of=/dev/null"] {
        let home = TestHome::with_repository();
        home.agent("a", "", &[]).agent("b", "--status", &["!write out.txt hello !say done"]);
        home.extend_preset("a", "[timing]\nstartup_deadline_ms = 1000\n");
        let program = home.file("bin").join("a");
        fs::write(program, format!("#!/bin/sh\nstty raw -echo; echo a new look; exec {reads}\n")).unwrap();
        let run = home.task(0, &["--agent", "a,b", "--check", "grep -q hello out.txt"]);
        let told = run.to_string();
        assert!(told.contains("composer was never seen"), "{told}");
        assert_eq!(run["outcome"], json!({ "outcome": "done" }), "{told}");
    }
}

#[test]
fn a_limit_brings_the_next_provider_with_what_is_there() {
    let home = TestHome::with_repository();
    home.agent("a", "--trust-dialog", &["!write one.txt 1 !work 300ms !limit 7pm"]);
    home.agent("b", "--status", &["!write two.txt 2 !say done", "!write two.txt 3 !say done"]);
    let run = home.task(0, &["--agent", "a,b", "--check", "cat one.txt two.txt", "--trust"]);
    assert_eq!(reasons(&run), [("a".into(), "quota used up".into()), ("b".into(), "idle".into())]);
    assert_eq!((run["attempts"].as_array().unwrap().len(), &run["switches"]), (1, &json!(1)));
    assert_eq!(run["files"]["created"], json!(["one.txt", "two.txt"]));
    let block = "--- PROVIDER SWITCH CONTEXT ---\nPrevious provider (a) failed: quota used up\n\
                 Previous attempt created: one.txt\n\
                 Continue from where a left off. Avoid recreating existing files.\n--- END CONTEXT ---\n\n";
    assert_eq!(home.prompts("b"), [format!("{block}{}", home.prompts("a")[0])]);

    // The breaker is open until the limit ends, whatever becomes of the daemon.
    home.kill_daemon();
    assert_eq!(home.breaker("a"), ("open".into(), "quota".into()));
    let until = home.json(["providers", "--json"])["providers"][0]["until"].clone();
    assert!(until.as_str().unwrap().contains(":00:00"), "{until}");
    let next = home.task(0, &["--agent", "a,b", "--check", "cat one.txt"]);
    assert_eq!(reasons(&next), [("b".into(), "idle".into())]);
    assert_eq!(home.prompts("a").len(), 1);
    assert!(home.run(["providers", "reset", "a"]).ok().contains("a            closed"));
    assert!(
        home.run(["metrics"]).ok().contains("ostler_context_injection_count{type=\"provider_switch\"} 1\n")
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
    let home = TestHome::with_repository();
    home.scripted("good", "--status", &json!([{ "do": "!write out.txt 1 !say done", "repeat": true }]));
    for (number, (act, flags, reason, state, why)) in table.into_iter().enumerate() {
        let name = format!("bad{number}");
        home.agent(&name, flags, &[act]);
        let run = home.task(0, &["--agent", &format!("{name},good"), "--check", "cat out.txt"]);
        assert_eq!(reasons(&run), [(name.clone(), reason.into()), ("good".into(), "idle".into())], "{act}");
        assert_eq!(home.breaker(&name), (state.into(), why.into()), "{act}");
    }
    assert_eq!(home.breaker("good"), (String::new(), String::new()));
    home.await_quiet();
}

#[test]
fn an_agent_that_tries_again_and_again_is_not_waited_for() {
    let home = TestHome::with_repository();
    home.agent("patient", "--status", &["!write one.txt 1 !tool retry-429 10m !say done"]);
    home.agent("b", "--status", &["!write two.txt 2 !say done"]);
    let check = ["--check", "cat one.txt two.txt", "--retrying", "1"];
    let run = home.task(0, &[&["--agent", "patient,b"], &check[..]].concat());
    let told = [("patient".into(), "rate limit exceeded".into()), ("b".into(), "idle".into())];
    assert_eq!(reasons(&run), told);
    assert_eq!(home.breaker("patient"), ("open".into(), "rate_limit".into()));
    assert!(home.prompts("b")[0].contains("Previous attempt created: one.txt\n"));

    // One that gets through in time goes on.
    home.agent("lucky", "--status", &["!tool retry-429 1500ms !write three.txt 3 !say done"]);
    let run = home.task(0, &["--agent", "lucky", "--check", "cat three.txt"]);
    assert_eq!(reasons(&run), [("lucky".into(), "idle".into())]);
    assert_eq!(home.breaker("lucky"), (String::new(), String::new()));
}

#[test]
fn a_program_that_is_not_there_is_told_and_blamed_on_nobody() {
    let home = TestHome::with_repository();
    home.preset("gone").agent("good", "--status", &["!write out.txt 1 !say done"]);
    let run = home.task(0, &["--agent", "gone,good", "--check", "cat out.txt"]);
    let told = &reasons(&run)[0].1;
    assert!(told.starts_with("cannot be started: ") && told.contains("gone"), "{told}");
    assert_eq!(home.breaker("gone"), (String::new(), String::new()));
    let done = home.run(["run", "Do it.", "--agent", "gone", "--check", "true"]);
    assert!(done.out.contains("gone (cannot be started: "), "{done:?}");
    done.fails(1, &["no provider can be used", "name other agents"]);
}

#[test]
fn when_nobody_is_left_the_report_says_until_when() {
    let home = TestHome::with_repository();
    home.agent("a", "", &["!error 429 slow down"]).agent("b", "", &["!error 529 busy"]);
    let args = ["run", "Do it.", "--agent", "a,b", "--check", "true", "--max-time", "40"];
    let done = home.run(args);
    assert!(done.out.contains("a (rate limit exceeded), then b (provider overloaded)"), "{done:?}");
    let said =
        done.fails(1, &["no provider can be used", "a: rate limit exceeded", "b: provider overloaded"]);
    assert!(said.contains("can be tried again at 20"), "{said}");
    home.await_quiet();
}

#[test]
fn words_about_limits_are_no_limits() {
    let home = TestHome::with_repository();
    let words = "rate limit exceeded, 429 Too Many Requests; quota used up; authentication failed; \
                 usage limit reached, resets 7pm; API Error: 529 overloaded";
    home.agent("a", "", &[&format!("!write out.txt {words} !work 200ms !say I handle it: {words}")]);
    let run: serde_json::Value = {
        let done = home.run(["run", words, "--agent", "a", "--check", &format!("echo '{words}'"), "--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        serde_json::from_str(&done.out).unwrap()
    };
    assert_eq!(reasons(&run), [("a".into(), "idle".into())]);
    assert!(home.run(["providers"]).ok().contains("no run has had trouble"));
}

#[test]
fn agents_of_a_task_with_a_long_name_have_names_of_their_own() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!limit 7pm"]).agent("b", "--status", &["!write one.txt 1 !say done"]);
    let id = "a-name-of-a-task-that-says-all-there-is-to-say-about-it-and-more";
    let file = home.file("tasks.toml");
    std::fs::write(
        &file,
        format!("[[tasks]]\nid = \"{id}\"\ninstructions = \"Do it.\"\nchecks = [\"cat one.txt\"]\n"),
    )
    .unwrap();
    let run = home.json(["run", "--task", file.to_str().unwrap(), "--agent", "a,b", "--json"]);
    assert_eq!(run["state"], "done", "{run:#}");
    assert_eq!(reasons(&run), [("a".into(), "quota used up".into()), ("b".into(), "idle".into())]);
}

#[test]
fn an_agent_that_a_person_stopped_is_blamed_on_nobody() {
    let home = TestHome::with_repository();
    home.preset("a").agent("b", "--status", &["!say done"]);
    // It ends by itself when it is asked to, with a status of its own.
    let (program, ostler) = (home.file("bin/a"), crate::support::ostler());
    let script = format!(
        "#!/bin/sh\ntrap 'kill $child; exit 143' TERM\n{} stand-in --status </dev/tty >/dev/tty & child=$!\nwait\n",
        ostler.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let id = home.run(["run", "!work 60s", "--agent", "a,b", "--detach"]).ok().trim().to_owned();
    home.await_state(&id, "working");
    let session = home.json(["runs", "show", &id, "--json"])["session"].as_str().unwrap().to_owned();
    home.run(["stop", &session]).ok();
    let done = home.run(["runs", "wait", &id, "--json"]);
    let run: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, reasons(&run)), (1, vec![("a".into(), "agent was ended".into())]), "{run:#}");
    assert_eq!(home.breaker("a"), (String::new(), String::new()));
}

#[test]
fn a_run_that_waits_for_a_provider_goes_on_when_it_is_reset() {
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!error 429 Too many requests"]);
    let run = home.json(["run", "Do it.", "--agent", "a", "--check", "cat out.txt", "--detach", "--json"]);
    let id = run["id"].as_str().unwrap();
    home.await_state(id, "waiting");
    home.agent("a", "--status", &["!write out.txt 1 !say done"]);
    home.run(["providers", "reset", "a"]).ok();
    let run = home.json(["runs", "wait", id, "--json"]);
    assert_eq!(run["outcome"], json!({ "outcome": "done" }), "{run}");
}
