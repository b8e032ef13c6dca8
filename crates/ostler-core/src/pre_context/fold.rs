//! Making one short line of any text.

/// Stands for what was left out.
const ELLIPSIS: char = '…';
/// A name longer than this is looked at from its end only.
const NAME_BYTES: usize = 256;

/// Writes a text as a part of one line, `max` characters at most, the beginning if it is longer.
///
/// White space and control characters become one space, invisible characters vanish, double quotes become single
/// ones, and no three hyphens follow each other: what is written can neither end its line, nor its quotation, nor
/// look like a delimiter.
pub(super) fn fold(text: &str, max: usize, into: &mut String) {
    let start = into.len();
    // Where to cut if one more character comes than fits.
    let mut last = start;
    for (count, c) in Folded::new(text).enumerate() {
        if count == max {
            into.truncate(last);
            while into.len() > start && into.ends_with(' ') {
                into.pop();
            }
            into.push(ELLIPSIS);
            return;
        }
        last = into.len();
        into.push(c);
    }
}

/// Writes a file's name likewise, but its end if it is longer: there it says most.
pub(super) fn fold_name(name: &str, max: usize, into: &mut String) {
    let tail = name.len().saturating_sub(NAME_BYTES);
    let tail = (tail..=name.len()).find(|at| name.is_char_boundary(*at)).unwrap_or_default();
    let folded: Vec<char> = Folded::new(&name[tail..]).collect();
    if tail == 0 && folded.len() <= max {
        into.extend(folded);
    } else {
        let kept = folded.len().saturating_sub(max.saturating_sub(1));
        into.push(ELLIPSIS);
        into.extend(&folded[kept..]);
    }
}

/// Whether anything of a text is left when it is folded.
pub(super) fn is_blank(text: &str) -> bool {
    Folded::new(text).next().is_none()
}

/// The characters of a text, made harmless.
struct Folded<'a> {
    chars: std::str::Chars<'a>,
    /// A character that waits behind a space.
    next: Option<char>,
    hyphens: usize,
    begun: bool,
}

impl<'a> Folded<'a> {
    fn new(text: &'a str) -> Self {
        Self { chars: text.chars(), next: None, hyphens: 0, begun: false }
    }
}

impl Iterator for Folded<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if let Some(c) = self.next.take() {
            return Some(c);
        }
        let mut space = false;
        for c in self.chars.by_ref() {
            let c = match c {
                _ if is_invisible(c) => continue,
                _ if c.is_whitespace() || c.is_control() => {
                    space = true;
                    continue;
                }
                '"' => '\'',
                _ => c,
            };
            let space = space && self.begun;
            self.hyphens = match c {
                '-' if space => 1,
                '-' => self.hyphens + 1,
                _ => 0,
            };
            if self.hyphens > 2 {
                continue;
            }
            self.begun = true;
            if space {
                self.next = Some(c);
                return Some(' ');
            }
            return Some(c);
        }
        None
    }
}

/// Characters that are not seen, or that turn the direction of those around them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
