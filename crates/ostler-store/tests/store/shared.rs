//! Both shared stores, and what is special about each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ostler_store::shared::{
    AnyShared, Durability, Eviction, Guarantee, Kind, RedisShared, SharedError, SharedStore, Swap,
};
use ostler_store::{Store, StoreHandle};
use rustix::process::Signal;
use serde_json::json;
use tokio::task::JoinSet;

use crate::contract;
use crate::server::{Server, looking, programs, reachable};

const LOG: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// Whether every acknowledged change is still there after the server was killed.
fn survives_kill(guarantee: &Guarantee) -> bool {
    matches!(guarantee.durability, Durability::EveryWrite | Durability::EveryWriteButPower)
        && guarantee.eviction == Eviction::Nothing
        && !guarantee.replicated
}

/// Whether a change that ended in this error may have happened all the same.
fn may_have_happened(error: &SharedError) -> bool {
    matches!(error, SharedError::Unreachable(_))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_database_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let store = StoreHandle::spawn(Store::open(&path).unwrap()).unwrap();
    contract::holds(Arc::new(AnyShared::Own(store.clone())), Arc::new(AnyShared::Own(store.clone()))).await;
    assert!(survives_kill(&store.guarantee().await.unwrap()));
    assert_eq!(store.swap(Kind::Run, "r", 0, &json!("kept")).await.unwrap(), Swap::Done(1));
    drop(store);
    // Another daemon on the same database.
    let store = StoreHandle::spawn(Store::open(&path).unwrap()).unwrap();
    assert_eq!(store.get(Kind::Run, "r").await.unwrap().unwrap().value, json!("kept"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_keep_the_contract() {
    for program in programs() {
        let server = Server::start(&program, &LOG).await;
        let machine = || Arc::new(AnyShared::Redis(server.shared()));
        contract::holds(machine(), machine()).await;
    }
}

/// Several machines write as fast as they can while the server is killed again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    const WRITERS: u64 = 4;
    let kills: u64 = std::env::var("OSTLER_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5);
    for program in programs() {
        let mut server = Server::start(&program, &LOG).await;
        let store = server.shared();
        let guarantee = store.guarantee().await.unwrap();
        assert!(survives_kill(&guarantee), "{guarantee}");
        assert!(guarantee.to_string().contains("every acknowledged write survives"), "{guarantee}");
        let done = Arc::new(AtomicBool::new(false));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (store, done) = (server.shared(), Arc::clone(&done));
            writers.spawn(async move { write_until(&store, &done, &format!("run {writer}")).await });
        }
        for kill in 0..kills {
            // Each time further into the load: wait until that much was written.
            let enough = 20 * (kill + 1);
            let written =
                async || store.get(Kind::Run, "run 0").await.ok()?.filter(|cell| cell.version >= enough);
            looking("that much is written", written).await;
            server.kill();
            server.restart().await;
        }
        reachable(&store).await;
        done.store(true, Ordering::Relaxed);
        let mut acknowledged = 0;
        for (run, kept) in writers.join_all().await {
            acknowledged += kept.cells.len();
            for name in &kept.cells {
                let found = store.get(Kind::Breaker, name).await.unwrap();
                assert_eq!(found.map(|cell| cell.value), Some(json!(name)), "{name} is lost");
            }
            let cell = store.get(Kind::Run, &run).await.unwrap().unwrap();
            assert!(
                cell.version >= kept.version,
                "{run}: version {} was acknowledged, {} is left",
                kept.version,
                cell.version
            );
        }
        println!("{}: {acknowledged} cells kept through {kills} kills", program.display());
        assert!(acknowledged > 50);
    }
}

/// What a writer was promised.
#[derive(Default)]
struct Acknowledged {
    /// Names of cells that were written once.
    cells: Vec<String>,
    /// The last version of the one that is written over and over.
    version: u64,
}

async fn write_until(store: &RedisShared, done: &AtomicBool, run: &str) -> (String, Acknowledged) {
    let mut kept = Acknowledged::default();
    for number in 1_u32.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("{run} {number}");
        match store.swap(Kind::Breaker, &name, 0, &json!(name)).await {
            Ok(Swap::Done(_) | Swap::Conflict(Some(_))) => kept.cells.push(name),
            Ok(Swap::Conflict(None)) => panic!("{name} is there and is not"),
            Err(error) => assert!(may_have_happened(&error), "{error}"),
        }
        match store.swap(Kind::Run, run, kept.version, &json!(number)).await {
            Ok(Swap::Done(version)) => kept.version = version,
            // The answer to the last one was lost: it is one's own, for nobody else writes here.
            Ok(Swap::Conflict(Some(found))) => {
                assert_eq!(found.version, kept.version + 1, "{run} lost a version");
                kept.version = found.version;
            }
            Ok(Swap::Conflict(None)) => panic!("{run} is lost"),
            Err(error) => assert!(may_have_happened(&error), "{error}"),
        }
    }
    (run.to_owned(), kept)
}

#[tokio::test]
async fn a_server_at_its_defaults_loses_writes_and_that_is_said() {
    for program in programs() {
        let mut server = Server::start(&program, &[]).await;
        let store = server.shared();
        let guarantee = store.guarantee().await.unwrap();
        assert_eq!(
            (guarantee.durability, guarantee.eviction),
            (Durability::SinceSnapshot, Eviction::Nothing)
        );
        assert!(!survives_kill(&guarantee));
        assert!(
            guarantee.to_string().contains("acknowledged writes are lost when the server dies"),
            "{guarantee}"
        );
        assert_eq!(store.swap(Kind::Run, "r", 0, &json!(1)).await.unwrap(), Swap::Done(1));
        server.kill();
        server.restart().await;
        reachable(&store).await;
        assert_eq!(store.get(Kind::Run, "r").await.unwrap(), None);
    }
}

#[tokio::test]
async fn what_a_server_may_throw_away_is_said_and_what_it_hides_is_unknown() {
    for program in programs() {
        let cases: [(&[&str], Durability, Eviction); 4] = [
            (&["--appendonly", "yes"], Durability::LastSecond, Eviction::Nothing),
            (
                &["--appendonly", "yes", "--appendfsync", "no"],
                Durability::WhenTheSystemLikes,
                Eviction::Nothing,
            ),
            (
                &["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"],
                Durability::SinceSnapshot,
                Eviction::Anything,
            ),
            (
                &["--rename-command", "CONFIG", "", "--appendonly", "yes"],
                Durability::Unknown,
                Eviction::Unknown,
            ),
        ];
        for (settings, durability, eviction) in cases {
            let server = Server::start(&program, settings).await;
            let guarantee = server.shared().guarantee().await.unwrap();
            assert_eq!((guarantee.durability, guarantee.eviction), (durability, eviction), "{settings:?}");
            assert!(!survives_kill(&guarantee));
            assert!(
                guarantee.server.starts_with("Redis ") || guarantee.server.starts_with("Valkey "),
                "{guarantee}"
            );
        }
    }
}

#[tokio::test]
async fn a_script_that_the_server_forgot_is_sent_again() {
    for program in programs() {
        let server = Server::start(&program, &[]).await;
        let store = server.shared();
        for version in 0..3 {
            assert_eq!(
                store.swap(Kind::Breaker, "b", version, &json!(version)).await.unwrap(),
                Swap::Done(version + 1)
            );
            server.command(&["SCRIPT", "FLUSH"]);
        }
    }
}

/// Whoever cannot reach the store must hear of it soon, and use it again when it is back.
#[tokio::test]
async fn trouble_is_told_apart_from_values_and_passes() {
    for program in programs() {
        let mut server = Server::start(&program, &LOG).await;
        let store = server.shared();
        assert_eq!(store.swap(Kind::Breaker, "b", 0, &json!("closed")).await.unwrap(), Swap::Done(1));

        server.signal(Signal::STOP);
        let asked = Instant::now();
        let error = store.get(Kind::Breaker, "b").await.unwrap_err();
        assert!(matches!(error, SharedError::Unreachable(_)), "{error}");
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        server.signal(Signal::CONT);
        reachable(&store).await;
        assert_eq!(store.get(Kind::Breaker, "b").await.unwrap().unwrap().value, json!("closed"));

        server.kill();
        for _ in 0..3 {
            let error = store.swap(Kind::Breaker, "b", 1, &json!("open")).await.unwrap_err();
            assert!(may_have_happened(&error), "{error}");
        }
        server.restart().await;
        reachable(&store).await;
        assert_eq!(store.get(Kind::Breaker, "b").await.unwrap().unwrap().version, 1);
    }
}

#[tokio::test]
async fn refusals_say_why() {
    for program in programs() {
        let full = Server::start(&program, &["--maxmemory", "1", "--maxmemory-policy", "noeviction"]).await;
        let error = full.shared().swap(Kind::Run, "r", 0, &json!(1)).await.unwrap_err();
        assert!(matches!(&error, SharedError::Refused(text) if text.contains("OOM")), "{error}");

        let replica = Server::start(&program, &["--replicaof", "127.0.0.1", "1"]).await;
        let error = replica.shared().guarantee().await.unwrap_err();
        assert!(matches!(&error, SharedError::Setup(text) if text.contains("replica")), "{error}");

        let locked = Server::start(&program, &["--requirepass", "open sesame"]).await;
        let error = locked.shared().get(Kind::Run, "r").await.unwrap_err();
        assert!(matches!(&error, SharedError::Refused(_)), "{error}");
        let url = format!("{}?pass=open%20sesame", locked.url());
        let store = RedisShared::new(&url, "test").unwrap();
        assert_eq!(store.get(Kind::Run, "r").await.unwrap(), None);
        assert!(!format!("{store:?}").contains("sesame"));

        let foreign = Server::start(&program, &[]).await;
        foreign.command(&["SET", "{test:run:r}", "of somebody else"]);
        foreign.command(&["HSET", "{test:run:s}", "version", "x", "value", "1"]);
        for name in ["r", "s"] {
            let error = foreign.shared().get(Kind::Run, name).await.unwrap_err();
            assert!(matches!(error, SharedError::Unclear(_)), "{error}");
        }
        foreign.command(&["RPUSH", "{test:continuity:p}", "no id"]);
        assert!(matches!(foreign.shared().continuity("p").await, Err(SharedError::Unclear(_))));
    }
}

#[tokio::test]
async fn a_bad_address_is_said_without_its_password() {
    for url in ["redis:/secret", "http://me:secret@host", "rediss://me:secret@host", "secret"] {
        let error = RedisShared::new(url, "test").unwrap_err();
        assert!(matches!(error, SharedError::Setup(_)) && !error.to_string().contains("secret"), "{error}");
    }
    // A port where nobody listens.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let store = RedisShared::new(&format!("redis://me:secret@127.0.0.1:{port}"), "test").unwrap();
    let error = store.get(Kind::Run, "r").await.unwrap_err();
    assert!(matches!(&error, SharedError::Unreachable(text) if !text.contains("secret")), "{error}");
}

#[tokio::test]
async fn a_server_that_came_back_while_nobody_asked_is_asked_at_once() {
    for program in programs() {
        let mut server = Server::start(&program, &["--appendonly", "yes", "--appendfsync", "always"]).await;
        let store = server.shared();
        let done = store.swap(Kind::Breaker, "b", 0, &json!("open")).await.unwrap();
        assert!(matches!(done, Swap::Done(1)), "{done:?}");
        server.kill();
        server.restart().await;
        assert_eq!(store.get(Kind::Breaker, "b").await.unwrap().unwrap().version, 1);
    }
}
