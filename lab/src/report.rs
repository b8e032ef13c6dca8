//! The scores of all recordings, as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::recording;
use crate::score::{Said, Score, quantile, score};
use crate::truth::Truth;

/// A recording and how well it was read.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is of.
    pub truth: Truth,
    /// The agent told its status on the terminal.
    pub tells_status: bool,
    /// How well it was read; or why it could not be.
    pub score: Result<Score, String>,
    /// The same with general rules alone, as if nothing were known of the agent.
    pub unknown: Result<Score, String>,
}

impl Row {
    /// Says whether it was read well, and without harm where nothing is known of the agent.
    pub fn passes(&self) -> bool {
        let read = |score: &Result<Score, String>, fits: fn(&Score) -> bool| score.as_ref().is_ok_and(fits);
        read(&self.score, Score::passes) && read(&self.unknown, Score::is_harmless_guess)
    }
}

/// Finds all recordings below a directory, in order.
pub fn recordings(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.file_name().is_some_and(|name| name == recording::TRUTH) {
                found.push(dir.clone());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Replays a recording and scores what was said.
pub fn row(ostler: &Path, dir: &Path) -> Result<Row> {
    let truth: Truth = serde_json::from_slice(&std::fs::read(dir.join(recording::TRUTH))?)?;
    let mute = dir.extension().is_some_and(|variant| variant == "mute");
    let file = dir.join(recording::FILE);
    let scored = |rules| {
        let said = replay(ostler, &file, mute, rules);
        said.map(|said| score(&truth, &said)).map_err(|error| format!("{error:#}"))
    };
    let (score, unknown) = (scored(Rules::Own), scored(Rules::General));
    let tells_status = recording::read(&file)?.contains("]7501;state=");
    Ok(Row { truth, tells_status, score, unknown })
}

/// Which rules a recording is read with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Those of the agent.
    Own,
    /// Those that hold for agents in general.
    General,
}

/// A line of `ostler replay`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Line {
    /// Seconds in the recording.
    pub t: f64,
    /// The state.
    pub state: String,
    /// Its kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// What it is concluded from.
    #[serde(default)]
    pub because: Vec<String>,
}

/// What `ostler replay` says of a recording.
pub fn replay(ostler: &Path, cast: &Path, mute: bool, rules: Rules) -> Result<Vec<Said>> {
    let lines = replay_lines(ostler, cast, mute, rules)?;
    Ok(lines.into_iter().map(|Line { t, state, kind, .. }| Said { t, state, kind }).collect())
}

/// The same with reasons.
pub fn replay_lines(ostler: &Path, cast: &Path, mute: bool, rules: Rules) -> Result<Vec<Line>> {
    let mute = mute.then_some("--mute");
    let general = (rules == Rules::General).then_some(["--agent", "generic"]);
    let general = general.into_iter().flatten();
    let output =
        Command::new(ostler).arg("replay").arg(cast).arg("--json").args(mute).args(general).output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("replay failed"));
    }
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    lines.lines().map(|line| serde_json::from_str(line).context("a line of the replay is broken")).collect()
}

/// Renders what `ostler` is to know of the recordings: how many there are of each release, and how many it reads right.
pub fn recorded(rows: &[Row]) -> String {
    let mut releases: BTreeMap<&str, BTreeMap<Release<'_>, (u32, u32)>> = BTreeMap::new();
    for Row { truth, score, .. } in rows {
        let (all, right) =
            releases.entry(&truth.agent).or_default().entry(Release(&truth.version)).or_default();
        *all += 1;
        *right += u32::from(score.as_ref().is_ok_and(Score::passes));
    }
    let mut text = String::from(RECORDED);
    for (agent, releases) in releases {
        let _ = writeln!(text, "\n[{agent}]");
        for (Release(version), (all, right)) in releases {
            let _ = writeln!(text, "{version:?} = {{ recorded = {all}, right = {right} }}");
        }
    }
    text
}

/// The name of a release, in the order of numbers.
#[derive(Debug, PartialEq, Eq)]
struct Release<'a>(&'a str);

