//! How messages get into their terminals: every write before it is made, every proof when it is found.

use ostler_core::message::{LastWrite, MISSED, MessageState};
use ostler_core::{Proof, Wall};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use crate::counts;
use crate::error::StoreError;
use crate::events::{NewEvent, insert};
use crate::store::Store;

/// Why a message is not delivered that nobody wants any more.
pub(crate) const CANCELLED: &str = "it was dropped on request";

/// A write to a terminal that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its number in the holder's ledger.
    pub seq: u64,
    /// What kind of write.
    pub write: &'static str,
    /// How often the text's beginning stands on the screen before it is typed.
    pub echoes: u32,
    /// What the agent shows in place of the text, if it does.
    pub mark: Option<String>,
}

pub(crate) fn record_event(
    transaction: &Connection,
    session: &str,
    event: &'static str,
    details: Value,
    at: Wall,
) -> Result<(), StoreError> {
    insert(transaction, &NewEvent { at, session: Some(session.to_owned()), event, details })
}

impl Store {
    /// Records that something is about to be typed for a message.
    pub fn begin_write(
        &mut self,
        session: &str,
        message: &str,
        intent: &Intent,
        at: Wall,
    ) -> Result<(), StoreError> {
        let Intent { seq, write, echoes, ref mark } = *intent;
        self.atomically(|transaction| {
            // The same write under the same number is one that an earlier daemon did not get through.
            let sql = "INSERT OR IGNORE INTO inputs (session, seq, message, write, at_ms, echoes) VALUES (?, ?, ?, ?, ?, ?)";
            let fresh = transaction
                .prepare_cached(sql)?
                .execute(params![session, seq.cast_signed(), message, write, at.0.cast_signed(), echoes])?;
            let (attempts, enters) = (matches!(write, "raw" | "body"), write == "enter");
            let sql = "UPDATE messages SET attempts = attempts + ?3, enters = CASE WHEN ?4 THEN enters + 1 \
                       WHEN ?3 THEN 0 ELSE enters END, mark = coalesce(?5, mark) WHERE session = ?1 AND id = ?2 \
                       RETURNING enters";
            if fresh > 0 {
                let count: Option<u32> = transaction
                    .prepare_cached(sql)?
                    .query_row(params![session, message, attempts, enters, mark], |row| row.get(0))
                    .optional()?;
                if let Some(count) = count.filter(|_| enters) {
                    let details = json!({ "id": message, "count": count });
                    record_event(transaction, session, "message.entered", details, at)?;
                }
            }
            if write == "body" && fresh > 0 {
                counts::given(transaction, session, message, at)?;
            }
            Ok(())
        })
    }

    /// Records that a write is in the terminal.
    pub fn end_write(&mut self, session: &str, seq: u64) -> Result<(), StoreError> {
        let sql = "UPDATE inputs SET done = 1 WHERE session = ? AND seq = ?";
        self.connection.prepare_cached(sql)?.execute(params![session, seq.cast_signed()])?;
        Ok(())
    }

