use ostler_core::breaker::{Evidence, Key, Limit, News, Side};
use ostler_core::run::Policy;
use ostler_protocol::OsText;

use super::*;
use crate::{Daemon, Home};

fn daemon(dir: &std::path::Path) -> Daemon {
    let path = dir.join("home");
    let home = Home::resolve(|name| (name == "OSTLER_HOME").then(|| path.clone().into())).unwrap();
    Daemon::open(home, std::path::Path::new("/nowhere/ostler"), false, None).unwrap()
}

fn request(id: &str, dir: &std::path::Path) -> RunRequest {
    RunRequest {
        id: id.into(),
        task: "task".into(),
        prompt: "Do it.".into(),
        agents: vec!["a".into()],
        helper: None,
        checks: Vec::new(),
        criteria: Vec::new(),
        cwd: OsText::from(dir.display().to_string().as_str()),
        env: Vec::new(),
        policy: Policy::default(),
        unattended: false,
        trust: false,
        batch: Some(("batch".into(), 1)),
    }
}

async fn stored(runs: &Runs, id: &str) -> (RunRecord, u64) {
    let cell = runs.shared_store.get(Kind::Run, id).await.unwrap().unwrap();
    (serde_json::from_value(cell.value).unwrap(), cell.version)
}

#[tokio::test]
async fn a_run_has_one_actor_and_is_taken_up_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path());
    let runs = &daemon.services().runs;
    // It waits for its turn, so nothing happens by itself.
    let _place = runs.batch("batch", 1).keep();
    runs.taken_up.send_replace(true);
    runs.begin(request("one", dir.path())).await.unwrap();
    let handle = runs.find("one").unwrap();
    let (record, version) = stored(runs, "one").await;
    assert_eq!((&*record.owner, version), (runs.owner.id(), 1));

    runs.clone().resume().await;
    assert_eq!(stored(runs, "one").await.1, 1, "it is not claimed again");
    assert!(runs.claim(record.clone(), version).await.is_none());
    let again = runs.spawn_actor(record.clone(), version);
    assert!(again.commands.same_channel(&handle.commands));
    assert!(runs.find("one").unwrap().commands.same_channel(&handle.commands));

    // Without an actor it is taken up once, in its newest form; not if it is settled meanwhile.
    runs.remove("one");
    let mut newer = record.clone();
    newer.prompted = 7;
    newer.owner = "a name of before".into();
    runs.shared_store.swap(Kind::Run, "one", version, &newer.value()).await.unwrap();
    let (claimed, at) = runs.claim(record.clone(), version).await.unwrap();
    assert_eq!((claimed.prompted, &*claimed.owner, at), (7, runs.owner.id(), 3));
    newer.settled = true;
    runs.shared_store.swap(Kind::Run, "one", at, &newer.value()).await.unwrap();
    assert!(runs.claim(record, version).await.is_none());
    assert_eq!(stored(runs, "one").await.1, 4);
}

#[tokio::test]
async fn breakers_of_before_still_count_and_strange_ones_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path());
    let runs = &daemon.services().runs;
    let mut record = RunRecord::new(request("one", dir.path()), &runs.home, &runs.owner).await.unwrap();
    let now = crate::clock::now();
    let until = now.plus(Duration::from_hours(1));
    let old = serde_json::json!({
        "version": 1, "probes": 3, "state": "open", "since": now, "until": until, "reason": "quota", "rung": 2
    });
    for name in ["a", "not@mine"] {
        runs.shared_store.swap(Kind::Breaker, name, 0, &old).await.unwrap();
    }
    let lies = serde_json::json!({ "state": "closed", "key": { "provider": "b", "account": "x" } });
    runs.shared_store.swap(Kind::Breaker, "c", 0, &lies).await.unwrap();
    let shut = runs.breakers.choose(&mut record, &[], now).await.unwrap_err();
    assert_eq!((shut.len(), shut[0].until), (1, until));
    let names = |found: Vec<ostler_protocol::ProviderInfo>| {
        found.into_iter().map(|info| (info.provider, info.account, info.breaker)).collect::<Vec<_>>()
    };
    let row = |name: &str, state: &str| (name.to_owned(), None, state.to_owned());
    let found = names(runs.breakers.providers().await.unwrap());
    assert_eq!(found, [row("a", "open"), row("c", "closed"), row("not@mine", "open")]);
    runs.breakers.reset(Some("a")).await.unwrap();
    let found = names(runs.breakers.providers().await.unwrap());
    assert_eq!(found, [row("a", "closed"), row("c", "closed"), row("not@mine", "open")]);
}

#[tokio::test]
async fn a_probe_of_both_breakers_is_the_only_one() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path());
    let runs = &daemon.services().runs;
    let mut record = RunRecord::new(request("one", dir.path()), &runs.home, &runs.owner).await.unwrap();
    let limit = Evidence::LimitShown { limit: Limit::Rate };
    let crash = Evidence::Exited { status: Some(1), signal: None };
    for evidence in [limit, crash] {
        runs.breakers.report(&record, "a", News::Failed { evidence, until: None }, None).await;
    }
    let later = crate::clock::now().plus(Duration::from_mins(2));
    let mut other = record.clone();
    let both = tokio::join!(
        runs.breakers.choose(&mut record, &[], later),
        runs.breakers.choose(&mut other, &[], later)
    );
    // Whoever was faster.
    let ((Ok(choice), Err(_)) | (Err(_), Ok(choice))) = both else { panic!("{both:?}") };
    assert_eq!(choice.key, Key::of("a"));
    let probes = choice.probe.unwrap();
    assert!(Side::BOTH.iter().all(|side| probes.of(*side).is_some()), "{probes:?}");
    runs.breakers.report(&record, "a", News::Nothing, Some(probes)).await;
    assert!(runs.breakers.choose(&mut record, &[], later).await.unwrap().probe.is_some());

    // What other machines had is forgotten some day, and what this one has is not.
    let value = serde_json::json!({
        "state": "open", "since": 1, "until": 2, "reason": "auth",
        "key": { "provider": "a", "host": "gone" }
    });
    runs.shared_store.swap(Kind::Breaker, "a@+gone", 0, &value).await.unwrap();
    assert_eq!(runs.breakers.providers().await.unwrap().len(), 3);
    runs.forget_old().await.unwrap();
    let left = runs.breakers.providers().await.unwrap();
    assert_eq!(left.iter().map(|info| info.machine.as_deref()).collect::<Vec<_>>(), [None, Some("this")]);
}
