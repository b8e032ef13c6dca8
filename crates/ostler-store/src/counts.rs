//! What became of messages, counted when it happens: what is counted once stays counted, also when the messages are
//! forgotten.

use ostler_core::Wall;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use serde_json::{Value, json};

use crate::deliveries::{CANCELLED, record_event};
use crate::error::StoreError;
use crate::store::Store;

/// How the names of these counters begin.
const PREFIX: &str = "delivery.";

/// What became of all messages.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct DeliveryCounts {
    /// Messages that were sent as prompts.
    pub sent: u64,
    /// Those that were given to their agent: typed, on its command line, or by its hook.
    pub attempted: u64,
    /// Those that are proven to be taken.
    pub submitted: u64,
    /// Of these, those that were given once.
    pub first_try: u64,
    /// Of these, those that were given more often.
    pub after_retry: u64,
    /// Those whose agent confirmed them.
    pub acknowledged: u64,
    /// Those whose agent was asked to.
    pub ack_wanted: u64,
    /// Those that took another way.
    pub escalated: u64,
    /// Of these, those that were put into the instructions file.
    pub escalated_to_file: u64,
    /// Those that their agent has to know.
    pub contexts: u64,
    /// Of these, those that it took, or found in its instructions file.
    pub contexts_visible: u64,
    /// Those that did not arrive.
    pub failed: u64,
    /// Those of which it cannot be told.
    pub uncertain: u64,
    /// Those that wait.
    pub waiting: u64,
    /// Times they were given, over those submitted.
    pub attempts: u64,
    /// Milliseconds from sending to submission, over those submitted.
    pub elapsed_ms: u64,
}

fn bump(connection: &Connection, name: &str, by: u64) -> Result<(), StoreError> {
    let sql = "INSERT INTO counters VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = value + ?2";
    connection.prepare_cached(sql)?.execute(params![name, by.cast_signed()])?;
    Ok(())
}

/// Counts something about prompts.
pub(crate) fn add(transaction: &Connection, name: &str, by: u64) -> Result<(), StoreError> {
    bump(transaction, &format!("{PREFIX}{name}"), by)
}

/// A prompt is given to its agent, once more perhaps.
pub(crate) fn given(
    transaction: &Connection,
    session: &str,
    message: &str,
    at: Wall,
) -> Result<(), StoreError> {
    let sql =
        "UPDATE messages SET tries = tries + 1 WHERE session = ? AND id = ? AND raw = 0 RETURNING tries";
    let mut statement = transaction.prepare_cached(sql)?;
    let tries: Option<u32> = statement.query_row([session, message], |row| row.get(0)).optional()?;
    if tries == Some(1) {
        add(transaction, "attempted", 1)?;
    }
    if tries.is_some() {
        let details = injection(transaction, session, message, at, json!({ "id": message }))?;
        record_event(transaction, session, "injection.attempted", details, at)?;
    }
    Ok(())
}

/// What is said of a prompt's way into its agent, besides `details`: which try it is, what kind of text, by which way, and how
/// long that took so far.
pub(crate) fn injection(
    transaction: &Connection,
    session: &str,
    message: &str,
    at: Wall,
    mut details: Value,
) -> Result<Value, StoreError> {
    let sql = "SELECT tries, CASE WHEN sender = 'notice' THEN 'notice' WHEN ack OR priority = 'startup' THEN 'context'
                 ELSE 'prompt' END, way, created_ms FROM messages WHERE session = ? AND id = ?";
    let mut statement = transaction.prepare_cached(sql)?;
    let found = statement.query_row([session, message], |row| {
        Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
    });
    if let (Some((attempt, kind, by, created)), Some(details)) = (found.optional()?, details.as_object_mut())
    {
        details.insert("attempt".into(), attempt.into());
        details.insert("type".into(), kind.into());
        details.insert("by".into(), by.into());
        let duration = at.0.saturating_sub(created.cast_unsigned());
        details.insert("duration_ms".into(), duration.into());
    }
    Ok(details)
}

