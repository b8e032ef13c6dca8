//! What a program that paints its screen has said, in lines.
//!
//! Such a program draws the same rows again and again, and what leaves its screen is nowhere else. Two pictures of the
//! screen tell what left it: the rows that stood above those which moved up. And what stands still for a while is said,
//! though it is still there; what moves, such as a spinner, is not.

/// Rows that a program may keep at the top of its screen.
const HEADER: usize = 3;
/// Rows that it may keep at the bottom.
const FOOTER: usize = 8;
/// Letters that a row has that is known again by itself.
const DISTINCT: usize = 5;
/// Lines that were said between two others, and are gone, at most.
const BETWEEN: usize = 12;
/// Lines that were said are known again among so many.
const KNOWN: usize = 600;

/// The lines of a program that paints.
#[derive(Debug, Default)]
pub(super) struct Painted {
    /// The last picture.
    rows: Vec<String>,
    /// The last picture in which what stands still was looked for.
    settled: Vec<String>,
    /// The last lines that were said.
    said: Vec<String>,
}

impl Painted {
    /// Takes a picture, of which so many rows went into the terminal's own history since the last one; returns the
    /// lines that left the screen otherwise.
    pub(super) fn picture(&mut self, rows: Vec<String>, scrolled: usize) -> Vec<String> {
        self.rows.drain(..scrolled.min(self.rows.len()));
        let gone = gone(&self.rows, &rows);
        self.rows = rows;
        self.say(&gone)
    }

    /// What stands still on the screen, and was not said; `quiet` says that nothing moves at all.
    pub(super) fn still(&mut self, quiet: bool) -> Vec<String> {
        let still: Vec<String> = if quiet {
            self.rows.clone()
        } else {
            // What did not move may have been pushed up or down by what did.
            self.rows.iter().take_while(|row| row.is_empty() || self.settled.contains(row)).cloned().collect()
        };
        self.settled.clone_from(&self.rows);
        self.say(&still)
    }

    /// Lines that went into the terminal's own history.
    pub(super) fn scrolled(&mut self, lines: &[String]) -> Vec<String> {
        self.say(lines)
    }

    /// What is left on the screen.
    pub(super) fn rest(&mut self) -> Vec<String> {
        let rows = std::mem::take(&mut self.rows);
        self.say(&rows)
    }

    /// Says lines, but for those that were said: from the first that is new.
    fn say(&mut self, lines: &[String]) -> Vec<String> {
        let mut lines: Vec<String> = lines.to_vec();
        lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
        let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
        let lines = &lines[first..];
        let new = lines.get(self.known(lines)..).unwrap_or_default();
        let end = new.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
        let new = new[..end].to_vec();
        self.said.extend(new.iter().filter(|line| !line.is_empty()).cloned());
        let surplus = self.said.len().saturating_sub(KNOWN);
        self.said.drain(..surplus);
        new
    }

    /// How many of these lines, from the first on, were said already, one behind the other. What was said between them, such
    /// as a prompt, may be gone.
    fn known(&self, lines: &[String]) -> usize {
        let full: Vec<usize> = (0..lines.len()).filter(|at| !lines[*at].is_empty()).collect();
        let Some(first) = full.first() else { return 0 };
        let begins = (0..self.said.len()).filter(|from| self.said[*from] == lines[*first]);
        let known = |from: usize| {
            let mut next = from;
            let mut count = 0_usize;
            for at in &full {
                let near = self.said[next..].iter().take(BETWEEN);
                let Some(skip) = near.into_iter().position(|said| *said == lines[*at]) else { break };
                next += skip + 1;
                count += 1;
            }
            count
        };
        let best = begins.map(known).max().unwrap_or(0);
        best.checked_sub(1).and_then(|last| full.get(last)).map_or(0, |at| at + 1)
    }
}

