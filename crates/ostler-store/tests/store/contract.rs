//! What every shared store keeps, whatever it is made of.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_store::shared::{Kind, LARGEST, SharedError, SharedStore, Swap, Versioned};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Names that are ordinary to people and extraordinary to stores.
const NAMES: [&str; 7] = ["plain", "two words", "{braces}", "a:b", "per%cent", "\u{e9}\u{1f40e}\n", ""];

/// Everything, on a store without any of the names used here; `other` is the same store as another machine has it.
pub(crate) async fn holds<S: SharedStore + 'static>(store: Arc<S>, other: Arc<S>) {
    cells(&*store, &*other).await;
    names(&*store).await;
    values(&*store, &*other).await;
    race(Arc::clone(&store), Arc::clone(&other)).await;
    one_wins(store.clone(), other.clone()).await;
    continuity(&*store, &*other).await;
    sizes(&*store).await;
}

async fn cells<S: SharedStore>(store: &S, other: &S) {
    let is = |version, value: &str| Versioned { version, value: json!(value) };
    assert_eq!(store.get(Kind::Breaker, "x").await.unwrap(), None);
    assert_eq!(store.list(Kind::Breaker).await.unwrap(), []);
    assert_eq!(store.swap(Kind::Breaker, "x", 3, &json!("a")).await.unwrap(), Swap::Conflict(None));
    assert_eq!(store.swap(Kind::Breaker, "x", 0, &json!("a")).await.unwrap(), Swap::Done(1));
    assert_eq!(other.get(Kind::Breaker, "x").await.unwrap(), Some(is(1, "a")));
    assert_eq!(
        other.swap(Kind::Breaker, "x", 0, &json!("b")).await.unwrap(),
        Swap::Conflict(Some(is(1, "a")))
    );
    assert_eq!(other.swap(Kind::Breaker, "x", 1, &json!("b")).await.unwrap(), Swap::Done(2));
    assert_eq!(
        store.swap(Kind::Breaker, "x", 1, &json!("c")).await.unwrap(),
        Swap::Conflict(Some(is(2, "b")))
    );
    // Another kind is another cell.
    assert_eq!(store.get(Kind::Run, "x").await.unwrap(), None);
    assert_eq!(store.swap(Kind::Run, "x", 0, &json!("run")).await.unwrap(), Swap::Done(1));
    assert_eq!(store.list(Kind::Breaker).await.unwrap(), [("x".to_owned(), is(2, "b"))]);
    assert_eq!(other.remove(Kind::Breaker, "x", 1).await.unwrap(), Swap::Conflict(Some(is(2, "b"))));
    assert_eq!(other.remove(Kind::Breaker, "x", 2).await.unwrap(), Swap::Done(0));
    assert_eq!(store.remove(Kind::Breaker, "x", 2).await.unwrap(), Swap::Conflict(None));
    assert_eq!(store.list(Kind::Breaker).await.unwrap(), []);
    assert_eq!(store.swap(Kind::Breaker, "x", 2, &json!("late")).await.unwrap(), Swap::Conflict(None));
    assert_eq!(store.list(Kind::Run).await.unwrap(), [("x".to_owned(), is(1, "run"))]);
    assert_eq!(store.remove(Kind::Run, "x", 1).await.unwrap(), Swap::Done(0));
}

async fn names<S: SharedStore>(store: &S) {
    for name in NAMES {
        assert_eq!(
            store.swap(Kind::Breaker, name, 0, &json!(name)).await.unwrap(),
            Swap::Done(1),
            "{name:?}"
        );
        store.add_continuity(name, name, &json!(name), 5).await.unwrap();
    }
    let listed = store.list(Kind::Breaker).await.unwrap();
    let found: BTreeSet<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(found, BTreeSet::from(NAMES));
    assert!(listed.is_sorted_by(|(a, _), (b, _)| a < b));
    for (name, cell) in &listed {
        assert_eq!(cell.value, json!(name));
        assert_eq!(store.continuity(name).await.unwrap(), [json!(name)]);
        store.clear_continuity(name).await.unwrap();
        assert_eq!(store.remove(Kind::Breaker, name, 1).await.unwrap(), Swap::Done(0));
    }
}

