//! Transcripts in a database.

use std::path::Path;
use std::time::Duration;

use ostler_agents::transcript::MAX_LINE;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Statement, ToSql};

/// How long a writer is waited for. The next hint comes soon.
const BUSY: Duration = Duration::from_millis(200);
/// Rows that one step reads at most, whatever the query allows.
const STEP: usize = 1_000;

/// What a query is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) after: i64,
    pub(super) session: Option<&'a str>,
    pub(super) cwd: &'a str,
    pub(super) started: i64,
}

/// A record that was read.
pub(super) enum Row<'a> {
    Whole(&'a [u8]),
    TooLong,
}

/// Reads records behind the last key; gives the new last key, if there was anything.
///
/// The connection lasts no longer than the question: an open one would keep the agent from tidying up.
pub(super) fn read(
    path: &Path,
    query: &str,
    asked: Asked<'_>,
    mut row: impl FnMut(Row<'_>),
) -> rusqlite::Result<Option<i64>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_PRIVATE_CACHE;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "query_only", true)?;
    let mut statement = connection.prepare(query)?;
    bind(&mut statement, ":after", asked.after)?;
    bind(&mut statement, ":session", asked.session)?;
    bind(&mut statement, ":cwd", asked.cwd)?;
    bind(&mut statement, ":started", asked.started)?;
    let mut rows = statement.raw_query();
    let mut last = None;
    for _ in 0..STEP {
        let Some(found) = rows.next()? else { break };
        let key: i64 = found.get(0)?;
        match found.get_ref(1)? {
            ValueRef::Text(text) | ValueRef::Blob(text) if text.len() <= MAX_LINE => row(Row::Whole(text)),
            ValueRef::Text(_) | ValueRef::Blob(_) => row(Row::TooLong),
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
