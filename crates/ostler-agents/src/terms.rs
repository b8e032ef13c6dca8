//! What to look for in the code, given a task in words.

use std::collections::HashSet;

/// Most terms of one task.
const MOST: usize = 16;
/// Longest and shortest term, in characters.
const LONGEST: usize = 80;
const SHORTEST: usize = 3;
/// Shortest ordinary word.
const SHORTEST_WORD: usize = 4;
/// How much of a task is read: the beginning says what it is about.
const READ: usize = 64 << 10;

/// Something to look for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    /// The text.
    pub text: String,
    /// What it looks like.
    pub kind: Kind,
}

/// What a term looks like: the more it looks like code, the more it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A file or a directory.
    Path,
    /// Text that the task quotes.
    Quoted,
    /// A name as programs have them: `snake_case`, `camelCase`, `a::b`, `a.b`.
    Identifier,
    /// An ordinary word.
    Word,
}

/// The terms of a task, those that say most first.
pub fn terms(task: &str) -> Vec<Term> {
    let task = &task[..task.floor_char_boundary(READ)];
    let mut found = quoted(task);
    found.extend(task.split(|c: char| c.is_whitespace() || SEPARATORS.contains(c)).filter_map(term));
    // By kind, and within a kind as they come.
    found.sort_by_key(|term| term.kind);
    let mut seen = HashSet::new();
    found.retain(|term| seen.insert(term.text.to_lowercase()));
    found.truncate(MOST);
    found
}

/// What separates words besides blanks, and is no part of a name or a path.
const SEPARATORS: &str = ",;!?()[]{}<>\"'`“”‘’«»|=*+&%$#^~\\";

/// What a task has in quotes, if it is short and on one line.
fn quoted(task: &str) -> Vec<Term> {
    let mut found = Vec::new();
    for (open, close) in [('`', '`'), ('"', '"'), ('“', '”'), ('«', '»')] {
        let mut rest = task;
        while let Some(start) = rest.find(open) {
            let inner = &rest[start + open.len_utf8()..];
            let Some(end) = inner.find(close) else { break };
            let text = inner[..end].trim();
            rest = &inner[end + close.len_utf8()..];
            let fits = (SHORTEST..=LONGEST).contains(&text.chars().count()) && !text.contains('\n');
            if fits && text.contains(char::is_alphanumeric) {
                let kind = term(text).map_or(Kind::Quoted, |term| term.kind.min(Kind::Quoted));
                found.push(Term { text: text.to_owned(), kind });
            }
        }
    }
    found
}

/// The term that a word is, if it is one.
fn term(word: &str) -> Option<Term> {
    let word = word.trim_start_matches("./").trim_end_matches('/');
    let word = word.trim_matches(|c: char| matches!(c, '.' | ':' | '-' | '@'));
    let length = word.chars().count();
    if !(SHORTEST..=LONGEST).contains(&length) || !word.contains(char::is_alphabetic) {
        return None;
    }
    // Addresses of the web are not in the code.
    if word.contains("://") || word.split('/').count() > 20 {
        return None;
    }
    let kind = if is_path(word) {
        Kind::Path
    } else if is_identifier(word) {
        Kind::Identifier
    } else if length >= SHORTEST_WORD && word.chars().all(char::is_alphanumeric) && !is_common(word) {
        Kind::Word
    } else {
        return None;
    };
    Some(Term { text: word.to_owned(), kind })
}

/// `src/main.rs`, `main.rs`; not `and/or`, which nobody can tell from a path: it costs little to look for.
fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@');
    let extension = word.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.contains(char::is_alphabetic) && EXTENSIONS.split(' ').any(|known| known == extension)
    });
    word.chars().all(plain) && (word.contains('/') || extension)
}

/// Ends of file names that are no method calls.
const EXTENSIONS: &str = "\
    c cc cfg conf cpp cs css csv go h hpp hs html ini java js json jsx kt lock lua md mjs php pl proto py rb \
    rs scala sh sql svg swift toml ts tsx txt vue xml yaml yml zig";

