//! The schema, as the steps that led to it. A step that was released is never changed.

use rusqlite::Connection;

const STEPS: &[&str] = &[
    "
    CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

    CREATE TABLE sessions (
        id             TEXT PRIMARY KEY,
        name           TEXT NOT NULL,
        command        TEXT NOT NULL,               -- JSON array: program and arguments, for people
        cwd            TEXT NOT NULL,
        cols           INTEGER NOT NULL,
        rows           INTEGER NOT NULL,
        dir            TEXT NOT NULL,
        created_ms     INTEGER NOT NULL,
        pid            INTEGER,
        stop_requested INTEGER NOT NULL DEFAULT 0,
        ending         TEXT,                        -- exited, lost or failed; NULL while it lives
        status         INTEGER,
        signal         INTEGER,
        reason         TEXT,
        ended_ms       INTEGER,
        output         INTEGER NOT NULL DEFAULT 0,
        cpu_us         INTEGER NOT NULL DEFAULT 0,
        max_rss_kib    INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE UNIQUE INDEX live_names ON sessions (name) WHERE ending IS NULL;
    CREATE INDEX names ON sessions (name, created_ms);

    CREATE TABLE events (
        seq     INTEGER PRIMARY KEY AUTOINCREMENT,
        at_ms   INTEGER NOT NULL,
        session TEXT,
        event   TEXT NOT NULL,
        details TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_of_session ON events (session, seq);

    CREATE TABLE messages (
        session    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        id         TEXT NOT NULL,
        seq        INTEGER NOT NULL,
        body       BLOB NOT NULL,
        state      TEXT NOT NULL,                   -- queued, written or failed
        attempts   INTEGER NOT NULL DEFAULT 0,
        evidence   TEXT NOT NULL DEFAULT '',
        created_ms INTEGER NOT NULL,
        settled_ms INTEGER,
        PRIMARY KEY (session, id)
    ) STRICT;
    CREATE UNIQUE INDEX message_order ON messages (session, seq);
",
    "
    ALTER TABLE sessions ADD COLUMN agent TEXT;                -- the preset it was started by
    ALTER TABLE sessions ADD COLUMN agent_version TEXT;
    ALTER TABLE sessions ADD COLUMN memory TEXT;               -- JSON: what the detector must not forget
",
    "
    CREATE TABLE continuity (
        seq     INTEGER PRIMARY KEY AUTOINCREMENT,
        id      TEXT NOT NULL UNIQUE,
        project TEXT NOT NULL,                      -- its root
        at_ms   INTEGER NOT NULL,
        record  TEXT NOT NULL                       -- JSON: all of it
    ) STRICT;
    CREATE INDEX continuity_of_project ON continuity (project, at_ms);

    CREATE TABLE pending_context (                  -- for sessions that could not be given it
        session   TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
        at_ms     INTEGER NOT NULL,
        text      TEXT NOT NULL,
        loaded_ms INTEGER                           -- when the session asked for it
    ) STRICT, WITHOUT ROWID;
",
];

/// Schema version of this build.
pub(crate) const KNOWN: usize = STEPS.len();

/// Brings the database to this build's schema; returns the version found if that is newer.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<Result<(), u32>> {
    let transaction = connection.transaction()?;
    let found: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found as usize > KNOWN {
        return Ok(Err(found));
    }
    for step in &STEPS[found as usize..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", u32::try_from(KNOWN).unwrap_or(u32::MAX))?;
    transaction.commit()?;
    Ok(Ok(()))
}
