//! What an agent is started with.

use std::ffi::{OsStr, OsString};

use crate::Preset;
use crate::hooks::SessionHooks;

/// What a preset and the hooks of a session make of a start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// Arguments, to be put before those of the user.
    pub args: Vec<String>,
    /// Environment to set.
    pub set: Vec<(String, String)>,
    /// Environment to take away.
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

    /// An environment with what is to be set, and without what is to be taken away.
    pub fn environment(&self, inherited: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let is = |name: &OsStr, other: &str| name == OsStr::new(other);
        let stays = |(name, _): &&(OsString, OsString)| {
            !self.unset.iter().any(|gone| is(name, gone)) && !self.set.iter().any(|(own, _)| is(name, own))
        };
        let own = self.set.iter().map(|(name, value)| (name.into(), value.into()));
        inherited.iter().filter(stays).cloned().chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_what_the_preset_and_the_hooks_say() {
        let mut preset = Preset::default();
        preset.run.args = vec!["--always".into()];
        preset.run.unattended = vec!["--yes".into()];
        preset.run.env = [("A".to_owned(), "new".to_owned())].into();
        preset.run.unset = vec!["B".into()];
        let hooks =
            SessionHooks { args: vec!["--hooks".into()], env: vec![("H".into(), "1".into())], files: vec![] };
        let launch = Launch::new(&preset, true, Some(&hooks));
        assert_eq!(launch.args, ["--always", "--yes", "--hooks"]);
        let inherited =
            [("A", "old"), ("B", "gone"), ("C", "stays")].map(|(name, value)| (name.into(), value.into()));
        let expected =
            [("C", "stays"), ("A", "new"), ("H", "1")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(launch.environment(&inherited), expected);
        assert_eq!(Launch::new(&preset, false, None).args, ["--always"]);
    }
}
