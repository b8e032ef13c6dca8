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
    ALTER TABLE messages ADD COLUMN raw INTEGER NOT NULL DEFAULT 1;         -- bytes for the terminal, not a prompt
    ALTER TABLE messages ADD COLUMN sender TEXT NOT NULL DEFAULT '';
    ALTER TABLE messages ADD COLUMN priority TEXT NOT NULL DEFAULT 'normal';
    ALTER TABLE messages ADD COLUMN mode TEXT NOT NULL DEFAULT 'when-idle';
    ALTER TABLE messages ADD COLUMN ack INTEGER NOT NULL DEFAULT 0;         -- the agent is asked to confirm
    ALTER TABLE messages ADD COLUMN way TEXT NOT NULL DEFAULT 'message';    -- message, argument or hook
    ALTER TABLE messages ADD COLUMN command INTEGER NOT NULL DEFAULT 0;     -- for the agent itself, not for its model
    ALTER TABLE messages ADD COLUMN expires_ms INTEGER;
    ALTER TABLE messages ADD COLUMN proof TEXT NOT NULL DEFAULT 'queued';   -- how far it has got
    ALTER TABLE messages ADD COLUMN enters INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE messages ADD COLUMN failure TEXT;
    ALTER TABLE messages ADD COLUMN submitted_ms INTEGER;
    ALTER TABLE messages ADD COLUMN acknowledged_ms INTEGER;
    ALTER TABLE messages ADD COLUMN escalated TEXT;                         -- file or notification
    UPDATE messages SET failure = evidence, evidence = '' WHERE state = 'failed';
    UPDATE messages SET state = 'delivered', proof = 'written' WHERE state = 'written';

    CREATE TABLE inputs (                            -- every write to a terminal, before it is made
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        seq     INTEGER NOT NULL,                    -- its number in the holder's ledger
        message TEXT NOT NULL,
        write   TEXT NOT NULL,                       -- raw, body, enter, clear or interrupt
        at_ms   INTEGER NOT NULL,
        done    INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (session, seq)
    ) STRICT, WITHOUT ROWID;