fn is_identifier(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
    let mixed = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let joined = |c: char| matches!(c, '_' | ':' | '.' | '-') || c.is_ascii_digit();
    let shouted = word.len() >= SHORTEST && word.chars().all(|c| c.is_ascii_uppercase());
    word.chars().all(plain)
        && (mixed || word.contains(joined) || shouted)
        && !(word.contains('-') && word.split('-').all(is_common))
}

/// Words that say nothing about the code.
fn is_common(word: &str) -> bool {
    let word = word.to_lowercase();
    COMMON.split(' ').any(|common| common == word)
}

const COMMON: &str = "\
    about above according across actually added adding adds after again against almost along already also \
    always another anything around because become been before behaviour being below best better between both \
    bring bugs build call called calls cannot change changed changes check code come comes correct could \
    create current currently different does doesn doing done down during each either else enough ensure even \
    every everything example existing explain feature file files find first fixed fixes following from \
    function functions further gets getting give given gives goes going good handle have having help here \
    however implement improve include instead into issue itself just keep know last least leave less like \
    line lines little long longer look looks made main make makes making many maybe mean means might more \
    most move much must name need needs never next nothing only onto other others output over part please \
    possible problem program project properly provide rather really refactor remove rename replace right \
    same section seems shall should show shows simple since some something still such sure take takes task \
    tell test tests than that their them then there these they thing things this those three through time \
    times together towards under unless until update upon used user users uses using very want wants well \
    were what when where whether which while whole will with within without work working works would write \
    wrong your";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(task: &str) -> Vec<String> {
        terms(task).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn what_looks_like_code_comes_first() {
        let task = "Please fix the retry in `Client::send`: src/net/client.rs sleeps too long when \
                    max_retries is 0, and the parser says \"connection lost\". See retryBudget and HTTP.";
        let expected = [
            "src/net/client.rs",
            "Client::send",
            "connection lost",
            "max_retries",
            "retryBudget",
            "HTTP",
            "retry",
            "sleeps",
            "parser",
            "says",
            "connection",
            "lost",
        ];
        assert_eq!(found(task), expected);
    }

    #[test]
    fn the_kinds_are_told_apart() {
        let table = [
            ("./main.rs", Some(("main.rs", Kind::Path))),
            ("crates/core/", Some(("crates/core", Kind::Path))),
            ("foo.bar", Some(("foo.bar", Kind::Identifier))),
            ("Foo::bar.", Some(("Foo::bar", Kind::Identifier))),
            ("utf8", Some(("utf8", Kind::Identifier))),
            ("--dry-run", Some(("dry-run", Kind::Identifier))),
            ("session", Some(("session", Kind::Word))),
            ("Größe", Some(("Größe", Kind::Word))),
            ("the", None),
            ("should", None),
            ("https://example.com/a", None),
            ("1234", None),
            ("...", None),
            ("it", None),
        ];
        for (word, expected) in table {
            let found = term(word);
            let found = found.as_ref().map(|term| (term.text.as_str(), term.kind));
            assert_eq!(found, expected, "{word}");
        }
    }

    #[test]
    fn a_term_comes_once_and_there_are_not_too_many() {
        assert_eq!(found("Parser parser PARSER `parser`"), ["parser"]);
        let many: Vec<String> = (0..100).map(|n| format!("name_{n}")).collect();
        assert_eq!(found(&many.join(" ")).len(), MOST);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_task_has_few_short_terms(task in any::<String>()) {
            let terms = terms(&task);
            prop_assert!(terms.len() <= MOST);
            prop_assert!(terms.iter().all(|term| (SHORTEST..=LONGEST).contains(&term.text.chars().count())));
            prop_assert!(terms.iter().all(|term| !term.text.contains('\n')));
        }
    }
}
