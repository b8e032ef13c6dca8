//! Output as lines of text.

use ostler_screen::{Screen, Size};

use super::painted::Painted;

/// Lines that a program may redraw before they are printed; what scrolls out of this was long printed.
pub(super) const SCROLLBACK: usize = 10_000;
/// Output of a program that paints is looked at after so many bytes at the latest.
const PIECE: usize = 4_096;
/// Turns output into lines of text.
///
/// Of a program that writes one line after the other, a line is finished when the cursor has left it downwards. Of one that
/// paints, lines are what leaves its screen, and what stands on it in the end.
pub(super) struct Lines {
    screen: Screen,
    /// Absolute number of the first line that was not printed.
    next: u64,
    /// It paints.
    painted: Option<Painted>,
}

impl Lines {
    pub(super) fn new(size: Size) -> Self {
        Self { screen: Screen::new(size, SCROLLBACK), next: 0, painted: None }
    }

    pub(super) fn size(&self) -> Size {
        self.screen.size()
    }

    pub(super) fn resize(&mut self, size: Size) {
        self.screen.resize(size);
    }

    /// Takes output and returns the lines that are finished by it.
    pub(super) fn feed(&mut self, bytes: &[u8], now: bool) -> String {
        let mut out = String::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.painted.is_none() {
                // Pieces small enough that no line scrolls away unprinted.
                let end = first_paint(rest).unwrap_or(rest.len()).min(SCROLLBACK);
                drop(self.screen.feed(&rest[..end]));
                if now
                    || end < rest.len()
                    || self.screen.top_line() - self.screen.first_line() > SCROLLBACK as u64 / 2
                {
                    out += &self.finished();
                }
                rest = &rest[end..];
                if first_paint(rest) == Some(0) {
                    self.painted = Some(Painted::default());
                }
            } else {
                let end = frame_end(rest);
                drop(self.screen.feed(&rest[..end]));
                rest = &rest[end..];
                out += &self.picture();
            }
        }
        out
    }

    /// What stands still on the screen of a program that paints; `quiet` says that nothing moves at all.
    pub(super) fn still(&mut self, quiet: bool) -> String {
        self.painted.as_mut().map_or_else(String::new, |painted| joined(&painted.still(quiet)))
    }

    /// What is on the screen at the end.
    pub(super) fn rest(&mut self) -> String {
        if self.painted.is_some() {
            let mut out = self.picture();
            out += &self.painted.as_mut().map_or_else(String::new, |painted| joined(&painted.rest()));
            return out;
        }
        let all = self.screen.first_line() + self.screen.history_text().len() as u64;
        let rest = self.take(all).join("\n");
        let text = rest.trim_end_matches('\n');
        if text.is_empty() { String::new() } else { format!("{text}\n") }
    }

    fn finished(&mut self) -> String {
        if self.screen.modes().alternate_screen {
            return String::new();
        }
        let end = self.screen.top_line() + u64::from(self.screen.cursor().row);
        joined_all(&self.take(end))
    }

    /// What the screen of a program that paints shows now; returns what left it.
    fn picture(&mut self) -> String {
        let top = if self.screen.modes().alternate_screen { self.next } else { self.screen.top_line() };
        let scrolled = self.take(top);
        let Some(painted) = &mut self.painted else { return String::new() };
        let mut out = painted.scrolled(&scrolled);
        let rows = self.screen.rows().into_iter().map(|row| row.text.trim_end().to_owned()).collect();
        out.extend(painted.picture(rows, scrolled.len()));
        joined(&out)
    }

    fn take(&mut self, end: u64) -> Vec<String> {
        let first = self.screen.first_line();
        let begin = self.next.max(first);
        if end <= begin {
            return Vec::new();
        }
        let skip = usize::try_from(begin - first).unwrap_or(usize::MAX);
        let count = usize::try_from(end - begin).unwrap_or(usize::MAX);
        self.next = end;
        self.screen.history_text().into_iter().skip(skip).take(count).collect()
    }
}

