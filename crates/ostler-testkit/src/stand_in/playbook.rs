//! Which steps answer which prompt.

use serde::Deserialize;

use super::script::{self, Step};

/// The scripted answers, in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct Playbook {
    /// Answers of `--script`, not yet used.
    scripted: Vec<Scripted>,
    /// The answer of `--reply`.
    reply: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripted {
    /// Words the prompt must contain.
    when: Option<String>,
    /// What to do.
    #[serde(rename = "do")]
    act: String,
    /// Whether it may answer again.
    #[serde(default)]
    repeat: bool,
}

impl Playbook {
    /// Builds the playbook of `--script` (its JSON) and `--reply`.
    pub fn new(script: Option<&str>, reply: Option<String>) -> Result<Self, serde_json::Error> {
        let scripted = script.map_or_else(|| Ok(Vec::new()), serde_json::from_str)?;
        Ok(Self { scripted, reply })
    }

    /// Chooses what to do about `prompt`.
    pub(super) fn answer(&mut self, prompt: &str) -> Vec<Step> {
        let matches = |entry: &Scripted| entry.when.as_ref().is_none_or(|words| prompt.contains(words));
        if let Some(at) = self.scripted.iter().position(matches) {
            let steps = script::reply(&self.scripted[at].act);
            if !self.scripted[at].repeat {
                self.scripted.remove(at);
            }
            return steps;
        }
        let mut steps = script::directives(prompt);
        if !steps.iter().any(Step::concludes) {
            match &self.reply {
                Some(reply) => steps.extend(script::reply(reply)),
                None => steps.push(Step::Say(acknowledgement(prompt))),
            }
        }
        steps
    }
}

/// The default reply: proof on the screen of how the prompt began.
fn acknowledgement(prompt: &str) -> String {
    let start: String = prompt.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("ok: {}", start.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(text: &str) -> Step {
        Step::Say(text.into())
    }

    #[test]
    fn script_goes_before_directives_before_reply() {
        let script = r#"[{"when":"fix","do":"fixed"},{"when":"ping","do":"pong","repeat":true}]"#;
        let mut book = Playbook::new(Some(script), Some("hm".into())).unwrap();
        assert_eq!(book.answer("fix it !say no"), [say("fixed")]);
        assert_eq!(book.answer("fix it !say no"), [say("no")]);
        assert_eq!(book.answer("ping"), [say("pong")]);
        assert_eq!(book.answer("ping"), [say("pong")]);
        assert_eq!(book.answer("else"), [say("hm")]);
    }

    #[test]
    fn default_reply_quotes_the_start_of_the_prompt() {
        let mut book = Playbook::default();
        assert_eq!(
            book.answer(&format!("one\ntwo {}", "x".repeat(90))),
            [say(&format!("ok: one two {}", "x".repeat(32)))]
        );
    }
}
