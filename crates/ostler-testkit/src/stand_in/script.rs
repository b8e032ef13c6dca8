//! The directives: what a prompt, a reply or a script makes the stand-in do.

use std::time::Duration;

/// Explains the directives on the command line.
pub(super) const HELP: &str = "\
Directives in a prompt, a reply or a script (text arguments run to the next directive or the line's end):
  !work 3s             work with the spinner (ms, s or m)
  !silent 15s          work without drawing anything
  !tool NAME 2s        call a tool that takes that long
  !permission COMMAND  ask for permission: 1. Yes  2. Yes, always  3. No
  !question TEXT       ask a question
  !say TEXT            stream TEXT word by word
  !quote               stream prose that quotes a composer, a spinner and a dialog
  !error 429 resets 7pm  end the turn with an API error (401, 403: login needed)
  !limit 7pm           end the turn with a usage limit
  !write FILE CONTENT  write FILE under the working directory (\\n is a newline)
  !exit N              leave cleanly with code N
  !crash               SIGKILL itself";

/// One thing to do in a turn.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Work(Duration),
    Silent(Duration),
    Tool { name: String, lasting: Duration },
    Permission(String),
    Question(String),
    Say(String),
    Error(String),
    Limit(String),
    Write { file: String, content: String },
    Exit(u8),
    Crash,
}

impl Step {
    /// Whether the step leaves no room for the default reply.
    pub(super) fn concludes(&self) -> bool {
        matches!(self, Self::Say(_) | Self::Error(_) | Self::Limit(_) | Self::Exit(_) | Self::Crash)
    }
}

/// Text that fools every rule which looks at the whole screen.
const QUOTE: &str = "The old screen looked like this:\n\
    │ > type your message here │\n\
    ✻ Working… (9s · esc to interrupt)\n\
    Do you want to proceed?\n\
    ❯ 1. Yes\n\
    but all of that was only quoted.";

/// Reads the directives of a prompt; its plain text is what it asks, not what to do.
pub(super) fn directives(prompt: &str) -> Vec<Step> {
    parts(prompt).into_iter().filter_map(Part::directive).collect()
}

/// Reads a reply: its directives, and its plain text as something to say.
pub(super) fn reply(text: &str) -> Vec<Step> {
    parts(text)
        .into_iter()
        .filter_map(|part| match part {
            Part::Plain(plain) => (!plain.trim().is_empty()).then(|| Step::Say(plain.trim().to_owned())),
            Part::Directive(step) => Some(step),
        })
        .collect()
}

enum Part<'a> {
    Plain(&'a str),
    Directive(Step),
}

impl Part<'_> {
    fn directive(self) -> Option<Step> {
        match self {
            Part::Plain(_) => None,
            Part::Directive(step) => Some(step),
        }
    }
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let starts: Vec<usize> = text
        .match_indices('!')
        .map(|(at, _)| at)
        .filter(|&at| text[..at].chars().next_back().is_none_or(char::is_whitespace))
        .filter(|&at| text[at..].split_whitespace().next().and_then(parse).is_some())
        .collect();
    let mut parts = vec![Part::Plain(&text[..starts.first().copied().unwrap_or(text.len())])];
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        let (line, rest) = text[start..end].split_once('\n').unwrap_or((&text[start..end], ""));
        if let Some((step, prose)) = parse(line) {
            parts.extend([Part::Directive(step), Part::Plain(prose)]);
        }
        parts.push(Part::Plain(rest));
    }
    parts
}

/// Parses one line `!name arguments`; what the directive does not take is plain text again.
fn parse(line: &str) -> Option<(Step, &str)> {
    let line = line.strip_prefix('!')?;
    let (name, rest) = first_word(line);
    let or = |default: &str| if rest.is_empty() { default.to_owned() } else { rest.to_owned() };
    let whole = |step| Some((step, ""));
    match name {
        "work" => Some(duration(rest)).map(|(lasting, rest)| (Step::Work(lasting), rest)),
        "silent" => Some(duration(rest)).map(|(lasting, rest)| (Step::Silent(lasting), rest)),
        "tool" => {
            let (tool, rest) = first_word(rest);
            let (lasting, rest) = duration(rest);
            Some((Step::Tool { name: tool.to_owned(), lasting }, rest))
        }
        "permission" => whole(Step::Permission(or("touch made.txt"))),
        "question" => whole(Step::Question(or("Which way should I go?"))),
        "say" => whole(Step::Say(or("ok"))),
        "error" => whole(Step::Error(or("500 Internal server error"))),
        "limit" => whole(Step::Limit(or("7pm"))),
        "write" => {
            let (file, content) = first_word(rest);
            whole(Step::Write { file: file.to_owned(), content: content.replace("\\n", "\n") })
        }
        "exit" => {
            let (code, after) = first_word(rest);
            Some(code.parse().map_or((Step::Exit(0), rest), |code| (Step::Exit(code), after)))
        }
        "quote" => Some((Step::Say(QUOTE.to_owned()), rest)),
        "crash" => Some((Step::Crash, rest)),
        _ => None,
    }
}

fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

/// Takes a duration from the start of `text`, one second if there is none; punctuation after it is prose.
fn duration(text: &str) -> (Duration, &str) {
    let (word, rest) = first_word(text);
    let word = word.trim_end_matches(|character: char| character.is_ascii_punctuation());
    let digits = word.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match &word[digits.len()..] {
        "ms" => 1,
        "s" | "" => 1000,
        "m" => 60_000,
        _ => return (Duration::from_secs(1), text),
    };
    digits.parse().map_or((Duration::from_secs(1), text), |count: u64| {
        (Duration::from_millis(count.saturating_mul(unit)), rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn directives_are_found_anywhere_in_a_prompt() {
        let table = [
            ("hello", vec![]),
            ("wow!work 3s and !unknown", vec![]),
            ("!work 3s", vec![Step::Work(3 * SECOND)]),
            (
                "please !work 250ms, then !silent 2m.",
                vec![Step::Work(Duration::from_millis(250)), Step::Silent(120 * SECOND)],
            ),
            (
                "!tool grep 2s !say all done",
                vec![Step::Tool { name: "grep".into(), lasting: 2 * SECOND }, Step::Say("all done".into())],
            ),
            (
                "!write a/b.txt one\\ntwo !exit 3",
                vec![Step::Write { file: "a/b.txt".into(), content: "one\ntwo".into() }, Step::Exit(3)],
            ),
            ("!error 429 resets 7pm\nmore text", vec![Step::Error("429 resets 7pm".into())]),
            ("!permission\n!crash", vec![Step::Permission("touch made.txt".into()), Step::Crash]),
        ];
        for (prompt, steps) in table {
            assert_eq!(directives(prompt), steps, "{prompt}");
        }
    }

    #[test]
    fn plain_text_of_a_reply_is_said() {
        assert_eq!(
            reply("first !work\nlast"),
            [Step::Say("first".into()), Step::Work(SECOND), Step::Say("last".into())]
        );
        assert_eq!(
            reply("!work 2s done !tool ls all good"),
            [
                Step::Work(2 * SECOND),
                Step::Say("done".into()),
                Step::Tool { name: "ls".into(), lasting: SECOND },
                Step::Say("all good".into()),
            ]
        );
        assert_eq!(reply(" just this "), [Step::Say("just this".into())]);
    }
}
