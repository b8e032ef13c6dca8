//! What agents ask their owner.

use ostler_core::continuity::cut;
use ostler_protocol::{Code, ErrorKind, Problem, QuestionInfo};
use ostler_store::{NewQuestion, Question, StoreHandle};

use crate::clock;
use crate::session::{Command, answer_id, store_problem};
use crate::sessions::Sessions;

/// Most questions of a session that are open at a time: a person can answer no more.
const MAX_OPEN: usize = 20;
/// Most bytes of a question, and of a choice; most choices.
const QUESTION: usize = 4_000;
const CHOICE: usize = 300;
const CHOICES: usize = 12;
/// Most questions in one answer.
const MAX_QUESTIONS: u32 = 1_000;

/// Records a question of a session, once.
pub(crate) async fn ask(
    store: &StoreHandle,
    session: &str,
    request: String,
    question: &str,
    choices: Vec<String>,
) -> Result<QuestionInfo, Problem> {
    let refused = |reason: String| Err(Problem::new(ErrorKind::Usage, reason));
    if question.trim().is_empty() {
        return refused("the question is empty".into());
    }
    if question.len() > QUESTION || choices.len() > CHOICES || choices.iter().any(|it| it.len() > CHOICE) {
        return refused(format!(
            "too long to be read: a question may have {QUESTION} bytes, and {CHOICES} choices of {CHOICE} bytes"
        ));
    }
    let choices: Vec<String> = choices.into_iter().filter(|choice| !choice.trim().is_empty()).collect();
    let at = clock::now();
    let new = NewQuestion {
        request,
        session: session.to_owned(),
        question: question.trim().to_owned(),
        choices,
        at,
    };
    let asked = store.run(move |store| {
        let open = store.questions(Some(&new.session), false, MAX_QUESTIONS)?.len();
        if open >= MAX_OPEN { Ok(None) } else { store.ask(&new).map(Some) }
    });
    match asked.await.map_err(|error| store_problem(&error))? {
        Some(question) => Ok(shown(question)),
        None => refused(format!("{MAX_OPEN} questions are open already; wait for their answers")),
    }
}

/// Shows a question of a session.
pub(crate) async fn status(store: &StoreHandle, session: &str, id: &str) -> Result<QuestionInfo, Problem> {
    let found = find(store, id).await?.filter(|question| question.session == session);
    found.map(shown).ok_or_else(|| not_found(id))
}

/// Lists questions, of one session or of all, the oldest first; with `all`, those that were answered too.
pub(crate) async fn list(
    sessions: &Sessions,
    store: &StoreHandle,
    name: Option<&str>,
    all: bool,
) -> Result<Vec<QuestionInfo>, Problem> {
    let session = match name {
        Some(name) => Some(sessions.find(name).await?.into_id()),
        None => None,
    };
    let found = store.run(move |store| store.questions(session.as_deref(), all, MAX_QUESTIONS)).await;
    Ok(found.map_err(|error| store_problem(&error))?.into_iter().map(shown).collect())
}

/// Answers a question, once. The agent is told by a message; one whose session has ended is told when it is resumed.
pub(crate) async fn answer(
    sessions: &Sessions,
    store: &StoreHandle,
    id: &str,
    text: &str,
) -> Result<QuestionInfo, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::new(ErrorKind::Usage, "the answer is empty"));
    }
    let asked = find(store, id).await?.ok_or_else(|| not_found(id))?;
    let text = chosen(&asked.choices, text).to_owned();
    let (number, wanted) = (asked.number, text.clone());
    let answered = store.run(move |store| store.answer(number, &wanted, clock::now())).await;
    let question = answered.map_err(|error| store_problem(&error))?.ok_or_else(|| not_found(id))?;
    if question.answer.as_ref().is_some_and(|(known, _)| *known != text) {
        let known = question.answer.map(|(known, _)| cut(&known, CHOICE)).unwrap_or_default();
        return Err(Problem::new(
            ErrorKind::Conflict,
            format!("question {id} was answered already: {known}"),
        )
        .code(Code::QuestionAnswered)
        .about("question", id)
        .about("session", question.name));
    }
    // Whoever takes the session up later sees to it otherwise.
    if let Some(handle) = sessions.get(&question.session) {
        let _ = handle.ask(Command::TellAnswers).await;
    }
    Ok(shown(find(store, id).await?.unwrap_or(question)))
}

/// What is meant: a choice by its number, unless that is what a choice says; else the text itself.
fn chosen<'a>(choices: &'a [String], text: &'a str) -> &'a str {
    let by_number = || text.parse::<usize>().ok()?.checked_sub(1).and_then(|at| choices.get(at));
    match choices.iter().find(|choice| choice.trim() == text).or_else(by_number) {
        Some(choice) => choice.trim(),
        None => text,
    }
}

async fn find(store: &StoreHandle, id: &str) -> Result<Option<Question>, Problem> {
    let Some(number) = id.strip_prefix('q').and_then(|number| number.parse().ok()) else { return Ok(None) };
    store.run(move |store| store.question(number)).await.map_err(|error| store_problem(&error))
}

fn not_found(id: &str) -> Problem {
    Problem::new(ErrorKind::NotFound, format!("there is no question {id:?}"))
        .code(Code::QuestionNotFound)
        .about("question", id)
}

/// A question as users see it.
pub(crate) fn shown(question: Question) -> QuestionInfo {
    let id = format!("q{}", question.number);
    let (answer, answered) = question.answer.map(|(answer, at)| (answer, clock::shown(at))).unzip();
    QuestionInfo {
        message: question.told.then(|| answer_id(question.number)),
        id,
        session: question.name,
        question: question.question,
        choices: question.choices,
        asked: clock::shown(question.asked),
        answer,
        answered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_meant_by_its_number_or_its_words() {
        let choices = ["SQLite", " Postgres ", "1"].map(str::to_owned);
        for (text, meant) in [
            ("2", "Postgres"),
            ("Postgres", "Postgres"),
            ("1", "1"),
            ("0", "0"),
            ("4", "4"),
            ("neither", "neither"),
            ("-1", "-1"),
        ] {
            assert_eq!(chosen(&choices, text), meant);
        }
        assert_eq!(chosen(&[], "1"), "1");
    }
}
