//! Transcripts in a database.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ostler_agents::transcript::MAX_LINE;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, ToSql};

use super::place::Place;
use super::tail::{FileId, Line};

/// How long a writer is waited for. The next hint comes soon.
const BUSY: Duration = Duration::from_millis(200);
/// Rows that one step reads at most, whatever the query allows.
const STEP: usize = 1_000;
/// A new database may lack its tables for so long.
const YOUNG: Duration = Duration::from_secs(10);
/// Two changes within this may leave the same time behind.
const TICK: Duration = Duration::from_millis(50);

/// A database that records are read from.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) path: PathBuf,
    pub(super) id: FileId,
    /// The key of the last record.
    pub(super) key: i64,
    /// How everything looked when there was nothing more to read. Asking a database makes files come and go
    /// beside it, which would wake us again, and so on.
    seen: Option<Looks>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Looks {
    session: Option<String>,
    files: [Option<(u64, SystemTime)>; 2],
}

/// What a look at a database brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Records; there may be more.
    Some,
    /// Nothing new.
    None,
    /// It cannot be told: somebody writes, or the database is only being made.
    Later,
}

impl Table {
    pub(super) fn new(path: PathBuf, id: FileId, key: i64) -> Self {
        Self { path, id, key, seen: None }
    }

    /// Reads records behind the last key.
    pub(super) fn read(
        &mut self,
        query: &str,
        place: &Place,
        line: impl FnMut(Line<'_>),
    ) -> Result<Reading, rusqlite::Error> {
        let looks = self.looks(place);
        if self.seen.is_some() && self.seen == looks {
            return Ok(Reading::None);
        }
        self.seen = None;
        match ask(&self.path, query, self.key, place, line) {
            Ok(Some(key)) => {
                self.key = key;
                Ok(Reading::Some)
            }
            Ok(None) => {
                self.seen = looks.filter(Looks::are_settled);
                Ok(Reading::None)
            }
            Err(error) if is_busy(&error) || self.is_young() && !is_junk(&error) => Ok(Reading::Later),
            Err(error) => Err(error),
        }
    }

    /// What changes when the database does.
    pub(super) fn watch(&self) -> Vec<PathBuf> {
        let log = self.log();
        let other = if log.exists() { log } else { self.path.parent().unwrap_or(&self.path).to_owned() };
        vec![self.path.clone(), other]
    }

    /// Where changes are written first.
    fn log(&self) -> PathBuf {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        log.into()
    }

    fn looks(&self, place: &Place) -> Option<Looks> {
        let look = |metadata: Metadata| Some((metadata.len(), metadata.modified().ok()?));
        let files = [self.path.metadata().ok().and_then(look), self.log().metadata().ok().and_then(look)];
        files[0]?;
        Some(Looks { session: place.session.clone(), files })
    }

    fn is_young(&self) -> bool {
        let created = self.path.metadata().and_then(|metadata| metadata.created());
        created.is_ok_and(|created| created.elapsed().is_ok_and(|age| age < YOUNG))
    }
}

impl Looks {
    /// Whether a change from now on would show.
    fn are_settled(&self) -> bool {
        self.files.iter().flatten().all(|(_, time)| time.elapsed().is_ok_and(|age| age > TICK))
    }
}

/// Asks for records behind a key; gives the key of the last one, if there is any.
///
/// The connection lasts no longer than the question: an open one would keep the agent from tidying up.
fn ask(
    path: &Path,
    query: &str,
    after: i64,
    place: &Place,
    mut line: impl FnMut(Line<'_>),
) -> rusqlite::Result<Option<i64>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
    // The library refuses links anywhere on the way; the one to the root is ours to trust.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let connection = Connection::open_with_flags(real, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "query_only", true)?;
    let mut statement = connection.prepare(query)?;
    bind(&mut statement, ":after", after)?;
    bind(&mut statement, ":session", place.session.as_deref())?;
    bind(&mut statement, ":cwd", place.cwd.to_string_lossy())?;
    bind(&mut statement, ":started", place.started.0.cast_signed())?;
    let mut rows = statement.raw_query();
    let mut last = None;
    for _ in 0..STEP {
        let Some(row) = rows.next()? else { break };
        let key: i64 = row.get(0)?;
        match row.get_ref(1)? {
            ValueRef::Text(text) | ValueRef::Blob(text) if text.len() <= MAX_LINE => line(Line::Whole(text)),
            ValueRef::Text(_) | ValueRef::Blob(_) => line(Line::TooLong),
            _ => {}
        }
        last = Some(key);
    }
    Ok(last)
}

fn bind(statement: &mut Statement<'_>, name: &str, value: impl ToSql) -> rusqlite::Result<()> {
    match statement.parameter_index(name)? {
        Some(index) => statement.raw_bind_parameter(index, value),
        None => Ok(()),
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn is_junk(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase))
}
