//! The record as the daemon uses it, across reopening.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]
#![allow(clippy::print_stdout, reason = "tests say what they leave out")]

mod contract;
mod server;
mod shared;

use ostler_core::start_plan::StartupRoute;
use ostler_core::{Proof, Wall};
use ostler_store::repair::{self, Contents};
use ostler_store::{
    Accepted, DeliveryCounts, Ending, Intent, Keep, LastWrite, MISSED, MessageState, NewMessage, NewProcess,
    NewSession, PendingContext, Store, StoreError, StoreHandle, Terms,
};

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
        request: None,
        created: Wall(1_000),
    }
}

fn intent(write: &'static str, seq: u64) -> Intent {
    Intent { seq, write, echoes: 2, mark: None }
}

fn ending(at: u64) -> Ending {
    Ending {
        kind: "exited".into(),
        status: Some(0),
        signal: None,
        reason: None,
        at: Wall(at),
        output: 12,
        cpu_us: 5,
        max_rss_kib: 6,
    }
}

fn message(id: &str, seq: u64, body: &str) -> NewMessage {
    let terms = Terms::default();
    NewMessage { session: "s".into(), id: id.into(), seq, body: body.into(), terms, at: Wall(2) }
}

#[test]
fn a_batch_is_recorded_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut store = Store::open(&path).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    let before = store.events(None, 0, 100).unwrap().len();
    let refused = store.batch(|store| {
        store.add_message(&message("m1", 1, "hello"))?;
        store.begin_write("s", "m1", &intent("body", 1), Wall(3))?;
        // The same name again is refused.
        store.create_session(&session("t", "one"))
    });
    assert!(matches!(refused, Err(StoreError::NameTaken(_))), "{refused:?}");
    assert!(store.message("s", "m1").unwrap().is_none());
    assert_eq!(store.events(None, 0, 100).unwrap().len(), before);
    store
        .batch(|store| {
            store.add_message(&message("m1", 1, "hello"))?;
            store.begin_write("s", "m1", &intent("body", 1), Wall(3))
        })
        .unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.message("s", "m1").unwrap().unwrap().attempts, 1);
}

#[test]
fn a_session_is_what_was_recorded_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.next_epoch(Wall(7_000)).unwrap(), 7_000);
    store.create_session(&session("s", "one")).unwrap();
    store.session_started("s", 42, Wall(2_000)).unwrap();
    store.session_resized("s", 100, 30, Wall(2_500)).unwrap();
    store.stop_requested("s", Wall(3_000)).unwrap();
    drop(store);

    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.next_epoch(Wall(3)).unwrap(), 7_001);
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
    store.create_session(&NewSession { created: Wall(0), ..session("b", "one") }).unwrap();
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
    assert!(matches!(store.add_message(&message("m", 2, "hi")).unwrap(), Accepted::Known));
    assert!(matches!(store.add_message(&message("m", 2, "ho")).unwrap(), Accepted::Conflict));
    assert!(matches!(store.add_message(&message("n", 2, "ho")).unwrap(), Accepted::New));
    let open = |store: &Store| -> Vec<u64> {
        store.open_messages("s").unwrap().iter().map(|message| message.seq).collect()
    };
    assert_eq!(open(&store), [1, 2]);
    assert_eq!(store.last_seq("s").unwrap(), 2);
    store.begin_write("s", "m", &intent("body", 7), Wall(3)).unwrap();
    store.begin_write("s", "m", &intent("body", 7), Wall(3)).unwrap();
    store.prove("s", "m", Proof::Submitted, "hook", true, Wall(4)).unwrap();
    store.give_up("s", "m", MessageState::Failed, "late news", Wall(5)).unwrap();
    let settled = store.message("s", "m").unwrap().unwrap();
    assert_eq!((settled.state, settled.attempts, settled.failure), (MessageState::Delivered, 1, None));
    assert_eq!(settled.evidence, ["hook"]);
    assert_eq!(open(&store), [2]);
}

#[test]
fn every_enter_is_an_event_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    store.add_message(&message("m", 1, "hi")).unwrap();
    // The second one under the same number is one that an earlier daemon did not get through.
    for (write, seq) in [("body", 2), ("enter", 3), ("enter", 3), ("enter", 4), ("body", 5), ("enter", 6)] {
        store.begin_write("s", "m", &intent(write, seq), Wall(seq)).unwrap();
    }
    let events = store.events(None, 0, 100).unwrap();
    let entered = events.iter().filter(|event| event.event == "message.entered");
    let counts: Vec<_> = entered.map(|event| (event.at, event.details["count"].as_u64().unwrap())).collect();
    assert_eq!(counts, [(Wall(3), 1), (Wall(4), 2), (Wall(6), 1)]);
}

