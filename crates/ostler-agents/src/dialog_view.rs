//! What a dialog on a screen says: what it is about, the rows to choose from, and which of them is selected.
//!
//! Most agents draw dialogs alike: numbered rows, or rows below one another in one column, with a mark before the selected
//! one. A rule's [`ChoiceSpec`] tells what differs. Rows are looked for from the bottom up and only below where the dialog
//! begins: an agent quotes dialogs, and commands hold their words.

use ostler_screen::{Color, Screen};
use regex::Regex;

use crate::rule::{Answer, ChoiceSpec};
use crate::speech::Speech;

/// Most rows above the choices that belong to a dialog.
const TALL: usize = 25;
/// The same where nothing shows where it begins.
const SHORT: usize = 8;
/// Most rows that a description of a choice takes.
const GAP: usize = 6;
/// What stands before a selected row.
const MARKS: &[char] = &['❯', '›', '▶', '►', '→', '●', '◉', '»'];
/// What dialogs are framed with.
const BARS: &[char] = &['│', '┃', '|', '║', '▌'];

/// What a dialog says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DialogText {
    /// What it asks, and the command or file that it is about.
    pub about: Vec<String>,
    /// What can be chosen.
    pub options: Vec<Choosable>,
    /// Which of these is selected, if that can be told.
    pub selected: Option<usize>,
    /// The choices stand beside one another.
    pub across: bool,
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choosable {
    /// Its number, where it has one.
    pub number: Option<u32>,
    /// Its words.
    pub label: String,
    /// Where it is: its row, or its column where the choices stand beside one another.
    pub place: u16,
}

/// A row of the screen without frame.
struct Line {
    /// Column of the first character that is neither blank nor frame.
    indent: usize,
    /// Without blanks and frames around it.
    text: String,
    /// The whole row.
    row: String,
}

impl Line {
    fn new(row: String) -> Self {
        let is_edge = |c: char| c == ' ' || BARS.contains(&c);
        let indent = row.chars().take_while(|c| is_edge(*c)).count();
        let text = row.trim_matches(is_edge).to_owned();
        Self { indent, text, row }
    }

    fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// A line that is drawn, as long as most of a screen is wide.
    fn is_rule(&self) -> bool {
        self.text.chars().count() >= 20 && self.text.chars().all(|c| ('\u{2500}'..='\u{259f}').contains(&c))
    }

    /// One between two parts of a dialog.
    fn is_thin(&self) -> bool {
        self.text.starts_with(['╌', '┄', '┈', '╭', '╰'])
    }

    fn column_of(&self, corner: &[char]) -> Option<usize> {
        self.row
            .chars()
            .position(|c| c != ' ')
            .filter(|at| self.row.chars().nth(*at).is_some_and(|c| corner.contains(&c)))
    }
}

impl DialogText {
    /// Reads the dialog that a rule sees from this row on, or somewhere.
    pub fn read(
        screen: &Screen,
        begins: Option<u16>,
        answer: Option<&Answer>,
        choice: Option<&ChoiceSpec>,
        speech: Option<&Speech>,
    ) -> Self {
        let mut text = String::new();
        let lines: Vec<Line> = (0..screen.size().rows)
            .map(|row| {
                screen.read_row(row, &mut text);
                Line::new(text.clone())
            })
            .collect();
        let spec = choice.cloned().unwrap_or_default();
        let selected = spec.selected.as_deref().or(answer.and_then(|answer| answer.selected.as_deref()));
        let reading = Reading {
            screen,
            lines: &lines,
            marks: selected.and_then(|pattern| Regex::new(pattern).ok()),
            by_colour: spec.by_colour,
        };
        let begins = begins.map(usize::from).filter(|row| *row < lines.len());
        // The row that a rule sees may be the selected one.
        let floor = begins.map_or(0, |row| top(&lines, row, speech));
        let buttons = spec.buttons.as_deref().and_then(|pattern| Regex::new(pattern).ok());
        let found = buttons
            .and_then(|buttons| reading.buttons(&buttons, floor))
            .or_else(|| reading.numbered(floor))
            // The selected one may be the only one below a line.
            .or_else(|| reading.numbered(top(&lines, floor.saturating_sub(2), speech)))
            .or_else(|| reading.marked(floor));
        let (first, mut dialog) = found.unwrap_or_default();
        let last = lines.iter().rposition(|line| !line.is_blank()).map_or(0, |row| row + 1);
        let anchor = match (dialog.options.is_empty(), begins) {
            (false, _) => first,
            (true, Some(begins)) => begins,
            (true, None) => last.saturating_sub(1),
        };
        let from = top(&lines, anchor, speech).min(begins.unwrap_or(anchor));
        // Without choices, what it asks may go on below the row that the rule knows.
        let to = if dialog.options.is_empty() { last } else { first };
        let about = lines.get(from..to.max(from)).unwrap_or_default().iter();
        let about = about.filter(|line| !line.is_blank() && !line.is_rule() && !line.is_thin());
        dialog.about = about.map(|line| line.text.clone()).collect();
        dialog
    }
}

