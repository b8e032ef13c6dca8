//! What stands in one row and goes on in the next.

use ostler_screen::Screen;

/// Rows of one passage at most.
pub(super) const MAX_ROWS: u16 = 6;

/// Columns at the right side that an agent may leave free.
const MARGIN: usize = 4;

/// The text of a row and of those below into which it was broken for want of room.
///
/// Programs break text between words themselves, so that the terminal knows nothing of it. A row was broken if the
/// first word of the next one would not have fitted in. Characters count as one column: with wider ones a passage may
/// end too early, never too late.
pub(super) fn passage(screen: &Screen, first: u16) -> String {
    let size = screen.size();
    let mut row = screen.row(first);
    let mut text = row.text.clone();
    for below in (first + 1..size.rows).take(usize::from(MAX_ROWS) - 1) {
        let next = screen.row(below);
        let Some(word) = next.text.split_whitespace().next() else { break };
        let room = usize::from(size.cols).saturating_sub(row.text.chars().count() + 1);
        if row.wrapped {
            text.push_str(&next.text);
        } else if word.chars().count() + MARGIN > room {
            text.push(' ');
            text.push_str(next.text.trim_start());
        } else {
            break;
        }
        row = next;
    }
    text
}