#[test]
fn every_write_is_known_before_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    store.add_message(&message("m", 3, "hi")).unwrap();
    assert_eq!((store.last_input("s").unwrap(), store.last_write("s", "m").unwrap()), (3, None));
    store.begin_write("s", "m", &intent("body", 4), Wall(1)).unwrap();
    let written = |write: &str, seq, done| LastWrite { seq, write: write.into(), done, echoes: 2 };
    assert_eq!(store.last_write("s", "m").unwrap(), Some(written("body", 4, false)));
    store.end_write("s", 4).unwrap();
    assert_eq!(store.last_write("s", "m").unwrap(), Some(written("body", 4, true)));
    let marked = Intent { mark: Some("[9 lines]".into()), ..intent("enter", 5) };
    store.begin_write("s", "m", &marked, Wall(2)).unwrap();
    assert_eq!(store.last_write("s", "m").unwrap(), Some(written("enter", 5, false)));
    assert_eq!(store.message("s", "m").unwrap().unwrap().mark.as_deref(), Some("[9 lines]"));
    let found = store.message("s", "m").unwrap().unwrap();
    assert_eq!((found.attempts, found.enters, store.last_input("s").unwrap()), (1, 1, 5));
    store.begin_write("s", "m", &intent("raw", 6), Wall(2)).unwrap();
    assert_eq!((store.last_input("s").unwrap(), store.last_prompt_write("s").unwrap()), (6, 5));
    assert_eq!(store.last_raw_write("s").unwrap(), 6);
    store.add_message(&message("n", 7, "ho")).unwrap();
    store.begin_write("s", "n", &intent("body", 8), Wall(3)).unwrap();
    store.end_write("s", 8).unwrap();
    store.missed("s", "n", Wall(4)).unwrap();
    assert_eq!(store.last_write("s", "n").unwrap(), Some(written(MISSED, 8, true)), "nothing of it is there");
    assert_eq!(store.last_prompt_write("s").unwrap(), 8, "and it was the last all the same");
    assert_eq!(store.last_write("s", "m").unwrap(), Some(written("raw", 6, false)));
}

#[test]
fn a_message_that_was_given_up_can_be_proven_and_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    for (id, seq) in [("m", 1), ("n", 2)] {
        let terms = Terms { way: StartupRoute::Argument, ..Terms::default() };
        store.add_message(&NewMessage { terms, ..message(id, seq, "hi") }).unwrap();
        store.give_up("s", id, MessageState::Uncertain, "who knows", Wall(2)).unwrap();
    }
    store.prove("s", "m", Proof::Submitted, "hook", true, Wall(9)).unwrap();
    let proven = store.message("s", "m").unwrap().unwrap();
    assert_eq!(
        (proven.state, proven.failure, proven.submitted),
        (MessageState::Delivered, None, Some(Wall(9)))
    );
    assert!(!store.revive("s", "m", 5, Wall(10)).unwrap(), "it arrived");
    store.begin_write("s", "n", &intent("body", 4), Wall(3)).unwrap();
    let typed = |store: &Store| -> Vec<String> {
        store.typed_messages("s", 9).unwrap().into_iter().map(|message| message.id).collect()
    };
    assert_eq!(typed(&store), ["m", "n"], "what was typed and given up is remembered, too");
    assert!(store.revive("s", "n", 6, Wall(10)).unwrap());
    assert_eq!(typed(&store), ["m"]);
    let again = store.message("s", "n").unwrap().unwrap();
    assert_eq!((again.state, again.seq, again.attempts, again.failure), (MessageState::Queued, 6, 0, None));
    assert_eq!(again.terms.way, StartupRoute::Message);
    let counts = store.delivery_counts(Some("s")).unwrap();
    assert_eq!((counts.sent, counts.submitted, counts.waiting, counts.uncertain), (2, 1, 1, 0));
    let counts = store.delivery_counts(None).unwrap();
    assert_eq!((counts.sent, counts.submitted, counts.waiting, counts.uncertain), (2, 1, 1, 2));
}