async fn values<S: SharedStore>(store: &S, other: &S) {
    let values = [
        Value::Null,
        json!(0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1),
        json!("\u{0}\r\n'\"\\\u{1f40e}"),
        json!([]),
        json!({ "b": [1, { "a": null }], "a": {}, "": false }),
    ];
    for (version, value) in (0..).zip(values) {
        assert_eq!(store.swap(Kind::Run, "values", version, &value).await.unwrap(), Swap::Done(version + 1));
        assert_eq!(other.get(Kind::Run, "values").await.unwrap().unwrap().value, value);
    }
}

/// Many change one cell at once; every change counts once.
async fn race<S: SharedStore + 'static>(store: Arc<S>, other: Arc<S>) {
    const EACH: u64 = 25;
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let store = Arc::clone(if number % 2 == 0 { &store } else { &other });
        tasks.spawn(async move {
            for _ in 0..EACH {
                let mut known = store.get(Kind::Run, "count").await.unwrap();
                loop {
                    let (version, count) =
                        known.map_or((0, 0), |cell| (cell.version, cell.value.as_u64().unwrap()));
                    match store.swap(Kind::Run, "count", version, &json!(count + 1)).await.unwrap() {
                        Swap::Done(_) => break,
                        Swap::Conflict(found) => known = found,
                    }
                }
            }
        });
    }
    tasks.join_all().await;
    let expected = Versioned { version: 8 * EACH, value: json!(8 * EACH) };
    assert_eq!(store.get(Kind::Run, "count").await.unwrap(), Some(expected));
}

/// Many want to be the probe, or to take up a run; one is.
async fn one_wins<S: SharedStore + 'static>(store: Arc<S>, other: Arc<S>) {
    for round in 0..10 {
        let mut tasks = JoinSet::new();
        for number in 0..8 {
            let store = Arc::clone(if number % 2 == 0 { &store } else { &other });
            tasks.spawn(async move {
                let name = format!("probe {round}");
                store.swap(Kind::Breaker, &name, 0, &json!(number)).await.unwrap()
            });
        }
        let swaps = tasks.join_all().await;
        assert_eq!(swaps.iter().filter(|swap| **swap == Swap::Done(1)).count(), 1, "{swaps:?}");
    }
}

async fn continuity<S: SharedStore>(store: &S, other: &S) {
    assert_eq!(store.continuity("p").await.unwrap(), Vec::<Value>::new());
    for number in 1..=5 {
        store.add_continuity("p", &format!("s{number}"), &json!(number), 3).await.unwrap();
    }
    other.add_continuity("q", "s1", &json!("elsewhere"), 3).await.unwrap();
    assert_eq!(other.continuity("p").await.unwrap(), [json!(3), json!(4), json!(5)]);
    // Repeated, because an answer was lost: it stays where it was.
    other.add_continuity("p", "s4", &json!("four"), 3).await.unwrap();
    assert_eq!(store.continuity("p").await.unwrap(), [json!(3), json!("four"), json!(5)]);
    store.add_continuity("p", "s6", &json!(6), 1).await.unwrap();
    assert_eq!(store.continuity("p").await.unwrap(), [json!(6)]);
    store.add_continuity("p", "s7", &json!(7), 0).await.unwrap();
    assert_eq!(store.continuity("p").await.unwrap(), Vec::<Value>::new());
    store.clear_continuity("q").await.unwrap();
    assert_eq!(store.continuity("q").await.unwrap(), Vec::<Value>::new());
}

async fn sizes<S: SharedStore>(store: &S) {
    let fits = Value::String("x".repeat(LARGEST - 2));
    assert_eq!(store.swap(Kind::Run, "large", 0, &fits).await.unwrap(), Swap::Done(1));
    assert_eq!(store.get(Kind::Run, "large").await.unwrap().unwrap().value, fits);
    let too_large = Value::String("x".repeat(LARGEST - 1));
    for refused in [
        store.swap(Kind::Run, "large", 1, &too_large).await.unwrap_err(),
        store.add_continuity("large", "x", &too_large, 1).await.unwrap_err(),
    ] {
        assert!(matches!(refused, SharedError::TooLarge(_)), "{refused}");
    }
    assert_eq!(store.get(Kind::Run, "large").await.unwrap().unwrap().version, 1);
}
