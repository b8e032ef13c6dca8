//! What was sent to a session, and context that waits for it.

use ostler_core::Timestamp;
use ostler_core::continuity::cut;
use rusqlite::{OptionalExtension, params};
use serde_json::json;

use crate::error::StoreError;
use crate::events::{NewEvent, insert};
use crate::store::Store;

/// Longest context that waits for a session, in bytes.
const PENDING: usize = 256 << 10;

/// Context that waits for its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingContext {
    /// The text.
    pub text: String,
    /// Since when it waits.
    pub at: Timestamp,
    /// When the session asked for it last.
    pub loaded: Option<Timestamp>,
}

impl Store {
    /// What was sent to a session last, oldest first, as text.
    pub fn last_sent(&self, session: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT substr(body, 1, 4096) FROM messages WHERE session = ? ORDER BY seq DESC LIMIT ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![session, limit], |row| row.get::<_, Vec<u8>>(0))?;
        let mut bodies: Vec<Vec<u8>> = rows.collect::<Result<_, _>>()?;
        bodies.reverse();
        Ok(bodies.iter().map(|body| String::from_utf8_lossy(body).into_owned()).collect())
    }

    /// Lets context wait for a session, in the place of what waited before.
    pub fn set_pending_context(
        &mut self,
        session: &str,
        text: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO pending_context (session, at_ms, text) VALUES (?, ?, ?)
                   ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms, text = excluded.text, loaded_ms = NULL";
        self.atomically(|transaction| {
            transaction.execute(sql, params![session, at.0.cast_signed(), cut(text, PENDING)])?;
            let event = NewEvent {
                at,
                session: Some(session.to_owned()),
                event: "context.pending",
                details: json!({ "bytes": text.len() }),
            };
            insert(transaction, &event)
        })
    }

    /// What waits for a session; it goes on waiting.
    pub fn pending_context(&self, session: &str) -> Result<Option<PendingContext>, StoreError> {
        let sql = "SELECT text, at_ms, loaded_ms FROM pending_context WHERE session = ?";
        let time = |ms: i64| Timestamp(ms.cast_unsigned());
        let found = self.connection.prepare_cached(sql)?.query_row([session], |row| {
            Ok(PendingContext {
                text: row.get(0)?,
                at: time(row.get(1)?),
                loaded: row.get::<_, Option<i64>>(2)?.map(time),
            })
        });
        Ok(found.optional()?)
    }

    /// Takes what waits for a session: it waits no more.
    pub fn take_pending_context(&mut self, session: &str) -> Result<Option<PendingContext>, StoreError> {
        let found = self.pending_context(session)?;
        self.connection.execute("DELETE FROM pending_context WHERE session = ?", [session])?;
        Ok(found)
    }

    /// Notes that a session asked for its context, and got so many bytes of it.
    pub fn context_loaded(&mut self, session: &str, bytes: usize, at: Timestamp) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE pending_context SET loaded_ms = ? WHERE session = ?";
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
