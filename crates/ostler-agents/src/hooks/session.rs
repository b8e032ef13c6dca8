//! Hooks for one session alone.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::command::PER_SESSION;
use super::own_file::program;
use super::render::{fresh, group};
use super::spec::{Format, HookSpec, SessionWay};
use super::trust::{entry, toml_inline};

/// What a session is started with so that it has hooks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionHooks {
    /// Arguments, to be put before those of the user.
    pub args: Vec<String>,
    /// Environment.
    pub env: Vec<(String, String)>,
    /// Files to write before the start, by their names in the session's directory.
    pub files: Vec<(String, String)>,
}

/// Hooks for one session, if the agent has a way to get them. `dir` is the session's directory.
///
/// The environment says that the session has hooks of its own: those that are also in a settings file then keep
/// silent, so that nothing is reported twice.
pub fn session_hooks(agent: &str, spec: &HookSpec, ostler: &Path, dir: &Path) -> Option<SessionHooks> {
    let way = spec.session.as_ref()?;
    let contents = match spec.format {
        Format::Program => program(spec, agent, ostler, PER_SESSION).ok()?,
        Format::MatcherJson | Format::HandlerJson => fresh(spec, agent, ostler, PER_SESSION),
    };
    let file = way.file.as_ref().map(|name| dir.join(name).to_string_lossy().into_owned());
    let inline = serde_json::from_str::<Value>(&contents).map(|value| value.to_string()).unwrap_or_default();
    let groups: Vec<(&str, Value)> = spec
        .events
        .iter()
        .map(|(name, event)| (name.as_str(), group(spec, agent, ostler, (name, event), PER_SESSION)))
        .collect();
    let trust = toml_inline(&Value::Object(trusted(way, &groups)));
    let filled = |text: &String| {
        // The file's own contents come last, lest something in them is taken for a placeholder.
        text.replace("{file_url}", &json!(format!("file://{}", file.clone().unwrap_or_default())).to_string())
            .replace("{file}", file.as_deref().unwrap_or_default())
            .replace("{trust}", &trust)
            .replace("{hooks}", &inline)
    };
    let each = groups.iter().flat_map(|(name, group)| {
        let groups = toml_inline(&json!([group]));
        way.each.iter().map(move |text| text.replace("{event}", name).replace("{groups}", &groups))
    });
    let mut env: Vec<_> = way.env.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
    env.push(("OSTLER_HOOKS".into(), "session".into()));
    Some(SessionHooks {
        args: each.chain(way.args.iter().map(filled)).collect(),
        env,
        files: way.file.iter().map(|name| (name.clone(), contents.clone())).collect(),
    })
}

fn trusted(way: &SessionWay, groups: &[(&str, Value)]) -> Map<String, Value> {
    let Some(trust) = &way.trust else { return Map::new() };
    let state = |(name, group): &(&str, Value)| {
        let (key, hash) = entry(trust, name, group);
        (key, json!({ "trusted_hash": hash }))
    };
    groups.iter().map(state).collect()
}

/// What a hook of this event prints to give its agent context, if the agent listens at such a moment.
pub fn context_output(spec: &HookSpec, event: &str, context: &str) -> Option<String> {
    let form = spec.event(event)?.context.as_ref()?;
    Some(if form.contains("{json}") {
        form.replace("{json}", &json!(context).to_string())
    } else {
        form.replace("{text}", context)
    })
}
