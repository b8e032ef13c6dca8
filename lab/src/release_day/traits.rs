//! What is telling about a recording: what ostler says of it, and why; and what the program says of itself.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use crate::recording;
use crate::report::{Rules, replay_lines};

/// A state that holds for less than this may be an accident of timing.
const BRIEF: f64 = 0.3;

/// What is telling about one recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traits {
    /// The states that ostler says, one after the other, with their kinds.
    pub states: Vec<String>,
    /// Dialogs: the kinds of what is `blocked`, with the reasons.
    pub dialogs: BTreeSet<String>,
    /// What the program says of itself (OSC 7501), one after the other.
    pub status: Vec<String>,
}

impl Traits {
    /// Reads the recording in a directory.
    pub fn of(ostler: &Path, dir: &Path) -> Result<Self> {
        let mute = dir.extension().is_some_and(|variant| variant == "mute");
        let file = dir.join(recording::FILE);
        let said = replay_lines(ostler, &file, mute, Rules::Own)?;
        let mut traits = Self { status: claims(&recording::read(&file)?), ..Self::default() };
        for (index, line) in said.iter().enumerate() {
            let until = said.get(index + 1).map_or(f64::INFINITY, |next| next.t);
            if until - line.t < BRIEF {
                continue;
            }
            let kind = line.kind.as_ref().map(|kind| format!("/{kind}")).unwrap_or_default();
            let state = format!("{}{kind}", line.state);
            if line.state == "blocked" {
                let rules = line.because.iter().filter(|reason| reason.contains("rule"));
                traits.dialogs.insert(format!("{state} ({})", rules.cloned().collect::<Vec<_>>().join("; ")));
            }
            if traits.states.last() != Some(&state) {
                traits.states.push(state);
            }
        }
        Ok(traits)
    }
}

/// The statuses in the text of a recording, without what is repeated.
fn claims(cast: &str) -> Vec<String> {
    let mut claims: Vec<String> = Vec::new();
    for rest in cast.split("]7501;").skip(1) {
        let end = rest.find(['\u{7}', '\u{1b}', '\\', '"']).unwrap_or(rest.len());
        let claim: Vec<String> = rest[..end].split(':').filter_map(part).collect();
        let claim = claim.join(" ");
        if claim.starts_with("state=") && claims.last() != Some(&claim) {
            claims.push(claim);
        }
    }
    claims
}

/// A part of a status, its message in plain words and without its numbers.
fn part(part: &str) -> Option<String> {
    let (key, value) = part.trim().split_once('=')?;
    match key {
        "state" | "kind" => Some(format!("{key}={value}")),
        "msg" => Some(format!("msg={:?}", decoded(value).replace(|c: char| c.is_ascii_digit(), "#"))),
        _ => None,
    }
}

/// Base64, as far as it is text.
fn decoded(text: &str) -> String {
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap_or_default());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What differs, a line each.
pub fn differences(old: &Traits, new: &Traits) -> Vec<String> {
    let mut lines = Vec::new();
    let mut both = |what: &str, old: String, new: String| {
        if old != new {
            lines.push(format!("{what}: {old} → {new}"));
        }
    };
    let dialogs = |traits: &Traits| traits.dialogs.iter().cloned().collect::<Vec<_>>().join(", ");
    both("states", old.states.join(" "), new.states.join(" "));
    both("dialogs", dialogs(old), dialogs(new));
    both("program status", old.status.join(", "), new.status.join(", "));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_of_itself_is_read_without_what_changes_each_time() {
        let cast = concat!(
            r#"[1, "o", "\u001b]7501;?\u001b\\"]"#,
            r#"[1, "o", "\u001b]7501;state=idle:app=x\u001b\\"]"#,
            r#"[2, "o", "\u001b]7501;state=idle:app=x\u0007"]"#,
            r#"[3, "o", "\u001b]7501;state=blocked:kind=permission:msg=MTIgcw==\u0007"]"#,
        );
        assert_eq!(claims(cast), ["state=idle", "state=blocked kind=permission msg=\"## s\""]);
    }

    #[test]
    fn only_what_differs_is_told() {
        let old = Traits { states: vec!["idle".into(), "working".into()], ..Traits::default() };
        assert!(differences(&old, &old).is_empty());
        let new = Traits {
            dialogs: ["blocked/trust (rule)".into()].into(),
            states: vec!["idle".into()],
            ..Traits::default()
        };
        assert_eq!(
            differences(&old, &new),
            ["states: idle working → idle", "dialogs:  → blocked/trust (rule)"]
        );
    }
}
