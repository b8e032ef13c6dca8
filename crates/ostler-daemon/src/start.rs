//! Starting a session.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ostler_agents::{Agent, FirstPrompt};
use ostler_core::SessionName;
use ostler_core::continuation::Terms;
use ostler_protocol::{ErrorKind, OsText, Problem, SessionInfo, StartRequest};
use ostler_screen::Size;
use ostler_store::{NewSession, Session};

use crate::session::{keep_environment, store_problem};
use crate::starter::{Asked, Inherited, Located, Starter};
use crate::{clock, settings, startup};

impl Starter {
    /// Starts what the request says, once: the same request again finds the session it started.
    pub(crate) async fn start(&self, request: StartRequest) -> Result<SessionInfo, Problem> {
        if let Some(session) = self.sessions.record(&request.id).await? {
            return self.begun_before(&session).await;
        }
        let cwd = PathBuf::from(OsString::from(request.cwd.clone()));
        let StartRequest { open_files, umask, .. } = request;
        let mut inherited = Inherited::new(&request.id, &request.env, &request.extra_env, open_files, umask);
        let asked = Asked::of(&request);
        let located = self.locate(&asked, &cwd, &inherited).await?;
        let session = self.record(&request, &asked, &cwd, &located).await?;
        let mut args: Vec<OsString> = request.args.into_iter().map(OsString::from).collect();
        let own_args = !args.is_empty();
        let prepared =
            self.prepare(&located, &asked, &session, request.trust, &mut args, &mut inherited).await;
        let mut abilities = match prepared {
            Ok(abilities) => abilities,
            Err(reason) => return Err(self.failed(&session.start.id, reason).await),
        };
        // An option of the user's may take every word behind it.
        let positional = |agent: &Agent| agent.preset.prompt.first == FirstPrompt::Arg;
        abilities.argument &= !(own_args && located.agent.as_deref().is_some_and(positional));
        let known = located.reachable();
        let recorded = startup::record(
            &self.home,
            &self.store,
            known,
            &session.start,
            &request.startup,
            abilities,
            &mut args,
        );
        if let Err(error) = recorded.await {
            return Err(self.failed(&session.start.id, store_problem(&error).message).await);
        }
        self.launch(session, located, args, asked.record, inherited).await
    }

    /// The terms of an agent that is carried on, with what the user's settings say.
    pub(crate) async fn completed(&self, terms: Terms, cwd: &Path) -> Terms {
        let (home, cwd) = (self.home.clone(), cwd.to_owned());
        let look = tokio::task::spawn_blocking(move || settings::load(&home, &cwd).carry_on);
        look.await.unwrap_or_default().complete(terms)
    }

    /// Records that the session is wanted, under a free name.
    async fn record(
        &self,
        request: &StartRequest,
        asked: &Asked,
        cwd: &Path,
        located: &Located,
    ) -> Result<Session, Problem> {
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
            agent: located.agent.as_deref().map(|agent| agent.name.clone()),
            agent_version: located.version.clone(),
            request: serde_json::to_string(asked).ok(),
        };
        if Path::new(&session.dir).as_os_str().as_bytes() != sessions.join(&request.id).as_os_str().as_bytes()
        {
            return Err(Problem::new(ErrorKind::Usage, "OSTLER_HOME is not valid UTF-8"));
        }
        let memory = match &request.carry_on {
            Some(wanted) => {
                let dir = sessions.join(&request.id);
                if let Err(error) = keep_environment(&dir, &request.env) {
                    tracing::warn!(%error, "checks will run in the daemon's environment");
                }
                ostler_session::begin_carried_on(self.completed(wanted.clone(), cwd).await, clock::now())
            }
            None => None,
        };
        let wanted = request.name.clone();
        let program = request.program.lossy();
        let recorded = self.store.run(move |store| {
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
            if let Some(memory) = &memory {
                store.session_remembers(&session.id, memory)?;
            }
            Ok(Session { memory, ..Session::new(session) })
        });
        recorded.await.map_err(|error| store_problem(&error))
    }
}
