//! What several machines share: breakers, runs, what was learnt in earlier sessions.
//!
//! # Theory of operation
//!
//! Values are opaque JSON: the machines of the core know what they mean. A breaker or a run is a *cell* with a
//! version; it is changed by [`SharedStore::swap`], which fails if somebody else was faster. What only one may
//! do (be the probe of a half-open breaker, take up a run) belongs to whoever's change is done: the value says whose it is, and
//! until when. A continuity record is put under its id, so that it can be repeated without harm. So whoever did not hear an
//! answer asks again.
//!
//! Trouble with the store is an error of its own kind ([`SharedError`]), never a value: a caller that cannot
//! reach it goes on with what it knew.

mod any;
mod error;
mod guarantee;
mod redis;
mod sqlite;

use std::future::Future;

use serde_json::Value;

pub use any::AnyShared;
pub use error::SharedError;
pub use guarantee::{Durability, Eviction, Guarantee};
pub use redis::RedisShared;

/// Larger values are refused, in bytes of JSON.
pub const LARGEST: usize = 1 << 20;

/// What a cell is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The circuit breaker of a provider.
    Breaker,
    /// A task with all its attempts.
    Run,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Breaker => "breaker",
            Self::Run => "run",
        }
    }
}

/// A value with the number of times it was changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Versioned {
    /// From 1 on.
    pub version: u64,
    /// What it is now.
    pub value: Value,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum Swap {
    /// It is done; this is the version now.
    Done(u64),
    /// Somebody else was faster; this is what there is now, none if nothing is. If an earlier answer was lost,
    /// it may be one's own change.
    Conflict(Option<Versioned>),
}

/// A store that several machines may share. Every acknowledged change is as safe as [`SharedStore::guarantee`]
/// says.
pub trait SharedStore: Send + Sync {
    /// Finds out what an acknowledged change survives.
    fn guarantee(&self) -> impl Future<Output = Result<Guarantee, SharedError>> + Send;

    /// Reads a cell.
    fn get(
        &self,
        kind: Kind,
        name: &str,
    ) -> impl Future<Output = Result<Option<Versioned>, SharedError>> + Send;

    /// Reads all cells of a kind, by name.
    fn list(&self, kind: Kind) -> impl Future<Output = Result<Vec<(String, Versioned)>, SharedError>> + Send;

    /// Changes a cell that has the version `expected`; 0 means that there is none.
    fn swap(
        &self,
        kind: Kind,
        name: &str,
        expected: u64,
        value: &Value,
    ) -> impl Future<Output = Result<Swap, SharedError>> + Send;

    /// Removes a cell that has the version `expected`; the version is 0 then.
    fn remove(
        &self,
        kind: Kind,
        name: &str,
        expected: u64,
    ) -> impl Future<Output = Result<Swap, SharedError>> + Send;

    /// Records what a session leaves to the next ones of its project, once per id; beyond `most` records the
    /// oldest is forgotten.
    fn add_continuity(
        &self,
        project: &str,
        id: &str,
        record: &Value,
        most: usize,
    ) -> impl Future<Output = Result<(), SharedError>> + Send;

    /// Reads the records of a project, oldest first.
    fn continuity(&self, project: &str) -> impl Future<Output = Result<Vec<Value>, SharedError>> + Send;

    /// Forgets the records of a project.
    fn clear_continuity(&self, project: &str) -> impl Future<Output = Result<(), SharedError>> + Send;
}

/// A value as it is stored.
fn text_of(value: &Value) -> Result<String, SharedError> {
    let text = value.to_string();
    if text.len() > LARGEST { Err(SharedError::TooLarge(text.len())) } else { Ok(text) }
}

/// A value as it was stored.
fn value_of(what: &str, text: &str) -> Result<Value, SharedError> {
    serde_json::from_str(text).map_err(|error| SharedError::Unclear(format!("{what}: {error}")))
}
