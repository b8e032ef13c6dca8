//! How an agent is told of ostler's tools, for one session alone.
//!
//! Agents start the server themselves (`ostler mcp`). Each takes servers in its own way: as arguments, in its environment, or
//! in a file that one of them names. All of it is data; no file is left in the user's project.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use semver::VersionReq;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::hooks::contradiction;
use crate::launch::toml_string;
use crate::version;

/// How an agent is told of a server of tools. In `args`, `env` and `config`, `{ostler}` is the program as a string in JSON,
/// `{ostler:toml}` the same in TOML.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpSpec {
    /// The agent's configuration of the server, in JSON.
    pub config: Option<String>,
    /// Arguments. `{config}` is the configuration in one line, `{file}` the path of a file with it.
    pub args: Vec<String>,
    /// Environment, with the same in it as in `args`.
    pub env: BTreeMap<String, String>,
    /// Name of the file that `{file}` stands for; it is in the session's directory.
    pub file: Option<String>,
    /// The agent believes the file only if it and all directories above it are root's, and nobody else may write there.
    pub file_of_root: bool,
    /// A file of the system's that the agent would not read any more: where there is one, the agent is not told.
    pub replaces: Option<String>,
    /// The versions that take it so.
    pub versions: Option<String>,
    /// What a person can do where it cannot be done for a session alone.
    pub note: Option<String>,
}

/// What a session is started with so that its agent has ostler's tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionTools {
    /// Arguments, to be put before those of the user.
    pub args: Vec<String>,
    /// Environment.
    pub env: Vec<(String, String)>,
    /// Files to write before the start, by their names in the session's directory.
    pub files: Vec<(String, String)>,
}

impl SessionTools {
    /// What the user says that these would contradict, if anything does: an option for the same thing, or a variable.
    pub fn contradicted_by(&self, args: &[OsString], env: &[(OsString, OsString)]) -> Option<String> {
        let is_set = |(name, _): &&(String, String)| {
            env.iter().any(|(given, value)| given == OsStr::new(name) && !value.is_empty())
        };
        let variable = || self.env.iter().find(is_set).map(|(name, _)| name.clone());
        contradiction(&self.args, args).or_else(variable)
    }
}

/// What tells the agent of the tools, if it has a way for one session alone. `dir` is the session's directory.
pub fn session_tools(
    spec: &McpSpec,
    agent_version: Option<&str>,
    ostler: &Path,
    dir: &Path,
) -> Option<SessionTools> {
    let fits = |range: &String| {
        let range = VersionReq::parse(range).ok();
        range
            .zip(agent_version.and_then(version::read))
            .is_some_and(|(range, at)| version::in_range(&range, &at))
    };
    if !spec.versions.as_ref().is_none_or(fits) || (spec.args.is_empty() && spec.env.is_empty()) {
        return None;
    }
    let program = ostler.to_string_lossy();
    let quoted = [("{ostler}", json!(program).to_string()), ("{ostler:toml}", toml_string(&program))];
    let config = spec.config.as_ref().map(|config| fill(config, &quoted));
    let one_line = config.as_ref().and_then(|config| serde_json::from_str::<Value>(config).ok());
    let file = spec.file.as_ref().map(|name| dir.join(name).to_string_lossy().into_owned());
    let [ostler, toml] = quoted;
    let places = [
        ostler,
        toml,
        ("{config}", one_line.map(|value| value.to_string()).unwrap_or_default()),
        ("{file}", file.unwrap_or_default()),
    ];
    Some(SessionTools {
        args: spec.args.iter().map(|arg| fill(arg, &places)).collect(),
        env: spec.env.iter().map(|(name, value)| (name.clone(), fill(value, &places))).collect(),
        files: spec.file.clone().zip(config).into_iter().collect(),
    })
}

