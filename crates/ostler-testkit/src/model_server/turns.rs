//! How far each turn has got.

use std::collections::HashMap;

use super::reading::{Asked, Item, without_notes};
use super::script::{self, Ending, Part, Reply};
use super::settings::Settings;

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The turn and the reply within it, both from 1; none for a side request.
    pub(super) place: Option<(usize, usize)>,
    pub(super) user: String,
    pub(super) reply: Reply,
}

/// The turns of one agent.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Replies given, by the number of the turn and its prompt.
    given: HashMap<(usize, String), usize>,
}

impl Turns {
    /// Decides what a request gets, and counts it.
    pub(super) fn answer(&mut self, asked: &Asked, settings: &Settings) -> Answer {
        let prompts: Vec<&str> = asked
            .items
            .iter()
            .filter_map(|item| match item {
                Item::User(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let user = prompts.last().copied().unwrap_or_default().to_owned();
        let (script, own) = settings.script(&user);
        let replies = script::replies(script);
        if replies.is_empty() || (asked.tools.is_empty() && !settings.without_tools) {
            return Answer { place: None, user, reply: done("Noted.") };
        }
        let is_main = |text: &&&str| !script::replies(settings.script(text).0).is_empty();
        let turn = prompts.iter().filter(is_main).count();
        let given = self.given.entry((turn, without_notes(&user).to_owned())).or_default();
        let reply = replies.get(*given).or_else(|| replies.last().filter(|last| last.forever));
        // An agent may ask once more than the script foresaw, say after a tool that failed.
        let reply = reply.cloned().unwrap_or_else(|| done("All done."));
        *given += 1;
        Answer { place: own.then_some((turn, *given)), user, reply }
    }
}

fn done(text: &str) -> Reply {
    Reply { parts: vec![Part::Quote(text.to_owned())], ending: Ending::Done, forever: false }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::settings::Play;
    use super::super::tools::Tool;
    use super::*;

    fn asked(texts: &[&str], tools: bool) -> Asked {
        let tool = Tool { name: "shell".into(), schema: Value::Null, freeform: false, namespace: None };
        Asked {
            model: "m".into(),
            stream: true,
            items: texts.iter().map(|text| Item::User((*text).into())).collect(),
            tools: if tools { vec![tool] } else { vec![] },
        }
    }

    #[test]
    fn a_request_that_is_tried_again_gets_the_next_reply() {
        let mut turns = Turns::default();
        let request = asked(&["[[status 500]] [[say 1 words]]"], true);
        let settings = Settings::default();
        let first = turns.answer(&request, &settings);
        assert_eq!(first.place, Some((1, 1)));
        assert_eq!(first.reply.ending, Ending::Status { code: 500, retry_after: None, usage_limit: None });
        assert_eq!(turns.answer(&request, &settings).reply.ending, Ending::Done);
        // More than the script foresaw.
        assert_eq!(turns.answer(&request, &settings).reply, done("All done."));
        // The same words again are a new turn.
        let again = asked(&["[[status 500]] [[say 1 words]]", "[[status 500]] [[say 1 words]]"], true);
        assert_eq!(turns.answer(&again, &settings).place, Some((2, 1)));
    }

    #[test]
    fn forever_is_forever() {
        let mut turns = Turns::default();
        for place in 1..5 {
            let answer = turns.answer(&asked(&["[[forever 429]]"], true), &Settings::default());
            assert_eq!(answer.place, Some((1, place)));
            assert_eq!(
                answer.reply.ending,
                Ending::Status { code: 429, retry_after: None, usage_limit: None }
            );
        }
    }

    #[test]
    fn a_prompt_without_directives_may_have_its_script_elsewhere() {
        let mut turns = Turns::default();
        let play = |prompt: &str, script: &str| Play {
            prompt: prompt.into(),
            script: script.into(),
            aside: prompt == "look",
        };
        let plays = vec![
            play("AGAIN", "[[say 2 words]]"),
            play("work", "[[tool make]] [[say 1 words]]"),
            play("look", "[[tool ls]]"),
        ];
        let settings = Settings { plays, ..Settings::default() };
        let mut ending = |texts: &[&str]| {
            let answer = turns.answer(&asked(texts, true), &settings);
            (answer.place, answer.reply.ending)
        };
        assert_eq!(ending(&["please work"]), (Some((1, 1)), Ending::Tool("make".into())));
        assert_eq!(ending(&["please work"]), (Some((1, 2)), Ending::Done));
        assert_eq!(ending(&["please work", "AGAIN\nplease work"]), (Some((2, 1)), Ending::Done));
        assert_eq!(ending(&["please work", "a title for it"]), (None, Ending::Done));
        // What an agent of the agent's is told is no turn of its own.
        assert_eq!(ending(&["look"]), (None, Ending::Tool("ls".into())));
        assert_eq!(ending(&["[[agent look]]"]).1, Ending::Agent("look".into()));
    }

    #[test]
    fn requests_on_the_side_get_a_harmless_answer() {
        let mut turns = Turns::default();
        let settings = Settings::default();
        assert_eq!(turns.answer(&asked(&["[[say 1 words]]"], false), &settings).place, None);
        assert_eq!(
            turns.answer(&asked(&["[[say 1 words]]", "suggest what comes next"], true), &settings).place,
            None
        );
        let settings = Settings { without_tools: true, ..settings };
        assert!(turns.answer(&asked(&["[[say 1 words]]"], false), &settings).place.is_some());
    }
}
