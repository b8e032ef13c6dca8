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
    /// Blanks between each line break and what stands there.
    indents: Vec<usize>,
    /// The same with any white space.
    gaps: Vec<usize>,
    /// Its last word is the beginning of a name that an agent may complete: of a file, a command, a variable.
    ends_in_mention: bool,
}

impl Wording {
    /// Those characters of a text.
    pub(crate) fn new(text: &str, keep: impl Fn(char) -> bool) -> Self {
        let last = text.split_whitespace().next_back().unwrap_or_default();
        let mut wording = Self { ends_in_mention: last.starts_with(['@', '#', '$', '/']), ..Self::default() };
        let (mut breaks, mut blank, mut indent) = (false, false, 0);
        for character in text.nfc() {
            if character.is_whitespace() {
                blank = true;
                breaks |= character == '\n';
                indent = if character == '\n' { 0 } else { indent + 1 };
            } else if keep(character) {
                let place = wording.visible.len();
                if std::mem::take(&mut breaks) && place > 0 {
                    wording.breaks.push(place);
                    wording.indents.push(indent);
                }
                indent = 0;
                wording.gaps.extend(std::mem::take(&mut blank).then_some(place).filter(|_| place > 0));
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

    /// Whether these rows show it, whole or its end. A row may begin with a prompt, which may also be a part of the
    /// text if it is not the first; and signs that frames, scroll bars and cursors are drawn with may stand beside it.
    pub(crate) fn stands_in(&self, rows: &[ShownRow], keep: impl Fn(char) -> bool, whole: bool) -> bool {
        let kept = |text: &str| -> String { text.nfc().filter(|character| keep(*character)).collect() };
        let (mut end, mut begins) = (self.visible.len(), Vec::new());
        for (number, row) in rows.iter().enumerate().rev() {
            let left = &self.visible[..end];
            let text = kept(&row.text);
            let prompted = (number > 0).then(|| kept(&row.prompt) + &text);
            let known = prompted.filter(|row| left.ends_with(row.as_str())).or_else(|| {
                // The most of it that is the text.
                undecorated(&text).find(|text| left.ends_with(text)).map(str::to_owned)
            });
            let Some(known) = known else { return false };
            end -= known.len();
            begins.push(end);
            if row.text.contains(is_break_sign) {
                // Some draw a line break as a sign, and the next line behind it.
                begins.extend(self.breaks.iter().copied().filter(|place| *place >= end));
            }
        }
        let broken = |place: &usize| *place <= end || begins.contains(place);
        (end == 0 || !whole) && self.breaks.iter().all(broken)
    }

    /// Whether a text ends with what comes behind its last line break, as far as it reaches, with nothing but such signs
    /// beside it.
    pub(crate) fn ends(&self, row: &str) -> bool {
        let last = &self.visible[self.breaks.last().copied().unwrap_or(0)..];
        undecorated(row).any(|row| row.ends_with(last) || last.ends_with(row))
    }

    /// Where another text has this one, with nothing but white space, or what encloses it, beside it; and what of its white
    /// space is otherwise there.
    fn found_in(&self, told: &str) -> Option<Spacing> {
        let other = Self::visible(told);
        let is_edge = |place: usize| {
            place == 0 || place == other.visible.len() || other.gaps.binary_search(&place).is_ok()
        };
        let places = other.visible.match_indices(self.visible.as_str()).filter(|(at, _)| {
            let end = at + self.visible.len();
            let before = other.visible[..*at].chars().next_back();
            let behind = other.visible[end..].chars().next();
            encloses(
                before.filter(|_| !is_edge(*at)),
                behind.filter(|_| !is_edge(end) && !self.ends_in_mention),
            )
        });
        let spacing = |at: usize| {
            let within = |place: &&usize| **place > at && **place < at + self.visible.len();
            let gaps = other.gaps.iter().filter(within).map(|place| place - at);
            let line = |place: &usize| other.breaks.binary_search(&(at + place)).ok();
            let broken = |place: &usize| line(place).is_some();
            let mut indented = self.breaks.iter().zip(&self.indents).filter(|(_, indent)| **indent > 0);
            let flat = |place: &usize| line(place).is_some_and(|line| other.indents[line] == 0);
            match gaps.eq(self.gaps.iter().copied()) {
                _ if !self.breaks.iter().all(broken) => Spacing::Unbroken,
                false => Spacing::Other,
                true if indented.any(|(place, _)| flat(place)) => Spacing::Flat,
                true => Spacing::Same,
            }
        };
        places.map(|(at, _)| spacing(at)).max()
    }

    /// Compares a text that an agent says it took; `letters` are those of this one, `told_letters` of that one.
    pub(crate) fn compare(&self, letters: &str, told: &str, told_letters: &str) -> Likeness {
        if self.visible.is_empty() {
            return Likeness::Other;
        }
        // Some tell line breaks by their names.
        let spelt = told.replace("\\n", "\n");
        match self.found_in(told).max(self.found_in(&spelt)) {
            Some(Spacing::Same) => return Likeness::Same,
            Some(Spacing::Other) => return Likeness::Differs("blanks are missing or added".into()),
            Some(Spacing::Flat) => return Likeness::Differs("indentation is missing".into()),
            Some(Spacing::Unbroken) => return Likeness::Differs("line breaks are missing".into()),
            None => {}
        }
        let compatible = |text: &str| -> String { text.nfkc().filter(|sign| is_visible(*sign)).collect() };
        let folded = compatible(&self.visible);
        if folded != self.visible && compatible(told).contains(&folded) {
            return Likeness::Same;
        }
        // An excerpt says nothing of the rest.
        if let Some(head) = told.trim_end().strip_suffix('…').or(told.trim_end().strip_suffix("..."))
            && self.visible.starts_with(Self::visible(head).as_str())
        {
            return Likeness::Other;
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

/// How the white space of a text that was found compares, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spacing {
    /// Line breaks are missing.
    Unbroken,
    /// The beginnings of lines are not indented any more.
    Flat,
    /// Blanks are missing or added.
    Other,
    Same,
}

/// A row as it is, and with ever fewer of the signs at its ends that something may be drawn with.
fn undecorated(row: &str) -> impl Iterator<Item = &str> {
    let drawn = |sign: char| {
        matches!(sign, '|' | '_' | '>' | '<' | '.' | ':' | '\\' | '+' | '-' | '=' | '~' | '*' | '#')
    };
    let lead = row.len() - row.trim_start_matches(drawn).len();
    let tail = row.len() - row.trim_end_matches(drawn).len();
    (0..=lead + tail).flat_map(move |less| {
        let cuts = less.saturating_sub(tail)..=less.min(lead);
        cuts.filter_map(move |cut| row.get(cut..row.len().checked_sub(less - cut)?))
    })
}

/// Whether a character is a sign for a line break.
fn is_break_sign(character: char) -> bool {
    matches!(character, '⏎' | '↵' | '↩' | '¶' | '␤' | '␊')
}

/// Whether what stands right beside a text says that it is quoted, tagged, or told by somebody.
fn encloses(before: Option<char>, behind: Option<char>) -> bool {
    match (before, behind) {
        (None | Some(':' | '>'), None | Some('<')) => true,
        (Some(open), Some(close)) => {
            let pairs: Vec<char> = "\"\"''``()[]{}“”‘’«»「」".chars().collect();
            pairs.chunks_exact(2).any(|pair| pair == [open, close])
        }
        _ => false,
    }
}

/// Whether a character leaves a trace that every program shows.
pub(crate) fn is_visible(character: char) -> bool {
    let invisible = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}');
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
            ("a\u{202e}b\u{ad}c", "abc"),
            ("fix it", "User:fix it"),
            ("fix it", "[fix it]"),
            ("look at @work", "look at @work.sh\n--- Content ---"),
            ("fix it", "She said “fix it”"),
            ("fix\nit", r"fix\nit"),
            ("ｆｉｘ it①", "fix it1"),
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
            ("def f(x):\n    if x:\n\t\treturn", "def f(x):\nif x:\nreturn", "indentation is missing"),
            ("please do not", "pleasedo not", "blanks are missing or added"),
            ("rm -rf x/*", "rm -rf x /*", "blanks are missing or added"),
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
            // An excerpt says nothing of the rest.
            ("fix the bug in the parser and in the lexer", "fix the bug in the parser an…"),
            ("fix the bug", ""),
            ("", "fix"),
            (" \n", "fix"),
        ] {
            assert_eq!(likeness(sent, told), Likeness::Other, "{sent:?} {told:?}");
        }
    }
}
