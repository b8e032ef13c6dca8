//! Where ostler keeps its state.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The directory of one ostler: one daemon, one record, its sessions.
///
/// It is `$OSTLER_HOME`, else `$XDG_STATE_HOME/ostler`, else `~/.local/state/ostler`. Sockets live here too
/// and not in `$XDG_RUNTIME_DIR`: that one vanishes at logout while programs under care run on, and it is not
/// set for a cron job or a service, which would then find another daemon than the user's shell does.
///
/// What users write themselves is in `$XDG_CONFIG_HOME/ostler` or `~/.config/ostler`; with `$OSTLER_HOME`, in
/// `config` there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    state: PathBuf,
    config: PathBuf,
}

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
    /// Decides on the directory from environment variables: `OSTLER_HOME`, `XDG_STATE_HOME`, `XDG_CONFIG_HOME`
    /// and `HOME`.
    pub fn resolve(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, HomeError> {
        let given = |name| variable(name).filter(|value| !value.is_empty());
        if let Some(path) = given("OSTLER_HOME") {
            let state = PathBuf::from(&path);
            let config = state.join("config");
            return if state.is_absolute() {
                Ok(Self { state, config })
            } else {
                Err(HomeError::Relative(path))
            };
        }
        let directory = |name, usual: &str| {
            let set = given(name).map(PathBuf::from).filter(|path| path.is_absolute());
            set.or_else(|| Some(Path::new(&given("HOME")?).join(usual))).map(|dir| dir.join("ostler"))
        };
        let state = directory("XDG_STATE_HOME", ".local/state").ok_or(HomeError::Unset)?;
        let config = directory("XDG_CONFIG_HOME", ".config").unwrap_or_else(|| state.join("config"));
        Ok(Self { state, config })
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.state
    }

    /// What users write about agents.
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// What users set for all sessions.
    pub fn settings(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Which server runs and breakers are kept on, if any.
    pub(crate) fn store_choice(&self) -> PathBuf {
        self.state.join("store.json")
    }

    /// What programs said when they were asked what they are.
    pub fn identities(&self) -> PathBuf {
        self.state.join("identities.json")
    }

    /// Copies of the project files that a person trusts.
    pub fn trusted(&self) -> PathBuf {
        self.state.join("trusted")
    }

    /// What is kept of runs, beside the record.
    pub fn runs(&self) -> PathBuf {
        self.path().join("runs")
    }

    /// Work trees that were made for runs.
    pub fn worktrees(&self) -> PathBuf {
        self.path().join("worktrees")
    }

    /// What tells this home from others that share a store.
    pub fn owner(&self) -> PathBuf {
        self.path().join("owner")
    }

    /// Which folders the user trusts.
    pub fn trusted_folders(&self) -> PathBuf {
        self.path().join("trusted-folders.json")
    }

    /// Reports of hooks that found no daemon.
    pub fn spool(&self) -> PathBuf {
        self.state.join("spool")
    }

    /// Where an agent runs that is asked about others: neither in a project nor in a session.
    pub fn judge(&self) -> PathBuf {
        self.state.join("judge")
    }

    /// Locked by the daemon that serves this home.
    pub fn lock(&self) -> PathBuf {
        self.state.join("daemon.lock")
    }

    /// Where the daemon listens.
    pub fn socket(&self) -> PathBuf {
        self.state.join("daemon.sock")
    }

    /// The record.
    pub fn database(&self) -> PathBuf {
        self.state.join("ostler.db")
    }

    /// The daemon's log.
    pub fn log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }

    /// Directories of the sessions.
    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }
}

/// Writes a file that only its owner can read.
pub(crate) fn put_private(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut open =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    open.write_all(bytes)?;
    open.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_setting_wins() {
        let resolve = |ostler: &str, state: &str, home: &str| {
            let value = |name: &str| match name {
                "OSTLER_HOME" => Some(ostler),
                "XDG_STATE_HOME" => Some(state),
                "HOME" => Some(home),
                _ => None,
            };
            let resolved =
                Home::resolve(|name| value(name).filter(|value| !value.is_empty()).map(OsString::from));
            resolved.map(|home| home.path().display().to_string())
        };
        assert_eq!(resolve("/o", "/s", "/h"), Ok("/o".into()));
        assert_eq!(resolve("", "/s", "/h"), Ok("/s/ostler".into()));
        assert_eq!(resolve("", "relative", "/h"), Ok("/h/.local/state/ostler".into()));
        assert_eq!(resolve("", "", "/h"), Ok("/h/.local/state/ostler".into()));
        assert_eq!(resolve("", "", ""), Err(HomeError::Unset));
        assert_eq!(resolve("here", "/s", "/h"), Err(HomeError::Relative("here".into())));
    }
}
