//! Recordings: aligned, cleaned, small.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::GzBuilder;
use serde_json::{Value, json};

use crate::truth::Truth;

/// The recording's file within its directory.
pub const FILE: &str = "session.cast.gz";
/// The truth's file within its directory.
pub const TRUTH: &str = "truth.json";

/// Finds the moment the recording began, in seconds since the Unix epoch.
///
/// The recorder writes an event as it happens and the header has no time, so the file was last changed at the
/// moment of its last event. This is right to a tick of the kernel's coarse clock (4 ms).
pub fn zero(path: &Path, text: &str) -> Result<f64> {
    let changed = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH)?.as_secs_f64();
    let last = text.lines().skip(1).last().context("the recording is empty")?;
    let event: Value = serde_json::from_str(last).context("the recording's last line is broken")?;
    Ok(changed - event[0].as_f64().context("the recording's last event has no time")?)
}

/// Writes recording and truth into a directory, if the recording has nothing of this machine in it.
pub fn write(dir: &Path, cast: &str, truth: &Truth, secrets: &[String]) -> Result<()> {
    let (header, events) = cast.split_once('\n').context("the recording has no header")?;
    let header: Value = serde_json::from_str(header).context("the recording's header is broken")?;
    // Only what is the same in every run: files that did not change should not look changed.
    let header = json!({
        "version": 2, "width": header["width"], "height": header["height"], "env": {"TERM": "xterm-256color"},
        "ostler": {"agent": truth.agent, "version": truth.version},
    });
    let cast = format!("{header}\n{events}");
    if let Some(secret) = leak(&cast, secrets) {
        bail!("the recording has {secret:?} in it, which is of this machine");
    }
    let mut file = GzBuilder::new().mtime(0).write(fs::File::create(dir.join(FILE))?, Compression::best());
    file.write_all(cast.as_bytes())?;
    file.finish()?;
    fs::write(dir.join(TRUTH), serde_json::to_string_pretty(truth)? + "\n")?;
    Ok(())
}

/// Reads a recording.
pub fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// Finds a text of this machine in a recording.
pub fn leak<'a>(cast: &str, secrets: &'a [String]) -> Option<&'a str> {
    secrets.iter().map(String::as_str).find(|secret| cast.contains(secret))
}

/// Lists what must not be in a recording: where this machine keeps things, and what it and its user are called.
pub fn secrets(paths: &[&Path]) -> Vec<String> {
    let mut secrets: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    secrets.extend(std::env::var("HOME"));
    secrets.extend(fs::read_to_string("/proc/sys/kernel/hostname"));
    secrets.extend(std::env::var("USER").ok().filter(|user| user != "root" && user != "dev"));
    let mut secrets: Vec<String> = secrets.iter().map(|secret| secret.trim().to_owned()).collect();
    // Too short to mean anything.
    secrets.retain(|secret| secret.len() > 3);
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_rewritten_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let cast = "{\"version\":2,\"width\":80,\"height\":24,\"command\":\"/x/y\"}\n[0.5, \"o\", \"hi\"]\n";
        let truth = Truth { agent: "a".into(), version: "1".into(), ..Truth::default() };
        write(dir.path(), cast, &truth, &["/secret".into()]).unwrap();
        let text = read(&dir.path().join(FILE)).unwrap();
        let (header, events) = text.split_once('\n').unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(header).unwrap()["ostler"],
            json!({"agent": "a", "version": "1"})
        );
        assert!(!header.contains("/x/y"));
        assert_eq!(events, "[0.5, \"o\", \"hi\"]\n");
        assert!(write(dir.path(), "{}\n[0, \"o\", \"/secret\"]\n", &truth, &["/secret".into()]).is_err());
    }

    #[test]
    fn a_recording_is_aligned_by_its_last_event() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.cast");
        let text = "{}\n[0.5, \"o\", \"a\"]\n[2.5, \"o\", \"b\"]\n";
        fs::write(&path, text).unwrap();
        let changed = fs::metadata(&path).unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        assert!((zero(&path, text).unwrap() - (changed.as_secs_f64() - 2.5)).abs() < 1e-6);
    }
}
