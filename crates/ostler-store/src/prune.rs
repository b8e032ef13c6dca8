//! Forgetting what is old, also of sessions that live on.

use ostler_core::Wall;
use rusqlite::params;

use crate::error::StoreError;
use crate::store::Store;

/// What is kept.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    /// Messages of each session that are done with, and writes for them.
    pub messages: u32,
    /// Events, of all sessions together.
    pub events: u32,
    /// What is older is forgotten in any case.
    pub since: Wall,
}

impl Store {
    /// Forgets up to `most` messages, writes and events each that are not to be kept; returns whether there may be more.
    ///
    /// What waits is kept, and the newest of each session: numbers go on from it. So is what its hook may have to give
    /// the agent again.
    pub fn prune(&mut self, keep: &Keep, most: u32) -> Result<bool, StoreError> {
        let since = keep.since.0.cast_signed();
        self.atomically(|transaction| {
            let messages = transaction.execute(
                "DELETE FROM messages WHERE rowid IN (
                   SELECT old.rowid FROM messages AS old
                   JOIN (SELECT session, max(seq) AS last FROM messages GROUP BY session) AS newest
                     ON newest.session = old.session
                   WHERE old.state <> 'queued' AND old.way <> 'hook' AND old.seq < newest.last
                     AND (old.seq <= newest.last - ?1 OR coalesce(old.settled_ms, old.created_ms) < ?2)
                   LIMIT ?3)",
                params![keep.messages, since, most],
            )?;
            let writes = transaction.execute(
                "DELETE FROM inputs WHERE (session, seq) IN (
                   SELECT old.session, old.seq FROM inputs AS old
                   JOIN (SELECT session, max(seq) AS last FROM inputs GROUP BY session) AS newest
                     ON newest.session = old.session
                   WHERE old.done AND old.seq < newest.last
                     AND (old.seq <= newest.last - ?1 OR old.at_ms < ?2)
                     AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.session = old.session
                                     AND messages.id = old.message AND messages.state = 'queued')
                   LIMIT ?3)",
                params![keep.messages, since, most],
            )?;
            let events = transaction.execute(
                "DELETE FROM events WHERE seq IN (
                   SELECT seq FROM events
                   WHERE seq <= (SELECT max(seq) FROM events) - ?1 OR at_ms < ?2 ORDER BY seq LIMIT ?3)",
                params![keep.events, since, most],
            )?;
            Ok([messages, writes, events].iter().any(|count| *count >= most as usize))
        })
    }
}
