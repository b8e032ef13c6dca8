//! Filters that settings name: programs that git runs when it compares files.

use std::collections::BTreeSet;

use super::GitError;

/// How many filters there may be: all of them go onto every command line.
pub(super) const MOST: usize = 100;

/// What makes each filter harmless, given the names of all settings, each ended by a null byte. At worst, a file that
/// was only touched then counts as changed.
///
/// One filter that stays as it is would be enough to run a program, so it is all of them or an error.
pub(super) fn harmless(settings: &[u8]) -> Result<Vec<String>, GitError> {
    let mut drivers = BTreeSet::new();
    for name in settings.split(|byte| *byte == 0).filter(|name| name.starts_with(b"filter.")) {
        let odd = || GitError::OddFilter(String::from_utf8_lossy(name).into_owned());
        // On a command line, everything behind the first `=` is the value.
        let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('=')).ok_or_else(odd)?;
        drivers.insert(name.rsplit_once('.').ok_or_else(odd)?.0);
        if drivers.len() > MOST {
            return Err(GitError::TooManyFilters);
        }
    }
    let settings = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
    let of_driver = |driver| settings.map(|(key, value)| format!("{driver}.{key}={value}"));
    Ok(drivers.into_iter().flat_map(of_driver).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_is_made_harmless_once() {
        let settings =
            b"core.bare\0filter.lfs.clean\0filter.A b.c.process\0filter.lfs.required\0filter..clean\0";
        let harmless = harmless(settings).unwrap();
        let cleaned: Vec<&str> =
            harmless.iter().filter_map(|setting| setting.strip_suffix(".clean=")).collect();
        assert_eq!(cleaned, ["filter.", "filter.A b.c", "filter.lfs"]);
        assert_eq!(harmless.len(), 12);
    }

    #[test]
    fn with_one_that_cannot_be_made_harmless_there_is_no_answer() {
        let odd: [&[u8]; 2] =
            [b"filter.lfs.clean\0filter.a=b.clean\0", b"filter.\xff.clean\0filter.lfs.clean\0"];
        for settings in odd {
            assert!(matches!(harmless(settings), Err(GitError::OddFilter(_))), "{settings:?}");
        }
        let many =
            |count: usize| (0..count).map(|n| format!("filter.{n}.clean")).collect::<Vec<_>>().join("\0");
        assert_eq!(harmless(many(MOST).as_bytes()).unwrap().len(), 4 * MOST);
        assert!(matches!(harmless(many(MOST + 1).as_bytes()), Err(GitError::TooManyFilters)));
    }
}
