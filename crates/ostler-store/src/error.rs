/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened.
    #[error("cannot open it: {source}")]
    Open {
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// A newer ostler wrote the database.
    #[error("it was written by a newer ostler (schema {found}, this one knows {known})")]
    Newer {
        /// Its schema version.
        found: u32,
        /// The newest this build knows.
        known: u32,
    },
    /// A running session has that name already.
    #[error("a running session is called {0:?} already")]
    NameTaken(String),
    /// The disk is full, or the file system refuses to be written.
    #[error("the record cannot be written: {0}")]
    Unwritable(String),
    /// SQLite failed otherwise.
    #[error("the record failed: {0}")]
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
        match error.sqlite_error_code() {
            Some(DiskFull | ReadOnly | SystemIoFailure | CannotOpen) => Self::Unwritable(error.to_string()),
            _ => Self::Sqlite(error),
        }
    }
}
