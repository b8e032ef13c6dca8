//! Watchers, over real files.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ostler_agents::transcript::TranscriptSpec;
use ostler_core::{Fact, Usage, Wall};
use tokio::time::timeout;

use super::*;

const SPEC: &str = r#"
    place = "chats/{cwd}/{session}.jsonl"
    mangle = [{ pattern = "[^a-z]", with = "-" }]
    session = "/session"
    cwd = "/cwd"
    time = "/time"
    [[records]]
    when = { "/end" = { exists = true } }
    fact = "tool_ended"
    id = "/end"
    [[records]]
    when = { "/prompt" = { exists = true } }
    fact = "prompt_submitted"
    text = ["/prompt"]
    [[records]]
    when = { "/total" = { exists = true } }
    fact = "used"
    usage = { output = ["/total"], total = true }
    "#;

/// What is known of a session.
#[derive(Debug, Default)]
struct StubProvenance {
    neighbour: bool,
    prompts: Vec<String>,
    open: Option<FileId>,
}

impl Provenance for StubProvenance {
    fn has_neighbour(&self) -> bool {
        self.neighbour
    }

    fn own_prompts(&self) -> Vec<String> {
        self.prompts.clone()
    }

    fn has_open(&self, file: FileId) -> bool {
        self.open == Some(file)
    }
}

struct Scene {
    dir: tempfile::TempDir,
    spec: TranscriptSpec,
    transcripts: Transcripts,
}

impl Scene {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            spec: toml::from_str(SPEC).unwrap(),
            transcripts: Transcripts::default(),
        }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join("chats/-work").join(name)
    }

    fn place(&self) -> Place {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        Place {
            root: self.root(),
            cwd: "/work".into(),
            session: None,
            path: None,
            started: Wall(u64::try_from(now).unwrap() - 1_000),
        }
    }

    fn watch(&self, place: Place, resume: Option<TailState>) -> Watcher {
        self.watch_as(StubProvenance::default(), place, resume)
    }

    fn watch_as(&self, known: StubProvenance, place: Place, resume: Option<TailState>) -> Watcher {
        self.transcripts.watch(&self.spec, place, Arc::new(known), resume).unwrap()
    }

    fn append(&self, name: &str, text: &str) {
        append(&self.path(name), text);
    }
}

