//! What agents ask their owner, and the answers.

use ostler_core::Wall;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::json;

use crate::error::StoreError;
use crate::events::{NewEvent, insert};
use crate::store::Store;

/// A question to be recorded.
#[derive(Debug, Clone)]
pub struct NewQuestion {
    /// Makes a repeated request the same one.
    pub request: String,
    /// Id of the session that asks.
    pub session: String,
    /// The question.
    pub question: String,
    /// Answers to choose from.
    pub choices: Vec<String>,
    /// When it was asked.
    pub at: Wall,
}

/// A recorded question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its number, never reused.
    pub number: i64,
    /// Id of the session that asks.
    pub session: String,
    /// Name of that session.
    pub name: String,
    /// The question.
    pub question: String,
    /// Answers to choose from.
    pub choices: Vec<String>,
    /// When it was asked.
    pub asked: Wall,
    /// The answer, and when it was given.
    pub answer: Option<(String, Wall)>,
    /// A message with the answer is recorded.
    pub told: bool,
}

const COLUMNS: &str = "number, session, name, question, choices, asked_ms, answer, answered_ms, told
                       FROM questions JOIN sessions ON sessions.id = questions.session";

fn read(row: &Row<'_>) -> rusqlite::Result<Question> {
    let time = |ms: i64| Wall(ms.cast_unsigned());
    let choices: String = row.get(4)?;
    let answered: Option<i64> = row.get(7)?;
    Ok(Question {
        number: row.get(0)?,
        session: row.get(1)?,
        name: row.get(2)?,
        question: row.get(3)?,
        choices: serde_json::from_str(&choices).unwrap_or_default(),
        asked: time(row.get(5)?),
        answer: row.get::<_, Option<String>>(6)?.zip(answered.map(time)),
        told: row.get(8)?,
    })
}

fn find(connection: &Connection, number: i64) -> Result<Option<Question>, StoreError> {
    let sql = format!("SELECT {COLUMNS} WHERE number = ?");
    Ok(connection.prepare_cached(&sql)?.query_row([number], read).optional()?)
}

impl Store {
    /// Records a question, once: the same request again finds it.
    pub fn ask(&mut self, new: &NewQuestion) -> Result<Question, StoreError> {
        self.atomically(|transaction| {
            let sql =
                "INSERT INTO questions (request, session, question, choices, asked_ms) VALUES (?, ?, ?, ?, ?)
                       ON CONFLICT (request) DO NOTHING";
            let choices = json!(new.choices).to_string();
            let at = new.at.0.cast_signed();
            let added = transaction.prepare_cached(sql)?.execute(params![
                new.request,
                new.session,
                new.question,
                choices,
                at
            ])?;
            let number: i64 = transaction.query_row(
                "SELECT number FROM questions WHERE request = ?",
                [&new.request],
                |row| row.get(0),
            )?;
            if added > 0 {
                let details = json!({ "id": number, "choices": new.choices.len() });
                let (at, session) = (new.at, Some(new.session.clone()));
                insert(transaction, &NewEvent { at, session, event: "question.asked", details })?;
            }
            find(transaction, number)?.ok_or(StoreError::Sqlite(rusqlite::Error::QueryReturnedNoRows))
        })
    }

    /// One question.
    pub fn question(&self, number: i64) -> Result<Option<Question>, StoreError> {
        find(&self.connection, number)
    }

    /// Up to `limit` questions, of one session or of all, the oldest first; with `all`, those that were answered too.
    pub fn questions(
        &self,
        session: Option<&str>,
        all: bool,
        limit: u32,
    ) -> Result<Vec<Question>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} WHERE (?1 IS NULL OR session = ?1) AND (?2 OR answer IS NULL) ORDER BY number LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params![session, all, limit], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Records the answer to a question that has none; returns the question as it is then, if there is one.
    pub fn answer(&mut self, number: i64, answer: &str, at: Wall) -> Result<Option<Question>, StoreError> {
        self.atomically(|transaction| {
            let sql =
                "UPDATE questions SET answer = ?2, answered_ms = ?3 WHERE number = ?1 AND answer IS NULL";
            let changed =
                transaction.prepare_cached(sql)?.execute(params![number, answer, at.0.cast_signed()])?;
            let found = find(transaction, number)?;
            if let (Some(question), 1..) = (&found, changed) {
                let (session, details) = (Some(question.session.clone()), json!({ "id": number }));
                insert(transaction, &NewEvent { at, session, event: "question.answered", details })?;
            }
            Ok(found)
        })
    }

    /// Answers of which the agent of a session was not told yet.
    pub fn untold_answers(&self, session: &str) -> Result<Vec<Question>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} WHERE session = ? AND answer IS NOT NULL AND told = 0 ORDER BY number");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([session], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Records that a message with the answer is recorded.
    pub fn answer_told(&mut self, number: i64) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE questions SET told = 1 WHERE number = ?")?
            .execute([number])?;
        Ok(())
    }
}
