use ostler_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use crate::error::StoreError;
use crate::events::{NewEvent, insert};
use crate::store::Store;

/// A message to be recorded.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// Id of the session.
    pub session: String,
    /// Id of the message, unique in its session.
    pub id: String,
    /// Its place in the order of typing.
    pub seq: u64,
    /// What to type.
    pub body: Vec<u8>,
    /// When it came.
    pub at: Timestamp,
}

/// How far a message has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    /// Recorded.
    Queued,
    /// In the terminal.
    Written,
    /// Will never be typed.
    Failed,
}

impl MessageState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Written => "written",
            Self::Failed => "failed",
        }
    }

    fn from_text(text: &str) -> Self {
        [Self::Queued, Self::Written].into_iter().find(|state| state.as_str() == text).unwrap_or(Self::Failed)
    }
}

/// A recorded message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Its place in the order of typing.
    pub seq: u64,
    /// How far it has got.
    pub state: MessageState,
    /// How often it was offered to the holder.
    pub attempts: u32,
    /// What the state is concluded from.
    pub evidence: String,
    /// Length of the body.
    pub bytes: usize,
}

/// What became of a message that was to be recorded.
#[derive(Debug, Clone)]
pub enum Accepted {
    /// It is new.
    New,
    /// The same id came before with the same body; this is that message.
    Known(Message),
    /// The same id came before with another body.
    Conflict,
}

const COLUMNS: &str = "id, seq, state, attempts, evidence, length(body)";

fn read(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: row.get(0)?,
        seq: row.get::<_, i64>(1)?.cast_unsigned(),
        state: MessageState::from_text(&row.get::<_, String>(2)?),
        attempts: row.get(3)?,
        evidence: row.get(4)?,
        bytes: usize::try_from(row.get::<_, i64>(5)?).unwrap_or(0),
    })
}

fn find(connection: &Connection, session: &str, id: &str) -> rusqlite::Result<Option<Message>> {
    let sql = format!("SELECT {COLUMNS} FROM messages WHERE session = ? AND id = ?");
    connection.prepare_cached(&sql)?.query_row([session, id], read).optional()
}

impl Store {
    /// Records a message, once per id.
    pub fn add_message(&mut self, message: &NewMessage) -> Result<Accepted, StoreError> {
        self.atomically(|transaction| {
            if let Some(known) = find(transaction, &message.session, &message.id)? {
                let body: Vec<u8> = transaction.query_row(
                    "SELECT body FROM messages WHERE session = ? AND id = ?",
                    [&message.session, &message.id],
                    |row| row.get(0),
                )?;
                return Ok(if body == message.body { Accepted::Known(known) } else { Accepted::Conflict });
            }
            transaction
                .prepare_cached(
                    "INSERT INTO messages (session, id, seq, body, state, created_ms) VALUES (?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    message.session,
                    message.id,
                    message.seq.cast_signed(),
                    message.body,
                    MessageState::Queued.as_str(),
                    message.at.0.cast_signed(),
                ])?;
            let event = NewEvent {
                at: message.at,
                session: Some(message.session.clone()),
                event: "message.queued",
                details: json!({ "id": message.id, "bytes": message.body.len() }),
            };
            insert(transaction, &event)?;
            Ok(Accepted::New)
        })
    }

    /// Takes the body of a message that is about to be offered, and counts the attempt.
    pub fn begin_attempt(&mut self, session: &str, seq: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.atomically(|transaction| {
            let sql =
                "UPDATE messages SET attempts = attempts + 1 WHERE session = ? AND seq = ? RETURNING body";
            let mut statement = transaction.prepare_cached(sql)?;
            Ok(statement.query_row(params![session, seq.cast_signed()], |row| row.get(0)).optional()?)
        })
    }

    /// Records what became of a message; its body is not needed any more to type it, and stays to tell a
    /// repeated id from a reused one.
    pub fn settle_message(
        &mut self,
        session: &str,
        seq: u64,
        state: MessageState,
        evidence: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE messages SET state = ?3, evidence = ?4, settled_ms = ?5
                       WHERE session = ?1 AND seq = ?2 AND state = 'queued' RETURNING id";
            let id: Option<String> = transaction
                .prepare_cached(sql)?
                .query_row(
                    params![session, seq.cast_signed(), state.as_str(), evidence, at.0.cast_signed()],
                    |row| row.get(0),
                )
                .optional()?;
            if let Some(id) = id {
                let event = NewEvent {
                    at,
                    session: Some(session.to_owned()),
                    event: if state == MessageState::Written { "message.written" } else { "message.failed" },
                    details: json!({ "id": id, "evidence": evidence }),
                };
                insert(transaction, &event)?;
            }
            Ok(())
        })
    }

    /// One message of a session.
    pub fn message(&self, session: &str, id: &str) -> Result<Option<Message>, StoreError> {
        Ok(find(&self.connection, session, id)?)
    }

    /// Whether a message of a session has this body.
    pub fn has_body(&self, session: &str, id: &str, body: &[u8]) -> Result<bool, StoreError> {
        let sql = "SELECT body = ?3 FROM messages WHERE session = ?1 AND id = ?2";
        Ok(self
            .connection
            .query_row(sql, params![session, id, body], |row| row.get(0))
            .optional()?
            .unwrap_or(false))
    }

    /// One message of a session, by its place in the order.
    pub fn message_by_seq(&self, session: &str, seq: u64) -> Result<Option<Message>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM messages WHERE session = ? AND seq = ?");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_row(params![session, seq.cast_signed()], read).optional()?)
    }

    /// Sequences of the messages that are not settled, in order.
    pub fn unsettled(&self, session: &str) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT seq FROM messages WHERE session = ? AND state = 'queued' ORDER BY seq";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([session], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Highest sequence of a session's messages, 0 if it has none.
    pub fn last_seq(&self, session: &str) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM messages WHERE session = ?";
        let last: i64 = self.connection.prepare_cached(sql)?.query_row([session], |row| row.get(0))?;
        Ok(last.cast_unsigned())
    }
}
