//! Hooks for one session alone.

use std::ffi::OsString;
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

impl SessionHooks {
    /// What in the user's arguments says something else than these hooks need, if anything does.
    ///
    /// An option that sets one of many things, as `-c KEY=VALUE` does, says something else only about the same thing or
    /// about all that it is a part of.
    pub fn contradicted_by(&self, args: &[OsString]) -> Option<String> {
        contradiction(&self.args, args)
    }
}

/// What in the user's arguments says something else than our own, if anything does.
pub(crate) fn contradiction(own: &[String], args: &[OsString]) -> Option<String> {
    let mut own = own.iter().map(String::as_str).peekable();
    while let Some(flag) = own.next() {
        if !flag.starts_with('-') {
            continue;
        }
        let key = own.peek().copied().and_then(key);
        for (at, arg) in args.iter().enumerate() {
            let arg = arg.to_string_lossy();
            let Some(rest) = arg.strip_prefix(flag) else { continue };
            let short = flag.len() == 2 && !rest.is_empty();
            let given = match rest.strip_prefix('=').or(short.then_some(rest)) {
                Some(given) => Some(given.into()),
                None if rest.is_empty() => args.get(at + 1).map(|next| next.to_string_lossy()),
                None => continue,
            };
            match (key, given.as_deref()) {
                (None, _) => return Some(flag.to_owned()),
                (Some(key), Some(given)) if sets(given, key) => return Some(format!("{flag} {key}")),
                _ => {}
            }
        }
    }
    None
}

/// What an option of the form `KEY=VALUE` is about.
fn key(value: &str) -> Option<&str> {
    let (key, _) = value.split_once('=')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}

/// Whether what the user gives sets this key, or all that it is a part of.
fn sets(given: &str, key: &str) -> bool {
    let name = given.split_once('=').map_or(given, |(name, _)| name).trim();
    key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_about_the_same_thing_contradicts() {
        let hooks = |args: &[&str]| SessionHooks {
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..SessionHooks::default()
        };
        let keyed = hooks(&["-c", "hooks.Stop=[{a=1}]", "-c", "hooks.state={}"]);
        let whole = hooks(&["--settings", r#"{"hooks":{"a":"b=c"}}"#]);
        let table: &[(&SessionHooks, &[&str], Option<&str>)] = &[
            (&keyed, &["-c", "model=x"], None),
            (&keyed, &["-c", "hooksmith=x", "-cmodel=y", "--config", "z=1"], None),
            (&keyed, &["-c", "hooks.Start=[]"], None),
            (&keyed, &["-c", "hooks.Stop=[]"], Some("-c hooks.Stop")),
            (&keyed, &["-c", "model=x", "-chooks.state={}"], Some("-c hooks.state")),
            (&keyed, &["-c", "hooks={}"], Some("-c hooks.Stop")),
            (&keyed, &["-c"], None),
            (&whole, &["--model", "x", "--settings-dir", "y"], None),
            (&whole, &["--settings", "mine.json"], Some("--settings")),
            (&whole, &["--settings=mine.json"], Some("--settings")),
        ];
        for (hooks, args, expected) in table {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            assert_eq!(hooks.contradicted_by(&args).as_deref(), *expected, "{args:?}");
        }
    }
}
