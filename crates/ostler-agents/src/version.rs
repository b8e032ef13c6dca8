//! Versions as agents tell them, which is not always as the standard wants them.

use std::sync::LazyLock;

use regex::Regex;
use semver::{BuildMetadata, Prerelease, Version, VersionReq};

/// The first thing in a text that looks like a version: at least two numbers with a dot between.
static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let start = r"(?:^|[^0-9A-Za-z.])[vV]?";
    let numbers = r"(\d{1,18})\.(\d{1,18})(?:\.(\d{1,18}))?(?:\.\d+)*";
    let rest = r"(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?";
    Regex::new(&format!("{start}{numbers}{rest}")).ok()
});

/// Finds the first thing in a text that looks like a version.
///
/// Missing numbers are 0, further ones than three are left out, and leading zeros do no harm.
pub fn find(text: &str) -> Option<Version> {
    let found = VERSION.as_ref()?.captures_iter(text).find(|found| !is_address(&found[0]))?;
    let number = |group| found.get(group).map_or(Some(0), |number| number.as_str().parse().ok());
    let words = |group| found.get(group).map(|words| words.as_str()).unwrap_or_default();
    let mut version = Version::new(number(1)?, number(2)?, number(3)?);
    version.pre = Prerelease::new(&tidy(words(4))).unwrap_or_default();
    version.build = BuildMetadata::new(&tidy(words(5))).unwrap_or_default();
    Some(version)
}

/// Whether this is where a machine calls itself, which help texts like to name.
fn is_address(text: &str) -> bool {
    let numbers = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    numbers.split('.').count() == 4
        && ["127.", "0.0.0.0", "192.168."].iter().any(|start| numbers.starts_with(start))
}

/// Reads a text that is a version; a single number is one too.
pub fn read(text: &str) -> Option<Version> {
    let text = text.trim();
    let number = text.trim_start_matches(['v', 'V']);
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.parse().ok().map(|major| Version::new(major, 0, 0));
    }
    find(text)
}

/// Whether a version is in a range.
///
/// The standard keeps pre-releases out of all ranges that do not name one. Agents are released as such, so here
/// they are taken for what they precede.
pub fn in_range(range: &VersionReq, version: &Version) -> bool {
    let released = Version::new(version.major, version.minor, version.patch);
    range.matches(version) || (!version.pre.is_empty() && range.matches(&released))
}

/// Words between dots as the standard wants them: none empty, no number with zeros before it.
fn tidy(words: &str) -> String {
    let word = |word: &str| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let short = word.trim_start_matches('0');
        match (is_number, short.is_empty()) {
            (true, true) => "0".to_owned(),
            (true, false) => short.to_owned(),
            (false, _) => word.to_owned(),
        }
    };
    let words: Vec<String> = words.split('.').filter(|part| !part.is_empty()).map(word).collect();
    words.join(".").trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_as_programs_tell_them() {
        let table = [
            ("1.2", Some("1.2.0")),
            ("1.2.3", Some("1.2.3")),
            ("v1.2.3-beta.1", Some("1.2.3-beta.1")),
            ("0.0.1790142911-gabc", Some("0.0.1790142911-gabc")),
            ("2.1.325 (Some Agent)", Some("2.1.325")),
            ("some-cli 0.166.0\n", Some("0.166.0")),
            ("agent/1.4.0 linux-x64 node-v20.1.0", Some("1.4.0")),
            ("agent-v3.4", Some("3.4.0")),
            ("2025.09.18-7ae6800", Some("2025.9.18-7ae6800")),
            ("1.2.3-007.08", Some("1.2.3-7.8")),
            ("1.2.3+build.05", Some("1.2.3+build.5")),
            ("It is version 1.2.3-rc.1.", Some("1.2.3-rc.1")),
            ("It is version 1.2.", Some("1.2.0")),
            ("1.2.3.4", Some("1.2.3")),
            ("(1.2.3)", Some("1.2.3")),
            ("listens on 127.0.0.1 or 0.0.0.0, version 2.1", Some("2.1.0")),
            ("1.2.3-", Some("1.2.3")),
            ("x86.64 is no version but 5.6 is", Some("5.6.0")),
            ("no version", None),
            ("7", None),
            ("99999999999999999999.1", None),
            ("", None),
        ];
        for (text, version) in table {
            assert_eq!(find(text).map(|found| found.to_string()).as_deref(), version, "{text:?}");
        }
        assert_eq!(read(" v7\n"), Some(Version::new(7, 0, 0)));
        assert_eq!(
            read("1.2-x"),
            Some(Version { pre: Prerelease::new("x").unwrap(), ..Version::new(1, 2, 0) })
        );
        assert_eq!(read("seven"), None);
    }

    #[test]
    fn a_pre_release_is_in_the_range_of_what_it_precedes() {
        let table = [
            (">=2.1.295, <3", "2.1.325", true),
            (">=2.1.295, <3", "2.2.0-beta.1", true),
            (">=2025", "2025.9.18-7ae6800", true),
            ("<2.2", "2.2.0-beta.1", false),
            ("<2", "2.1.0", false),
        ];
        for (range, version, inside) in table {
            let found = in_range(&VersionReq::parse(range).unwrap(), &Version::parse(version).unwrap());
            assert_eq!(found, inside, "{version} in {range}");
        }
    }
}
