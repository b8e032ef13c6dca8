//! `ostler providers`

use std::fmt::Write;
use std::process::ExitCode;

use ostler_protocol::{Request, Response};
use serde_json::json;

use crate::cli::{Providers, ProvidersCommand};
use crate::error::CommandError;
use crate::{client, output};

pub(crate) fn run(args: &Providers) -> Result<ExitCode, CommandError> {
    let request = match &args.command {
        None => Request::Providers,
        Some(ProvidersCommand::Reset { provider }) => Request::ResetProvider { provider: provider.clone() },
    };
    let Response::Providers { providers, store } = client::call(&request)? else {
        return Err(super::unexpected());
    };
    if args.json {
        output::json(&json!({ "providers": providers, "store": store }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    if providers.is_empty() {
        text.push_str("no run has had trouble with a provider\n");
    }
    for provider in &providers {
        let account = provider.account.iter().map(|account| format!("@{account}"));
        let label = account.fold(provider.provider.clone(), |label, account| label + &account);
        let _ = write!(text, "{label:<12} {}", provider.breaker);
        if let Some(reason) = &provider.reason {
            let _ = write!(text, " ({reason})");
        }
        if let Some(until) = provider.until {
            let _ = write!(text, " until {}", until.strftime("%Y-%m-%d %H:%M:%SZ"));
        }
        match provider.machine.as_deref() {
            Some("this") => text.push_str(", on this machine"),
            Some(other) => {
                let _ = write!(text, ", on machine {}", other.get(..8).unwrap_or(other));
            }
            None => {}
        }
        text.push('\n');
    }
    let _ = writeln!(text, "store: {store}");
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
