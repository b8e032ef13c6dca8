//! The session's record: what it is taken up from, and how its changes get there.

use ostler_core::Wall;
use ostler_hold::SessionDir;
use ostler_screen::Size;
use ostler_session::{Change, Saved, SavedMessage, SavedMessages, SavedScreen};
use ostler_store::{Intent, NewEvent, NewMessage, Session as Record, Store, StoreError};

use crate::session::{Services, by_file};
use crate::snapshot;

/// Earlier messages that are remembered when a session is taken up.
const REMEMBERED: u32 = 16;

/// Reads what the record has of a session.
pub(super) async fn load(
    services: &Services,
    record: &Record,
    dir: &SessionDir,
) -> Result<Saved, StoreError> {
    let (id, files) = (record.start.id.clone(), dir.path().to_owned());
    let messages = services.store.run(move |store| {
        let saved = |message: ostler_store::Message, writes: bool| {
            let body = store.message_body(&id, &message.id)?.unwrap_or_default();
            let last = if writes { store.last_write(&id, &message.id)? } else { None };
            let pointer = by_file::find(&files, &message.id).filter(|_| message.attempts > 0);
            Ok::<_, StoreError>(SavedMessage { message, body, last, pointer })
        };
        let open = store.open_messages(&id)?.into_iter().map(|message| saved(message, true));
        let taken = store.typed_messages(&id, REMEMBERED)?.into_iter().map(|message| saved(message, false));
        let essential = store.essential_messages(&id)?.into_iter().map(|message| saved(message, false));
        Ok(SavedMessages {
            open: open.collect::<Result<_, _>>()?,
            taken: taken.collect::<Result<_, _>>()?,
            essential: essential.collect::<Result<_, _>>()?,
            last_order: store.last_seq(&id)?,
            last_input: store.last_input(&id)?,
            last_prompt_write: store.last_prompt_write(&id)?,
            last_raw_write: store.last_raw_write(&id)?,
        })
    });
    let messages = messages.await?;
    let screen = snapshot::load(dir).map(|found| SavedScreen { screen: found.screen, offset: found.offset });
    Ok(Saved {
        id: record.start.id.clone(),
        created: record.began,
        agent: record.start.agent.clone(),
        size: Size::clamped(record.start.cols, record.start.rows),
        pid: record.pid,
        stop_requested: record.stop_requested,
        memory: record.memory.clone(),
        answer_status: services.answer_status,
        zone: jiff::tz::TimeZone::system(),
        screen,
        messages,
    })
}

/// Records one change of a session.
pub(super) fn apply(store: &mut Store, session: &str, change: &Change, at: Wall) -> Result<(), StoreError> {
    match change {
        Change::Accepted { id, order, body, terms } => {
            let (session, id) = (session.to_owned(), id.clone());
            let message =
                NewMessage { session, id, seq: *order, body: body.clone(), terms: terms.clone(), at };
            store.add_message(&message).map(drop)
        }
        Change::Revived { id, order } => store.revive(session, id, *order, at).map(drop),
        Change::Cancelled { id } => store.cancel(session, id, at),
        Change::Dropped { id } => store.drop_given_up(session, id, at).map(drop),
        Change::WriteBegun { id, seq, write, echoes, mark } => {
            let intent = Intent { seq: *seq, write, echoes: *echoes, mark: mark.clone() };
            store.begin_write(session, id, &intent, at)
        }
        Change::WriteEnded { seq } => store.end_write(session, *seq),
        Change::Proven { id, proof, evidence, last } => store.prove(session, id, *proof, evidence, *last, at),
        Change::ProvenLate { id, proof, evidence } => {
            if store.message(session, id)?.is_some_and(|message| message.proof < *proof) {
                store.prove(session, id, *proof, evidence, true, at)?;
            }
            Ok(())
        }
        Change::Differed { id, evidence, failure } => store.differed(session, id, evidence, failure, at),
        Change::Missed { id } => store.missed(session, id, at),
        Change::GivenUp { id, state, failure } => store.give_up(session, id, *state, failure, at),
        Change::Started { pid } => store.session_started(session, *pid, at),
        Change::Resized { cols, rows } => store.session_resized(session, *cols, *rows, at),
        Change::StopRequested => store.stop_requested(session, at),
        Change::Observed { memory, event, details } => {
            store.session_observed(session, memory, event, details.clone(), at)
        }
        Change::Remembered { memory } => store.session_remembers(session, memory),
        Change::Event { event, details } => {
            let session = Some(session.to_owned());
            store.record(&NewEvent { at, session, event, details: details.clone() })
        }
        Change::Ended(ending) => store.session_ended(session, ending),
    }
}
