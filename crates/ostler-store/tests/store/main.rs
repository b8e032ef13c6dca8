//! The record as the daemon uses it, across reopening.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, reason = "tests say what they leave out")]

mod contract;
mod server;
mod shared;

use ostler_core::Timestamp;
use ostler_store::{Accepted, Ending, MessageState, NewMessage, NewSession, Store, StoreError};

fn session(id: &str, name: &str) -> NewSession {
    NewSession {
        id: id.into(),
        name: name.into(),
        command: vec!["sh".into(), "-c".into()],
        cwd: "/".into(),
        cols: 80,
        rows: 24,
        dir: format!("/run/{id}"),
        agent: None,
        agent_version: None,
        created: Timestamp(1_000),
    }
}

fn ending(at: u64) -> Ending {
    Ending {
        kind: "exited".into(),
        status: Some(0),
        signal: None,
        reason: None,
        at: Timestamp(at),
        output: 12,
        cpu_us: 5,
        max_rss_kib: 6,
    }
}

fn message(id: &str, seq: u64, body: &str) -> NewMessage {
    NewMessage { session: "s".into(), id: id.into(), seq, body: body.into(), at: Timestamp(2) }
}

#[test]
fn a_session_is_what_was_recorded_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.next_epoch().unwrap(), 1);
    store.create_session(&session("s", "one")).unwrap();
    store.session_started("s", 42, Timestamp(2_000)).unwrap();
    store.session_resized("s", 100, 30, Timestamp(2_500)).unwrap();
    store.stop_requested("s", Timestamp(3_000)).unwrap();
    drop(store);

    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.next_epoch().unwrap(), 2);
    let found = store.session("s").unwrap().unwrap();
    assert_eq!((found.pid, found.stop_requested, found.start.cols), (Some(42), true, 100));
    assert_eq!(found.start.command, ["sh", "-c"]);
    assert_eq!(store.sessions(false).unwrap().len(), 1);
    store.session_ended("s", &ending(4_000)).unwrap();
    store.session_ended("s", &Ending { kind: "lost".into(), ..ending(9_000) }).unwrap();
    assert_eq!(store.session("s").unwrap().unwrap().ending, Some(ending(4_000)));
    assert!(store.sessions(false).unwrap().is_empty());
    let kinds: Vec<String> = store.events(Some("s"), 0, 100).unwrap().into_iter().map(|e| e.event).collect();
    assert_eq!(
        kinds,
        ["session.created", "session.started", "session.resized", "session.stop_requested", "session.ended"]
    );
}

#[test]
fn a_name_is_unique_among_running_sessions_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("a", "one")).unwrap();
    assert!(matches!(store.create_session(&session("b", "one")), Err(StoreError::NameTaken(_))));
    store.session_ended("a", &ending(5)).unwrap();
    assert_eq!(store.find_session("one").unwrap().as_deref(), Some("a"));
    store.create_session(&NewSession { created: Timestamp(0), ..session("b", "one") }).unwrap();
    assert_eq!(store.find_session("one").unwrap().as_deref(), Some("b"));
    assert_eq!(store.find_session("a").unwrap().as_deref(), Some("a"));
    assert_eq!(store.find_session("two").unwrap(), None);
    // A failed creation leaves no event.
    assert_eq!(store.events(None, 0, 100).unwrap().len(), 3);
}

#[test]
fn a_message_is_one_whatever_is_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    assert!(matches!(store.add_message(&message("m", 1, "hi")).unwrap(), Accepted::New));
    assert!(
        matches!(store.add_message(&message("m", 2, "hi")).unwrap(), Accepted::Known(known) if known.seq == 1)
    );
    assert!(matches!(store.add_message(&message("m", 2, "ho")).unwrap(), Accepted::Conflict));
    assert!(matches!(store.add_message(&message("n", 2, "ho")).unwrap(), Accepted::New));
    assert_eq!(store.unsettled("s").unwrap(), [1, 2]);
    assert_eq!(store.last_seq("s").unwrap(), 2);
    assert_eq!(store.begin_attempt("s", 1).unwrap().as_deref(), Some(&b"hi"[..]));
    store.settle_message("s", 1, MessageState::Written, "ledger", Timestamp(3)).unwrap();
    store.settle_message("s", 1, MessageState::Failed, "late news", Timestamp(4)).unwrap();
    let settled = store.message("s", "m").unwrap().unwrap();
    assert_eq!(
        (settled.state, settled.attempts, settled.evidence.as_str()),
        (MessageState::Written, 1, "ledger")
    );
    assert_eq!(store.unsettled("s").unwrap(), [2]);
}

#[test]
fn old_ended_sessions_are_forgotten_with_their_messages() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    for (index, id) in ["s", "t", "u", "live"].iter().enumerate() {
        store.create_session(&session(id, id)).unwrap();
        if *id != "live" {
            store.session_ended(id, &ending(10 + index as u64)).unwrap();
        }
    }
    store.add_message(&message("m", 1, "x")).unwrap();
    assert_eq!(store.forget_ended(2).unwrap(), ["/run/s"]);
    assert_eq!(store.message("s", "m").unwrap().map(|m| m.id), None);
    assert_eq!(store.sessions(true).unwrap().len(), 3);
}

#[test]
fn damage_and_newer_schemas_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    std::fs::write(&path, "this is no database, but long enough to be looked at".repeat(20)).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Open { .. })));
    let newer = dir.path().join("newer");
    drop(Store::open(&newer).unwrap());
    let connection = rusqlite::Connection::open(&newer).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert!(matches!(Store::open(&newer), Err(StoreError::Newer { found: 99, .. })));
}
