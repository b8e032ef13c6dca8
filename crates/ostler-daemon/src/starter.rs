//! What every start has in common: the program is found and prepared, launched, and given to an actor.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_agents::{Agent, Launch};
use ostler_core::start_plan::Abilities;
use ostler_core::{Wall, environment};
use ostler_hold::{
    DAEMON_MARK, DEFAULT_RING, LaunchError, Launched, Launcher, SESSION_MARK, SessionDir, Spec, cgroup,
};
use ostler_protocol::{Code, ErrorKind, OsText, Problem, SessionInfo, StartRequest};
use ostler_store::{Ending, Session, StoreError, StoreHandle};
use serde::{Deserialize, Serialize};

use crate::home::Home;
use crate::preparation::{self, Found, Manner, Why};
use crate::session::{Command, Origin, ended_info};
use crate::sessions::Sessions;
use crate::{clock, hooks, identity, left_blocks, policy, settings, unrecorded};

/// How many ended sessions are kept for a look back.
const KEEP_ENDED: u32 = 100;
/// What is older than this is forgotten.
const AGE: Duration = Duration::from_hours(30 * 24);

/// How often a session that an interrupted request started is looked at, and how long between the looks.
const LOOKS: u32 = 250;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Starts sessions, and resumes them.
#[derive(Debug, Clone)]
pub(crate) struct Starter {
    pub(crate) home: Arc<Home>,
    pub(crate) store: StoreHandle,
    pub(crate) sessions: Sessions,
    pub(crate) launcher: Arc<Launcher>,
    /// The program that hooks are to call.
    pub(crate) executable: Arc<Path>,
}

/// What to run, as it was asked for. Recorded with the session, so that it can be run again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// The program: a path, or a name to be found.
    pub(crate) program: OsText,
    /// The user's arguments.
    pub(crate) args: Vec<OsText>,
    /// The agent that the program is, if the user says so.
    pub(crate) agent: Option<String>,
    /// Whether the agent's hooks are set up.
    pub(crate) hooks: bool,
    /// The agent works without a person who approves.
    pub(crate) unattended: bool,
    /// Most bytes of recording; 0 for none.
    pub(crate) record: u64,
}

impl Asked {
    pub(crate) fn of(request: &StartRequest) -> Self {
        let StartRequest { program, args, agent, hooks, unattended, record, .. } = request.clone();
        Self { program, args, agent, hooks, unattended, record }
    }
}

/// What a program inherits from whoever starts it.
#[derive(Debug)]
pub(crate) struct Inherited {
    /// Its environment.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// The limit on open files; 0 if it is not known.
    pub(crate) open_files: u64,
    pub(crate) umask: u32,
}

impl Inherited {
    /// The caller's environment without what would mislead the program, and with what it should know.
    pub(crate) fn new(
        session: &str,
        env: &[(OsText, OsText)],
        extra_env: &[(OsText, OsText)],
        open_files: u64,
        umask: u32,
    ) -> Self {
        let inherited = env.iter().filter(|(name, value)| {
            !environment::is_dropped(name.as_bytes(), value.as_bytes())
                && ![SESSION_MARK, DAEMON_MARK]
                    .iter()
                    .chain(&hooks::VARIABLES)
                    .any(|mark| name.as_bytes() == mark.as_bytes())
        });
        let text = |text: &str| OsText::from(text);
        let own = [
            (text("TERM"), text("xterm-256color")),
            (text("COLORTERM"), text("truecolor")),
            (text(SESSION_MARK), text(session)),
        ];
        let env = inherited
            .chain(&own)
            .chain(extra_env)
            .map(|(name, value)| (OsString::from(name.clone()), OsString::from(value.clone())))
            .collect();
        Self { env, open_files, umask }
    }

    fn path(&self) -> OsString {
        let path = self.env.iter().rev().find(|(name, _)| name == "PATH");
        path.map(|(_, value)| value.clone()).unwrap_or_default()
    }
}

/// What happened before is forgotten.
pub(crate) fn oldest() -> Wall {
    Wall(clock::now().0.saturating_sub(u64::try_from(AGE.as_millis()).unwrap_or(u64::MAX)))
}

/// A program that can be run.
#[derive(Debug)]
pub(crate) struct Located {
    /// Its file.
    pub(crate) program: PathBuf,
    /// The name it is called by.
    pub(crate) argv0: OsString,
    /// The agent it is.
    pub(crate) agent: Option<Arc<Agent>>,
    /// The user says that it is that agent: it may be behind a wrapper, and nobody knows whose arguments are whose.
    pub(crate) told: bool,
    /// The agent's version, where it is known.
    pub(crate) version: Option<String>,
}

