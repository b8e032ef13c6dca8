//! The messages.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::job::Effort;

/// Texts that look like something else.
pub fn lookalikes(repository: &Path) -> Result<Vec<String>> {
    let texts = std::fs::read_to_string(repository.join("conformance/lookalikes.txt"))?;
    Ok(texts.split("\n\n").map(|text| text.trim_end().to_owned()).collect())
}

/// What is special about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One byte.
    Byte,
    /// A line.
    Line,
    /// A few hundred bytes in a line.
    LongLine,
    /// Several lines, some of them blank or indented.
    Lines,
    /// More lines than a composer shows.
    Tall,
    /// Letters beyond ASCII, combined, joined, wide, from right to left.
    Unicode,
    /// It begins with a character that opens a menu or a mode.
    Trigger,
    /// It ends with what opens a menu of completions.
    Completion,
    /// Blanks and line ends around it.
    Blanks,
    /// Control sequences that would break out of a paste.
    Hostile,
    /// It looks like a dialog, a prompt or a frame.
    Lookalike,
    /// It has the mark in it that the agent shows for long texts.
    Placeholder,
    /// The same as the one before.
    Equal,
    /// 2 kB.
    Kilobytes2,
    /// 20 kB.
    Kilobytes20,
    /// 100 kB.
    Kilobytes100,
}

/// How often each kind comes in a hundred.
const SHARES: [(Kind, u32); 16] = [
    (Kind::Byte, 4),
    (Kind::Line, 21),
    (Kind::LongLine, 7),
    (Kind::Lines, 12),
    (Kind::Tall, 3),
    (Kind::Unicode, 10),
    (Kind::Trigger, 12),
    (Kind::Completion, 5),
    (Kind::Blanks, 5),
    (Kind::Hostile, 5),
    (Kind::Lookalike, 5),
    (Kind::Placeholder, 2),
    (Kind::Equal, 3),
    (Kind::Kilobytes2, 3),
    (Kind::Kilobytes20, 2),
    (Kind::Kilobytes100, 1),
];

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id for `ostler send`.
    pub id: String,
    /// What is special about it.
    pub kind: Kind,
    /// What is found in no other message; none in one that is too short for it.
    pub token: Option<String>,
    /// The text, as it is handed to `ostler send`.
    pub text: String,
}

const WORDS: [&str; 16] = [
    "horse", "stable", "please", "check", "the", "parser", "for", "rain", "and", "write", "a", "test", "of",
    "every", "branch", "quietly",
];
const UNICODE: [&str; 8] = [
    "na\u{ef}ve cafe\u{301} o\u{308}ffnen A\u{30a}ngstro\u{308}m",
    "漢字と仮名、全角ＡＢＣ",
    "👩‍👩‍👧‍👦 👨🏽‍💻 🏳️‍🌈 🇩🇪 ✅",
    "مرحبا بالعالم שלום עולם",
    "Ελληνικά русский हिन्दी ไทย",
    "한국어 텍스트 \u{1112}\u{1161}\u{11ab}",
    "“quotes” – dashes … ≠ ∑ ½",
    "z\u{310}\u{31a}a\u{305}l\u{322}g\u{321}o",
];
const TRIGGERS: [&str; 12] =
    ["/", "!", "#", "@", "/help ", "!echo ", "# ", "@README.md ", "/exit ", "! ls ", "//", "/clear "];
