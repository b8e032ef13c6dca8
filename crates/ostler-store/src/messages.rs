use ostler_core::delivery::Mode;
use ostler_core::message::{Message, MessageState, Terms};
use ostler_core::queue::Priority;
use ostler_core::start_plan::StartupRoute;
use ostler_core::{Proof, Wall};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use crate::counts;
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
    /// Its place in the order of arrival.
    pub seq: u64,
    /// What to type.
    pub body: Vec<u8>,
    /// What was agreed.
    pub terms: Terms,
    /// When it came.
    pub at: Wall,
}

/// What became of a message that was to be recorded.
#[derive(Debug, Clone)]
pub enum Accepted {
    /// It is new.
    New,
    /// The same id came before with the same body.
    Known,
    /// The same id came before with another body.
    Conflict,
}

const COLUMNS: &str = "session, id, seq, raw, sender, priority, mode, ack, expires_ms, state, proof, evidence, \
                       failure, attempts, enters, escalated, created_ms, submitted_ms, length(body), way, command, mark";

fn moment(value: i64) -> Wall {
    Wall(value.cast_unsigned())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Message> {
    let text = |index| row.get::<_, String>(index);
    let evidence: String = row.get(11)?;
    Ok(Message {
        session: row.get(0)?,
        id: row.get(1)?,
        seq: row.get::<_, i64>(2)?.cast_unsigned(),
        terms: Terms {
            raw: row.get(3)?,
            sender: row.get(4)?,
            priority: Priority::from_name(&text(5)?).unwrap_or_default(),
            mode: Mode::from_name(&text(6)?).unwrap_or_default(),
            ack: row.get(7)?,
            expires: row.get::<_, Option<i64>>(8)?.map(moment),
            way: StartupRoute::from_name(&text(19)?).unwrap_or_default(),
            command: row.get(20)?,
        },
        state: MessageState::from_name(&text(9)?).unwrap_or(MessageState::Failed),
        proof: Proof::from_name(&text(10)?).unwrap_or_default(),
        evidence: evidence.lines().map(str::to_owned).collect(),
        failure: row.get(12)?,
        attempts: row.get(13)?,
        enters: row.get(14)?,
        escalated: row.get(15)?,
        created: moment(row.get(16)?),
        submitted: row.get::<_, Option<i64>>(17)?.map(moment),
        bytes: usize::try_from(row.get::<_, i64>(18)?).unwrap_or(0),
        mark: row.get(21)?,
    })
}

fn find(connection: &Connection, session: &str, id: &str) -> rusqlite::Result<Option<Message>> {
    let sql = format!("SELECT {COLUMNS} FROM messages WHERE session = ? AND id = ?");
    connection.prepare_cached(&sql)?.query_row([session, id], read).optional()
}

/// How many texts tell one session from another, and how much of each.
const GIVEN: u32 = 200;
const GIVEN_BYTES: u32 = 4_096;

impl Store {
    /// The texts that a session's agent was given last, or may have been: the beginning of each.
    pub fn given_texts(&self, session: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        let sql = "SELECT substr(body, 1, ?2) FROM messages
                   WHERE session = ?1 AND raw = 0 AND (attempts > 0 OR way <> 'message') ORDER BY seq DESC LIMIT ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![session, GIVEN_BYTES, GIVEN], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Records a message, once per id.
    pub fn add_message(&mut self, message: &NewMessage) -> Result<Accepted, StoreError> {
        self.atomically(|transaction| {
            if find(transaction, &message.session, &message.id)?.is_some() {
                let (body, raw): (Vec<u8>, bool) = transaction.query_row(
                    "SELECT body, raw FROM messages WHERE session = ? AND id = ?",
                    [&message.session, &message.id],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )?;
                let same = body == message.body && raw == message.terms.raw;
                return Ok(if same { Accepted::Known } else { Accepted::Conflict });
            }
            let way = message.terms.way;
            let Terms { raw, sender, priority, mode, ack, expires, command, .. } = &message.terms;
            transaction
                .prepare_cached(
                    "INSERT INTO messages (session, id, seq, body, state, created_ms, raw, sender, priority, mode, ack, \
                     expires_ms, way, command) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    message.session,
                    message.id,
                    message.seq.cast_signed(),
                    message.body,
                    MessageState::Queued.as_str(),
                    message.at.0.cast_signed(),
                    raw,
                    sender,
                    priority.as_str(),
                    mode.as_str(),
                    ack,
                    expires.map(|expires| expires.0.cast_signed()),
                    way.as_str(),
                    command,
                ])?;
            let event = NewEvent {
                at: message.at,
                session: Some(message.session.clone()),
                event: "message.queued",
                details: json!({ "id": message.id, "bytes": message.body.len() }),
            };
            insert(transaction, &event)?;
            if !raw {
                let wanted = ["sent", "ack_wanted"].into_iter().take(1 + usize::from(*ack));
                wanted.into_iter().try_for_each(|name| counts::add(transaction, name, 1))?;
                counts::context(transaction, &message.session, &message.id, "contexts")?;
            }
            // What stands on the command line is given to the agent with its start.
            if way == StartupRoute::Argument {
                counts::given(transaction, &message.session, &message.id, message.at)?;
            }
            Ok(Accepted::New)
        })
    }

    /// One message of a session.
    pub fn message(&self, session: &str, id: &str) -> Result<Option<Message>, StoreError> {
        Ok(find(&self.connection, session, id)?)
    }

    /// What one message says.
    pub fn message_body(&self, session: &str, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT body FROM messages WHERE session = ? AND id = ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_row([session, id], |row| row.get(0)).optional()?)
    }

    /// Whether a message of a session has this body.
    pub fn has_body(&self, session: &str, id: &str, body: &[u8]) -> Result<bool, StoreError> {
        Ok(self.message_body(session, id)?.is_some_and(|known| known == body))
    }

    /// The messages of a session that something is still to be done for, in the order of arrival.
    pub fn open_messages(&self, session: &str) -> Result<Vec<Message>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM messages WHERE session = ? AND state = 'queued' ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([session], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The newest messages, of one session or of all, oldest first; with `settled` also those that are done with: they
    /// arrived, or were dropped.
    pub fn list_messages(
        &self,
        session: Option<&str>,
        settled: bool,
        limit: u32,
    ) -> Result<Vec<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages WHERE (?1 IS NULL OR session = ?1) AND (?2 OR (state <> 'delivered' AND NOT dropped)) \
             ORDER BY created_ms DESC, seq DESC LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params![session, settled, limit], read)?;
        let mut messages: Vec<Message> = rows.collect::<Result<_, _>>()?;
        messages.reverse();
        Ok(messages)
    }

    /// The messages that bear an id, in whatever session, the newest first.
    pub fn find_messages(&self, id: &str) -> Result<Vec<Message>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM messages WHERE id = ? ORDER BY created_ms DESC");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([id], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The last messages that were typed into a session's agent and are done with, the newest first.
    pub fn typed_messages(&self, session: &str, limit: u32) -> Result<Vec<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages WHERE session = ? AND raw = 0 AND (submitted_ms IS NOT NULL \
             OR (state IN ('failed', 'uncertain') AND attempts > 0)) \
             ORDER BY coalesce(submitted_ms, settled_ms) DESC LIMIT ?"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params![session, limit], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The messages that a session's agent has to know from its start, whichever way they went, oldest first.
    pub fn essential_messages(&self, session: &str) -> Result<Vec<Message>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages WHERE session = ? AND raw = 0 AND (way = 'hook' OR priority = 'startup') \
             ORDER BY seq"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([session], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Highest place in the order of a session's messages, 0 if it has none.
    pub fn last_seq(&self, session: &str) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM messages WHERE session = ?";
        let last: i64 = self.connection.prepare_cached(sql)?.query_row([session], |row| row.get(0))?;
        Ok(last.cast_unsigned())
    }
}
