//! `ostler mcp`: ostler's tools, for the agent of a session.
//!
//! The agent starts the server and keeps it, so it outlives daemons. It starts none: a daemon that a person stopped stays
//! away, and one that is being replaced is back in a moment.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ostler_hold::SESSION_MARK;
use ostler_mcp::{Desk, in_words, read_call, tools};
use ostler_protocol::{Request, Response, ToolAnswer, ToolCall, ToolRequest};
use serde_json::{Map, Value};

use crate::cli::{Mcp, McpCommand};
use crate::client::{self, CallError, Client};
use crate::error::{CommandError, Kind};
use crate::output;

/// How long a daemon may be away before the agent is told.
const ABSENCE: Duration = Duration::from_secs(3);
/// Between looks for a daemon that is on its way.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: Mcp) -> Result<ExitCode, CommandError> {
    match args.command {
        None => serve(),
        Some(McpCommand::Tools) => list(),
        Some(McpCommand::Call { tool, arguments }) => call(&tool, arguments.as_deref()),
    }
}

fn serve() -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(ostler_mcp::serve(FrontDesk, tokio::io::stdin(), tokio::io::stdout()));
    // The thread that reads standard input may wait there for ever.
    runtime.shutdown_background();
    served?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<ExitCode, CommandError> {
    for tool in tools() {
        let properties = tool.arguments["properties"].as_object();
        let names: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        output::print(&format!("{} ({})\n    {}\n", tool.name, names.join(", "), tool.description))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn call(tool: &str, arguments: Option<&str>) -> Result<ExitCode, CommandError> {
    let usage = |message: String| CommandError::new(Kind::Usage, message);
    let arguments: Map<String, Value> = match arguments {
        Some(text) => serde_json::from_str(text)
            .map_err(|error| usage(format!("the arguments are no JSON object: {error}")))?,
        None => Map::new(),
    };
    let call = read_call(tool, &arguments).map_err(usage)?;
    let answer = FrontDesk.answer(call).map_err(|reason| CommandError::new(Kind::Failed, reason))?;
    output::print(&format!("{}\n", output::visible(in_words(&answer).trim_end())))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks the daemon.
struct FrontDesk;

/// A variable of this process that says something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Desk for FrontDesk {
    fn is_open(&self) -> bool {
        variable(SESSION_MARK).is_some()
    }

    fn answer(&self, call: ToolCall) -> Result<ToolAnswer, String> {
        let Some(session) = variable(SESSION_MARK) else {
            return Err(
                "this program does not run in a session of ostler (OSTLER_SESSION_ID is not set)".into()
            );
        };
        let nonce = variable("OSTLER_HOOK_NONCE").unwrap_or_default();
        let request = Request::Tool(Box::new(ToolRequest { id: client::fresh_id(), session, nonce, call }));
        let told = |error: CommandError| match error.hint {
            Some(hint) => format!("{} ({hint})", error.message),
            None => error.message,
        };
        match ask(&request).map_err(told)? {
            Response::Tool { answer } => Ok(answer),
            _ => Err("the daemon gave an answer to another question".into()),
        }
    }
}

/// Asks the daemon that runs, or that is back soon. Every request can be repeated.
fn ask(request: &Request) -> Result<Response, CommandError> {
    let home = client::home()?;
    let given_up = Instant::now() + ABSENCE;
    loop {
        if let Some(mut client) = Client::connect(&home)? {
            match client.call(request, None, Some(PATIENCE)) {
                Ok(response) => return Ok(response),
                Err(CallError::Command(error)) => return Err(error),
                Err(CallError::TimedOut) => {
                    return Err(CommandError::new(
                        Kind::TimedOut,
                        "ostler's daemon does not answer; try again later",
                    ));
                }
                Err(CallError::Lost) => {}
            }
        }
        if Instant::now() >= given_up {
            let message =
                "ostler's daemon does not run now: nothing was recorded; go on, and try again later";
            return Err(CommandError::new(Kind::Unreachable, message));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
