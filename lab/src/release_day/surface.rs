//! What a program offers without being run for long: options, subcommands, hooks, and tools for its model.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use ostler_testkit::model_server::{Entry, Event};
use regex::Regex;
use regex::bytes;
use serde_json::Value;

use super::Request;
use crate::agent::{AgentFile, Places};
use crate::install;
use crate::namespace::{self, World};
use crate::scene::{Scene, Variant};
use crate::stage::{CWD, HOME, Job, OUT, prepare_home, prepare_project};

/// What one release offers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surface {
    /// Options and subcommands in its help.
    pub flags: BTreeSet<String>,
    /// The same of its help about MCP.
    pub mcp: BTreeSet<String>,
    /// Hooks of the preset that its files name.
    pub hooks: BTreeSet<String>,
    /// Tools that it offers its model.
    pub tools: BTreeSet<String>,
}

/// The arguments that make a program tell of itself, and the files for what it then says.
const HELP: [(&[&str], &str); 2] = [(&["--help"], "help.txt"), (&["mcp", "--help"], "help-mcp.txt")];
/// Seconds a program has for that.
const PATIENCE: &str = "30";
/// Bytes that are searched at a time, and how much of one piece is looked at again with the next.
const PIECE: usize = 1 << 22;
const OVERLAP: usize = 256;

impl Surface {
    /// Asks a release that is installed; `played` is where its scenes were kept.
    pub(super) fn of(request: &Request, file: &AgentFile, version: &str, played: &Path) -> Result<Self> {
        let agent = file.resolve(version, Scene::Reply)?;
        let installed = install::installed(&file.name, version, &agent.install)?;
        let out = played.join("help");
        std::fs::create_dir_all(&out)?;
        let out = out.canonicalize()?;
        let (name, version, variant) = (file.name.clone(), version.to_owned(), Variant::default());
        let job = Job { name, version, scene: Scene::Reply, variant, agent, secrets: vec![] };
        std::fs::write(out.join("job.json"), serde_json::to_vec(&job)?)?;
        namespace::play(&World {
            bins: &request.bins,
            agents: &[(&job.name, &installed)],
            out: &out,
            trap: &request.repository.join("conformance/trap.txt"),
            mute: false,
            command: "describe",
        })?;
        let help = |name: &str| std::fs::read_to_string(out.join(name)).map(|text| words(&text));
        Ok(Self {
            flags: help(HELP[0].1).unwrap_or_default(),
            mcp: help(HELP[1].1).unwrap_or_default(),
            hooks: hooks(&request.bins.join("ostler"), &file.name, &installed)?,
            tools: tools(&played.join("reply/model.jsonl")),
        })
    }
}

/// Has the program of a job tell of itself; started by the rig inside a namespace.
pub fn describe(spec: &Path) -> Result<()> {
    let job: Job = serde_json::from_slice(&std::fs::read(spec)?)?;
    let install = format!("/opt/agents/{}", job.name);
    let places = Places { port: 9, home: HOME, cwd: CWD, agent: &install, version: &job.version };
    prepare_home(&job.agent, &places)?;
    prepare_project()?;
    let launch = &job.agent.launch;
    // What comes before the options of an interpreter's program, such as `-m NAME`.
    let first: Vec<_> =
        launch.args.iter().take(if launch.program.ends_with("/python") { 2 } else { 0 }).collect();
    for (args, file) in HELP {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=1", PATIENCE]).arg(places.fill(&launch.program)).args(&first).args(args);
        command.envs(launch.env.iter().map(|(name, value)| (name, places.fill(value))));
        let output = command.current_dir(CWD).stdin(Stdio::null()).output()?;
        let said = if output.status.success() { output.stdout } else { Vec::new() };
        std::fs::write(Path::new(OUT).join(file), said)?;
    }
    Ok(())
}

/// Options, and words that begin a row of a list.
fn words(help: &str) -> BTreeSet<String> {
    let Ok(pattern) = Regex::new(r"(?m)(?:^|[\s,\[])(--?[A-Za-z][\w-]*)|^ {2,4}([a-z][a-z-]+)(?:[|\s<\[]|$)")
    else {
        return BTreeSet::new();
    };
    let found = pattern.captures_iter(help).filter_map(|found| found.get(1).or_else(|| found.get(2)));
    found.map(|word| word.as_str().to_owned()).collect()
}

