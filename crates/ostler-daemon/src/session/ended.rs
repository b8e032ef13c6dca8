//! What can be told of a session that has ended.

use ostler_agents::{Reader, speech};
use ostler_hold::{SessionDir, read_remains};
use ostler_protocol::SessionInfo;
use ostler_screen::{Screen, Size};
use ostler_session::{AgentProfile, Carried};
use ostler_store::Session;

use super::info;
use crate::transcript::{Source, TailState};
use crate::{snapshot, survivors};

/// The session as the record has it.
pub(crate) fn ended_info(session: &Session) -> SessionInfo {
    let mut info = info::from_record(session);
    let carried = session.memory.as_deref().and_then(Carried::read);
    info.carry_on = carried.and_then(|carried| carried.standing());
    if let Some(ending) = &session.ending {
        info::add_ending(&mut info, ending, session.stop_requested);
        if let Some(exit) = info.exit.as_mut().filter(|_| ending.kind == "lost") {
            exit.survivors = survivors::find(&session.start.id).iter().map(|process| process.pid).collect();
        }
    }
    info
}

/// The last screen, as far as it is known: the last picture, and the output kept since.
pub(crate) fn ended_screen(session: &Session) -> Screen {
    let dir = SessionDir::new(&session.start.dir);
    let size = Size::clamped(session.start.cols, session.start.rows);
    let (mut screen, offset) =
        snapshot::load(&dir).map_or_else(|| (Screen::new(size, 0), 0), |found| (found.screen, found.offset));
    if let Ok(remains) = read_remains(&dir.ring()) {
        if offset < remains.oldest {
            screen = Screen::new(size, 0);
            drop(screen.feed(&remains.modes));
        }
        let skip = usize::try_from(offset.saturating_sub(remains.oldest)).unwrap_or(usize::MAX);
        drop(screen.feed(remains.bytes.get(skip..).unwrap_or_default()));
    }
    screen
}

/// The transcript that the session's agent left, as far as it is known.
pub(crate) fn ended_transcript(session: &Session, profile: &AgentProfile) -> Option<Source> {
    let spec = profile.agent.preset.transcript.as_ref()?;
    let (read, conversation) = Carried::read(session.memory.as_deref()?)?.transcript();
    let state: TailState = serde_json::from_value(read?).ok()?;
    Source::found(spec, &state, session.start.cwd.clone().into(), conversation)
}

/// The agent's last reply on a screen, where it is known how replies look.
pub(crate) fn shown_reply(profile: &AgentProfile, screen: &Screen) -> Option<String> {
    let composer = Reader::glance(&profile.book, screen);
    let rows = speech::rows_above(screen, composer.as_ref());
    profile.book.speech()?.shown_reply(&rows)
}