#[test]
fn what_is_counted_stays_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    let by = |id: &str, seq, way| {
        let mut message = message(id, seq, "hi");
        let priority = if id == "failed" {
            ostler_core::queue::Priority::Startup
        } else {
            ostler_core::queue::Priority::Normal
        };
        message.terms = Terms { way, ack: id == "hook", priority, ..message.terms };
        message
    };
    for (id, seq, way) in [
        ("hook", 1, StartupRoute::Hook),
        ("argument", 2, StartupRoute::Argument),
        ("missed", 3, StartupRoute::Argument),
        ("typed", 4, StartupRoute::Message),
        ("failed", 5, StartupRoute::Message),
    ] {
        store.add_message(&by(id, seq, way)).unwrap();
    }
    store.missed("s", "missed", Wall(2)).unwrap();
    for (id, seq) in [("missed", 6), ("typed", 7), ("failed", 8)] {
        store.begin_write("s", id, &intent("body", seq), Wall(3)).unwrap();
        // The next daemon goes on with the same write.
        store.begin_write("s", id, &intent("body", seq), Wall(4)).unwrap();
    }
    for id in ["hook", "argument", "missed", "typed"] {
        store.prove("s", id, Proof::Submitted, "seen", true, Wall(9)).unwrap();
    }
    for proof in [Proof::Acknowledged, Proof::Acknowledged] {
        store.prove("s", "hook", proof, "said", true, Wall(10)).unwrap();
    }
    store.escalated("s", "failed", "file", "", Wall(10)).unwrap();
    store.escalated("s", "failed", "notification", "", Wall(10)).unwrap();
    store.give_up("s", "failed", MessageState::Failed, "no", Wall(11)).unwrap();
    let all = store.delivery_counts(None).unwrap();
    let expected = DeliveryCounts {
        sent: 5,
        attempted: 5,
        submitted: 4,
        first_try: 3,
        after_retry: 1,
        acknowledged: 1,
        ack_wanted: 1,
        escalated: 1,
        escalated_to_file: 1,
        contexts: 2,
        contexts_visible: 2,
        failed: 1,
        uncertain: 0,
        waiting: 0,
        attempts: 5,
        elapsed_ms: all.elapsed_ms,
    };
    assert_eq!(all, expected);
    assert_eq!(store.delivery_counts(Some("s")).unwrap(), expected);
    let events = store.events(Some("s"), 0, 100).unwrap();
    let told = |name: &str, id: &str| {
        let of = events.iter().find(|event| event.event == name && event.details["id"] == id).unwrap();
        serde_json::json!(["attempt", "type", "by", "duration_ms"].map(|key| of.details[key].clone()))
    };
    assert_eq!(told("injection.attempted", "typed"), serde_json::json!([1, "prompt", "message", 1]));
    assert_eq!(told("injection.succeeded", "hook"), serde_json::json!([1, "context", "hook", 7]));
    assert_eq!(told("injection.escalated", "failed"), serde_json::json!([1, "context", "message", 8]));
    assert_eq!(told("injection.failed", "failed"), serde_json::json!([1, "context", "message", 9]));
    // Tried again, and forgotten: it was all there once.
    store.revive("s", "failed", 9, Wall(12)).unwrap();
    assert_eq!(store.delivery_counts(None).unwrap(), DeliveryCounts { waiting: 1, ..expected });
    store.session_ended("s", &ending(20)).unwrap();
    store.forget_ended(0, Wall(0)).unwrap();
    assert_eq!(store.delivery_counts(None).unwrap(), expected);
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
    assert_eq!(store.forget_ended(2, Wall(0)).unwrap(), ["s"]);
    assert_eq!(store.message("s", "m").unwrap().map(|m| m.id), None);
    assert_eq!(store.sessions(true).unwrap().len(), 3);
}

