//! What a run costs beyond the time of its agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::lab::{Bench, Lab, output};
use crate::samples::Samples;
use crate::table::{Limit, Row};

pub(crate) const NAME: &str = "run";

/// Most time of a run in the median beyond that of its agent, in milliseconds.
const LIMIT: f64 = 300.0;
/// The agent, as a user would describe one; it tells its status.
const PRESET: &str = concat!(
    include_str!("../../../crates/ostler/src/commands/demo/agent.toml"),
    "\n[status]\nspeaks = \"always\"\n"
);

/// `ostler run … --check true` with an agent that is ready and done at once. The agent's own time is that from its
/// start until it takes input, and that of its turn, as it logs them itself.
pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let n = bench.count(20, 5);
    let lab = bench.cold_lab(NAME);
    let place = bench.root.join("run-project");
    prepare(bench, &lab, &place)?;
    // The first one fills caches and finds out what the agent is.
    beyond(&lab, &place)?;
    let taken = Samples::new((0..n).map(|_| beyond(&lab, &place)).collect::<Result<_>>()?);
    lab.close()?;
    let note = format!("(p95 {:.0}, max {:.0})", taken.percentile(95), taken.max());
    let row = Row::new(
        NAME,
        "ostler run with an instant agent and --check true, beyond the agent",
        taken.median(),
        "ms",
    );
    Ok(vec![row.note(note).limit(Limit::AtMost(LIMIT)).n(n)])
}

fn prepare(bench: &Bench, lab: &Lab, place: &Path) -> Result<()> {
    fs::create_dir_all(place.join("bin"))?;
    fs::create_dir_all(place.join("tree"))?;
    output(Command::new("git").args(["init", "--quiet"]).current_dir(place.join("tree")))?;
    let agents = lab.home().join("config/agents");
    fs::create_dir_all(&agents)?;
    fs::set_permissions(lab.home(), fs::Permissions::from_mode(0o700))?;
    fs::write(agents.join("instant.toml"), PRESET.replace("@NAME@", "instant"))?;
    let program = place.join("bin/instant");
    let (ostler, log) = (bench.ostler.display(), place.join("log").display().to_string());
    let script =
        format!("#!/bin/sh\nexec {ostler} stand-in --status --word-pace 0 --reply ok --log {log} \"$@\"\n");
    fs::write(&program, script)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// One run: how much longer it took than its agent, in milliseconds.
fn beyond(lab: &Lab, place: &Path) -> Result<f64> {
    let log = place.join("log");
    let _ = fs::remove_file(&log);
    let path = format!("{}:{}", place.join("bin").display(), std::env::var("PATH")?);
    let mut command = lab.command(["run", "Do it.", "--agent", "instant", "--check", "true"]);
    command.current_dir(place.join("tree")).env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command.status()?;
    let taken = begin.elapsed().as_secs_f64() * 1e3;
    ensure!(status.success(), "{command:?} failed: {status}");
    let text = fs::read_to_string(&log)?;
    let records: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let at = |event: &str| {
        let found = records.iter().find(|record| record["event"] == event);
        found
            .and_then(|record| record["t"].as_f64())
            .with_context(|| format!("the agent logged no {event:?}"))
    };
    let own = at("ready")? + at("done")? - at("submitted")?;
    Ok(taken - own)
}