/// The rows of a picture that are above everything in the next one.
fn gone(before: &[String], after: &[String]) -> Vec<String> {
    let is_full = |row: &&String| !row.is_empty();
    if before.iter().filter(is_full).count() < 2 {
        return Vec::new();
    }
    let top = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    if top > HEADER {
        return Vec::new();
    }
    let run = |by: usize| {
        let pairs = before[top + by..].iter().zip(&after[top..]);
        pairs.take_while(|(before, after)| before == after).filter(|(row, _)| !row.is_empty()).count()
    };
    let limit = before.len().saturating_sub(top);
    let best = (1..limit).map(|by| (run(by), by)).max_by_key(|(run, by)| (*run, std::cmp::Reverse(*by)));
    // One row alone has to be like no other.
    let is_plain = |by: usize| {
        let row = &before[top + by];
        let once = |rows: &[String]| rows.iter().filter(|other| *other == row).count() == 1;
        row.chars().filter(|c| c.is_alphanumeric()).count() >= DISTINCT && once(before) && once(after)
    };
    match best {
        Some((run, by)) if run >= 2 || run == 1 && is_plain(by) => before[top..top + by].to_vec(),
        _ => body(before, after, top).to_vec(),
    }
}

/// What stood between what stays at the top and at the bottom, if nothing of it is left.
fn body<'a>(before: &'a [String], after: &[String], top: usize) -> &'a [String] {
    // The rows of a prompt, some of which may tell of something else now.
    let lowest = before.len().saturating_sub(FOOTER).max(top);
    let stays = |at: &usize| !before[*at].is_empty() && after.get(*at) == Some(&before[*at]);
    let bottom = (lowest..before.len()).find(stays).unwrap_or(before.len());
    let body = &before[top..bottom];
    let full = body.iter().filter(|row| !row.is_empty());
    let (all, left) =
        full.fold((0, 0), |(all, left), row| (all + 1, left + usize::from(after.contains(row))));
    if all >= 2 && left * 5 < all { body } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn what_leaves_the_screen_is_said_once() {
        let mut painted = Painted::default();
        assert!(painted.picture(rows("a|b|c|> |hint"), 0).is_empty());
        assert!(painted.picture(rows("a|b|c|d|> "), 0).is_empty());
        assert_eq!(painted.picture(rows("c|d|e|> |hint"), 0), ["a", "b"]);
        assert_eq!(painted.picture(rows("d|e|f|> |hint"), 0), ["c"]);
        assert_eq!(painted.rest(), ["d", "e", "f", "> ", "hint"]);
        assert!(painted.rest().is_empty());
    }

    #[test]
    fn a_header_stays_and_a_row_that_goes_away_in_the_middle_is_nothing() {
        let mut painted = Painted::default();
        let _ = painted.picture(rows("head|a|b|c|d"), 0);
        assert_eq!(painted.picture(rows("head|b|c|d|e"), 0), ["a"]);
        let mut painted = Painted::default();
        let _ = painted.picture(rows("a|b|c|d|e|* working|>>|hint"), 0);
        assert!(painted.picture(rows("a|b|c|d|e|>>|hint|"), 0).is_empty());
    }

    #[test]
    fn another_picture_leaves_the_last_one_behind() {
        let mut painted = Painted::default();
        let _ = painted.picture(rows("a|b|c"), 0);
        assert_eq!(painted.picture(rows("x|y|z"), 0), ["a", "b", "c"]);
    }

    #[test]
    fn what_stands_still_is_said_and_what_moves_is_not() {
        let mut painted = Painted::default();
        let _ = painted.picture(rows("> do it|* working 1s|>>"), 0);
        assert!(painted.still(false).is_empty(), "nothing is known to stand still yet");
        let _ = painted.picture(rows("> do it|* working 2s|>>"), 0);
        assert_eq!(painted.still(false), ["> do it"]);
        let _ = painted.picture(rows("> do it|done|>>"), 0);
        assert_eq!(painted.still(true), ["done", ">>"]);
        assert!(painted.still(true).is_empty());
        // What was said and leaves is not said again.
        let _ = painted.picture(rows("> do it|done|more|>>"), 0);
        assert!(painted.picture(rows("done|more|and more|>>"), 0).is_empty());
        assert_eq!(painted.still(true), ["more", "and more", ">>"]);
    }

    #[test]
    fn what_the_terminal_keeps_is_not_said_twice() {
        let mut painted = Painted::default();
        let _ = painted.picture(rows("a|b|c"), 0);
        assert_eq!(painted.scrolled(&rows("a")), ["a"]);
        assert!(painted.picture(rows("b|c|d"), 1).is_empty());
    }
}
