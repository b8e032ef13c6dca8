//! What is shared, on a server that speaks the Redis protocol: Redis, Valkey, DragonflyDB.
//!
//! Everything that must be atomic is one script over declared keys of one hash tag, so it also works on servers
//! that run scripts in parallel and behind proxies of a cluster.

mod keys;
mod link;
mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use redis::Cmd;
use serde_json::Value;

use crate::shared::{Guarantee, Kind, SharedError, SharedStore, Swap, Versioned, text_of, value_of};
use keys::Keys;
use link::{Link, Script};

/// Changes a cell that has the expected version. Else returns what there is.
static SWAP: Script = Script::new(
    "local found = redis.call('HMGET', KEYS[1], 'version', 'value')
     if (found[1] or '0') ~= ARGV[1] then return {0, found[1], found[2]} end
     redis.call('HSET', KEYS[1], 'version', ARGV[2], 'value', ARGV[3])
     return {1, false, false}",
);

/// Removes a cell that has the expected version. Else returns what there is.
static REMOVE: Script = Script::new(
    "local found = redis.call('HMGET', KEYS[1], 'version', 'value')
     if (found[1] or '0') ~= ARGV[1] then return {0, found[1], found[2]} end
     redis.call('DEL', KEYS[1])
     return {1, false, false}",
);

/// Adds a record to a list, once per id, and forgets the oldest.
static ADD: Script = Script::new(
    "local head = ARGV[1] .. '\\n'
     local at = -1
     for i, item in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
         if string.sub(item, 1, #head) == head then at = i - 1 end
     end
     if at >= 0 then
         redis.call('LSET', KEYS[1], at, head .. ARGV[2])
     else
         redis.call('RPUSH', KEYS[1], head .. ARGV[2])
     end
     if ARGV[3] == '0' then return redis.call('DEL', KEYS[1]) end
     redis.call('LTRIM', KEYS[1], '-' .. ARGV[3], -1)
     return 1",
);

/// A server that several machines share.
#[derive(Clone)]
pub struct RedisShared {
    link: Arc<Link>,
    keys: Keys,
}

impl fmt::Debug for RedisShared {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisShared").field("address", &self.link.address()).finish_non_exhaustive()
    }
}

/// What a script says of a swap: done or not, and what there is.
type Swapped = (i64, Option<String>, Option<String>);

impl RedisShared {
    /// Prepares to use the server at `url` (`redis://[user:password@]host[:port][/db]` or `unix:///path`). All
    /// keys begin with `prefix`, so that several groups can share one server. Nothing is connected yet: whether
    /// the server answers, and what it is worth, says [`SharedStore::guarantee`].
    pub fn new(url: &str, prefix: &str) -> Result<Self, SharedError> {
        Ok(Self { link: Arc::new(Link::new(url)?), keys: Keys::new(prefix) })
    }

    /// Where the server is, without user and password.
    pub fn address(&self) -> String {
        self.link.address()
    }

    async fn ask<T: redis::FromRedisValue>(&self, cmd: &Cmd) -> Result<T, SharedError> {
        self.link.ask(cmd).await
    }

    /// Removes a key.
    async fn forget(&self, key: &str) -> Result<(), SharedError> {
        self.ask(redis::cmd("DEL").arg(key)).await
    }
}

/// A cell from its two fields; none if neither is there.
fn cell(name: &str, fields: (Option<String>, Option<String>)) -> Result<Option<Versioned>, SharedError> {
    match fields {
        (None, None) => Ok(None),
        (Some(version), Some(text)) => {
            let unclear = |_| SharedError::Unclear(format!("{name}: a version of {version:?}"));
            Ok(Some(Versioned { version: version.parse().map_err(unclear)?, value: value_of(name, &text)? }))
        }
        _ => Err(SharedError::Unclear(format!("{name}: half a value"))),
    }
}

fn outcome(name: &str, version: u64, swapped: Swapped) -> Result<Swap, SharedError> {
    match swapped {
        (1, ..) => Ok(Swap::Done(version)),
        (_, found, text) => Ok(Swap::Conflict(cell(name, (found, text))?)),
    }
}

impl SharedStore for RedisShared {
    async fn guarantee(&self) -> Result<Guarantee, SharedError> {
        settings::guarantee(&self.link).await
    }

    async fn get(&self, kind: Kind, name: &str) -> Result<Option<Versioned>, SharedError> {
        let key = self.keys.cell(kind, name);
        cell(name, self.ask(redis::cmd("HMGET").arg(key).arg("version").arg("value")).await?)
    }

    async fn list(&self, kind: Kind) -> Result<Vec<(String, Versioned)>, SharedError> {
        let names: Vec<String> = self.ask(redis::cmd("SMEMBERS").arg(self.keys.index(kind))).await?;
        let mut cells = BTreeMap::new();
        for name in names {
            // The index is written first: a name alone is a cell that is not there yet, or not any more.
            if let Some(found) = self.get(kind, &name).await? {
                cells.insert(name, found);
            }
        }
        Ok(cells.into_iter().collect())
    }

    async fn swap(&self, kind: Kind, name: &str, expected: u64, value: &Value) -> Result<Swap, SharedError> {
        let (version, text) = (expected + 1, text_of(value)?);
        if expected == 0 {
            self.ask::<i64>(redis::cmd("SADD").arg(self.keys.index(kind)).arg(name)).await?;
        }
        let args = [expected.to_string(), version.to_string(), text];
        outcome(name, version, self.link.run(&SWAP, &self.keys.cell(kind, name), &args).await?)
    }

    async fn remove(&self, kind: Kind, name: &str, expected: u64) -> Result<Swap, SharedError> {
        let swapped = self.link.run(&REMOVE, &self.keys.cell(kind, name), &[expected.to_string()]).await?;
        let done = outcome(name, 0, swapped)?;
        if let Swap::Done(_) = done {
            self.ask::<i64>(redis::cmd("SREM").arg(self.keys.index(kind)).arg(name)).await?;
        }
        Ok(done)
    }

    async fn add_continuity(
        &self,
        project: &str,
        id: &str,
        record: &Value,
        most: usize,
    ) -> Result<(), SharedError> {
        let args = [keys::encoded(id), text_of(record)?, most.to_string()];
        self.link.run::<i64>(&ADD, &self.keys.continuity(project), &args).await.map(drop)
    }

    async fn continuity(&self, project: &str) -> Result<Vec<Value>, SharedError> {
        let key = self.keys.continuity(project);
        let found: Vec<String> = self.ask(redis::cmd("LRANGE").arg(key).arg(0).arg(-1)).await?;
        let unclear = || SharedError::Unclear(format!("{project}: a record without an id"));
        found.iter().map(|item| value_of(project, item.split_once('\n').ok_or_else(unclear)?.1)).collect()
    }

    async fn clear_continuity(&self, project: &str) -> Result<(), SharedError> {
        self.forget(&self.keys.continuity(project)).await
    }
}
