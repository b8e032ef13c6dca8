//! What clients ask about what was said.

use std::time::Duration;

use ostler_core::continuity::cut;
use ostler_core::exchange::{Exchange, Exchanges, TEXT};
use ostler_core::reply::{Outcome, Situation, Verdict, verdict};
use ostler_core::{Fact, Wall};
use ostler_protocol::{
    AnswerInfo, AnswersInfo, ErrorKind, Problem, Proof, ReplyInfo, TranscriptEntry, TranscriptPage,
};
use ostler_session::AgentProfile;
use ostler_store::{Session, StoreHandle};
use tokio::time::Instant;

use super::messages;
use crate::clock;
use crate::session::{
    Command, SessionHandle, ended_info, ended_screen, ended_transcript, shown_reply, store_problem,
};
use crate::sessions::{Found, Sessions};
use crate::transcript::{Cursor, Source, Written};

/// Most answers that are looked for.
const MOST: usize = 100;
/// Prompts without an answer that may stand between.
const SLACK: usize = 50;
/// Most bytes of words in one page, and of all answers together.
const PAGE: usize = 1 << 20;
/// Milliseconds that the times of some transcripts are cut to.
const COARSE: u64 = 1_000;
/// How long words may come behind the end of a turn.
const LINGER: Duration = Duration::from_millis(1_500);

/// The last answers of a session's agent, oldest first.
pub(crate) async fn last(sessions: &Sessions, name: &str, count: usize) -> Result<AnswersInfo, Problem> {
    let talk = Talk::of(sessions, name).await?;
    let count = count.clamp(1, MOST);
    let (session, state) = (talk.name().to_owned(), talk.state());
    if let Some(source) = talk.source(sessions).await {
        let exchanges = Exchanges::new(count + SLACK);
        let (exchanges, _) = read(source, exchanges, Cursor::default()).await?;
        let mut room = PAGE;
        let answers = exchanges.answered(count).into_iter().rev().map(answer_info);
        let mut answers: Vec<AnswerInfo> = answers
            .take_while(|info| {
                let bytes = info.answer.len() + info.prompt.as_ref().map_or(0, String::len);
                room = room.saturating_sub(bytes);
                room > 0
            })
            .collect();
        answers.reverse();
        if !answers.is_empty() {
            return Ok(AnswersInfo { session, state, source: "transcript".into(), answers });
        }
    }
    let Some((source, answer)) = talk.words(sessions).await else {
        return Err(Problem::new(ErrorKind::NotFound, format!("no answer of {session:?} is known")).hint(
            format!("`ostler screen {session}` shows what it shows; `ostler logs {session}` what it showed"),
        ));
    };
    let answer = AnswerInfo { prompt: None, asked: None, answer, at: None, outcome: None };
    Ok(AnswersInfo { session, state, source: source.into(), answers: vec![answer] })
}

/// A piece of a session's transcript; with `follow` waits for one that has something in it.
pub(crate) async fn transcript(
    sessions: &Sessions,
    name: &str,
    after: Option<serde_json::Value>,
    follow: bool,
) -> Result<TranscriptPage, Problem> {
    let cursor: Cursor = after.and_then(|after| serde_json::from_value(after).ok()).unwrap_or_default();
    let talk = Talk::of(sessions, name).await?;
    loop {
        let mut heard = talk.heard();
        let page = match talk.source(sessions).await {
            Some(source) => page(source, cursor.clone()).await?,
            None if follow && !talk.is_over() => {
                let next = serde_json::to_value(&cursor).unwrap_or_default();
                TranscriptPage { entries: Vec::new(), next, more: false, ended: false }
            }
            None => {
                let name = talk.name();
                return Err(Problem::new(
                    ErrorKind::NotFound,
                    format!("no transcript of {name:?} was found"),
                )
                .hint(format!("`ostler logs {name}` has what it showed on its screen")));
            }
        };
        let ended = talk.is_over();
        if !follow || ended || page.more || !page.entries.is_empty() {
            return Ok(TranscriptPage { ended, ..page });
        }
        heard.wait().await;
    }
}

