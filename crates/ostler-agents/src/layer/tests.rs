use super::*;

fn layer(text: &str) -> Layer {
    Layer { agent: "a".into(), file: "a.toml".into(), text: text.into() }
}

#[test]
fn what_is_wrong_is_told_with_file_line_and_field() {
    let table = [
        ("title = 1", "a.toml:1: title: invalid type: integer `1`, expected a string"),
        ("\n\ntitel = 'x'", "a.toml:3: titel: unknown field `titel`"),
        ("[run]\ncommand = 'x'\nargz = []", "a.toml:3: run.argz: unknown field `argz`"),
        ("[rules.x]\nstate = 'asleep'", "a.toml:2: rules.x.state: unknown variant `asleep`"),
        (
            "[rules.x]\npriority = 'high'",
            "a.toml:2: rules.x.priority: invalid type: string \"high\", expected i32",
        ),
        ("[rules.x]\nwhen = { im = 'title' }", "a.toml:2: rules.x.when.im: unknown field `im`"),
        ("[rules.x.when]\nin = 'title'\nrow = 7", "a.toml:3: rules.x.when.row: invalid type: integer `7`"),
        ("[timing]\nidle_confirm_ms = -1", "a.toml:2: timing.idle_confirm_ms: invalid value: integer `-1`"),
        ("[run]\ncommand = 'x'\n[run]\n", "a.toml:3: "),
        ("title = 'x\ncost = 'economy'", "a.toml:1: "),
        ("rules = 3", "a.toml:1: rules: invalid type: integer `3`, expected a map"),
    ];
    for (text, expected) in table {
        let error = layer(text).parse().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn a_wrong_field_in_a_list_is_told_with_its_line() {
    let text = "[rules.x]\nstate = 'idle'\nwhen = { any = [\n    { in = 'title', row = 'x' },\n    { im = 'title' },\n] }";
    let error = layer(text).parse().unwrap_err();
    assert_eq!(error.line, Some(5));
    assert!(error.field.as_deref().is_some_and(|field| field.starts_with("rules.x.when.any")), "{error}");
}

#[test]
fn a_file_may_not_be_endless() {
    let error = layer(&format!("title = '{}'", "x".repeat(MAX_FILE))).parse().unwrap_err();
    assert_eq!(error.to_string(), "a.toml: it may have 1048576 bytes");
}

#[test]
fn a_field_is_found_by_its_path_or_the_nearest_around_it() {
    let layer =
        layer("title = 'x'\n[rules.a]\nwhen = { any = [\n  { row = '(' },\n  { row = '[' },\n] }\n[run]\n");
    for (field, line) in [
        ("title", Some(1)),
        ("rules.a", Some(2)),
        ("rules.a.when", Some(3)),
        ("rules.a.when.any[0].row", Some(4)),
        ("rules.a.when.any[1].row", Some(5)),
        ("rules.a.when.any[7].row", Some(3)),
        ("rules.a.state", Some(2)),
        ("run.command", Some(7)),
        ("nothing", None),
        ("", None),
    ] {
        assert_eq!(layer.error_in(field, "wrong".into()).line, line, "{field}");
    }
}

#[test]
fn fields_are_put_over_fields_and_lists_over_lists() {
    let mut below: Table = toml::from_str(
        "title = 'a'\nrun = { command = 'x', args = ['1', '2'], env = { A = '1', B = '2' } }\ncost = 'economy'",
    )
    .unwrap();
    let above =
        toml::from_str("run = { args = ['3'], env = { B = '3', C = '4' } }\ncost = { x = 1 }").unwrap();
    merge(&mut below, &above);
    let merged = toml::from_str(
        "title = 'a'\nrun = { command = 'x', args = ['3'], env = { A = '1', B = '3', C = '4' } }\ncost = { x = 1 }",
    )
    .unwrap();
    assert_eq!(below, merged);
}
