//! Files that are ostler's alone, in a directory that an agent reads as a whole.

use std::path::Path;

use serde_json::json;

use super::command::BY_OSTLER;
use super::merge::{Found, MergeError, Removed};
use super::render::fresh;
use super::spec::{Format, HookSpec};

pub(super) fn install(
    spec: &HookSpec,
    agent: &str,
    ostler: &Path,
    before: Option<&str>,
) -> Result<String, MergeError> {
    match before {
        Some(text) if !is_ours(text) => Err(MergeError::NotOurs),
        _ => whole(spec, agent, ostler),
    }
}

pub(super) fn remove(before: &str) -> Removed {
    if !is_ours(before) {
        return Removed { text: before.to_owned(), empty: false };
    }
    Removed { text: String::new(), empty: true }
}

pub(super) fn inspect(spec: &HookSpec, agent: &str, ostler: &Path, text: &str) -> Result<Found, MergeError> {
    if !is_ours(text) {
        return Err(MergeError::NotOurs);
    }
    Ok(if whole(spec, agent, ostler)? == text { Found::Current } else { Found::Outdated })
}

/// The whole file.
pub(super) fn whole(spec: &HookSpec, agent: &str, ostler: &Path) -> Result<String, MergeError> {
    match spec.format {
        Format::Program => program(spec, agent, ostler, BY_OSTLER),
        Format::MatcherJson | Format::HandlerJson => Ok(fresh(spec, agent, ostler, BY_OSTLER)),
    }
}

/// A program for the agent to load, with what it has to know put in.
pub(super) fn program(spec: &HookSpec, agent: &str, ostler: &Path, mark: &str) -> Result<String, MergeError> {
    let template = spec.template.as_ref().ok_or(MergeError::NoTemplate)?;
    Ok(template
        .replace("{ostler}", &json!(ostler.to_string_lossy()).to_string())
        .replace("{agent}", &json!(agent).to_string())
        .replace("{flag}", &json!(mark).to_string()))
}

fn is_ours(text: &str) -> bool {
    text.trim().is_empty() || text.contains(BY_OSTLER)
}
