//! Prompts as a user sends them: what is said, what it rests on, and what the agent really got.

use serde_json::Value;

use crate::support::TestHome;

#[test]
fn a_prompt_arrives_once_and_the_proof_is_told() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    let sent = home.deliver("a", "please look around", &["--id", "m1", "--from", "boss"]);
    let field = |name: &str| sent[name].clone();
    assert_eq!(
        (field("id"), field("session"), field("state")),
        ("m1".into(), "a".into(), "delivered".into())
    );
    assert_eq!(
        (field("proof"), field("attempts"), field("enters")),
        ("submitted".into(), 1.into(), 1.into())
    );
    assert_eq!((field("sender"), field("bytes"), field("raw")), ("boss".into(), 18.into(), false.into()));
    assert!(field("elapsed").as_f64().unwrap() > 0.0, "{sent}");
    let evidence = sent["evidence"].to_string();
    for part in ["ledger: every byte is in the terminal", "screen: the composer shows it", "emptied"] {
        assert!(evidence.contains(part), "{part} is not in {evidence}");
    }
    assert_eq!(home.taken("a"), ["please look around"]);
    // A second one, for people: one line that says how far it got and by what.
    let told = home.run(["send", "a", "and again", "--id", "m2"]).ok();
    assert!(told.starts_with("m2 submitted (screen: the composer was emptied"), "{told}");
    assert_eq!(home.taken("a"), ["please look around", "and again"]);
    let events = home.ok(["events", "a", "--json"]);
    for event in ["injection.attempted", "message.seen", "message.submitted", "injection.succeeded"] {
        assert_eq!(events.matches(&format!("\"{event}\"")).count(), 2, "{event}: {events}");
    }
}

#[test]
fn less_proof_can_be_asked_for() {
    let home = TestHome::with_stand_in();
    home.start("a", &["--ready-after", "2500"]);
    for (level, least) in [("queued", 0), ("written", 1), ("seen", 2)] {
        let sent = home.deliver("a", &format!("as far as {level}"), &["--wait", level]);
        let levels = ["queued", "written", "seen", "submitted"];
        let got = levels.iter().position(|name| sent["proof"] == *name).unwrap();
        assert!(got >= least, "{sent}");
    }
    home.await_log("a", "submitted", 3);
    assert_eq!(home.taken("a"), ["as far as queued", "as far as written", "as far as seen"]);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_typed() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.run(["send", "a", ""]).fails(2, &["nothing to send"]);
    home.send("a", "\u{1b}\r\n \u{7}", &[]).fails(2, &["nothing is left", "--raw"]);
    home.begin_send("a", b"caf\xe9", &[]).finish().fails(2, &["not valid UTF-8"]);
    home.run(["send", "a", "x", "--raw", "--wait", "seen"]).fails(2, &["no more can be proven"]);
    home.run(["send", "a", "x", "--mode", "sometimes"]).fails(2, &["sometimes"]);
    home.run(["send", "nobody", "x"]).fails(1, &["nobody"]);
    let long = "x".repeat(129);
    for id in ["", "two words", "\u{1b}]52;c;eA\u{7}", "one\ntwo", &long] {
        home.run(["send", "a", "x", "--id", id]).fails(2, &["cannot be the id", "without blanks"]);
    }
    home.start_sh("plain", "read x");
    home.run(["send", "plain", "x", "--mode", "interrupt"])
        .fails(2, &["how to interrupt", "input.interrupt"]);
    assert_eq!(home.json(["messages", "list", "--all", "--json"]), Value::Array(Vec::new()));
    home.wait("a", "idle");
    assert_eq!(home.count("a", "bytes"), 0);
}

