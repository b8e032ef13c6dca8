use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ostler_core::Wall;
use rusqlite::{Connection, OptionalExtension};

use crate::error::StoreError;
use crate::migrations;

/// The database of one home.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the database, makes it if it is not there, and brings it up to date.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |source: rusqlite::Error| match StoreError::from_code(&source) {
            Some(damaged @ StoreError::Damaged(_)) => damaged,
            _ => StoreError::Open { source },
        };
        // SQLite gives its other files the permissions of this one. What cannot be made, it will complain of.
        drop(create_private_file(path));
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        migrations::migrate(&mut connection).map_err(failed)?.map_err(|found| StoreError::Newer {
            found,
            known: u32::try_from(migrations::KNOWN).unwrap_or(u32::MAX),
        })?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Counts one more daemon and returns its number: later ones have higher ones.
    ///
    /// A record that is new begins with the time of day in milliseconds, for holders may have heard daemons that
    /// another record counted, and refuse lower numbers.
    pub fn next_epoch(&mut self, at: Wall) -> Result<u64, StoreError> {
        let sql = "INSERT INTO counters VALUES ('epoch', ?1)
                   ON CONFLICT DO UPDATE SET value = value + 1 RETURNING value";
        let value: i64 = self.connection.query_row(sql, [at.0.cast_signed()], |row| row.get(0))?;
        Ok(u64::try_from(value).unwrap_or(0))
    }

    /// Writes the database anew where somebody has removed its file: what is in it would be gone with the last handle.
    pub(crate) fn put_back(&self) {
        if self.path.exists() {
            return;
        }
        drop(create_private_file(&self.path));
        let written = self.connection.execute("VACUUM INTO ?1", [self.path.to_string_lossy()]);
        match written {
            Ok(_) => {
                tracing::warn!(path = %self.path.display(), "the database was removed, and is there again");
            }
            Err(error) => {
                tracing::error!(%error, path = %self.path.display(), "the database was removed, and is lost");
            }
        }
    }

    /// How many rows were changed since the database was opened.
    pub fn changes(&self) -> u64 {
        self.connection.total_changes()
    }

    /// Runs changes that belong together: all of them are recorded, or none.
    pub fn batch<T>(
        &mut self,
        changes: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let done =
            changes(self).and_then(|done| Ok(self.connection.execute_batch("COMMIT").map(|()| done)?));
        if done.is_err() && !self.connection.is_autocommit() {
            // What cannot even be taken back is taken back when the database is opened next.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        done
    }

    /// Runs one change that has several parts; within a batch it is a part of that.
    pub(crate) fn atomically<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if !self.connection.is_autocommit() {
            return change(&self.connection);
        }
        let transaction = self.connection.transaction()?;
        let result = change(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    /// Finds the id that a user means: a session's id, the running session of that name, or the last ended one.
    pub fn find_session(&self, name: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT id FROM sessions WHERE id = ?1 OR name = ?1
                   ORDER BY id = ?1 DESC, ending IS NULL DESC, created_ms DESC LIMIT 1";
        Ok(self.connection.query_row(sql, [name], |row| row.get(0)).optional()?)
    }
}

/// Makes an empty file that only its owner can read, or leaves the one that is there.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}
