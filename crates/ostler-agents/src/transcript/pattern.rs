//! Which files may be a session's transcript.

use std::path::{Component, Path, PathBuf};

use super::error::SpecError;
use super::spec::TranscriptSpec;
use super::test::regex;

/// What is put into a place.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fill<'a> {
    /// The working directory of the agent.
    pub cwd: &'a str,
    /// The id of the conversation, if it is known.
    pub session: Option<&'a str>,
}

/// The files that may be a session's transcript: one pattern for each name on the way from the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    names: Vec<NamePattern>,
}

/// A name with gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern {
    /// What stands between the gaps; a single piece has no gap.
    pieces: Vec<String>,
}

impl TranscriptSpec {
    /// The directory that all transcripts are beneath.
    pub fn root(&self, config: &Path, home: &Path, data: &Path) -> PathBuf {
        let root = if self.root.is_empty() { "{config}" } else { &self.root };
        let places = [("{config}", config), ("{home}", home), ("{data}", data)];
        for (name, directory) in places {
            if let Some(rest) = root.strip_prefix(name) {
                return directory.join(rest.trim_start_matches('/'));
            }
        }
        PathBuf::from(root)
    }

    /// The files that may be a session's transcript; none if the preset names no place.
    pub fn pattern(&self, fill: Fill<'_>) -> Result<Option<Pattern>, SpecError> {
        if self.place.is_empty() {
            return Ok(None);
        }
        let mut cwd = fill.cwd.to_owned();
        for (index, mangle) in self.mangle.iter().enumerate() {
            let regex = regex(&format!("mangle[{index}]"), &mangle.pattern)?;
            cwd = regex.replace_all(&cwd, mangle.with.as_str()).into_owned();
        }
        let names: Vec<NamePattern> = self
            .place
            .split('/')
            .map(|name| NamePattern::new(name, &cwd, fill.session))
            .collect::<Result<_, _>>()?;
        Ok(Some(Pattern { names }))
    }

    /// The file that tells the working directory of a transcript, seen from the root.
    pub fn cwd_file_of(&self, transcript: &Path) -> Option<PathBuf> {
        let mut path = transcript.parent()?.to_owned();
        for part in Path::new(self.cwd_file.as_ref()?).components() {
            match part {
                Component::ParentDir if path.pop() => {}
                Component::Normal(name) => path.push(name),
                _ => return None,
            }
        }
        Some(path)
    }
}

impl Pattern {
    /// The names on the way from the root to the file, which is the last.
    pub fn names(&self) -> &[NamePattern] {
        &self.names
    }
}

impl NamePattern {
    fn new(name: &str, cwd: &str, session: Option<&str>) -> Result<Self, SpecError> {
        let wrong = |reason: String| SpecError::Place { field: "place".into(), reason };
        let mut pieces = vec![String::new()];
        let mut rest = name;
        let add = |pieces: &mut Vec<String>, text: &str| {
            if let Some(last) = pieces.last_mut() {
                last.push_str(text);
            }
        };
        while let Some(gap) = rest.find(['*', '{']) {
            add(&mut pieces, &rest[..gap]);
            rest = &rest[gap..];
            if let Some(after) = rest.strip_prefix('*') {
                pieces.push(String::new());
                rest = after;
                continue;
            }
            let (variable, after) =
                rest[1..].split_once('}').ok_or_else(|| wrong(format!("{name:?} has no closing brace")))?;
            rest = after;
            let value = match variable.split_once(':').unwrap_or((variable, "")) {
                ("cwd", "") => Some(cwd),
                ("session", "") => session,
                ("session", length) => {
                    let length: usize = length
                        .parse()
                        .map_err(|_| wrong(format!("{length:?} is not a number of characters")))?;
                    session.map(|id| id.get(..length).unwrap_or(id))
                }
                _ => return Err(wrong(format!("nothing is known of {{{variable}}}"))),
            };
            match value {
                Some(value) => add(&mut pieces, value),
                None => pieces.push(String::new()),
            }
        }
        add(&mut pieces, rest);
        let bad = |piece: &String| piece.contains(['/', '\0']);
        if pieces.iter().any(bad)
            || matches!(pieces.as_slice(), [one] if ["", ".", ".."].contains(&one.as_str()))
        {
            return Err(wrong(format!("{name:?} does not become the name of a file")));
        }
        Ok(Self { pieces })
    }

    /// The name, if it has no gaps.
    pub fn exact(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }

    /// Whether a name fits.
    pub fn matches(&self, name: &str) -> bool {
        let [first, middle @ .., last] = self.pieces.as_slice() else { return self.exact() == Some(name) };
        let Some(mut rest) = name.strip_prefix(first.as_str()) else { return false };
        for piece in middle {
            let Some(at) = rest.find(piece.as_str()) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last.as_str())
    }
}
