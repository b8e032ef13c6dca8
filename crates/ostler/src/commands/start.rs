//! `ostler start`

mod verdict;

pub(super) use verdict::verdict;

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ostler_core::State;
use ostler_protocol::{
    ContextPlace, ContextRequest, MessageInfo, OsText, Proof, Request, Response, SessionInfo, StartRequest,
    StartupRequest,
};
use serde::Serialize;

use super::{carry_on, messages};
use crate::cli::Start;
use crate::error::{CommandError, Kind};
use crate::{client, output};

const MIB: u64 = 1 << 20;
/// How often a session is looked at while it is waited for.
const GLANCE: Duration = Duration::from_millis(500);
/// Seconds that a dialog may stand before a person is called.
const PATIENCE: i64 = 5;
/// How often a start that a dying daemon cut short is tried.
const TRIES: u32 = 10;

/// Longest context.
const MAX_CONTEXT: u64 = 1 << 20;
/// An agent that is not waited for and dies within this time is told about.
const SUDDEN_DEATH: Duration = Duration::from_millis(400);
/// The same for a program that is no agent: nothing tells when it has come up.
const INSTANT_DEATH: Duration = Duration::from_millis(150);
/// What an agent does that is past its start.
const READY: [State; 6] =
    [State::Idle, State::Working, State::Watching, State::Limited, State::Error, State::Exited];

/// What programs are told.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    session: &'a SessionInfo,
    /// What became of prompt and context.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    startup: Vec<MessageInfo>,
}

pub(crate) fn run(mut args: Start) -> Result<ExitCode, CommandError> {
    let here = std::env::current_dir().map_err(|error| {
        CommandError::new(Kind::Failed, format!("the current directory is not there: {error}"))
    })?;
    let cwd = args.cwd.take().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let cwd = cwd.canonicalize().unwrap_or(cwd);
    let request = request(&mut args, &cwd)?;
    let asks = request.startup.prompt.is_some() || request.startup.context.is_some();
    let named = args.program.is_some();
    let started = begin(request);
    // Where nobody named an agent, this was told when one was chosen. The program comes up meanwhile.
    if named && let Ok(home) = client::home() {
        for problem in super::agents::problems(&home, &cwd) {
            super::agents::print_note(&problem);
        }
    }
    let session = started?;
    super::agents::note_if_new(&session);
    let wait = !args.no_wait;
    let deadline = Instant::now() + Duration::from_secs_f64(args.timeout);
    let messages = if asks && wait { await_startup(&session, deadline)? } else { Vec::new() };
    let session = settled(session, wait, deadline)?;
    if args.json {
        output::json(&Answer { session: &session, startup: messages.clone() })?;
    } else {
        output::print(&format!("{}\n", session.name))?;
        for message in &messages {
            output::print(&format!("  {}", messages::line(message)))?;
        }
    }
    verdict(&session, &messages, wait)
}

/// The session when its agent is ready, if that is waited for, and past the moment in which programs that cannot run die.
pub(super) fn settled(
    session: SessionInfo,
    wait: bool,
    deadline: Instant,
) -> Result<SessionInfo, CommandError> {
    Ok(match (session.preset.is_some(), wait) {
        (true, true) => await_ready(&session, deadline)?,
        (true, false) => early(&session, SUDDEN_DEATH),
        (false, true) => early(&session, INSTANT_DEATH),
        (false, false) => session,
    })
}

/// Starts a session for somebody who is about to look at it.
pub(super) fn begin_in_terminal(mut args: Start) -> Result<SessionInfo, CommandError> {
    let cwd = std::env::current_dir()?;
    let request = request(&mut args, &cwd)?;
    begin(request)
}

/// Starts the session, whatever happens to the daemon meanwhile.
fn begin(mut request: StartRequest) -> Result<SessionInfo, CommandError> {
    until_begun(|| {
        request.id = client::fresh_id();
        Request::Start(Box::new(request.clone()))
    })
}

