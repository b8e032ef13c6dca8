//! Starting a session.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_agents::{Agent, FirstPrompt, Launch};
use ostler_core::start_plan::Abilities;
use ostler_core::{SessionName, environment};
use ostler_hold::{
    DAEMON_MARK, DEFAULT_RING, LaunchError, Launched, Launcher, SESSION_MARK, SessionDir, Spec,
};
use ostler_protocol::{Code, ErrorKind, OsText, Problem, SessionInfo, StartRequest};
use ostler_screen::Size;
use ostler_store::{Ending, NewSession, Session, StoreError, StoreHandle};

use crate::home::Home;
use crate::preparation::{self, Found, Manner, Why};
use crate::session::{Command, Origin, ended_info, store_problem};
use crate::sessions::Sessions;
use crate::{clock, hooks, identity, left_blocks, policy, startup};

/// How many ended sessions are kept for a look back.
const KEEP_ENDED: u32 = 100;

/// How often a session that an interrupted request started is looked at, and how long between the looks.
const LOOKS: u32 = 250;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

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

/// Starts sessions.
#[derive(Debug, Clone)]
pub(crate) struct Starter {
    pub(crate) home: Arc<Home>,
    pub(crate) store: StoreHandle,
    pub(crate) sessions: Sessions,
    pub(crate) launcher: Arc<Launcher>,
    /// The program that hooks are to call.
    pub(crate) executable: Arc<Path>,
}

impl Starter {
    /// Starts what the request says, once: the same request again finds the session it started.
    pub(crate) async fn start(&self, request: StartRequest) -> Result<SessionInfo, Problem> {
        if let Some(session) = self.known(&request.id).await? {
            return Ok(session);
        }
        let cwd = PathBuf::from(OsString::from(request.cwd.clone()));
        let mut env = environment(&request);
        let path = env
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.clone())
            .unwrap_or_default();
        let (home, asked, dir) = (self.home.clone(), request.program.clone(), cwd.clone());
        let told = request.agent.clone();
        // A dead network file system must not hold up the others.
        let look = move || {
            let entered = enterable(&dir);
            entered.and_then(|()| preparation::find(&home, &asked, told.as_deref(), &path, &dir))
        };
        let found = tokio::task::spawn_blocking(look).await;
        let Found { program, argv0, mut agent } =
            found.map_err(|error| Problem::new(ErrorKind::Internal, error.to_string()))??;
        let mut version = None;
        let told = agent.as_ref().is_some_and(|candidate| candidate.why == Why::Told);
        if let Some(candidate) = agent.as_ref().filter(|_| !told) {
            let identity = identity::identify(&self.home, &candidate.agent, &program, &env, &cwd).await;
            if identity.is_agent {
                version = identity.version.map(|version| version.to_string());
            } else if candidate.why == Why::Named {
                return Err(preparation::wrong_program(&candidate.agent, &program, &identity));
            } else {
                agent = None;
            }
        }
        let agent = agent.map(|candidate| candidate.agent);
        let session =
            self.record(&request, &cwd, agent.as_deref().map(|agent| &*agent.name), version).await?;
        let mut args: Vec<OsString> = request.args.into_iter().map(OsString::from).collect();
        let own_args = !args.is_empty();
        let mut abilities = Abilities::default();
        if let Some(agent) = agent.as_ref().filter(|_| told) {
            env = Launch::new(&agent.preset, false, None).environment(&env);
        } else if let Some(agent) = &agent {
            let trusted = match self.trust(&cwd, request.trust).await {
                Ok(trusted) => trusted,
                Err(error) => {
                    let reason = format!("the trust cannot be recorded: {error}");
                    return Err(self.failed(&session.id, reason).await);
                }
            };
            let manner = Manner { hooks: request.hooks, unattended: request.unattended, trusted };
            match preparation::prepare(
                &self.store,
                &self.executable,
                agent,
                &session,
                &mut args,
                &mut env,
                manner,
            )
            .await
            {
                Ok(known) => abilities = known,
                Err(error) => {
                    return Err(self
                        .failed(&session.id, format!("its hooks cannot be set up: {error}"))
                        .await);
                }
            }
        }
        // An option of the user's may take every word behind it.
        let positional = |agent: &Agent| agent.preset.prompt.first == FirstPrompt::Arg;
        abilities.argument &= !(own_args && agent.as_deref().is_some_and(positional));
        // Behind a wrapper nobody knows whose arguments they would be.
        let known = agent.as_deref().filter(|_| !told);
        if let Err(error) =
            startup::record(&self.home, &self.store, known, &session, &request.startup, abilities, &mut args)
                .await
        {
            return Err(self.failed(&session.id, store_problem(&error).message).await);
        }
        let size = Size::clamped(request.cols, request.rows);
        let spec = Spec {
            program,
            argv0,
            args,
            agent: session.agent.clone().unwrap_or_default(),
            agent_version: session.agent_version.clone().unwrap_or_default(),
            cwd,
            cols: size.cols,
            rows: size.rows,
            ring: DEFAULT_RING,
            record: request.record,
            open_files: request.open_files,
            umask: request.umask,
        };
        self.launch(session, spec, env).await
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

