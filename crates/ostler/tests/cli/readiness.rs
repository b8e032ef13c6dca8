//! Whether what was started has come up, and what is said where it has not.

use serde_json::Value;

use crate::stand_in::PRESET;
use crate::support::{Done, TestHome, ostler, until_file};

#[test]
fn an_agent_that_dies_at_once_is_told_with_its_status_and_screen() {
    let home = TestHome::with_stand_in();
    home.write_agent("echo 'cannot find my settings'; exit 7\n");
    for options in [&[][..], &["--prompt", "Go."], &["--prompt", "Go.", "--no-wait"]] {
        let name = format!("a{}", options.len());
        home.start_with(&name, options, &[]).fails(
            1,
            &["ended at once: exit status 7", "cannot find my settings", &format!("ostler logs {name}")],
        );
    }
    // One that takes a moment to find that out.
    let late = ["--ready-after", "60000", "--die-after", "1000", "--exit-code", "7"];
    home.write_agent(&format!("echo 'cannot go on'; exec {} stand-in \"$@\"\n", ostler().display()));
    home.start_with("late", &[], &late).fails(1, &["ended at once: exit status 7"]);
    home.write_agent("echo 'version 3'\n");
    let done = home.start_with("fine", &[], &[]);
    assert!(done.err.contains("fine ended at once: exit status 0"), "{done:?}");
    assert_eq!(done.ok(), "fine\n");
    home.write_agent("echo 'killed by somebody'; kill -9 $$\n");
    home.start_with("b", &[], &[]).fails(1, &["ended at once: ended by signal 9", "killed by somebody"]);
}

#[test]
fn an_agent_that_asks_something_at_its_start_is_told_about() {
    let home = TestHome::with_stand_in();
    let told = ["a waits for a person (trust)", "ostler attach a", "trust this folder"];
    home.start_with("a", &[], &["--trust-dialog"]).fails(5, &told);
    assert_eq!(home.count("a", "bytes"), 0, "nothing was typed into it");
}

#[test]
fn an_agent_is_waited_for_until_it_is_ready_unless_nobody_wants_to() {
    let home = TestHome::with_stand_in();
    let state = |done: Done| serde_json::from_str::<Value>(&done.ok()).unwrap()["state"].clone();
    assert_eq!(state(home.start_with("a", &["--json"], &["--ready-after", "2500"])), "idle");
    let never = ["--ready-after", "600000"];
    assert_eq!(state(home.start_with("b", &["--json", "--no-wait"], &never)), "starting");
    home.start_with("c", &["--timeout", "1"], &never).fails(4, &["c is not ready yet", "ostler attach c"]);
    assert_eq!(home.json(["status", "c", "--json"])["state"], "starting", "it goes on");
    home.write_settings("[detector]\nstartup_deadline_ms = 1000\n");
    home.write_agent("echo '~~~'; exec sleep 600\n");
    let strange = home.start_with("d", &[], &[]);
    assert!(strange.code == 0 && strange.err.contains("nobody can tell whether it is ready"), "{strange:?}");
}

#[test]
fn a_program_that_dies_at_once_is_told_about_also_where_nothing_is_known_of_it() {
    let home = TestHome::with_stand_in();
    let told = |name: &str, script: &str| {
        let done = home.run(["start", "--name", name, "sh", "--", "-c", script]);
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
    let home = TestHome::with_stand_in();
    let nowhere = home.file("nowhere");
    let started = home.run(["start", "cat", "--cwd", nowhere.to_str().unwrap()]);
    started.fails(2, &["there is no directory", "nowhere", "--cwd"]);
    let file = home.file("a-file");
    std::fs::write(&file, "").unwrap();
    home.run(["start", "cat", "--cwd", file.to_str().unwrap()]).fails(2, &["there is no directory"]);
}

#[test]
fn a_file_that_cannot_be_used_is_told_where_it_matters() {
    let home = TestHome::with_stand_in();
    home.write_preset(&PRESET.replace("[composer]", "[composer]\nrows = 3"));
    home.start_with("a", &[], &[]).fails(1, &["standin.toml", "rows"]);
    home.write_preset(PRESET);
    home.write_settings("[policy]\ntrust = \"alow\"\n");
    let started = home.start_with("b", &[], &[]);
    assert!(started.code == 0 && started.err.contains("alow"), "{started:?}");
    let doctor = home.run(["doctor"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.out.contains("FAIL  settings") && doctor.out.contains("alow"), "{doctor:?}");
}

#[test]
fn a_program_that_no_rules_know_says_by_a_file_that_it_is_ready() {
    let home = TestHome::with_stand_in();
    home.write_preset("[run]\ncommand = \"stand-in-agent\"\n[startup]\nready_delay_ms = 600000\n");
    let (up, go) = (home.file("up"), home.file("go"));
    // It does not read its terminal, which would show that it waits for input.
    home.write_agent(&format!(
        "stty raw -echo; printf '~~~'; : > {0}; while ! [ -e {1} ]; do sleep 0.05; done; : > \"$OSTLER_READY_FILE\"\n\
         while [ -e {0} ]; do sleep 0.05; done\n",
        up.display(),
        go.display()
    ));
    home.run(["start", "standin", "--name", "a", "--no-wait"]).ok();
    until_file(&up, "it runs", || up.exists().then_some(()));
    let send =
        |timeout| home.send("a", "hello there", &["--id", "m1", "--wait", "written", "--timeout", timeout]);
    assert_eq!(send("4").code, 4, "it would be waited for, for ten minutes");
    std::fs::write(&go, "").unwrap();
    send("20").ok();
}
