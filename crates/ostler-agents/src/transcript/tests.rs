use ostler_core::{Asking, Fact, Failure, Usage, Wall};

use super::{Decoder, Fill, MAX_LINE, Skipped, SpecError, TranscriptSpec};

fn described(text: &str) -> TranscriptSpec {
    toml::from_str(text).unwrap()
}

fn decoder(text: &str) -> Decoder {
    Decoder::new(&described(text)).unwrap()
}

#[test]
fn one_record_can_tell_several_facts() {
    let mut decoder = decoder(
        r#"
        [[records]]
        when = { "/type" = "assistant" }
        each = "/content"
        where = { "/type" = "tool" }
        fact = "tool_started"
        id = "/id"
        [[records]]
        when = { "/type" = "assistant", "/content" = { any = { "/name" = "ask" } } }
        fact = "asked"
        kind = "question"
        "#,
    );
    let line = r#"{"type":"assistant","content":[{"type":"tool","id":"a"},{"type":"text"},{"type":"tool","id":7,"name":"ask"}]}"#;
    let tool = |id: &str| Fact::ToolStarted { id: Some(id.into()) };
    assert_eq!(decoder.line(line), [tool("a"), tool("7"), Fact::Asked { kind: Asking::Question }]);
}

#[test]
fn tests_say_what_they_mean() {
    let table: [(&str, &str, bool); 22] = [
        (r#""x""#, r#"{"a":"x"}"#, true),
        (r#""x""#, r#"{"a":"xy"}"#, false),
        (r#""x""#, "{}", false),
        ("3", r#"{"a":3}"#, true),
        ("true", r#"{"a":"true"}"#, false),
        (r#"["x", "y"]"#, r#"{"a":"y"}"#, true),
        (r#"["x", "y"]"#, r#"{"a":"z"}"#, false),
        ("{ exists = true }", r#"{"a":false}"#, true),
        ("{ exists = true }", r#"{"a":null}"#, false),
        ("{ exists = false }", r#"{"b":1}"#, true),
        ("{ not = [true] }", r#"{"a":true}"#, false),
        ("{ not = [true] }", "{}", true),
        (r#"{ matches = "^h" }"#, r#"{"a":"hello"}"#, true),
        (r#"{ matches = "^h" }"#, r#"{"a":[{"text":"hello"}]}"#, true),
        (r#"{ matches = "^h" }"#, r#"{"a":{"text":"hello"}}"#, false),
        (r#"{ lacks = "^h" }"#, r#"{"a":"hello"}"#, false),
        (r#"{ lacks = "^h" }"#, r#"{"a":5}"#, true),
        (r#"{ any = { "/t" = 1 } }"#, r#"{"a":[{"t":0},{"t":1}]}"#, true),
        (r#"{ any = { "/t" = 1 } }"#, r#"{"a":{"t":1}}"#, false),
        (r#"{ none = { "/t" = 1 } }"#, r#"{"a":[]}"#, true),
        (r#"{ none = { "/t" = 1 } }"#, r#"{"a":[{"t":1}]}"#, false),
        (r#"{ exists = true, not = ["x"] }"#, r#"{"a":"y"}"#, true),
    ];
    for (test, line, holds) in table {
        let text = format!("[[records]]\nwhen = {{ \"/a\" = {test} }}\nfact = \"turn_ended\"");
        assert_eq!(!decoder(&text).line(line).is_empty(), holds, "{test} {line}");
    }
}

#[test]
fn counters_that_are_repeated_or_fall_add_nothing() {
    let message = "[[records]]\nwhen = { \"/n\" = { exists = true } }\nfact = \"used\"\nid = \"/id\"\nusage = { output = [\"/n\"] }";
    let total = "[[records]]\nwhen = { \"/n\" = { exists = true } }\nfact = \"used\"\nusage = { output = [\"/n\"], total = true }";
    let table = [
        (message, vec![("a", 5), ("a", 5), ("a", 9), ("b", 2), ("a", 9)], vec![5, 4, 2]),
        (message, vec![("a", 9), ("a", 3), ("a", 9), ("a", 10)], vec![9, 1]),
        (total, vec![("", 5), ("", 5), ("", 9), ("", 4), ("", 6)], vec![5, 4, 2]),
    ];
    for (spec, numbers, expected) in table {
        let mut decoder = decoder(spec);
        let told: Vec<u64> = numbers
            .iter()
            .flat_map(|(id, n)| decoder.line(format!(r#"{{"id":"{id}","n":{n}}}"#)))
            .map(|fact| if let Fact::Used(Usage { output, .. }) = fact { output } else { panic!("{fact:?}") })
            .collect();
        assert_eq!(told, expected);
    }
}

#[test]
fn money_and_nonsense() {
    let text = "[[records]]\nwhen = { \"/c\" = { exists = true } }\nfact = \"used\"\nusage = { cost = [\"/c\"], input = [\"/i\"] }";
    let used = |line: &str| decoder(text).line(line);
    assert_eq!(used(r#"{"c":0.0123456}"#), [Fact::Used(Usage { cost_micros: 12_346, ..Usage::default() })]);
    assert_eq!(used(r#"{"c":-1,"i":-5}"#), []);
    assert_eq!(used(r#"{"c":"much","i":1.5}"#), []);
    assert_eq!(used(r#"{"c":1e300}"#), [Fact::Used(Usage { cost_micros: u64::MAX, ..Usage::default() })]);
}

#[test]
fn failures_are_told_by_their_words() {
    let mut decoder = decoder(
        r#"
        failures = [{ matches = "429", failure = "rate_limit" }]
        [[records]]
        when = { "/type" = "error" }
        fact = "turn_failed"
        failure = "unavailable"
        detail = ["/code", "/message"]
        "#,
    );
    let failed = |failure, detail: &str| [Fact::TurnFailed { failure, detail: Some(detail.into()) }];
    assert_eq!(
        decoder.line(r#"{"type":"error","code":429,"message":"slow"}"#),
        failed(Failure::RateLimit, "429 slow")
    );
    assert_eq!(
        decoder.line(r#"{"type":"error","code":{"x":1}}"#),
        failed(Failure::Unavailable, r#"{"x":1}"#)
    );
    assert_eq!(
        decoder.line(r#"{"type":"error"}"#),
        [Fact::TurnFailed { failure: Failure::Unavailable, detail: None }]
    );
}

#[test]
fn what_came_before_the_session_is_history_but_counts() {
    let text = r#"
        time = "/t"
        [[records]]
        when = { "/end" = true }
        fact = "turn_ended"
        [[records]]
        when = { "/n" = { exists = true } }
        fact = "used"
        usage = { output = ["/n"], total = true }
        "#;
    let mut decoder = decoder(text).since(Wall(1_700_000_000_000));
    for line in [
        r#"{"n":1,"end":true}"#,
        r#"{"t":"2023-11-14T22:13:19Z","n":5,"end":true}"#,
        r#"{"n":6}"#,
        r#"{"t":1699999999,"end":true}"#,
    ] {
        assert_eq!(decoder.line(line), [], "{line}");
    }
    let now = r#"{"t":"2023-11-14T22:13:20.001Z","n":8,"end":true}"#;
    let used = Fact::Used(Usage { output: 2, ..Usage::default() });
    assert_eq!(decoder.line(now), [Fact::TurnEnded { background: 0 }, used]);
    assert_eq!(decoder.line(r#"{"end":true}"#), [Fact::TurnEnded { background: 0 }]);
}

#[test]
fn answers_are_told_for_calls_that_were_questions() {
    let mut decoder = decoder(
        r#"
        [[records]]
        when = { "/ask" = { exists = true } }
        fact = "asked"
        kind = "plan"
        id = "/ask"
        [[records]]
        when = { "/done" = { exists = true } }
        fact = "tool_ended"
        id = "/done"
        "#,
    );
    let ended = |id: &str| Fact::ToolEnded { id: Some(id.into()) };
    assert_eq!(decoder.line(r#"{"ask":"a"}"#), [Fact::Asked { kind: Asking::Plan }]);
    assert_eq!(decoder.line(r#"{"done":"b"}"#), [ended("b")]);
    assert_eq!(decoder.line(r#"{"done":"a"}"#), [Fact::Answered, ended("a")]);
    assert_eq!(decoder.line(r#"{"done":"a"}"#), [ended("a")]);
}

#[test]
fn what_is_no_record_is_counted() {
    let mut decoder = decoder("[[records]]\nwhen = { \"/x\" = 1 }\nfact = \"turn_ended\"");
    let deep = "[".repeat(100_000);
    for line in ["", "  \r", "nonsense", "[1]", "5", "{\"x\":1", &deep] {
        assert_eq!(decoder.line(line), []);
    }
    decoder.line(vec![b' '; MAX_LINE + 1].as_slice());
    decoder.line([b'x'].repeat(MAX_LINE + 1).as_slice());
    decoder.line(b"{\"x\":1,\"y\":\"\xff\"}".as_slice());
    assert_eq!(decoder.skipped(), Skipped { too_long: 1, not_json: 6 });
    assert_eq!(decoder.line(" {\"x\":1}\r").len(), 1);
}

#[test]
fn mistakes_are_named() {
    let wrong = |text: &str| Decoder::new(&described(text)).unwrap_err().to_string();
    assert_eq!(
        wrong("session = 'id'"),
        "transcript.session: \"id\" is not a JSON pointer (such as `/message/id`)"
    );
    assert_eq!(
        wrong("time = '/a~2'"),
        "transcript.time: \"/a~2\" is not a JSON pointer (such as `/message/id`)"
    );
    assert_eq!(
        wrong("[[records]]\nwhen = { a = 1 }\nfact = 'used'"),
        "transcript.records[0].when.\"a\": \"a\" is not a JSON pointer (such as `/message/id`)"
    );
    assert_eq!(
        wrong("[[records]]\nwhen = { '/a' = 1 }"),
        "transcript.records[0].fact: says what the record means"
    );
    assert_eq!(
        wrong("[[records]]\nwhen = { '/a' = 1 }\nfact = 'used'\nonce = true"),
        "transcript.records[0].id: is needed to tell a record once"
    );
    assert_eq!(
        wrong("[[records]]\nwhen = { '/a' = 1 }\nfact = 'asked'"),
        "transcript.records[0].kind: says what is asked for"
    );
    assert_eq!(
        wrong("[[records]]\nfact = 'turn_ended'"),
        "transcript.records[0].when: says which records are meant"
    );
    assert_eq!(wrong("format = 'sqlite'"), "transcript.query: a database is read with a query");
    assert_eq!(wrong("ignore = [{}]"), "transcript.ignore[0]: an empty condition would ignore everything");
    assert!(
        wrong("failures = [{ matches = '(', failure = 'other' }]")
            .starts_with("transcript.failures[0]: regex parse error")
    );
    let huge = "[[records]]\nwhen = { '/a' = { matches = '(\\w{200}){200}' } }\nfact = 'used'";
    assert!(wrong(huge).contains("size limit"), "{}", wrong(huge));
    let typo = toml::from_str::<TranscriptSpec>("[[records]]\nwhen = { '/a' = { matchs = 'x' } }")
        .unwrap_err()
        .to_string();
    assert!(typo.contains("unknown field `matchs`") && typo.contains("line 2"), "{typo}");
}

#[test]
fn names_of_files() {
    let table = [
        ("a/{session}.jsonl", None, "x.jsonl", true),
        ("a/{session}.jsonl", None, "x.json", false),
        ("a/{session}.jsonl", Some("12345"), "12345.jsonl", true),
        ("a/{session}.jsonl", Some("12345"), "123456.jsonl", false),
        ("a/s-*{session:3}.jsonl", Some("12345"), "s-2026-123.jsonl", true),
        ("a/s-*{session:3}.jsonl", Some("12345"), "s-2026-124.jsonl", false),
        ("a/s-*{session:3}.jsonl", None, "s-.jsonl", true),
        ("a/*-b-*-c", None, "x-b-y-c", true),
        ("a/*-b-*-c", None, "x-b-c", false),
    ];
    for (place, session, name, fits) in table {
        let spec = TranscriptSpec { place: place.into(), ..TranscriptSpec::default() };
        let pattern = spec.pattern(Fill { cwd: "/x", session }).unwrap().unwrap();
        assert_eq!(pattern.names()[0].exact(), Some("a"));
        assert_eq!(pattern.names()[1].matches(name), fits, "{place} {name}");
    }
}

#[test]
fn a_directory_becomes_a_name() {
    let name = |text: &str, cwd: &str| {
        let pattern = described(text).pattern(Fill { cwd, session: Some("1") });
        pattern.map(|pattern| pattern.unwrap().names()[1].exact().unwrap().to_owned())
    };
    let dashes = "place = 'p/{cwd}'\nmangle = [{ pattern = '[^A-Za-z0-9]', with = '-' }]";
    assert_eq!(name(dashes, "/home/dev/my_proj.x").unwrap(), "-home-dev-my-proj-x");
    let wrapped = "place = 'p/{cwd}'\nmangle = [{ pattern = '^/', with = '' }, { pattern = '/', with = '-' }, \
                   { pattern = '^(.*)$', with = '--$1--' }]";
    assert_eq!(name(wrapped, "/home/dev/my_proj.x").unwrap(), "--home-dev-my_proj.x--");
    for wrong in
        ["place = 'p/{cwd}'", "place = 'p/../x'", "place = 'p//x'", "place = '{what}/x'", "place = '{cwd'"]
    {
        let error = name(wrong, "/home/dev").unwrap_err();
        assert!(matches!(error, SpecError::Place { .. }), "{wrong}: {error}");
    }
    let hostile =
        described("place = 'p/{session}.jsonl'").pattern(Fill { cwd: "/", session: Some("../../etc/x") });
    assert!(matches!(hostile, Err(SpecError::Place { .. })));
}
