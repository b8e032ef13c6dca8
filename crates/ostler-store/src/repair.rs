//! Looking whether a database is whole, and bringing back what can be had of one that is not.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ostler_core::Wall;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use crate::error::StoreError;
use crate::migrations;

/// Complaints of SQLite that are told; the first ones say enough.
const COMPLAINTS: u32 = 3;

/// What a look at a whole database found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Sessions, ended ones too.
    pub sessions: u64,
    /// Messages, delivered ones too.
    pub messages: u64,
}

/// What a repair brought back.
#[derive(Debug)]
pub struct Repaired {
    /// Where the damaged file is now, with what SQLite had beside it.
    pub kept: PathBuf,
    /// The tables.
    pub tables: Vec<Salvaged>,
}

/// What could be had of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// Its name.
    pub table: String,
    /// Rows that could be read.
    pub rows: usize,
    /// Whether those are all.
    pub whole: bool,
}

/// Why a database could not be repaired. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Files cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
    /// The new database cannot be made.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Looks whether a database is whole, without changing it. A daemon may be using it.
pub fn check(path: &Path) -> Result<Contents, StoreError> {
    let failed = |source| StoreError::Open { source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    let found = version(&connection).map_err(StoreError::from)?;
    if found as usize > migrations::KNOWN {
        return Err(newer(found));
    }
    let sql = format!("PRAGMA quick_check({COMPLAINTS})");
    let mut statement = connection.prepare(&sql)?;
    let complaints: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if complaints != ["ok"] {
        return Err(StoreError::Damaged(complaints.join("; ").replace('\n', " ")));
    }
    let count = |table: &str| -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {table}");
        Ok(connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?.cast_unsigned())
    };
    Ok(Contents { sessions: count("sessions")?, messages: count("messages")? })
}

/// Makes a new database of what can be read of a damaged one, which is kept beside it. No daemon may use it meanwhile.
///
/// What happens to the files is such that a repair that is cut short can be begun again: the damaged one is moved away
/// when the new one is complete.
pub fn repair(path: &Path, now: Wall) -> Result<Repaired, RepairError> {
    let copy = with_suffix(path, ".salvage");
    let made = with_suffix(path, ".repaired");
    let done = salvage(path, &copy, &made, now);
    remove(&copy);
    if done.is_err() {
        remove(&made);
    }
    let tables = done?;
    let kept = with_suffix(path, &format!(".damaged-{}", now.0));
    for suffix in ["", "-wal"] {
        rename(&with_suffix(path, suffix), &with_suffix(&kept, suffix))?;
    }
    let _ = fs::remove_file(with_suffix(path, "-shm"));
    rename(&made, path)?;
    Ok(Repaired { kept, tables })
}

fn salvage(path: &Path, copy: &Path, made: &Path, now: Wall) -> Result<Vec<Salvaged>, RepairError> {
    remove(copy);
    remove(made);
    // SQLite changes what it opens: it works on a copy.
    for suffix in ["", "-wal"] {
        let (from, to) = (with_suffix(path, suffix), with_suffix(copy, suffix));
        match fs::copy(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(RepairError::Io { path: from, source }),
            Ok(_) => {}
        }
    }
    Ok(rescue(copy, made, now)?)
}

/// Fills a new database with what can be read of a damaged one.
fn rescue(damaged: &Path, made: &Path, now: Wall) -> Result<Vec<Salvaged>, StoreError> {
    drop(crate::store::create_private_file(made));
    let mut connection = Connection::open(made)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    let found = open_damaged(damaged).and_then(|damaged| Ok((version(&damaged)?, damaged)));
    let (found, damaged) = match found {
        Ok((found, damaged)) => (found, Some(damaged)),
        // Not even its head can be read.
        Err(_) => (0, None),
    };
    if found as usize > migrations::KNOWN {
        return Err(newer(found));
    }
    // The same tables as it has, so that rows can be taken as they are.
    migrations::lay_out(&mut connection, found)?;
    let mut salvaged = Vec::new();
    if let Some(damaged) = &damaged {
        for table in tables(&connection)? {
            salvaged.push(take_table(damaged, &mut connection, table)?);
        }
    }
    migrations::migrate(&mut connection)?.map_err(newer)?;
    // Holders refuse a daemon with a lower number than they have seen, and the last one may be lost.
    let sql = "INSERT INTO counters VALUES ('epoch', ?1) ON CONFLICT DO UPDATE SET value = max(value, ?1)";
    connection.execute(sql, [now.0.cast_signed()])?;
    Ok(salvaged)
}

