//! Whether what was started has come up, and what is said where it has not.

use serde_json::Value;

use crate::agent_lab::{Lab, PRESET};
use crate::support::{Done, ostler};

#[test]
fn an_agent_that_dies_at_once_is_told_with_its_status_and_screen() {
    let lab = Lab::new();
    lab.write_agent("echo 'cannot find my settings'; exit 7\n");
    for options in [&[][..], &["--prompt", "Go."], &["--prompt", "Go.", "--no-wait"]] {
        let name = format!("a{}", options.len());
        lab.start_with(&name, options, &[]).fails(
            1,
            &["ended at once: exit status 7", "cannot find my settings", &format!("ostler logs {name}")],
        );
    }
    // One that takes a moment to find that out.
    let late = ["--ready-after", "60000", "--die-after", "1000", "--exit-code", "7"];
    lab.write_agent(&format!("echo 'cannot go on'; exec {} stand-in \"$@\"\n", ostler().display()));
    lab.start_with("late", &[], &late).fails(1, &["ended at once: exit status 7"]);
    lab.write_agent("echo 'version 3'\n");
    let done = lab.start_with("fine", &[], &[]);
    assert!(done.err.contains("fine ended at once: exit status 0"), "{done:?}");
    assert_eq!(done.ok(), "fine\n");
    lab.write_agent("echo 'killed by somebody'; kill -9 $$\n");
    lab.start_with("b", &[], &[]).fails(1, &["ended at once: ended by signal 9", "killed by somebody"]);
}

#[test]
fn an_agent_that_asks_something_at_its_start_is_told_about() {
    let lab = Lab::new();
    let told = ["a waits for a person (trust)", "ostler attach a", "trust this folder"];
    lab.start_with("a", &[], &["--trust-dialog"]).fails(5, &told);
    assert_eq!(lab.count("a", "bytes"), 0, "nothing was typed into it");
}

#[test]
fn an_agent_is_waited_for_until_it_is_ready_unless_nobody_wants_to() {
    let lab = Lab::new();
    let state = |done: Done| serde_json::from_str::<Value>(&done.ok()).unwrap()["state"].clone();
    assert_eq!(state(lab.start_with("a", &["--json"], &["--ready-after", "2500"])), "idle");
    let never = ["--ready-after", "600000"];
    assert_eq!(state(lab.start_with("b", &["--json", "--no-wait"], &never)), "starting");
    lab.start_with("c", &["--timeout", "1"], &never).fails(4, &["c is not ready yet", "ostler attach c"]);
    assert_eq!(lab.home.json(["status", "c", "--json"])["state"], "starting", "it goes on");
    lab.write_settings("[detector]\nstartup_deadline_ms = 1000\n");
    lab.write_agent("echo '~~~'; exec sleep 600\n");
    let strange = lab.start_with("d", &[], &[]);
    assert!(strange.code == 0 && strange.err.contains("nobody can tell whether it is ready"), "{strange:?}");
}

#[test]
fn a_program_that_dies_at_once_is_told_about_also_where_nothing_is_known_of_it() {
    let lab = Lab::new();
    let told = |name: &str, script: &str| {
        let done = lab.home.run(["start", "--name", name, "sh", "--", "-c", script]);
        assert_eq!(done.code, 0, "what it is for is its own business: {done:?}");
        done.err
    };
    let failed = told("a", "echo oops; exit 7");
    assert!(failed.contains("a ended at once: exit status 7") && failed.contains("| oops"), "{failed}");
    assert!(told("b", "exit 7").contains("its screen is empty"));
    assert!(told("c", "echo well").contains("c ended at once: exit status 0"));
    assert_eq!(told("d", "read line"), "");
}

#[test]
fn a_directory_that_cannot_be_used_is_named() {
    let lab = Lab::new();
    let nowhere = lab.home.scratch().join("nowhere");
    let started = lab.home.run(["start", "cat", "--cwd", nowhere.to_str().unwrap()]);
    started.fails(2, &["there is no directory", "nowhere", "--cwd"]);
    let file = lab.home.scratch().join("a-file");
    std::fs::write(&file, "").unwrap();
    lab.home.run(["start", "cat", "--cwd", file.to_str().unwrap()]).fails(2, &["there is no directory"]);
}

#[test]
fn a_file_that_cannot_be_used_is_told_where_it_matters() {
    let lab = Lab::new();
    lab.write_preset(&PRESET.replace("[composer]", "[composer]\nrows = 3"));
    lab.start_with("a", &[], &[]).fails(1, &["standin.toml", "rows"]);
    lab.write_preset(PRESET);
    lab.write_settings("[policy]\ntrust = \"alow\"\n");
    let started = lab.start_with("b", &[], &[]);
    assert!(started.code == 0 && started.err.contains("alow"), "{started:?}");
    let doctor = lab.home.run(["doctor"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.out.contains("FAIL  settings") && doctor.out.contains("alow"), "{doctor:?}");
}
