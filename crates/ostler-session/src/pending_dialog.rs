//! The dialog that waits for a person: what it says, and an id that is its own.

use ostler_agents::{Answer, ChoiceSpec, Choosable, DialogText};
use ostler_core::State;
use ostler_core::detector::Finding;

use crate::session::Session;

/// A dialog that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingDialog {
    /// Names this dialog, as long as it stands, also for another daemon.
    pub id: String,
    /// The rule that knows it best; nothing while none sees it.
    pub rule: Option<String>,
    /// What kind of dialog it is, if that is known.
    pub kind: Option<String>,
    /// What it says.
    pub text: DialogText,
    /// One can answer in one's own words.
    pub takes_text: bool,
    /// The choice that allows it for good, if there is one.
    pub always: Option<usize>,
    /// Tells dialogs apart by what they say.
    pub(crate) print: u64,
    /// The choice in which one writes.
    pub(crate) text_row: Option<usize>,
}

/// What the preset knows of answers to a dialog.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) answer: Answer,
    pub(crate) choice: ChoiceSpec,
}

impl Session {
    /// The dialog that is open, if one is and all that was drawn was looked at.
    pub fn pending_dialog(&self) -> Option<PendingDialog> {
        self.pending_with(None)
    }

    /// The same, where a choice is being written in.
    pub(crate) fn pending_with(&self, written: Option<usize>) -> Option<PendingDialog> {
        let (state, kind, _) = self.described();
        if state != State::Blocked || !self.watches() || !self.observer.is_current() {
            return None;
        }
        let rule = self.telling_rule();
        let known = self.known_of(rule.as_deref());
        let begins = rule.as_deref().and_then(|rule| self.observer.begins(rule));
        let (answer, choice) = (Some(&known.answer), Some(&known.choice));
        let speech = self.profile.book.speech();
        // An agent says that it asks before it shows what: until then the screen says something else.
        let text = match begins {
            Some(begins) => DialogText::read(&self.terminal.screen, Some(begins), answer, choice, speech),
            None => DialogText::default(),
        };
        let text_row = written.or_else(|| find(&text.options, known.choice.text.as_deref()));
        let always =
            find(&text.options, known.choice.always.as_deref()).or_else(|| only(&text.options, is_always));
        let print = print_of(&text, text_row.unwrap_or(text.options.len()));
        let id = self.dialog_id(print);
        let takes_text = text_row.is_some() || known.choice.writes && text.options.is_empty();
        Some(PendingDialog { id, rule, kind, text, takes_text, always, print, text_row })
    }

    /// What was answered, perhaps by an earlier daemon that did not live to see it, is another one when it says the same
    /// again.
    fn dialog_id(&self, print: u64) -> String {
        let mut hash = Fnv::default();
        let answers = self.dialogs.answers - u64::from(self.dialogs.by_hand.is_some());
        for part in [print, self.since.0, answers] {
            hash.write(&part.to_le_bytes());
        }
        hash.write(self.id.as_bytes());
        // Short enough to be typed, and there is one dialog at a time.
        format!("{:08x}", hash.0 >> 32)
    }

    /// The rule that tells most of the dialog: one that knows its place on the screen, the agent's own before general ones.
    fn telling_rule(&self) -> Option<String> {
        let findings = &self.observer.detector().reading().findings;
        let blocked = || findings.iter().filter(|finding| finding.state == State::Blocked);
        let seen = |finding: &&Finding| self.observer.begins(&finding.rule).is_some();
        let own = |finding: &&Finding| !finding.general;
        let best = blocked().find(|it| own(it) && seen(it)).or_else(|| blocked().find(seen));
        best.map(|finding| finding.rule.to_string())
    }

    pub(crate) fn known_of(&self, rule: Option<&str>) -> Known {
        let spec = rule.and_then(|rule| self.profile.agent.preset.rules.get(rule));
        let answer = spec.and_then(|spec| spec.answer.clone()).unwrap_or_default();
        let choice = spec.and_then(|spec| spec.choice.clone()).unwrap_or_default();
        Known { answer, choice }
    }
}

/// The first choice that a pattern is about.
pub(crate) fn find(options: &[Choosable], pattern: Option<&str>) -> Option<usize> {
    let pattern = regex::Regex::new(pattern?).ok()?;
    options.iter().position(|option| pattern.is_match(&shown(option)))
}

/// The only choice of which something is so.
fn only(options: &[Choosable], is_so: impl Fn(&str) -> bool) -> Option<usize> {
    let mut found = options.iter().enumerate().filter(|(_, option)| is_so(&option.label));
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

/// A choice as a row shows it.
fn shown(option: &Choosable) -> String {
    match option.number {
        Some(number) => format!("{number}. {}", option.label),
        None => option.label.clone(),
    }
}

fn is_always(label: &str) -> bool {
    let label = label.to_lowercase().replace('’', "'");
    ["always", "don't ask again", "for this session"].iter().any(|words| label.contains(words))
}

/// What tells a dialog from another one: what it asks, and what can be chosen up to where one writes. Where lines are broken
/// does not matter.
fn print_of(text: &DialogText, choices: usize) -> u64 {
    let mut hash = Fnv::default();
    let labels = text.options.iter().take(choices).map(|option| &option.label);
    for line in text.about.iter().chain(labels) {
        line.split_whitespace().for_each(|word| hash.write(word.as_bytes()));
    }
    hash.0
}

/// FNV-1a: the same in every build, for it outlives a daemon.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(labels: &[&str]) -> Vec<Choosable> {
        let option = |label: &&str| Choosable { number: None, label: (*label).into(), place: 0 };
        labels.iter().map(option).collect()
    }

    #[test]
    fn a_dialog_is_known_again_by_its_words() {
        let text = |about: &[&str], labels: &[&str]| DialogText {
            about: about.iter().map(|line| (*line).to_owned()).collect(),
            options: options(labels),
            ..DialogText::default()
        };
        let print = |about: &[&str], labels: &[&str], count| print_of(&text(about, labels), count);
        let this = print(&["Run", "rm -r build"], &["Yes", "Own words"], 1);
        assert_eq!(this, print(&["Run rm", "-r build"], &["Yes", "what was written"], 1), "however broken");
        assert_ne!(this, print(&["Run", "rm -r src"], &["Yes", "Own words"], 1), "another command");
        assert_ne!(this, print(&["Run", "rm -r build"], &["No", "Own words"], 1), "other choices");
    }

    #[test]
    fn always_is_a_word_of_one_choice() {
        let always = |labels: &[&str]| only(&options(labels), is_always);
        assert_eq!(always(&["Yes", "Yes, and don’t ask again for: ls", "No"]), Some(1));
        assert_eq!(always(&["Once", "Always, here", "Always, for me", "No"]), None, "which?");
    }
}
