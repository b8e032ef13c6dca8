//! Lines of a project's code that have to do with a task.
//!
//! It is ripgrep's search: what git ignores is not looked at, nor is what is hidden, binary or behind a link. A
//! project can be of any size, so there are bounds on files, bytes, time and finds; what is found within them is
//! ranked, lines with rare terms first.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{DirEntry, WalkBuilder};
use ostler_agents::context::Place;
use ostler_agents::terms::{Kind, Term};
use ostler_core::Steady;
use regex::bytes::RegexSet;
use rustix::fs::OFlags;
use tokio::sync::oneshot;

use crate::clock;

/// Most files, directories and links that are come across, and bytes that are read of files.
const ENTRIES: usize = 20_000;
const BYTES: u64 = 64 << 20;
/// Largest file that is looked at.
const LARGEST: u64 = 1 << 20;
/// How long a search may take, and how much longer it is waited for: files of a project can be stuck.
const TIME: Duration = Duration::from_millis(1_500);
const GRACE: Duration = Duration::from_millis(500);
/// Most lines that are given, of all files and of one.
const PLACES: usize = 40;
const PER_FILE: usize = 3;
/// Lines that are kept for one term until all are counted.
const PER_TERM: usize = 24;
/// A word that is in more lines than this says nothing.
const TOO_COMMON: u64 = 400;
/// How much of a line is kept, in bytes.
const LINE: usize = 240;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Found {
    /// The lines, best first.
    pub(crate) places: Vec<Place>,
    /// A bound was reached: there may be more.
    pub(crate) cut: bool,
}

/// Looks for terms in a project, aside; files that are `skipped` are named as seen from its root.
pub(crate) async fn search(root: PathBuf, terms: Vec<Term>, skipped: Vec<String>) -> Found {
    let deadline = clock::steady().plus(TIME);
    let (sender, found) = oneshot::channel();
    // A thread of its own, which nobody waits for at the end: one that is stuck in a file must hold up nothing.
    let thread = std::thread::Builder::new().name("search".into());
    let started = thread.spawn(move || drop(sender.send(run(&root, &terms, &skipped, deadline))));
    let cut = || Found { places: Vec::new(), cut: true };
    if started.is_err() {
        return cut();
    }
    match tokio::time::timeout(TIME + GRACE, found).await {
        Ok(Ok(found)) => found,
        _ => cut(),
    }
}

fn run(root: &Path, terms: &[Term], skipped: &[String], deadline: Steady) -> Found {
    let patterns: Vec<String> = terms.iter().map(pattern).collect();
    let matcher = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build_many(&patterns);
    let (Ok(matcher), Ok(set)) = (matcher, RegexSet::new(&patterns)) else { return Found::default() };
    if terms.is_empty() {
        return Found::default();
    }
    let mut hunt = Hunt {
        terms,
        set,
        counts: vec![0; terms.len()],
        kept: vec![0; terms.len()],
        finds: Vec::new(),
        deadline,
        in_file: vec![0; terms.len()],
        file: PathBuf::new(),
        cut: false,
    };
    let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).build();
    let mut walk = WalkBuilder::new(root);
    walk.require_git(false).same_file_system(true).sort_by_file_name(Ord::cmp);
    let mut bytes = 0;
    // Of what is passed over there can be any number, so the bounds come before everything else. For the same reason the
    // walk is not told of the largest size: it would walk on by itself.
    for (count, entry) in walk.build().enumerate() {
        if count >= ENTRIES || bytes > BYTES || clock::steady() > deadline {
            hunt.cut = true;
            break;
        }
        let Some((entry, size)) = entry.ok().and_then(small_file) else { continue };
        let Ok(below) = entry.path().strip_prefix(root) else { continue };
        if is_noise(below) || skipped.iter().any(|skipped| Path::new(skipped) == below) {
            continue;
        }
        bytes += size;
        hunt.look_at(&mut searcher, &matcher, entry.path(), below);
    }
    hunt.ranked()
}

/// An entry with its size, if it is a file and not too large.
fn small_file(entry: DirEntry) -> Option<(DirEntry, u64)> {
    entry.file_type().filter(std::fs::FileType::is_file)?;
    let size = entry.metadata().ok()?.len();
    (size <= LARGEST).then_some((entry, size))
}

/// Files that no person wrote.
fn is_noise(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let endings =
        [".lock", ".map", ".svg", ".min.js", ".min.css", "-lock.json", "-lock.yaml", ".snap", ".sum"];
    endings.iter().any(|ending| name.ends_with(ending))
}