/// The first row of what stands around a row.
fn top(lines: &[Line], anchor: usize, speech: Option<&Speech>) -> usize {
    let bar = lines[anchor].column_of(&['│', '┃', '|', '║']);
    let framed = bar.map(|column| (column, lines[anchor].row.chars().nth(column).unwrap_or('│')));
    let lowest = anchor.saturating_sub(TALL);
    for row in (lowest..anchor).rev() {
        let line = &lines[row];
        let begins = if let Some((column, bar)) = framed {
            let at = line.row.chars().nth(column);
            at.is_some_and(|c| "╭┌┏".contains(c)) || at != Some(bar)
        } else {
            let says =
                |speech: &Speech| speech.prompt.is_match(&line.row) || speech.reply.is_match(&line.row);
            speech.is_some_and(says) || line.is_rule() && !line.is_thin()
        };
        if begins {
            return row + 1;
        }
    }
    if framed.is_some() { lowest } else { anchor.saturating_sub(SHORT) }
}

struct Reading<'a> {
    screen: &'a Screen,
    lines: &'a [Line],
    /// What a selected row looks like.
    marks: Option<Regex>,
    by_colour: bool,
}

impl Reading<'_> {
    /// Rows with numbers from 1 on, the last ones on the screen.
    fn numbered(&self, floor: usize) -> Option<(usize, DialogText)> {
        let found: Vec<(usize, u32, String)> = (floor..self.lines.len())
            .filter_map(|row| {
                let (number, label) = numbered(unmarked(&self.lines[row].text).0)?;
                Some((row, number, label))
            })
            .collect();
        let mut rows: Vec<&(usize, u32, String)> = Vec::new();
        for entry in found.iter().rev() {
            match rows.last() {
                None => rows.push(entry),
                Some((below, number, _)) if entry.1 + 1 == *number && below - entry.0 <= GAP => {
                    rows.push(entry);
                }
                // It may belong to what stands between two of them.
                Some((_, number, _)) if *number > 1 => {}
                Some(_) => break,
            }
        }
        rows.reverse();
        if rows.first()?.1 != 1 || rows.len() < 2 {
            return None;
        }
        let options: Vec<Choosable> = rows
            .iter()
            .map(|(row, number, label)| Choosable {
                number: Some(*number),
                label: label.clone(),
                place: u16::try_from(*row).unwrap_or(u16::MAX),
            })
            .collect();
        let selected = self.selected(&options);
        // A list that nothing is selected of is prose.
        selected?;
        Some((rows[0].0, DialogText { options, selected, ..DialogText::default() }))
    }

    /// Rows in one column with the one that is marked.
    fn marked(&self, floor: usize) -> Option<(usize, DialogText)> {
        let is_marked = |row: &usize| {
            let line = &self.lines[*row];
            let (label, by_itself) = unmarked(&line.text);
            !label.is_empty() && self.marks.as_ref().map_or(by_itself, |marks| marks.is_match(&line.row))
        };
        let marked = (floor..self.lines.len()).rev().find(is_marked)?;
        let line = &self.lines[marked];
        let column = line.indent + line.text.chars().count() - unmarked(&line.text).0.chars().count();
        let fits = |row: usize| {
            let line = &self.lines[row];
            !line.is_blank() && !line.is_rule() && (row == marked || line.indent == column)
        };
        let first = (floor..marked).rev().take_while(|row| fits(*row)).last().unwrap_or(marked);
        let end = (marked..self.lines.len()).take_while(|row| fits(*row)).last()? + 1;
        if end - first < 2 {
            return None;
        }
        let options = (first..end).map(|row| Choosable {
            number: None,
            label: words(unmarked(&self.lines[row].text).0),
            place: u16::try_from(row).unwrap_or(u16::MAX),
        });
        let (options, selected) = (options.collect(), Some(marked - first));
        Some((first, DialogText { options, selected, ..DialogText::default() }))
    }

    /// Choices beside one another in the last row that has some of them.
    fn buttons(&self, buttons: &Regex, floor: usize) -> Option<(usize, DialogText)> {
        let has = |row: &usize| buttons.find_iter(&self.lines[*row].row).count() >= 2;
        let row = (floor..self.lines.len()).rev().find(has)?;
        let text = &self.lines[row].row;
        let options: Vec<Choosable> = buttons
            .find_iter(text)
            .map(|found| Choosable {
                number: None,
                label: found.as_str().to_owned(),
                place: u16::try_from(text[..found.start()].chars().count()).unwrap_or(u16::MAX),
            })
            .collect();
        let row_number = u16::try_from(row).unwrap_or(u16::MAX);
        let colours: Vec<_> = options.iter().map(|option| self.colour(row_number, option.place)).collect();
        let selected = odd(&colours);
        Some((row, DialogText { options, selected, across: true, ..DialogText::default() }))
    }

    /// The one choice that is selected.
    fn selected(&self, options: &[Choosable]) -> Option<usize> {
        if self.by_colour {
            let colour = |option: &Choosable| {
                let indent = self.lines.get(usize::from(option.place)).map_or(0, |line| line.indent);
                self.colour(option.place, u16::try_from(indent).unwrap_or(0))
            };
            return odd(&options.iter().map(colour).collect::<Vec<_>>());
        }
        let is_marked = |option: &Choosable| {
            let line = &self.lines[usize::from(option.place)];
            self.marks.as_ref().map_or(unmarked(&line.text).1, |marks| marks.is_match(&line.row))
        };
        let mut marked = options.iter().enumerate().filter(|(_, option)| is_marked(option));
        match (marked.next(), marked.next()) {
            (Some((at, _)), None) => Some(at),
            _ => None,
        }
    }

    /// The background of a cell.
    fn colour(&self, row: u16, column: u16) -> (Option<Color>, bool) {
        let spans = self.screen.row(row).spans;
        let span = spans.iter().find(|span| (span.start..span.end).contains(&column));
        span.map_or((None, false), |span| (span.style.bg, span.style.reverse))
    }
}

