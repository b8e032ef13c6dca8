//! The laboratory, as commands.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use ostler_lab::deliver::message::Kind;
use ostler_lab::deliver::{self, Effort, Part};
use ostler_lab::jobs::{self, Outcome, Request};
use ostler_lab::report;
use ostler_lab::scene::{Scene, Variant};

#[derive(Debug, Parser)]
#[command(
    name = "lab",
    bin_name = "cargo lab",
    about = "Try ostler against the real agent programs, and score their recordings"
)]
struct Cli {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
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
    /// Try `ostler send` against the real agent programs: is every message received once and whole?
    Deliver(Deliver),
    /// Try `ostler run` against the real agent programs: does the work get done when providers fail?
    Runs(Runs),
    /// Try the newest release of each agent, and tell what differs from the one before
    ReleaseDay(ReleaseDay),
    /// Install the agent programs that the other commands would install when they need them
    Install {
        /// Agents to install [default: all in conformance/agents]
        agents: Vec<String>,
    },
    /// Score what ostler says of the recordings; write docs/conformance.md and what `ostler agents check` says of them
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
    /// Have a program tell of itself (started by the rig inside a namespace)
    #[command(hide = true)]
    Describe {
        /// The job
        job: PathBuf,
    },
    /// Play one scene of runs (started by the rig inside a namespace)
    #[command(hide = true)]
    RunsStage {
        /// The job
        job: PathBuf,
    },
    /// Play one part of a trial of deliveries (started by the rig inside a namespace)
    #[command(hide = true)]
    DeliverStage {
        /// The job
        job: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Deliver {
    /// Agents to try [default: all in conformance/agents]
    agents: Vec<String>,
    /// Only this release
    #[arg(long)]
    version: Option<String>,
    /// Play only this part; may be given more than once [default: all but kills and race]
    #[arg(long = "part", value_enum)]
    parts: Vec<Part>,
    /// Small messages by turns through ostler and through tmux
    #[arg(long, conflicts_with = "parts")]
    race: bool,
    /// Messages to send one after the other
    #[arg(long, default_value = "100")]
    messages: usize,
    /// Send only messages of this kind; may be given more than once
    #[arg(long = "kind", value_enum)]
    kinds: Vec<Kind>,
    /// Where messages come from: the same seed makes the same messages
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Cold starts
    #[arg(long, default_value = "20")]
    cold: usize,
    /// Kills of the daemon, in the part about them
    #[arg(long, default_value = "50")]
    kills: usize,
    /// Rounds of the other parts [default: 6; with --race: 20]
    #[arg(long)]
    rounds: Option<usize>,
    /// How many parts at a time
    #[arg(long, default_value = "1")]
    jobs: usize,
    /// Lay this file over the agent's preset, to try a change of it
    #[arg(long, value_name = "FILE")]
    layer: Option<PathBuf>,
    /// Keep everything that was written in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// The directory with the ostler programs [default: they are built]
    #[arg(long, value_name = "DIR")]
    bins: Option<PathBuf>,
    /// Play a part with a fault once more, and count that; both are told
    #[arg(long)]
    again: bool,

    /// Fail if anything went wrong
    #[arg(long)]
    check: bool,
    /// Write docs/delivery.md: what was tried takes the place of what was known of it
    #[arg(long)]
    write: bool,
    /// Print JSON, with what became of every message
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ReleaseDay {
    /// Agents to try [default: all in conformance/agents]
    agents: Vec<String>,
    /// Try this release instead of the newest
    #[arg(long)]
    version: Option<String>,
    /// Play only this scene; may be given more than once
    #[arg(long = "scene", value_enum)]
    scenes: Vec<Scene>,
    /// How many scenes at a time
    #[arg(long, default_value = "3")]
    jobs: usize,
    /// Keep the recordings where every scene went well, and name the release in the agent's files
    #[arg(long)]
    keep: bool,
    /// Where everything that was written goes
    #[arg(long, value_name = "DIR", default_value = "target/release-day")]
    out: PathBuf,
    /// The directory with the ostler programs [default: they are built]
    #[arg(long, value_name = "DIR")]
    bins: Option<PathBuf>,
}

fn release(text: &str) -> Result<(String, String), String> {
    let (agent, version) = text.split_once('=').ok_or("write it as AGENT=VERSION")?;
    Ok((agent.to_owned(), version.to_owned()))
}

#[derive(Debug, Args)]
struct Runs {
    /// Scenes to play [default: all in conformance/runs]
    scenes: Vec<String>,
    /// Use this release of an agent [default: the newest that is known]; may be given more than once
    #[arg(long = "release", value_name = "AGENT=VERSION", value_parser = release)]
    releases: Vec<(String, String)>,
    /// How many scenes at a time
    #[arg(long, default_value = "2")]
    jobs: usize,
    /// Keep everything that was written in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// The directory with the ostler programs [default: they are built]
    #[arg(long, value_name = "DIR")]
    bins: Option<PathBuf>,
    /// Fail if anything went wrong twice
    #[arg(long)]
    check: bool,
    /// Write docs/runs.md
    #[arg(long)]
    write: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn main() -> Result<ExitCode> {
    match Cli::parse().command {
        LabCommand::Conformance {
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
            let bins = with_own(&bins, &own)?;
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
        LabCommand::ReleaseDay(args) => release_day(args),
        LabCommand::Describe { job } => {
            ostler_lab::release_day::surface::describe(&job).map(|()| ExitCode::SUCCESS)
        }
        LabCommand::Install { agents } => install(&agents),
        LabCommand::Score { bins, print } => {
            let bins = bins.map_or_else(|| build(&std::env::current_exe()?), Ok)?;
            score(&bins.join("ostler"), print)
        }
        LabCommand::Deliver(args) => deliver(args),
        LabCommand::DeliverStage { job } => {
            ostler_lab::deliver::trial::play(&job).map(|()| ExitCode::SUCCESS)
        }
        LabCommand::Runs(args) => runs(args),
        LabCommand::RunsStage { job } => ostler_lab::runs::stage::play(&job).map(|()| ExitCode::SUCCESS),
        LabCommand::Stage { job } => ostler_lab::stage::play(&job).map(|()| ExitCode::SUCCESS),
    }
}

#[expect(clippy::print_stdout, reason = "it is what the command is for")]
fn install(agents: &[String]) -> Result<ExitCode> {
    let outcomes = ostler_lab::install::all(&repository()?.join("conformance/agents"), agents)?;
    let mut code = ExitCode::SUCCESS;
    for (release, outcome) in outcomes {
        match outcome {
            Ok(dir) => println!("{release:30} {}", dir.display()),
            Err(error) => {
                println!("{release:30} {error:#}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

#[expect(clippy::print_stdout, reason = "it is what the command is for")]
fn conformance(request: &Request) -> Result<ExitCode> {
    let outcomes = jobs::run(request, &|outcome: &Outcome| {
        println!("{}", outcome.line());
    })?;
    // A program that cannot be had was told; it proves nothing about ostler.
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some() && !outcome.skipped).count();
    println!("{} scenes, {failed} failed", outcomes.len());
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[expect(clippy::print_stdout, reason = "it is what the command is for")]
fn release_day(args: ReleaseDay) -> Result<ExitCode> {
    use ostler_lab::release_day::{self, Request};
    let own = std::env::current_exe()?;
    let bins = args.bins.map_or_else(|| build(&own), Ok)?;
    let bins = with_own(&bins, &own)?;
    let ReleaseDay { agents, version, scenes, jobs, keep, out, .. } = args;
    if version.is_some() && agents.len() != 1 {
        bail!("--version is of one agent: name it");
    }
    let (bins, repository) = (bins.path().to_owned(), repository()?);
    let request = Request { agents, version, scenes, jobs, keep, out, bins, repository };
    let reports = release_day::run(&request, &|line| println!("{}", line.trim_end()))?;
    let failed = reports.iter().map(|report| report.failed).sum::<usize>();
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is what the command is for")]
fn deliver(args: Deliver) -> Result<ExitCode> {
    use deliver::{run, table};
    let own = std::env::current_exe()?;
    let bins = args.bins.map_or_else(|| build(&own), Ok)?;
    let bins = with_own(&bins, &own)?;
    let repository = repository()?;
    let parts = match (args.race, args.parts.is_empty()) {
        (true, _) => vec![Part::Race],
        (false, true) => Part::USUAL.to_vec(),
        (false, false) => args.parts,
    };
    let layer = args.layer.map(std::fs::read_to_string).transpose().context("the layer cannot be read")?;
    let lookalikes = deliver::message::lookalikes(&repository)?;
    let rounds = args.rounds.unwrap_or(if args.race { 20 } else { 6 });
    let Deliver { agents, version, seed, messages, kinds, cold, kills, jobs, keep, again, .. } = args;
    let request = run::Request {
        agents,
        version,
        parts,
        effort: Effort { seed, messages, kinds, cold, kills, rounds, layer, lookalikes },
        jobs,
        again,
        keep,
        bins: bins.path().to_owned(),
        repository: repository.clone(),
    };
    let tell = |row: &run::Row| {
        eprintln!("{}", table::line(row));
        for note in row.outcome.tally.notes.iter().chain(&row.error) {
            eprintln!("    {note}");
        }
    };
    let rows = run::run(&request, &tell, &|missing| eprintln!("{missing}"))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", table::table(&rows));
    }
    if args.write {
        let kept = deliver::kept::merge(&repository.join("conformance/delivery.json"), &rows)?;
        std::fs::write(repository.join("docs/delivery.md"), table::page(&kept))?;
    }
    let failed = args.check && !rows.iter().all(run::Row::passes);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is what the command is for")]
fn runs(args: Runs) -> Result<ExitCode> {
    use ostler_lab::runs::{play, table};
    let own = std::env::current_exe()?;
    let bins = args.bins.map_or_else(|| build(&own), Ok)?;
    let bins = with_own(&bins, &own)?;
    let repository = repository()?;
    let request = play::Request {
        scenes: args.scenes,
        releases: args.releases,
        jobs: args.jobs,
        twice: args.check,
        keep: args.keep,
        bins: bins.path().to_owned(),
        repository: repository.clone(),
    };
    let rows = play::run(&request, &|row| {
        eprintln!("{}", table::line(row));
        row.complaints().for_each(|complaint| eprintln!("    {complaint}"));
    })?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print!("{}", table::table(&rows));
    }
    if args.write {
        std::fs::write(repository.join("docs/runs.md"), table::page(&rows))?;
    }
    // A program that cannot be had proves nothing about ostler.
    let failed = args.check && !rows.iter().all(|row| row.passes() || row.skipped);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
        std::fs::write(repository.join("crates/ostler-agents/recorded.toml"), report::recorded(&rows))?;
    }
    let off = rows.iter().filter(|row| !row.passes()).count();
    println!("{} recordings, {off} not ok, or harmful where nothing is known of the agent", rows.len());
    Ok(if off == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the programs the rig drives, in the profile that this one was built in, and returns where they are.
fn build(own: &Path) -> Result<PathBuf> {
    let dir = own.parent().context("this program is nowhere")?;
    let profile = match dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => bail!("this program is nowhere"),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--profile", profile, "--quiet", "-p", "ostler", "-p", "ostler-hold"])
        .current_dir(repository()?)
        .status()
        .context("cargo does not run")?;
    if !status.success() {
        bail!("ostler does not build");
    }
    Ok(dir.to_owned())
}

/// Copies of all programs in one directory: a build that runs meanwhile does not change what is tried.
fn with_own(bins: &Path, own: &Path) -> Result<tempfile::TempDir> {
    let dir = tempfile::Builder::new().prefix("ostler-bins-").tempdir()?;
    std::fs::copy(own, dir.path().join("ostler-lab"))?;
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
