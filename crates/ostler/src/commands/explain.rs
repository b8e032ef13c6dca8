//! `ostler explain`

use std::fmt::Write as _;
use std::process::ExitCode;

use ostler_protocol::{Explanation, Request, Response};

use super::carry_on;
use crate::cli::Named;
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(args: &Named) -> Result<ExitCode, CommandError> {
    let Response::Explanation(explanation) = client::call(&Request::Explain { name: args.name.clone() })?
    else {
        return Err(super::unexpected());
    };
    if args.json {
        output::json(&explanation)?;
    } else {
        output::print(&text(&explanation))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(explanation: &Explanation) -> String {
    let Explanation { session, signals, rules, files } = explanation;
    let kind = session.kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let mut text = format!(
        "{}: {}{kind}, {} sure, for {}\n",
        session.name,
        session.state,
        session.confidence,
        output::ago(session.since, jiff::Timestamp::now()),
    );
    for reason in &session.because {
        let _ = writeln!(text, "  because    {}", output::plain(reason));
    }
    if !signals.is_empty() {
        text.push_str("\nsignals\n");
    }
    for signal in signals {
        let says = signal.says.as_deref().map_or("-".to_owned(), output::plain);
        let age = signal.age.map(|age| format!("  ({age:.1} s ago)")).unwrap_or_default();
        let _ = writeln!(text, "  {:15} {says}{age}", signal.signal);
    }
    if !rules.is_empty() {
        text.push_str("\nrules that hold on the screen\n");
    }
    for rule in rules {
        let kind = rule.kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        let general = if rule.general { ", for agents in general" } else { "" };
        let _ = writeln!(text, "  {:15} {}{kind}{general}", rule.rule, rule.state);
    }
    if let Some(standing) = &session.carry_on {
        text.push_str(&carry_on::explanation(standing));
    }
    if !files.is_empty() {
        let _ = writeln!(text, "\nrules from {}", files.join(", "));
    }
    text
}
