//! Chores of this repository, as commands.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use xtask::jobs::{self, Outcome, Request};
use xtask::report;
use xtask::scene::{Scene, Variant};

#[derive(Debug, Parser)]
#[command(name = "xtask", about = "Chores of this repository")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Try ostler against the real agent programs
    Conformance {
        /// Agents to try [default: all in conformance/agents]
        agents: Vec<String>,
        /// Play only this scene; may be given more than once
        #[arg(long = "scene", value_enum)]
        scenes: Vec<Scene>,
        /// Only this release
        #[arg(long)]
        version: Option<String>,
        /// Whether the terminal answers the query for program status; may be given more than once
        #[arg(long = "variant", value_enum, default_value = "status")]
        variants: Vec<Variant>,
        /// How many scenes at a time
        #[arg(long, default_value = "3")]
        jobs: usize,
        /// Keep everything that was written in this directory
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
        /// Fail where ostler says idle for over a second while that is wrong, or misses a dialog
        #[arg(long)]
        check: bool,
        /// Replace the recordings in recordings/
        #[arg(long)]
        update_recordings: bool,
        /// The directory with the ostler programs [default: they are built]
        #[arg(long, value_name = "DIR")]
        bins: Option<PathBuf>,
    },
    /// Score what ostler says of the recordings, and write docs/conformance.md
    Score {
        /// The directory with the ostler programs [default: they are built]
        #[arg(long, value_name = "DIR")]
        bins: Option<PathBuf>,
        /// Print the page instead
        #[arg(long)]
        print: bool,
    },
    /// Play one scene (started by the rig inside a namespace)
    #[command(hide = true)]
    Stage {
        /// The job
        job: PathBuf,
    },
}

fn main() -> Result<ExitCode> {
    match Cli::parse().chore {
        Chore::Conformance {
            agents,
            scenes,
            version,
            variants,
            jobs,
            keep,
            check,
            update_recordings,
            bins,
        } => {
            let own = std::env::current_exe()?;
            let bins = bins.map_or_else(|| build(&own), Ok)?;
            let bins = with_xtask(&bins, &own)?;
            conformance(&Request {
                agents,
                scenes,
                version,
                variants,
                jobs,
                keep,
                check,
                update: update_recordings,
                bins: bins.path().to_owned(),
                repository: repository()?,
            })
        }
        Chore::Score { bins, print } => {
            let bins = bins.map_or_else(|| build(&std::env::current_exe()?), Ok)?;
            score(&bins.join("ostler"), print)
        }
        Chore::Stage { job } => xtask::stage::play(&job).map(|()| ExitCode::SUCCESS),
    }
}

#[expect(clippy::print_stdout, reason = "it is what the command is for")]
fn conformance(request: &Request) -> Result<ExitCode> {
    let outcomes = jobs::run(request, &|outcome: &Outcome| {
        let said = outcome.error.as_deref().or(outcome.live.as_deref()).unwrap_or("ok");
        println!("{:40} {:5.1} s  {said}", outcome.title, outcome.seconds);
    })?;
    // A program that cannot be had was told; it proves nothing about ostler.
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some() && !outcome.skipped).count();
    println!("{} scenes, {failed} failed", outcomes.len());
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[expect(clippy::print_stdout, reason = "it is what the command is for")]
fn score(ostler: &Path, print: bool) -> Result<ExitCode> {
    let repository = repository()?;
    let dirs = report::recordings(&repository.join("recordings"))?;
    let rows = dirs.iter().map(|dir| report::row(ostler, dir)).collect::<Result<Vec<_>>>()?;
    let page = report::page(&rows, &jobs::skipped(&repository.join("conformance/agents"))?);
    if print {
        println!("{page}");
    } else {
        std::fs::write(repository.join("docs/conformance.md"), page)?;
    }
    let off = rows.iter().filter(|row| !row.passes()).count();
    println!("{} recordings, {off} not ok, or harmful where nothing is known of the agent", rows.len());
    Ok(if off == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the programs the rig drives, and returns where they are.
fn build(own: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--quiet", "-p", "ostler", "-p", "ostler-hold"])
        .current_dir(repository()?)
        .status()
        .context("cargo does not run")?;
    if !status.success() {
        bail!("ostler does not build");
    }
    Ok(own.parent().context("this program is nowhere")?.to_owned())
}

/// Copies of all programs in one directory: a build that runs meanwhile does not change what is tried.
fn with_xtask(bins: &Path, own: &Path) -> Result<tempfile::TempDir> {
    let dir = tempfile::Builder::new().prefix("ostler-bins-").tempdir()?;
    std::fs::copy(own, dir.path().join("xtask"))?;
    for name in ["ostler", "ostler-hold"] {
        let from = bins.join(name);
        std::fs::copy(&from, dir.path().join(name))
            .with_context(|| format!("{} is missing", from.display()))?;
    }
    Ok(dir)
}

fn repository() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("this crate is not in a repository")?.to_owned())
}
