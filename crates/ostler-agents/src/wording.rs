//! Whether a text came word for word, and where it did not.
//!
//! Programs compose accents, wrap lines, trim blanks and put words of their own around a text. They do not change its
//! signs or join its lines: where that happened, something else arrived than was sent.

use unicode_normalization::UnicodeNormalization;

use crate::reader::is_frame;

/// Characters of a text that are shown where another one begins to differ.
const EXCERPT: usize = 24;
/// How many of them stand before that place.
const BEFORE: usize = 8;
/// Texts of so many letters are compared letter by letter.
const SHORT: usize = 256;
/// Letters that have to stand in a row to be found again.
const RUN: usize = 8;

/// How a text that an agent took compares with the one that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Likeness {
    /// It has the text, word for word.
    Same,
    /// It is this text with something lost, added or changed: where, for people.
    Differs(String),
    /// It is another one.
    Other,
}

/// What can be seen of a text, one character behind the other, and where there was white space between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Wording {
    visible: String,
    /// Places in it with a line break before them, in order; without those at its ends.
    breaks: Vec<usize>,
}

impl Wording {
    /// Those characters of a text.
    pub(crate) fn new(text: &str, keep: impl Fn(char) -> bool) -> Self {
        let mut wording = Self::default();
        let mut breaks = false;
        for character in text.nfc() {
            if character == '\n' {
                breaks = !wording.visible.is_empty();
            } else if keep(character) {
                if std::mem::take(&mut breaks) {
                    wording.breaks.push(wording.visible.len());
                }
                wording.visible.push(character);
            }
        }
        wording
    }

    /// Everything that can be seen of a text, but for what frames are made of.
    pub(crate) fn visible(text: &str) -> Self {
        Self::new(text, is_visible)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.visible
    }

    /// What comes behind its last line break.
    pub(crate) fn last_line(&self) -> &str {
        &self.visible[self.breaks.last().copied().unwrap_or(0)..]
    }

    /// Whether these rows show it, whole or its end. A row may begin with a prompt, which may also be a part of the
    /// text if it is not the first.
    pub(crate) fn stands_in(&self, rows: &[ShownRow], keep: impl Fn(char) -> bool, whole: bool) -> bool {
        let kept = |text: &str| -> String { text.nfc().filter(|character| keep(*character)).collect() };
        let rows: Vec<(String, String)> =
            rows.iter().map(|row| (kept(&row.prompt), kept(&row.text))).collect();
        let shown: usize = rows.iter().map(|(_, text)| text.len()).sum();
        let begin = if whole { 0 } else { self.visible.len().saturating_sub(shown) };
        let (mut at, mut ends) = (begin, Vec::new());
        for (number, (prompt, text)) in rows.iter().enumerate() {
            let Some(left) = self.visible.get(at..) else { return false };
            let prompted =
                left.strip_prefix(prompt.as_str()).and_then(|left| left.strip_prefix(text.as_str()));
            let Some(rest) = prompted.filter(|_| number > 0).or_else(|| left.strip_prefix(text.as_str()))
            else {
                return false;
            };
            at = self.visible.len() - rest.len();
            ends.push(at);
        }
        let broken = |place: &usize| *place <= begin || ends.binary_search(place).is_ok();
        at == self.visible.len() && self.breaks.iter().all(broken)
    }

    /// Where another text has this one, with nothing but white space, quotes or tags beside it; and whether all its line
    /// breaks are there.
    fn found_in(&self, told: &str) -> Option<bool> {
        let other = Self::visible(told);
        let gaps = gaps(told);
        let is_edge = |place: usize| gaps.binary_search(&place).is_ok();
        let beside = |character: Option<char>| character.is_none_or(|sign| "<>\"'`".contains(sign));
        other
            .visible
            .match_indices(self.visible.as_str())
            .filter(|(at, _)| {
                let end = at + self.visible.len();
                let before = other.visible[..*at].chars().next_back();
                let behind = other.visible[end..].chars().next();
                (is_edge(*at) || beside(before)) && (is_edge(end) || beside(behind))
            })
            .map(|(at, _)| self.breaks.iter().all(|place| other.breaks.binary_search(&(at + place)).is_ok()))
            .max()
    }

    /// Compares a text that an agent says it took; `letters` are those of this one, `told_letters` of that one.
    pub(crate) fn compare(&self, letters: &str, told: &str, told_letters: &str) -> Likeness {
        if self.visible.is_empty() {
            return Likeness::Other;
        }
        match self.found_in(told) {
            Some(true) => return Likeness::Same,
            Some(false) => return Likeness::Differs("line breaks are missing".into()),
            None => {}
        }
        let has_letters = told_letters.contains(letters) && letters.chars().count() >= RUN;
        if has_letters || (told_letters == letters && !letters.is_empty()) || resembles(letters, told_letters)
        {
            return Likeness::Differs(self.difference(&Self::visible(told)));
        }
        Likeness::Other
    }

