//! One of the stores, chosen by the settings.

use serde_json::Value;

use crate::shared::{Guarantee, Kind, RedisShared, SharedError, SharedStore, Swap, Versioned};
use crate::thread::StoreHandle;

/// The store that a daemon shares what it shares in.
#[derive(Debug, Clone)]
pub enum AnyShared {
    /// Its own database: nobody else.
    Own(StoreHandle),
    /// A server, with others.
    Redis(RedisShared),
}

impl AnyShared {
    /// Whether it is the daemon's own database.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }
}

/// Hands every question to the store that it is for.
macro_rules! hand_on {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        impl SharedStore for AnyShared {
            $(async fn $name(&self, $($arg: $type),*) -> Result<$result, SharedError> {
                match self {
                    Self::Own(store) => store.$name($($arg),*).await,
                    Self::Redis(store) => store.$name($($arg),*).await,
                }
            })*
        }
    };
}

hand_on! {
    guarantee() -> Guarantee;
    get(kind: Kind, name: &str) -> Option<Versioned>;
    list(kind: Kind) -> Vec<(String, Versioned)>;
    swap(kind: Kind, name: &str, expected: u64, value: &Value) -> Swap;
    remove(kind: Kind, name: &str, expected: u64) -> Swap;
    add_continuity(project: &str, id: &str, record: &Value, most: usize) -> ();
    continuity(project: &str) -> Vec<Value>;
    clear_continuity(project: &str) -> ();
}
