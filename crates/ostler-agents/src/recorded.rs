//! Which releases of the real agents were recorded, and how well their recordings are read.
//!
//! `recorded.toml` is written by `cargo lab score`, from the recordings and their scores: what is said of a release is
//! what was seen of it, and nobody's claim.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use semver::Version;
use serde::{Deserialize, Serialize};

use crate::version::read;

/// Releases by agent.
pub type Recorded = BTreeMap<String, BTreeMap<Version, Scenes>>;

/// The recordings of one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenes {
    /// How many there are.
    pub recorded: u32,
    /// Those of them in which ostler says the right state, dialogs included.
    pub right: u32,
}

/// What is known of a release from recordings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquaintance {
    /// The agent was never recorded.
    Never,
    /// This release was.
    Recorded(Scenes),
    /// It is newer than every release that was: this one is the newest of them.
    Newer(Version, Scenes),
    /// Others were: the next older one, if there is one, and the next newer one.
    Between(Option<Version>, Version),
    /// Others were, but which one this is, is not known: the newest of them.
    Unknown(Version, Scenes),
}

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| {
    let written: BTreeMap<String, BTreeMap<String, Scenes>> =
        toml::from_str(include_str!("../recorded.toml")).unwrap_or_default();
    let releases = |releases: BTreeMap<String, Scenes>| {
        releases.into_iter().filter_map(|(version, scenes)| Some((read(&version)?, scenes))).collect()
    };
    written.into_iter().map(|(agent, recorded)| (agent, releases(recorded))).collect()
});

/// The recorded releases of all agents.
pub fn releases() -> &'static Recorded {
    &RECORDED
}

/// What is known of this release of an agent.
pub fn acquaintance(agent: &str, version: Option<&Version>) -> Acquaintance {
    releases().get(agent).map_or(Acquaintance::Never, |releases| among(releases, version))
}

fn among(releases: &BTreeMap<Version, Scenes>, version: Option<&Version>) -> Acquaintance {
    let Some((newest, scenes)) = releases.last_key_value() else { return Acquaintance::Never };
    let Some(version) = version else { return Acquaintance::Unknown(newest.clone(), *scenes) };
    if let Some(scenes) = releases.get(version) {
        return Acquaintance::Recorded(*scenes);
    }
    let older = releases.range(..version).next_back().map(|(version, _)| version.clone());
    match releases.range(version..).next() {
        Some((newer, _)) => Acquaintance::Between(older, newer.clone()),
        None => Acquaintance::Newer(newest.clone(), *scenes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BUILT_IN;

    #[test]
    fn a_release_is_known_by_its_recordings_or_by_those_of_its_neighbours() {
        let (old, new) = (Scenes { recorded: 3, right: 3 }, Scenes { recorded: 5, right: 4 });
        let version = |text: &str| Version::parse(text).unwrap();
        let releases = [(version("1.2.0"), old), (version("2.0.0"), new)].into();
        for (asked, known) in [
            ("1.2.0", Acquaintance::Recorded(old)),
            ("2.0.0", Acquaintance::Recorded(new)),
            ("2.0.1", Acquaintance::Newer(version("2.0.0"), new)),
            ("1.9.9", Acquaintance::Between(Some(version("1.2.0")), version("2.0.0"))),
            ("1.0.0", Acquaintance::Between(None, version("1.2.0"))),
        ] {
            assert_eq!(among(&releases, Some(&version(asked))), known, "{asked}");
        }
        assert_eq!(among(&releases, None), Acquaintance::Unknown(version("2.0.0"), new));
        assert_eq!(among(&BTreeMap::new(), None), Acquaintance::Never);
    }

    #[test]
    fn what_was_recorded_is_of_agents_that_are_known() {
        assert!(releases().len() >= 8);
        for (agent, releases) in releases() {
            assert!(BUILT_IN.iter().any(|(name, _)| name == agent), "{agent}");
            assert!(releases.values().all(|scenes| scenes.right <= scenes.recorded), "{agent}");
        }
        assert_eq!(acquaintance("of this name there is none", None), Acquaintance::Never);
    }
}
