//! Programs, presets and settings in a home.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use super::TestHome;

impl TestHome {
    /// Where presets and settings are; makes the home as ostler would.
    fn config(&self) -> PathBuf {
        let mut private = fs::DirBuilder::new();
        private.mode(0o700).recursive(true).create(self.path()).unwrap();
        let config = self.path().join("config");
        fs::create_dir_all(config.join("agents")).unwrap();
        config
    }

    /// Writes what the user says of an agent, and returns the file.
    pub(crate) fn write_preset_of(&self, agent: &str, text: &str) -> PathBuf {
        let file = self.config().join("agents").join(format!("{agent}.toml"));
        fs::write(&file, text).unwrap();
        file
    }

    /// Adds to what is said of an agent.
    pub(crate) fn extend_preset(&self, agent: &str, more: &str) -> &Self {
        let file = self.config().join("agents").join(format!("{agent}.toml"));
        let preset = fs::read_to_string(&file).unwrap();
        fs::write(file, preset + more).unwrap();
        self
    }

    /// Writes the user's settings, and returns the file.
    pub(crate) fn write_settings(&self, text: &str) -> PathBuf {
        let file = self.config().join("config.toml");
        fs::write(&file, text).unwrap();
        file
    }

    /// Puts a shell script on the path, and returns the file.
    pub(crate) fn script(&self, name: &str, lines: &str) -> PathBuf {
        fs::create_dir_all(self.file("bin")).unwrap();
        let program = self.file("bin").join(name);
        // Whoever runs it meanwhile has the one or the other.
        let new = self.file("bin").join(format!("{name}.new"));
        fs::write(&new, format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(new, &program).unwrap();
        program
    }
}
