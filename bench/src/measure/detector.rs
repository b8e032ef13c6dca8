//! How fast it is known what an agent does: over the recordings of real agents, and event by event.
//!
//! Here nothing is started: the code that a session uses is called.

use std::hint::black_box;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ostler_agents::{Agent, Registry, RuleBook, replay, settings_for};
use ostler_core::detector::{Claim, Detector, Event, Expectations, Finding, Reading, Settings};
use ostler_core::{State, Steady};
use ostler_screen::asciicast::{EventKind, Recording};
use ostler_screen::{Screen, Size};
use rustix::time::{ClockId, clock_gettime};
use semver::Version;

use crate::lab::Bench;
use crate::samples::{Samples, float};
use crate::table::{Limit, Row};

pub(crate) const NAME: &str = "detector";

/// Least output of terminals that is read in a second, in MB.
const MEGABYTES: f64 = 30.0;
/// Least events that are weighed in a second, in millions.
const MEGAEVENTS: f64 = 1.0;
/// Events of one run.
const EVENTS: u64 = 1_000_000;
/// The moment a detector begins.
const BEGIN: Steady = Steady(1_000_000);

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let scenes = scenes()?;
    let n = bench.count(7, 2);
    let bytes: u64 = scenes.iter().map(Scene::bytes).sum();
    let per_second = |work: &dyn Fn()| {
        let runs = (0..n).map(|_| {
            let begun = cpu_time();
            work();
            float(bytes) / 1e6 / cpu_time().saturating_sub(begun).as_secs_f64()
        });
        Samples::new(runs.collect())
    };
    let read = per_second(&|| scenes.iter().for_each(Scene::replay));
    let drawn = per_second(&|| scenes.iter().for_each(Scene::draw));
    let weighed = Samples::new((0..n).map(|_| float(EVENTS) / 1e6 / weigh().as_secs_f64()).collect());
    let what = format!("replay of {} recordings ({:.1} MB)", scenes.len(), float(bytes) / 1e6);
    let spread = |samples: &Samples| format!("({} to {})", samples.min().round(), samples.max().round());
    Ok(vec![
        Row::new(NAME, what, read.median(), "MB/s")
            .note(format!("{}; the screen alone {:.0}", spread(&read), drawn.median()))
            .limit(Limit::AtLeast(MEGABYTES))
            .n(n),
        Row::new(NAME, "events weighed", weighed.median(), "million/s")
            .limit(Limit::AtLeast(MEGAEVENTS))
            .n(n),
        Row::new(NAME, "wake-ups of an idle agent in an hour", float(wake_ups()), "")
            .limit(Limit::AtMost(0.0))
            .n(2),
    ])
}

/// A recording, and what is known about the agent in it.
struct Scene {
    recording: Recording,
    agent: Arc<Agent>,
    version: Option<Version>,
    book: Arc<RuleBook>,
}

impl Scene {
    /// The output in it.
    fn output(&self) -> impl Iterator<Item = &str> {
        self.recording.events.iter().filter_map(|event| match &event.kind {
            EventKind::Output(text) => Some(text.as_str()),
            _ => None,
        })
    }

    fn bytes(&self) -> u64 {
        self.output().map(|text| text.len() as u64).sum()
    }

    fn replay(&self) {
        let settings = settings_for(&self.agent, Settings::default());
        let expectations = self.agent.expectations(self.version.as_ref());
        black_box(replay(&self.recording, self.book.clone(), settings, expectations));
    }

    fn draw(&self) {
        let header = &self.recording.header;
        let mut screen = Screen::new(Size::clamped(header.width, header.height), 0);
        for text in self.output() {
            black_box(screen.feed(text.as_bytes()));
        }
    }
}

fn scenes() -> Result<Vec<Scene>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings");
    let registry = Registry::new(&[]);
    let mut scenes: Vec<Scene> = Vec::new();
    for file in recordings(&root)? {
        let mut text = String::new();
        let packed = std::fs::File::open(&file)?;
        let unpacked = flate2::read::GzDecoder::new(packed).read_to_string(&mut text);
        unpacked.with_context(|| file.display().to_string())?;
        let recording = Recording::parse(&text).with_context(|| file.display().to_string())?;
        let agent = recording.header.agent.as_deref().and_then(|name| registry.get(name));
        let Some(agent) = agent.or_else(|| registry.generic()) else { continue };
        let version =
            recording.header.agent_version.as_deref().and_then(|version| Version::parse(version).ok());
        let known = scenes.iter().find(|scene| (&scene.agent, &scene.version) == (agent, &version));
        let book = match known {
            Some(scene) => scene.book.clone(),
            None => Arc::new(registry.rulebook(agent, version.as_ref())?),
        };
        scenes.push(Scene { agent: agent.clone(), recording, version, book });
    }
    ensure!(!scenes.is_empty(), "there are no recordings below {}", root.display());
    Ok(scenes)
}

/// The recordings below a directory.
fn recordings(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(recordings(&path)?);
        } else if path.file_name().is_some_and(|name| name == "session.cast.gz") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// An agent that is on and off its work on the screen, with much output.
fn weigh() -> Duration {
    let mut detector = Detector::new(
        Settings::default(),
        Expectations { status: false, rules: true, transcript_ends: true, composer: false },
        BEGIN,
    );
    let (idle, working) = (reading(State::Idle), reading(State::Working));
    let begun = cpu_time();
    for count in 0..EVENTS {
        let now = BEGIN.plus(Duration::from_millis(count * 10));
        let event = match count % 100 {
            0 => Event::Read(idle.clone()),
            50 => Event::Read(working.clone()),
            10 | 60 => Event::Tick,
            _ => Event::Drawn { at: now },
        };
        black_box(detector.handle(event, now));
    }
    cpu_time().saturating_sub(begun)
}

/// CPU time of this thread: nothing here waits, and a busy machine is not to blame.
fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(spent).unwrap_or_default()
}

fn reading(state: State) -> Reading {
    let finding = Finding {
        rule: "rule".into(),
        state,
        kind: None,
        until: None,
        general: false,
        certain: false,
        answered: false,
        moving: false,
        print: 0,
    };
    Reading { findings: vec![finding], draft: None }
}

/// How often agents at rest want to be looked at, by what they claim and by what they show.
fn wake_ups() -> u64 {
    let wake_ups = |event: Event| {
        let mut detector = Detector::new(
            Settings::default(),
            Expectations { status: false, rules: true, transcript_ends: true, composer: false },
            BEGIN,
        );
        let _ = detector.handle(event, BEGIN);
        let rest = BEGIN.plus(Duration::from_secs(10));
        while let Some(due) = detector.deadline().filter(|due| *due <= rest) {
            let _ = detector.handle(Event::Tick, due);
        }
        let mut count = if detector.verdict().state == State::Idle { 0 } else { u64::MAX / 2 };
        while let Some(due) = detector.deadline().filter(|due| *due <= rest.plus(Duration::from_hours(1))) {
            let _ = detector.handle(Event::Tick, due);
            count += 1;
        }
        count
    };
    wake_ups(Event::Claimed(Some(Claim::Idle))) + wake_ups(Event::Read(reading(State::Idle)))
}
