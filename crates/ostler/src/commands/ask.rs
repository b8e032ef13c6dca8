//! `ostler ask`: what agents ask their owner.

use std::fmt::Write as _;
use std::process::ExitCode;

use jiff::Timestamp;
use ostler_protocol::{QuestionInfo, Request, Response};
use ostler_screen::SafeText;

use crate::cli::Ask;
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(command: Ask) -> Result<ExitCode, CommandError> {
    match command {
        Ask::List { name, all, json } => list(name, all, json),
        Ask::Answer { id, text, json } => answer(id, text, json),
    }
}

fn list(name: Option<String>, all: bool, json: bool) -> Result<ExitCode, CommandError> {
    let Response::Questions { questions } = client::call(&Request::Questions { name, all })? else {
        return Err(super::unexpected());
    };
    if json {
        output::json(&questions)?;
    } else if questions.is_empty() {
        output::print(if all { "no agent has asked anything\n" } else { "no questions are open\n" })?;
    } else {
        let now = Timestamp::now();
        let texts: Vec<String> = questions.iter().map(|question| shown(question, now)).collect();
        output::print(&texts.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(id: String, text: String, json: bool) -> Result<ExitCode, CommandError> {
    let text = if text == "-" { std::io::read_to_string(std::io::stdin())? } else { text };
    let Response::Questions { questions } = client::call(&Request::AnswerQuestion { id, text })? else {
        return Err(super::unexpected());
    };
    let Some(question) = questions.first() else { return Err(super::unexpected()) };
    if json {
        output::json(question)?;
    } else {
        let session = output::plain(&question.session);
        let told = match &question.message {
            Some(message) => format!("message {message} tells {session}"),
            None => format!("{session} has ended; it is told when it is resumed"),
        };
        output::print(&format!("answered {}; {told}\n", question.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A question for people.
fn shown(question: &QuestionInfo, now: Timestamp) -> String {
    let (session, ago) = (output::plain(&question.session), output::ago(question.asked, now));
    let mut text = format!("{}  {session}  {ago} ago\n", question.id);
    for line in SafeText::new(&question.question).as_str().lines() {
        let _ = writeln!(text, "  {}", output::plain(line));
    }
    for (index, choice) in question.choices.iter().enumerate() {
        let _ = writeln!(text, "  {}. {}", index + 1, output::plain(choice));
    }
    if let Some(answer) = &question.answer {
        let _ = writeln!(text, "  answered: {}", output::plain(answer));
    }
    text
}
