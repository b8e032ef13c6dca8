//! Which file is a session's transcript.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ostler_agents::transcript::{Decoder, Fill, NamePattern, Owner, SpecError, TranscriptSpec};

use super::place::Place;
use super::provenance::{Provenance, is_proven};
use super::tail::FileId;
use crate::trusted_path::open_beneath;

/// Directories of one kind that are looked into; the ones that changed last.
const BREADTH: usize = 64;
/// Directories that are watched while there is no transcript; the ones that changed last.
const WATCHED: usize = 16;
/// Bytes of a file that are searched for its owner.
const HEAD: u64 = 1 << 20;
/// Clocks of file systems tick slowly.
const SLACK: Duration = Duration::from_secs(2);

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// There are files that may be the session's, and nothing proves it yet.
    pub(super) doubtful: bool,
    /// The transcript, seen from the root.
    pub(super) path: Option<PathBuf>,
    /// Directories in which it may appear.
    pub(super) watch: Vec<PathBuf>,
}

/// Looks for the newest file that is this session's: by the id of its conversation, or because something proves it. A
/// file that nothing proves is taken where it is the only one and no other session could have made it.
pub(super) fn search(
    spec: &TranscriptSpec,
    decoder: &Decoder,
    place: &Place,
    provenance: &dyn Provenance,
    is_taken: impl Fn(FileId) -> bool,
) -> Result<Search, SpecError> {
    let cwd = place.cwd.to_string_lossy();
    let fill = Fill { cwd: &cwd, session: place.session.as_deref() };
    let Some(pattern) = spec.pattern(fill)? else { return Ok(Search::default()) };
    let Some((last, directories)) = pattern.names().split_last() else { return Ok(Search::default()) };
    let mut found = Search { watch: vec![nearest(&place.root)], ..Search::default() };
    let mut level = vec![PathBuf::new()];
    for name in directories {
        level = children(&place.root, &level, name);
        found.watch.extend(level.iter().rev().take(WATCHED).map(|directory| place.root.join(directory)));
    }
    let mut candidates = Vec::new();
    for directory in &level {
        for name in names(&place.root.join(directory), last) {
            candidates.push(directory.join(name));
        }
    }
    let mut fitting: Vec<(SystemTime, PathBuf)> = candidates
        .into_iter()
        .filter_map(|path| Some((verify(spec, decoder, place, &path, &is_taken)?, path)))
        .collect();
    fitting.sort();
    let newest = if place.session.is_some() {
        fitting.pop()
    } else {
        let proven = |(_, path): &&(SystemTime, PathBuf)| {
            open_beneath(&place.root, path).is_ok_and(|file| is_proven(decoder, file, provenance))
        };
        // One database holds the conversations of all.
        let proven = fitting.iter().rev().filter(|_| spec.query.is_none()).find(proven).cloned();
        let only = || only(&fitting, started(place)).filter(|_| !provenance.has_neighbour());
        let newest = proven.or_else(only);
        found.doubtful = newest.is_none() && !fitting.is_empty();
        newest
    };
    found.path = newest.map(|(_, path)| path);
    Ok(found)
}

/// The file that no other one makes doubtful. One from before the start, by a clock that ticks slowly, does not count
/// beside one from after it: it is of the session that had just ended.
fn only(fitting: &[(SystemTime, PathBuf)], started: SystemTime) -> Option<(SystemTime, PathBuf)> {
    let later = &fitting[fitting.partition_point(|(created, _)| *created < started)..];
    match if later.is_empty() { fitting } else { later } {
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn started(place: &Place) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(place.started.0)
}

/// The directory, or the nearest above it that is there.
pub(super) fn nearest(path: &Path) -> PathBuf {
    path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/")).to_owned()
}

/// Directories of a name within others, those that changed last at the end.
fn children(root: &Path, parents: &[PathBuf], name: &NamePattern) -> Vec<PathBuf> {
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    for parent in parents {
        for name in names(&root.join(parent), name) {
            let path = parent.join(name);
            // A link is no directory here: nothing behind one is ever opened.
            if let Ok(metadata) = fs::symlink_metadata(root.join(&path))
                && metadata.is_dir()
            {
                found.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path));
            }
        }
    }
    found.sort();
    let old = found.len().saturating_sub(BREADTH);
    found.drain(..old);
    found.into_iter().map(|(_, path)| path).collect()
}

fn names(directory: &Path, pattern: &NamePattern) -> Vec<String> {
    if let Some(name) = pattern.exact() {
        return if directory.join(name).exists() { vec![name.to_owned()] } else { Vec::new() };
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| pattern.matches(name))
        .collect()
}

/// When a file was created, if it is the session's.
fn verify(
    spec: &TranscriptSpec,
    decoder: &Decoder,
    place: &Place,
    path: &Path,
    is_taken: impl Fn(FileId) -> bool,
) -> Option<SystemTime> {
    let file = open_beneath(&place.root, path).ok()?;
    let metadata = file.metadata().ok()?;
    let created = metadata.created().or_else(|_| metadata.modified()).ok()?;
    if spec.query.is_some() {
        // One database for all: the query chooses.
        return Some(created);
    }
    if place.session.is_none() && created + SLACK < started(place) {
        return None;
    }
    if is_taken(FileId::of(&file).ok()?) {
        return None;
    }
    if place.session.is_some() && spec.place.contains("{session}") {
        // Its name says whose it is, even before its first record does.
        return Some(created);
    }
    let owner = owner(decoder, file, place)?;
    let cwd = match (owner.cwd, spec.cwd_file_of(path)) {
        (None, Some(path)) => Some(read_cwd(&place.root, &path)?),
        (cwd, _) => cwd,
    };
    let same_session = place.session.is_none() || owner.session.is_none() || owner.session == place.session;
    let same_cwd = cwd.is_none_or(|cwd| is_same(Path::new(&cwd), &place.cwd));
    (same_session && same_cwd).then_some(created)
}

/// Whose file it is, as its first records tell. None: it does not tell yet, or is not a session's own.
fn owner(decoder: &Decoder, file: File, place: &Place) -> Option<Owner> {
    let mut lines = BufReader::new(file.take(HEAD));
    let mut line = Vec::new();
    let mut owner: Option<Owner> = None;
    while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        if line.last() != Some(&b'\n') {
            break;
        }
        if let Some(told) = decoder.owner(&line) {
            // A name may come in one record and a directory in a later one.
            let known = owner.get_or_insert_default();
            known.session = known.session.take().or(told.session);
            known.cwd = known.cwd.take().or(told.cwd);
            if known.cwd.is_some() && (known.session.is_some() || place.session.is_none()) {
                break;
            }
        }
        line.clear();
    }
    owner
}

fn read_cwd(root: &Path, path: &Path) -> Option<String> {
    let mut text = String::new();
    open_beneath(root, path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    Some(text.trim_end_matches('\n').to_owned())
}

/// Whether two names are of one directory: agents write down the real one.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