/// Whether a message was put into the instructions file, now or before.
pub(crate) fn was_in_file(
    transaction: &Connection,
    session: &str,
    message: &str,
) -> Result<bool, StoreError> {
    let sql = format!("SELECT {IN_FILE} FROM messages WHERE session = ? AND id = ?");
    let mut statement = transaction.prepare_cached(&sql)?;
    Ok(statement.query_row([session, message], |row| row.get(0)).optional()?.unwrap_or(false))
}

/// Whether a row of `messages` was put into the instructions file.
const IN_FILE: &str = "(escalated IS NOT NULL AND EXISTS (SELECT 1 FROM events WHERE events.session = messages.session \
                       AND event = 'injection.escalated' AND json_extract(details, '$.id') = messages.id \
                       AND json_extract(details, '$.way') = 'file'))";
/// Whether a row of `messages` is something that its agent has to know.
const CONTEXT: &str = "(raw = 0 AND sender <> 'notice' AND (ack OR priority = 'startup'))";

/// Counts a message that its agent has to know, if it is one.
pub(crate) fn context(
    transaction: &Connection,
    session: &str,
    message: &str,
    name: &str,
) -> Result<(), StoreError> {
    let sql = format!("SELECT {CONTEXT} FROM messages WHERE session = ? AND id = ?");
    let mut statement = transaction.prepare_cached(&sql)?;
    if statement.query_row([session, message], |row| row.get(0)).optional()? == Some(true) {
        add(transaction, name, 1)?;
    }
    Ok(())
}

/// A prompt is proven to be where the agent has it. What was not typed was given to it then, by its hook.
pub(crate) fn seen(
    transaction: &Connection,
    session: &str,
    message: &str,
    at: Wall,
) -> Result<(), StoreError> {
    let sql = "SELECT tries = 0 FROM messages WHERE session = ? AND id = ? AND raw = 0";
    let mut statement = transaction.prepare_cached(sql)?;
    if statement.query_row([session, message], |row| row.get(0)).optional()? == Some(true) {
        given(transaction, session, message, at)?;
    }
    Ok(())
}

/// A prompt is proven to be taken, or confirmed; that was not recorded yet.
pub(crate) fn taken(
    transaction: &Connection,
    session: &str,
    message: &str,
    confirmed: bool,
    at: Wall,
) -> Result<(), StoreError> {
    let sql = "SELECT submitted_ms IS NULL, acknowledged_ms IS NULL AND ack, tries, created_ms FROM messages
               WHERE session = ? AND id = ? AND raw = 0";
    let mut statement = transaction.prepare_cached(sql)?;
    let found = statement.query_row([session, message], |row| {
        Ok((row.get::<_, bool>(0)?, row.get::<_, bool>(1)?, row.get::<_, u32>(2)?, row.get::<_, i64>(3)?))
    });
    let Some((submits, confirms, tries, created)) = found.optional()? else { return Ok(()) };
    if submits {
        // A hook takes it in one go.
        if tries == 0 {
            given(transaction, session, message, at)?;
        }
        if !was_in_file(transaction, session, message)? {
            context(transaction, session, message, "contexts_visible")?;
        }
        add(transaction, "submitted", 1)?;
        add(transaction, if tries > 1 { "after_retry" } else { "first_try" }, 1)?;
        add(transaction, "attempts", tries.max(1).into())?;
        add(transaction, "elapsed_ms", at.0.saturating_sub(created.cast_unsigned()))?;
    }
    if confirms && confirmed {
        add(transaction, "acknowledged", 1)?;
    }
    Ok(())
}

impl Store {
    /// Counts one more of something.
    pub fn count(&mut self, name: &str) -> Result<(), StoreError> {
        bump(&self.connection, name, 1)
    }

