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
    /// It is not a database, or parts of it cannot be read.
    #[error("it is damaged: {0}")]
    Damaged(String),
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

impl StoreError {
    /// What SQLite's own number for an error means here, where it means something.
    pub(crate) fn from_code(error: &rusqlite::Error) -> Option<Self> {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseCorrupt, DiskFull, NotADatabase, ReadOnly, SystemIoFailure,
        };
        match error.sqlite_error_code()? {
            DiskFull | ReadOnly | SystemIoFailure | CannotOpen => Some(Self::Unwritable(error.to_string())),
            DatabaseCorrupt | NotADatabase => Some(Self::Damaged(error.to_string())),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::from_code(&error).unwrap_or(Self::Sqlite(error))
    }
}
