//! Asking another agent what a screen shows.
//!
//! The judge is a program like any other: it runs in a directory of its own, without a terminal, knows nothing of
//! the session it is asked about but the screen, and is killed when nobody waits for it any more.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ostler_agents::choice::Installation;
use ostler_agents::{Agent, HeadlessCall, Registry};
use ostler_core::judge::{Answer, Event, Settings, Word, question};
use ostler_hold::create_private;
use ostler_screen::SafeText;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

use crate::errand::{self, Errand, Trouble};
use crate::{Home, choice, hooks, identity};

/// How many questions are open at a time, over all sessions: agents are large.
const AT_A_TIME: usize = 2;
/// How much of a strange answer is told, in characters.
const TOLD: usize = 80;

/// Who judges, and how patient everybody is; nobody by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Appointed {
    pub(crate) settings: Settings,
    /// The agent that is asked, or why there is none.
    pub(crate) agent: Option<Result<Arc<Agent>, String>>,
}

impl Appointed {
    /// Finds the agent that the settings name.
    pub(crate) fn new(settings: Settings, registry: &Registry) -> Self {
        let agent = settings.enabled.then(|| appoint(&settings.agent, registry));
        Self { settings, agent }
    }
}

/// The agent that is to judge, or why it cannot.
pub fn appoint(name: &str, registry: &Registry) -> Result<Arc<Agent>, String> {
    match registry.get(name) {
        Some(agent) if agent.preset.headless.is_some() => Ok(agent.clone()),
        Some(agent) => Err(format!(
            "{} cannot be used without a terminal: its preset says nothing under headless",
            agent.title()
        )),
        None => Err(format!("no agent is called {name:?}; ostler agents list shows those that are known")),
    }
}

/// The turns that questions wait for.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_A_TIME)))
    }
}

/// A question that is open. Dropping it calls it off.
#[derive(Debug)]
pub(crate) struct Question {
    number: u64,
    news: mpsc::Receiver<Event>,
    task: JoinHandle<()>,
    /// Whoever runs the agent sees when this end of the pipe is closed.
    _awaited: io::PipeWriter,
}

impl Question {
    /// Asks about a screen.
    pub(crate) fn ask(
        number: u64,
        screen: &str,
        agent: Arc<Agent>,
        home: Arc<Home>,
        turns: &Turns,
        limit: Duration,
    ) -> io::Result<Self> {
        let (until_closed, awaited) = io::pipe()?;
        let (sender, news) = mpsc::channel(2);
        let (prompt, turns) = (question(screen), turns.0.clone());
        let task = tokio::spawn(async move {
            // Nobody closes the semaphore.
            let Ok(turn) = turns.acquire_owned().await else { return };
            let asked = async {
                let ready = Ready::find(&home, &agent).await?;
                let _ = sender.send(Event::Put { question: number }).await;
                let ask = move || {
                    // The turn is over when the program is gone, whoever waits.
                    let _turn = turn;
                    ready.run(&agent, &prompt, limit, &until_closed)
                };
                tokio::task::spawn_blocking(ask).await.unwrap_or_else(|error| Err(error.to_string()))
            };
            let answer = asked.await;
            let _ = sender.send(Event::Answered { question: number, answer }).await;
        });
        Ok(Self { number, news, task, _awaited: awaited })
    }

    /// Waits for what becomes of it.
    pub(crate) async fn news(&mut self) -> Event {
        let lost = || Event::Answered { question: self.number, answer: Err("it came to nothing".into()) };
        self.news.recv().await.unwrap_or_else(lost)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A program that is really the agent, with all that it needs.
struct Ready {
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
}

impl Ready {
    async fn find(home: &Home, agent: &Agent) -> Result<Self, String> {
        let cwd = home.judge();
        create_private(&cwd).map_err(|error| format!("{}: {error}", cwd.display()))?;
        let env = environment(agent);
        let program = match choice::standing(agent, &env, &cwd) {
            Installation::Installed(program) => program,
            Installation::Missing(reason) | Installation::Wrong { reason, .. } => return Err(reason),
        };
        let identity = identity::identify(home, agent, &program, &env, &cwd).await;
        match identity.complaint() {
            Some(complaint) => Err(format!("{} is not {}: {complaint}", program.display(), agent.title())),
            None => Ok(Self { program, env, cwd }),
        }
    }

    /// Puts the question and waits for the answer.
    fn run(&self, agent: &Agent, prompt: &str, limit: Duration, until_closed: &io::PipeReader) -> Answer {
        let headless = agent.preset.headless.clone().unwrap_or_default();
        let Some(call) = HeadlessCall::new(&agent.preset, prompt) else {
            return Err("it cannot be used without a terminal".into());
        };
        let outcome = errand::run(&Errand {
            program: &self.program,
            args: &call.args,
            env: &self.env,
            cwd: &self.cwd,
            input: call.input.as_deref(),
            limit,
            until_closed: Some(until_closed),
        });
        if let Some(trouble) = outcome.trouble {
            let said = [&outcome.errors, &outcome.output].into_iter().find(|said| !said.is_empty());
            return Err(match said {
                Some(said) if matches!(trouble, Trouble::Failed(_)) => {
                    format!("{trouble}, and said {}", quoted(said))
                }
                _ => trouble.to_string(),
            });
        }
        let answer = headless.answer_in(&String::from_utf8_lossy(&outcome.output))?;
        Word::read(&answer).ok_or_else(|| format!("it said {} and not one word", quoted(answer.as_bytes())))
    }
}

/// The environment of the daemon, without what belongs to a session, so that its hooks speak for none.
fn environment(agent: &Agent) -> Vec<(OsString, OsString)> {
    let own = hooks::VARIABLES.iter().chain(&["OSTLER_SESSION"]);
    let foreign = |name: &OsString| own.clone().any(|own| name == own);
    let inherited: Vec<_> = std::env::vars_os().filter(|(name, _)| !foreign(name)).collect();
    let mut env = choice::environment_of(agent, &inherited);
    // Its answer is read by a program.
    env.retain(|(name, _)| name != "TERM" && name != "NO_COLOR");
    env.extend([("TERM".into(), "dumb".into()), ("NO_COLOR".into(), "1".into())]);
    env
}

/// The beginning of what was said, in one line.
fn quoted(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let safe = SafeText::new(said.trim());
    let line: String = safe.as_str().chars().take(TOLD).collect();
    format!("{line:?}")
}