/// The hooks that the preset knows and the program's files name.
fn hooks(ostler: &Path, agent: &str, installed: &Path) -> Result<BTreeSet<String>> {
    let shown = Command::new(ostler).args(["agents", "show", agent, "--json"]).output()?;
    let preset: Value = serde_json::from_slice(&shown.stdout).context("the preset cannot be shown")?;
    let events = preset.pointer("/preset/hooks/events").or_else(|| preset.pointer("/hooks/events"));
    let names: Vec<&String> =
        events.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name).collect();
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    let any = names.iter().map(|name| regex::escape(name)).collect::<Vec<_>>().join("|");
    let pattern = bytes::Regex::new(&format!(r"\b(?:{any})\b"))?;
    let mut found = BTreeSet::new();
    for file in files(installed)? {
        search(&file, &pattern, &mut found)?;
        if found.len() == names.len() {
            break;
        }
    }
    Ok(found)
}

fn search(file: &Path, pattern: &bytes::Regex, found: &mut BTreeSet<String>) -> Result<()> {
    let mut file = std::fs::File::open(file)?;
    let mut piece = Vec::new();
    loop {
        let kept = piece.len().min(OVERLAP);
        piece.drain(..piece.len() - kept);
        if file.by_ref().take(PIECE as u64).read_to_end(&mut piece)? == 0 {
            return Ok(());
        }
        found.extend(
            pattern.find_iter(&piece).map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned()),
        );
    }
}

/// All files below a directory, the largest first: a program that is one file is searched at once.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                files.push((entry.metadata()?.len(), entry.path()));
            }
        }
    }
    files.sort_by(|a, b| b.cmp(a));
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// The tools that requests of a turn offered.
fn tools(log: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
    let offered = entries.filter_map(|entry| match entry.event {
        Event::Received { turn: Some(_), tools, .. } => Some(tools),
        _ => None,
    });
    offered.flatten().collect()
}

/// What is gone and what is new, a line for each part.
pub fn differences(old: &Surface, new: &Surface) -> Vec<String> {
    let parts = [
        ("flags", &old.flags, &new.flags),
        ("MCP", &old.mcp, &new.mcp),
        ("hooks", &old.hooks, &new.hooks),
        ("tools", &old.tools, &new.tools),
    ];
    let line = |(what, old, new): (&str, &BTreeSet<String>, &BTreeSet<String>)| {
        let list = |what: &str, words: Vec<String>| {
            (!words.is_empty()).then(|| format!("{what} {}", words.join(" ")))
        };
        let gone = list("gone", old.difference(new).cloned().collect());
        let fresh = list("new", new.difference(old).cloned().collect());
        let all: Vec<String> = [gone, fresh].into_iter().flatten().collect();
        (!all.is_empty()).then(|| format!("{what}: {}", all.join("; ")))
    };
    parts.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_subcommands_are_read_out_of_help() {
        let help = "Usage: x [options] [command]\n\nOptions:\n  -p, --print   Print --json\n      --model <m>\n\n\
                    Commands:\n  mcp           Manage\n  doctor|d      Look\nlast words\n";
        let read: Vec<String> = words(help).into_iter().collect();
        assert_eq!(read, ["--json", "--model", "--print", "-p", "doctor", "mcp"]);
    }

    #[test]
    fn what_is_gone_and_what_is_new() {
        let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
        let old = Surface { flags: set(&["--a", "--b"]), hooks: set(&["Stop"]), ..Surface::default() };
        let new = Surface { flags: set(&["--b", "--c"]), hooks: set(&["Stop"]), ..Surface::default() };
        assert_eq!(differences(&old, &new), ["flags: gone --a; new --c"]);
    }

    #[test]
    fn names_are_found_across_pieces() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = vec![b' '; PIECE - 3];
        text.extend(b"SessionStart\0");
        std::fs::write(dir.path().join("x"), text).unwrap();
        let pattern = bytes::Regex::new(r"\bSessionStart\b").unwrap();
        let mut found = BTreeSet::new();
        for file in files(dir.path()).unwrap() {
            search(&file, &pattern, &mut found).unwrap();
        }
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["SessionStart"]);
    }
}
