//! `ostler last`

use std::process::ExitCode;

use ostler_protocol::{AnswerInfo, Request, Response};

use crate::cli::Last;
use crate::error::CommandError;
use crate::{client, output};

/// Characters of a prompt that stand above its answer.
const HEAD: usize = 100;

pub(crate) fn run(args: &Last) -> Result<ExitCode, CommandError> {
    let request = Request::Last { name: args.name.clone(), count: args.count.into() };
    let Response::Answers(told) = client::call(&request)? else { return Err(super::unexpected()) };
    if args.json {
        output::json(&told)?;
    } else if args.count == 1 {
        let answer = told.answers.last().map_or("", |answer| answer.answer.as_str());
        output::print(&format!("{}\n", output::visible(answer)))?;
    } else {
        let texts: Vec<String> = told.answers.iter().map(with_head).collect();
        output::print(&format!("{}\n", output::visible(&texts.join("\n\n"))))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An answer below its prompt.
fn with_head(info: &AnswerInfo) -> String {
    let at = info.at.map(|at| format!("{} ", super::transcript::clock_time(at))).unwrap_or_default();
    let prompt = info.prompt.as_deref().unwrap_or_default();
    let line: String = output::plain(prompt).chars().take(HEAD).collect();
    format!("[{at}> {line}]\n{}", info.answer)
}
