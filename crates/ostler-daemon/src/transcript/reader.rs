//! Reading one session's transcript, a step at a time.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_agents::transcript::{Decoder, Memory, TranscriptSpec};

use super::claims::{Claim, Claims};
use super::find::{nearest, search};
use super::place::{Place, TailState};
use super::provenance::Provenance;
use super::remote::is_local;
use super::rows::{Reading, Table};
use super::tail::{FileId, Line, Position, Progress, Tail};
use super::watcher::Written;
use crate::trusted_path::{TrustError, open_beneath};

/// Reads one session's transcript. Every step blocks for a bounded time.
#[derive(Debug)]
pub(super) struct Reader {
    spec: Arc<TranscriptSpec>,
    place: Place,
    decoder: Decoder,
    source: Source,
    /// What was read last, if it is not being read now: it may come back.
    known: Option<FollowedFile>,
    provenance: Arc<dyn Provenance>,
    claims: Claims,
    claim: Option<Claim>,
    /// The last problem that was told: one is told once.
    problem: Option<String>,
}

#[derive(Debug)]
enum Source {
    None,
    Lines(PathBuf, Tail),
    Rows(Table),
}

#[derive(Debug, Clone)]
struct FollowedFile {
    path: PathBuf,
    file: FileId,
    position: Position,
}

/// What a step brought.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) facts: Vec<Written>,
    /// What a person should know.
    pub(super) problem: Option<String>,
    /// There is more to be read at once.
    pub(super) more: bool,
    /// There is something that may be the transcript, and nothing proves it yet.
    pub(super) doubtful: bool,
    /// What to watch until the next step.
    pub(super) watch: Vec<PathBuf>,
    /// The kernel tells of every change there.
    pub(super) reliable: bool,
}

impl Reader {
    pub(super) fn new(
        spec: Arc<TranscriptSpec>,
        decoder: Decoder,
        mut place: Place,
        provenance: Arc<dyn Provenance>,
        claims: Claims,
        resume: Option<TailState>,
    ) -> Self {
        let mut known = None;
        let decoder = match resume {
            Some(TailState { path: Some(path), file, position, memory, .. }) => {
                place.path.get_or_insert_with(|| path.clone());
                known = Some(FollowedFile { path, file, position });
                decoder.resume(memory)
            }
            _ => decoder.since(place.started),
        };
        Self {
            spec,
            place,
            decoder,
            source: Source::None,
            known,
            provenance,
            claims,
            claim: None,
            problem: None,
        }
    }

    /// Takes the word of a hook for whose the transcript is and where; gives what is wrong with it.
    pub(super) fn named(&mut self, path: Option<PathBuf>, session: Option<String>) -> Option<String> {
        if let Some(session) = session {
            self.place.session = Some(session);
        }
        let path = path.filter(|path| self.place.path.as_ref() != Some(path))?;
        let current = self.current();
        match (open_beneath(&self.place.root, &path), current) {
            // The same file by another name.
            (Ok(file), Some(current)) if FileId::of(&file).is_ok_and(|id| id == current.file) => return None,
            (Err(error), Some(_)) if !error.is_missing() => return self.news(not_read(&error)),
            _ => {}
        }
        self.place.path = Some(path);
        self.leave();
        None
    }

    pub(super) fn state(&self) -> TailState {
        let memory = self.decoder.memory().clone();
        match self.current().or_else(|| self.known.clone()) {
            Some(FollowedFile { path, file, position }) => {
                let root = Some(self.place.root.clone());
                TailState { path: Some(path), root, file, position, memory }
            }
            None => TailState { memory, ..TailState::default() },
        }
    }

    pub(super) fn step(&mut self) -> Step {
        let mut step = Step::default();
        let result = match &self.source {
            Source::None => self.look(&mut step),
            Source::Lines(..) => self.read_lines(&mut step),
            Source::Rows(..) => self.read_rows(&mut step),
        };
        match result {
            Ok(()) if !step.more => self.problem = None,
            Ok(()) => {}
            Err(problem) => step.problem = self.news(not_read(&problem)),
        }
        step
    }

    /// A problem, if it was not told just before.
    fn news(&mut self, problem: String) -> Option<String> {
        let news = self.problem.as_ref() != Some(&problem);
        self.problem = Some(problem.clone());
        news.then_some(problem)
    }

    fn current(&self) -> Option<FollowedFile> {
        Some(match &self.source {
            Source::None => return None,
            Source::Lines(path, tail) => {
                FollowedFile { path: path.clone(), file: tail.id(), position: tail.position() }
            }
            Source::Rows(table) => FollowedFile {
                path: table.path.clone(),
                file: table.id,
                position: Position::behind(table.key),
            },
        })
    }

    /// Stops to read what is being read, and remembers it.
    fn leave(&mut self) {
        self.known = self.current().or(self.known.take());
        self.source = Source::None;
        self.claim = None;
    }