#[test]
fn any_text_arrives_as_one_prompt_and_whole() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    let table: [(&str, &str); 10] = [
        ("one\n\n  two\n\tthree\nfour", "one\n\n  two\n\tthree\nfour"),
        ("ends with blanks  \n\n", "ends with blanks"),
        ("Grüße, naïve café, e\u{301}te\u{301}", "Grüße, naïve café, e\u{301}te\u{301}"),
        ("漢字 かな 한국어 кириллица עברית", "漢字 かな 한국어 кириллица עברית"),
        ("👩‍👩‍👧 🦀 ❤️ \u{200b}hidden", "👩‍👩‍👧 🦀 ❤️ \u{200b}hidden"),
        ("?!… -- ***", "?!… -- ***"),
        ("paste\u{1b}[201~end\rand \u{1b}[200~begin", "paste[201~end\nand [200~begin"),
        ("nul\0 bell\u{7} back\u{8}\u{7f} etx\u{3}\u{4}", "nul bell back etx"),
        ("c1 \u{9b}201~ \u{90}x\u{9c} \u{85}next", "c1 201~ x next"),
        ("\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}c\u{1b}", "]0;title[2Jc"),
    ];
    for (index, (text, _)) in table.iter().enumerate() {
        let id = format!("m{index}");
        let sent = home.send("a", text, &["--id", &id, "--timeout", "60"]);
        assert_eq!(sent.code, 0, "{text:?}: {sent:?}");
    }
    let expected: Vec<&str> = table.iter().map(|(_, expected)| *expected).collect();
    assert_eq!(home.taken("a"), expected);
}

#[test]
fn a_long_text_and_a_wide_one_arrive_whole() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.ok(["start", "true", "--name", "warm"]);
    let lines: Vec<String> = (0..120).map(|line| format!("{line} of a long text, word by word")).collect();
    let texts = [lines.join("\n"), "wide ".repeat(4_000).trim_end().to_owned(), "x".repeat(9_000)];
    for text in &texts {
        let sent = home.send("a", text, &["--timeout", "60"]);
        assert_eq!(sent.code, 0, "{}: {}", text.len(), sent.err);
    }
    assert!(home.taken("a") == texts, "{:?}", home.taken("a").iter().map(String::len).collect::<Vec<_>>());
}

#[test]
fn a_time_that_is_over_says_why_and_shows_the_screen() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!work 6s first", &[]);
    let told = home.send("a", "second", &["--timeout", "1", "--id", "m2"]).fails(
        4,
        &[
            "the message is queued, not yet submitted: the agent is working",
            "the session is working; its screen ends with:",
            "Working…",
            "--id m2",
            "ostler messages drop m2",
        ],
    );
    assert!(!told.contains("panicked"), "{told}");
    assert_eq!(home.taken("a").len(), 1, "it is not typed before its time");
    // The same id asks for the same message.
    home.deliver("a", "second", &["--id", "m2"]);
    assert_eq!(home.taken("a"), ["!work 6s first", "second"]);
    let turns: Vec<Value> =
        home.log("a").into_iter().filter(|record| record["event"] == "submitted").collect();
    assert_eq!(turns[1]["queued"], false, "it came after the turn");
}

#[test]
fn a_program_that_ends_is_told_with_its_last_screen() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!work 4s !exit 3", &[]);
    home.send("a", "never", &["--timeout", "60"]).fails(
        1,
        &["the message was not delivered: the program has ended", "the session is exited", "Working…"],
    );
    home.send("a", "too late", &[]).fails(1, &["has ended", "ostler resume a"]);
    assert_eq!(home.taken("a"), ["!work 4s !exit 3"]);
}

#[test]
fn any_program_that_reads_lines_gets_them() {
    let home = TestHome::new();
    home.start_sh("a", "echo ready; while read -r x; do echo \"got <$x>\"; done");
    home.await_screen("a", "ready");
    let sent = home.json(["send", "a", "plain words", "--timeout", "60", "--json"]);
    assert_eq!(sent["proof"], "submitted", "{sent}");
    assert!(sent["evidence"].to_string().contains("has read the line"), "{sent}");
    home.await_screen("a", "got <plain words>");
    assert_eq!(home.screen("a").matches("got <").count(), 1);
}

#[test]
fn control_characters_are_left_out_and_that_is_told() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    let sent = home.send("a", "a\u{1b}[31mb\u{7}\r\nc\td", &[]);
    assert!(sent.err.contains("control characters (2)"), "{sent:?}");
    sent.ok();
    assert_eq!(home.taken("a"), ["a[31mb\nc\td"]);
    assert_eq!(home.send("a", "plain", &[]).err, "");
}
