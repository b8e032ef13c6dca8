//! When a prompt is typed: what the agent is doing decides, and the sender's wish.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::stand_in::PRESET;
use crate::support::{TestHome, until_file};

fn submissions(home: &TestHome) -> Vec<(String, bool)> {
    let taken = home.log("a").into_iter().filter(|record| record["event"] == "submitted");
    taken.map(|record| (record["text"].as_str().unwrap().to_owned(), record["queued"] == true)).collect()
}

#[test]
fn an_agent_at_work_is_given_the_prompt_after_its_turn() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!work 3s first", &[]);
    let sent = home.deliver("a", "second", &[]);
    assert_eq!(sent["attempts"], 1);
    assert_eq!(submissions(&home), [("!work 3s first".into(), false), ("second".into(), false)]);
    let events: Vec<Value> = home.log("a").iter().map(|record| record["event"].clone()).collect();
    let at = |event: &str| events.iter().rposition(|other| other == event).unwrap();
    assert!(events.iter().position(|event| event == "done").unwrap() < at("submitted"), "{events:?}");
}

#[test]
fn an_agent_at_work_can_be_left_to_queue_it() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!work 20s first", &[]);
    let sent = home.deliver("a", "queued by the agent", &["--mode", "queue"]);
    assert!(sent["evidence"].to_string().contains("keeps it for after its turn"), "{sent}");
    assert_eq!(sent["mode"], "queue");
    let sent = home.deliver("a", "typed at once", &["--mode", "now"]);
    assert_eq!(sent["proof"], "submitted");
    let queued = |text: &str| (text.to_owned(), true);
    assert_eq!(
        submissions(&home)[1..],
        [queued("queued by the agent"), queued("typed at once")],
        "both came while it worked"
    );
}

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
fn an_agent_at_work_can_be_interrupted() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!work 5m first", &[]);
    home.deliver("a", "second", &["--mode", "interrupt"]);
    assert_eq!(submissions(&home), [("!work 5m first".into(), false), ("second".into(), false)]);
    assert_eq!(home.count("a", "interrupted"), 1);
    // An agent at rest is not interrupted: Escape means other things there.
    home.wait("a", "idle");
    home.deliver("a", "third", &["--mode", "interrupt"]);
    assert_eq!((home.taken("a").len(), home.count("a", "interrupted")), (3, 1));
    let log = home.log("a");
    let escapes = log.iter().filter(|record| record["escaped"] == "\\x1b").count();
    assert_eq!(escapes, 1);
}

#[test]
fn what_the_agent_puts_back_is_cleared_if_it_is_ours() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--restore-draft"]);
    home.deliver("a", "!work 5m first\nsecond line", &[]);
    home.deliver("a", "another matter", &["--mode", "interrupt"]);
    assert_eq!(home.taken("a"), ["!work 5m first\nsecond line", "another matter"]);
}

#[test]
fn what_the_agent_puts_back_of_a_person_is_left_alone() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--restore-draft"]);
    home.wait("a", "idle");
    home.press("a", "!work 5m a person's words\r");
    home.wait("a", "working");
    home.send("a", "ours", &["--mode", "interrupt", "--timeout", "6"])
        .fails(4, &["something stands in the composer that is not this message", "a person's words"]);
    assert_eq!(home.taken("a"), ["!work 5m a person's words"]);
    assert!(home.screen("a").contains("│ > !work 5m a person's words"));
    // The person clears it, and the message goes its way.
    home.press("a", "\x15");
    home.await_log("a", "submitted", 2);
    assert_eq!(home.taken("a"), ["!work 5m a person's words", "ours"]);
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
fn a_dialog_between_text_and_enter_gets_neither() {
    let home = TestHome::with_stand_in();
    // What is typed shows later than the dialog comes: Enter has to wait behind both.
    home.start("a", &["--slow-echo", "4500"]);
    home.deliver("a", "!work 3s !permission make", &[]);
    let sending = home.begin_send("a", b"after the dialog, yes", &["--mode", "now", "--timeout", "60"]);
    home.wait("a", "blocked");
    home.await_log("a", "bytes", 3);
    assert_eq!(home.count("a", "answered"), 0);
    home.press("a", "1");
    sending.finish().ok();
    assert_eq!(home.taken("a"), ["!work 3s !permission make", "after the dialog, yes"]);
    assert_eq!(home.count("a", "answered"), 1);
    let answered = home.log("a").into_iter().find(|record| record["event"] == "answered").unwrap();
    assert_eq!(answered["choice"], "Yes", "by the person");
}

#[test]
fn a_dialog_right_after_enter_gets_no_second_one() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    for round in 0..5 {
        let sent = home.deliver("a", &format!("!permission touch {round}"), &[]);
        assert_eq!((&sent["proof"], &sent["enters"]), (&"submitted".into(), &1.into()), "{sent}");
        home.wait("a", "blocked");
        assert_eq!(home.count("a", "answered"), round);
        home.press("a", "3");
        home.await_log("a", "answered", round + 1);
    }
    assert_eq!(home.taken("a").len(), 5);
}

#[test]
fn an_agent_that_starts_slowly_gets_nothing_before_it_is_ready() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--ready-after", "3000"]);
    let sent = home.deliver("a", "good morning", &[]);
    assert_eq!((&sent["attempts"], &sent["enters"]), (&1.into(), &1.into()), "{sent}");
    let log = home.log("a");
    let at = |event: &str| log.iter().position(|record| record["event"] == event).unwrap();
    assert!(at("ready") < at("bytes"), "{log:?}");
    assert_eq!(home.taken("a"), ["good morning"]);
}

#[test]
fn an_agent_that_nobody_understands_is_typed_to_when_its_preset_says() {
    let home = TestHome::with_stand_in();
    home.write_preset("[run]\ncommand = \"stand-in-agent\"\n[startup]\nready_delay_ms = 700\n");
    let got = home.file("got");
    home.write_agent(&format!("stty raw -echo; printf '~~~'; exec cat > {}\n", got.display()));
    home.run(&["start", "standin", "--name", "a"]).ok();
    let began = std::time::Instant::now();
    home.send("a", "hello there", &["--wait", "queued"]).ok();
    until_file(&got, "it was typed", || {
        std::fs::read_to_string(&got).ok().filter(|got| got.contains("hello there"))
    });
    assert!(began.elapsed().as_secs() < 25, "without that figure it would be half a minute");
}

#[test]
fn bytes_that_are_typed_as_they_are_never_come_between_a_text_and_its_enter() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--slow-echo", "700"]);
    home.wait("a", "idle");
    let sending = home.begin_send("a", b"the text", &["--id", "m1", "--timeout", "60"]);
    home.await_log("a", "bytes", 1);
    // The text is in the terminal, and not to be seen yet.
    home.press("a", " and more\r");
    sending.finish().ok();
    assert_eq!(home.taken("a")[0], "the text");
    assert_eq!(home.message("a", "m1")["attempts"], 1);
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
