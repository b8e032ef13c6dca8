//! The modules of the daemon form no cycle: each can be understood after those that it imports.
//!
//! A top-level module is one node, with all files beneath it. Test code may import whatever it likes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]
#![allow(clippy::disallowed_methods, reason = "it reads the sources")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Which modules a module imports, and the files that do so.
type Graph = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Reads Rust just well enough: words and single marks, without comments, strings, characters and lifetimes.
fn tokens(source: &str) -> Vec<String> {
    let source: Vec<char> = source.chars().collect();
    let (mut at, mut found) = (0, Vec::new());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while at < source.len() {
        let rest = &source[at..];
        at += match rest {
            ['/', '/', ..] => rest.iter().take_while(|c| **c != '\n').count(),
            ['/', '*', ..] => 2 + rest[2..].windows(2).take_while(|pair| *pair != ['*', '/']).count() + 2,
            ['\'', '\\', ..] => 3 + rest.iter().skip(3).take_while(|c| **c != '\'').count() + 1,
            ['\'', _, '\'', ..] => 3,
            ['"', ..] => text(rest),
            ['r', '#', '"', ..] => {
                3 + rest[3..].windows(2).take_while(|pair| *pair != ['"', '#']).count() + 2
            }
            [c, ..] if is_word(*c) => {
                let word: String = rest.iter().take_while(|c| is_word(**c)).collect();
                let length = word.chars().count();
                found.push(word);
                length
            }
            [c, ..] => {
                if !c.is_whitespace() {
                    found.push(c.to_string());
                }
                1
            }
            [] => 1,
        };
    }
    found
}

/// The length of a string in quotes.
fn text(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn begins(tokens: &[String], with: &[&str]) -> bool {
    tokens.len() >= with.len() && tokens.iter().zip(with).all(|(token, expected)| token == expected)
}

/// The length of what is in brackets, with the brackets. `tokens` begins with the first.
fn bracketed(tokens: &[String], open: &str, close: &str) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        depth += i32::from(token == open) - i32::from(token == close);
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// The tokens without modules that are compiled for tests only.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let (mut at, mut kept) = (0, Vec::new());
    while at < tokens.len() {
        if begins(&tokens[at..], &["#", "[", "cfg", "(", "test", ")", "]"]) {
            let mut item = at + 7;
            while begins(&tokens[item..], &["#", "["]) {
                item += 1 + bracketed(&tokens[item + 1..], "[", "]");
            }
            if begins(&tokens[item..], &["mod"]) && tokens.get(item + 2).is_some_and(|token| token == "{") {
                at = item + 2 + bracketed(&tokens[item + 2..], "{", "}");
                continue;
            }
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    kept
}

/// The first names behind `crate::`, or behind as many `super::` as lead there from `depth` modules below.
fn names(tokens: &[String], depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let mut path = at;
        if begins(&tokens[at..], &["crate", ":", ":"]) {
            path += 3;
        } else if begins(&tokens[at..], &["super", ":", ":"]) && !(at > 1 && tokens[at - 1] == ":") {
            let mut up = 0;
            while begins(&tokens[path..], &["super", ":", ":"]) {
                (path, up) = (path + 3, up + 1);
            }
            if up < depth {
                continue;
            }
        } else {
            continue;
        }
        if !begins(&tokens[path..], &["{"]) {
            found.extend(tokens.get(path).cloned());
            continue;
        }
        let group = &tokens[path..path + bracketed(&tokens[path..], "{", "}")];
        let mut nesting = 0;
        for (place, token) in group.iter().enumerate() {
            let begins_name = place > 0 && matches!(group[place - 1].as_str(), "{" | ",");
            if nesting == 1 && begins_name {
                found.push(token.clone());
            }
            nesting += i32::from(token == "{") - i32::from(token == "}");
        }
    }
    found
}

/// What the root of the crate declares, and what it takes out of its modules: from name to module.
fn root(source: &str) -> BTreeMap<String, String> {
    let tokens = tokens(source);
    let mut found = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        if token == "mod" {
            found.insert(tokens[at + 1].clone(), tokens[at + 1].clone());
        }
        if token == "use" {
            let module = &tokens[at + 1];
            let names = tokens[at + 2..].iter().take_while(|token| *token != ";");
            found.extend(
                names
                    .filter(|name| name.chars().all(char::is_alphanumeric))
                    .map(|name| (name.clone(), module.clone())),
            );
        }
    }
    found
}

/// The graph of these files: a path beneath `src`, and the source.
fn graph(files: &[(String, String)]) -> Graph {
    let lib = files.iter().find(|(path, _)| path == "lib.rs").unwrap();
    let root = root(&lib.1);
    let mut graph = Graph::new();
    for (path, source) in files.iter().filter(|(path, _)| path != "lib.rs") {
        let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
        let module = parts[0];
        let imports = graph.entry(module.to_owned()).or_default();
        for name in names(&without_tests(&tokens(source)), parts.len()) {
            if let Some(imported) = root.get(&name).filter(|imported| *imported != module) {
                imports.entry(imported.clone()).or_default().insert(path.clone());
            }
        }
    }
    graph
}

