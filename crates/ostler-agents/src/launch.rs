//! What an agent is started with.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use ostler_core::environment;

use crate::hooks::SessionHooks;
use crate::{Preset, SessionTools, Startup};

/// What a preset and the hooks of a session make of a start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// Arguments, to be put before those of the user.
    pub args: Vec<String>,
    /// Environment to set.
    pub set: Vec<(String, String)>,
    /// Environment to take away: names, or with `*` at the end how they begin.
    pub unset: Vec<String>,
}

impl Launch {
    /// Puts together what is said about a start; `unattended` is without a person who approves.
    pub fn new(preset: &Preset, unattended: bool, hooks: Option<&SessionHooks>) -> Self {
        let run = &preset.run;
        let for_absent: &[String] = if unattended { &run.unattended } else { &[] };
        let of_hooks: &[String] = hooks.map_or(&[], |hooks| &hooks.args);
        let own = run.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        Self {
            args: [&run.args, for_absent, of_hooks].concat(),
            set: own.chain(hooks.into_iter().flat_map(|hooks| hooks.env.iter().cloned())).collect(),
            unset: run.unset.clone(),
        }
    }

    /// Adds what tells the agent to trust its folder.
    pub fn trust(&mut self, startup: &Startup, cwd: &str) {
        let quoted = toml_string(cwd);
        // What was filled in is not looked at again: a folder can be called anything.
        let filled = |arg: &String| {
            let parts = arg.split("{cwd:toml}").map(|part| part.replace("{cwd}", cwd));
            parts.collect::<Vec<_>>().join(&quoted)
        };
        self.args.extend(startup.trusted_args.iter().map(filled));
        self.set.extend(startup.trusted_env.clone());
    }

    /// Adds what tells the agent of ostler's tools.
    pub fn give_tools(&mut self, tools: &SessionTools) {
        self.args.extend(tools.args.iter().cloned());
        self.set.extend(tools.env.iter().cloned());
    }

    /// An environment with what is to be set, and without what is to be taken away.
    pub fn environment(&self, inherited: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let stays = |(name, _): &&(OsString, OsString)| {
            !self.takes_away(name) && !self.set.iter().any(|(own, _)| name == OsStr::new(own))
        };
        let own = self.set.iter().map(|(name, value)| (name.into(), value.into()));
        inherited.iter().filter(stays).cloned().chain(own).collect()
    }
}

impl Launch {
    /// Whether a variable is taken away.
    pub fn takes_away(&self, name: &OsStr) -> bool {
        self.unset.iter().any(|pattern| environment::matches_name(pattern, name.as_encoded_bytes()))
    }
}

/// Text as TOML has it in one line, as a value or as a key.
pub(crate) fn toml_string(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => _ = write!(quoted, "\\u{:04X}", u32::from(character)),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_folder_can_be_trusted() {
        let startup = Startup {
            trusted_args: vec!["--trust={cwd}".into(), "p={ {cwd:toml} = { trust = {cwd:toml} } }".into()],
            trusted_env: [("TRUST".to_owned(), "1".to_owned())].into(),
            ..Startup::default()
        };
        for cwd in [
            "/p",
            r#"/a "b" \c\"#,
            "/two\nlines\u{7f}\u{85}",
            "/a.b=c",
            "/d\u{e9}j\u{e0}",
            "/{cwd}{cwd:toml}'",
        ] {
            let mut launch = Launch::default();
            launch.trust(&startup, cwd);
            let table: toml::Table = launch.args[1].parse().unwrap();
            assert_eq!(table["p"][cwd]["trust"].as_str(), Some(cwd), "{}", launch.args[1]);
            assert_eq!(launch.args[0], format!("--trust={cwd}"));
            assert_eq!(launch.set, [("TRUST".into(), "1".into())]);
        }
    }

    #[test]
    fn a_start_is_what_the_preset_and_the_hooks_say() {
        let mut preset = Preset::default();
        preset.run.args = vec!["--always".into()];
        preset.run.unattended = vec!["--yes".into()];
        preset.run.env = [("A".to_owned(), "new".to_owned())].into();
        preset.run.unset = vec!["B".into(), "OTHER_*".into()];
        let hooks =
            SessionHooks { args: vec!["--hooks".into()], env: vec![("H".into(), "1".into())], files: vec![] };
        let launch = Launch::new(&preset, true, Some(&hooks));
        assert_eq!(launch.args, ["--always", "--yes", "--hooks"]);
        let inherited =
            [("A", "old"), ("B", "gone"), ("OTHER_ID", "gone"), ("OTHER", "stays"), ("C", "stays")]
                .map(|(name, value)| (name.into(), value.into()));
        let expected = [("OTHER", "stays"), ("C", "stays"), ("A", "new"), ("H", "1")]
            .map(|(name, value)| (name.into(), value.into()));
        assert_eq!(launch.environment(&inherited), expected);
        assert_eq!(Launch::new(&preset, false, None).args, ["--always"]);
    }
}
