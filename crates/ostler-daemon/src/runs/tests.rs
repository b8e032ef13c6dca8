use ostler_core::Wall;
use ostler_core::breaker::{AgentReport, Evidence, Key, Limit, Side};
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
        named: true,
        fresh: false,
        shares_directory: false,
        worktree: None,
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
        runs.breakers.report(&record, "a", AgentReport::Failed { evidence, until: None }, None).await;
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
    runs.breakers.report(&record, "a", AgentReport::Nothing, Some(probes)).await;
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

/// A run that has ended so, as the store has it.
async fn ended(runs: &Runs, id: &str, dir: &std::path::Path, passed: bool, at: u64) {
    use ostler_core::run::{Act, Event};
    let mut record = RunRecord::new(request(id, dir), &runs.home, &runs.owner).await.unwrap();
    let act = |step| Act { attempt: 1, step };
    let events = [
        Event::Started { since: Wall(at) },
        Event::ProviderChosen { act: act(1), provider: "a".into(), probe: None },
        Event::AgentReady { agent: act(2) },
        Event::PromptSubmitted { act: act(3), proof: "hook".into() },
        Event::AgentStopped { agent: act(2), stop: ostler_core::run::Stop::Idle { asks: false } },
        Event::TreeObserved { act: act(4), changes: None, words: None },
        Event::ChecksFinished { act: act(5), passed, failures: vec![format!("{id} is wrong")] },
        Event::Cancelled,
    ];
    for event in events {
        let _ = record.run.handle(event, Wall(at));
    }
    assert!(record.is_over());
    (record.created, record.ended, record.settled) = (Wall(at), Some(Wall(at)), true);
    runs.shared_store.swap(Kind::Run, id, 0, &record.value()).await.unwrap();
}

#[tokio::test]
async fn a_task_that_is_not_done_is_continued_however_long_ago_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path());
    let runs = &daemon.services().runs;
    let earlier = async |request: RunRequest| {
        let earlier = runs.earlier(&request).await.unwrap();
        earlier.map(|(run, earlier)| (run, earlier.attempts[0].errors[0].clone()))
    };
    assert_eq!(earlier(request("next", dir.path())).await, None);
    ended(runs, "old", dir.path(), false, 1).await;
    ended(runs, "newer", dir.path(), false, 2).await;
    let found = Some(("newer".to_owned(), "newer is wrong".to_owned()));
    assert_eq!(earlier(request("next", dir.path())).await, found);
    // Only the same task in the same place.
    let mut other = request("next", dir.path());
    other.task = "other".into();
    assert_eq!(earlier(other).await, None);
    assert_eq!(earlier(request("next", &dir.path().join("home"))).await, None);
    // One without a name is known by its text.
    let mut unnamed = request("next", dir.path());
    unnamed.named = false;
    assert_eq!(earlier(unnamed.clone()).await, found);
    unnamed.prompt = "Do something else.".into();
    assert_eq!(earlier(unnamed).await, None);
    // It outlives the runs that are kept.
    for number in 0..KEPT {
        let elsewhere = dir.path().join(number.to_string());
        std::fs::create_dir(&elsewhere).unwrap();
        ended(runs, &format!("r{number}"), &elsewhere, true, 3).await;
    }
    runs.forget_old().await.unwrap();
    assert_eq!(earlier(request("next", dir.path())).await, found);
    let left = runs.shared_store.list(Kind::Run).await.unwrap();
    assert_eq!((left.len(), left.iter().any(|(id, _)| id == "old")), (KEPT + 1, false));
    // Until it is done.
    ended(runs, "done", dir.path(), true, 4).await;
    assert_eq!(earlier(request("next", dir.path())).await, None);
}

#[tokio::test]
async fn a_second_run_in_a_directory_is_refused_unless_the_user_insists() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path());
    let runs = &daemon.services().runs;
    let _place = runs.batch("batch", 1).keep();
    runs.taken_up.send_replace(true);
    runs.begin(request("one", dir.path())).await.unwrap();
    // Those that take turns are no trouble.
    runs.begin(request("next", dir.path())).await.unwrap();
    let mut second = request("two", dir.path());
    second.batch = None;
    let refused = runs.begin(second.clone()).await.unwrap_err();
    assert_eq!((refused.kind, refused.code), (ErrorKind::Conflict, Code::DirectoryTaken));
    assert!(refused.message.contains(" works in "), "{}", refused.message);
    assert!(runs.shared_store.get(Kind::Run, "two").await.unwrap().is_none(), "nothing is left of it");
    second.shares_directory = true;
    second.batch = Some(("other".into(), 1));
    let _other = runs.batch("other", 1).keep();
    runs.begin(second).await.unwrap();
}

#[tokio::test]
async fn an_unknown_provider_is_told_and_a_breaker_that_others_closed_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = daemon(dir.path());
    let runs = &daemon.services().runs;
    let problem = crate::api::providers::reset(&runs.breakers, Some("nobody")).await.unwrap_err();
    assert_eq!((problem.kind, problem.code), (ErrorKind::NotFound, Code::ProviderUnknown));
    let record = RunRecord::new(request("one", dir.path()), &runs.home, &runs.owner).await.unwrap();
    let limit = AgentReport::Failed { evidence: Evidence::LimitShown { limit: Limit::Quota }, until: None };
    runs.breakers.report(&record, "a", limit, None).await;
    assert!(!runs.breakers.can_choose(&record, crate::clock::now()).await);
    // Another machine writes to the same store.
    let others = ProviderBreakers::new(runs.home.clone(), runs.owner.clone(), runs.shared_store.clone());
    assert_eq!(others.reset(Some("a")).await.unwrap(), 1);
    assert!(runs.breakers.can_choose(&record, crate::clock::now()).await);
}