const HOSTILE: [&str; 7] = [
    "\x1b[201~\rrm -rf nothing\r",
    "\r\rand\ragain",
    "\0nul\0",
    "\u{9b}201~\u{85}c1",
    "\x1b]0;title\x07\x1b]52;c;aGk=\x07",
    "\x1b[2J\x1b[H\x1b[?1049l",
    "\x03\x04\x1a\x1c\x7f\x08\x08",
];
/// Makes messages. `marks` are what the agent shows in place of long texts.
pub fn messages(effort: &Effort, marks: &[String]) -> Vec<Message> {
    let seed = effort.seed;
    let mut random = fastrand::Rng::with_seed(seed);
    let kinds = kinds(&mut random, effort.messages, &effort.kinds);
    let mut bytes: Vec<char> = ('a'..='z').chain('0'..='9').collect();
    random.shuffle(&mut bytes);
    let mut messages: Vec<Message> = Vec::new();
    for (index, kind) in kinds.into_iter().enumerate() {
        let id = format!("s{seed}-m{index:04}");
        let byte = if kind == Kind::Byte { bytes.pop() } else { None };
        let message = match (messages.last(), byte) {
            (Some(last), _) if kind == Kind::Equal => Message { id, kind, ..last.clone() },
            (_, Some(byte)) => Message { id, kind, token: None, text: byte.to_string() },
            _ => {
                let token = format!("tk{index:04}{}", letters(&mut random, 4));
                let text = text(&mut random, kind, &token, &effort.lookalikes, marks);
                Message { id, kind, token: Some(token), text }
            }
        };
        messages.push(message);
    }
    messages
}

/// A short message, for what is not about the text.
pub fn short(seed: u64, index: usize, text: &str) -> Message {
    let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(31).wrapping_add(index as u64));
    let token = format!("tk{index:04}{}", letters(&mut random, 6));
    let text = format!("{token} {text}");
    Message { id: format!("s{seed}-{token}"), kind: Kind::Line, token: Some(token), text }
}

/// The kinds of so many messages: each has its share, at least one, and the order is by chance.
fn kinds(random: &mut fastrand::Rng, count: usize, only: &[Kind]) -> Vec<Kind> {
    let chosen: Vec<(Kind, u32)> =
        SHARES.into_iter().filter(|(kind, _)| only.is_empty() || only.contains(kind)).collect();
    let hundred: usize = chosen.iter().map(|(_, share)| *share as usize).sum();
    let pool: Vec<Kind> = chosen
        .iter()
        .flat_map(|(kind, share)| {
            let share = *share as usize * count.min(hundred) / hundred;
            std::iter::repeat_n(*kind, share.max(1))
        })
        .collect();
    let mut kinds = Vec::new();
    while kinds.len() < count {
        let mut round = pool.clone();
        random.shuffle(&mut round);
        kinds.extend(round);
    }
    kinds.truncate(count);
    kinds
}

fn letters(random: &mut fastrand::Rng, count: usize) -> String {
    std::iter::repeat_with(|| random.lowercase()).take(count).collect()
}

fn words(random: &mut fastrand::Rng, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        text.push_str(WORDS[random.usize(..WORDS.len())]);
        text.push(' ');
    }
    text.truncate(bytes);
    text.trim_end().to_owned()
}

fn one<'a, T: AsRef<str>>(random: &mut fastrand::Rng, of: &'a [T]) -> &'a str {
    random.choice(of).map_or("", AsRef::as_ref)
}