    /// Where another text begins to differ, for people.
    fn difference(&self, other: &Self) -> String {
        let (sent, came) = (self.visible.as_str(), other.visible.as_str());
        if let Some((before, behind)) = came.split_once(sent) {
            let last: String = before.chars().skip(before.chars().count().saturating_sub(BEFORE)).collect();
            let first: String = behind.chars().take(BEFORE).collect();
            return match (last.as_str(), first.as_str()) {
                ("", added) => format!("{added:?} was added right behind it"),
                (added, "") => format!("{added:?} was added right before it"),
                (last, first) => format!("{last:?} and {first:?} were added right beside it"),
            };
        }
        let same = sent.chars().zip(came.chars()).take_while(|(sent, came)| sent == came).count();
        let excerpt = |text: &str| -> String {
            let skipped = same.saturating_sub(BEFORE);
            let from: String = text.chars().skip(skipped).take(EXCERPT).collect();
            let lead = if skipped > 0 { "…" } else { "" };
            let more = if text.chars().count() > skipped + EXCERPT { "…" } else { "" };
            format!("{lead}{from}{more}")
        };
        format!("{:?} was sent, {:?} arrived (without blanks)", excerpt(sent), excerpt(came))
    }
}

/// A row of a composer: what stands there before what is written, and that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownRow {
    pub(crate) prompt: String,
    pub(crate) text: String,
}

/// Places between the visible characters of a text where there is white space, or its end.
fn gaps(text: &str) -> Vec<usize> {
    let (mut gaps, mut at) = (vec![0], 0);
    for character in text.nfc() {
        if is_visible(character) {
            at += character.len_utf8();
        } else if gaps.last() != Some(&at) {
            gaps.push(at);
        }
    }
    gaps.push(at);
    gaps.dedup();
    gaps
}

/// Whether a character leaves a trace that every program shows.
pub(crate) fn is_visible(character: char) -> bool {
    let invisible =
        matches!(character, '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{2060}' | '\u{feff}');
    !character.is_whitespace() && !invisible && !is_frame(character)
}

/// Whether one text is likely to be the other with something lost, added or changed.
fn resembles(sent: &str, came: &str) -> bool {
    let sent: Vec<char> = sent.chars().collect();
    let came: Vec<char> = came.chars().collect();
    if sent.len().min(came.len()) < RUN {
        return false;
    }
    if sent.len().max(came.len()) <= SHORT {
        return 10 * 2 * common(&sent, &came) >= 7 * (sent.len() + came.len());
    }
    let runs: std::collections::HashSet<&[char]> = sent.windows(RUN).collect();
    let known = came.windows(RUN).filter(|run| runs.contains(run)).count();
    2 * known > came.len() - RUN
}

/// The length of the longest sequence that both have in this order.
fn common(one: &[char], other: &[char]) -> usize {
    let mut row = vec![0; other.len() + 1];
    for left in one {
        let mut diagonal = 0;
        for (at, right) in other.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if left == right { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> String {
        text.nfc().filter(|character| character.is_alphanumeric()).collect()
    }

    fn likeness(sent: &str, told: &str) -> Likeness {
        Wording::visible(sent).compare(&letters(sent), told, &letters(told))
    }

    #[test]
    fn a_text_with_words_around_it_is_the_same() {
        for (sent, told) in [
            ("fix the bug", "fix the bug"),
            ("fix the bug ", " fix  the bug\n"),
            ("fix\nthe bug", "fix\r\nthe bug"),
            ("fix\n\n\tthe bug", "fix\n    the bug"),
            ("fix it", "Note: it is late.\n\nfix it\n\n(end)"),
            ("fix it", "<query>fix it</query>"),
            ("cafe\u{301} !", "café !"),
            ("a │ b", "a b"),
            ("!?", "!?"),
            ("a\u{200b}b\u{fe0f}", "ab"),
        ] {
            assert_eq!(likeness(sent, told), Likeness::Same, "{sent:?} {told:?}");
        }
    }

    #[test]
    fn a_text_that_was_damaged_is_known_and_the_place_is_shown() {
        for (sent, told, place) in [
            (
                "rm -rf ./build/../tmp",
                "rm rf buildtmp",
                r#""rm-rf./build/../tmp" was sent, "rmrfbuildtmp" arrived"#,
            ),
            ("see foo(a", "see foo(a)", r#"")" was added right behind it"#),
            ("first\nsecond", "first second", "line breaks are missing"),
            ("first\nsecond\nthird", "first\nsecondthird", "line breaks are missing"),
            (
                "please fix the bug in the parser",
                "fix the bug in the parser",
                r#""pleasefixthebuginthepars…" was sent, "fixthebugintheparser""#,
            ),
            ("please fix the bug", "old draftplease fix the bug", r#""olddraft" was added right before it"#),
        ] {
            match likeness(sent, told) {
                Likeness::Differs(how) => assert!(how.starts_with(place), "{sent:?} {told:?}: {how}"),
                other => panic!("{sent:?} {told:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_long_text_that_lost_a_part_is_known() {
        let sent = (0..200).map(|number| format!("word{number}")).collect::<Vec<_>>().join(" ");
        let mut middle = sent.clone();
        middle.replace_range(300..700, "");
        for told in [&sent[30..], &sent[..sent.len() / 2], &middle] {
            assert!(matches!(likeness(&sent, told), Likeness::Differs(_)), "{told:?}");
        }
        assert_eq!(likeness(&sent, &"another prompt of a person ".repeat(40)), Likeness::Other);
    }

    #[test]
    fn another_text_is_another() {
        for (sent, told) in [
            ("fix the bug", "run the tests"),
            ("fix the bug in the parser", "fix the words of the readme"),
            ("y", "n"),
            // A few letters are a part of anything.
            ("go", "going on"),
            ("fix the bug", ""),
            ("", "fix"),
            (" \n", "fix"),
        ] {
            assert_eq!(likeness(sent, told), Likeness::Other, "{sent:?} {told:?}");
        }
    }
}
