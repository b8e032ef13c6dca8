//! Where runs, breakers and continuity records are kept: on a server, or in the daemon's own database.
//!
//! A daemon that was told a server by a command is killed and replaced like any other, and the next one must find the
//! same runs. So the choice is remembered in the home.

use std::fs;
use std::io;

use ostler_hold::write_atomically;
use ostler_store::shared::{AnyShared, RedisShared, SharedError};
use serde::{Deserialize, Serialize};

use crate::{Home, settings};

/// Instead of a server's address: the daemon's own database.
pub const LOCAL: &str = "local";

/// Begins every key on a server.
const PREFIX: &str = "ostler";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Choice {
    url: String,
    by: Source,
}

/// Who chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    /// A command or the environment: for good.
    Command,
    /// The settings: as long as they say so, or cannot be read.
    Settings,
}

/// The server to use, if any: what is `said` now, else the settings, else what was said before.
pub(crate) fn server(home: &Home, said: Option<&str>) -> Result<Option<RedisShared>, SharedError> {
    let remembered: Option<Choice> =
        fs::read(home.store_choice()).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let settings = settings::load(home, home.path());
    let choice = chosen(said, settings.store.url, !settings.problems.is_empty(), remembered.clone());
    let server = choice.as_ref().map(|choice| RedisShared::new(&choice.url, PREFIX)).transpose()?;
    if choice != remembered
        && let Err(error) = remember(home, choice.as_ref())
    {
        tracing::error!(%error, "the choice of a store is not remembered");
    }
    Ok(server)
}

fn chosen(
    said: Option<&str>,
    configured: Option<String>,
    broken: bool,
    remembered: Option<Choice>,
) -> Option<Choice> {
    match (said, configured) {
        (Some(LOCAL), _) => None,
        (Some(url), _) => Some(Choice { url: url.to_owned(), by: Source::Command }),
        (None, Some(url)) => Some(Choice { url, by: Source::Settings }),
        (None, None) => remembered.filter(|choice| broken || choice.by == Source::Command),
    }
}

fn remember(home: &Home, choice: Option<&Choice>) -> io::Result<()> {
    match choice {
        Some(choice) => write_atomically(&home.store_choice(), &serde_json::to_vec(choice)?),
        None => fs::remove_file(home.store_choice()),
    }
}

/// What people call the store; nothing secret is in it.
pub(crate) fn shown(store: &AnyShared) -> String {
    match store {
        AnyShared::Own(_) => LOCAL.to_owned(),
        AnyShared::Redis(server) => server.address(),
    }
}

/// What a daemon calls the store at this address.
pub fn name(url: &str) -> Result<String, SharedError> {
    if url == LOCAL { Ok(LOCAL.to_owned()) } else { Ok(RedisShared::new(url, PREFIX)?.address()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_counts_before_settings_and_those_before_what_was_said() {
        let (command, settings) = (
            Choice { url: "c".into(), by: Source::Command },
            Choice { url: "s".into(), by: Source::Settings },
        );
        let url = |said: Option<&str>, configured: Option<&str>, broken, remembered: Option<&Choice>| {
            chosen(said, configured.map(Into::into), broken, remembered.cloned()).map(|choice| choice.url)
        };
        assert_eq!(url(Some("x"), Some("s"), false, Some(&command)).as_deref(), Some("x"));
        assert_eq!(url(Some(LOCAL), Some("s"), false, Some(&command)), None);
        assert_eq!(url(None, Some("s"), false, Some(&command)).as_deref(), Some("s"));
        assert_eq!(url(None, None, false, Some(&command)).as_deref(), Some("c"));
        // Settings that no longer name a server mean it; settings that cannot be read say nothing.
        assert_eq!(url(None, None, false, Some(&settings)), None);
        assert_eq!(url(None, None, true, Some(&settings)).as_deref(), Some("s"));
        assert_eq!(url(None, None, false, None), None);
    }
}
