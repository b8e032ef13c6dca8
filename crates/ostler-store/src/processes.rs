//! The processes of a session, one after another.

use ostler_core::Wall;
use ostler_core::message::Ending;
use rusqlite::params;
use serde_json::json;

use crate::error::StoreError;
use crate::events::{NewEvent, insert};
use crate::sessions::{read_ending, unless_taken};
use crate::store::Store;

/// Another process for a session that has ended.
#[derive(Debug, Clone)]
pub struct NewProcess {
    /// The session.
    pub session: String,
    /// Its number: one more than that of the one before.
    pub number: u32,
    /// The request that asks for it: the same one again finds it.
    pub resumed_by: String,
    /// Its directory.
    pub dir: String,
    /// The agent's version, where it is known.
    pub agent_version: Option<String>,
    /// Columns of its terminal.
    pub cols: u16,
    /// Rows of its terminal.
    pub rows: u16,
    /// What the session remembers of the process before.
    pub memory: Option<String>,
    /// It goes on with this conversation of the agent; otherwise it begins a new one.
    pub conversation: Option<String>,
    /// When it was asked for.
    pub at: Wall,
}

/// A process that a session had.
#[derive(Debug, Clone)]
pub struct PastProcess {
    /// Its number.
    pub number: u32,
    /// Its directory.
    pub dir: String,
    /// When it was asked for.
    pub began: Wall,
    /// Process id of the program, if it ran.
    pub pid: Option<u32>,
    /// How it ended.
    pub ending: Ending,
}

impl Store {
    /// Records that a session which has ended is to have another process, before anything is started. Name, queue and
    /// history stay; what was typed is forgotten, for the new terminal's ledger begins anew.
    ///
    /// Returns whether it was recorded: not if the session has another process by now, or has not ended.
    pub fn begin_process(&mut self, process: &NewProcess) -> Result<bool, StoreError> {
        self.atomically(|transaction| {
            let archive = "INSERT INTO past_processes
                 SELECT id, process, dir, coalesce(began_ms, created_ms), pid, ending, status, signal, reason, ended_ms,
                        output, cpu_us, max_rss_kib
                 FROM sessions WHERE id = ?1 AND process = ?2 - 1 AND ending IS NOT NULL";
            if transaction.execute(archive, params![process.session, process.number])? == 0 {
                return Ok(false);
            }
            let update = "UPDATE sessions SET process = ?2, dir = ?3, agent_version = ?4, cols = ?5, rows = ?6,
                        memory = ?7, began_ms = ?8, resumed_by = ?9, pid = NULL, stop_requested = 0, ending = NULL,
                        status = NULL, signal = NULL, reason = NULL, ended_ms = NULL, output = 0, cpu_us = 0,
                        max_rss_kib = 0
                 WHERE id = ?1";
            let begun = transaction.execute(
                update,
                params![
                    process.session,
                    process.number,
                    process.dir,
                    process.agent_version,
                    process.cols,
                    process.rows,
                    process.memory,
                    process.at.0.cast_signed(),
                    process.resumed_by,
                ],
            );
            let name = "SELECT name FROM sessions WHERE id = ?";
            let name: String = transaction.query_row(name, [&process.session], |row| row.get(0))?;
            unless_taken(begun, &name)?;
            transaction.execute("DELETE FROM inputs WHERE session = ?", [&process.session])?;
            let event = NewEvent {
                at: process.at,
                session: Some(process.session.clone()),
                event: "session.resumed",
                details: json!({
                    "process": process.number, "version": process.agent_version, "conversation": process.conversation,
                }),
            };
            insert(transaction, &event)?;
            Ok(true)
        })
    }

    /// The processes that a session had before the present one, oldest first.
    pub fn past_processes(&self, session: &str) -> Result<Vec<PastProcess>, StoreError> {
        let sql = "SELECT ending, status, signal, reason, ended_ms, output, cpu_us, max_rss_kib, number, dir, began_ms, pid
                   FROM past_processes WHERE session = ? ORDER BY number";
        let mut statement = self.connection.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| {
            let Some(ending) = read_ending(row, 0)? else { return Ok(None) };
            let began = Wall(row.get::<_, i64>(10)?.cast_unsigned());
            Ok(Some(PastProcess { number: row.get(8)?, dir: row.get(9)?, began, pid: row.get(11)?, ending }))
        };
        let rows = statement.query_map([session], read)?;
        Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
    }
}
