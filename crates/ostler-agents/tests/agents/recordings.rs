//! Every recording of a real agent: the detector says the same each time, and nothing harmful.
//!
//! The rules are those of the conformance report (`lab/src/score.rs`, shared as it is). Here only what does harm
//! fails: idle said of an agent that is not, for longer than a person would take to notice, and dialogs missed. The
//! same holds where nothing is known of the agent and general rules have to do.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ostler_agents::{Agent, Change, Registry, RuleBook, replay, settings_for};
use ostler_core::detector::{Expectations, Settings};
use ostler_screen::asciicast::Recording;
use semver::Version;

#[expect(dead_code, unreachable_pub, reason = "shared with the conformance report, which uses all of it")]
#[path = "../../../../lab/src/score.rs"]
pub(crate) mod score;

/// The truth about a recording, as far as the rules ask.
pub(crate) mod truth {
    use serde::Deserialize;

    #[derive(Debug, Default, Deserialize)]
    pub(crate) struct Truth {
        pub(crate) agent: String,
        pub(crate) version: String,
        pub(crate) intervals: Vec<Interval>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "the kind is for people")]
    pub(crate) struct Interval {
        pub(crate) from: f64,
        pub(crate) to: f64,
        pub(crate) state: String,
        #[serde(default)]
        pub(crate) kind: Option<String>,
        #[serde(default)]
        pub(crate) any: Vec<String>,
    }
}

use score::{GRACE, GUESS, Said, Score, score};
use truth::Truth;

/// The directories that hold a recording with its truth.
fn scenes(dir: &Path, found: &mut Vec<PathBuf>) {
    if dir.join("truth.json").is_file() {
        found.push(dir.to_owned());
        return;
    }
    let mut inner: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    inner.sort();
    for path in inner.iter().filter(|path| path.is_dir()) {
        scenes(path, found);
    }
}

fn open(dir: &Path) -> Result<(Truth, Recording), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let truth = std::fs::read_to_string(dir.join("truth.json")).map_err(|error| text(&error))?;
    let truth = serde_json::from_str(&truth).map_err(|error| format!("truth.json: {error}"))?;
    let packed = std::fs::read(dir.join("session.cast.gz")).map_err(|error| text(&error))?;
    let mut cast = String::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_string(&mut cast)
        .map_err(|error| text(&error))?;
    Ok((truth, Recording::parse(&cast).map_err(|error| text(&error))?))
}

/// Every word that was said, as text.
fn timeline(changes: &[Change]) -> String {
    changes.iter().fold(String::new(), |mut text, Change { at, verdict }| {
        let _ = writeln!(text, "{:9.3} {}", at.as_secs_f64(), serde_json::to_string(verdict).unwrap());
        text
    })
}

/// The same, short.
fn told(changes: &[Change]) -> String {
    let told =
        changes.iter().map(|Change { at, verdict }| format!("{:.1} {}", at.as_secs_f64(), verdict.state));
    told.collect::<Vec<_>>().join(", ")
}

type Books = Mutex<Vec<(String, String, Arc<RuleBook>)>>;

/// Plays one recording twice, with the rules of its agent and with general ones, and finds what is wrong; adds the scores
/// of both.
fn check(dir: &Path, registry: &Registry, books: &Books, sums: &Mutex<[Score; 2]>) -> Result<(), String> {
    let (truth, recording) = open(dir)?;
    let agent = registry.get(&truth.agent).ok_or_else(|| format!("no agent is called {}", truth.agent))?;
    let version = Version::parse(&truth.version).ok();
    let asked = agent.expectations(version.as_ref());
    let mute = dir.extension().is_some_and(|variant| variant == "mute");
    let expected = if mute { agent.expectations_unanswered(version.as_ref()) } else { asked };
    let known = try_rules(&truth, &recording, registry, books, (agent, version, expected, GRACE))?;
    let unknown = registry.generic().ok_or("there are no general rules")?;
    let guessed =
        try_rules(&truth, &recording, registry, books, (unknown, None, unknown.expectations(None), GUESS))
            .map_err(|error| format!("as an unknown agent: {error}"))?;
    let mut sums = sums.lock().unwrap();
    sums[0].add(&known);
    sums[1].add(&guessed);
    Ok(())
}

fn try_rules(
    truth: &Truth,
    recording: &Recording,
    registry: &Registry,
    books: &Books,
    (agent, version, expected, longest): (&Agent, Option<Version>, Expectations, f64),
) -> Result<Score, String> {
    let of = version.as_ref().map(ToString::to_string).unwrap_or_default();
    let known = |(name, version, _): &&(String, String, _)| (name, version) == (&agent.name, &of);
    let book = books.lock().unwrap().iter().find(known).map(|(_, _, book)| book.clone());
    let book = book.map_or_else(
        || registry.rulebook(agent, version.as_ref()).map(Arc::new).map_err(|error| error.to_string()),
        Ok,
    )?;
    books.lock().unwrap().push((agent.name.clone(), of, book.clone()));
    let play = || {
        let settings = settings_for(agent, Settings::default());
        replay(recording, book.clone(), settings, expected)
    };
    let changes = play();
    let (first, second) = (timeline(&changes), timeline(&play()));
    if first != second {
        return Err(format!("two replays differ:\n{first}---\n{second}"));
    }
    let said: Vec<Said> = changes
        .iter()
        .map(|Change { at, verdict }| Said {
            t: at.as_secs_f64(),
            state: verdict.state.to_string(),
            kind: verdict.kind.clone(),
        })
        .collect();
    let score = score(truth, &said);
    let Score { longest_false_idle, missed, dialogs, .. } = score;
    let mut wrong = Vec::new();
    if longest_false_idle > longest {
        wrong.push(format!("idle was said for {longest_false_idle:.1} s of what is not"));
    }
    if missed > 0 {
        wrong.push(format!("{missed} of {dialogs} dialogs were missed"));
    }
    if wrong.is_empty() { Ok(score) } else { Err(format!("{}; said: {}", wrong.join(", "), told(&changes))) }
}

#[test]
fn every_recording_is_read_the_same_each_time_and_without_harm() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let mut dirs = Vec::new();
    scenes(&root, &mut dirs);
    assert!(dirs.len() >= 50, "only {} recordings were found below {}", dirs.len(), root.display());
    let registry = Registry::new(&[]);
    let (books, wrong, sums) = (Mutex::default(), Mutex::new(Vec::new()), Mutex::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    std::thread::scope(|scope| {
        for part in dirs.chunks(dirs.len().div_ceil(threads)) {
            let (registry, books, wrong, sums, root) = (&registry, &books, &wrong, &sums, &root);
            scope.spawn(move || {
                for dir in part {
                    if let Err(reason) = check(dir, registry, books, sums) {
                        let name = dir.strip_prefix(root).unwrap_or(dir).display();
                        wrong.lock().unwrap().push(format!("{name}: {reason}"));
                    }
                }
            });
        }
    });
    let [known, guessed] = sums.into_inner().unwrap().map(|score: Score| score.share() * 100.0);
    println!("{known:.1} % is right, and {guessed:.1} % where nothing is known of the agent");
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {} recordings:\n{}", wrong.len(), dirs.len(), wrong.join("\n"));
    assert!(known >= 99.5 && guessed >= 91.0, "{known:.1} % is right, and {guessed:.1} % of unknown agents");
}
