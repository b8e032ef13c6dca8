//! What was said in a session of late.

use ostler_core::Fact;
use ostler_core::continuity::cut;
use ostler_core::stop_analysis::{LastWords, last_words};
use ostler_core::{Usage, Wall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Prompts that are remembered, and how much of each; how much of what the agent said and of a failure.
const PROMPTS: usize = 3;
const PROMPT: usize = 300;
const ANSWER: usize = 3 << 10;
const FAILURE: usize = 300;
/// Characters of the end of what the agent said: a question stands there.
const ENDING: usize = 5_000;
/// Most open points that are taken from what the agent said.
const OPEN: usize = 10;

/// What the agent's transcript has told so far.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// The agent's own id of it, once it was told.
    pub(crate) id: Option<String>,
    /// The agent was given something in it: before that there is nothing to continue.
    pub(crate) begun: bool,
    /// How far it was read, by this daemon or an earlier one.
    pub(crate) read: Option<Value>,
    /// What was spent so far.
    pub(crate) usage: Usage,
    /// What was said of late.
    pub(crate) summary: ConversationSummary,
    /// The transcript is read, and tells what the agent says.
    pub(crate) tells_replies: bool,
    /// When the agent was last given what it has to know once more: the time of the hook that asked.
    pub(crate) context_given: Option<Wall>,
    /// Why the transcript is not read.
    pub(crate) problem: Option<String>,
}

impl Conversation {
    /// The agent tells the id of its conversation; some commands begin another one. Returns whether that is news.
    pub(crate) fn identify(&mut self, id: String) -> bool {
        if self.id.as_ref() == Some(&id) {
            return false;
        }
        if self.id.is_some() {
            self.begun = false;
        }
        self.id = Some(id);
        true
    }

    /// Takes in what a hook or the transcript reports.
    pub(crate) fn on_fact(&mut self, fact: &Fact) {
        self.begun |= matches!(fact, Fact::PromptSubmitted { .. });
        self.summary.on_fact(fact);
    }
}

/// What was said in a session of late. Small: it is kept with the session's state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationSummary {
    /// The last prompts, oldest first.
    prompts: Vec<String>,
    /// What the agent said last.
    answer: Option<String>,
    /// The end of it.
    ending: Option<String>,
    /// The last prompt was answered.
    answered: bool,
    /// What the agent said last, it said after it was last given something.
    current: bool,
    /// How the last turn failed.
    failure: Option<String>,
}

