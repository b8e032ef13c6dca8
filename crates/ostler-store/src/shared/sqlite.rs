//! What is shared, in the database of one home: there is nobody to share with but later daemons.

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use serde_json::Value;

use crate::error::StoreError;
use crate::shared::{
    Durability, Eviction, Guarantee, Kind, SharedError, SharedStore, Swap, Versioned, text_of, value_of,
};
use crate::store::Store;
use crate::thread::StoreHandle;

/// Version and text of a cell.
type Cell = (i64, String);
/// What there is under a name.
type Raw = Option<Cell>;

fn raw(connection: &Connection, kind: Kind, name: &str) -> rusqlite::Result<Raw> {
    connection
        .prepare_cached("SELECT version, value FROM shared_cells WHERE kind = ? AND name = ?")?
        .query_row([kind.as_str(), name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn versioned(name: &str, (version, text): Cell) -> Result<Versioned, SharedError> {
    Ok(Versioned { version: version.cast_unsigned(), value: value_of(name, &text)? })
}

impl Store {
    fn cells(&mut self, kind: Kind) -> Result<Vec<(String, Cell)>, StoreError> {
        let sql = "SELECT name, version, value FROM shared_cells WHERE kind = ? ORDER BY name";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows =
            statement.query_map([kind.as_str()], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Puts or removes a cell if it has the version expected; else returns what there is.
    fn swap_cell(
        &mut self,
        kind: Kind,
        name: &str,
        expected: u64,
        text: Option<&str>,
    ) -> Result<Result<u64, Raw>, StoreError> {
        self.atomically(|transaction| {
            let found = raw(transaction, kind, name)?;
            if found.as_ref().map_or(0, |(version, _)| version.cast_unsigned()) != expected {
                return Ok(Err(found));
            }
            let Some(text) = text else {
                let sql = "DELETE FROM shared_cells WHERE kind = ? AND name = ?";
                transaction.prepare_cached(sql)?.execute([kind.as_str(), name])?;
                return Ok(Ok(0));
            };
            let sql = "INSERT INTO shared_cells (kind, name, version, value) VALUES (?, ?, ?, ?)
                       ON CONFLICT DO UPDATE SET version = excluded.version, value = excluded.value";
            let version = expected + 1;
            transaction.prepare_cached(sql)?.execute(params![
                kind.as_str(),
                name,
                version.cast_signed(),
                text
            ])?;
            Ok(Ok(version))
        })
    }

    fn put_continuity(&mut self, project: &str, id: &str, text: &str, most: usize) -> Result<(), StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.atomically(|transaction| {
            let sql = "INSERT INTO shared_continuity (project, id, value) VALUES (?, ?, ?)
                       ON CONFLICT (project, id) DO UPDATE SET value = excluded.value";
            transaction.prepare_cached(sql)?.execute([project, id, text])?;
            let sql = "DELETE FROM shared_continuity WHERE project = ?1 AND seq NOT IN
                       (SELECT seq FROM shared_continuity WHERE project = ?1 ORDER BY seq DESC LIMIT ?2)";
            transaction.prepare_cached(sql)?.execute(params![project, most])?;
            Ok(())
        })
    }
}

impl SharedStore for StoreHandle {
    async fn guarantee(&self) -> Result<Guarantee, SharedError> {
        Ok(Guarantee {
            server: "its own database".into(),
            durability: Durability::EveryWriteButPower,
            eviction: Eviction::Nothing,
            replicated: false,
        })
    }

    async fn get(&self, kind: Kind, name: &str) -> Result<Option<Versioned>, SharedError> {
        let wanted = name.to_owned();
        let found = self.run(move |store| Ok(raw(&store.connection, kind, &wanted)?)).await?;
        found.map(|found| versioned(name, found)).transpose()
    }

    async fn list(&self, kind: Kind) -> Result<Vec<(String, Versioned)>, SharedError> {
        let found = self.run(move |store| store.cells(kind)).await?.into_iter();
        found.map(|(name, found)| Ok((name.clone(), versioned(&name, found)?))).collect()
    }

    async fn swap(&self, kind: Kind, name: &str, expected: u64, value: &Value) -> Result<Swap, SharedError> {
        let (wanted, text) = (name.to_owned(), text_of(value)?);
        let done = self.run(move |store| store.swap_cell(kind, &wanted, expected, Some(&text))).await?;
        outcome(name, done)
    }

    async fn remove(&self, kind: Kind, name: &str, expected: u64) -> Result<Swap, SharedError> {
        let wanted = name.to_owned();
        let done = self.run(move |store| store.swap_cell(kind, &wanted, expected, None)).await?;
        outcome(name, done)
    }

    async fn add_continuity(
        &self,
        project: &str,
        id: &str,
        record: &Value,
        most: usize,
    ) -> Result<(), SharedError> {
        let (project, id, text) = (project.to_owned(), id.to_owned(), text_of(record)?);
        Ok(self.run(move |store| store.put_continuity(&project, &id, &text, most)).await?)
    }

    async fn continuity(&self, project: &str) -> Result<Vec<Value>, SharedError> {
        let wanted = project.to_owned();
        let found: Vec<String> = self
            .run(move |store| {
                let sql = "SELECT value FROM shared_continuity WHERE project = ? ORDER BY seq";
                let mut statement = store.connection.prepare_cached(sql)?;
                let rows = statement.query_map([wanted], |row| row.get(0))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
            .await?;
        found.iter().map(|text| value_of(project, text)).collect()
    }

    async fn clear_continuity(&self, project: &str) -> Result<(), SharedError> {
        self.change("DELETE FROM shared_continuity WHERE project = ?", [project]).await.map(drop)
    }
}

impl StoreHandle {
    /// Runs one statement; tells how many rows it changed.
    async fn change<const N: usize>(&self, sql: &'static str, args: [&str; N]) -> Result<usize, SharedError> {
        let args = args.map(str::to_owned);
        Ok(self
            .run(move |store| Ok(store.connection.prepare_cached(sql)?.execute(params_from_iter(args))?))
            .await?)
    }
}

fn outcome(name: &str, done: Result<u64, Raw>) -> Result<Swap, SharedError> {
    match done {
        Ok(version) => Ok(Swap::Done(version)),
        Err(found) => Ok(Swap::Conflict(found.map(|found| versioned(name, found)).transpose()?)),
    }
}
