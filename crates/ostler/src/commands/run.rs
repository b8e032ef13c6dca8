//! `ostler run`

mod following;
mod helping;
mod progress;
mod report;
mod tasks;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ostler_core::run::Outcome;
use ostler_daemon::store_choice;
use ostler_protocol::{OsText, Request, Response, RunCheck, RunInfo, RunRequest};
use ostler_tasks::{Check, PromptTemplate, Task};

use crate::cli::{OneRun, Run, Runs};
use crate::client::Client;
use crate::error::{CommandError, Kind};
use crate::{client, output};

/// What shells say of a command that was interrupted: the run goes on, and nobody knows how it ends.
const INTERRUPTED: u8 = 130;

pub(crate) fn run(args: &Run) -> Result<ExitCode, CommandError> {
    let here = std::env::current_dir()?;
    let cwd = args.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let cwd = cwd.canonicalize().map_err(|error| {
        CommandError::new(Kind::Usage, format!("there is no directory {}: {error}", cwd.display()))
    })?;
    let tasks = tasks::read(args)?;
    let template = tasks::template(args)?;
    let batch = (tasks.len() > 1 || args.parallel > 1).then(|| (client::fresh_id(), args.parallel));
    // All are understood before the first begins.
    let requests: Vec<RunRequest> = tasks
        .iter()
        .map(|task| request(args, task, &template, &cwd, batch.clone()))
        .collect::<Result<_, _>>()?;
    apart(&requests)?;
    use_store(args)?;
    let runs: Vec<RunInfo> = requests.iter().map(begin).collect::<Result<_, _>>()?;
    if args.detach {
        return print_runs(&runs, args.json);
    }
    let ended = following::follow(&runs, args.on_interrupt, args.json)?;
    told_end(&ended, args.json)
}

/// Has runs kept where the user says, and tells what that is worth where it is not the usual place.
fn use_store(args: &Run) -> Result<(), CommandError> {
    let home = client::home()?;
    let client = match &args.store {
        Some(url) => Client::connect_with_store(&home, url)?,
        None => Client::connect_or_start(&home)?,
    };
    if args.json || client.daemon.store == store_choice::LOCAL {
        return Ok(());
    }
    let Response::Providers { store, .. } = client::call(&Request::Providers)? else {
        return Err(super::unexpected());
    };
    let _ = writeln!(std::io::stderr(), "[runs are kept at {}: {store}]", client.daemon.store);
    Ok(())
}

