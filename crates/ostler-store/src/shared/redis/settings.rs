//! What a server's settings promise.

use std::collections::HashMap;

use super::link::Link;
use crate::shared::{Durability, Eviction, Guarantee, SharedError};

/// Asks the server for its settings and concludes what its acknowledgements are worth.
pub(super) async fn guarantee(link: &Link) -> Result<Guarantee, SharedError> {
    let info = match link.ask::<String>(&redis::cmd("INFO")).await {
        Ok(text) => parse_info(&text),
        Err(SharedError::Refused(_)) => HashMap::new(),
        Err(error) => return Err(error),
    };
    if info.get("role").is_some_and(|role| role == "slave" || role == "replica") {
        let address = link.address();
        return Err(SharedError::Setup(format!("{address} is a replica; use the server it follows")));
    }
    let mut settings = HashMap::new();
    for name in [
        "appendonly",
        "appendfsync",
        "no-appendfsync-on-rewrite",
        "maxmemory",
        "maxmemory-policy",
        "cache_mode",
    ] {
        match link.ask::<Vec<String>>(redis::cmd("CONFIG").arg("GET").arg(name)).await {
            Ok(answer) if answer.len() == 2 => drop(settings.insert(name, answer[1].clone())),
            // It has no such setting, or does not show it.
            Ok(_) | Err(SharedError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(conclude(&info, &settings))
}

fn parse_info(text: &str) -> HashMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

fn conclude(info: &HashMap<String, String>, settings: &HashMap<&str, String>) -> Guarantee {
    let said = |name: &str| info.get(name).map(String::as_str);
    let set = |name: &str| settings.get(name).map(String::as_str);
    let version = |field: &str, name: &str| said(field).map(|version| format!("{name} {version}"));
    let is_dragonfly = said("dragonfly_version").is_some();
    let server = version("dragonfly_version", "DragonflyDB")
        .or_else(|| version("valkey_version", "Valkey"))
        .or_else(|| version("redis_version", "Redis"));
    let durability = match (set("appendonly"), set("appendfsync"), set("no-appendfsync-on-rewrite")) {
        // It keeps no log of writes, only snapshots.
        _ if is_dragonfly => Durability::SinceSnapshot,
        (Some("no"), ..) => Durability::SinceSnapshot,
        (Some("yes"), Some("always"), Some("no")) => Durability::EveryWrite,
        (Some("yes"), Some("always"), Some(_)) | (Some("yes"), Some("everysec"), _) => Durability::LastSecond,
        (Some("yes"), Some("no"), _) => Durability::WhenTheSystemLikes,
        // No log is no log, however it would be written.
        (None, ..) if said("aof_enabled") == Some("0") => Durability::SinceSnapshot,
        _ => Durability::Unknown,
    };
    let eviction = match (set("maxmemory"), set("maxmemory-policy")) {
        _ if is_dragonfly => match set("cache_mode") {
            Some("true") => Eviction::Anything,
            Some(_) => Eviction::Nothing,
            None => Eviction::Unknown,
        },
        (Some("0"), _) | (_, Some("noeviction")) => Eviction::Nothing,
        (_, Some(policy)) if policy.starts_with("volatile-") => Eviction::Leases,
        (_, Some(_)) => Eviction::Anything,
        (_, None) => Eviction::Unknown,
    };
    let replicated = said("connected_slaves").is_some_and(|count| count != "0");
    Guarantee { server: server.unwrap_or_else(|| "the server".into()), durability, eviction, replicated }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concluded(info: &str, settings: &[(&'static str, &str)]) -> String {
        let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        conclude(&parse_info(info), &settings).to_string()
    }

    #[test]
    fn every_kind_of_server_is_told_in_plain_words() {
        let keeps = ("maxmemory-policy", "noeviction");
        let log = |fsync| {
            [("appendonly", "yes"), ("appendfsync", fsync), ("no-appendfsync-on-rewrite", "no"), keeps]
        };
        let redis = "# Server\r\nredis_version:7.0.15\r\nconnected_slaves:0\r\n";
        let table = [
            (
                redis,
                log("always").to_vec(),
                "Redis 7.0.15: every acknowledged write survives a kill -9 of the server.",
            ),
            (
                redis,
                log("everysec").to_vec(),
                "Redis 7.0.15: up to 1 s of acknowledged writes may be lost when the server dies (set appendfsync always).",
            ),
            (
                redis,
                log("no").to_vec(),
                "Redis 7.0.15: up to half a minute of acknowledged writes may be lost when the machine dies (set appendfsync always).",
            ),
            (
                "redis_version:7.2.4\r\nvalkey_version:8.0.1\r\nconnected_slaves:2",
                vec![
                    ("appendonly", "no"),
                    ("appendfsync", "everysec"),
                    ("maxmemory", "100"),
                    ("maxmemory-policy", "allkeys-lru"),
                ],
                "Valkey 8.0.1: acknowledged writes are lost when the server dies (set appendonly yes and appendfsync \
                 always, where the server has them). Keys may be evicted when memory runs out (set maxmemory-policy \
                 noeviction). When a replica takes over, the last acknowledged writes may be lost.",
            ),
            (
                "redis_version:6.2.11\r\ndragonfly_version:df-v1.20",
                vec![("maxmemory", "100"), ("cache_mode", "false")],
                "DragonflyDB df-v1.20: acknowledged writes are lost when the server dies (set appendonly yes and \
                 appendfsync always, where the server has them).",
            ),
            (
                redis,
                vec![],
                "Redis 7.0.15: it is unknown what acknowledged writes survive, for the server does not show its \
                 settings. It is unknown whether keys may be evicted.",
            ),
            (
                "",
                vec![
                    ("appendonly", "yes"),
                    ("appendfsync", "always"),
                    ("no-appendfsync-on-rewrite", "yes"),
                    ("maxmemory", "1"),
                    ("maxmemory-policy", "volatile-ttl"),
                ],
                "the server: up to 1 s of acknowledged writes may be lost when the server dies (set appendfsync \
                 always). Leases may be evicted when memory runs out (set maxmemory-policy noeviction).",
            ),
        ];
        for (info, settings, sentence) in table {
            assert_eq!(concluded(info, &settings), sentence);
        }
    }
}