",
    "
    CREATE TABLE shared_cells (
        kind    TEXT NOT NULL,                      -- breaker or run
        name    TEXT NOT NULL,
        version INTEGER NOT NULL,
        value   TEXT NOT NULL,                      -- JSON
        PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE shared_leases (
        kind     TEXT NOT NULL,
        name     TEXT NOT NULL,
        holder   TEXT NOT NULL,
        until_ms INTEGER NOT NULL,
        PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE shared_attempts (
        run    TEXT NOT NULL,
        number INTEGER NOT NULL,
        value  TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE shared_continuity (
        seq     INTEGER PRIMARY KEY AUTOINCREMENT,
        project TEXT NOT NULL,
        id      TEXT NOT NULL,
        value   TEXT NOT NULL,
        UNIQUE (project, id)
    ) STRICT;
    CREATE INDEX shared_continuity_of_project ON shared_continuity (project, seq);
",
    "
    CREATE TABLE pending_context (                  -- for sessions that could not be given it
        session   TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
        at_ms     INTEGER NOT NULL,
        text      TEXT NOT NULL,
        loaded_ms INTEGER                           -- when the session asked for it
    ) STRICT, WITHOUT ROWID;
",
    "
    ALTER TABLE inputs ADD COLUMN echoes INTEGER NOT NULL DEFAULT 0;   -- how often the text stood on the screen before
    ALTER TABLE messages ADD COLUMN mark TEXT;                         -- what the agent shows in place of a long text
",
    "
    DROP TABLE shared_leases;                       -- versions of cells guard what only one may do
",
    "
    CREATE TABLE contexts (                         -- for sessions that could not be given them
        session   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        message   TEXT NOT NULL,                    -- what it should have come with
        at_ms     INTEGER NOT NULL,
        text      TEXT NOT NULL,
        in_file   INTEGER NOT NULL DEFAULT 0,       -- it is in the agent's instructions file, or about to be
        loaded_ms INTEGER,                          -- when the session asked for it
        PRIMARY KEY (session, message)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO contexts SELECT session, '', at_ms, text, 1, loaded_ms FROM pending_context;
    DROP TABLE pending_context;
    ALTER TABLE contexts RENAME TO pending_context;
",
    "
    ALTER TABLE messages ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;  -- times it was given to its agent, by whatever way
    UPDATE messages SET tries = max(attempts, submitted_ms IS NOT NULL);
    INSERT INTO counters SELECT 'delivery.' || name, value FROM (
        SELECT 'sent' AS name, count(*) AS value FROM messages WHERE raw = 0
        UNION ALL SELECT 'attempted', count(*) FROM messages WHERE raw = 0 AND tries > 0
        UNION ALL SELECT 'submitted', count(*) FROM messages WHERE raw = 0 AND submitted_ms IS NOT NULL
        UNION ALL SELECT 'first_try', count(*) FROM messages WHERE raw = 0 AND submitted_ms IS NOT NULL AND tries <= 1
        UNION ALL SELECT 'after_retry', count(*) FROM messages WHERE raw = 0 AND submitted_ms IS NOT NULL AND tries > 1
        UNION ALL SELECT 'acknowledged', count(*) FROM messages WHERE raw = 0 AND acknowledged_ms IS NOT NULL
        UNION ALL SELECT 'ack_wanted', count(*) FROM messages WHERE raw = 0 AND ack
        UNION ALL SELECT 'escalated', count(*) FROM messages WHERE raw = 0 AND escalated IS NOT NULL
        UNION ALL SELECT 'failed', count(*) FROM messages WHERE raw = 0 AND state = 'failed'
        UNION ALL SELECT 'uncertain', count(*) FROM messages WHERE raw = 0 AND state = 'uncertain'
        UNION ALL SELECT 'attempts', coalesce(sum(tries), 0) FROM messages WHERE raw = 0 AND submitted_ms IS NOT NULL
        UNION ALL SELECT 'elapsed_ms', coalesce(sum(submitted_ms - created_ms), 0) FROM messages WHERE raw = 0
    ) WHERE value > 0;
",
    "
    ALTER TABLE pending_context ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;  -- it waits no more, and is in the file still
",
    "
    ALTER TABLE messages ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;  -- it was given up, and somebody has seen that
",
    "
    DROP TABLE shared_attempts;                     -- a run's record has its attempts
",
    "
    ALTER TABLE sessions ADD COLUMN request TEXT;              -- JSON: what was asked for, for another process
    ALTER TABLE sessions ADD COLUMN process INTEGER NOT NULL DEFAULT 1;     -- number of the present process
    ALTER TABLE sessions ADD COLUMN began_ms INTEGER;          -- when that was asked for; NULL for the first
    ALTER TABLE sessions ADD COLUMN resumed_by TEXT;           -- the request that asked for it; NULL for the first

    CREATE TABLE past_processes (                   -- those before the present one
        session     TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        number      INTEGER NOT NULL,
        dir         TEXT NOT NULL,
        began_ms    INTEGER NOT NULL,
        pid         INTEGER,
        ending      TEXT NOT NULL,
        status      INTEGER,
        signal      INTEGER,
        reason      TEXT,
        ended_ms    INTEGER NOT NULL,
        output      INTEGER NOT NULL,
        cpu_us      INTEGER NOT NULL,
        max_rss_kib INTEGER NOT NULL,
        PRIMARY KEY (session, number)
    ) STRICT, WITHOUT ROWID;
",
    "
    CREATE TABLE questions (                        -- what agents ask their owner
        number      INTEGER PRIMARY KEY AUTOINCREMENT,
        request     TEXT NOT NULL UNIQUE,           -- the call that asked
        session     TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        asked_ms    INTEGER NOT NULL,
        question    TEXT NOT NULL,
        choices     TEXT NOT NULL,                  -- JSON: a list of texts
        answer      TEXT,
        answered_ms INTEGER,
        told        INTEGER NOT NULL DEFAULT 0      -- a message with the answer is recorded
    ) STRICT;
    CREATE INDEX questions_of_session ON questions (session, number);
",
];

/// Schema version of this build.
pub(crate) const KNOWN: usize = STEPS.len();

/// Gives an empty database the schema of an earlier build.
pub(crate) fn lay_out(connection: &mut Connection, version: u32) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for step in STEPS.iter().take(version as usize) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", version)?;
    transaction.commit()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_every_earlier_build_opens() {
        for earlier in 0..=KNOWN {
            let mut connection = Connection::open_in_memory().unwrap();
            for step in &STEPS[..earlier] {
                connection.execute_batch(step).unwrap();
            }
            connection.pragma_update(None, "user_version", u32::try_from(earlier).unwrap()).unwrap();
            // What a run of that build may have left behind.
            let has_attempts = connection.table_exists(None, "shared_attempts").unwrap();
            if has_attempts {
                connection.execute("INSERT INTO shared_attempts VALUES ('run', 1, '{}')", []).unwrap();
            }
            assert_eq!(migrate(&mut connection).unwrap(), Ok(()), "from {earlier}");
            assert!(!connection.table_exists(None, "shared_attempts").unwrap(), "from {earlier}");
        }
    }
}
