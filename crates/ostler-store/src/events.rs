use ostler_core::Wall;
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::error::StoreError;
use crate::store::Store;

/// An event to be recorded.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// When it happened.
    pub at: Wall,
    /// Id of the session it concerns.
    pub session: Option<String>,
    /// Its kind, such as `session.ended`.
    pub event: &'static str,
    /// Details; never a message's text.
    pub details: Value,
}

/// A recorded event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Grows with every event.
    pub seq: i64,
    /// When it happened.
    pub at: Wall,
    /// Name of the session it concerns.
    pub session: Option<String>,
    /// Its kind.
    pub event: String,
    /// Details.
    pub details: Value,
}

pub(crate) fn insert(connection: &Connection, event: &NewEvent) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare_cached("INSERT INTO events (at_ms, session, event, details) VALUES (?, ?, ?, ?)")?;
    statement.execute(params![
        event.at.0.cast_signed(),
        event.session,
        event.event,
        event.details.to_string()
    ])?;
    Ok(())
}

impl Store {
    /// Records an event that changes nothing else.
    pub fn record(&mut self, event: &NewEvent) -> Result<(), StoreError> {
        insert(&self.connection, event)
    }

    /// Up to `limit` events behind number `after`, of one session or of all, oldest first.
    pub fn events(&self, session: Option<&str>, after: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
        let sql = "SELECT e.seq, e.at_ms, s.name, e.event, e.details FROM events e
                   LEFT JOIN sessions s ON s.id = e.session
                   WHERE e.seq > ?1 AND (?2 IS NULL OR e.session = ?2) ORDER BY e.seq LIMIT ?3";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![after, session, limit], |row| {
            let details: String = row.get(4)?;
            Ok(Event {
                seq: row.get(0)?,
                at: Wall(row.get::<_, i64>(1)?.cast_unsigned()),
                session: row.get(2)?,
                event: row.get(3)?,
                details: serde_json::from_str(&details).unwrap_or(Value::Null),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
