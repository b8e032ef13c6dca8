use super::*;

fn error(preset: &str) -> String {
    let preset: Preset = toml::from_str(preset).unwrap();
    RuleBook::new(&preset, None, None).unwrap_err().to_string()
}

fn rule(when: &str) -> String {
    format!("[rules.it]\nstate = 'idle'\nwhen = {{ {when} }}")
}

#[test]
fn what_cannot_be_used_is_refused_with_its_field() {
    let long = "x".repeat(MAX_PATTERN + 1);
    let deep =
        (0..=MAX_DEPTH).fold("composer = true".to_owned(), |inner, _| format!("all = [{{ {inner} }}]"));
    let table = [
        (rule("in = 'screen', row = '('"), "rules.it.when.row: regex parse error"),
        (rule(&format!("in = 'screen', row = '{long}'")), "rules.it.when.row: a pattern may have 1000 bytes"),
        (
            rule("in = 'screen', row = '(\\w{100}){100}'"),
            "rules.it.when.row: Compiled regex exceeds size limit",
        ),
        (rule("in = 'nowhere', row = 'x'"), "rules.it.when.in: no region is called \"nowhere\""),
        (rule("in = 'bottom', row = 'x'"), "rules.it.when.in: no region is called \"bottom\""),
        (rule("in = 'screen'"), "rules.it.when.row: is missing beside `in`"),
        (rule("row = 'x'"), "rules.it.when.in: is missing beside `row`"),
        (rule(""), "rules.it.when: says nothing, so it would always hold"),
        (rule(&deep), "is nested too deeply"),
        (rule("any = [{ composer = true }, { in = 'x', row = 'x' }]"), "rules.it.when.any[1].in: no region"),
        (rule("not = [{ in = 'screen', row = '[' }]"), "rules.it.when.not[0].row: regex parse error"),
        ("conversation.prompt = '^>'".into(), "conversation.reply: is missing beside `prompt`"),
        ("conversation = { prompt = 'x', reply = '(' }".into(), "conversation.reply: regex parse error"),
        ("[rules.it]\nwhen.composer = true".into(), "rules.it.state: is missing"),
        (
            "[rules.it]\nstate = 'exited'\nwhen.composer = true".into(),
            "rules.it.state: no screen shows exited",
        ),
        (
            "[rules.it]\nstate = 'unknown'\nwhen.composer = true".into(),
            "rules.it.state: no screen shows unknown",
        ),
        (
            "[rules.it]\nstate = 'starting'\nwhen.composer = true".into(),
            "rules.it.state: no screen shows starting",
        ),
        (
            "[rules.it]\nstate = 'idle'\nversions = 'new'\nwhen.composer = true".into(),
            "rules.it.versions: unexpected",
        ),
        (
            "[rules.it]\nstate = 'working'\nanswered = true\nwhen.composer = true".into(),
            "rules.it.answered: working answers nothing",
        ),
        (
            format!("{}\nanswer = {{ accept = '(' }}", rule("composer = true")),
            "rules.it.answer.accept: regex",
        ),
        ("composer = { row = '(' }".into(), "composer.row: regex parse error"),
        ("composer = { row = 'x', above = '(' }".into(), "composer.above: regex parse error"),
        ("composer = { row = 'x', below = '(' }".into(), "composer.below: regex parse error"),
        ("composer = { row = 'x', empty = '(' }".into(), "composer.empty: regex parse error"),
    ];
    for (preset, expected) in table {
        let error = error(&preset);
        assert!(error.contains(expected), "{expected:?} is not in {error:?}");
    }
}

#[test]
fn conditions_that_say_nothing_inside_others_are_refused_too() {
    for (when, field) in [
        ("any = [{}]", "rules.it.when.any[0]"),
        ("not = [{ composer = true }, {}]", "rules.it.when.not[1]"),
        ("all = [{}]", "rules.it.when.all[0]"),
    ] {
        let error = error(&rule(when));
        assert!(error.starts_with(&format!("{field}: says nothing")), "{error}");
    }
}

