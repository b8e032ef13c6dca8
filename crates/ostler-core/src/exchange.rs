//! What an agent was asked, and what it answered, from what its transcript tells.
//!
//! An answer is what the agent said last in a turn: all of it behind its last tool, for what stands before a tool says what
//! the agent is about to do.

use std::collections::VecDeque;

use crate::continuity::cut;
use crate::{Fact, Wall};

/// How much of one text is kept.
pub const TEXT: usize = 128 << 10;

/// A prompt and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// What was asked, if it is told.
    pub prompt: Option<String>,
    /// When.
    pub asked: Option<Wall>,
    /// What was answered last.
    pub answer: Option<String>,
    /// When.
    pub answered: Option<Wall>,
    /// How the turn ended.
    pub closing: Option<Closing>,
    /// A tool was called since the agent last said something.
    tool: bool,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closing {
    /// By itself.
    Done,
    /// By an error, in words.
    Failed(String),
    /// A person stopped it.
    Interrupted,
}

impl Closing {
    /// The name in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The last exchanges of a conversation.
#[derive(Debug, Clone, Default)]
pub struct Exchanges {
    list: VecDeque<Exchange>,
    most: usize,
}

impl Exchanges {
    /// Keeps so many.
    pub fn new(most: usize) -> Self {
        Self { list: VecDeque::new(), most: most.max(1) }
    }

    /// What is kept, oldest first.
    pub fn list(&self) -> &VecDeque<Exchange> {
        &self.list
    }

    /// Takes in what a transcript tells, and when that was.
    pub fn on_fact(&mut self, fact: &Fact, at: Option<Wall>) {
        match fact {
            Fact::PromptSubmitted { text } => {
                let prompt = text.as_ref().map(|text| cut(text.trim(), TEXT));
                self.list.push_back(Exchange { prompt, asked: at, ..Exchange::default() });
                if self.list.len() > self.most {
                    self.list.pop_front();
                }
            }
            Fact::Said { text } => self.say(text.trim(), at),
            Fact::ToolStarted { .. } => self.last().tool = true,
            Fact::TurnEnded { .. } => self.last().closing = Some(Closing::Done),
            Fact::Interrupted => self.last().closing = Some(Closing::Interrupted),
            Fact::TurnFailed { failure, detail } => {
                let detail = detail.as_ref().map(|detail| format!(": {}", detail.trim())).unwrap_or_default();
                self.last().closing = Some(Closing::Failed(format!("{}{detail}", failure.as_str())));
            }
            _ => {}
        }
    }

    /// What is said behind the end of a turn belongs to it: some tell the end first.
    fn say(&mut self, text: &str, at: Option<Wall>) {
        if text.is_empty() {
            return;
        }
        let exchange = self.last();
        let tool = std::mem::take(&mut exchange.tool);
        let answer = match exchange.answer.take() {
            Some(before) if !tool && before != text => format!("{before}\n\n{text}"),
            _ => text.to_owned(),
        };
        exchange.answer = Some(cut(&answer, TEXT));
        exchange.answered = at;
    }

    fn last(&mut self) -> &mut Exchange {
        if self.list.is_empty() {
            self.list.push_back(Exchange::default());
        }
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// The last exchanges in which something was answered, oldest first.
    pub fn answered(&self, count: usize) -> Vec<&Exchange> {
        let mut found: Vec<_> =
            self.list.iter().rev().filter(|exchange| exchange.answer.is_some()).take(count).collect();
        found.reverse();
        found
    }

    /// The exchange that began with a text which was given at this moment or later, and whether another follows it.
    ///
    /// Agents add to what they are given, and some are given a reference to it: where the text is found nowhere, it is the
    /// first prompt since then.
    pub fn begun_with(&self, text: &str, since: Wall) -> Option<(&Exchange, bool)> {
        let recent = |exchange: &&Exchange| exchange.asked.is_none_or(|asked| asked >= since);
        let wanted = squeezed(text);
        let has = |exchange: &Exchange| {
            let prompt = exchange.prompt.as_deref().map(squeezed);
            prompt.is_some_and(|prompt| prompt.contains(&wanted))
        };
        let found = self.list.iter().position(|exchange| recent(&exchange) && has(exchange));
        let dated = |exchange: &Exchange| exchange.asked.is_some_and(|asked| asked >= since);
        let at = found.or_else(|| self.list.iter().position(dated))?;
        Some((&self.list[at], at + 1 < self.list.len()))
    }
}

/// A text without blanks, as far as it is needed to know it again.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).take(2_000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    fn told(facts: &[(u64, Fact)]) -> Exchanges {
        let mut exchanges = Exchanges::new(10);
        for (at, fact) in facts {
            exchanges.on_fact(fact, Some(Wall(*at)));
        }
        exchanges
    }

