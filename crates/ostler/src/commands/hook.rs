//! `ostler hook`: what an agent runs when something happened.
//!
//! The agent waits for it, so it is quick whatever becomes of the report, prints nothing that the agent would
//! take amiss, and never fails.

mod hand_over;
mod payload;
mod spool;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use ostler_agents::hooks::{CONTEXT, PER_SESSION, PRINT};
use ostler_hold::SESSION_MARK;
use ostler_protocol::HookReport;

use crate::cli::Hook;
use crate::client;

pub(crate) fn run(args: &Hook) -> ExitCode {
    let options = Options::from(&args.rest);
    // Read in any case: an agent may not like it if nobody takes what it has to say.
    let payload = payload::read();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    // A session that was given hooks of its own hears those, not the ones of a settings file as well.
    let is_doubled = !options.per_session && variable("OSTLER_HOOKS").as_deref() == Some("session");
    let (Some(session), false) = (variable(SESSION_MARK), is_doubled) else { return ExitCode::SUCCESS };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let report = HookReport {
        id: client::fresh_id(),
        session,
        nonce: variable("OSTLER_HOOK_NONCE").unwrap_or_default(),
        event: args.event.clone(),
        agent: options.agent,
        at: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        context: options.context,
    };
    let print = client::home().ok().and_then(|home| match hand_over::hand_over(&home, &report, &payload) {
        Ok(print) => print,
        Err(hand_over::Failure::Refused) => None,
        Err(hand_over::Failure::Away) => {
            // Nobody can be told here if this fails too: the agent's screen is not ours.
            let _ = spool::put(&home.spool(), &report, &payload);
            None
        }
    });
    if let Some(text) = print.or(options.print) {
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }
    ExitCode::SUCCESS
}

/// What the command says besides the event.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    agent: Option<String>,
    print: Option<String>,
    context: bool,
    per_session: bool,
}

impl Options {
    /// Takes what is known; what is not may be for another version.
    fn from(rest: &[OsString]) -> Self {
        let mut options = Self::default();
        let mut words = rest.iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--agent" => options.agent = words.next(),
                PRINT => options.print = words.next(),
                CONTEXT => options.context = true,
                PER_SESSION => options.per_session = true,
                _ => {}
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_are_passed_over() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let options = Options::from(&words(&[
            "--new",
            "x",
            "--agent",
            "a",
            "--print",
            "{}",
            "--context",
            "--by-ostler",
        ]));
        let expected =
            Options { agent: Some("a".into()), print: Some("{}".into()), context: true, per_session: false };
        assert_eq!(options, expected);
        assert_eq!(Options::from(&words(&["--agent"])), Options::default());
    }
}
