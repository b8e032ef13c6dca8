//! Agents that do not behave: what is said of a prompt is still what became of it.

use std::fs;

use crate::support::TestHome;

#[test]
fn a_half_typed_draft_is_never_submitted_and_never_typed_over() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--draft", "half a thou"]);
    home.send("a", "ours", &["--timeout", "5"])
        .fails(4, &["something stands in the composer that is not this message", "half a thou"]);
    assert_eq!(home.count("a", "bytes"), 0);
    assert_eq!(home.taken("a"), Vec::<String>::new());
    home.press("a", "ght\r");
    home.await_log("a", "submitted", 2);
    assert_eq!(home.taken("a"), ["half a thought", "ours"]);
}

#[test]
fn an_agent_that_dies_of_the_prompt_leaves_it_uncertain() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--die-on-submit", "--exit-code", "9"]);
    home.send("a", "deadly", &["--id", "m1", "--timeout", "60"])
        .fails(1, &["is uncertain", "cannot be told"]);
    assert_eq!(home.taken("a"), ["deadly"]);
    assert_eq!(home.message("a", "m1")["state"], "uncertain");
}

#[test]
fn an_agent_that_never_reads_is_not_said_to_have_the_prompt() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--never-read"]);
    home.send("a", "hello?", &["--timeout", "12"]).fails(4, &["the message is written, not yet submitted"]);
    let message = &home.json(["messages", "list", "a", "--json"])[0];
    assert_eq!((&message["state"], &message["attempts"]), (&"queued".into(), &1.into()), "{message}");
}

#[test]
fn a_message_that_nobody_reads_costs_nothing() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--never-read"]);
    // Its time is over while it is in the terminal.
    home.send("a", "hello?", &["--expires", "3", "--wait", "written", "--timeout", "60"]).ok();
    home.send("a", "and this?", &["--expires", "3", "--wait", "queued"]).ok();
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", home.daemon_pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    home.run(["wait", "a", "working", "--timeout", "5"]).fails(4, &[]);
    let before = ticks();
    home.run(["wait", "a", "working", "--timeout", "4"]).fails(4, &[]);
    assert!(ticks() - before < 50, "{} of 400 ticks", ticks() - before);
}

#[test]
fn an_agent_that_looks_otherwise_than_its_preset_says_is_typed_to_only_on_request() {
    let home = TestHome::with_stand_in_and("[timing]\nstartup_deadline_ms = 1000\n");
    let got = home.file("got");
    home.write_agent(&format!(
        "stty raw -echo; printf 'a new look\\r\\n'; exec dd bs=1 status=none of={}\n",
        got.display()
    ));
    home.start("a", &[]);
    home.wait("a", "idle,unknown");
    home.send("a", "by the book", &["--id", "m1", "--timeout", "2"])
        .fails(4, &["composer was never seen", "--mode now types without seeing it", "a new look"]);
    assert_eq!(fs::read_to_string(&got).unwrap(), "");
    home.run(["messages", "drop", "m1"]).ok();
    let sent = home.send("a", "all the same", &["--id", "m2", "--mode", "now", "--timeout", "60"]);
    sent.fails(1, &["is uncertain", "cannot be told"]);
    assert_eq!(fs::read_to_string(&got).unwrap(), "all the same\r");
    let evidence = home.message("a", "m2")["evidence"].to_string();
    assert!(evidence.contains("typed without seeing a composer"), "{evidence}");
}

#[test]
fn an_agent_in_cooked_mode_is_not_typed_to() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--cooked"]);
    home.send("a", "keys", &["--timeout", "3"]).fails(4, &["the message is queued", "its screen ends with"]);
    assert_eq!(home.count("a", "bytes"), 0);
    // The same program, of which nothing is known, is one that reads lines.
    let home = TestHome::new();
    let log = home.scratch().join("log");
    home.start_stand_in("b", &["--cooked", "--log", log.to_str().unwrap()]);
    let sent = home.json(["send", "b", "a line", "--timeout", "60", "--json"]);
    assert!(sent["evidence"].to_string().contains("has read the line"), "{sent}");
    assert_eq!(fs::read_to_string(log).unwrap().matches("\"submitted\"").count(), 1);
}