    fn look(&mut self, step: &mut Step) -> Result<(), String> {
        let mut problem = None;
        if let Some(path) = self.place.path.clone() {
            match open_beneath(&self.place.root, &path) {
                Ok(file) => {
                    step.more = true;
                    return self.follow(self.place.root.join(path), file).map_err(|error| error.to_string());
                }
                Err(error) if error.is_missing() => {
                    step.watch.push(nearest(&self.place.root.join(path)));
                    return Ok(());
                }
                Err(error) => problem = Some(error.to_string()),
            }
        }
        let claims = self.claims.clone();
        let found =
            search(&self.spec, &self.decoder, &self.place, &*self.provenance, |file| claims.is_taken(file))
                .map_err(|error| error.to_string())?;
        step.doubtful = found.doubtful;
        step.watch.extend(found.watch);
        if let Some(path) = found.path {
            match open_beneath(&self.place.root, &path) {
                Ok(file) => {
                    step.more = true;
                    self.follow(self.place.root.join(path), file).map_err(|error| error.to_string())?;
                }
                Err(error) if error.is_missing() => {}
                Err(error) => problem = Some(error.to_string()),
            }
        }
        problem.map_or(Ok(()), Err)
    }

    /// Begins to read a file, or goes on if it is the one that was read before.
    fn follow(&mut self, path: PathBuf, file: File) -> io::Result<()> {
        let id = FileId::of(&file)?;
        self.claim = Some(self.claims.take(id));
        let mut position = None;
        match self.known.take() {
            Some(known) if known.file == id => position = Some(known.position),
            Some(known) if known.path == path => self.decoder.rewound(),
            // Another conversation, with counters of its own.
            Some(_) => {
                self.decoder = self.decoder.clone().resume(Memory::default()).since(self.place.started);
            }
            None => {}
        }
        if self.spec.query.is_some() {
            let key = position.map_or(0, |position| position.offset.cast_signed());
            self.source = Source::Rows(Table::new(path, id, key));
            return Ok(());
        }
        let resumed = match position {
            Some(position) => Tail::resume(file.try_clone()?, position)?,
            None => Some(Tail::new(file.try_clone()?)?),
        };
        let tail = if let Some(tail) = resumed {
            tail
        } else {
            // A new file with an old number.
            self.decoder.rewound();
            Tail::new(file)?
        };
        self.source = Source::Lines(path, tail);
        Ok(())
    }

    fn read_lines(&mut self, step: &mut Step) -> Result<(), String> {
        let Source::Lines(path, tail) = &mut self.source else { return Ok(()) };
        let (decoder, facts) = (&mut self.decoder, &mut step.facts);
        let progress = tail
            .step(|line| take(decoder, facts, &line))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if progress == Progress::Rewritten {
            decoder.rewound();
        }
        if progress != Progress::End {
            step.more = true;
            return Ok(());
        }
        match open_beneath(&self.place.root, path).and_then(|file| {
            FileId::of(&file).map_err(|source| TrustError::Io { path: path.clone(), source })
        }) {
            Ok(id) if id == tail.id() => {
                step.watch.push(path.clone());
                step.reliable = is_local(tail.file());
                Ok(())
            }
            // Another file bears the name now, or none: what is left of this one is all there will be.
            Ok(_) | Err(TrustError::Io { .. }) => {
                tail.finish(|line| take(decoder, facts, &line));
                self.place.path = Some(path.clone());
                self.leave();
                step.more = true;
                Ok(())
            }
            Err(error) => {
                self.leave();
                Err(error.to_string())
            }
        }
    }

    fn read_rows(&mut self, step: &mut Step) -> Result<(), String> {
        let Source::Rows(table) = &mut self.source else { return Ok(()) };
        let file = open_beneath(&self.place.root, &table.path);
        let Some(file) = file.ok().filter(|file| FileId::of(file).is_ok_and(|id| id == table.id)) else {
            self.leave();
            step.more = true;
            return Ok(());
        };
        // Without the id of a conversation it gives those of all.
        if self.place.session.is_none() && self.provenance.has_neighbour() {
            step.watch = table.watch();
            step.doubtful = true;
            return Ok(());
        }
        let (decoder, facts) = (&mut self.decoder, &mut step.facts);
        let query = self.spec.query.as_deref().unwrap_or_default();
        let reading = table.read(query, &self.place, |line| take(decoder, facts, &line));
        step.watch = table.watch();
        match reading {
            Ok(reading) => {
                step.more = reading == Reading::Some;
                step.reliable = reading == Reading::None && is_local(&file);
                Ok(())
            }
            Err(error) => Err(format!("{}: {error}", table.path.display())),
        }
    }
}

fn take(decoder: &mut Decoder, facts: &mut Vec<Written>, line: &Line<'_>) {
    match line {
        Line::Whole(line) => {
            let told = decoder.line(line);
            let at = decoder.time();
            facts.extend(told.into_iter().map(|fact| Written { fact, at }));
        }
        Line::TooLong => decoder.skip_long(),
    }
}

fn not_read(problem: &impl ToString) -> String {
    format!("the transcript is not read: {}", problem.to_string())
}