    /// Everything that was counted under names that begin so, without that beginning.
    pub fn counts(&self, begin: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let sql =
            "SELECT substr(name, length(?1) + 1), value FROM counters WHERE substr(name, 1, length(?1)) = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows =
            statement.query_map([begin], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What became of all prompts there ever were; of a session, what is known of its prompts now.
    pub fn delivery_counts(&self, session: Option<&str>) -> Result<DeliveryCounts, StoreError> {
        match session {
            Some(session) => self.counts_of_session(session),
            None => self.counts_of_all(),
        }
    }

    fn counts_of_all(&self) -> Result<DeliveryCounts, StoreError> {
        let mut counts = DeliveryCounts::default();
        for (name, value) in self.counts(PREFIX)? {
            let count = match name.as_str() {
                "sent" => &mut counts.sent,
                "attempted" => &mut counts.attempted,
                "submitted" => &mut counts.submitted,
                "first_try" => &mut counts.first_try,
                "after_retry" => &mut counts.after_retry,
                "acknowledged" => &mut counts.acknowledged,
                "ack_wanted" => &mut counts.ack_wanted,
                "escalated" => &mut counts.escalated,
                "escalated_to_file" => &mut counts.escalated_to_file,
                "contexts" => &mut counts.contexts,
                "contexts_visible" => &mut counts.contexts_visible,
                "failed" => &mut counts.failed,
                "uncertain" => &mut counts.uncertain,
                "attempts" => &mut counts.attempts,
                "elapsed_ms" => &mut counts.elapsed_ms,
                _ => continue,
            };
            *count = value;
        }
        let sql = "SELECT count(*) FROM messages WHERE raw = 0 AND state = 'queued'";
        let waiting: i64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        Ok(DeliveryCounts { waiting: waiting.cast_unsigned(), ..counts })
    }

    fn counts_of_session(&self, session: &str) -> Result<DeliveryCounts, StoreError> {
        let sql = format!("SELECT count(*), coalesce(sum(tries > 0), 0), coalesce(sum(submitted_ms IS NOT NULL), 0),
                     coalesce(sum(submitted_ms IS NOT NULL AND tries <= 1), 0),
                     coalesce(sum(submitted_ms IS NOT NULL AND tries > 1), 0),
                     coalesce(sum(acknowledged_ms IS NOT NULL AND ack), 0), coalesce(sum(ack), 0),
                     coalesce(sum(escalated IS NOT NULL), 0),
                     coalesce(sum(state = 'failed' AND failure IS NOT ?2), 0),
                     coalesce(sum(state = 'uncertain'), 0), coalesce(sum(state = 'queued'), 0),
                     coalesce(sum(CASE WHEN submitted_ms IS NOT NULL THEN tries END), 0),
                     coalesce(sum(submitted_ms - created_ms), 0), coalesce(sum({IN_FILE}), 0), coalesce(sum({CONTEXT}), 0),
                     coalesce(sum({CONTEXT} AND (submitted_ms IS NOT NULL OR {IN_FILE})), 0)
                   FROM messages WHERE raw = 0 AND session = ?1");
        let number = |row: &rusqlite::Row<'_>, index| row.get::<_, i64>(index).map(i64::cast_unsigned);
        Ok(self.connection.query_row(&sql, [session, CANCELLED], |row| {
            Ok(DeliveryCounts {
                sent: number(row, 0)?,
                attempted: number(row, 1)?,
                submitted: number(row, 2)?,
                first_try: number(row, 3)?,
                after_retry: number(row, 4)?,
                acknowledged: number(row, 5)?,
                ack_wanted: number(row, 6)?,
                escalated: number(row, 7)?,
                failed: number(row, 8)?,
                uncertain: number(row, 9)?,
                waiting: number(row, 10)?,
                attempts: number(row, 11)?,
                elapsed_ms: number(row, 12)?,
                escalated_to_file: number(row, 13)?,
                contexts: number(row, 14)?,
                contexts_visible: number(row, 15)?,
            })
        })?)
    }
}
