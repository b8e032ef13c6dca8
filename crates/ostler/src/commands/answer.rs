//! `ostler answer`

use std::fmt::Write;
use std::process::ExitCode;

use ostler_protocol::{AnswerRequest, AnsweredInfo, DialogInfo, PendingInfo, Request, Response};

use crate::cli::Answer;
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(crate) fn run(args: &Answer) -> Result<ExitCode, CommandError> {
    let word = args.word().map(|(word, own)| (word.to_owned(), own));
    let Some((word, own_words)) = word else { return show(args) };
    let dialog = match &args.dialog {
        Some(dialog) => dialog.clone(),
        None => open(&args.name)?.id,
    };
    let (name, always) = (args.name.clone(), args.always);
    let request = AnswerRequest { name, dialog, word, own_words, always };
    let Response::Answered(told) = client::call_once(&Request::Answer(Box::new(request)))? else {
        return Err(super::unexpected());
    };
    if args.json {
        output::json(&told)?;
    }
    report(&told, args.json)
}

/// The dialog that is open, if it can be read.
fn pending(name: &str) -> Result<PendingInfo, CommandError> {
    match client::call(&Request::Dialog { name: name.to_owned() })? {
        Response::Dialog(pending) => Ok(pending),
        _ => Err(super::unexpected()),
    }
}

fn open(name: &str) -> Result<DialogInfo, CommandError> {
    let PendingInfo { session, state, dialog } = pending(name)?;
    dialog.ok_or_else(|| {
        CommandError::new(Kind::Failed, format!("no dialog is open: {session:?} is {state}"))
            .hint(format!("`ostler screen {session}` shows what it shows"))
    })
}

fn show(args: &Answer) -> Result<ExitCode, CommandError> {
    if args.json {
        output::json(&pending(&args.name)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&text(&open(&args.name)?))?;
    Ok(ExitCode::SUCCESS)
}

/// A dialog as people read it.
fn text(dialog: &DialogInfo) -> String {
    let mut text = format!(
        "{} asks ({}), dialog {}\n",
        dialog.session,
        dialog.kind.as_deref().unwrap_or("dialog"),
        dialog.id
    );
    for line in &dialog.about {
        let _ = writeln!(text, "  {}", output::plain(line));
    }
    if !dialog.choices.is_empty() {
        text.push('\n');
    }
    for choice in &dialog.choices {
        let mark = if choice.selected { '>' } else { ' ' };
        let always = if choice.always { "  (--always)" } else { "" };
        let _ = writeln!(text, "{mark} {}. {}{always}", choice.number, output::plain(&choice.label));
    }
    if dialog.takes_text {
        text.push_str("  or your own words\n");
    }
    text
}

fn report(told: &AnsweredInfo, json: bool) -> Result<ExitCode, CommandError> {
    let AnsweredInfo { session, choice, outcome, reason, next, .. } = told;
    let why = reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
    match outcome.as_str() {
        "answered" => {
            if !json {
                output::print(&format!("{session} answered: {}\n", output::plain(choice)))?;
            }
            if let Some(next) = next.as_ref().filter(|_| !json) {
                output::print(&text(next))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        "uncertain" => Err(CommandError::new(Kind::Failed, format!("whether it is answered is uncertain{why}"))
            .hint(format!("`ostler screen {session}` shows what it shows"))),
        _ => Err(CommandError::new(Kind::Failed, format!("it is not answered{why}"))
            .hint(format!("`ostler answer {session}` shows what is asked now; `ostler attach {session}` lets you answer by hand"))),
    }
}