/// Fills places in. What was filled in is not looked at again: a program can be anywhere.
fn fill(text: &str, places: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let found = places.iter().filter_map(|(place, value)| Some((rest.find(place)?, *place, value)));
        let Some((at, place, value)) = found.min_by_key(|(at, ..)| *at) else { break };
        filled.push_str(&rest[..at]);
        filled.push_str(value);
        rest = &rest[at + place.len()..];
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    #[test]
    fn an_agent_is_told_in_its_own_way() {
        let spec = McpSpec {
            config: Some("{ \"ostler\": { \"command\": {ostler} } }".into()),
            args: vec!["--tools={config}".into(), "-c".into(), "s.ostler={ c = {ostler:toml} }".into()],
            env: [("TOOLS".to_owned(), "{file}".to_owned())].into(),
            file: Some("tools.json".into()),
            ..McpSpec::default()
        };
        for ostler in ["/bin/ostler", "/a \"b\" \\c/{file}{config}/ostler", "/d\u{e9}\n/x"] {
            let tools = session_tools(&spec, None, Path::new(ostler), Path::new("/s/1")).unwrap();
            let config = tools.args[0].strip_prefix("--tools=").unwrap();
            let config: Value = serde_json::from_str(config).unwrap();
            assert_eq!(config["ostler"]["command"], ostler);
            let table: toml::Table = tools.args[2].parse().unwrap();
            assert_eq!(table["s"]["ostler"]["c"].as_str(), Some(ostler));
            assert_eq!(tools.env, [("TOOLS".to_owned(), "/s/1/tools.json".to_owned())]);
            assert_eq!(serde_json::from_str::<Value>(&tools.files[0].1).unwrap(), config);
        }
    }

    #[test]
    fn what_the_user_says_is_not_contradicted() {
        let tools = SessionTools {
            args: vec!["-c".into(), "servers.ostler={a=1}".into(), "--more={}".into()],
            env: vec![("CONFIG".into(), "{}".into())],
            ..SessionTools::default()
        };
        let said = |args: &[&str], env: &[(&str, &str)]| {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            let env: Vec<(OsString, OsString)> =
                env.iter().map(|(name, value)| (name.into(), value.into())).collect();
            tools.contradicted_by(&args, &env)
        };
        assert_eq!(said(&["-c", "servers.mine={}", "--more", "x"], &[("OTHER", "1"), ("CONFIG", "")]), None);
        assert_eq!(said(&["-c", "servers={}"], &[]).as_deref(), Some("-c servers.ostler"));
        assert_eq!(said(&[], &[("CONFIG", "{\"a\":1}")]).as_deref(), Some("CONFIG"));
    }

    #[test]
    fn only_versions_that_can_are_told() {
        let spec =
            McpSpec { args: vec!["--x".into()], versions: Some(">=0.20".into()), ..McpSpec::default() };
        let told = |version| session_tools(&spec, version, Path::new("/o"), Path::new("/s")).is_some();
        assert_eq!((told(Some("0.24.4")), told(Some("0.15.0")), told(None)), (true, false, false));
        assert_eq!(session_tools(&McpSpec::default(), None, Path::new("/o"), Path::new("/s")), None);
    }

    #[test]
    fn what_the_built_in_agents_are_told_can_be_read() {
        let registry = Registry::new(&[]);
        let mut told = 0;
        for agent in registry.agents() {
            let Some(spec) = &agent.preset.mcp else { continue };
            let newest = McpSpec { versions: None, ..spec.clone() };
            let Some(tools) = session_tools(&newest, None, Path::new("/a \"b\"/ostler"), Path::new("/s"))
            else {
                assert!(spec.note.is_some(), "{}: neither a way nor a note", agent.name);
                continue;
            };
            told += 1;
            if let Some(config) = &spec.config {
                let config = fill(config, &[("{ostler}", json!("/o").to_string())]);
                let config: Value =
                    serde_json::from_str(&config).unwrap_or_else(|error| panic!("{}: {error}", agent.name));
                assert!(config.to_string().contains("\"mcp\""), "{}: {config}", agent.name);
            }
            let all = [tools.args, tools.env.into_iter().map(|(_, value)| value).collect()].concat();
            assert!(!all.iter().any(|text| text.contains("{ostler") || text.contains("{config}")), "{all:?}");
        }
        assert!(told >= 5, "{told}");
    }
}