#[test]
fn a_session_has_one_process_after_another() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut store = Store::open(&path).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    store.session_started("s", 42, Wall(1_001)).unwrap();
    store.add_message(&message("m", 1, "x")).unwrap();
    store.begin_write("s", "m", &intent("body", 7), Wall(2)).unwrap();
    let process = |number: u32| NewProcess {
        session: "s".into(),
        number,
        resumed_by: format!("request {number}"),
        dir: format!("/run/s/{number}"),
        agent_version: Some("2.0".into()),
        cols: 100,
        rows: 30,
        memory: Some("{}".into()),
        conversation: None,
        at: Wall(5_000),
    };
    assert!(!store.begin_process(&process(2)).unwrap(), "the first one runs");
    store.stop_requested("s", Wall(1_900)).unwrap();
    store.session_ended("s", &ending(2_000)).unwrap();
    assert!(!store.begin_process(&process(3)).unwrap(), "it is not the next one");
    assert!(store.begin_process(&process(2)).unwrap());
    assert!(!store.begin_process(&process(2)).unwrap(), "it was begun");
    drop(store);

    let mut store = Store::open(&path).unwrap();
    let now = store.session("s").unwrap().unwrap();
    assert_eq!((now.start.name.as_str(), now.process, now.began), ("one", 2, Wall(5_000)));
    assert_eq!((now.pid, now.stop_requested, now.ending.is_none()), (None, false, true));
    assert_eq!((now.start.dir.as_str(), now.start.cols), ("/run/s/2", 100));
    assert_eq!(now.resumed_by.as_deref(), Some("request 2"));
    assert_eq!(store.message("s", "m").unwrap().unwrap().id, "m", "the queue stays");
    assert_eq!(store.last_write("s", "m").unwrap(), None, "the new ledger has typed nothing");
    let past = store.past_processes("s").unwrap();
    let [first] = &past[..] else { panic!("{past:?}") };
    assert_eq!(
        (first.number, first.pid, first.began, first.ending.at),
        (1, Some(42), Wall(1_000), Wall(2_000))
    );

    // Somebody else has the name by now.
    store.session_ended("s", &ending(6_000)).unwrap();
    store.create_session(&session("t", "one")).unwrap();
    assert!(matches!(store.begin_process(&process(3)), Err(StoreError::NameTaken(_))));
    assert_eq!(store.past_processes("s").unwrap().len(), 1, "nothing is half done");
    let events = store.events(Some("s"), 0, 100).unwrap();
    assert_eq!(events.iter().filter(|event| event.event == "session.resumed").count(), 1);
}

#[test]
fn damage_and_newer_schemas_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    std::fs::write(&path, "this is no database, but long enough to be looked at".repeat(20)).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Damaged(_))));
    let newer = dir.path().join("newer");
    drop(Store::open(&newer).unwrap());
    let connection = rusqlite::Connection::open(&newer).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert!(matches!(Store::open(&newer), Err(StoreError::Newer { found: 99, .. })));
}

#[test]
fn context_waits_for_its_session_until_it_got_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    assert_eq!(store.pending_context("s").unwrap(), []);
    store.set_pending_context("s", "a", "old", Wall(1)).unwrap();
    store.set_pending_context("s", "a", "new", Wall(2)).unwrap();
    let long = "b".repeat(1 << 20);
    store.set_pending_context("s", "b", &long, Wall(3)).unwrap();
    store.put_in_file("s", "b", true).unwrap();
    let waiting = |message: &str, text: &str, at, in_file| PendingContext {
        message: message.into(),
        text: text.into(),
        at: Wall(at),
        in_file,
        loaded: None,
        settled: false,
    };
    assert_eq!(
        store.pending_context("s").unwrap(),
        [waiting("a", "new", 2, false), waiting("b", &long, 3, true)]
    );
    store.put_in_file("s", "b", false).unwrap();
    // Another message got there.
    store.end_pending_context("s", "c").unwrap();
    assert_eq!(
        store.pending_context("s").unwrap(),
        [waiting("a", "new", 2, false), waiting("b", &long, 3, false)]
    );
    store.end_pending_context("s", "a").unwrap();
    store.context_loaded("s", 3, Wall(7)).unwrap();
    let loaded = PendingContext { loaded: Some(Wall(7)), ..waiting("b", &long, 3, false) };
    assert_eq!(store.pending_context("s").unwrap(), [loaded]);
    store.end_pending_context("s", "c").unwrap();
    assert_eq!(store.pending_context("s").unwrap(), []);
    store.set_pending_context("s", "a", "again", Wall(8)).unwrap();
    store.clear_pending_context("s").unwrap();
    assert_eq!(store.pending_context("s").unwrap(), []);
    // It goes with its session.
    store.set_pending_context("s", "a", "late", Wall(8)).unwrap();
    store.session_ended("s", &ending(9)).unwrap();
    assert_eq!(store.ended_in_file().unwrap(), Vec::<String>::new());
    store.forget_ended(0, Wall(0)).unwrap();
    assert_eq!(store.pending_context("s").unwrap(), []);
    assert!(store.set_pending_context("gone", "a", "x", Wall(9)).is_err());
}

