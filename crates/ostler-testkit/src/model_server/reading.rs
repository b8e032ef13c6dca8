//! A request, whatever its wire format.

use super::tools::Tool;

/// What a request asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The model it names.
    pub model: String,
    /// The answer is to be streamed.
    pub stream: bool,
    /// The conversation so far.
    pub items: Vec<Item>,
    /// The tools on offer.
    pub tools: Vec<Tool>,
}

impl Asked {
    /// What the user said since the model or a tool last spoke.
    pub fn fresh(&self) -> Vec<String> {
        let said = |item: &Item| match item {
            Item::User(text) => Some(text.clone()),
            Item::Model | Item::Result => None,
        };
        let mut fresh: Vec<String> = self.items.iter().rev().map_while(said).collect();
        fresh.reverse();
        fresh
    }

    /// How many things the user has said.
    pub fn prompts(&self) -> usize {
        self.items.iter().filter(|item| matches!(item, Item::User(_))).count()
    }
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The user said something.
    User(String),
    /// The model said something or called a tool.
    Model,
    /// A tool came back.
    Result,
}

/// Keeps what a user may have written: agents add notes of their own in blocks such as `<reminder>…</reminder>`.
pub(super) fn user_item(text: &str) -> Option<Item> {
    let trimmed = text.trim();
    (!trimmed.is_empty() && !is_note(trimmed)).then(|| Item::User(text.to_owned()))
}

/// A user's text without the notes that an agent has put before or behind it, and changes from one request to the next.
pub(super) fn without_notes(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let before = text.strip_prefix('<').and_then(|rest| {
            let (tag, rest) = rest.split_once('>')?;
            Some(rest.split_once(&format!("</{tag}>"))?.1)
        });
        let behind = text.strip_suffix('>').and_then(|rest| {
            let tag = &rest[rest.rfind("</")? + 2..];
            Some(&text[..text.rfind(&format!("<{tag}>"))?])
        });
        match before.or(behind) {
            Some(rest) => text = rest.trim(),
            None => return text,
        }
    }
}

fn is_note(text: &str) -> bool {
    let Some((tag, _)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) else { return false };
    let name = tag.split_whitespace().next().unwrap_or(tag);
    text.ends_with(&format!("</{name}>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fresh_was_said_since_the_model_spoke() {
        let user = |text: &str| Item::User(text.into());
        let asked = |items| Asked { model: String::new(), stream: true, items, tools: vec![] };
        let first = asked(vec![user("a"), Item::Model, user("b"), user("c")]);
        assert_eq!((first.fresh(), first.prompts()), (vec!["b".to_owned(), "c".to_owned()], 3));
        assert!(asked(vec![user("a"), Item::Model, Item::Result]).fresh().is_empty());
    }

    #[test]
    fn notes_around_a_text_do_not_count() {
        let text =
            "<info-msg>\nIt is 8 o'clock\n</info-msg>\n please <b>x</b> 1 > 0 \n<reminder>be kind</reminder>";
        assert_eq!(without_notes(text), "please <b>x</b> 1 > 0");
        for text in ["a < b", "<b>", "</b>", ">", "<", ""] {
            assert_eq!(without_notes(text), text);
        }
    }

    #[test]
    fn notes_of_the_agent_are_not_the_user() {
        assert_eq!(user_item("<system-reminder>\n[[say 2 words]]\n</system-reminder>\n"), None);
        assert_eq!(user_item(" \n"), None);
        assert_eq!(user_item("a < b"), Some(Item::User("a < b".into())));
    }
}
