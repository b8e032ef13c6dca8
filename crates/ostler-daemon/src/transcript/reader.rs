//! Reading one session's transcript, a step at a time.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_agents::transcript::{Decoder, Memory, TranscriptSpec};
use ostler_core::Fact;

use super::claims::{Claim, Claims};
use super::find::{nearest, search};
use super::place::{Place, TailState};
use super::rows::{self, Asked, Row};
use super::tail::{FileId, Line, Position, Progress, Tail};
use crate::trusted_path::{TrustError, open_beneath};

/// Reads one session's transcript. Every step blocks for a bounded time.
#[derive(Debug)]
pub(super) struct Reader {
    spec: Arc<TranscriptSpec>,
    place: Place,
    decoder: Decoder,
    source: Source,
    /// What was read last, if it is not being read now: it may come back.
    known: Option<Known>,
    claims: Claims,
    claim: Option<Claim>,
    /// The last problem that was told: one is told once.
    problem: Option<String>,
}

#[derive(Debug)]
enum Source {
    None,
    Lines(PathBuf, Tail),
    Rows(PathBuf, FileId, i64),
}

#[derive(Debug, Clone)]
struct Known {
    path: PathBuf,
    file: FileId,
    position: Position,
}

/// What a step brought.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) facts: Vec<Fact>,
    /// What a person should know.
    pub(super) problem: Option<String>,
    /// There is more to be read at once.
    pub(super) more: bool,
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
        claims: Claims,
        resume: Option<TailState>,
    ) -> Self {
        let mut known = None;
        let decoder = match resume {
            Some(TailState { path: Some(path), file, position, memory }) => {
                place.path.get_or_insert_with(|| path.clone());
                known = Some(Known { path, file, position });
                decoder.resume(memory)
            }
            _ => decoder.since(place.started),
        };
        Self { spec, place, decoder, source: Source::None, known, claims, claim: None, problem: None }
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
            Some(Known { path, file, position }) => TailState { path: Some(path), file, position, memory },
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

    fn current(&self) -> Option<Known> {
        Some(match &self.source {
            Source::None => return None,
            Source::Lines(path, tail) => {
                Known { path: path.clone(), file: tail.id(), position: tail.position() }
            }
            Source::Rows(path, file, key) => {
                let position = Position { offset: key.cast_unsigned(), ..Position::default() };
                Known { path: path.clone(), file: *file, position }
            }
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
        let found = search(&self.spec, &self.decoder, &self.place, |file| claims.is_taken(file))
            .map_err(|error| error.to_string())?;
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
            Some(_) => self.decoder = self.decoder.clone().resume(Memory::default()).since(self.place.started),
            None => {}
        }
        if self.spec.query.is_some() {
            let key = position.map_or(0, |position| position.offset.cast_signed());
            self.source = Source::Rows(path, id, key);
            return Ok(());
        }
        let resumed = match position {
            Some(position) => Tail::resume(file.try_clone()?, position)?,
            None => Some(Tail::new(file.try_clone()?)?),
        };
        let tail = match resumed {
            Some(tail) => tail,
            // A new file with an old number.
            None => {
                self.decoder.rewound();
                Tail::new(file)?
            }
        };
        self.source = Source::Lines(path, tail);
        Ok(())
    }

    fn read_lines(&mut self, step: &mut Step) -> Result<(), String> {
        let Source::Lines(path, tail) = &mut self.source else { return Ok(()) };
        let decoder = &mut self.decoder;
        let facts = &mut step.facts;
        let mut take = |line: Line<'_>| match line {
            Line::Whole(line) => facts.extend(decoder.line(line)),
            Line::TooLong => decoder.skip_long(),
        };
        let progress = tail.step(&mut take).map_err(|error| format!("{}: {error}", path.display()))?;
        if progress == Progress::Rewritten {
            self.decoder.rewound();
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
                tail.finish(&mut take);
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
        let Source::Rows(path, id, key) = &mut self.source else { return Ok(()) };
        let failed = |error: String| format!("{}: {error}", path.display());
        let file = open_beneath(&self.place.root, path);
        let now = file.as_ref().ok().and_then(|file| FileId::of(file).ok());
        if now != Some(*id) {
            self.leave();
            step.more = true;
            return Ok(());
        }
        let reliable = file.is_ok_and(|file| is_local(&file));
        let cwd = self.place.cwd.to_string_lossy();
        let asked = Asked {
            after: *key,
            session: self.place.session.as_deref(),
            cwd: &cwd,
            started: self.place.started.0.cast_signed(),
        };
        // The library refuses links on the way, those to the root too.
        let real = path.canonicalize().map_err(|error| failed(error.to_string()))?;
        let decoder = &mut self.decoder;
        let facts = &mut step.facts;
        let last = rows::read(&real, self.spec.query.as_deref().unwrap_or_default(), asked, |row| match row {
            Row::Whole(record) => facts.extend(decoder.line(record)),
            Row::TooLong => decoder.skip_long(),
        });
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        step.watch = vec![path.clone()];
        if Path::new(&log).exists() {
            step.watch.push(log.into());
        } else {
            step.watch.extend(path.parent().map(Path::to_owned));
        }
        step.reliable = reliable;
        match last {
            Ok(Some(last)) => {
                *key = last;
                step.more = true;
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if is_busy(&error) => {
                step.reliable = false;
                Ok(())
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

fn not_read(problem: &impl ToString) -> String {
    format!("the transcript is not read: {}", problem.to_string())
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// Whether the kernel sees everybody who writes to a file. What comes over a network it does not.
fn is_local(file: &File) -> bool {
    const REMOTE: [u32; 8] = [
        0x6969,      // NFS
        0x517b,      // SMB
        0xff53_4d42, // CIFS
        0xfe53_4d42, // SMB 2
        0x6573_5546, // FUSE
        0x0102_1997, // 9P
        0x00c3_6400, // Ceph
        0x7461_636f, // OCFS2
    ];
    rustix::fs::fstatfs(file).is_ok_and(|system| {
        let kind = u32::try_from(i128::from(system.f_type) & 0xffff_ffff).unwrap_or_default();
        !REMOTE.contains(&kind)
    })
}
