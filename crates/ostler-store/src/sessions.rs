use ostler_core::Wall;
use ostler_core::message::Ending;
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::StoreError;
use crate::events::{NewEvent, insert};
use crate::store::Store;

/// A session about to be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewSession {
    /// Unique id.
    pub id: String,
    /// Name, unique among running sessions.
    pub name: String,
    /// Program and arguments, for people.
    pub command: Vec<String>,
    /// Where it starts.
    pub cwd: String,
    /// Columns of its terminal.
    pub cols: u16,
    /// Rows of its terminal.
    pub rows: u16,
    /// Its directory.
    pub dir: String,
    /// When it was asked for.
    pub created: Wall,
    /// The preset it is started by.
    pub agent: Option<String>,
    /// The agent's version, where it is known.
    pub agent_version: Option<String>,
    /// What was asked for, as the daemon wrote it; it can be asked for again.
    pub request: Option<String>,
}

/// A recorded session. It has one process at a time; what is said of its program is said of the present one.
#[derive(Debug, Clone)]
pub struct Session {
    /// What it was started as; size, directory and version are the present ones.
    pub start: NewSession,
    /// Number of the present process, from 1 on.
    pub process: u32,
    /// When the present process was asked for.
    pub began: Wall,
    /// The request that asked for the present process, if it is not the first.
    pub resumed_by: Option<String>,
    /// Process id of the program, once it ran.
    pub pid: Option<u32>,
    /// A person asked for its end.
    pub stop_requested: bool,
    /// How it ended.
    pub ending: Option<Ending>,
    /// What the detector must not forget, as the daemon wrote it.
    pub memory: Option<String>,
}

impl Session {
    /// A session that was just recorded, before its first process runs.
    pub fn new(start: NewSession) -> Self {
        let began = start.created;
        Self {
            start,
            process: 1,
            began,
            resumed_by: None,
            pid: None,
            stop_requested: false,
            ending: None,
            memory: None,
        }
    }
}

const COLUMNS: &str = "id, name, command, cwd, cols, rows, dir, created_ms, pid, stop_requested,
                       ending, status, signal, reason, ended_ms, output, cpu_us, max_rss_kib,
                       agent, agent_version, memory, request, process, coalesce(began_ms, created_ms), resumed_by";

fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    let number = |index: usize| row.get::<_, i64>(index).map(i64::cast_unsigned);
    let command: String = row.get(2)?;
    Ok(Session {
        start: NewSession {
            id: row.get(0)?,
            name: row.get(1)?,
            command: serde_json::from_str(&command).unwrap_or_default(),
            cwd: row.get(3)?,
            cols: row.get(4)?,
            rows: row.get(5)?,
            dir: row.get(6)?,
            created: Wall(number(7)?),
            agent: row.get(18)?,
            agent_version: row.get(19)?,
            request: row.get(21)?,
        },
        process: row.get(22)?,
        began: Wall(number(23)?),
        resumed_by: row.get(24)?,
        pid: row.get(8)?,
        stop_requested: row.get(9)?,
        ending: read_ending(row, 10)?,
        memory: row.get(20)?,
    })
}

/// How a process ended, from eight columns; nothing if it has not.
pub(crate) fn read_ending(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Ending>> {
    let number = |index: usize| row.get::<_, i64>(first + index).map(i64::cast_unsigned);
    let Some(kind) = row.get::<_, Option<String>>(first)? else { return Ok(None) };
    Ok(Some(Ending {
        kind,
        status: row.get(first + 1)?,
        signal: row.get(first + 2)?,
        reason: row.get(first + 3)?,
        at: Wall(number(4)?),
        output: number(5)?,
        cpu_us: number(6)?,
        max_rss_kib: number(7)?,
    }))
}

/// What became of a statement that may have given a name to a second running session.
pub(crate) fn unless_taken(done: rusqlite::Result<usize>, name: &str) -> Result<(), StoreError> {
    match done {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
            Err(StoreError::NameTaken(name.to_owned()))
        }
        other => Ok(other.map(drop)?),
    }
}

