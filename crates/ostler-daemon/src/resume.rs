//! Resuming a session: it has ended, and gets another process under the same name, with the same queue and history.
//!
//! Each process has a directory, a holder and a ledger of its own. Where the agent can take up its last conversation
//! and that is known, it does; otherwise it begins a new one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_agents::{Preset, SessionSpec};
use ostler_protocol::{Code, ErrorKind, OsText, Problem, ResumeRequest, SessionInfo};
use ostler_session::Carried;
use ostler_store::{NewProcess, Session};

use crate::session::{Command, store_problem};
use crate::sessions::Found;
use crate::starter::{Asked, Inherited, Starter};
use crate::{clock, survivors};

/// How long the actor of a process that has ended may take to leave; its holder may still be killing.
const FAREWELL: Duration = Duration::from_secs(35);

impl Starter {
    /// Gives a session that has ended another process, once: the same request again finds that process.
    pub(crate) async fn resume(&self, request: ResumeRequest) -> Result<SessionInfo, Problem> {
        let session = self.resumable(&request).await?;
        if session.resumed_by.as_deref() == Some(&request.id) {
            return self.begun_before(&session).await;
        }
        let ResumeRequest { open_files, umask, .. } = request;
        let id = session.start.id.clone();
        let cwd = PathBuf::from(&session.start.cwd);
        let mut inherited = Inherited::new(&id, &request.env, &request.extra_env, open_files, umask);
        let mut asked = asked(&session);
        if let Some(args) = &request.args {
            asked.args.clone_from(args);
        }
        let located = self.locate(&asked, &cwd, &inherited).await?;
        let carried = session.memory.as_deref().and_then(Carried::read);
        let known = carried.as_ref().and_then(|carried| carried.conversation.clone());
        let resume = located.reachable().map(|agent| &*agent.preset.session.resume);
        let says_which =
            located.reachable().is_some_and(|agent| names_conversation(&agent.preset, &asked.args));
        let resume = resume.filter(|words| !words.is_empty() && !request.fresh && !says_which).zip(known);
        let mut args: Vec<OsString> = match &resume {
            Some((words, id)) => words.iter().map(|word| word.replace("{id}", id).into()).collect(),
            None => Vec::new(),
        };
        args.extend(asked.args.iter().cloned().map(OsString::from));
        let number = session.process + 1;
        let process = NewProcess {
            session: id.clone(),
            number,
            resumed_by: request.id.clone(),
            dir: self.home.sessions().join(&id).join(number.to_string()).display().to_string(),
            agent_version: located.version.clone(),
            cols: session.start.cols,
            rows: session.start.rows,
            memory: carried.and_then(|carried| carried.into_memory(resume.is_some(), clock::now())),
            conversation: resume.map(|(_, id)| id),
            at: clock::now(),
        };
        let session = self.begin(process).await?;
        let prepared = self.prepare(&located, &asked, &session, false, &mut args, &mut inherited).await;
        if let Err(reason) = prepared {
            return Err(self.failed(&id, reason).await);
        }
        self.launch(session, located, args, asked.record, inherited).await
    }

    /// The session that is meant, if it can be resumed, or was by this very request.
    async fn resumable(&self, request: &ResumeRequest) -> Result<Session, Problem> {
        let id = match self.sessions.find(&request.name).await? {
            Found::Live(handle) => {
                let record = self.sessions.existing_record(&handle.id).await?;
                if record.resumed_by.as_deref() == Some(&request.id) {
                    return Ok(record);
                }
                // Asked when it has found its holder, or found that there is none: the record may be of before a crash.
                let runs_on = handle.ask(Command::Info).await.is_ok_and(|info| info.exit.is_none());
                if runs_on {
                    return Err(runs(&record));
                }
                // It has ended, and its actor sees to the rest.
                if tokio::time::timeout(FAREWELL, handle.gone()).await.is_err() {
                    let message = format!("session {:?} has not come to its end yet", record.start.name);
                    return Err(Problem::new(ErrorKind::Failed, message).hint("try again in a moment"));
                }
                handle.id
            }
            Found::Ended(session) => session.start.id,
        };
        if self.sessions.is_being_stopped(&id) {
            let message = format!("session {:?} is being stopped", request.name);
            return Err(Problem::new(ErrorKind::Conflict, message).hint("try again in a moment"));
        }
        let session = self.sessions.existing_record(&id).await?;
        if session.ending.is_none() && session.resumed_by.as_deref() != Some(&request.id) {
            return Err(runs(&session));
        }
        let lost = session.ending.as_ref().is_some_and(|ending| ending.kind == "lost");
        let left = if lost { survivors::find(&id) } else { Vec::new() };
        if left.is_empty() {
            return Ok(session);
        }
        let pids: Vec<String> = left.iter().map(|process| process.pid.to_string()).collect();
        let name = &session.start.name;
        let message =
            format!("processes of session {name:?} outlived its terminal and still run: {}", pids.join(", "));
        Err(Problem::new(ErrorKind::Conflict, message)
            .code(Code::SessionHasSurvivors)
            .about("session", name)
            .about("pids", pids.join(" ")))
    }

    /// Records the process before anything is started.
    async fn begin(&self, process: NewProcess) -> Result<Session, Problem> {
        let id = process.session.clone();
        let recorded = self.store.run(move |store| {
            let begun = store.begin_process(&process)?;
            Ok((begun, store.session(&process.session)?))
        });
        match recorded.await.map_err(|error| store_problem(&error))? {
            (true, Some(session)) => Ok(session),
            (false, Some(session)) => Err(runs(&session)),
            (_, None) => Err(Problem::new(ErrorKind::NotFound, format!("session {id:?} was forgotten"))
                .code(Code::SessionNotFound)
                .about("session", id)),
        }
    }
}

/// Whether the user's own arguments say which conversation it is: they are not contradicted.
fn names_conversation(preset: &Preset, args: &[OsText]) -> bool {
    let SessionSpec { id, resume, latest, fork, .. } = &preset.session;
    let words: Vec<&str> = [id, resume, latest, fork]
        .into_iter()
        .filter_map(|words| words.first())
        .map(String::as_str)
        .collect();
    args.iter().map(OsText::lossy).any(|arg| {
        let name = arg.split_once('=').map_or(arg.as_str(), |(name, _)| name);
        words.contains(&name)
    })
}

fn runs(session: &Session) -> Problem {
    let name = &session.start.name;
    Problem::new(ErrorKind::Conflict, format!("session {name:?} runs"))
        .code(Code::SessionRuns)
        .about("session", name)
}

/// What the session was asked to run. Sessions of earlier versions recorded only what people are shown.
fn asked(session: &Session) -> Asked {
    let recorded = session.start.request.as_deref().and_then(|request| serde_json::from_str(request).ok());
    recorded.unwrap_or_else(|| {
        let mut words = session.start.command.iter().map(|word| OsText::from(word.as_str()));
        Asked {
            program: words.next().unwrap_or_else(|| OsText::from("")),
            args: words.collect(),
            agent: None,
            hooks: true,
            unattended: crate::preparation::is_unattended(Path::new(&session.start.dir)),
            record: 0,
        }
    })
}