#[test]
fn what_is_in_a_file_is_known_until_it_is_taken_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    let known = |store: &Store| -> Vec<(String, bool, bool)> {
        let known = store.pending_context("s").unwrap();
        known.into_iter().map(|one| (one.message, one.in_file, one.settled)).collect()
    };
    for (message, at) in [("a", 1), ("b", 2), ("c", 3)] {
        store.set_pending_context("s", message, "text", Wall(at)).unwrap();
        store.put_in_file("s", message, true).unwrap();
    }
    store.end_pending_context("s", "a").unwrap();
    let row = |message: &str, in_file, settled| (message.to_owned(), in_file, settled);
    assert_eq!(known(&store), [row("a", true, true), row("b", true, false), row("c", true, false)]);
    // It is sent again, and does not get there.
    store.set_pending_context("s", "a", "text", Wall(4)).unwrap();
    assert_eq!(known(&store), [row("b", true, false), row("c", true, false), row("a", true, false)]);
    store.end_pending_context("s", "a").unwrap();
    store.put_in_file("s", "a", false).unwrap();
    assert_eq!(known(&store), [row("b", true, false), row("c", true, false)]);
    // Nor does it go with its session.
    assert_eq!(store.ended_in_file().unwrap(), Vec::<String>::new());
    store.session_ended("s", &ending(9)).unwrap();
    assert_eq!(store.ended_in_file().unwrap(), ["s"]);
    assert_eq!(store.forget_ended(0, Wall(0)).unwrap(), Vec::<String>::new());
    store.end_pending_context("s", "b").unwrap();
    store.taken_out("s").unwrap();
    assert_eq!(known(&store), [row("c", false, false)]);
    store.put_in_file("s", "c", true).unwrap();
    store.clear_pending_context("s").unwrap();
    assert_eq!(known(&store), [row("c", true, true)]);
    store.taken_out("s").unwrap();
    assert_eq!(known(&store), []);
    assert_eq!(store.forget_ended(0, Wall(0)).unwrap().len(), 1);
}

#[test]
fn what_is_old_is_forgotten_while_a_session_lives() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("db")).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    for seq in 1..=6 {
        let id = format!("m{seq}");
        let at = Wall(seq * 10);
        store.add_message(&NewMessage { at, ..message(&id, seq, "x") }).unwrap();
        store.begin_write("s", &id, &intent("body", seq), at).unwrap();
        // The first one waits, whatever its age.
        if seq > 1 {
            store.end_write("s", seq).unwrap();
            store.prove("s", &id, Proof::Submitted, "seen", true, at).unwrap();
        }
    }
    let left = |store: &Store| {
        (1..=6).filter(|seq| store.message("s", &format!("m{seq}")).unwrap().is_some()).collect::<Vec<u64>>()
    };
    let by_age = Keep { messages: 100, events: 1_000, since: Wall(25) };
    assert!(!store.prune(&by_age, 100).unwrap());
    assert_eq!(left(&store), [1, 3, 4, 5, 6]);
    let by_count = Keep { messages: 2, events: 3, since: Wall(0) };
    assert!(store.prune(&by_count, 1).unwrap(), "one at a time");
    while store.prune(&by_count, 1).unwrap() {}
    assert_eq!(left(&store), [1, 5, 6]);
    assert_eq!(store.events(None, 0, 100).unwrap().len(), 3);
    assert!(store.last_write("s", "m1").unwrap().is_some(), "it is still needed");
    // The newest stays, however old: numbers go on behind it.
    let none = Keep { messages: 0, events: 0, since: Wall(1_000) };
    assert!(!store.prune(&none, 100).unwrap());
    assert_eq!((left(&store), store.last_seq("s").unwrap()), (vec![1, 6], 6));
    store.session_ended("s", &ending(50)).unwrap();
    assert_eq!(store.forget_ended(10, Wall(60)).unwrap(), ["s"]);
}