/// Asks for a program to be run until it was, whatever happens to the daemon meanwhile; each request has an id of its own.
pub(super) fn until_begun(mut request: impl FnMut() -> Request) -> Result<SessionInfo, CommandError> {
    let mut tries = TRIES;
    loop {
        let session = super::session(client::call(&request())?)?;
        if session.kind.as_deref() != Some("failed") {
            return Ok(session);
        }
        // The daemon died between recording the session and starting it: nothing ran, so it can be asked anew.
        tries -= 1;
        if tries == 0 {
            return Err(CommandError::new(Kind::Failed, session.because.join("; ")));
        }
    }
}

fn request(args: &mut Start, cwd: &Path) -> Result<StartRequest, CommandError> {
    let program = match args.program.clone() {
        Some(program) => program,
        None => super::agents::chosen(args.role.as_deref(), cwd)?.into(),
    };
    let given = args.context.as_deref().map(read_context).transpose()?;
    let known = if args.recall { recalled(cwd, args.prompt.as_deref())? } else { None };
    let context = match (given, known) {
        (Some(given), Some(known)) => Some(format!("{}\n\n{known}", given.trim_end())),
        (given, known) => given.or(known),
    };
    let prompt = args.prompt.take();
    let carry_on = args.carry_on || args.limits.is_given();
    let carry_on = carry_on.then(|| carry_on::terms(prompt.clone(), &args.limits));
    if prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
        return Err(CommandError::new(Kind::Usage, "the prompt is empty")
            .hint("leave --prompt away to start the agent without one"));
    }
    let subject = args.topic.take();
    if subject.is_some() && prompt.is_none() && context.is_none() {
        return Err(CommandError::new(Kind::Usage, "there is nothing that --topic could be about")
            .hint("give --prompt, --context or --recall with it"));
    }
    Ok(StartRequest {
        id: String::new(),
        program: OsText::from(&program),
        args: args.args.iter().map(OsText::from).collect(),
        agent: args.agent.clone(),
        hooks: !args.no_hooks,
        name: args.name.clone(),
        cwd: OsText::from(cwd),
        env: own_environment(),
        extra_env: extra_environment(&args.env),
        cols: args.size.cols,
        rows: args.size.rows,
        record: args.record.map_or(0, |mib| u64::from(mib) * MIB),
        open_files: open_files(),
        umask: umask(),
        startup: StartupRequest { prompt, context, sender: sender(), beacon: !args.no_beacon, subject },
        trust: args.trust,
        unattended: args.unattended,
        carry_on,
    })
}

/// The environment of this command.
pub(super) fn own_environment() -> Vec<(OsText, OsText)> {
    client::environment().iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// The variables that were asked for.
pub(super) fn extra_environment(pairs: &[(String, String)]) -> Vec<(OsText, OsText)> {
    pairs.iter().map(|(name, value)| (OsText::from(name), OsText::from(value))).collect()
}

/// This process's limit on open files; 0 if it has none.
pub(super) fn open_files() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(0)
}

/// What is known of the project.
fn recalled(cwd: &Path, task: Option<&str>) -> Result<Option<String>, CommandError> {
    let place = ContextPlace { session: None, cwd: OsText::from(cwd), inside: false };
    let request = ContextRequest { place, task: task.map(str::to_owned), told: true, budget: None };
    match client::call(&Request::Context(Box::new(request)))? {
        Response::Context(found) => Ok(Some(found.text.clone()).filter(|text| !text.is_empty())),
        _ => Err(super::unexpected()),
    }
}

/// Who starts it: a session of ours, or a person.
fn sender() -> String {
    let name = |variable: &str| std::env::var(variable).ok().filter(|name| !name.is_empty());
    name("OSTLER_SESSION").or_else(|| name("USER")).unwrap_or_else(|| "user".into())
}

fn read_context(file: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(MAX_CONTEXT + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|found| found.take(MAX_CONTEXT + 1).read_to_string(&mut text))
    };
    let name = file.display();
    read.map_err(|error| {
        CommandError::new(Kind::Usage, format!("the context {name} cannot be read: {error}"))
    })?;
    if text.len() as u64 > MAX_CONTEXT {
        let message = format!("the context {name} is longer than {MAX_CONTEXT} bytes");
        return Err(CommandError::new(Kind::Usage, message)
            .hint("give a shorter one, and name the files to read in it"));
    }
    Ok(text)
}

