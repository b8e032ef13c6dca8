//! When a prompt is typed: what the agent is doing decides, and the sender's wish.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::stand_in::PRESET;
use crate::support::{TestHome, until_file};

#[test]
fn an_agent_that_takes_it_into_its_turn_is_not_said_to_keep_it() {
    for (preset, said) in [
        (PRESET.replace("\"queue\"", "\"steer\""), "the agent takes it into its turn"),
        (PRESET.replace("while_working = \"queue\"\n", ""), "was emptied while the agent was at work"),
    ] {
        let home = TestHome::with_stand_in();
        home.write_preset(&preset);
        home.start("a", &[]);
        home.deliver("a", "!work 20s first", &[]);
        let sent = home.deliver("a", "and this", &["--mode", "queue"]);
        let evidence = sent["evidence"].to_string();
        assert!(evidence.contains(said) && !evidence.contains("keeps it"), "{sent}");
    }
}

#[test]
fn a_dialog_is_never_answered_and_the_prompt_comes_after_it() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!permission rm -r build", &[]);
    home.wait("a", "blocked");
    for mode in ["when-idle", "queue", "interrupt", "now"] {
        home.send("a", &format!("yes, by {mode}"), &["--mode", mode, "--timeout", "0.5"])
            .fails(5, &["the agent waits for a person", "Do you want to proceed?", "the session is blocked"]);
    }
    assert_eq!((home.count("a", "answered"), home.taken("a").len()), (0, 1));
    let log = home.log("a");
    let dialog = log.iter().position(|record| record["event"] == "dialog").unwrap();
    assert!(log[dialog..].iter().all(|record| record["event"] != "bytes"), "nothing was typed into it");
    // A person answers, and everything arrives.
    home.press("a", "3");
    home.await_log("a", "submitted", 5);
    let mut taken = home.taken("a").split_off(1);
    taken.sort();
    let expected = ["interrupt", "now", "queue", "when-idle"].map(|mode| format!("yes, by {mode}"));
    assert_eq!(taken, expected);
    assert_eq!(home.count("a", "answered"), 1);
}

#[test]
fn an_agent_that_nobody_understands_is_typed_to_when_its_preset_says() {
    let home = TestHome::with_stand_in();
    home.write_preset("[run]\ncommand = \"stand-in-agent\"\n[startup]\nready_delay_ms = 700\n");
    let got = home.file("got");
    home.write_agent(&format!("stty raw -echo; printf '~~~'; exec cat > {}\n", got.display()));
    home.run(["start", "standin", "--name", "a"]).ok();
    let began = std::time::Instant::now();
    home.send("a", "hello there", &["--wait", "queued"]).ok();
    until_file(&got, "it was typed", || {
        std::fs::read_to_string(&got).ok().filter(|got| got.contains("hello there"))
    });
    assert!(began.elapsed().as_secs() < 25, "without that figure it would be half a minute");
}

#[test]
fn nothing_is_typed_into_a_pager_that_a_program_without_a_preset_shows() {
    let home = TestHome::new();
    // To the kernel, and so to whoever looks at processes, a script has its own name.
    let pager = home.scratch().join("less");
    let page = "system('stty raw -echo'); syswrite(STDOUT, \"A page\\r\\n:\");\n\
                while (sysread(STDIN, my $key, 1)) { last if $key eq 'q' }\n\
                system('stty sane'); syswrite(STDOUT, \"left\\n\"); while (<STDIN>) { syswrite(STDOUT, \"heard $_\") }\n";
    fs::write(&pager, format!("#!/usr/bin/perl\n{page}")).unwrap();
    fs::set_permissions(&pager, fs::Permissions::from_mode(0o755)).unwrap();
    home.ok(["start", pager.to_str().unwrap(), "--name", "p"]);
    home.await_screen("p", "A page");
    let sent = home.run(["send", "p", "quit; touch it", "--id", "m1", "--timeout", "5"]);
    sent.fails(4, &["an editor or a pager has its terminal", "ostler messages drop m1"]);
    assert!(!home.ok(["screen", "p"]).contains("left"), "the pager is still there");
    home.run(["messages", "drop", "m1"]).ok();
    // Whoever wants that says so.
    home.run(["send", "p", "q", "--mode", "now", "--wait", "written"]).ok();
    home.await_screen("p", "left");
}