#[test]
fn a_damaged_database_is_found_out_and_what_can_be_read_is_brought_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut store = Store::open(&path).unwrap();
    for id in ["s", "t"] {
        store.create_session(&session(id, id)).unwrap();
    }
    for seq in 1..=400 {
        store.add_message(&message(&format!("m{seq}"), seq, &"x".repeat(1_000))).unwrap();
    }
    drop(store);
    assert_eq!(repair::check(&path).unwrap(), Contents { sessions: 2, messages: 400 });
    let whole = std::fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    // Some pages in the middle of the messages.
    let middle = whole.len() / 4096 / 2 * 4096;
    damaged[middle..middle + 3 * 4096].fill(0xA5);
    std::fs::write(&path, &damaged).unwrap();
    let error = repair::check(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");

    let repaired = repair::repair(&path, Wall(9_000)).unwrap();
    assert_eq!(std::fs::read(&repaired.kept).unwrap(), damaged, "as it was");
    let Contents { sessions, messages } = repair::check(&path).unwrap();
    assert_eq!(sessions, 2);
    assert!((200..400).contains(&messages), "{messages}");
    let table = |name: &str| repaired.tables.iter().find(|salvaged| salvaged.table == name).unwrap().clone();
    assert!(table("sessions").whole && !table("messages").whole);
    let mut store = Store::open(&path).unwrap();
    assert!(store.message("s", "m1").unwrap().is_some() && store.message("s", "m400").unwrap().is_some());
    assert!(store.next_epoch(Wall(1)).unwrap() > 9_000, "holders refuse what they have heard");
    drop(store);

    // Nothing at all can be read.
    std::fs::write(&path, vec![0xA5; 20_000]).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Damaged(_))));
    let repaired = repair::repair(&path, Wall(10_000)).unwrap();
    assert_eq!(std::fs::read(repaired.kept).unwrap(), vec![0xA5; 20_000]);
    assert_eq!(repair::check(&path).unwrap(), Contents { sessions: 0, messages: 0 });
    let files: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().flatten().map(|file| file.file_name()).collect();
    let ours = |name: &std::ffi::OsString| !name.to_string_lossy().contains("damaged");
    assert!(files.iter().filter(|name| ours(name)).all(|name| name.to_string_lossy().starts_with("db")));
    assert!(!files.iter().any(|name| name.to_string_lossy().contains(".salvage")), "{files:?}");
}

#[test]
fn a_database_that_was_removed_is_written_anew_at_the_end() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut store = Store::open(&path).unwrap();
    store.create_session(&session("s", "one")).unwrap();
    let store = StoreHandle::spawn(store).unwrap();
    std::fs::remove_file(&path).unwrap();
    runtime.block_on(store.close());
    assert!(Store::open(&path).unwrap().session("s").unwrap().is_some());
}

#[test]
fn a_database_of_an_earlier_release_is_taken_over_with_all_that_waits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(include_str!("schema-11.sql")).unwrap();
    let mut store = Store::open(&path).unwrap();
    let running = store.sessions(false).unwrap();
    assert_eq!(running.len(), 1);
    let session = &running[0];
    assert_eq!(
        (session.start.name.as_str(), session.process, session.start.request.as_ref()),
        ("a2", 1, None)
    );
    assert_eq!(session.began, session.start.created);
    assert!(session.memory.as_ref().is_some_and(|memory| memory.contains("\"state\":\"working\"")));
    let open: Vec<_> = store.open_messages(&session.start.id).unwrap();
    let ids: Vec<_> = open.iter().map(|message| (message.id.as_str(), message.state)).collect();
    assert_eq!(ids, [("a2-2", MessageState::Queued), ("a2-3", MessageState::Queued)]);
    assert_eq!(store.message_body(&session.start.id, "a2-2").unwrap().unwrap(), b"second of a2");
    assert_eq!(store.message(&session.start.id, "a2-1").unwrap().unwrap().proof, Proof::Submitted);
    assert_eq!(
        (store.last_input(&session.start.id).unwrap(), store.last_seq(&session.start.id).unwrap()),
        (3, 3)
    );
    let all = store.sessions(true).unwrap();
    let ended = all.iter().find(|session| session.start.name == "a4").unwrap();
    assert_eq!(ended.ending.as_ref().unwrap().kind, "killed");
    assert_eq!(store.delivery_counts(None).unwrap().submitted, 4);
    assert_eq!(store.next_epoch(Wall(9_000)).unwrap(), 2, "as the earlier one counted");
}