/// Waits for the end of the turn of a message, and gives what was answered.
pub(crate) async fn reply(
    sessions: &Sessions,
    store: &StoreHandle,
    name: &str,
    id: String,
) -> Result<ReplyInfo, Problem> {
    let talk = Talk::of(sessions, name).await?;
    let message = messages::wait(sessions, store, talk.id(), id.clone(), Proof::Submitted).await?;
    if message.proof < Proof::Submitted {
        let text = format!("message {id:?} is {}, and was not taken as a prompt", message.state);
        return Err(Problem::new(ErrorKind::Failed, text));
    }
    let (session, wanted) = (talk.id().to_owned(), id.clone());
    let recorded = store
        .run(move |store| Ok(store.message(&session, &wanted)?.zip(store.message_body(&session, &wanted)?)));
    let recorded = recorded.await.map_err(|error| store_problem(&error))?;
    let (created, body) = recorded.map_or((Wall(0), Vec::new()), |(message, body)| (message.created, body));
    let body = String::from_utf8_lossy(&body).into_owned();
    let (mut exchanges, mut cursor) = (Exchanges::new(MOST), Cursor::default());
    let mut lingers: Option<Instant> = None;
    loop {
        let mut heard = talk.heard();
        if let Some(source) = talk.source(sessions).await {
            (exchanges, cursor) = read(source, exchanges, cursor).await?;
        }
        let exchange = exchanges.begun_with(&body, Wall(created.0.saturating_sub(COARSE)));
        let found = talk.found();
        let situation = Situation { exchange, found: &found, state: talk.state(), ended: talk.is_over() };
        let outcome = match verdict(situation) {
            Verdict::Ready(outcome) => Some(outcome),
            Verdict::Linger(outcome) => {
                let until = *lingers.get_or_insert_with(|| Instant::now() + LINGER);
                (Instant::now() >= until).then_some(outcome)
            }
            Verdict::Wait => {
                lingers = None;
                None
            }
        };
        if let Some(outcome) = outcome {
            let answer = exchange.and_then(|(exchange, _)| exchange.answer.clone());
            let (source, answer) = match answer {
                Some(answer) => (Some("transcript".to_owned()), Some(answer)),
                // A transcript that knows the prompt knows its answer, too.
                None if exchange.is_some() || outcome == Outcome::Blocked => (None, None),
                None => talk.words(sessions).await.map(|(source, text)| (source.to_owned(), text)).unzip(),
            };
            let detail = if let Outcome::Failed(why) = &outcome { Some(why.clone()) } else { None };
            let (session, outcome) = (talk.name().to_owned(), outcome.as_str().to_owned());
            return Ok(ReplyInfo { id, session, outcome, detail, answer, source });
        }
        match lingers {
            Some(until) if talk.is_over() => tokio::time::sleep_until(until).await,
            Some(until) => drop(tokio::time::timeout_at(until, heard.wait()).await),
            None => heard.wait().await,
        }
    }
}

/// A session that speaks, or spoke.
enum Talk {
    Live(SessionHandle),
    Ended(Box<Session>),
}

/// Wakes when something about what was said may have changed.
struct Heard(Option<SessionHandle>);

impl Heard {
    async fn wait(&mut self) {
        let Some(handle) = &mut self.0 else { return std::future::pending().await };
        let (told, stops, state) = (&mut handle.told, &mut handle.stops, &mut handle.state);
        let changed = async {
            tokio::select! {
                changed = told.changed() => changed,
                changed = stops.changed() => changed,
                changed = state.changed() => changed,
            }
        };
        // Who has gone changes nothing more: that was noticed.
        if changed.await.is_err() {
            self.0 = None;
        }
    }
}

impl Talk {
    async fn of(sessions: &Sessions, name: &str) -> Result<Self, Problem> {
        Ok(match sessions.find(name).await? {
            Found::Live(handle) => Self::Live(handle),
            Found::Ended(session) => Self::Ended(session),
        })
    }

    fn id(&self) -> &str {
        match self {
            Self::Live(handle) => &handle.id,
            Self::Ended(session) => &session.start.id,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Live(handle) => &handle.name,
            Self::Ended(session) => &session.start.name,
        }
    }

    fn state(&self) -> ostler_core::State {
        match self {
            Self::Live(handle) => *handle.state.borrow(),
            Self::Ended(session) => ended_info(session).state,
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Live(handle) => handle.is_gone(),
            Self::Ended(_) => true,
        }
    }

    /// What was found of stops so far.
    fn found(&self) -> ostler_core::stop_watch::Findings {
        match self {
            Self::Live(handle) => handle.stops.borrow().unwrap_or_default(),
            Self::Ended(_) => ostler_core::stop_watch::Findings::default(),
        }
    }

    /// Hears of what happens from now on.
    fn heard(&self) -> Heard {
        let Self::Live(handle) = self else { return Heard(None) };
        let mut handle = handle.clone();
        handle.told.mark_unchanged();
        handle.stops.mark_unchanged();
        handle.state.mark_unchanged();
        Heard(Some(handle))
    }

