//! What agents ask for through ostler's tools.

mod messaging;
mod task;
mod waiting;

use ostler_protocol::{
    ContextPlace, ContextRequest, ErrorKind, MessageInfo, OsText, Problem, QuestionInfo, SaveRequest,
    ToolAnswer, ToolCall, ToolRequest,
};
use ostler_session::Says;
use tokio::sync::oneshot;

use self::waiting::awaited;
use super::{context, messages, questions};
use crate::services::Services;
use crate::session::{Command, SessionHandle};
use crate::sessions::Sessions;

/// How long the session may take to record what was said.
const RECORDING: std::time::Duration = std::time::Duration::from_secs(5);

/// Answers a call of an agent. Whatever is asked for, the call is a sign of life.
pub(crate) async fn call(services: &Services, request: ToolRequest) -> Result<ToolAnswer, Problem> {
    let ToolRequest { id, session, nonce, call } = request;
    let Services { home, store, sessions, records, context: assembler, runs, tool_callers, .. } = services;
    let caller = tool_callers.identify(&session, &nonce).await?;
    let says = says(sessions, &caller, &call).await;
    note(&caller, &id, says.as_ref().cloned().unwrap_or(Says::Nothing)).await?;
    says?;
    let place = || ContextPlace { session: Some(caller.id.clone()), cwd: OsText::from("/"), inside: true };
    match call {
        ToolCall::ReportProgress { .. }
        | ToolCall::RequestContinuation { .. }
        | ToolCall::WaitFor(_)
        | ToolCall::Misunderstood {} => Ok(ToolAnswer::Noted),
        ToolCall::Ack { id } => {
            messages::acknowledge(sessions, store, &id, Some(&caller.id)).await.map(as_message)
        }
        ToolCall::ContextLoad { task } => {
            let request = ContextRequest { place: place(), task, told: false, budget: None };
            let loaded = context::load(sessions, store, assembler, request).await?;
            Ok(ToolAnswer::Context(Box::new(loaded)))
        }
        ToolCall::AskOwner { question, choices } => {
            questions::ask(store, &caller.id, id, &question, choices).await.map(as_question)
        }
        ToolCall::TaskStatus {} => {
            task::of_session(runs, &caller.id).await.map(|task| ToolAnswer::Task(task.map(Box::new)))
        }
        ToolCall::SendMessage { to, text } => {
            messaging::send(home, sessions, store, &caller, id, &to, &text).await.map(as_message)
        }
        ToolCall::AskStatus { id } => questions::status(store, &caller.id, &id).await.map(as_question),
        ToolCall::ContextSave { summary, open } => {
            let request = SaveRequest { id, place: place(), summary, open };
            context::save(sessions, records, request).await.map(|_| ToolAnswer::Noted)
        }
    }
}

fn as_message(message: MessageInfo) -> ToolAnswer {
    ToolAnswer::Message(Box::new(message))
}

fn as_question(question: QuestionInfo) -> ToolAnswer {
    ToolAnswer::Question(Box::new(question))
}

/// What a call says to the session itself.
async fn says(sessions: &Sessions, caller: &SessionHandle, call: &ToolCall) -> Result<Says, Problem> {
    Ok(match call {
        ToolCall::ReportProgress { text, percent } => {
            Says::Progress { text: said("text", text)?, percent: *percent }
        }
        ToolCall::RequestContinuation { reason } => Says::Continue { reason: said("reason", reason)? },
        ToolCall::WaitFor(wanted) => Says::WaitsFor(awaited(sessions, caller, wanted.clone()).await?),
        _ => Says::Nothing,
    })
}

/// Tells the session of a call; where the agent says something, returns when that is recorded.
async fn note(caller: &SessionHandle, id: &str, says: Says) -> Result<(), Problem> {
    let (noted, recorded) = oneshot::channel();
    let noted = (says != Says::Nothing).then_some(noted);
    let waits = noted.is_some();
    let gone = || messages::ended(&caller.name);
    caller.send(Command::AgentCall { id: id.to_owned(), says, noted }).await.map_err(|_| gone())?;
    if !waits {
        return Ok(());
    }
    match tokio::time::timeout(RECORDING, recorded).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(gone()),
        Err(_) => Err(Problem::new(ErrorKind::Storage, "it cannot be recorded now").hint("try again later")),
    }
}

/// What an agent says in words: there are some.
fn said(name: &str, text: &str) -> Result<String, Problem> {
    if text.trim().is_empty() {
        return Err(Problem::new(ErrorKind::Usage, format!("{name} is empty")));
    }
    Ok(text.to_owned())
}
