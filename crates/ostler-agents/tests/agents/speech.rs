//! Words of agents, told from words typed into them, on the screens of the real programs.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_agents::speech::{REQUEST, acknowledged, requests_context, rows_above};
use ostler_agents::{Reader, Registry, RuleBook};
use ostler_screen::asciicast::{EventKind, Recording};
use ostler_screen::{Screen, Size};

/// What the scripted model says, and what it is asked.
const REPLY: &str = "the stable is quiet and every horse stands ready in";
const PROMPT: &str = "[[say 10 words over 2s]]";

struct Scene {
    agent: String,
    name: String,
    rows: Vec<String>,
    book: Arc<RuleBook>,
}

/// The last screens of all recordings of a scene, without their composers.
fn scenes(name: &str) -> Vec<Scene> {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let registry = Registry::new(&[]);
    let mut scenes = Vec::new();
    for agent in inner(&recordings) {
        for version in inner(&agent) {
            let file = version.join(name).join("session.cast.gz");
            if let Ok(packed) = std::fs::read(&file) {
                scenes.push(scene(&registry, &agent, &file, &packed));
            }
        }
    }
    assert!(scenes.len() >= 8, "{name}");
    scenes
}

fn inner(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

fn scene(registry: &Registry, agent: &Path, file: &Path, packed: &[u8]) -> Scene {
    let mut cast = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut cast).unwrap();
    let recording = Recording::parse(&cast).unwrap();
    let agent = agent.file_name().unwrap().to_str().unwrap().to_owned();
    let book = Arc::new(registry.rulebook(registry.get(&agent).unwrap(), None).unwrap());
    let mut reader = Reader::new(book.clone());
    let mut screen = Screen::new(Size::clamped(recording.header.width, recording.header.height), 0);
    let mut rows = Vec::new();
    for event in &recording.events {
        if let EventKind::Output(bytes) = &event.kind {
            screen.feed(bytes.as_bytes());
            reader.look(&mut screen);
            let above = rows_above(&screen, reader.composer());
            // At the end the screen may be cleared.
            if reader.composer().is_some() && above.iter().any(|row| row.contains(REPLY)) {
                rows = above;
            }
        }
    }
    Scene { agent, name: file.display().to_string(), rows, book }
}

#[test]
fn a_wish_in_a_reply_is_heard_and_one_in_a_prompt_is_not() {
    let mut understood = BTreeSet::new();
    for scene in scenes("two-turns") {
        let Some(speech) = scene.book.speech() else { continue };
        let asks = |from: &str, to: &str| {
            let rows: Vec<String> = scene.rows.iter().map(|row| row.replace(from, to)).collect();
            requests_context(&rows, Some(speech))
        };
        assert!(asks(REPLY, REQUEST), "{}: {:#?}", scene.name, scene.rows);
        assert!(!asks(PROMPT, REQUEST), "{}", scene.name);
        for prompt in ["please ", "again ", ""] {
            assert!(!asks(&format!("{prompt}{PROMPT}"), REQUEST), "{}", scene.name);
        }
        assert!(!asks("", ""), "{}", scene.name);
        understood.insert(scene.agent);
    }
    assert!(understood.len() >= 7, "{understood:?}");
}

#[test]
fn a_reply_acknowledges_and_the_request_for_it_does_not() {
    for scene in scenes("two-turns").into_iter().chain(scenes("reply")) {
        let heard = |from: &str, to: &str| {
            let rows: Vec<String> = scene.rows.iter().map(|row| row.replace(from, to)).collect();
            acknowledged(&rows, scene.book.speech(), &["ctx-7f3a"], &[])
        };
        assert_eq!(heard(REPLY, "ACK: ctx-7f3a"), Some("ctx-7f3a"), "{}: {:#?}", scene.name, scene.rows);
        assert_eq!(heard(REPLY, "ACK: ctx-7f3"), None, "{}", scene.name);
        assert_eq!(heard(PROMPT, "[END CONTEXT - reply \"ACK: ctx-7f3a\"]"), None, "{}", scene.name);
    }
}