impl ConversationSummary {
    /// Takes in what a hook or a transcript reports.
    pub fn on_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::PromptSubmitted { text: Some(text) } => self.prompt(text),
            Fact::Said { text } => {
                self.answer = Some(cut(text.trim(), ANSWER));
                let skip = text.trim().chars().count().saturating_sub(ENDING);
                self.ending = Some(text.trim().chars().skip(skip).collect());
                (self.answered, self.current) = (true, true);
                self.failure = None;
            }
            Fact::TurnFailed { failure, detail } => {
                let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
                self.failure = Some(cut(&format!("{}{detail}", failure.as_str()), FAILURE));
            }
            _ => {}
        }
    }

    /// Whether the agent ended its last turn with a question.
    pub fn asks(&self) -> bool {
        self.meaning() == LastWords::Asks
    }

    /// What the agent's last words come to.
    pub fn meaning(&self) -> LastWords {
        self.last_words().map_or(LastWords::Other, |answer| self.meaning_of(answer))
    }

    /// What words of the agent come to, where they are not its prompts.
    pub fn meaning_of(&self, words: &str) -> LastWords {
        let prompts: Vec<&str> = self.prompts.iter().map(String::as_str).collect();
        last_words(words, &prompts)
    }

    /// The oldest prompt that is remembered.
    pub fn first_prompt(&self) -> Option<&str> {
        self.prompts.first().map(String::as_str)
    }

    /// What the agent said last, the end of it where it is long, if that was after it was last given something.
    pub fn last_words(&self) -> Option<&str> {
        self.ending.as_deref().or(self.answer.as_deref()).filter(|_| self.current)
    }

    /// The agent was given something, whether or not it tells so.
    pub fn was_given(&mut self) {
        self.current = false;
    }

    /// Takes in a prompt.
    pub fn prompt(&mut self, text: &str) {
        let text = cut(text.trim(), PROMPT);
        // Hooks and transcript tell the same prompts.
        if text.is_empty() || self.prompts.contains(&text) {
            return;
        }
        self.prompts.push(text);
        if self.prompts.len() > PROMPTS {
            self.prompts.remove(0);
        }
        (self.answered, self.current) = (false, false);
        self.failure = None;
    }

    /// Whether nothing was asked.
    pub fn has_no_prompts(&self) -> bool {
        self.prompts.is_empty()
    }

    /// Whether nothing is known of it.
    pub fn is_empty(&self) -> bool {
        self.prompts.is_empty() && self.answer.is_none()
    }

    /// Whether the last prompt was answered cannot be told.
    pub fn assume_answered(&mut self) {
        self.answered = true;
    }

    /// What was done, in words.
    pub fn summary(&self) -> String {
        let asked = self.prompts.iter().map(|prompt| format!("Asked: {}", one_line(prompt)));
        let answer = self.answer.as_ref().map(|answer| {
            let blank = if answer.contains('\n') { '\n' } else { ' ' };
            format!("Last answer:{blank}{answer}")
        });
        let failure =
            self.failure.as_ref().map(|failure| format!("The last turn failed: {}", one_line(failure)));
        asked.chain(answer).chain(failure).collect::<Vec<_>>().join("\n")
    }

    /// What is left to do: what was not answered, and boxes that are not ticked.
    pub fn open(&self) -> Vec<String> {
        let last = self.prompts.last().filter(|_| !self.answered);
        let unanswered = last.map(|prompt| format!("Not answered: {}", one_line(prompt)));
        let answer = self.answer.as_deref().unwrap_or_default();
        let boxes = answer.lines().filter_map(|line| {
            let item = line.trim_start().strip_prefix(['-', '*', '+'])?;
            Some(item.trim_start().strip_prefix("[ ]")?.trim().to_owned())
        });
        unanswered.into_iter().chain(boxes).take(OPEN).collect()
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use ostler_core::Failure;

    use super::*;

    fn prompt(text: &str) -> Fact {
        Fact::PromptSubmitted { text: Some(text.into()) }
    }

    fn said(text: &str) -> Fact {
        Fact::Said { text: text.into() }
    }

    fn told(facts: &[Fact]) -> ConversationSummary {
        let mut told = ConversationSummary::default();
        for fact in facts {
            told.on_fact(fact);
        }
        told
    }

    #[test]
    fn the_last_of_what_was_said_is_kept() {
        let told = told(&[
            prompt("zero"),
            prompt("one"),
            said("Working on it."),
            prompt("two\nlines"),
            prompt("two\nlines"),
            prompt("three"),
            said("Working on it."),
            said("Done:\n- [x] parser\n- [ ] tests\n * [ ]  docs\n"),
        ]);
        let expected = "Asked: one\nAsked: two lines\nAsked: three\nLast answer:\nDone:\n- [x] parser\n- [ ] tests\n * [ ]  docs";
        assert_eq!(told.summary(), expected);
        assert_eq!(told.open(), ["tests", "docs"]);
    }

    #[test]
    fn what_was_not_answered_is_open() {
        let failed = Fact::TurnFailed { failure: Failure::RateLimit, detail: Some("429\nwait".into()) };
        let told = told(&[prompt("one"), said("Yes."), prompt("two"), failed]);
        assert_eq!(told.open(), ["Not answered: two"]);
        let expected =
            "Asked: one\nAsked: two\nLast answer: Yes.\nThe last turn failed: rate_limit: 429 wait";
        assert_eq!(told.summary(), expected);
    }

    #[test]
    fn a_question_at_the_end_is_one() {
        let question = said("I looked at both.\n\nWhich database do you want me to use?");
        assert!(told(&[prompt("one"), question.clone()]).asks());
        assert!(!told(&[prompt("one"), question.clone(), prompt("The second.")]).asks());
        assert!(!told(&[prompt("one"), question, said("Both work now.")]).asks());
        assert!(!told(&[]).asks());
        let long = format!("{}\n\nWhich one?", "word ".repeat(10_000));
        assert!(told(&[prompt("one"), said(&long)]).asks(), "however much stands before it");
        let mut given = told(&[prompt("one"), said("Which one?")]);
        given.was_given();
        assert!(!given.asks() && given.last_words().is_none());
    }

    #[test]
    fn it_stays_small() {
        let long = "word ".repeat(10_000);
        let told =
            told(&[prompt(&long), prompt(&format!("x{long}")), prompt(&format!("y{long}")), said(&long)]);
        assert!(serde_json::to_string(&told).unwrap().len() < 10_000);
    }
}
