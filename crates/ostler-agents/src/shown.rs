//! A preset as people would write it.

use toml::{Table, Value};

use crate::Agent;

impl Agent {
    /// What is known about the agent as a preset file, without what is not set.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let mut table = Table::try_from(&self.preset)?;
        prune(&mut table);
        let rules = table.get_mut("rules").and_then(Value::as_table_mut);
        for rule in rules.into_iter().flat_map(|rules| rules.iter_mut()) {
            let Some(rule) = rule.1.as_table_mut() else { continue };
            let unset = |key: &str, value: &Value| match key {
                "priority" => value.as_integer() == Some(0),
                "off" | "general" => value.as_bool() == Some(false),
                _ => false,
            };
            rule.retain(|key, value| !unset(key, value));
        }
        toml::to_string(&table)
    }
}

/// Takes away empty lists and tables, which mean the same as none. An empty text can mean something.
fn prune(table: &mut Table) {
    for (_, value) in table.iter_mut() {
        prune_value(value);
    }
    table.retain(|_, value| match value {
        Value::Table(table) => !table.is_empty(),
        Value::Array(values) => !values.is_empty(),
        _ => true,
    });
}

fn prune_value(value: &mut Value) {
    match value {
        Value::Table(table) => prune(table),
        Value::Array(values) => values.iter_mut().for_each(prune_value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layer, Registry};

    #[test]
    fn what_is_shown_means_the_same() {
        let rich = Layer {
            agent: "test-rich".into(),
            file: "rich".into(),
            text: r#"
                title = "Rich"
                run = { command = "rich", args = [], env = { A = "" } }
                input.escape_cancels = false
                [hooks]
                print = "{}"
                events.Stop = { fact = "turn_ended", print = "" }
                [rules.a]
                state = "blocked"
                priority = 3
                when = { in = "bottom 3", row = "x", any = [{ composer = true }, { draft = false }] }
                [rules.b]
                state = "idle"
                off = true
                when = { composer = true }
            "#
            .into(),
        };
        let registry = Registry::new(&[rich]);
        let shown = registry.get("test-rich").unwrap().to_toml().unwrap();
        assert!(!shown.contains("[]") && !shown.contains("general = "), "{shown}");
        for agent in registry.agents() {
            let layer =
                Layer { agent: agent.name.clone(), file: "shown".into(), text: agent.to_toml().unwrap() };
            assert_eq!(layer.read::<crate::Preset>().unwrap(), agent.preset, "{}", agent.name);
        }
    }
}