impl Store {
    /// Records that a session is wanted, before anything is started.
    pub fn create_session(&mut self, session: &NewSession) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let inserted = transaction.execute(
                "INSERT INTO sessions (id, name, command, cwd, cols, rows, dir, created_ms, agent, agent_version, request)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    session.id,
                    session.name,
                    json!(session.command).to_string(),
                    session.cwd,
                    session.cols,
                    session.rows,
                    session.dir,
                    session.created.0.cast_signed(),
                    session.agent,
                    session.agent_version,
                    session.request,
                ],
            );
            unless_taken(inserted, &session.name)?;
            let event = NewEvent {
                at: session.created,
                session: Some(session.id.clone()),
                event: "session.created",
                details: json!({ "command": session.command, "cwd": session.cwd, "agent": session.agent, "version": session.agent_version }),
            };
            insert(transaction, &event)
        })
    }

    /// Records a session whose directory was found, and which was not in the record.
    pub fn find_again(&mut self, session: &Session, at: Wall) -> Result<(), StoreError> {
        let Session { start, process, began, .. } = session;
        let event = NewEvent {
            at,
            session: Some(start.id.clone()),
            event: "session.found",
            details: json!({ "command": start.command, "cwd": start.cwd, "agent": start.agent, "process": process }),
        };
        self.atomically(|transaction| {
            let inserted = transaction.execute(
                "INSERT INTO sessions (id, name, command, cwd, cols, rows, dir, created_ms, agent, agent_version, request,
                                       process, began_ms)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    start.id,
                    start.name,
                    json!(start.command).to_string(),
                    start.cwd,
                    start.cols,
                    start.rows,
                    start.dir,
                    start.created.0.cast_signed(),
                    start.agent,
                    start.agent_version,
                    start.request,
                    process,
                    began.0.cast_signed(),
                ],
            );
            unless_taken(inserted, &start.name)?;
            insert(transaction, &event)
        })
    }

    /// Records that the program runs.
    pub fn session_started(&mut self, id: &str, pid: u32, at: Wall) -> Result<(), StoreError> {
        self.change(
            "UPDATE sessions SET pid = ?2 WHERE id = ?1",
            params![id, pid],
            &NewEvent {
                at,
                session: Some(id.to_owned()),
                event: "session.started",
                details: json!({ "pid": pid }),
            },
        )
    }

    /// Records that a person wants the session ended.
    pub fn stop_requested(&mut self, id: &str, at: Wall) -> Result<(), StoreError> {
        self.change(
            "UPDATE sessions SET stop_requested = 1 WHERE id = ?1",
            params![id],
            &NewEvent {
                at,
                session: Some(id.to_owned()),
                event: "session.stop_requested",
                details: json!({}),
            },
        )
    }

    /// Records the terminal's size.
    pub fn session_resized(&mut self, id: &str, cols: u16, rows: u16, at: Wall) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET cols = ?2, rows = ?3 WHERE id = ?1";
        self.change(
            sql,
            params![id, cols, rows],
            &NewEvent {
                at,
                session: Some(id.to_owned()),
                event: "session.resized",
                details: json!({ "cols": cols, "rows": rows }),
            },
        )
    }

    /// Records what an agent is doing now, and what the detector must not forget.
    pub fn session_observed(
        &mut self,
        id: &str,
        memory: &str,
        event: &'static str,
        details: serde_json::Value,
        at: Wall,
    ) -> Result<(), StoreError> {
        self.change(
            "UPDATE sessions SET memory = ?2 WHERE id = ?1 AND ending IS NULL",
            params![id, memory],
            &NewEvent { at, session: Some(id.to_owned()), event, details },
        )
    }

    /// Records what the next daemon has to know of a session, where no event tells of it.
    pub fn session_remembers(&mut self, id: &str, memory: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET memory = ?2 WHERE id = ?1 AND ending IS NULL";
        self.connection.prepare_cached(sql)?.execute(params![id, memory])?;
        Ok(())
    }

    /// Changes what is remembered of a session that has ended.
    pub fn ended_session_remembers(&mut self, id: &str, memory: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET memory = ?2 WHERE id = ?1 AND ending IS NOT NULL";
        self.connection.prepare_cached(sql)?.execute(params![id, memory])?;
        Ok(())
    }

    /// Records the end. A session ends once: a second end changes nothing.
    pub fn session_ended(&mut self, id: &str, ending: &Ending) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET ending = ?2, status = ?3, signal = ?4, reason = ?5, ended_ms = ?6,
                   output = ?7, cpu_us = ?8, max_rss_kib = ?9 WHERE id = ?1 AND ending IS NULL";
        let values = params![
            id,
            ending.kind,
            ending.status,
            ending.signal,
            ending.reason,
            ending.at.0.cast_signed(),
            ending.output.cast_signed(),
            ending.cpu_us.cast_signed(),
            ending.max_rss_kib.cast_signed(),
        ];
        self.change(sql, values, &NewEvent {
            at: ending.at,
            session: Some(id.to_owned()),
            event: "session.ended",
            details: json!({
                "how": ending.kind, "status": ending.status, "signal": ending.signal, "reason": ending.reason,
            }),
        })
    }

    /// One change of a session and the event that tells of it; no event where nothing changed.
    fn change(
        &mut self,
        sql: &str,
        values: impl rusqlite::Params,
        event: &NewEvent,
    ) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            if transaction.prepare_cached(sql)?.execute(values)? > 0 {
                insert(transaction, event)?;
            }
            Ok(())
        })
    }

    /// One session.
    pub fn session(&self, id: &str) -> Result<Option<Session>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE id = ?");
        Ok(self.connection.prepare_cached(&sql)?.query_row([id], read).optional()?)
    }

    /// All sessions, or the running ones, oldest first.
    pub fn sessions(&self, ended_too: bool) -> Result<Vec<Session>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM sessions WHERE ?1 OR ending IS NULL ORDER BY created_ms, id");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([ended_too], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Id and directory of the other sessions of an agent that had not ended by then.
    pub fn sessions_beside(
        &self,
        id: &str,
        agent: &str,
        since: Wall,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let sql = "SELECT id, cwd FROM sessions
                   WHERE id <> ?1 AND agent = ?2 AND (ended_ms IS NULL OR ended_ms >= ?3)";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement
            .query_map(params![id, agent, since.0.cast_signed()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Forgets ended sessions but the newest `keep`, and those that ended before `since`; returns their ids. Those that
    /// have something in an instructions file are kept: nobody else would know to take it out.
    pub fn forget_ended(&mut self, keep: u32, since: Wall) -> Result<Vec<String>, StoreError> {
        let since = since.0.cast_signed();
        self.atomically(|transaction| {
            let old = "SELECT id FROM (
                         SELECT id, ended_ms, row_number() OVER (ORDER BY ended_ms DESC) AS place FROM sessions
                         WHERE ending IS NOT NULL
                           AND id NOT IN (SELECT session FROM pending_context WHERE in_file))
                       WHERE place > ?1 OR ended_ms < ?2";
            transaction.execute(&format!("DELETE FROM events WHERE session IN ({old})"), params![keep, since])?;
            let sql = format!("DELETE FROM sessions WHERE id IN ({old}) RETURNING id");
            let mut statement = transaction.prepare(&sql)?;
            let ids = statement.query_map(params![keep, since], |row| row.get(0))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }
}