/// How a term looks in code: names as they are, words at the beginning of a word.
fn pattern(term: &Term) -> String {
    let text = regex::escape(&term.text);
    let edge = |character: Option<char>| {
        if character.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') { r"(?-u:\b)" } else { "" }
    };
    let (first, last) = (edge(term.text.chars().next()), edge(term.text.chars().next_back()));
    match term.kind {
        Kind::Identifier => format!("{first}{text}{last}"),
        Kind::Word => format!("(?i:{first}{text})"),
        Kind::Path | Kind::Quoted => format!("(?i:{text})"),
    }
}

/// A search under way.
struct Hunt<'a> {
    terms: &'a [Term],
    set: RegexSet,
    /// In how many lines each term is.
    counts: Vec<u64>,
    /// How many finds were kept for each term.
    kept: Vec<usize>,
    finds: Vec<Find>,
    deadline: Steady,
    /// The same, of the file at hand.
    in_file: Vec<usize>,
    file: PathBuf,
    cut: bool,
}

struct Find {
    place: Place,
    terms: Vec<usize>,
}

impl Hunt<'_> {
    fn look_at(&mut self, searcher: &mut Searcher, matcher: &RegexMatcher, path: &Path, below: &Path) {
        let Ok(file) = open(path) else { return };
        below.clone_into(&mut self.file);
        self.in_file.fill(0);
        if self.is_named() {
            self.name_file(path);
        }
        // What cannot be read is passed over.
        let _ = searcher.search_file(matcher, &file, self);
    }

    /// Whether a term of the task is this file's name.
    fn is_named(&self) -> bool {
        self.terms.iter().any(|term| term.kind == Kind::Path && self.file.ends_with(&term.text))
    }

    /// A file that the task names is a find by itself: its first line stands for it.
    fn name_file(&mut self, path: &Path) {
        let Ok(file) = open(path) else { return };
        let lines = BufReader::new(io::Read::take(file, 4 << 10)).lines();
        let first = lines.map_while(Result::ok).zip(1..).find(|(text, _)| !text.trim().is_empty());
        let Some((text, line)) = first else { return };
        let named = |(_, term): &(usize, &Term)| term.kind == Kind::Path && self.file.ends_with(&term.text);
        let terms: Vec<usize> = self.terms.iter().enumerate().filter(named).map(|(index, _)| index).collect();
        self.take(line, text.as_bytes(), terms);
    }

    fn take(&mut self, line: u64, text: &[u8], terms: Vec<usize>) {
        for term in &terms {
            self.counts[*term] += 1;
        }
        if terms.iter().all(|term| self.kept[*term] >= PER_TERM || self.in_file[*term] >= PER_FILE) {
            return;
        }
        for term in &terms {
            self.kept[*term] += 1;
            self.in_file[*term] += 1;
        }
        let text = String::from_utf8_lossy(&text[..text.len().min(LINE)]).trim().to_owned();
        let place = Place { file: self.file.display().to_string(), line, text };
        self.finds.push(Find { place, terms });
    }

    /// The finds, those with rare terms first, and not too many of one file.
    fn ranked(self) -> Found {
        let score = |find: &Find| -> u64 {
            find.terms
                .iter()
                .map(|term| {
                    let weight = match self.terms[*term].kind {
                        Kind::Path | Kind::Quoted => 4_000_000,
                        Kind::Identifier => 3_000_000,
                        Kind::Word if self.counts[*term] > TOO_COMMON => 0,
                        Kind::Word => 1_000_000,
                    };
                    weight / self.counts[*term].max(1)
                })
                .sum()
        };
        let mut finds: Vec<(u64, Place)> =
            self.finds.iter().map(|find| (score(find), find.place.clone())).collect();
        finds.retain(|(score, _)| *score > 0);
        // A stable sort: what is equal stays in the order of files and lines.
        finds.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let mut found = Found { places: Vec::new(), cut: self.cut };
        for (_, place) in finds {
            let of_file = |other: &&Place| other.file == place.file;
            let is_known = found.places.iter().any(|other| of_file(&other) && other.line == place.line);
            if is_known || found.places.iter().filter(of_file).count() >= PER_FILE {
                continue;
            }
            found.places.push(place);
            if found.places.len() == PLACES {
                break;
            }
        }
        found
    }
}

impl Sink for &mut Hunt<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if clock::steady() > self.deadline {
            self.cut = true;
            return Ok(false);
        }
        let terms: Vec<usize> = self.set.matches(found.bytes()).into_iter().collect();
        self.take(found.line_number().unwrap_or(0), found.bytes(), terms);
        Ok(true)
    }
}

/// Opens a file that was a plain one a moment ago; never waits for a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

#[cfg(test)]
mod tests;