fn joined(lines: &[String]) -> String {
    joined_all(lines)
}

fn joined_all(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// A control sequence: where it begins and ends, what it is, and its first number.
struct Control<'a> {
    begin: usize,
    end: usize,
    params: &'a [u8],
    action: u8,
}

impl Control<'_> {
    /// The next one from here on.
    fn next(bytes: &[u8], from: usize) -> Option<Control<'_>> {
        let begin = memchr::memmem::find(bytes.get(from..)?, b"\x1b[")? + from;
        let params = begin + 2;
        let length = bytes[params..].iter().position(|byte| (0x40..0x7f).contains(byte))?;
        let end = params + length;
        Some(Control { begin, end: end + 1, params: &bytes[params..end], action: bytes[end] })
    }

    /// The row that it goes to.
    fn row(&self) -> u32 {
        let digits = self.params.split(|byte| *byte == b';').next().unwrap_or_default();
        std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(1)
    }

    /// Only programs that paint write it: they go to a place on the screen, or up, or begin a frame or another screen.
    fn paints(&self) -> bool {
        match self.action {
            b'H' | b'f' | b'A' => true,
            b'h' => matches!(self.params, b"?1049" | b"?1047" | b"?2026"),
            _ => false,
        }
    }
}

/// Where a program begins to paint.
fn first_paint(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(control) = Control::next(bytes, from) {
        if control.paints() {
            return Some(control.begin);
        }
        from = control.end;
    }
    None
}

/// Where the frame ends with which these bytes begin: where it says so, or before it goes up again to paint the next.
fn frame_end(bytes: &[u8]) -> usize {
    let bytes = &bytes[..bytes.len().min(PIECE)];
    let (mut from, mut last, mut drawn) = (0, 0, false);
    while let Some(control) = Control::next(bytes, from) {
        drawn |= bytes[from..control.begin].iter().any(|byte| *byte > b' ');
        let up = match control.action {
            b'H' | b'f' => control.row() <= std::mem::replace(&mut last, control.row()),
            b'A' => true,
            _ => false,
        };
        if up && drawn {
            return control.begin;
        }
        if control.action == b'l' && control.params == b"?2026" {
            return control.end;
        }
        from = control.end;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(output: &[&str], now: bool) -> Vec<String> {
        let mut lines = Lines::new(Size::clamped(20, 5));
        let mut said: Vec<String> = output.iter().map(|bytes| lines.feed(bytes.as_bytes(), now)).collect();
        said.push(lines.rest());
        said
    }

    #[test]
    fn lines_are_said_when_the_cursor_leaves_them() {
        assert_eq!(said(&["one\r\ntwo\rTWO\r\nth", "ree"], true), ["one\nTWO\n", "", "three\n"]);
        assert_eq!(said(&["one\r\ntwo"], false), ["", "one\ntwo\n"]);
    }

    #[test]
    fn of_a_painter_all_is_said_that_was_on_its_screen() {
        let frame = |rows: &[&str]| format!("\x1b[H{}\x1b[K", rows.join("\x1b[K\r\n"));
        for before in ["", "\x1b[?1049h"] {
            let output = [
                before.to_owned(),
                frame(&["> one", "first", "> two", ">>"]),
                frame(&["first", "> two", "second", ">>"]),
                frame(&["> two", "second", "third", ">>"]),
            ];
            let output: Vec<&str> = output.iter().map(String::as_str).collect();
            let all = said(&output, false).concat();
            assert_eq!(all, "> one\nfirst\n> two\nsecond\nthird\n>>\n", "{before:?}");
        }
    }

    #[test]
    fn a_painter_that_scrolls_is_said_once() {
        // It clears the rows of its prompt, writes, and paints the prompt again.
        let output = ["\x1b[Ha\r\nb\r\n>>", "\x1b[3;1H\x1b[Kc\r\nd\r\ne\r\nf\r\n>>"];
        assert_eq!(said(&output, false).concat(), "a\nb\nc\nd\ne\nf\n>>\n");
    }
}
