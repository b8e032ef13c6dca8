//! Files that are nobody's work: an agent's scratch, ostler's own.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What ostler itself may leave in a project.
const OWN: &[&str] = &[".ostler"];

/// Patterns of names that are not observed, with all that lies beneath them.
///
/// `*` and `?` match within a name, `**` matches any number of names. A pattern with a `/` in it is matched from
/// the root of the tree, one without against every name in a path.
#[derive(Debug, Clone)]
pub struct Exclude {
    patterns: Vec<Vec<Vec<u8>>>,
}

impl Default for Exclude {
    fn default() -> Self {
        Self::new(std::iter::empty::<&str>())
    }
}

impl Exclude {
    /// Excludes these, and what ostler itself may leave.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Self {
        let own = OWN.iter().map(|pattern| (*pattern).to_owned());
        let patterns = own.chain(patterns.into_iter().map(|pattern| pattern.as_ref().to_owned()));
        let parse = |pattern: String| {
            let from_root = pattern.trim_end_matches('/').contains('/');
            let names =
                pattern.split('/').filter(|name| !name.is_empty()).map(|name| name.as_bytes().to_vec());
            (!from_root).then(|| b"**".to_vec()).into_iter().chain(names).collect::<Vec<_>>()
        };
        Self {
            patterns: patterns
                .map(parse)
                .filter(|names| names.last().is_some_and(|last| last != b"**"))
                .collect(),
        }
    }

    /// Whether a path, relative to the root, is left out.
    pub fn covers(&self, path: &Path) -> bool {
        let names: Vec<&[u8]> = path.components().map(|part| part.as_os_str().as_bytes()).collect();
        self.patterns.iter().any(|pattern| is_prefix(pattern, &names))
    }
}

/// Whether the pattern matches the path or a directory on the way to it.
fn is_prefix(pattern: &[Vec<u8>], names: &[&[u8]]) -> bool {
    match (pattern.split_first(), names.split_first()) {
        (None, _) => true,
        (Some((first, rest)), _) if first == b"**" => {
            (0..=names.len()).any(|skip| is_prefix(rest, &names[skip..]))
        }
        (Some(_), None) => false,
        (Some((first, rest)), Some((name, names))) => matches(first, name) && is_prefix(rest, names),
    }
}

/// Whether a name matches a pattern of `*` and `?`.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    // Where the last star was, and up to where in the name it has been tried.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(c) if *c == b'?' || *c == name[in_name] => (at, in_name) = (at + 1, in_name + 1),
            _ => {
                let Some((star_at, tried)) = star else { return false };
                star = Some((star_at, tried + 1));
                (at, in_name) = (star_at + 1, tried + 1);
            }
        }
    }
    pattern[at..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_names_and_what_lies_beneath() {
        let exclude =
            Exclude::new([".scratch*", "build/*/tmp", "docs/**/draft-?.md", "/only-top", "dir/", "**", ""]);
        let table = [
            (".scratch", true),
            (".scratch.chat.md", true),
            ("sub/.scratch-cache/x/y", true),
            ("scratch", false),
            ("build/x/tmp/file", true),
            ("build/x/y/tmp", false),
            ("sub/build/x/tmp", false),
            ("docs/draft-1.md", true),
            ("docs/a/b/draft-2.md", true),
            ("docs/a/b/draft-22.md", false),
            ("only-top", true),
            ("sub/only-top", false),
            ("sub/dir/file", true),
            (".ostler/config.toml", true),
            ("src/main.rs", false),
        ];
        for (path, covered) in table {
            assert_eq!(exclude.covers(Path::new(path)), covered, "{path}");
        }
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let exclude = Exclude::new(["*a".repeat(40)]);
        assert!(!exclude.covers(Path::new(&"a".repeat(200)[..30])));
    }
}