fn reachable(graph: &Graph, from: &str) -> BTreeSet<String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        for imported in graph.get(module).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(imported.clone()) {
                next.push(imported);
            }
        }
    }
    seen
}

/// The imports that are part of a cycle.
fn cycles(graph: &Graph) -> Vec<String> {
    let reached: BTreeMap<&String, BTreeSet<String>> =
        graph.keys().map(|module| (module, reachable(graph, module))).collect();
    let mut found = Vec::new();
    for (module, imports) in graph {
        for (imported, files) in imports {
            if reached.get(imported).is_some_and(|reached| reached.contains(module)) {
                let files: Vec<&str> = files.iter().map(String::as_str).collect();
                found.push(format!("{module} imports {imported} ({})", files.join(", ")));
            }
        }
    }
    found
}

fn sources(dir: &Path, beneath: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, &format!("{beneath}{name}/"), found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !name.ends_with("_tests.rs")
            && name != "tests.rs"
        {
            found.push((format!("{beneath}{name}"), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn modules_form_no_cycle() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    let graph = graph(&files);
    assert!(graph.len() > 30, "{:?}", graph.keys());
    assert!(graph["connection"].contains_key("api"), "{:?}", graph["connection"]);
    assert!(graph["api"].contains_key("session"), "{:?}", graph["api"]);
    let found = cycles(&graph);
    assert!(
        found.is_empty(),
        "these imports form a cycle; hand over what is needed, or move it down:\n{}",
        found.join("\n")
    );
}

#[test]
fn what_serves_clients_is_free_of_sockets_and_frames() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api"), "api/", &mut files);
    assert!(files.len() > 5, "{}", files.len());
    for (path, source) in files {
        let words = without_tests(&tokens(&source));
        let banned = ["FrameStream", "FrameError", "Frame", "UnixStream", "Response"];
        let found: Vec<&String> = words.iter().filter(|word| banned.contains(&word.as_str())).collect();
        assert!(found.is_empty(), "{path} knows of the socket: {found:?}");
    }
}

/// Paths beneath `src`, each with its source.
type Files<'a> = &'a [(&'a str, &'a str)];

#[test]
fn a_cycle_is_found() {
    let check = |files: Files<'_>| {
        let lib = ("lib.rs", "mod a;\npub mod b;\nmod c;\npub use b::{Thing, Other};\n");
        let files: Vec<(String, String)> =
            files.iter().chain([&lib]).map(|(path, text)| ((*path).into(), (*text).into())).collect();
        cycles(&graph(&files))
    };
    let a_b = ["a imports b (a.rs)", "b imports a (b.rs)"];
    let table: [(Files<'_>, &[&str]); 13] = [
        (&[("a.rs", "use crate::b::X;"), ("b.rs", "use crate::a::Y;")], &a_b),
        (&[("a.rs", "use crate::{c, b::{self, a}};"), ("b.rs", "fn f() { crate::a::y() }")], &a_b),
        (&[("a.rs", "use crate::Other;"), ("b.rs", "use crate::a;")], &a_b),
        (&[("a.rs", "use super::b;"), ("b.rs", "use crate::{a};")], &a_b),
        (
            &[("a/x.rs", "use super::super::b;"), ("b.rs", "use crate::a;")],
            &["a imports b (a/x.rs)", "b imports a (b.rs)"],
        ),
        (
            &[("a.rs", "use crate::b;"), ("b/y.rs", "use crate::c;"), ("c.rs", "use crate::a;")],
            &["a imports b (a.rs)", "b imports c (b/y.rs)", "c imports a (c.rs)"],
        ),
        // None of these.
        (&[("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "")], &[]),
        (&[("a/x.rs", "use super::b;"), ("b.rs", "use crate::a;")], &[]),
        (&[("a.rs", "use crate::c::{b};"), ("b.rs", "use crate::a;")], &[]),
        (&[("a.rs", "// crate::b\n/* crate::b */ \"crate::b\""), ("b.rs", "use crate::a;")], &[]),
        (&[("a.rs", "#[cfg(test)]\nmod tests { use crate::b; }"), ("b.rs", "use crate::a;")], &[]),
        (&[("a.rs", "use crate::a::x; pub(crate) fn b() {}"), ("b.rs", "use crate::a;")], &[]),
        (&[("a.rs", "let c = '\"'; let d = '\\''; fn f<'b>() {}"), ("b.rs", "use crate::a;")], &[]),
    ];
    for (files, expected) in table {
        assert_eq!(check(files), expected, "{files:?}");
    }
}
