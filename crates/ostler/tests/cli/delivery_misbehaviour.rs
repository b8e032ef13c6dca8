//! Agents that do not behave: what is said of a prompt is still what became of it.

use std::fs;

use crate::support::TestHome;

#[test]
fn swallowed_enters_are_pressed_again_and_the_text_is_not_typed_again() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--swallow-enter", "3"]);
    let sent = home.deliver("a", "stubborn", &[]);
    assert_eq!((&sent["attempts"], &sent["enters"]), (&1.into(), &4.into()), "{sent}");
    assert_eq!(home.taken("a"), ["stubborn"]);
}

#[test]
fn swallowed_text_is_typed_again_when_it_is_proven_to_be_missing() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--swallow-early", "9000"]);
    let sent = home.deliver("a", "deaf at first", &[]);
    assert!(sent["attempts"].as_u64().unwrap() >= 2, "{sent}");
    assert_eq!(home.taken("a"), ["deaf at first"]);
    assert!(home.ok(["events", "a"]).contains("message.missed"));
}

#[test]
fn a_slow_echo_is_waited_for() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--slow-echo", "2000"]);
    let sent = home.deliver("a", "patience\nis a virtue", &[]);
    assert_eq!((&sent["attempts"], &sent["enters"]), (&1.into(), &1.into()), "{sent}");
    assert_eq!(home.taken("a"), ["patience\nis a virtue"]);
}

#[test]
fn an_enter_that_became_a_line_break_is_pressed_again() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--paste-burst", "500"]);
    let sent = home.deliver("a", "too fast", &[]);
    assert_eq!(sent["attempts"], 1, "{sent}");
    assert!(sent["enters"].as_u64().unwrap() >= 2, "{sent}");
    let taken: Vec<String> = home.taken("a").iter().map(|text| text.trim_end().to_owned()).collect();
    assert_eq!(taken, ["too fast"]);
}

#[test]
fn a_collapsed_paste_is_known_by_its_size() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--collapse-pastes", "60"]);
    let long = (0..9).map(|line| format!("line number {line}")).collect::<Vec<_>>().join("\n");
    let flat = "word ".repeat(80).trim_end().to_owned();
    for text in [&long, &flat] {
        let sent = home.deliver("a", text, &[]);
        assert_eq!(sent["attempts"], 1, "{sent}");
    }
    assert_eq!(home.taken("a"), [long, flat]);
}

#[test]
fn a_mark_of_another_size_is_not_ours() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--collapse-pastes", "60", "--draft", "[Pasted text #1 +3 lines]"]);
    let text = (0..9).map(|line| format!("line number {line}")).collect::<Vec<_>>().join("\n");
    home.send("a", &text, &["--timeout", "4"]).fails(4, &["that is not this message", "[Pasted text #1 +3"]);
    assert_eq!(home.taken("a"), Vec::<String>::new());
    // Nor is one that stands for less than what was pasted.
    home.start("b", &["--collapse-pastes", "60", "--cut-pastes", "100"]);
    let sent = home.send("b", &text, &["--timeout", "60"]);
    sent.fails(1, &["not delivered", "something else than what was typed"]);
    assert_eq!(home.taken("b"), Vec::<String>::new());
}

#[test]
fn a_text_that_was_cut_is_cleared_and_never_submitted() {
    let home = TestHome::with_stand_in();
    home.write_settings("[delivery]\nmax_attempts = 2\n");
    home.start("a", &["--cut-pastes", "30"]);
    let sent =
        home.begin_send("a", "a text that is longer than what it takes".as_bytes(), &["--timeout", "60"]);
    sent.finish().fails(1, &["was not delivered"]);
    assert_eq!(home.taken("a"), Vec::<String>::new());
    home.deliver("a", "a short one", &[]);
    assert_eq!(home.taken("a"), ["a short one"]);
}

#[test]
fn a_suggestion_in_the_composer_is_not_submitted() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--ghost"]);
    home.deliver("a", "what I mean", &[]);
    home.deliver("a", "and this", &[]);
    assert_eq!(home.taken("a"), ["what I mean", "and this"]);
}

#[test]
fn what_the_agent_repeats_in_a_frame_is_not_taken_for_the_composer() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--history-echo"]);
    for text in ["same words", "same words", "other words\nin two lines"] {
        let sent = home.deliver("a", text, &[]);
        assert_eq!((&sent["attempts"], &sent["enters"]), (&1.into(), &1.into()), "{sent}");
    }
    assert_eq!(home.taken("a"), ["same words", "same words", "other words\nin two lines"]);
}

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
fn a_draft_that_reads_like_the_message_is_not_taken_for_it() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--draft", "ship it"]);
    home.send("a", "ship it", &["--timeout", "4"]).fails(4, &["that is not this message"]);
    home.send("a", "ship it now", &["--timeout", "4"]).fails(4, &["that is not this message"]);
    assert_eq!(home.taken("a"), Vec::<String>::new());
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
    home.run(&["wait", "a", "working", "--timeout", "5"]).fails(4, &[]);
    let before = ticks();
    home.run(&["wait", "a", "working", "--timeout", "4"]).fails(4, &[]);
    assert!(ticks() - before < 50, "{} of 400 ticks", ticks() - before);
}

#[test]
fn an_agent_that_lies_is_believed_once_and_typed_to_once() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--lie"]);
    let sent = home.deliver("a", "believe me", &[]);
    // All that there is to see is the screen, and the evidence says so.
    assert!(sent["evidence"].to_string().contains("screen"), "{sent}");
    assert_eq!((home.count("a", "lied"), home.taken("a").len()), (1, 0));
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
    home.run(&["messages", "drop", "m1"]).ok();
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