impl Release<'_> {
    fn numbers(&self) -> Vec<u64> {
        self.0.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    }
}

impl Ord for Release<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.numbers().cmp(&other.numbers()).then(self.0.cmp(other.0))
    }
}

impl PartialOrd for Release<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

const RECORDED: &str = "# The recorded releases of each agent: how many scenes there are, and how many ostler reads right.\n\
    # Written by `cargo lab score`.\n";

/// Renders the page.
pub fn page(rows: &[Row], skipped: &[(String, String, String)]) -> String {
    let mut page = String::from(HEAD);
    for row in rows {
        let Truth { agent, version, scene, .. } = &row.truth;
        let _ = match &row.score {
            Ok(score) => {
                let verdict = if score.passes() { "ok" } else { "**off**" };
                writeln!(page, "| {agent} | {version} | {scene} | {verdict} | {} |", cells(score))
            }
            Err(error) => {
                writeln!(page, "| {agent} | {version} | {scene} | not read: {error} | | | | | | |")
            }
        };
    }
    let passed = rows.iter().filter(|row| row.score.as_ref().is_ok_and(Score::passes)).count();
    let _ = write!(page, "\n{passed} of {} scenes are ok.\n\n{SUMS}", rows.len());
    let known = |row: &Row| row.score.clone().ok();
    sums(&mut page, rows, known);
    let _ = write!(page, "{SPEAKERS}{SUMS}");
    for (speaker, tells_status) in [("program status", true), ("the screen alone", false)] {
        let mut sum = Score::default();
        let rows = rows.iter().filter(|row| row.tells_status == tells_status);
        rows.filter_map(known).for_each(|score| sum.add(&score));
        let _ = writeln!(page, "| {speaker} | {} |", cells(&sum));
    }
    let _ = write!(page, "{UNKNOWN}{SUMS}");
    sums(&mut page, rows, |row| row.unknown.clone().ok());
    if !skipped.is_empty() {
        page.push_str("\n## Scenes that do not apply\n\n");
        for (agent, scene, why) in skipped {
            let _ = writeln!(page, "- {agent}, {scene}: {why}");
        }
    }
    page
}

/// Adds up the scores of each agent, and of all.
fn sums(page: &mut String, rows: &[Row], score: impl Fn(&Row) -> Option<Score>) {
    let mut agents: BTreeMap<(&str, &str), Score> = BTreeMap::new();
    let mut all = Score::default();
    for row in rows {
        let Some(score) = score(row) else { continue };
        agents.entry((&row.truth.agent, &row.truth.version)).or_default().add(&score);
        all.add(&score);
    }
    for ((agent, version), score) in &agents {
        let _ = writeln!(page, "| {agent} {version} | {} |", cells(score));
    }
    let _ = writeln!(page, "| all | {} |", cells(&all));
}

const HEAD: &str = "# Conformance\n\n\
    What ostler says of the real agent programs, from their recordings in `recordings/`, against what they truly\n\
    did. Written by `cargo lab score`; conformance/README.md says how recordings are made and what the rules\n\
    are. Times are in seconds; lags are median / 95th percentile.\n\n\
    | agent | version | scene | verdict | right | false idle | longest | missed dialogs | to idle | to working |\n\
    |---|---|---|---|---|---|---|---|---|---|\n";

const SUMS: &str = "| | right | false idle | longest | missed dialogs | to idle | to working |\n|---|---|---|---|---|---|---|\n";

const SPEAKERS: &str = "\n## By what speaks\n\n\
    Programs that tell their status on the terminal do so when they are done, and ostler repeats it at once: what is\n\
    left of the lags is the program's own. Where only the screen speaks, it has to be drawn first.\n\n";

const UNKNOWN: &str = "\n## Unknown agents\n\n\
    The same recordings with general rules alone, as if nothing were known of the agent. Processes, which tell of\n\
    silent tools, are not recorded.\n\n";

