//! Where ostler keeps its state.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The directory of one ostler: one daemon, one record, its sessions.
///
/// It is `$OSTLER_HOME`, else `$XDG_STATE_HOME/ostler`, else `~/.local/state/ostler`. Sockets live here too
/// and not in `$XDG_RUNTIME_DIR`: that one vanishes at logout while programs under care run on, and it is not
/// set for a cron job or a service, which would then find another daemon than the user's shell does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home(PathBuf);

/// There is no directory to keep state in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    /// Nothing says where.
    #[error("neither OSTLER_HOME nor HOME is set")]
    Unset,
    /// A relative path would mean another place in every directory.
    #[error("OSTLER_HOME must be an absolute path, not {0:?}")]
    Relative(OsString),
}

impl Home {
    /// Decides on the directory from the values of `OSTLER_HOME`, `XDG_STATE_HOME` and `HOME`.
    pub fn resolve(
        ostler_home: Option<OsString>,
        state_home: Option<OsString>,
        user_home: Option<OsString>,
    ) -> Result<Self, HomeError> {
        let given = |value: Option<OsString>| value.filter(|value| !value.is_empty());
        if let Some(path) = given(ostler_home) {
            return if Path::new(&path).is_absolute() {
                Ok(Self(path.into()))
            } else {
                Err(HomeError::Relative(path))
            };
        }
        let state = given(state_home).map(PathBuf::from).filter(|path| path.is_absolute());
        let fallback = || given(user_home).map(|home| Path::new(&home).join(".local/state"));
        state.or_else(fallback).map(|state| Self(state.join("ostler"))).ok_or(HomeError::Unset)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Locked by the daemon that serves this home.
    pub fn lock(&self) -> PathBuf {
        self.0.join("daemon.lock")
    }

    /// Where the daemon listens.
    pub fn socket(&self) -> PathBuf {
        self.0.join("daemon.sock")
    }

    /// The record.
    pub fn database(&self) -> PathBuf {
        self.0.join("ostler.db")
    }

    /// The daemon's log.
    pub fn log(&self) -> PathBuf {
        self.0.join("daemon.log")
    }

    /// Directories of the sessions.
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_setting_wins() {
        let resolve = |a: &str, b: &str, c: &str| {
            let value = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
            Home::resolve(value(a), value(b), value(c)).map(|home| home.path().display().to_string())
        };
        assert_eq!(resolve("/o", "/s", "/h"), Ok("/o".into()));
        assert_eq!(resolve("", "/s", "/h"), Ok("/s/ostler".into()));
        assert_eq!(resolve("", "relative", "/h"), Ok("/h/.local/state/ostler".into()));
        assert_eq!(resolve("", "", "/h"), Ok("/h/.local/state/ostler".into()));
        assert_eq!(resolve("", "", ""), Err(HomeError::Unset));
        assert_eq!(resolve("here", "/s", "/h"), Err(HomeError::Relative("here".into())));
    }
}
