//! The directives in a prompt.

use std::time::Duration;

/// One thing the model does within a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Sends nothing for so long.
    Silence(Duration),
    /// Streams so many words evenly over the time.
    Say {
        /// How many.
        words: usize,
        /// From the first to the last.
        over: Duration,
    },
    /// Streams this text.
    Quote(String),
    /// Streams the text the server has under this name.
    Recite(String),
}

/// How a reply ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The turn is over.
    Done,
    /// The agent is to run a command.
    Tool(String),
    /// The agent is to ask its user; several questions have ` | ` between them.
    Question(String),
    /// The agent is to give this to an agent of its own.
    Agent(String),
    /// The agent is to call this tool, with these arguments in JSON.
    Call(String, String),
    /// The request fails.
    Status {
        /// The HTTP status.
        code: u16,
        /// Seconds for the `retry-after` header.
        retry_after: Option<u64>,
        /// Seconds until a plan that is used up can be used again, where that is what is wrong.
        usage_limit: Option<u64>,
    },
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What is done first, in order.
    pub parts: Vec<Part>,
    /// How it ends.
    pub ending: Ending,
    /// Every later request of the turn gets this reply too.
    pub forever: bool,
}

enum Directive {
    Part(Part),
    Ending(Ending),
    Forever(Ending),
}

/// Reads the directives of a prompt and groups them into replies; none if the text has no directive.
pub fn replies(text: &str) -> Vec<Reply> {
    let mut replies = Vec::new();
    let mut parts = Vec::new();
    for directive in directives(text).filter_map(|inner| parse(inner, text)) {
        let (ending, forever) = match directive {
            Directive::Part(part) => {
                parts.push(part);
                continue;
            }
            Directive::Ending(ending) => (ending, false),
            Directive::Forever(ending) => (ending, true),
        };
        replies.push(Reply { parts: std::mem::take(&mut parts), ending, forever });
    }
    if !parts.is_empty() {
        replies.push(Reply { parts, ending: Ending::Done, forever: false });
    }
    replies
}

fn directives(text: &str) -> impl Iterator<Item = &str> {
    text.split("[[").skip(1).filter_map(|rest| rest.split_once("]]")).map(|(inner, _)| inner.trim())
}

fn parse(inner: &str, text: &str) -> Option<Directive> {
    let (verb, rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
    let rest = rest.trim();
    Some(match verb {
        "say" => Directive::Part(say(rest)?),
        "silence" => Directive::Part(Part::Silence(duration(rest)?)),
        "quote" => Directive::Part(Part::Quote(rest.replace("\\n", "\n"))),
        "obey" => Directive::Part(Part::Quote(asked_for(text)?.to_owned())),
        "recite" => Directive::Part(Part::Recite(rest.to_owned())),
        "tool" => Directive::Ending(Ending::Tool(rest.to_owned())),
        "question" => Directive::Ending(Ending::Question(rest.to_owned())),
        "agent" => Directive::Ending(Ending::Agent(rest.to_owned())),
        "call" => {
            let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
            Directive::Ending(Ending::Call(tool.to_owned(), arguments.trim().to_owned()))
        }
        "status" => Directive::Ending(status(rest)?),
        "forever" => Directive::Forever(status(rest)?),
        _ => return None,
    })
}

/// What the prompt asks to have said: `reply "…"`.
fn asked_for(text: &str) -> Option<&str> {
    text.split_once("reply \"")?.1.split_once('"').map(|(said, _)| said)
}

/// `40 words over 4s`
fn say(text: &str) -> Option<Part> {
    let mut tokens = text.split_whitespace();
    let words = tokens.next()?.parse().ok()?;
    let over =
        tokens.skip_while(|token| *token != "over").nth(1).and_then(duration).unwrap_or(Duration::ZERO);
    Some(Part::Say { words, over })
}

/// `429 retry-after 2 usage-limit 3600`
fn status(text: &str) -> Option<Ending> {
    let mut tokens = text.split_whitespace();
    let code = tokens.next()?.parse().ok().filter(|code| (400..600).contains(code))?;
    let after = |name: &str| {
        let value = text.split_whitespace().skip_while(|token| *token != name).nth(1);
        value.and_then(|value| value.parse().ok())
    };
    Some(Ending::Status { code, retry_after: after("retry-after"), usage_limit: after("usage-limit") })
}

/// `4s`, `1.5s`, `200ms`
fn duration(text: &str) -> Option<Duration> {
    let (number, scale) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s')?, 1.0),
    };
    let seconds = number.trim().parse::<f64>().ok()? * scale;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(words: usize, over: u64) -> Part {
        Part::Say { words, over: Duration::from_secs(over) }
    }

    #[test]
    fn what_ends_a_reply_leaves_the_rest_for_the_next_request() {
        let text = "please [[say 2 words]] then [[tool sh work.sh 8]], [[status 429 retry-after 2]] [[silence 15s]] \
                    [[say 40 words over 4s]]";
        let plain = |parts, ending| Reply { parts, ending, forever: false };
        assert_eq!(
            replies(text),
            [
                plain(vec![say(2, 0)], Ending::Tool("sh work.sh 8".into())),
                plain(vec![], Ending::Status { code: 429, retry_after: Some(2), usage_limit: None }),
                plain(vec![Part::Silence(Duration::from_secs(15)), say(40, 4)], Ending::Done),
            ]
        );
    }

    #[test]
    fn an_obedient_model_says_what_it_is_asked_for() {
        let said = |text| replies(text).pop().map(|reply| reply.parts);
        let text = "[[obey]]\n[END - reply \"ACK: m1\"]";
        assert_eq!(said(text), Some(vec![Part::Quote("ACK: m1".into())]));
        assert_eq!(said("[[obey]] whom?"), None);
    }

    #[test]
    fn a_text_without_directives_has_no_reply() {
        for text in [
            "hello",
            "if [[ -f x ]]; then",
            "[[say]]",
            "[[status 200]]",
            "[[nothing known]]",
            "[[say 2 words",
        ] {
            assert_eq!(replies(text), [], "{text}");
        }
    }

    #[test]
    fn a_tool_is_called_by_its_name() {
        let call = |tool: &str, arguments: &str| Ending::Call(tool.into(), arguments.into());
        let text = r#"[[call note {"text": "half [1]"}]] then [[call load]]"#;
        let endings: Vec<Ending> = replies(text).into_iter().map(|reply| reply.ending).collect();
        assert_eq!(endings, [call("note", r#"{"text": "half [1]"}"#), call("load", "{}")]);
    }

    #[test]
    fn durations_and_quotes() {
        assert_eq!(duration("200ms"), Some(Duration::from_millis(200)));
        assert_eq!(duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(duration("-1s"), None);
        assert_eq!(replies("[[quote a\\nb]]")[0].parts, [Part::Quote("a\nb".into())]);
        assert!(replies("[[forever 529]]")[0].forever);
        let limit = Ending::Status { code: 429, retry_after: None, usage_limit: Some(60) };
        assert_eq!(replies("[[status 429 usage-limit 60]]")[0].ending, limit);
    }
}