/// The one that is not like the others, where there are others to compare.
fn odd<T: PartialEq>(all: &[T]) -> Option<usize> {
    let alone = |at: &usize| all.iter().filter(|other| **other == all[*at]).count() == 1;
    let mut found = (0..all.len()).filter(alone);
    match (found.next(), found.next()) {
        (Some(at), None) if all.len() > 2 => Some(at),
        _ => None,
    }
}

/// A text without the mark of a selected row, and whether it had one.
fn unmarked(text: &str) -> (&str, bool) {
    match text.strip_prefix(MARKS) {
        Some(rest) if rest.starts_with([' ', '\u{fe0e}']) => {
            (rest.trim_start_matches([' ', '\u{fe0e}']), true)
        }
        _ => (text, false),
    }
}

/// The number and the words of `1. words`.
fn numbered(text: &str) -> Option<(u32, String)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    let rest = rest.strip_prefix(['.', ')'])?;
    let number = number.parse().ok().filter(|number| (1..100).contains(number))?;
    let label = words(rest.trim_start());
    (rest.starts_with(' ') && !label.is_empty()).then_some((number, label))
}

/// The words of a choice, without what stands in a column of its own behind them.
fn words(text: &str) -> String {
    text.split("  ").next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use ostler_screen::Size;

    use super::*;

    fn screen(text: &str) -> Screen {
        let mut screen = Screen::new(Size::clamped(60, 20), 0);
        drop(screen.feed(text.replace('\n', "\r\n").as_bytes()));
        screen
    }

    fn read(text: &str) -> DialogText {
        DialogText::read(&screen(text), None, None, None, None)
    }

    fn told(dialog: &DialogText) -> String {
        let options: Vec<String> = dialog
            .options
            .iter()
            .map(|option| {
                let number = option.number.map(|number| format!("{number}=")).unwrap_or_default();
                format!("{number}{}", option.label)
            })
            .collect();
        format!("{} | {} | {:?}", dialog.about.join("/"), options.join(", "), dialog.selected)
    }

    const RULE: &str = "────────────────────────────────────────";

    #[test]
    fn numbered_rows_are_read_with_what_stands_between_them() {
        let text = format!(
            "1. Not this\n2. Nor this\n{RULE}\n ☐ Colour\nWhich one?\n  1. Red\n     Like fire\n❯ 2. Blue\n  3. Type something.\n{RULE}\n  4. Chat\nEnter to select"
        );
        let expected = "☐ Colour/Which one? | 1=Red, 2=Blue, 3=Type something., 4=Chat | Some(1)";
        assert_eq!(told(&read(&text)), expected);
    }

    #[test]
    fn frames_are_no_part_of_it() {
        let text = "1. one\n2. two\n╭────────────╮\n│ ? Shell ls │\n│ ╭────────╮ │\n│ │ ls     │ │\n│ ╰────────╯ │\n│ Allow?     │\n│ ● 1. Once  │\n│   2. No    │\n╰────────────╯";
        assert_eq!(told(&read(text)), "? Shell ls/ls/Allow? | 1=Once, 2=No | Some(0)");
    }

    #[test]
    fn rows_without_numbers_stand_in_the_column_of_the_selected_one() {
        let text =
            format!("{RULE}\n Trust it?\n Guide\n\n   No, exit\n ❯ Yes, I trust it\n\n Enter to confirm");
        assert_eq!(told(&read(&text)), "Trust it?/Guide | No, exit, Yes, I trust it | Some(1)");
        assert_eq!(read("❯ just a prompt\n\n  and a text").options, [], "one alone is no choice");
    }

    #[test]
    fn lists_without_a_selected_row_are_prose() {
        assert_eq!(read("1. one\n2. two\n3. three").options, []);
        let two = read("❯ 1. one\n❯ 2. two");
        assert_eq!((two.options, two.selected), (vec![], None), "nobody knows which");
    }

    #[test]
    fn a_column_of_hints_is_no_part_of_a_choice() {
        let text = "• Working\n  Question 1/1\n  › 1. Red                Warm\n    2. None of the above  Add notes\n\n  enter to submit";
        assert_eq!(told(&read(text)), "• Working/Question 1/1 | 1=Red, 2=None of the above | Some(0)");
    }

    #[test]
    fn colours_tell_where_no_mark_does() {
        let choice = ChoiceSpec {
            buttons: Some("Once|Always|Reject".into()),
            by_colour: true,
            ..ChoiceSpec::default()
        };
        let text = "┃ Permission required\n┃ $ ls\n┃ Once   \x1b[48;5;3mAlways\x1b[0m   Reject   esc";
        let dialog = DialogText::read(&screen(text), Some(0), None, Some(&choice), None);
        assert_eq!(told(&dialog), "Permission required/$ ls | Once, Always, Reject | Some(1)");
        assert!(dialog.across && dialog.options[0].place < dialog.options[1].place);
        let rows = "┃ Which?\n┃ 1. Red\n┃ \x1b[48;5;3m2. Blue\x1b[0m\n┃ 3. Own\n┃ esc";
        let dialog = DialogText::read(&screen(rows), Some(4), None, Some(&choice), None);
        assert_eq!(told(&dialog), "Which? | 1=Red, 2=Blue, 3=Own | Some(1)");
    }
}