/// Waits until the agent has taken prompt and context, a person is needed, or it takes too long.
fn await_startup(session: &SessionInfo, deadline: Instant) -> Result<Vec<MessageInfo>, CommandError> {
    let mut awaited = Vec::new();
    let messages = messages_of(session)?;
    for message in messages.clone() {
        let wait = enough(&message, messages.len() == 1);
        let await_ = Request::Await { name: session.id.clone(), id: message.id.clone(), wait };
        awaited.push(loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match client::call_with(&await_, None, Some(left.min(GLANCE))) {
                Ok(Response::Message(message)) => break *message,
                Ok(_) => return Err(super::unexpected()),
                Err(error) if error.kind == Kind::TimedOut => {
                    if left.is_zero()
                        || status(&session.id)
                            .is_some_and(|session| needs_person(&session) || is_gone(&session))
                    {
                        break message;
                    }
                }
                Err(error) => return Err(error),
            }
        });
    }
    // What was waited for in vain may have come while the next one was.
    let alone = awaited.len() == 1;
    let open = awaited.iter().any(|message| message.proof < enough(message, alone));
    if open { messages_of(session) } else { Ok(awaited) }
}

/// What is proven of a message at best before the agent is given anything else: what its hook took goes with its next
/// turn, and nothing begins one where it is `alone`.
fn enough(message: &MessageInfo, alone: bool) -> Proof {
    if alone && message.way.as_deref() == Some("hook") { Proof::Seen } else { Proof::Submitted }
}

fn messages_of(session: &SessionInfo) -> Result<Vec<MessageInfo>, CommandError> {
    let list = Request::Messages { name: Some(session.id.clone()), all: true };
    let Response::Messages { messages } = client::call(&list)? else { return Err(super::unexpected()) };
    Ok(messages)
}

/// Waits until the agent is ready or has ended, a person is needed, nothing shows it, or it takes too long.
fn await_ready(session: &SessionInfo, deadline: Instant) -> Result<SessionInfo, CommandError> {
    let wait = Request::Wait { name: session.id.clone(), states: READY.to_vec() };
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match client::call_with(&wait, None, Some(left.min(GLANCE))) {
            Err(error) if error.kind == Kind::TimedOut => {}
            answer => return answer.and_then(super::session),
        }
        let seen = status(&session.id).unwrap_or_else(|| session.clone());
        if left.is_zero() || needs_person(&seen) || is_unrecognised(&seen) || is_gone(&seen) {
            return Ok(seen);
        }
    }
}

fn needs_person(session: &SessionInfo) -> bool {
    let since = jiff::Timestamp::now().duration_since(session.since);
    session.state == State::Blocked && !session.answering && since.as_secs() >= PATIENCE
}

/// Whether nothing that is known of the agent was on its screen for so long that it is taken as it is.
fn is_unrecognised(session: &SessionInfo) -> bool {
    session.state == State::Unknown && session.kind.as_deref() == Some("unrecognised")
}

/// Whether the agent's own process has ended, and what started it runs on.
fn is_gone(session: &SessionInfo) -> bool {
    session.state == State::Unknown && session.kind.as_deref() == Some("gone")
}

fn status(id: &str) -> Option<SessionInfo> {
    client::call(&Request::Status { name: id.to_owned() }).and_then(super::session).ok()
}

/// The session after the moment in which programs that cannot run die; one that is up has no such moment.
fn early(session: &SessionInfo, patience: Duration) -> SessionInfo {
    let up = [&READY[..], &[State::Blocked]].concat();
    let wait = Request::Wait { name: session.id.clone(), states: up };
    match client::call_with(&wait, None, Some(patience)) {
        Ok(Response::Session(session)) => *session,
        _ => status(&session.id).unwrap_or_else(|| session.clone()),
    }
}

/// This process's umask, read without changing it.
pub(super) fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o22)
}
