//! No code names an agent: an agent is data, and whatever holds for one of them is written in its preset.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ostler_agents::{BUILT_IN, GENERIC};

/// Names that are ordinary words too. They count only where a string is nothing else.
const ORDINARY: &[&str] = &["agent", "amp", "cline", "crush", "cursor", "droid", "goose", "pi", "vibe"];
/// Where an ordinary word is the name of something else: the end of the file's path, and the word.
const MEANT_OTHERWISE: &[(&str, &str)] = &[("ostler-agents/src/region.rs", "cursor")];
/// Test code that is not told by its name: the model server speaks the protocols of vendors.
const TEST_CODE: &[&str] = &["ostler-testkit/src/model_server"];

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Identifier(String),
    Text(String),
}

/// Reads Rust just well enough to tell identifiers and strings from the rest; with the line of each.
fn tokens(source: &str) -> Vec<(usize, Token)> {
    let source: Vec<char> = source.chars().collect();
    let (mut at, mut line, mut found) = (0, 1, Vec::new());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while at < source.len() {
        let start = at;
        let rest = &source[at..];
        match rest {
            ['/', '/', ..] => at += rest.iter().take_while(|c| **c != '\n').count(),
            ['/', '*', ..] => {
                let mut depth = 0;
                while at < source.len() {
                    match &source[at..] {
                        ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
                        ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
                        _ => at += 1,
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            // A character, or else a lifetime.
            ['\'', '\\', ..] => at += 3 + rest.iter().skip(3).take_while(|c| **c != '\'').count() + 1,
            ['\'', _, '\'', ..] => at += 3,
            ['"', ..] => {
                at += 1;
                let mut text = String::new();
                while at < source.len() && source[at] != '"' {
                    if source[at] == '\\' {
                        at += 1;
                    }
                    text.extend(source.get(at));
                    at += 1;
                }
                at += 1;
                found.push((line, Token::Text(text)));
            }
            [c, ..] if is_word(*c) => {
                let word: String = rest.iter().take_while(|c| is_word(**c)).collect();
                at += word.chars().count();
                let hashes = source[at..].iter().take_while(|c| **c == '#').count();
                let is_raw =
                    matches!(word.as_str(), "r" | "br" | "cr") && source.get(at + hashes) == Some(&'"');
                if is_raw {
                    at += hashes + 1;
                    let end: Vec<char> =
                        std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                    let length = source[at..].windows(end.len()).take_while(|part| *part != end).count();
                    found.push((line, Token::Text(source[at..at + length].iter().collect())));
                    at += length + end.len();
                } else if !(matches!(word.as_str(), "b" | "c") && matches!(source.get(at), Some('"' | '\'')))
                {
                    found.push((line, Token::Identifier(word)));
                }
            }
            _ => at += 1,
        }
        at = at.min(source.len());
        line += source[start..at].iter().filter(|c| **c == '\n').count();
    }
    found
}

/// The part of a source that is no test code.
fn without_tests(source: &str) -> &str {
    let tail = source.match_indices("#[cfg(test)]\n").map(|(at, _)| at);
    let mut modules = tail.filter(|at| {
        let rest = source[*at..].lines().skip(1).find(|line| !line.starts_with("#[")).unwrap_or_default();
        rest.starts_with("mod ") && rest.ends_with('{')
    });
    modules.next().map_or(source, |at| &source[..at])
}

/// The names in a source that it must not have, with their lines.
fn offences(file: &str, source: &str, names: &BTreeSet<String>) -> Vec<(usize, String)> {
    let is_ordinary = |name: &str| ORDINARY.contains(&name);
    let meant_otherwise =
        |name: &str| MEANT_OTHERWISE.iter().any(|(end, word)| file.ends_with(end) && *word == name);
    let offends = |token: &Token, name: &str| match token {
        Token::Text(text) if is_ordinary(name) => text.to_lowercase() == name && !meant_otherwise(name),
        Token::Identifier(_) if is_ordinary(name) => false,
        // Short names are looked for as words only.
        Token::Text(text) | Token::Identifier(text) if name.len() < 5 => words(text).any(|word| word == name),
        Token::Text(text) => text.to_lowercase().contains(name),
        Token::Identifier(text) => {
            text.to_lowercase().replace('_', "").contains(&name.replace(['-', ' '], ""))
        }
    };
    // Most sources have none of the names anywhere.
    let all = source.to_lowercase();
    let near: Vec<&String> =
        names.iter().filter(|name| name.split(['-', ' ']).all(|word| all.contains(word))).collect();
    if near.is_empty() {
        return Vec::new();
    }
    tokens(without_tests(source))
        .iter()
        .flat_map(|(line, token)| {
            near.iter().filter(|name| offends(token, name)).map(|name| (*line, (*name).clone()))
        })
        .collect()
}

/// The words of a text or an identifier, in small letters.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    let mut last = ' ';
    for c in text.chars() {
        if c.is_uppercase() && last.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
        last = c;
    }
    spaced.to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// Everything that the agents which come with ostler are called.
fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (name, text) in BUILT_IN.iter().filter(|(name, _)| *name != GENERIC) {
        let preset: toml::Table = text.parse().unwrap();
        let title = preset.get("title").and_then(|title| title.as_str());
        let command =
            preset.get("run").and_then(|run| run.get("command")).and_then(|command| command.as_str());
        names.extend([Some(*name), title, command].into_iter().flatten().map(str::to_lowercase));
    }
    names
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !(name.starts_with('.')
                || matches!(name.as_str(), "target" | "tests" | "benches" | "examples"))
            {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !name.ends_with("_tests.rs")
            && name != "tests.rs"
        {
            found.push(path);
        }
    }
}

#[test]
fn no_code_names_an_agent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let names = names();
    assert!(names.len() > 10, "{names:?}");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 100, "{}", files.len());
    let mut found = Vec::new();
    for path in files {
        let file = path.strip_prefix(&root).unwrap().display().to_string();
        if TEST_CODE.iter().any(|part| file.contains(part)) {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        let told =
            offences(&file, &source, &names).into_iter().map(|(line, name)| format!("{file}:{line}: {name}"));
        found.extend(told);
    }
    assert!(
        found.is_empty(),
        "these name an agent; put what they know into its preset:\n{}",
        found.join("\n")
    );
}

#[test]
fn a_name_in_code_is_found() {
    let names: BTreeSet<String> = ["claude", "claude code", "qwen", "cursor", "pi"].map(str::to_owned).into();
    let check = |source: &str| -> Vec<String> {
        let found = offences("a/src/b.rs", source, &names);
        found.into_iter().map(|(line, name)| format!("{line} {name}")).collect()
    };
    let table: [(&str, &[&str]); 22] = [
        ("\nif name == \"claude\" {}", &["2 claude"]),
        ("let x = \"is Claude Code here\";", &["1 claude", "1 claude code"]),
        ("let x = r#\"a \"claude\" b\"#;", &["1 claude"]),
        ("let x = b\"claude\";", &["1 claude"]),
        ("fn start_claude() {}", &["1 claude"]),
        ("enum A { ClaudeCode }", &["1 claude", "1 claude code"]),
        ("CLAUDECODE", &["1 claude", "1 claude code"]),
        ("match x { Qwen => 1 }", &["1 qwen"]),
        ("is_qwen_there()", &["1 qwen"]),
        ("let c = '\"'; let x = \"claude\"; let d = '\\'';", &["1 claude"]),
        ("let c = '\\\\'; \"claude\"", &["1 claude"]),
        ("fn a<'a>(x: &'a str) { \"claude\" }", &["1 claude"]),
        ("\"a \\\" b\" + \"claude\"", &["1 claude"]),
        ("\"pi\"", &["1 pi"]),
        ("\"cursor\"", &["1 cursor"]),
        ("/* one\n /* two */ */ \"claude\"", &["2 claude"]),
        // Nothing of this is a name in code.
        ("// claude\n/* claude /* claude */ claude */ x", &[]),
        ("let cursor = 1; // the pi of it", &[]),
        ("\"the cursor\" \"copied\" \"opinion\"", &[]),
        ("let qwenya = \"sqwens\";", &[]),
        ("#[cfg(test)]\nmod tests {\n \"claude\"\n}", &[]),
        ("#[cfg(test)]\n#[path = \"x\"]\nmod x {\n \"claude\"\n}", &[]),
    ];
    for (source, expected) in table {
        assert_eq!(check(source), expected, "{source}");
    }
    assert_eq!(check("#[cfg(test)]\nmod tests;\n\"claude\""), ["3 claude"]);
    assert!(offences("x/ostler-agents/src/region.rs", "\"cursor\"", &names).is_empty());
    assert_eq!(offences("x/ostler-agents/src/region.rs", "\"pi\"", &names).len(), 1);
}