fn cells(score: &Score) -> String {
    let lag = |values: &[f64]| match (quantile(values, 0.5), quantile(values, 0.95)) {
        (Some(median), Some(high)) => format!("{median:.2} / {high:.2}"),
        _ => "–".to_owned(),
    };
    if score.counted <= 0.0 {
        return "– | – | – | – | – | –".to_owned();
    }
    let dialogs =
        if score.dialogs == 0 { "–".to_owned() } else { format!("{} of {}", score.missed, score.dialogs) };
    format!(
        "{:.1} % | {:.1} | {:.1} | {dialogs} | {} | {}",
        score.share() * 100.0,
        score.false_idle,
        score.longest_false_idle,
        lag(&score.to_idle),
        lag(&score.to_working)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recording_has_its_truth_and_nothing_of_this_machine() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for dir in recordings(&repository.join("recordings")).unwrap() {
            let truth: Truth =
                serde_json::from_slice(&std::fs::read(dir.join(recording::TRUTH)).unwrap()).unwrap();
            let cast = recording::read(&dir.join(recording::FILE)).unwrap();
            let strange = cast.match_indices("/home/").any(|(at, _)| !cast[at..].starts_with("/home/dev"));
            assert!(!strange && !cast.contains("/root/") && !cast.contains("/Users/"), "{}", dir.display());
            let header: serde_json::Value = serde_json::from_str(cast.lines().next().unwrap()).unwrap();
            assert_eq!(header["ostler"]["agent"], truth.agent.as_str());
            assert!(!truth.intervals.is_empty(), "{}", dir.display());
            for interval in &truth.intervals {
                assert!(interval.from < interval.to, "{}: {interval:?}", dir.display());
            }
        }
    }

    #[test]
    fn what_ostler_says_of_recordings_is_what_there_is() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let row = |dir: PathBuf| {
            let truth = serde_json::from_slice(&std::fs::read(dir.join(recording::TRUTH)).unwrap()).unwrap();
            let well = Score { counted: 1.0, right: 1.0, ..Score::default() };
            Row { truth, tells_status: false, score: Ok(well.clone()), unknown: Ok(well) }
        };
        let rows: Vec<Row> =
            recordings(&repository.join("recordings")).unwrap().into_iter().map(row).collect();
        let counts = |text: &str| -> Vec<String> {
            text.lines().filter_map(|line| Some(line.split_once(", right")?.0.to_owned())).collect()
        };
        let kept = std::fs::read_to_string(repository.join("crates/ostler-agents/recorded.toml")).unwrap();
        assert_eq!(counts(&kept), counts(&recorded(&rows)), "run `cargo lab score`");
        let mut versions = [Release("0.10.1"), Release("0.9"), Release("0.10")];
        versions.sort();
        assert_eq!(versions, [Release("0.9"), Release("0.10"), Release("0.10.1")]);
    }

    #[test]
    fn a_page_has_a_row_per_recording_and_sums() {
        let truth =
            Truth { agent: "a".into(), version: "1".into(), scene: "reply".into(), ..Truth::default() };
        let score = Score { counted: 10.0, right: 9.9, to_idle: vec![0.25], ..Score::default() };
        let guess = Score { counted: 10.0, right: 5.0, false_idle: 0.5, ..Score::default() };
        let read = Row { truth, tells_status: true, score: Ok(score), unknown: Ok(guess) };
        assert!(read.passes());
        let unread = Row { score: Err("no".into()), tells_status: false, ..read.clone() };
        assert!(!unread.passes());
        let rows = [read, unread];
        let page = page(&rows, &[("a".into(), "trust".into(), "it has none".into())]);
        assert!(page.contains("| a | 1 | reply | ok | 99.0 % | 0.0 | 0.0 | – | 0.25 / 0.25 | – |"), "{page}");
        assert!(
            page.contains("not read: no")
                && page.contains("1 of 2 scenes are ok")
                && page.contains("it has none")
        );
        assert!(page.contains("| program status | 99.0 % | 0.0 | 0.0 | – | 0.25 / 0.25 | – |"), "{page}");
        assert!(page.contains("| the screen alone | – | – |"), "{page}");
        let unknown = page.split("## Unknown agents").nth(1).unwrap();
        assert!(unknown.contains("| a 1 | 50.0 % | 1.0 | 0.0 | – | – | – |"), "{page}");
    }
}
