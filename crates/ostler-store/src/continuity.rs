//! What was sent to a session, and context that waits for it.

use ostler_core::Wall;
use rusqlite::{Connection, params};
use serde_json::json;

use crate::error::StoreError;
use crate::events::{NewEvent, insert};
use crate::store::Store;

/// What the assignment of a session's agent is called among what waits for it. No message can be called so.
pub const ASSIGNMENT: &str = "the assignment";

/// Context that waits for its session, or did and is in a file still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingContext {
    /// Id of the message that it should have come with.
    pub message: String,
    /// The text.
    pub text: String,
    /// Since when it waits.
    pub at: Wall,
    /// It is in the agent's instructions file, or about to be.
    pub in_file: bool,
    /// When the session asked for it last.
    pub loaded: Option<Wall>,
    /// It waits no more. It is known for as long as it is in the file, so that it is taken out.
    pub settled: bool,
}

impl Store {
    /// What a session took last, oldest first, as text: prompts, and bytes that end with Enter.
    pub fn last_taken(&self, session: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT substr(body, 1, 4096) FROM messages
                   WHERE session = ? AND state = 'delivered' AND (NOT raw OR substr(body, -1) = x'0d')
                   ORDER BY seq DESC LIMIT ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![session, limit], |row| row.get::<_, Vec<u8>>(0))?;
        let mut bodies: Vec<Vec<u8>> = rows.collect::<Result<_, _>>()?;
        bodies.reverse();
        Ok(bodies.iter().map(|body| String::from_utf8_lossy(body).into_owned()).collect())
    }

    /// Lets the context of a message wait for its session, in the place of what waited of it before.
    pub fn set_pending_context(
        &mut self,
        session: &str,
        message: &str,
        text: &str,
        at: Wall,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO pending_context (session, message, at_ms, text) VALUES (?, ?, ?, ?)
                   ON CONFLICT DO UPDATE
                   SET at_ms = excluded.at_ms, text = excluded.text, loaded_ms = NULL, settled = 0";
        self.atomically(|transaction| {
            transaction.execute(sql, params![session, message, at.0.cast_signed(), text])?;
            let event = NewEvent {
                at,
                session: Some(session.to_owned()),
                event: "context.pending",
                details: json!({ "id": message, "bytes": text.len() }),
            };
            insert(transaction, &event)
        })
    }

    /// Notes whether what waits of a message is in the agent's instructions file.
    pub fn put_in_file(&mut self, session: &str, message: &str, in_file: bool) -> Result<(), StoreError> {
        let sql = "UPDATE pending_context SET in_file = ?3 WHERE session = ?1 AND message = ?2";
        self.atomically(|transaction| {
            transaction.prepare_cached(sql)?.execute(params![session, message, in_file])?;
            forget_settled(transaction, session)
        })
    }

    /// Nothing of a session is in its agent's instructions file any more.
    pub fn taken_out(&mut self, session: &str) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            transaction.execute("UPDATE pending_context SET in_file = 0 WHERE session = ?", [session])?;
            forget_settled(transaction, session)
        })
    }

    /// Sessions that have ended and have something in an instructions file.
    pub fn ended_in_file(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT session FROM pending_context JOIN sessions ON sessions.id = session
                   WHERE in_file AND ending IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What waits for a session or is settled and still in the file, oldest first; it goes on waiting.
    pub fn pending_context(&self, session: &str) -> Result<Vec<PendingContext>, StoreError> {
        let sql = "SELECT message, text, at_ms, in_file, loaded_ms, settled FROM pending_context
                   WHERE session = ? ORDER BY at_ms, message";
        let time = |ms: i64| Wall(ms.cast_unsigned());
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([session], |row| {
            Ok(PendingContext {
                message: row.get(0)?,
                text: row.get(1)?,
                at: time(row.get(2)?),
                in_file: row.get(3)?,
                loaded: row.get::<_, Option<i64>>(4)?.map(time),
                settled: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What came with a message waits no more, nor does what the session has asked for.
    pub fn end_pending_context(&mut self, session: &str, message: &str) -> Result<(), StoreError> {
        let sql = "UPDATE pending_context SET settled = 1
                   WHERE session = ?1 AND (message = ?2 OR (loaded_ms IS NOT NULL AND message <> ?3))";
        self.atomically(|transaction| {
            transaction.prepare_cached(sql)?.execute([session, message, ASSIGNMENT])?;
            forget_settled(transaction, session)
        })
    }

    /// Nothing waits for a session any more.
    pub fn clear_pending_context(&mut self, session: &str) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            transaction.execute("UPDATE pending_context SET settled = 1 WHERE session = ?", [session])?;
            forget_settled(transaction, session)
        })
    }

    /// Notes that a session asked for its context, and got so many bytes of it.
    pub fn context_loaded(&mut self, session: &str, bytes: usize, at: Wall) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE pending_context SET loaded_ms = ? WHERE session = ? AND NOT settled";
            let pending = transaction.execute(sql, params![at.0.cast_signed(), session])? > 0;
            let event = NewEvent {
                at,
                session: Some(session.to_owned()),
                event: "context.loaded",
                details: json!({ "bytes": bytes, "pending": pending }),
            };
            insert(transaction, &event)
        })
    }
}

/// Forgets what waits no more, but for what has to be taken out of a file first.
fn forget_settled(transaction: &Connection, session: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM pending_context WHERE session = ? AND settled AND NOT in_file";
    transaction.prepare_cached(sql)?.execute([session])?;
    Ok(())
}
