//! The services of a daemon, made and joined once. Whoever needs one is handed that one, not all of them.

use std::path::Path;
use std::sync::Arc;

use ostler_store::StoreHandle;
use ostler_store::shared::AnyShared;
use tokio::sync::Notify;

use crate::context::ContextAssembler;
use crate::continuity::Records;
use crate::control::Control;
use crate::hints::Hints;
use crate::home::Home;
use crate::hook_reports::HookReports;
use crate::judge::Turns;
use crate::knowledge::Knowledge;
use crate::process::Looks;
use crate::programs;
use crate::runs::{Owner, Runs};
use crate::session::{self, Handles};
use crate::sessions::Sessions;
use crate::starter::Starter;
use crate::tool_callers::ToolCallers;
use crate::transcript::Transcripts;

/// What a daemon is made of.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    pub(crate) control: Control,
    pub(crate) home: Arc<Home>,
    /// This home's own database.
    pub(crate) store: StoreHandle,
    /// What may be shared with other machines: runs, breakers, records of projects.
    pub(crate) shared_store: AnyShared,
    pub(crate) sessions: Sessions,
    pub(crate) starter: Starter,
    pub(crate) runs: Runs,
    pub(crate) records: Records,
    pub(crate) context: ContextAssembler,
    pub(crate) hook_reports: HookReports,
    pub(crate) tool_callers: ToolCallers,
    pub(crate) knowledge: Arc<Knowledge>,
    /// Word of changed files.
    pub(crate) hints: Hints,
    /// Told when a session has ended.
    pub(crate) ended: Arc<Notify>,
}

/// What services are made from.
#[derive(Debug)]
pub(crate) struct Foundation<'a> {
    pub(crate) control: Control,
    pub(crate) home: Home,
    pub(crate) owner: Owner,
    pub(crate) store: StoreHandle,
    pub(crate) shared_store: AnyShared,
    /// Number of this daemon.
    pub(crate) epoch: u64,
    /// The program that hooks and the sandbox are to call.
    pub(crate) executable: &'a Path,
    /// Whether programs are told that their status is understood (OSC 7501).
    pub(crate) answer_status: bool,
}

impl Services {
    pub(crate) fn new(foundation: Foundation<'_>) -> Self {
        let Foundation { control, home, owner, store, shared_store, epoch, executable, answer_status } =
            foundation;
        let home = Arc::new(home);
        let hints = Hints::default();
        let ended = Arc::new(Notify::new());
        let knowledge = Arc::new(Knowledge::new(&home, answer_status));
        let records = Records::new(home.clone(), store.clone(), shared_store.clone());
        let context = ContextAssembler::new(home.clone(), store.clone(), records.clone());
        let sessions = Sessions::new(session::Services {
            home: home.clone(),
            store: store.clone(),
            epoch,
            sessions: Handles::default(),
            knowledge: knowledge.clone(),
            transcripts: Transcripts::new(hints.clone()),
            hints: hints.clone(),
            turns: Turns::default(),
            processes: Looks::default(),
            ended: ended.clone(),
            answer_status,
            records: records.clone(),
            context: context.clone(),
        });
        let starter = Starter {
            home: home.clone(),
            store: store.clone(),
            sessions: sessions.clone(),
            launcher: Arc::new(programs::launcher(executable)),
            executable: executable.into(),
        };
        let runs = Runs::new(owner, shared_store.clone(), starter.clone());
        let tool_callers = ToolCallers::new(sessions.clone());
        let hook_reports = HookReports::new(home.clone(), store.clone(), sessions.clone());
        Self {
            control,
            home,
            store,
            shared_store,
            sessions,
            starter,
            runs,
            records,
            context,
            hook_reports,
            tool_callers,
            knowledge,
            hints,
            ended,
        }
    }
}