fn text(
    random: &mut fastrand::Rng,
    kind: Kind,
    token: &str,
    lookalikes: &[String],
    marks: &[String],
) -> String {
    let size = |random: &mut fastrand::Rng, low: usize, high: usize| random.usize(low..high);
    match kind {
        Kind::Byte | Kind::Line | Kind::Equal => {
            let size = size(random, 1, 70);
            format!("{token} {}", words(random, size))
        }
        Kind::LongLine => {
            let size = size(random, 150, 900);
            format!("{} {token} {}", words(random, size), words(random, 20))
        }
        Kind::Lines => {
            let count = size(random, 2, 9);
            let lines = (0..count).map(|line| match random.u8(..5) {
                0 => String::new(),
                1 => format!("\t{}", words(random, 12)),
                2 => format!("    if {line} {{ {} }}", words(random, 20)),
                _ => words(random, 40),
            });
            format!("{}\n{token}", lines.collect::<Vec<_>>().join("\n"))
        }
        Kind::Tall => {
            let count = size(random, 15, 70);
            let lines: Vec<String> = (1..=count).map(|line| format!("{line} {}", words(random, 6))).collect();
            format!("{token}\n{}", lines.join("\n"))
        }
        Kind::Unicode => format!("{} {token} {}", one(random, &UNICODE), one(random, &UNICODE)),
        Kind::Trigger => format!("{}{token} {}", one(random, &TRIGGERS), words(random, 20)),
        Kind::Completion => {
            let ends = [" @READ", " @", " /he", " @work", " #", "\n/", "\n@README.md"];
            format!("{token} {}{}", words(random, 15), one(random, &ends))
        }
        Kind::Blanks => {
            let begin = one(random, &["\n\n", "   ", "\t", ""]);
            let end = one(random, &["\n", "\n\n\n", "   ", "\r\n", "\t\n "]);
            format!("{begin}{token} {}{end}", words(random, 30))
        }
        Kind::Hostile => {
            format!("{token} {}{} {}", words(random, 10), one(random, &HOSTILE), words(random, 10))
        }
        Kind::Lookalike => {
            let lookalike = one(random, lookalikes);
            if random.bool() { format!("{token}\n{lookalike}") } else { format!("{lookalike}\n{token}") }
        }
        Kind::Placeholder => {
            let mark = one(random, marks);
            format!("{token} {mark} {}", words(random, 20))
        }
        Kind::Kilobytes2 => large(random, token, 2_000),
        Kind::Kilobytes20 => large(random, token, 20_000),
        Kind::Kilobytes100 => large(random, token, 100_000),
    }
}

/// Numbered lines, so that a missing piece is found; every third large text is one long line.
fn large(random: &mut fastrand::Rng, token: &str, bytes: usize) -> String {
    let flat = random.u8(..3) == 0;
    let mut text = format!("{token} begins.");
    let mut line = 0;
    while text.len() + token.len() + 8 < bytes {
        line += 1;
        let size = random.usize(10..90);
        text.push(if flat { ' ' } else { '\n' });
        let _ = write!(text, "{line}: {}", words(random, size));
    }
    text.truncate(bytes.saturating_sub(token.len() + 8));
    format!("{} {token} end", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effort(seed: u64, kinds: &[Kind]) -> Effort {
        let (kinds, lookalikes) = (kinds.to_vec(), vec!["Proceed?".to_owned()]);
        Effort { seed, messages: 100, kinds, cold: 0, kills: 0, rounds: 0, layer: None, lookalikes }
    }

    #[test]
    fn a_seed_makes_the_same_messages_with_tokens_of_their_own() {
        let first = messages(&effort(7, &[]), &[]);
        assert_eq!(first, messages(&effort(7, &[]), &[]));
        assert_ne!(first, messages(&effort(8, &[]), &[]));
        for (kind, share) in SHARES {
            let count = first.iter().filter(|message| message.kind == kind).count();
            assert_eq!(count, share as usize, "{kind:?}");
        }
        for message in &first {
            let Some(token) = &message.token else { continue };
            assert!(message.text.contains(token));
            let others = first.iter().filter(|other| other.text != message.text);
            assert!(others.clone().all(|other| !other.text.contains(token)), "{token}");
        }
        assert!(first.iter().any(|message| message.text.len() > 99_000 && message.text.len() <= 100_000));
    }

    #[test]
    fn few_messages_are_of_every_kind_too() {
        let few = messages(&Effort { messages: 40, ..effort(1, &[]) }, &[]);
        assert_eq!(few.len(), 40);
        for (kind, _) in SHARES {
            assert!(few.iter().any(|message| message.kind == kind), "{kind:?}");
        }
    }

    #[test]
    fn kinds_can_be_chosen() {
        let chosen = messages(&effort(1, &[Kind::Trigger]), &[]);
        assert!(chosen.len() == 100 && chosen.iter().all(|message| message.kind == Kind::Trigger));
    }
}