    /// Its transcript, if that was found.
    async fn source(&self, sessions: &Sessions) -> Option<Source> {
        match self {
            Self::Live(handle) => {
                if let Ok(source) = handle.ask(Command::Transcript).await {
                    return source;
                }
                let record = sessions.existing_record(&handle.id).await.ok()?;
                ended_source(sessions, record).await
            }
            Self::Ended(session) => ended_source(sessions, (**session).clone()).await,
        }
    }

    /// Its last words, and where they are from, where no transcript has them.
    async fn words(&self, sessions: &Sessions) -> Option<(&'static str, String)> {
        if let Self::Live(handle) = self
            && let Ok(words) = handle.ask(Command::LastWords).await
        {
            if let Some(words) = words {
                return Some(("hook", words));
            }
            return handle.ask(Command::ShownReply).await.ok()?.map(|shown| ("screen", shown));
        }
        let record = match self {
            Self::Live(handle) => sessions.existing_record(&handle.id).await.ok()?,
            Self::Ended(session) => (**session).clone(),
        };
        let shown = |record: &Session, profile: &AgentProfile| shown_reply(profile, &ended_screen(record));
        of_ended(sessions, record, shown).await.map(|shown| ("screen", shown))
    }
}

async fn ended_source(sessions: &Sessions, record: Session) -> Option<Source> {
    of_ended(sessions, record, ended_transcript).await
}

/// Finds something out about a session that has ended, with what is known of its agent.
async fn of_ended<T: Send + 'static>(
    sessions: &Sessions,
    record: Session,
    look: impl FnOnce(&Session, &AgentProfile) -> Option<T> + Send + 'static,
) -> Option<T> {
    let knowledge = sessions.knowledge().clone();
    let look = move || {
        let start = &record.start;
        let known = knowledge.of(start.agent.as_deref(), start.agent_version.as_deref(), start.cwd.as_ref());
        look(&record, &known.profile)
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

/// Reads on to the end of a transcript.
async fn read(
    source: Source,
    mut exchanges: Exchanges,
    from: Cursor,
) -> Result<(Exchanges, Cursor), Problem> {
    let read = move || {
        let mut pages = source.read(from)?;
        loop {
            let (facts, more) = pages.next()?;
            for Written { fact, at } in &facts {
                exchanges.on_fact(fact, *at);
            }
            if !more {
                return Ok((exchanges, pages.end()));
            }
        }
    };
    blocking(read).await
}

/// Reads as much of a transcript as goes into an answer.
async fn page(source: Source, from: Cursor) -> Result<TranscriptPage, Problem> {
    let read = move || {
        let mut pages = source.read(from)?;
        let (mut entries, mut bytes) = (Vec::new(), 0);
        loop {
            let (facts, more) = pages.next()?;
            for (index, Written { fact, at }) in facts.iter().enumerate() {
                let Some((kind, text)) = told(fact) else { continue };
                if bytes + text.len() > PAGE && bytes > 0 {
                    let next = serde_json::to_value(pages.behind(index)).unwrap_or_default();
                    return Ok(TranscriptPage { entries, next, more: true, ended: false });
                }
                bytes += text.len();
                entries.push(TranscriptEntry { at: at.map(clock::shown), kind: kind.into(), text });
            }
            if !more {
                let next = serde_json::to_value(pages.end()).unwrap_or_default();
                return Ok(TranscriptPage { entries, next, more: false, ended: false });
            }
        }
    };
    blocking(read).await
}

async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, Problem> {
    let failed = |why: String| Problem::new(ErrorKind::Failed, why);
    tokio::task::spawn_blocking(read).await.map_err(|error| failed(error.to_string()))?.map_err(failed)
}

/// What people read of a fact.
fn told(fact: &Fact) -> Option<(&'static str, String)> {
    let text = |text: &str| cut(text.trim(), TEXT);
    Some(match fact {
        Fact::PromptSubmitted { text: prompt } => ("prompt", prompt.as_deref().map(text).unwrap_or_default()),
        Fact::Said { text: said } => ("said", text(said)),
        Fact::Asked { kind } => ("asked", kind.as_str().to_owned()),
        Fact::TurnFailed { failure, detail } => {
            let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
            ("failed", text(&format!("{}{detail}", failure.as_str())))
        }
        Fact::Interrupted => ("interrupted", String::new()),
        Fact::TurnEnded { .. } => ("ended", String::new()),
        _ => return None,
    })
}

fn answer_info(exchange: &Exchange) -> AnswerInfo {
    AnswerInfo {
        prompt: exchange.prompt.clone(),
        asked: exchange.asked.map(clock::shown),
        answer: exchange.answer.clone().unwrap_or_default(),
        at: exchange.answered.map(clock::shown),
        outcome: exchange.closing.as_ref().map(|closing| closing.as_str().to_owned()),
    }
}
