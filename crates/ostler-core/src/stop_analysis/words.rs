//! What an agent's last words come to.

use serde::{Deserialize, Serialize};

/// Characters of a text that count as its end.
const END: usize = 2_000;
/// Sentences from the end that are looked at.
const SENTENCES: usize = 3;

/// What an agent's last words come to. They are a hint: an agent is believed to have asked, and not to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastWords {
    /// It asks something and waits.
    Asks,
    /// It says that it is done.
    SaysDone,
    /// It says what it will do next.
    WillContinue,
    /// It says that it cannot go on, or that something failed.
    Stuck,
    /// Nothing that is understood.
    #[default]
    Other,
}

/// What the end of a text comes to. Sentences that stand in `own`, the prompts that the agent was given, are not its
/// words and do not count.
pub fn last_words(text: &str, own: &[&str]) -> LastWords {
    let start = text.char_indices().rev().nth(END).map_or(0, |(at, _)| at);
    let own: Vec<String> = own.iter().flat_map(|prompt| sentences(prompt)).collect();
    let said = sentences(&text[start..]);
    let mut last = said.iter().rev().filter(|sentence| !own.contains(sentence)).take(SENTENCES);
    let mut offers = false;
    loop {
        let Some(sentence) = last.next() else {
            return if offers { LastWords::Asks } else { LastWords::Other };
        };
        match meaning(sentence) {
            // Whoever is done and offers more is done.
            LastWords::Asks if is_offer(sentence) => offers = true,
            LastWords::Other => {}
            LastWords::SaysDone => return LastWords::SaysDone,
            _ if offers => return LastWords::Asks,
            found => return found,
        }
    }
}

/// The sentences of a text, in small letters, without marks around them and without code.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        let line = line.replace('’', "'").to_lowercase();
        let mut rest = line.as_str();
        while !rest.is_empty() {
            let end = rest.match_indices(['.', '!', '?']).map(|(at, mark)| at + mark.len()).find(|end| {
                rest[*end..].chars().next().is_none_or(|c| c.is_whitespace() || "\"')*_".contains(c))
            });
            let (sentence, behind) = rest.split_at(end.unwrap_or(rest.len()));
            let around = |c: char| c.is_whitespace() || "\"'*_#>-•●⏺`()".contains(c);
            let sentence = sentence.trim_matches(around);
            if sentence.chars().any(char::is_alphanumeric) {
                found.push(sentence.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            rest = behind;
        }
    }
    found
}

fn meaning(sentence: &str) -> LastWords {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| contains(sentence, phrase));
    if sentence.ends_with('?')
        || has(&["please confirm", "waiting for your", "awaiting your", "please choose"])
    {
        LastWords::Asks
    } else if has(&[
        "i'll now",
        "i will now",
        "i'll continue",
        "i will continue",
        "now i'll",
        "next i'll",
        "next, i'll",
        "next i will",
        "next, i will",
        "let me now",
        "still need to",
        "still needs to",
        "remaining steps",
        "not done yet",
        "not finished",
    ]) {
        LastWords::WillContinue
    } else if has(&["unable to", "i cannot", "i can't", "could not", "couldn't", "i am stuck", "i'm stuck"])
        || fails(sentence)
    {
        LastWords::Stuck
    } else if is_done(sentence) {
        LastWords::SaysDone
    } else {
        LastWords::Other
    }
}

/// A question after which nobody has to wait.
fn is_offer(sentence: &str) -> bool {
    [
        "would you like me to",
        "do you want me to",
        "want me to",
        "shall i also",
        "should i also",
        "anything else",
        "if you'd like",
    ]
    .iter()
    .any(|phrase| contains(sentence, phrase))
}

/// Whether something failed: `3 failed` and `the build failed`, but neither `0 failed` nor `no test failed`.
fn fails(sentence: &str) -> bool {
    let words: Vec<&str> = words(sentence).collect();
    words.iter().enumerate().any(|(index, word)| {
        let failed = matches!(*word, "failed" | "failing" | "fails" | "failures" | "failure");
        let before = &words[index.saturating_sub(3)..index];
        let after = words.get(index + 1);
        failed
            && !before.iter().any(|word| is_none(word))
            && !(matches!(*word, "failures" | "failed") && after.is_some_and(|word| is_none(word)))
    })
}

fn is_none(word: &str) -> bool {
    matches!(word, "0" | "no" | "none" | "zero" | "not" | "without" | "never" | "fixed" | "previously")
}

/// Whether it says that it is done, without a word that takes it back.
fn is_done(sentence: &str) -> bool {
    let words: Vec<&str> = words(sentence).collect();
    words.iter().enumerate().any(|(index, word)| {
        let done = matches!(
            *word,
            "done"
                | "complete"
                | "completed"
                | "finished"
                | "implemented"
                | "fixed"
                | "pass"
                | "passed"
                | "succeeded"
        );
        let before = &words[index.saturating_sub(3)..index];
        done && !before.iter().any(|word| {
            matches!(
                *word,
                "not"
                    | "never"
                    | "once"
                    | "when"
                    | "until"
                    | "be"
                    | "to"
                    | "if"
                    | "isn't"
                    | "aren't"
                    | "don't"
                    | "0"
                    | "no"
            )
        })
    })
}

fn words(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|word| !word.is_empty())
}

/// Whether a phrase stands in a sentence as whole words.
fn contains(sentence: &str, phrase: &str) -> bool {
    sentence.match_indices(phrase).any(|(at, found)| {
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        edge(sentence[..at].chars().next_back()) && edge(sentence[at + found.len()..].chars().next())
    })
}