/// The runs as they are, for whoever does not wait.
fn print_runs(runs: &[RunInfo], json: bool) -> Result<ExitCode, CommandError> {
    if json {
        match runs {
            [run] => output::json(run)?,
            runs => output::json(&runs)?,
        }
    } else {
        for run in runs {
            output::print(&format!("{}\n", run.id))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How the runs ended.
fn told_end(runs: &[RunInfo], json: bool) -> Result<ExitCode, CommandError> {
    if json {
        print_runs(runs, true)?;
    } else {
        for run in runs {
            output::print(&report::report(run))?;
        }
    }
    verdict(runs)
}

/// What the command ends with: the worst of its runs.
fn verdict(runs: &[RunInfo]) -> Result<ExitCode, CommandError> {
    let worst = runs.iter().max_by_key(|run| match &run.outcome {
        Some(Outcome::Done | Outcome::FinishedUnchecked) => 0,
        None => 1,
        Some(Outcome::Blocked { .. }) => 2,
        Some(Outcome::GivenUp { .. } | Outcome::Cancelled) => 3,
    });
    let Some(run) = worst else { return Ok(ExitCode::SUCCESS) };
    match &run.outcome {
        Some(Outcome::Done | Outcome::FinishedUnchecked) => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::from(INTERRUPTED)),
        Some(outcome @ Outcome::Blocked { .. }) => {
            let session = run.session.clone().unwrap_or_default();
            Err(CommandError::new(Kind::Blocked, outcome.to_string()).hint(format!(
                "ostler attach {session}; the run goes on when you have answered: ostler runs wait {}; or allow it \
                 beforehand: --trust, --unattended, [policy] in config.toml",
                run.id
            )))
        }
        Some(_) => Err(CommandError::new(Kind::Failed, format!("{}: {}", run.task, run.summary))
            .hint(format!("ostler runs show {} tells all", run.id))),
    }
}

/// Makes sure that tasks which go on at a time do not work in one directory, before the first of them begins.
fn apart(requests: &[RunRequest]) -> Result<(), CommandError> {
    let places: Vec<PathBuf> =
        requests.iter().map(|request| PathBuf::from(std::ffi::OsString::from(request.cwd.clone()))).collect();
    let share = |(index, place): (usize, &PathBuf)| {
        places[..index].iter().any(|other| place.starts_with(other) || other.starts_with(place))
    };
    let at_a_time = requests.iter().any(|request| matches!(request.batch, Some((_, 2..))));
    let allowed = requests.iter().all(|request| request.shares_directory);
    if at_a_time && !allowed && places.iter().enumerate().any(share) {
        let reason = "several tasks would work in one directory at a time";
        return Err(CommandError::new(Kind::Usage, reason)
            .hint("give each a work tree of its own (--worktree), leave out --parallel, or insist with --share-directory"));
    }
    Ok(())
}

fn begin(request: &RunRequest) -> Result<RunInfo, CommandError> {
    match client::call(&Request::Run(Box::new(request.clone())))? {
        Response::Run(run) => Ok(*run),
        _ => Err(super::unexpected()),
    }
}

fn request(
    args: &Run,
    task: &Task,
    template: &PromptTemplate,
    cwd: &std::path::Path,
    batch: Option<(String, u32)>,
) -> Result<RunRequest, CommandError> {
    let cwd = task.cwd.as_ref().map_or_else(|| cwd.to_owned(), |own| cwd.join(own));
    let id = client::fresh_id();
    let settings = tasks::policy(args)?;
    let mut policy = task.policy(&settings);
    tasks::insist(args, &mut policy);
    let agents = if task.agents.is_empty() { args.agent.clone() } else { task.agents.clone() };
    let agents = if agents.is_empty() {
        super::agents::for_run(&cwd)?
    } else {
        super::agents::exist(&cwd, &agents)?;
        agents
    };
    let (cwd, worktree) = if args.worktree || task.worktree {
        let (dir, tree) = tasks::worktree(&cwd, task, &id, tasks::commits(args)?)?;
        (dir, Some(tree))
    } else {
        (cwd, None)
    };
    let prompt = template
        .render(task, &cwd.display().to_string())
        .map_err(|error| CommandError::new(Kind::Usage, error.to_string()))?;
    let checks = task.checks.iter().map(|check| match check {
        Check::Shell(line) => RunCheck::Shell(line.clone()),
        Check::Program(words) => RunCheck::Argv(words.clone()),
    });
    Ok(RunRequest {
        id,
        task: task.id.as_str().to_owned(),
        prompt,
        agents,
        helper: args.helper.clone(),
        checks: checks.collect(),
        criteria: task.criteria.clone(),
        cwd: OsText::from(&PathBuf::from(&cwd)),
        env: client::environment().iter().map(|(name, value)| (name.into(), value.into())).collect(),
        policy,
        unattended: args.unattended,
        trust: args.trust,
        batch,
        named: args.task.is_some(),
        fresh: args.fresh,
        shares_directory: args.share_directory,
        worktree,
    })
}

pub(crate) fn runs(command: &Runs) -> Result<ExitCode, CommandError> {
    match command {
        Runs::List { all, json } => {
            let Response::Runs { runs } = client::call(&Request::Runs { all: *all })? else {
                return Err(super::unexpected());
            };
            if *json {
                output::json(&runs)?;
            } else {
                output::print(&runs.iter().map(report::line).collect::<String>())?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Runs::Show(OneRun { id, json }) => {
            let run = one(&Request::RunStatus { id: id.clone(), after: None })?;
            if *json {
                output::json(&run)?;
            } else {
                output::print(&report::report(&run))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Runs::Wait(OneRun { id, json }) => {
            let run = one(&Request::RunStatus { id: id.clone(), after: None })?;
            let ended = following::follow(&[run], crate::cli::OnInterrupt::Detach, *json)?;
            told_end(&ended, *json)
        }
        Runs::Cancel(OneRun { id, json }) => {
            let run = one(&Request::CancelRun { id: id.clone() })?;
            if *json {
                output::json(&run)?;
            } else {
                output::print(&report::line(&run))?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn one(request: &Request) -> Result<RunInfo, CommandError> {
    match client::call(request)? {
        Response::Run(run) => Ok(*run),
        _ => Err(super::unexpected()),
    }
}
