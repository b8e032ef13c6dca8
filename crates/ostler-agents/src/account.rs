//! Whose account an agent uses.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::Preset;

/// Bytes of a print: enough to tell accounts apart, and nothing that a key could be guessed from.
const PRINT: usize = 6;

impl Preset {
    /// The account that the agent uses in an environment, if it is not the usual one of its machine: a print of the key
    /// that it is given, or of the place that its settings are moved to on the machine `host`.
    pub fn account(&self, environment: &[(OsString, OsString)], host: &str) -> Option<String> {
        let given = |name: &str| {
            let mut found = environment.iter().rev().filter(|(known, _)| known == name);
            found.next().map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
        };
        let key = self.run.keys.iter().find_map(|name| given(name));
        let moved = self.config.env.as_deref().and_then(given);
        let moved = moved.filter(|dir| self.usual_dir(given("HOME")).as_deref() != Some(Path::new(dir)));
        match (key, moved) {
            (Some(key), _) => Some(format!("key-{}", print(&[key]))),
            (None, Some(dir)) => Some(format!("dir-{}", print(&[OsStr::new(host), dir]))),
            (None, None) => None,
        }
    }

    /// Where its settings are if nothing moves them.
    fn usual_dir(&self, home: Option<&OsStr>) -> Option<PathBuf> {
        let dir = self.config.dir.as_deref()?;
        match dir.strip_prefix("~/") {
            Some(rest) => Some(Path::new(home?).join(rest)),
            None => Some(dir.into()),
        }
    }
}

fn print(parts: &[&OsStr]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.as_encoded_bytes());
        digest.update([0]);
    }
    digest.finalize().iter().take(PRINT).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_the_key_or_else_the_moved_settings() {
        let mut preset = Preset::default();
        preset.run.keys = vec!["A_TOKEN".into(), "A_KEY".into()];
        preset.config.env = Some("A_HOME".into());
        preset.config.dir = Some("~/.a".into());
        let on = |host: &str, environment: &[(&str, &str)]| {
            let environment: Vec<_> =
                environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
            preset.account(&environment, host)
        };
        let account = |environment: &[(&str, &str)]| on("here", environment);
        for usual in [
            &[][..],
            &[("A_KEY", ""), ("A_HOME", ""), ("OTHER", "x")],
            &[("HOME", "/h"), ("A_HOME", "/h/.a")],
            &[("HOME", "/h"), ("A_HOME", "/h/.a/")],
        ] {
            assert_eq!(account(usual), None, "{usual:?}");
        }
        let key = account(&[("A_KEY", "sk-secret")]).unwrap();
        assert_eq!(key.len(), "key-".len() + 2 * PRINT);
        assert!(key.starts_with("key-") && !key.contains("secret"), "{key}");
        assert_eq!(
            account(&[("A_KEY", "old"), ("A_KEY", "sk-secret")]).as_ref(),
            Some(&key),
            "the last counts"
        );
        assert_eq!(
            account(&[("A_TOKEN", "sk-secret"), ("A_KEY", "2")]).as_ref(),
            Some(&key),
            "in their order"
        );
        assert_eq!(account(&[("A_KEY", "sk-secret"), ("A_HOME", "/x")]).as_ref(), Some(&key));
        assert_eq!(
            on("there", &[("A_KEY", "sk-secret")]).as_ref(),
            Some(&key),
            "a key is the same everywhere"
        );
        assert_ne!(account(&[("A_KEY", "sk-other")]).as_ref(), Some(&key));
        let dir = account(&[("HOME", "/h"), ("A_HOME", "/x")]).unwrap();
        assert!(dir.starts_with("dir-"), "{dir}");
        assert_eq!(account(&[("A_HOME", "/x")]).as_ref(), Some(&dir));
        assert_ne!(account(&[("A_HOME", "/y")]).as_ref(), Some(&dir));
        assert_ne!(on("there", &[("A_HOME", "/x")]).as_ref(), Some(&dir), "a path is another one elsewhere");
        assert_eq!(Preset::default().account(&[("A_KEY".into(), "1".into())], "here"), None);
    }
}
