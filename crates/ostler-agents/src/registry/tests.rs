use super::*;

fn layer(agent: &str, file: &str, text: &str) -> Layer {
    Layer { agent: agent.into(), file: file.into(), text: text.into() }
}

const PRESET: &str = "
    title = 'Test'
    run = { command = 'test-agent', args = ['-x'] }
    [rules.ready]
    state = 'idle'
    priority = 3
    when = { in = 'status', row = '^>' }";

fn told(registry: &Registry) -> Vec<String> {
    registry.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn what_comes_with_ostler_is_sound() {
    let registry = Registry::new(&[]);
    assert_eq!(told(&registry), [""; 0]);
    assert!(registry.agents().count() >= 8 && registry.generic().is_some());
    for agent in registry.agents().chain(registry.generic()) {
        let book = registry.rulebook(agent, None).unwrap();
        assert!(book.rule_ids().count() > 0, "{}", agent.name);
    }
}

#[test]
fn layers_change_single_fields() {
    let registry = Registry::new(&[
        layer("test-agent", "one", PRESET),
        layer("test-agent", "two", "title = 'Other'\n[rules.ready]\nkind = 'x'\nwhen = { row = '^%' }"),
        layer(
            "test-agent",
            "three",
            "run.args = ['-y', '-z']\n[rules.busy]\nstate = 'working'\nwhen.draft = true",
        ),
    ]);
    assert_eq!(told(&registry), [""; 0]);
    let agent = registry.get("test-agent").unwrap();
    assert_eq!(agent.files, ["one", "two", "three"]);
    assert_eq!((agent.title(), agent.preset.run.args.len()), ("Other", 2));
    let ready = &agent.preset.rules["ready"];
    assert_eq!((ready.priority, ready.kind.as_deref()), (3, Some("x")));
    assert_eq!((ready.when.region.as_deref(), ready.when.row.as_deref()), (Some("status"), Some("^%")));
    let book = registry.rulebook(agent, None).unwrap();
    assert!(book.rule_ids().take(2).eq(["ready", "busy"]));
    assert_eq!(registry.by_command("test-agent").map(|agent| &*agent.name), Some("test-agent"));
}

#[test]
fn a_broken_layer_leaves_those_below_and_above_in_force() {
    let broken = [
        ("title = ", "broken:1"),
        ("titel = 'x'", "broken:1: titel"),
        ("\n[rules.ready]\nstate = 7", "broken:3: rules.ready.state"),
        ("\n[rules.ready.when]\nrow = '('", "broken:3: rules.ready.when.row: regex parse error"),
        ("\n[rules.ready.when]\nin = 'nowhere'", "broken:3: rules.ready.when.in: no region is called"),
        ("\n[rules.ready]\nversions = 'new'", "broken:3: rules.ready.versions: unexpected"),
        ("[rules.new]\nwhen.composer = true", "broken:1: rules.new.state: is missing"),
        ("status.versions = 'new'", "broken:1: status.versions"),
        ("run.command = ''", "broken:1: run.command: is missing"),
        ("run.identity = { matches = '(' }", "broken:1: run.identity.matches"),
        ("run.identity = { version = '(' }", "broken:1: run.identity.version"),
        ("run.identity = { checked = '(' }", "broken:1: run.identity.checked"),
        ("composer.row = '('", "broken:1: composer.row"),
    ];
    for (text, expected) in broken {
        let registry = Registry::new(&[
            layer("test-agent", "one", PRESET),
            layer("test-agent", "broken", text),
            layer("test-agent", "three", "title = 'Third'"),
        ]);
        let told = told(&registry);
        assert!(told.len() == 1 && told[0].starts_with(expected), "{text:?}: {told:?}");
        assert_eq!((&*registry.problems()[0].agent, &*registry.problems()[0].file), ("test-agent", "broken"));
        let agent = registry.get("test-agent").unwrap();
        assert_eq!((agent.title(), &*agent.files.join(" ")), ("Third", "one three"));
        assert_eq!(agent.preset.rules["ready"].when.row.as_deref(), Some("^>"));
    }
}

#[test]
fn a_pattern_of_an_identity_that_needs_much_memory_is_refused() {
    let text = "run = { command = 'x', identity = { matches = '\\w{60}' } }";
    assert_eq!(told(&Registry::new(&[layer("test-agent", "big", text)])).len(), 1);
}

#[test]
fn a_rule_can_be_turned_off_even_if_it_is_gone() {
    let registry = Registry::new(&[
        layer("test-agent", "one", PRESET),
        layer("test-agent", "two", "rules.ready.off = true\nrules.older.off = true"),
    ]);
    assert_eq!(told(&registry), [""; 0]);
    let book = registry.rulebook(registry.get("test-agent").unwrap(), None).unwrap();
    assert!(book.rule_ids().all(|id| id != "ready" && id != "older"));
}

#[test]
fn an_agent_has_a_plain_name_and_a_command() {
    for (name, text) in
        [("Test", PRESET), ("../x", PRESET), ("", PRESET), (&*"x".repeat(65), PRESET), ("x", "title = 'x'")]
    {
        let registry = Registry::new(&[layer(name, "file", text)]);
        assert_eq!((registry.get(name), registry.problems().len()), (None, 1), "{name:?}");
    }
}

#[test]
fn a_status_is_expected_of_the_versions_that_tell_it() {
    let text = "run.command = 'x'\nstatus = { speaks = 'always', versions = '>=2' }";
    let registry = Registry::new(&[layer("test-agent", "one", text)]);
    let agent = registry.get("test-agent").unwrap();
    for (version, expected) in [(None, true), (Some("1.9.0"), false), (Some("2.0.0"), true)] {
        let version = version.map(|version| Version::parse(version).unwrap());
        assert_eq!(agent.expectations(version.as_ref()).status, expected, "{version:?}");
    }
    assert!(!agent.expectations(None).rules && !agent.expectations(None).transcript_ends);
    let generic = registry.generic().unwrap();
    assert!(!generic.expectations(None).rules, "rules for agents in general know no agent");
}

#[test]
fn a_transcript_tells_the_end_of_turns_if_a_record_means_that() {
    for (fact, expected) in [("turn_ended", true), ("turn_started", false)] {
        let text =
            format!("run.command = 'x'\n[[transcript.records]]\nfact = '{fact}'\nwhen = {{ '/a' = 'b' }}");
        let registry = Registry::new(&[layer("test-agent", "one", &text)]);
        let agent = registry.get("test-agent").unwrap();
        assert_eq!(agent.expectations(None).transcript_ends, expected, "{fact}");
    }
}