    /// The session that an earlier try of the same request started.
    async fn known(&self, id: &str) -> Result<Option<SessionInfo>, Problem> {
        let found = self.sessions.record(id).await?;
        let Some(session) = found else { return Ok(None) };
        // Its holder may be on the way still, if the daemon that started it was killed a moment ago.
        for _ in 0..LOOKS {
            let Some(handle) = self.sessions.get(id) else { break };
            match handle.ask(Command::Info).await {
                Ok(info) if info.pid.is_some() || info.exit.is_some() => return Ok(Some(info)),
                Ok(_) => tokio::time::sleep(BETWEEN_LOOKS).await,
                Err(_) => break,
            }
        }
        let found = self.sessions.record(id).await?;
        let session = found.unwrap_or(session);
        Ok(Some(ended_info(&session)))
    }

    /// Records that the session is wanted, under a free name.
    async fn record(
        &self,
        request: &StartRequest,
        cwd: &Path,
        agent: Option<&str>,
        agent_version: Option<String>,
    ) -> Result<NewSession, Problem> {
        let sessions = self.home.sessions();
        let command: Vec<String> =
            std::iter::once(&request.program).chain(&request.args).map(OsText::lossy).collect();
        let size = Size::clamped(request.cols, request.rows);
        let session = NewSession {
            id: request.id.clone(),
            name: String::new(),
            cwd: cwd.display().to_string(),
            cols: size.cols,
            rows: size.rows,
            dir: sessions.join(&request.id).display().to_string(),
            created: clock::now(),
            command,
            agent: agent.map(str::to_owned),
            agent_version,
        };
        if Path::new(&session.dir).as_os_str().as_bytes() != sessions.join(&request.id).as_os_str().as_bytes()
        {
            return Err(Problem::new(ErrorKind::Usage, "OSTLER_HOME is not valid UTF-8"));
        }
        let wanted = request.name.clone();
        let program = request.program.lossy();
        self.store
            .run(move |store| {
                let mut session = session;
                let name = if let Some(name) = wanted {
                    name
                } else {
                    let taken: Vec<String> =
                        store.sessions(false)?.into_iter().map(|session| session.start.name).collect();
                    SessionName::for_program(&program)
                        .first_free(|name| taken.iter().any(|taken| taken == name.as_str()))
                };
                session.name = name.to_string();
                store.create_session(&session)?;
                Ok(session)
            })
            .await
            .map_err(|error| store_problem(&error))
    }

    async fn launch(
        &self,
        session: NewSession,
        spec: Spec,
        mut env: Vec<(OsString, OsString)>,
    ) -> Result<SessionInfo, Problem> {
        env.push(("OSTLER_SESSION".into(), session.name.clone().into()));
        let (launcher, dir) = (self.launcher.clone(), SessionDir::new(&session.dir));
        let home = self.home.clone();
        let outcome = tokio::task::spawn_blocking(move || {
            let own = hooks::environment(&home, &dir).map_err(LaunchError::Directory)?;
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
        Err(self.failed(&session.id, reason).await)
    }

    /// Records that a session could not be started, and why.
    async fn failed(&self, id: &str, reason: String) -> Problem {
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
    async fn adopt(&self, session: NewSession, launched: Launched) -> Result<SessionInfo, Problem> {
        let (id, pid, at) = (session.id.clone(), launched.program, clock::now());
        // If this cannot be recorded now, the actor does so when it meets the holder.
        let recorded = self.store.run(move |store| store.session_started(&id, pid, at)).await;
        let pid = recorded.is_ok().then_some(pid);
        let record = Session { start: session, pid, stop_requested: false, ending: None, memory: None };
        let handle = self.sessions.spawn_actor(record.clone(), Origin::Launched(launched.holder));
        tokio::spawn(left_blocks::take_out_of_ended(self.home.clone(), self.store.clone()));
        self.forget_old().await;
        match handle.ask(Command::Info).await {
            Ok(info) => Ok(info),
            // It was a short one.
            Err(_) => self.ended(&record).await,
        }
    }

    async fn ended(&self, record: &Session) -> Result<SessionInfo, Problem> {
        let found = self.sessions.record(&record.start.id).await?;
        Ok(ended_info(found.as_ref().unwrap_or(record)))
    }

    /// Keeps the number of ended sessions bounded.
    async fn forget_old(&self) {
        let forgotten: Result<Vec<String>, StoreError> =
            self.store.run(|store| store.forget_ended(KEEP_ENDED)).await;
        for dir in forgotten.unwrap_or_default() {
            // Only what we made: the directory of a session lies directly in ours.
            if Path::new(&dir).parent() == Some(&self.home.sessions()) {
                let _ = std::fs::remove_dir_all(dir);
            }
        }
    }
}

/// The caller's environment without what would mislead the program, and with what it should know.
fn environment(request: &StartRequest) -> Vec<(OsString, OsString)> {
    let inherited = request.env.iter().filter(|(name, value)| {
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
        (text(SESSION_MARK), text(&request.id)),
    ];
    inherited
        .chain(&own)
        .chain(&request.extra_env)
        .map(|(name, value)| (OsString::from(name.clone()), OsString::from(value.clone())))
        .collect()
}