impl Located {
    /// The agent, where its arguments are known to reach it.
    pub(crate) fn reachable(&self) -> Option<&Agent> {
        self.agent.as_deref().filter(|_| !self.told)
    }
}

/// Whether a program can be started in a directory.
fn enterable(dir: &Path) -> Result<(), Problem> {
    let shown = dir.display();
    let problem = match rustix::fs::access(dir.join("."), rustix::fs::Access::EXEC_OK) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => format!("there is no directory {shown}"),
        Err(error) => format!("the directory {shown} cannot be entered: {error}"),
    };
    Err(Problem::new(ErrorKind::Usage, problem)
        .code(Code::DirectoryUnusable)
        .about("directory", shown.to_string()))
}

impl Starter {
    /// Finds the program, and asks it what it is.
    pub(crate) async fn locate(
        &self,
        asked: &Asked,
        cwd: &Path,
        inherited: &Inherited,
    ) -> Result<Located, Problem> {
        let (home, program, dir) = (self.home.clone(), asked.program.clone(), cwd.to_owned());
        let (told, path) = (asked.agent.clone(), inherited.path());
        // A dead network file system must not hold up the others.
        let look = move || {
            let entered = enterable(&dir);
            entered.and_then(|()| preparation::find(&home, &program, told.as_deref(), &path, &dir))
        };
        let found = tokio::task::spawn_blocking(look).await;
        let Found { program, argv0, agent } =
            found.map_err(|error| Problem::new(ErrorKind::Internal, error.to_string()))??;
        let told = agent.as_ref().is_some_and(|candidate| candidate.why == Why::Told);
        let (mut agent, why) = match agent {
            Some(candidate) => (Some(candidate.agent), Some(candidate.why)),
            None => (None, None),
        };
        let mut version = None;
        if let Some(candidate) = agent.clone().filter(|_| !told) {
            let identity = identity::identify(&self.home, &candidate, &program, &inherited.env, cwd).await;
            if identity.is_agent {
                version = identity.version.map(|version| version.to_string());
            } else if why == Some(Why::Named) {
                return Err(preparation::wrong_program(&candidate, &program, &identity));
            } else {
                agent = None;
            }
        }
        Ok(Located { program, argv0, agent, told, version })
    }

    /// Adds what the agent's preset says to arguments and environment; returns what the agent can take at its start,
    /// or why it cannot be started.
    pub(crate) async fn prepare(
        &self,
        located: &Located,
        asked: &Asked,
        session: &Session,
        trust: bool,
        args: &mut Vec<OsString>,
        inherited: &mut Inherited,
    ) -> Result<Abilities, String> {
        let env = &mut inherited.env;
        let Some(agent) = &located.agent else { return Ok(Abilities::default()) };
        if located.told {
            *env = Launch::new(&agent.preset, false, None).environment(env);
            return Ok(Abilities::default());
        }
        let trusted = self.trust(Path::new(&session.start.cwd), trust).await;
        let trusted = trusted.map_err(|error| format!("the trust cannot be recorded: {error}"))?;
        let (home, folder) = (self.home.clone(), PathBuf::from(&session.start.cwd));
        let settings = tokio::task::spawn_blocking(move || settings::load(&home, &folder).tools).await;
        let tools = settings.unwrap_or_default().register;
        let manner = Manner { hooks: asked.hooks, unattended: asked.unattended, trusted, tools };
        preparation::prepare(&self.store, &self.executable, agent, &session.start, args, env, manner)
            .await
            .map_err(|error| format!("its hooks cannot be set up: {error}"))
    }

    /// Whether a folder is trusted, from now on if the user says so.
    async fn trust(&self, folder: &Path, said: bool) -> io::Result<bool> {
        let (home, folder) = (self.home.clone(), folder.to_owned());
        let look = move || {
            if said {
                policy::trust_folder(&home, &folder)?;
            }
            Ok(policy::is_trusted(&home, &folder))
        };
        tokio::task::spawn_blocking(look).await.map_err(io::Error::other)?
    }

