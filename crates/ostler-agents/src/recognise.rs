//! Telling by what a program prints whether it is the agent whose name it bears.

use regex::{Regex, RegexBuilder};
use semver::Version;

use crate::{Identity, version};

/// Most memory for a pattern's program, in bytes.
const MAX_PROGRAM: usize = 1 << 20;

impl Identity {
    /// Whether this is what the agent prints.
    pub fn recognises(&self, output: &str) -> bool {
        // A pattern that cannot be used was refused with its preset.
        compiled(&self.matches).is_some_and(|pattern| pattern.is_match(output))
    }

    /// The version that the output tells.
    pub fn version_in(&self, output: &str) -> Option<Version> {
        match &self.version {
            Some(pattern) => {
                let found = compiled(pattern)?;
                let found = found.captures(output)?;
                version::read(found.get(1).or_else(|| found.get(0))?.as_str())
            }
            None => version::find(output),
        }
    }
}

fn compiled(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(MAX_PROGRAM).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_where_the_preset_says() {
        let identity = |matches: &str, version: Option<&str>| Identity {
            matches: matches.into(),
            version: version.map(Into::into),
            ..Identity::default()
        };
        let output = "node 20.1.0\nagent build 7 (1.2-rc)\n";
        let table = [
            (identity("(?m)^agent ", None), true, Some("20.1.0")),
            (identity("^agent ", Some(r"\((.*)\)")), false, Some("1.2.0-rc")),
            (identity("", Some(r"build (\d+)")), true, Some("7.0.0")),
            (identity("", Some(r"build \d+ \(\d\.\d")), true, Some("1.2.0")),
            (identity("", Some("version (.*)")), true, None),
        ];
        for (identity, is_agent, version) in table {
            assert_eq!(identity.recognises(output), is_agent, "{identity:?}");
            let found = identity.version_in(output).map(|version| version.to_string());
            assert_eq!(found.as_deref(), version, "{identity:?}");
        }
    }
}
