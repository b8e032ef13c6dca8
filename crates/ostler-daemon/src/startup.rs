//! What an agent has to know and do from its start: recorded before it is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use ostler_agents::instructions::BlockId;
use ostler_agents::{Agent, FirstPrompt};
use ostler_core::beacon::{Beacon, Topic};
use ostler_core::queue::Priority;
use ostler_core::start_plan::{self, Abilities, Assignment, Part, Piece, StartupRoute, Wanted};
use ostler_protocol::StartupRequest;
use ostler_screen::SafeText;
use ostler_store::{ASSIGNMENT, NewMessage, NewSession, Store, StoreError, StoreHandle, Terms};

use crate::home::Home;
use crate::instructions_file::InstructionsFile;
use crate::project::Project;
use crate::{clock, settings};

/// Decides which way everything goes, records it, and adds to the arguments what goes there.
pub(crate) async fn record(
    home: &Arc<Home>,
    store: &StoreHandle,
    agent: Option<&Agent>,
    session: &NewSession,
    request: &StartupRequest,
    abilities: Abilities,
    args: &mut Vec<OsString>,
) -> Result<(), StoreError> {
    let time = clock::shown(clock::now()).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let usual = if request.prompt.is_some() { Topic::Assigned } else { Topic::ColdStart };
    let (topic, id) =
        request.subject.as_ref().map_or((usual, None), |subject| (subject.topic, subject.id.as_deref()));
    let beacon = Beacon { recipient: &session.name, sender: &request.sender, time: &time, topic, id };
    let beacon = if request.beacon { beacon.to_string() } else { String::new() };
    let (home, cwd) = (home.clone(), PathBuf::from(&session.cwd));
    let look = tokio::task::spawn_blocking(move || settings::load(&home, &cwd).delivery);
    let delivery = look.await.unwrap_or_default();
    let (context, work) = (request.context.as_deref(), request.prompt.as_deref());
    let file = agent.and_then(|agent| agent.preset.instructions.as_deref());
    let file = file.filter(|_| delivery.assignment_file && abilities.hook.is_none());
    let assignment = match file.and_then(|file| Some((file, start_plan::assignment(file, context, work)?))) {
        Some((file, assignment)) => put_assignment(store, session, file, assignment).await?,
        None => None,
    };
    let wanted = match &assignment {
        Some(assignment) => Wanted { beacon: &beacon, context: None, work: Some(&assignment.pointer) },
        None => Wanted { beacon: &beacon, context, work },
    };
    let mut pieces = start_plan::plan(abilities, wanted);
    for piece in &mut pieces {
        piece.ack &= delivery.ack;
    }
    for piece in pieces.iter_mut().filter(|piece| piece.way == StartupRoute::Argument) {
        // On a command line nothing is known to keep a text from being a command; in the composer something is.
        let text = typed(piece, session);
        if agent.is_some_and(|agent| agent.preset.input.literally(&text) != text) {
            piece.way = StartupRoute::Message;
        }
    }
    for piece in pieces.iter().filter(|piece| piece.way == StartupRoute::Argument) {
        let prompt =
            agent.map(|agent| &agent.preset.prompt).filter(|prompt| prompt.first == FirstPrompt::Flag);
        args.extend(prompt.and_then(|prompt| prompt.flag.as_ref()).map(OsString::from));
        args.push(OsString::from(typed(piece, session)));
    }
    let messages: Vec<NewMessage> =
        pieces.iter().zip(1..).map(|(piece, seq)| message(session, request, piece, seq)).collect();
    let add =
        move |store: &mut Store| messages.iter().try_for_each(|message| store.add_message(message).map(drop));
    store.run(add).await
}

/// Puts what an agent should know and do into its instructions file; nothing if that cannot be changed, and it goes another
/// way.
async fn put_assignment(
    store: &StoreHandle,
    session: &NewSession,
    file: &str,
    assignment: Assignment,
) -> Result<Option<Assignment>, StoreError> {
    let Ok(block) = BlockId::new(&session.id) else { return Ok(None) };
    let (id, text, at) = (session.id.clone(), assignment.text.clone(), clock::now());
    // Before it is there, so that it is taken out again whatever happens meanwhile.
    let note = move |store: &mut Store| {
        store.set_pending_context(&id, ASSIGNMENT, &text, at)?;
        store.put_in_file(&id, ASSIGNMENT, true)
    };
    store.run(note).await?;
    let (cwd, file, text) = (PathBuf::from(&session.cwd), file.to_owned(), assignment.text.clone());
    let put = move || InstructionsFile::new(&Project::of(&cwd).root, &file).put(&block, &text);
    let problem = match tokio::task::spawn_blocking(put).await {
        Ok(Ok(_)) => return Ok(Some(assignment)),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(session = session.name, problem, "the assignment is not in the instructions file");
    let id = session.id.clone();
    let forget = move |store: &mut Store| {
        store.put_in_file(&id, ASSIGNMENT, false)?;
        store.end_pending_context(&id, ASSIGNMENT)
    };
    store.run(forget).await?;
    Ok(None)
}

/// The id of a piece's message: short, because the agent may have to repeat it.
fn id(session: &NewSession, part: Part) -> String {
    let skip = session.id.len().saturating_sub(6);
    format!("{}-{}", part.as_str(), session.id.get(skip..).unwrap_or_default())
}

/// What stands on the command line, which is what the delivery looks for.
fn typed(piece: &Piece, session: &NewSession) -> String {
    let text = SafeText::new(piece.text.trim_end());
    if piece.ack {
        ostler_session::with_request(&text, &id(session, piece.part)).to_string()
    } else {
        text.to_string()
    }
}

fn message(session: &NewSession, request: &StartupRequest, piece: &Piece, seq: u64) -> NewMessage {
    NewMessage {
        session: session.id.clone(),
        id: id(session, piece.part),
        seq,
        body: piece.text.clone().into_bytes(),
        terms: Terms {
            sender: request.sender.clone(),
            priority: if piece.part == Part::Context { Priority::Startup } else { Priority::Normal },
            ack: piece.ack,
            way: piece.way,
            ..Terms::default()
        },
        at: clock::now(),
    }
}
