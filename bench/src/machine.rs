//! Where the figures come from.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::lab::Bench;

/// Facts without which figures mean little.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) ostler: String,
    pub(crate) tmux: String,
    /// Load averages over 1, 5 and 15 minutes when the first measurement began.
    pub(crate) load_before: String,
    /// The same when the last one ended; the bench itself is in it.
    pub(crate) load_after: String,
    pub(crate) quick: bool,
}

impl Machine {
    pub(crate) fn look(bench: &Bench) -> Result<Self> {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find(|line| line.starts_with("model name"));
        let load_before = load()?;
        Ok(Self {
            cpu: model.and_then(|line| line.split_once(": ")).map_or("?", |(_, model)| model).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            ostler: first_line(Command::new(&bench.ostler).arg("--version")),
            tmux: first_line(Command::new("tmux").arg("-V")),
            load_after: load_before.clone(),
            load_before,
            quick: bench.quick,
        })
    }
}

/// The load averages.
pub(crate) fn load() -> Result<String> {
    let text = fs::read_to_string("/proc/loadavg").context("/proc/loadavg")?;
    Ok(text.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

fn first_line(command: &mut Command) -> String {
    let said = command.output().ok().filter(|output| output.status.success());
    said.and_then(|output| String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned))
        .unwrap_or_else(|| "not found".to_owned())
}