    fn prompt(text: &str) -> Fact {
        Fact::PromptSubmitted { text: Some(text.into()) }
    }

    fn said(text: &str) -> Fact {
        Fact::Said { text: text.into() }
    }

    const TOOL: Fact = Fact::ToolStarted { id: None };
    const ENDED: Fact = Fact::TurnEnded { background: 0 };

    #[test]
    fn an_answer_is_what_stands_behind_the_last_tool() {
        let all = told(&[
            (1, prompt("one")),
            (2, said("I look.")),
            (3, TOOL),
            (4, said("It is\nbroken.")),
            (5, said(" Mend it? ")),
            (6, ENDED),
            (7, prompt("two")),
            (8, said("I mend.")),
            (9, TOOL),
        ]);
        let answers: Vec<_> = all.answered(9).iter().map(|it| it.answer.clone().unwrap()).collect();
        assert_eq!(answers, ["It is\nbroken.\n\nMend it?", "I mend."], "the last word is one, too");
        let last = all.answered(1)[0];
        assert_eq!(
            (last.prompt.as_deref(), last.answered, &last.closing),
            (Some("two"), Some(Wall(8)), &None)
        );
        assert_eq!(all.list()[0].closing, Some(Closing::Done));
    }

    #[test]
    fn some_tell_the_end_before_the_last_words() {
        let all = told(&[(1, prompt("one")), (2, ENDED), (2, said("Done."))]);
        assert_eq!(all.answered(1)[0].answer.as_deref(), Some("Done."));
        let failed = Fact::TurnFailed { failure: Failure::RateLimit, detail: Some(" 429 ".into()) };
        let all = told(&[(1, said("Nobody asked.")), (2, prompt("one")), (3, failed)]);
        assert_eq!(all.list()[1].closing, Some(Closing::Failed("rate_limit: 429".into())));
        assert_eq!(all.answered(5).len(), 1, "an error is no answer");
    }

    #[test]
    fn the_exchange_of_a_text_is_found_whatever_the_agent_adds() {
        let all = told(&[
            (10, prompt("fix it")),
            (11, said("first")),
            (20, prompt("<pasted>fix\n it</pasted>")),
            (21, said("second")),
            (30, prompt("read /m.md")),
            (31, said("third")),
        ]);
        let answer = |text, since| {
            let found = all.begun_with(text, Wall(since));
            found.map(|(exchange, followed)| (exchange.answer.clone().unwrap(), followed))
        };
        assert_eq!(answer("fix it", 5), Some(("first".into(), true)));
        assert_eq!(answer("fix it", 15), Some(("second".into(), true)), "the same was asked before");
        assert_eq!(answer("a long text that went by file", 25), Some(("third".into(), false)));
        assert_eq!(answer("fix it", 40), None);
    }

    #[test]
    fn it_is_bounded() {
        let long = "word ".repeat(TEXT);
        let mut all = Exchanges::new(2);
        for at in 0..5 {
            all.on_fact(&prompt(&long), Some(Wall(at)));
            all.on_fact(&said(&long), None);
        }
        assert_eq!((all.list().len(), all.list()[0].asked), (2, Some(Wall(3))));
        assert!(all.answered(1)[0].answer.as_ref().unwrap().len() <= TEXT + 100);
    }
}
