//! What clients ask about the providers that runs use.

use ostler_protocol::{Code, ErrorKind, Problem, ProviderInfo};

use crate::runs::{ProviderBreakers, shared_store_problem};

/// All providers that something is known of.
#[derive(Debug)]
pub(crate) struct Providers {
    /// By name.
    pub(crate) providers: Vec<ProviderInfo>,
    /// What the store that they are kept in guarantees.
    pub(crate) store: String,
}

/// Lists the providers and the state of their breakers.
pub(crate) async fn list(breakers: &ProviderBreakers) -> Result<Providers, Problem> {
    let providers = breakers.providers().await.map_err(|error| shared_store_problem(&error))?;
    let store = match breakers.guarantee().await {
        Ok(guarantee) => guarantee.to_string(),
        Err(error) => format!("not known: {error}"),
    };
    Ok(Providers { providers, store })
}

/// Resets the breakers of a provider, or of one with one account (`NAME@ACCOUNT`), or of all, and lists them.
pub(crate) async fn reset(breakers: &ProviderBreakers, provider: Option<&str>) -> Result<Providers, Problem> {
    let found = breakers.reset(provider).await.map_err(|error| shared_store_problem(&error))?;
    match provider {
        Some(provider) if found == 0 => {
            let reason = format!("no breaker is kept for {provider:?}: nothing is known against it");
            Err(Problem::new(ErrorKind::NotFound, reason)
                .code(Code::ProviderUnknown)
                .about("provider", provider))
        }
        _ => list(breakers).await,
    }
}
