//! Hooks as JSON.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::command;
use super::spec::{EventSpec, Format, HookSpec};

/// A file with ostler's hooks and nothing else.
pub(super) fn fresh(spec: &HookSpec, agent: &str, ostler: &Path, mark: &str) -> String {
    let mut root = spec.base.clone();
    root.insert("hooks".into(), Value::Object(hooks(spec, agent, ostler, mark)));
    serde_json::to_string_pretty(&root).unwrap_or_default() + "\n"
}

/// The hooks of all events.
fn hooks(spec: &HookSpec, agent: &str, ostler: &Path, mark: &str) -> Map<String, Value> {
    let entry = |(name, event): (&String, &EventSpec)| {
        (name.clone(), json!([group(spec, agent, ostler, (name, event), mark)]))
    };
    spec.events.iter().map(entry).collect()
}

/// What stands in an event's list.
pub(super) fn group(
    spec: &HookSpec,
    agent: &str,
    ostler: &Path,
    event: (&str, &EventSpec),
    mark: &str,
) -> Value {
    let mut handler = spec.handler.clone();
    let field = spec.command_field.as_deref().unwrap_or("command");
    handler.insert(field.into(), command::line(ostler, agent, event, spec, mark).into());
    match spec.format {
        Format::MatcherJson => {
            let mut group = Map::new();
            if let Some(matcher) = &event.1.matcher {
                group.insert("matcher".into(), matcher.clone().into());
            }
            group.insert("hooks".into(), json!([handler]));
            Value::Object(group)
        }
        Format::HandlerJson | Format::Program => Value::Object(handler),
    }
}