fn append(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn line(end: &str) -> String {
    let now = jiff::Timestamp::now();
    format!("{{\"session\":\"s\",\"cwd\":\"/work\",\"time\":\"{now}\",\"end\":\"{end}\"}}\n")
}

fn ended(ids: &[&str]) -> Vec<Fact> {
    ids.iter().map(|id| Fact::ToolEnded { id: Some((*id).into()) }).collect()
}

async fn next(watcher: &mut Watcher) -> Batch {
    timeout(Duration::from_secs(20), watcher.next()).await.expect("the transcript tells nothing")
}

fn told(batch: Batch) -> Vec<Fact> {
    batch.facts.into_iter().map(|written| written.fact).collect()
}

/// The next so many facts, however they are parted.
async fn facts(watcher: &mut Watcher, count: usize) -> Vec<Fact> {
    let mut facts = Vec::new();
    while facts.len() < count {
        let batch = next(watcher).await;
        assert_eq!(batch.problem, None);
        facts.extend(told(batch));
    }
    facts
}

/// Waits until everything was read and only a hint can bring more.
async fn settled(watcher: &mut Watcher) {
    while !watcher.is_resting() {
        tokio::select! {
            biased;
            batch = watcher.next() => assert_eq!(batch.facts, []),
            () = tokio::task::yield_now() => {}
        }
    }
}

#[tokio::test]
async fn a_file_that_comes_late_is_found_at_each_step_of_its_way() {
    let scene = Scene::new();
    let mut watcher = scene.watch(Place { session: Some("s".into()), ..scene.place() }, None);
    settled(&mut watcher).await;
    for directory in ["root", "root/chats", "root/chats/-work"] {
        fs::create_dir(scene.dir.path().join(directory)).unwrap();
        settled(&mut watcher).await;
    }
    fs::write(scene.path("s.jsonl"), "").unwrap();
    settled(&mut watcher).await;
    scene.append("s.jsonl", &line("a"));
    assert_eq!(facts(&mut watcher, 1).await, ended(&["a"]));
    scene.append("s.jsonl", &line("b")[..20]);
    settled(&mut watcher).await;
    scene.append("s.jsonl", &line("b")[20..]);
    assert_eq!(facts(&mut watcher, 1).await, ended(&["b"]));
}

#[tokio::test]
async fn a_new_daemon_goes_on_where_the_old_one_stopped() {
    let scene = Scene::new();
    let place = Place { path: Some(scene.path("s.jsonl")), ..scene.place() };
    scene.append("s.jsonl", &(line("a") + "{\"total\":10}\n"));
    let mut watcher = scene.watch(place.clone(), None);
    assert_eq!(facts(&mut watcher, 2).await.len(), 2);
    let state = serde_json::to_string(watcher.state()).unwrap();
    drop(watcher);
    scene.append("s.jsonl", &("{\"total\":10}\n{\"total\":12}\n".to_owned() + &line("b")));
    let state: TailState = serde_json::from_str(&state).unwrap();
    // The new daemon does not know what the hook said.
    let mut watcher = scene.watch(Place { path: None, ..place.clone() }, Some(state.clone()));
    let used = Fact::Used(Usage { output: 2, ..Usage::default() });
    assert_eq!(facts(&mut watcher, 2).await, [vec![used], ended(&["b"])].concat());
    drop(watcher);
    // Gone and there again meanwhile: what is older than what was told is not told again.
    let old = fs::read_to_string(scene.path("s.jsonl")).unwrap();
    fs::remove_file(scene.path("s.jsonl")).unwrap();
    scene.append("s.jsonl", &(old.lines().next().unwrap().to_owned() + "\n" + &line("c")));
    let mut watcher = scene.watch(place, Some(state));
    assert_eq!(facts(&mut watcher, 1).await, ended(&["c"]));
}

#[tokio::test]
async fn cutting_replacing_and_deleting_are_noticed() {
    let scene = Scene::new();
    let path = scene.path("s.jsonl");
    let mut watcher = scene.watch(Place { path: Some(path.clone()), ..scene.place() }, None);
    scene.append("s.jsonl", &(line("a") + &line("b")));
    assert_eq!(facts(&mut watcher, 2).await, ended(&["a", "b"]));
    settled(&mut watcher).await;
    fs::write(&path, line("c")).unwrap();
    assert_eq!(facts(&mut watcher, 1).await, ended(&["c"]));
    settled(&mut watcher).await;
    let other = scene.path("other");
    append(&path, line("half").trim_end());
    fs::write(&other, line("d")).unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(facts(&mut watcher, 2).await, ended(&["half", "d"]));
    settled(&mut watcher).await;
    fs::remove_file(&path).unwrap();
    settled(&mut watcher).await;
    scene.append("s.jsonl", &line("e"));
    assert_eq!(facts(&mut watcher, 1).await, ended(&["e"]));
    fs::remove_dir_all(scene.root()).unwrap();
    settled(&mut watcher).await;
    scene.append("s.jsonl", &line("f"));
    assert_eq!(facts(&mut watcher, 1).await, ended(&["f"]));
}

#[tokio::test]
async fn what_is_outside_is_refused_and_said() {
    let scene = Scene::new();
    let secret = scene.dir.path().join("secret.jsonl");
    append(&secret, &line("secret"));
    fs::create_dir_all(scene.path("x").parent().unwrap()).unwrap();
    symlink(&secret, scene.path("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, scene.path("pipe"), rustix::fs::Mode::RUSR).unwrap();
    let escape = scene.path("../../../secret.jsonl");
    for (path, words) in [
        (secret.clone(), "is not beneath"),
        (escape, "is not beneath"),
        (PathBuf::from("/dev/zero"), "is not beneath"),
        (scene.path("link"), "goes through a symbolic link"),
        (scene.path("pipe"), "is not a regular file"),
        (scene.root().join("chats"), "is not a regular file"),
    ] {
        let mut watcher = scene.watch(Place { path: Some(path.clone()), ..scene.place() }, None);
        let batch = next(&mut watcher).await;
        let problem = batch.problem.unwrap();
        assert!(problem.starts_with("the transcript is not read: "), "{problem}");
        assert!(problem.contains(words) && problem.contains(path.to_str().unwrap()), "{problem}");
        assert_eq!(batch.facts, []);
        settled(&mut watcher).await;
    }
    // Its own place is still looked at.
    let mut watcher = scene.watch(Place { path: Some(secret.clone()), ..scene.place() }, None);
    assert!(next(&mut watcher).await.problem.is_some());
    scene.append("s.jsonl", &line("a"));
    assert_eq!(facts(&mut watcher, 1).await, ended(&["a"]));
    // And a later lie does not lead away from it.
    for _ in 0..3 {
        watcher.named(Some("/etc/passwd".into()), None);
        scene.append("s.jsonl", &line("b"));
        let mut told = Vec::new();
        while told.is_empty() {
            told = self::told(next(&mut watcher).await);
        }
        assert_eq!(told, ended(&["b"]));
    }
}

#[tokio::test]
async fn only_files_of_the_session_are_found() {
    let scene = Scene::new();
    let other = line("other").replace("/work", "/elsewhere");
    scene.append("other.jsonl", &other);
    scene.append("old.jsonl", &line("old"));
    let mut place = scene.place();
    let mut watcher = scene.watch(Place { started: Wall(place.started.0 + 60_000), ..place.clone() }, None);
    settled(&mut watcher).await;
    assert_eq!(watcher.state().path, None, "files from before the session, and of other directories");
    place.session = Some("mine".into());
    let mut watcher = scene.watch(place.clone(), None);
    settled(&mut watcher).await;
    scene.append("mine.jsonl", &line("a"));
    assert_eq!(facts(&mut watcher, 1).await, ended(&["a"]));
    // A second session in the same directory does not take the file of the first.
    let mut second = scene.watch(Place { session: None, ..place }, None);
    assert_eq!(facts(&mut second, 1).await, ended(&["old"]));
}

#[tokio::test]
async fn a_file_is_read_only_for_the_session_that_it_is_proven_to_be_of() {
    let scene = Scene::new();
    let prompt = |name: &str, text: &str| {
        let line = line(name).replace("\"end\":", &format!("\"prompt\":\"{text}\",\"end\":"));
        scene.append(&format!("{name}.jsonl"), &line);
    };
    prompt("theirs", "look at the parser");
    let beside = |prompts: &[&str], open: Option<&str>| StubProvenance {
        neighbour: true,
        prompts: prompts.iter().map(|text| (*text).to_owned()).collect(),
        open: open.map(|name| FileId::from(&scene.path(name).metadata().unwrap())),
    };
    // A daemon that has just been started: nobody has claimed the neighbour's file.
    let mut watcher = scene.watch_as(beside(&["fix the\n lexer"], None), scene.place(), None);
    settled(&mut watcher).await;
    assert_eq!(watcher.state().path, None, "the neighbour's");
    drop(watcher);
    prompt("ours", "fix the lexer");
    let found = async |known: StubProvenance| {
        let mut watcher = scene.watch_as(known, scene.place(), None);
        while !watcher.is_resting() {
            tokio::select! {
                biased;
                _ = watcher.next() => {}
                () = tokio::task::yield_now() => {}
            }
        }
        watcher.state().path.clone()
    };
    assert_eq!(found(beside(&["fix the\n lexer"], None)).await, Some(scene.path("ours.jsonl")));
    assert_eq!(found(beside(&[], Some("ours.jsonl"))).await, Some(scene.path("ours.jsonl")));
    assert_eq!(found(beside(&["fix"], None)).await, None, "a part of another's prompt");
    // Nobody else is known of, and one of the two is somebody else's all the same.
    assert_eq!(found(StubProvenance::default()).await, None);
    fs::remove_file(scene.path("theirs.jsonl")).unwrap();
    assert_eq!(found(StubProvenance::default()).await, Some(scene.path("ours.jsonl")));
}

#[tokio::test]
async fn a_hook_leads_to_another_conversation() {
    let scene = Scene::new();
    let mut watcher = scene.watch(Place { path: Some(scene.path("one.jsonl")), ..scene.place() }, None);
    scene.append("one.jsonl", &(line("a") + "{\"total\":100}\n"));
    assert_eq!(facts(&mut watcher, 2).await.len(), 2);
    // The same file by another name changes nothing.
    symlink(scene.root(), scene.dir.path().join("alias")).unwrap();
    watcher.named(Some(scene.path("one.jsonl").canonicalize().unwrap()), Some("s".into()));
    watcher.named(Some(scene.path("two.jsonl")), None);
    settled(&mut watcher).await;
    scene.append("two.jsonl", &(line("b") + "{\"total\":7}\n"));
    let used = Fact::Used(Usage { output: 7, ..Usage::default() });
    assert_eq!(facts(&mut watcher, 2).await, [ended(&["b"]), vec![used]].concat());
}

#[tokio::test]
async fn nothing_is_lost_when_waits_are_given_up() {
    let scene = Scene::new();
    let mut watcher = scene.watch(Place { path: Some(scene.path("s.jsonl")), ..scene.place() }, None);
    let mut told = Vec::new();
    for round in 0..300 {
        scene.append("s.jsonl", &line(&round.to_string()));
        tokio::select! {
            biased;
            batch = watcher.next() => told.extend(self::told(batch)),
            () = tokio::task::yield_now() => {}
        }
    }
    told.extend(facts(&mut watcher, 300 - told.len()).await);
    let ids: Vec<String> = (0..300).map(|round| round.to_string()).collect();
    assert_eq!(told, ended(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
}

#[tokio::test(start_paused = true)]
async fn without_hints_only_active_sessions_are_looked_at() {
    let scene = Scene::new();
    let mut watcher = scene.watch(Place { path: Some(scene.path("s.jsonl")), ..scene.place() }, None);
    watcher.be_deaf();
    scene.append("s.jsonl", &line("a"));
    // Found by the first look, then nobody looks.
    assert_eq!(facts(&mut watcher, 1).await, ended(&["a"]));
    scene.append("s.jsonl", &line("b"));
    assert!(timeout(Duration::from_hours(1), watcher.next()).await.is_err());
    watcher.set_active(true);
    assert_eq!(told(timeout(Duration::from_secs(2), watcher.next()).await.unwrap()), ended(&["b"]));
}

#[tokio::test]
async fn a_database_is_read_as_it_grows() {
    let mut scene = Scene::new();
    scene.spec.format = ostler_agents::transcript::Format::Sqlite;
    scene.spec.place = "db".into();
    scene.spec.query = Some(
        "SELECT rowid, record FROM log WHERE rowid > :after AND (:session IS NULL OR owner = :session) ORDER BY rowid LIMIT 2"
            .into(),
    );
    fs::create_dir_all(scene.root()).unwrap();
    let mut watcher = scene.watch(Place { session: Some("me".into()), ..scene.place() }, None);
    settled(&mut watcher).await;
    let writer = rusqlite::Connection::open(scene.root().join("db")).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.execute_batch("CREATE TABLE log (owner TEXT, record TEXT)").unwrap();
    let add = |owner: &str, id: &str| {
        writer.execute("INSERT INTO log VALUES (?1, ?2)", (owner, line(id))).unwrap();
    };
    for id in ["a", "b", "c"] {
        add("me", id);
        add("you", id);
    }
    assert_eq!(facts(&mut watcher, 3).await, ended(&["a", "b", "c"]));
    settled(&mut watcher).await;
    add("me", "d");
    assert_eq!(facts(&mut watcher, 1).await, ended(&["d"]));
    let state = watcher.state().clone();
    drop(watcher);
    add("me", "e");
    let mut watcher = scene.watch(Place { session: Some("me".into()), ..scene.place() }, Some(state));
    assert_eq!(facts(&mut watcher, 1).await, ended(&["e"]));
    // With nobody else there, looking makes files come and go: that must not wake the one who looks for ever.
    drop(writer);
    let quiet = Duration::from_millis(300);
    assert!(timeout(quiet, watcher.next()).await.is_err());
    let before = watcher.steps;
    assert!(timeout(quiet, watcher.next()).await.is_err());
    assert!(watcher.steps <= before + 1, "{}", watcher.steps - before);
}

#[tokio::test]
async fn a_database_that_is_none_is_said_once() {
    let mut scene = Scene::new();
    scene.spec.format = ostler_agents::transcript::Format::Sqlite;
    scene.spec.place = "db".into();
    scene.spec.query = Some("SELECT 1, '{}' FROM log".into());
    append(
        &scene.root().join("db"),
        "this is not a database, though long enough to be taken for one at first sight",
    );
    let mut watcher = scene.watch(scene.place(), None);
    let problem = loop {
        if let Some(problem) = next(&mut watcher).await.problem {
            break problem;
        }
    };
    assert!(problem.contains("not a database"), "{problem}");
    settled(&mut watcher).await;
}

#[tokio::test]
async fn two_hundred_watchers_share_one_inotify() {
    let scene = Scene::new();
    let watchers: Vec<Watcher> = (0..200).map(|_| scene.watch(scene.place(), None)).collect();
    let count = |name: &str| {
        fs::read_dir("/proc/self/fd")
            .unwrap()
            .flatten()
            .filter(|entry| {
                fs::read_link(entry.path()).is_ok_and(|link| link.to_string_lossy().contains(name))
            })
            .count()
    };
    // Other tests of this process have some too.
    assert!(count("inotify") < 20, "{}", count("inotify"));
    drop(watchers);
}