fn open_damaged(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    // Rows are looked at, whatever is wrong with the rest.
    connection.pragma_update(None, "cell_size_check", false)?;
    Ok(connection)
}

/// A table, and by which columns its rows are ordered.
struct Table {
    name: String,
    key: String,
    columns: usize,
}

fn tables(connection: &Connection) -> Result<Vec<Table>, StoreError> {
    let sql = "SELECT name, wr FROM pragma_table_list
               WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let named = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
    let mut tables = Vec::new();
    for named in named {
        let (name, without_rowid) = named?;
        let sql = "SELECT name, pk FROM pragma_table_info(?1)";
        let mut statement = connection.prepare(sql)?;
        let columns = statement.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let columns: Vec<(String, u32)> = columns.collect::<Result<_, _>>()?;
        let first = columns.iter().find(|(_, key)| *key == 1).filter(|_| without_rowid);
        let key = first.map_or_else(|| "rowid".to_owned(), |(column, _)| column.clone());
        tables.push(Table { name, key, columns: columns.len() });
    }
    Ok(tables)
}

/// Takes the rows of a table: from its beginning up to where it is damaged, then from its end back to there.
fn take_table(damaged: &Connection, into: &mut Connection, table: Table) -> Result<Salvaged, StoreError> {
    let Table { name, key, columns } = table;
    let marks = vec!["?"; columns].join(", ");
    let insert = format!("INSERT OR IGNORE INTO \"{name}\" VALUES ({marks})");
    let transaction = into.transaction()?;
    let mut whole = false;
    for order in ["", "DESC"] {
        let select = format!("SELECT * FROM \"{name}\" NOT INDEXED ORDER BY \"{key}\" {order}");
        whole = take_rows(damaged, &select, columns, &transaction, &insert)?;
        if whole {
            break;
        }
    }
    let sql = format!("SELECT count(*) FROM \"{name}\"");
    let rows: i64 = transaction.query_row(&sql, [], |row| row.get(0))?;
    transaction.commit()?;
    Ok(Salvaged { table: name, rows: usize::try_from(rows).unwrap_or(0), whole })
}

/// Takes rows for as long as they can be read; returns whether all could.
fn take_rows(
    damaged: &Connection,
    select: &str,
    columns: usize,
    into: &Connection,
    insert: &str,
) -> Result<bool, StoreError> {
    let Ok(mut statement) = damaged.prepare(select) else { return Ok(false) };
    let Ok(mut rows) = statement.query([]) else { return Ok(false) };
    let mut insert = into.prepare(insert)?;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(true),
            Err(_) => return Ok(false),
        };
        let values: rusqlite::Result<Vec<Value>> = (0..columns).map(|column| row.get(column)).collect();
        let Ok(values) = values else { continue };
        match insert.execute(params_from_iter(values)) {
            // A value that no such row can have: it is no row.
            Ok(_) | Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error { code: CONSTRAINT, .. }, _)) => {
            }
            Err(error) => return Err(error.into()),
        }
    }
}

const CONSTRAINT: rusqlite::ErrorCode = rusqlite::ErrorCode::ConstraintViolation;

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn newer(found: u32) -> StoreError {
    StoreError::Newer { found, known: u32::try_from(migrations::KNOWN).unwrap_or(u32::MAX) }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(with_suffix(path, suffix));
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), RepairError> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(RepairError::Io { path: from.to_owned(), source }),
        Ok(()) => Ok(()),
    }
}