    /// The last write for a message.
    pub fn last_write(&self, session: &str, message: &str) -> Result<Option<LastWrite>, StoreError> {
        let sql = "SELECT seq, write, done, echoes FROM inputs WHERE session = ? AND message = ? ORDER BY seq DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| {
            let seq = row.get::<_, i64>(0)?.cast_unsigned();
            Ok(LastWrite { seq, write: row.get(1)?, done: row.get(2)?, echoes: row.get(3)? })
        };
        Ok(statement.query_row([session, message], read).optional()?)
    }

    /// Highest number of a write that was made for a prompt of a session, 0 if there was none.
    pub fn last_prompt_write(&self, session: &str) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM inputs WHERE session = ? AND write <> 'raw'";
        let last: i64 = self.connection.prepare_cached(sql)?.query_row([session], |row| row.get(0))?;
        Ok(last.cast_unsigned())
    }

    /// The same for bytes that were typed as they are.
    pub fn last_raw_write(&self, session: &str) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM inputs WHERE session = ? AND write = 'raw'";
        let last: i64 = self.connection.prepare_cached(sql)?.query_row([session], |row| row.get(0))?;
        Ok(last.cast_unsigned())
    }

    /// Highest number of a write to a session's terminal.
    pub fn last_input(&self, session: &str) -> Result<u64, StoreError> {
        let sql = "SELECT max(coalesce((SELECT max(seq) FROM inputs WHERE session = ?1), 0), \
                   coalesce((SELECT max(seq) FROM messages WHERE session = ?1), 0))";
        let last: i64 = self.connection.prepare_cached(sql)?.query_row([session], |row| row.get(0))?;
        Ok(last.cast_unsigned())
    }

    /// Records that more is proven of a message; with `last` nothing more is to be done for it.
    ///
    /// Whatever was concluded before, a proof is a proof: it also holds for a message that was given up.
    pub fn prove(
        &mut self,
        session: &str,
        message: &str,
        proof: Proof,
        evidence: &str,
        last: bool,
        at: Wall,
    ) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            if proof == Proof::Seen {
                counts::seen(transaction, session, message, at)?;
            }
            if proof >= Proof::Submitted {
                counts::taken(transaction, session, message, proof == Proof::Acknowledged, at)?;
            }
            let sql = "UPDATE messages SET proof = ?3,
                         evidence = CASE evidence WHEN '' THEN ?4 ELSE evidence || char(10) || ?4 END,
                         state = CASE WHEN ?5 THEN 'delivered' ELSE state END,
                         failure = CASE WHEN ?5 THEN NULL ELSE failure END,
                         settled_ms = CASE WHEN ?5 THEN ?6 ELSE settled_ms END,
                         submitted_ms = CASE WHEN ?3 IN ('submitted', 'acknowledged') THEN coalesce(submitted_ms, ?6)
                                        ELSE submitted_ms END,
                         acknowledged_ms = CASE WHEN ?3 = 'acknowledged' THEN ?6 ELSE acknowledged_ms END
                       WHERE session = ?1 AND id = ?2";
            transaction.prepare_cached(sql)?.execute(params![
                session,
                message,
                proof.as_str(),
                evidence,
                last,
                at.0.cast_signed()
            ])?;
            let details = json!({ "id": message, "evidence": evidence });
            let event = match proof {
                Proof::Queued => "message.queued",
                Proof::Written => "message.written",
                Proof::Seen => "message.seen",
                Proof::Submitted => "message.submitted",
                Proof::Acknowledged => "message.acknowledged",
            };
            record_event(transaction, session, event, details.clone(), at)?;
            if proof == Proof::Submitted {
                let details = counts::injection(transaction, session, message, at, details)?;
                record_event(transaction, session, "injection.succeeded", details, at)?;
            }
            Ok(())
        })
    }

    /// Records that the agent took a different text than was sent, whatever was concluded before.
    pub fn differed(
        &mut self,
        session: &str,
        message: &str,
        evidence: &str,
        failure: &str,
        at: Wall,
    ) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE messages SET state = 'failed', failure = ?4, settled_ms = ?5,
                         evidence = CASE evidence WHEN '' THEN ?3 ELSE evidence || char(10) || ?3 END
                       WHERE session = ?1 AND id = ?2 AND state <> 'failed'";
            let at_ms = at.0.cast_signed();
            let mut statement = transaction.prepare_cached(sql)?;
            if statement.execute(params![session, message, evidence, failure, at_ms])? > 0 {
                let details =
                    json!({ "id": message, "reason": failure, "state": MessageState::Failed.as_str(), "evidence": evidence });
                counts::add(transaction, MessageState::Failed.as_str(), 1)?;
                record_event(transaction, session, "message.failed", details.clone(), at)?;
                record_event(transaction, session, "injection.failed", details, at)?;
            }
            Ok(())
        })
    }

    /// Records that nothing of a message's text is where it was typed.
    pub fn missed(&mut self, session: &str, message: &str, at: Wall) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE messages SET proof = 'queued', evidence = '', way = 'message' WHERE session = ? AND id = ?";
            transaction.prepare_cached(sql)?.execute([session, message])?;
            let sql = "UPDATE inputs SET write = ?3 WHERE session = ?1 AND seq = \
                       (SELECT max(seq) FROM inputs WHERE session = ?1 AND message = ?2)";
            transaction.prepare_cached(sql)?.execute([session, message, MISSED])?;
            record_event(transaction, session, "message.missed", json!({ "id": message }), at)
        })
    }

    /// Records that nothing more is done for a message, and why.
    pub fn give_up(
        &mut self,
        session: &str,
        message: &str,
        state: MessageState,
        failure: &str,
        at: Wall,
    ) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE messages SET state = ?3, failure = ?4, settled_ms = ?5
                       WHERE session = ?1 AND id = ?2 AND state = 'queued' RETURNING raw";
            let raw: Option<bool> = transaction
                .prepare_cached(sql)?
                .query_row(params![session, message, state.as_str(), failure, at.0.cast_signed()], |row| {
                    row.get(0)
                })
                .optional()?;
            let Some(raw) = raw else { return Ok(()) };
            let details = json!({ "id": message, "reason": failure, "state": state.as_str() });
            record_event(transaction, session, "message.failed", details.clone(), at)?;
            if !raw {
                counts::add(transaction, state.as_str(), 1)?;
                let details = counts::injection(transaction, session, message, at, details)?;
                record_event(transaction, session, "injection.failed", details, at)?;
            }
            Ok(())
        })
    }

    /// Records that a message that waits is not wanted any more: it has not failed.
    pub fn cancel(&mut self, session: &str, message: &str, at: Wall) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE messages SET state = 'failed', failure = ?3, settled_ms = ?4, dropped = 1
                       WHERE session = ?1 AND id = ?2 AND state = 'queued'";
            let mut statement = transaction.prepare_cached(sql)?;
            if statement.execute(params![session, message, CANCELLED, at.0.cast_signed()])? > 0 {
                record_event(transaction, session, "message.dropped", json!({ "id": message }), at)?;
            }
            Ok(())
        })
    }

    /// Records that a message took another way.
    pub fn escalated(
        &mut self,
        session: &str,
        message: &str,
        way: &str,
        detail: &str,
        at: Wall,
    ) -> Result<(), StoreError> {
        self.atomically(|transaction| {
            let sql =
                "SELECT escalated IS NULL, submitted_ms IS NULL FROM messages WHERE session = ? AND id = ?";
            let mut first = transaction.prepare_cached(sql)?;
            let found =
                first.query_row([session, message], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let (first, untaken) = found.unwrap_or((false, false));
            if first {
                counts::add(transaction, "escalated", 1)?;
            }
            if way == "file" && !counts::was_in_file(transaction, session, message)? {
                counts::add(transaction, "escalated_to_file", 1)?;
                if untaken {
                    counts::context(transaction, session, message, "contexts_visible")?;
                }
            }
            let sql = "UPDATE messages SET escalated = ?3 WHERE session = ?1 AND id = ?2";
            transaction.prepare_cached(sql)?.execute([session, message, way])?;
            let details = json!({ "id": message, "way": way, "detail": detail });
            let details = counts::injection(transaction, session, message, at, details)?;
            record_event(transaction, session, "injection.escalated", details, at)
        })
    }

    /// Records that somebody has seen that a message was given up; returns whether it was.
    pub fn drop_given_up(&mut self, session: &str, message: &str, at: Wall) -> Result<bool, StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE messages SET dropped = 1
                       WHERE session = ?1 AND id = ?2 AND state IN ('failed', 'uncertain') AND NOT dropped";
            let changed = transaction.prepare_cached(sql)?.execute([session, message])? > 0;
            if changed {
                record_event(transaction, session, "message.dropped", json!({ "id": message }), at)?;
            }
            Ok(changed)
        })
    }

    /// Puts a message that was given up back among those that are under way.
    pub fn revive(&mut self, session: &str, message: &str, seq: u64, at: Wall) -> Result<bool, StoreError> {
        self.atomically(|transaction| {
            let sql = "UPDATE messages SET state = 'queued', proof = 'queued', evidence = '', failure = NULL, seq = ?3,
                         attempts = 0, enters = 0, way = 'message', settled_ms = NULL, expires_ms = NULL,
                         dropped = 0
                       WHERE session = ?1 AND id = ?2 AND state IN ('failed', 'uncertain')";
            let changed =
                transaction.prepare_cached(sql)?.execute(params![session, message, seq.cast_signed()])?;
            if changed > 0 {
                transaction.prepare_cached("DELETE FROM inputs WHERE session = ? AND message = ?")?.execute([session, message])?;
                record_event(transaction, session, "message.queued", json!({ "id": message, "again": true }), at)?;
            }
            Ok(changed > 0)
        })
    }
}
