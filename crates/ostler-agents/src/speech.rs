//! What an agent says to ostler in its own words: that it has read something, or that it wants its context.
//!
//! Both are lines of its reply. The screen also shows what was typed into the agent, and there the same words stand as
//! part of what it was asked for. An acknowledgement is told from its request by the quotes around the latter, which
//! stay with the words wherever a line is broken. Where a preset says how replies and prompts begin, it counts only within
//! the agent's last reply: what was typed, or a tool printed, may have such a line, too. A wish for context has no id, so
//! without that it does not count at all.
//!
//! An agent's transcript has its words without all that: where there is one, it is the better witness.

use ostler_screen::Screen;
use regex::Regex;

use crate::Composer;

/// The line with which an agent asks for its context.
pub const REQUEST: &str = "->continuity:load";

/// The words before an id with which every agent may confirm a message.
const ACKNOWLEDGE: [&str; 2] = ["ACK:", "Ack:"];

/// Marks of lists and of replies that a line may begin with. What agents set before quotes and prompts is not among
/// them.
const MARKS: &[char] = &['●', '•', '⏺', '✦', '◆', '-', '*', '∙', '·'];
/// Emphasis, as it is written.
const EMPHASIS: &[char] = &['*', '_', '`'];

/// How prompts and replies begin on an agent's screen.
#[derive(Debug, Clone)]
pub struct Speech {
    pub(crate) prompt: Regex,
    pub(crate) reply: Regex,
}

impl Speech {
    /// The lines of the agent's last reply that are on the screen.
    ///
    /// Only those that begin where its text begins: what a tool printed is further in. Lines above the first prompt
    /// or reply that is seen are nobody's.
    pub fn last_reply<'a, R: AsRef<str>>(&self, rows: &'a [R]) -> Vec<&'a str> {
        let mut lines = Vec::new();
        let mut column = None;
        for row in rows.iter().map(AsRef::as_ref) {
            // Where both could be meant, it is a prompt: nothing is taken for the agent's word that may not be.
            if self.prompt.is_match(row) {
                lines.clear();
                column = None;
            } else if let Some(begin) = self.reply.find(row) {
                column = Some(row[..begin.end()].chars().count());
                lines.push(&row[begin.end()..]);
            } else if let Some(column) = column {
                let indent = row.chars().take_while(|c| *c == ' ').count();
                lines.extend((indent == column).then(|| &row[indent..]));
            }
        }
        lines.into_iter().filter(|line| !line.starts_with(' ')).map(without_frame).collect()
    }
}

impl Speech {
    /// The agent's last reply as the screen shows it, with all that is further in; nothing if none is seen.
    pub fn shown_reply<R: AsRef<str>>(&self, rows: &[R]) -> Option<String> {
        let mut lines: Option<Vec<&str>> = None;
        let mut column = None;
        for row in rows.iter().map(AsRef::as_ref) {
            if self.prompt.is_match(row) {
                column = None;
            } else if let Some(begin) = self.reply.find(row) {
                column = Some(row[..begin.end()].chars().count());
                lines = Some(vec![&row[begin.end()..]]);
            } else if let (Some(begin), Some(lines)) = (column, &mut lines) {
                let indent = row.chars().take_while(|c| *c == ' ').count();
                if indent < begin && !row.trim().is_empty() {
                    column = None;
                } else {
                    lines.push(row.get(begin..).unwrap_or_default());
                }
            }
        }
        let lines = lines?.into_iter().map(without_frame).collect::<Vec<_>>();
        Some(lines.join("\n").trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// The rows of a screen that are not its composer or below it: those of the conversation. All rows where no composer is
/// seen.
pub fn rows_above(screen: &Screen, composer: Option<&Composer>) -> Vec<String> {
    let count = usize::from(screen.size().rows);
    let end = composer.map_or(count, |composer| composer.framed.start.min(count));
    let mut rows = Vec::with_capacity(end);
    for row in 0..u16::try_from(end).unwrap_or(u16::MAX) {
        let mut text = String::new();
        screen.read_row(row, &mut text);
        rows.push(text);
    }
    rows
}

/// Whether the agent asks for its context in its last reply: by a line of its own, above its composer.
pub fn requests_context<R: AsRef<str>>(rows: &[R], speech: Option<&Speech>) -> bool {
    speech.is_some_and(|speech| speech.last_reply(rows).iter().any(|line| line.trim_end() == REQUEST))
}

/// Whether text that is typed into the agent has a line like a wish for context: where the screen shows it, nobody can
/// tell whose it is.
pub fn quotes_request(text: &str) -> bool {
    text.lines().any(|line| line.trim() == REQUEST)
}

/// Whether text that the agent wrote asks for context: by a line of its own that is no example in a block of code.
pub fn text_requests_context(text: &str) -> bool {
    let mut fenced = false;
    text.lines().map(str::trim).any(|line| {
        fenced ^= line.starts_with("```") || line.starts_with("~~~");
        !fenced && line == REQUEST
    })
}

/// Which of these ids the agent acknowledges on its screen: in its last reply, where it is known how replies begin.
pub fn acknowledged<'a, R: AsRef<str>>(
    rows: &[R],
    speech: Option<&Speech>,
    ids: &[&'a str],
    words: &[String],
) -> Option<&'a str> {
    match speech {
        Some(speech) => acknowledged_in(&speech.last_reply(rows), ids, words),
        None => acknowledged_in(rows, ids, words),
    }
}

fn acknowledged_in<'a, R: AsRef<str>>(rows: &[R], ids: &[&'a str], words: &[String]) -> Option<&'a str> {
    rows.iter().enumerate().find_map(|(index, row)| {
        let next = rows.get(index + 1).map_or("", |next| next.as_ref().trim_start());
        // A request that was broken right behind the id goes on with its quote.
        let goes_on = next.starts_with('"');
        acknowledges(without_frame(row.as_ref()), ids, words).filter(|_| !goes_on)
    })
}

/// Which of these ids text that the agent wrote acknowledges.
pub fn text_acknowledges<'a>(text: &str, ids: &[&'a str], words: &[String]) -> Option<&'a str> {
    text.lines().find_map(|line| acknowledges(line, ids, words))
}

/// The id that a line begins with: `ACK: id`, or other words than that, behind marks and in emphasis, and then nothing or
/// another word.
fn acknowledges<'a>(line: &str, ids: &[&'a str], words: &[String]) -> Option<&'a str> {
    let line = line.trim_start();
    let line = line.strip_prefix(MARKS).filter(|rest| rest.starts_with(' ')).unwrap_or(line);
    let line = line.trim_start().trim_start_matches(EMPHASIS);
    let own = words.iter().map(String::as_str).filter(|word| !word.trim().is_empty());
    let rest = ACKNOWLEDGE.into_iter().chain(own).find_map(|word| line.strip_prefix(word))?.trim_start();
    let rest = rest.trim_start_matches(EMPHASIS);
    ids.iter().copied().find(|id| {
        let ends = |rest: &str| {
            let rest = rest.trim_start_matches(EMPHASIS);
            let rest = rest.strip_prefix(['.', '!', ',', ';', ':']).unwrap_or(rest);
            rest.is_empty() || rest.starts_with(char::is_whitespace)
        };
        !id.is_empty() && rest.strip_prefix(id).is_some_and(ends)
    })
}

/// A row without the bar that some agents draw at its right edge.
fn without_frame(row: &str) -> &str {
    row.trim_end_matches(|c: char| c == ' ' || ('\u{2500}'..='\u{259f}').contains(&c))
}

#[cfg(test)]
mod tests;