#[test]
fn there_is_an_end_to_patterns() {
    let rules = |count: usize| {
        (0..count)
            .map(|n| format!("[rules.r{n:03}]\nstate = 'idle'\nwhen = {{ in = 'screen', row = 'x{n}' }}\n"))
    };
    let full: Preset = toml::from_str(&rules(MAX_PATTERNS).collect::<String>()).unwrap();
    assert_eq!(RuleBook::new(&full, None, None).unwrap().set.len(), MAX_PATTERNS);
    let error = error(&rules(MAX_PATTERNS + 1).collect::<String>());
    assert!(error.starts_with("rules.r500.when.row: an agent may have 500 patterns"), "{error}");
}

#[test]
fn the_same_pattern_is_matched_once() {
    let preset: Preset =
        toml::from_str(&rule("any = [{ in = 'top 1', row = 'x' }, { in = 'status', row = 'x' }]")).unwrap();
    assert_eq!(RuleBook::new(&preset, None, None).unwrap().set.len(), 1);
}

#[test]
fn rules_are_for_versions_and_the_unknown_version_has_all() {
    let preset: Preset = toml::from_str(
        "[rules.all]
         state = 'idle'
         when.composer = true
         [rules.new]
         state = 'idle'
         versions = '>=2.1, <3'
         when.composer = true
         [rules.old]
         state = 'idle'
         versions = '<2.1'
         when.composer = true
         [rules.off]
         state = 'idle'
         off = true
         when.composer = true
         [rules.gone]
         off = true",
    )
    .unwrap();
    for (version, expected) in [
        (None, &["all", "new", "old"][..]),
        (Some("2.1.0"), &["all", "new"]),
        (Some("2.2.0-beta.1"), &["all", "new"]),
        (Some("1.9.9"), &["all", "old"]),
        (Some("3.0.0"), &["all"]),
    ] {
        let version = version.map(|version| Version::parse(version).unwrap());
        let book = RuleBook::new(&preset, None, version.as_ref()).unwrap();
        assert_eq!(book.rule_ids().collect::<Vec<_>>(), expected, "{version:?}");
    }
}

#[test]
fn priorities_decide_the_order_and_ids_where_they_are_equal() {
    let rule = |id: &str, priority: i32| {
        format!("[rules.{id}]\nstate = 'idle'\npriority = {priority}\nwhen.composer = true\n")
    };
    let preset: Preset =
        toml::from_str(&(rule("b", 0) + &rule("a", 0) + &rule("z", 9) + &rule("m", -1))).unwrap();
    let book = RuleBook::new(&preset, None, None).unwrap();
    assert_eq!(book.rule_ids().collect::<Vec<_>>(), ["z", "a", "b", "m"]);
}

#[test]
fn word_boundaries_are_those_of_ascii_words() {
    for (source, plain) in [
        (r"\besc\b", r"(?-u:\b)esc(?-u:\b)"),
        (r"\\b", r"\\b"),
        (r"\\\b", r"\\(?-u:\b)"),
        (r"\b{start}x", r"\b{start}x"),
        (r"[\]\b]", r"[\](?-u:\b)]"),
        ("\\", "\\"),
        ("", ""),
    ] {
        assert_eq!(with_plain_boundaries(source), plain);
    }
}

#[test]
fn a_refusal_begins_its_row_and_names_the_command() {
    let preset = "input = { refused = '(?i)un(known|recognized) (slash )?command' }";
    let book = RuleBook::new(&toml::from_str(preset).unwrap(), None, None).unwrap();
    for (row, refuses) in [
        ("● Unknown command: /no-such", true),
        ("• Unrecognized command '/No-Such'. Type \"/\" for a list", true),
        ("  ✕ Unknown slash command: no-such", true),
        ("> /no-such why does it print unknown command: no-such", false),
        ("If you see 'Unknown command', type /no-such", false),
        ("● Unknown command: /no-such-thing", false),
        ("● Unknown command: /other. Try /no-such", false),
        ("● Unknown command", false),
    ] {
        assert_eq!(book.refuses(row, "no-such"), refuses, "{row}");
    }
}