    /// Launches the program of a session that is recorded, and gives it to an actor.
    pub(crate) async fn launch(
        &self,
        session: Session,
        located: Located,
        args: Vec<OsString>,
        record: u64,
        inherited: Inherited,
    ) -> Result<SessionInfo, Problem> {
        let Inherited { mut env, open_files, umask } = inherited;
        let start = &session.start;
        let spec = Spec {
            program: located.program,
            argv0: located.argv0,
            args,
            agent: start.agent.clone().unwrap_or_default(),
            agent_version: start.agent_version.clone().unwrap_or_default(),
            cwd: PathBuf::from(&start.cwd),
            cols: start.cols,
            rows: start.rows,
            ring: DEFAULT_RING,
            record,
            open_files,
            umask,
        };
        env.push(("OSTLER_SESSION".into(), start.name.clone().into()));
        let (launcher, dir) = (self.launcher.clone(), SessionDir::new(&start.dir));
        let (home, start) = (self.home.clone(), start.clone());
        let outcome = tokio::task::spawn_blocking(move || {
            let own = hooks::environment(&home, &dir).map_err(LaunchError::Directory)?;
            unrecorded::write_down(&home, &start).map_err(LaunchError::Directory)?;
            // A home that was set for the program on purpose stays.
            let known = |name: &OsString| env.iter().any(|(known, _)| known == name);
            let own: Vec<_> =
                own.into_iter().filter(|(name, _)| name != "OSTLER_HOME" || !known(name)).collect();
            env.extend(own);
            launcher.launch(&dir, &spec, env)
        })
        .await;
        let reason = match outcome {
            Ok(Ok(running)) => return self.adopt(session, running).await,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        Err(self.failed(&session.start.id, reason).await)
    }

    /// Records that a session could not be started, and why.
    pub(crate) async fn failed(&self, id: &str, reason: String) -> Problem {
        let ending = Ending {
            kind: "failed".into(),
            status: None,
            signal: None,
            reason: Some(reason.clone()),
            at: clock::now(),
            output: 0,
            cpu_us: 0,
            max_rss_kib: 0,
        };
        let session = id.to_owned();
        let _ = self.store.run(move |store| store.session_ended(&session, &ending)).await;
        Problem::new(ErrorKind::Failed, reason).code(Code::StartFailed).about("session", id)
    }

    /// Gives a session whose program runs to an actor.
    async fn adopt(&self, mut session: Session, launched: Launched) -> Result<SessionInfo, Problem> {
        let (id, pid, at) = (session.start.id.clone(), launched.program, clock::now());
        // If this cannot be recorded now, the actor does so when it meets the holder.
        let recorded = self.store.run(move |store| store.session_started(&id, pid, at)).await;
        session.pid = recorded.is_ok().then_some(pid);
        let handle = self.sessions.spawn_actor(session.clone(), Origin::Launched(launched.holder));
        tokio::spawn(left_blocks::take_out_of_ended(self.home.clone(), self.store.clone()));
        self.forget_old().await;
        match handle.ask(Command::Info).await {
            Ok(info) => Ok(info),
            // It was a short one.
            Err(_) => self.ended(&session).await,
        }
    }

    /// The session that an earlier try of the same request started, when it is known to run or to have ended.
    pub(crate) async fn begun_before(&self, session: &Session) -> Result<SessionInfo, Problem> {
        // Its holder may be on the way still, if the daemon that started it was killed a moment ago.
        for _ in 0..LOOKS {
            let Some(handle) = self.sessions.get(&session.start.id) else { break };
            match handle.ask(Command::Info).await {
                Ok(info) if info.pid.is_some() || info.exit.is_some() => return Ok(info),
                Ok(_) => tokio::time::sleep(BETWEEN_LOOKS).await,
                Err(_) => break,
            }
        }
        self.ended(session).await
    }

    async fn ended(&self, session: &Session) -> Result<SessionInfo, Problem> {
        let found = self.sessions.record(&session.start.id).await?;
        Ok(ended_info(found.as_ref().unwrap_or(session)))
    }

    /// Keeps the number of ended sessions bounded, and forgets those that ended long ago.
    pub(crate) async fn forget_old(&self) {
        let since = oldest();
        let forgotten: Result<Vec<String>, StoreError> =
            self.store.run(move |store| store.forget_ended(KEEP_ENDED, since)).await;
        for id in forgotten.unwrap_or_default() {
            // Only what we made: a client may have called its session anything.
            let dir = self.home.sessions().join(&id);
            if dir.parent() == Some(&self.home.sessions()) && dir.file_name().is_some() {
                cgroup::remove(&SessionDir::new(&dir));
                let _ = std::fs::remove_dir_all(dir);
            }
        }
    }
}
