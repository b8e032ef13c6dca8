//! One file per command.

mod agents;
mod answer;
mod ask;
mod attach;
mod carry_on;
mod completions;
mod context;
mod daemon;
#[cfg(feature = "stand-in")]
mod demo;
mod doctor;
mod events;
mod explain;
mod hook;
mod hooks;
mod interrupt;
mod last;
mod list;
mod logs;
mod mcp;
mod messages;
mod metrics;
mod providers;
mod replay;
mod resume;
mod run;
mod screen;
mod send;
mod start;
mod status;
mod stop;
mod transcript;
mod view;
mod wait;
mod worktrees;
mod wrap;

pub(crate) use carry_on::line as carry_on_line;

use std::process::ExitCode;

use ostler_protocol::{Response, SessionInfo};

pub(crate) use agents::newer_than_recorded;

use crate::cli::Command;
use crate::error::{CommandError, Kind};

/// Runs a command to its exit code.
pub(crate) fn run(command: Command) -> Result<ExitCode, CommandError> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Runs { command } => run::runs(&command),
        Command::Worktrees { command } => worktrees::run(&command),
        Command::Providers(args) => providers::run(&args),
        Command::Start(args) => start::run(*args),
        Command::Resume(args) => resume::run(&args),
        Command::Continue(args) => carry_on::continue_on(&args),
        Command::Hold(args) => carry_on::hold(&args),
        Command::List(args) => list::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Screen(args) => screen::run(&args),
        Command::Logs(args) => logs::run(&args),
        Command::Attach(args) => attach::run(&args),
        Command::Wrap(args) => wrap::run(&args),
        Command::Send(args) => send::run(args),
        Command::Last(args) => last::run(&args),
        Command::Transcript(args) => transcript::run(&args),
        Command::Messages { command } => messages::run(&command),
        Command::Ack(args) => messages::ack(&args),
        Command::Metrics(args) => metrics::run(&args),
        Command::Wait(args) => wait::run(&args),
        Command::Answer(args) => answer::run(&args),
        Command::Interrupt(args) => interrupt::run(&args),
        Command::Stop(args) => stop::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Agents { command } => agents::run(&command),
        Command::Hooks { command } => hooks::run(&command),
        Command::Context { command } => context::run(command),
        Command::Ask { command } => ask::run(command),
        Command::Mcp(args) => mcp::run(args),
        Command::Hook(args) => Ok(hook::run(&args)),
        Command::Daemon { command } => daemon::run(&command),
        Command::Doctor(args) => doctor::run(&args),
        #[cfg(feature = "stand-in")]
        Command::Demo => demo::run(),
        Command::Completions { shell } => completions::run(shell),
        Command::OwnTerminal { dir } => Ok(ostler_hold::main(&ostler_hold::SessionDir::new(dir))),
        #[cfg(feature = "stand-in")]
        Command::StandIn(options) => Ok(ostler_testkit::stand_in::run(*options)),
    }
}

/// The session in an answer.
fn session(response: Response) -> Result<SessionInfo, CommandError> {
    match response {
        Response::Session(session) => Ok(*session),
        _ => Err(unexpected()),
    }
}

/// An answer that does not fit its question.
fn unexpected() -> CommandError {
    CommandError::new(Kind::Internal, "the daemon gave an answer to another question")
}
