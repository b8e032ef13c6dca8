//! What an agent is told of those who tried before it: a few lines before its prompt.
//!
//! # Theory of operation
//!
//! There are three blocks: one for a provider that takes over, one for another try after failed checks, one for a
//! helper that is asked to look at what failed. Each is built from plain data by a pure function, in
//! microseconds, and is put before the prompt as it is: it ends with a blank line, or it is empty.
//!
//! What goes into a block comes from agents, from programs and from file names, none of which can be trusted to
//! be short or to be one line. So every item is folded first: one item is one line or a part of one, and it cannot
//! look like a delimiter. A block has no more lines than the settings allow and fewer than [`MAX_TOKENS`] tokens: items get
//! shorter first, then fewer, then whole lines are left out, those first that help least. Both delimiters stay.

mod block;
mod fold;
mod settings;
mod tokens;

use std::fmt::Write;

pub use settings::{BadVariable, Kind, Settings};
pub use tokens::tokens;

use self::block::Block;
use self::fold::{fold, fold_name, is_blank};

/// Every block has fewer tokens than this, as [`tokens`] estimates them.
pub const MAX_TOKENS: usize = 100;
/// Errors in one block.
const MAX_ERRORS: usize = 3;
/// Attempts that a helper can be told of.
const MAX_ATTEMPTS: u32 = 20;
/// Equal errors in a row that are a loop.
const LOOP: usize = 3;

/// A provider takes over from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProviderSwitch<'a> {
    /// Who worked before; nothing is known without.
    pub provider: &'a str,
    /// Why it does no more.
    pub reason: &'a str,
    /// Files that are new since the attempt began.
    pub created: &'a [String],
    /// Files that are different since the attempt began.
    pub modified: &'a [String],
    /// What the checks last complained of.
    pub error: Option<&'a str>,
}

/// The work is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retry<'a> {
    /// The attempt that begins, from 1.
    pub attempt: u32,
    /// What the checks complained of; nothing is known without.
    pub errors: &'a [String],
    /// Files that are new since the run began.
    pub created: &'a [String],
    /// Files that are different since the run began.
    pub modified: &'a [String],
}

/// A helper looks at what failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Helper<'a> {
    /// The attempts so far, the oldest first; nothing is known without.
    pub attempts: &'a [Failed<'a>],
    /// The last attempt did not fail: what it must have met in words is to be verified.
    pub unverified: bool,
}

/// An attempt, and what its checks said if they failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failed<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// Files that it created or modified.
    pub files: &'a [String],
    /// The first thing that its checks complained of.
    pub error: &'a str,
}

/// How long items may be, in characters, and how many files there are in a line.
#[derive(Clone, Copy)]
struct Limits {
    error: usize,
    reason: usize,
    name: usize,
    provider: usize,
    files: usize,
}

/// Tried one after the other until a block is short enough.
const LADDER: [Limits; 5] = [
    Limits { error: 160, reason: 80, name: 60, provider: 32, files: usize::MAX },
    Limits { error: 100, reason: 60, name: 48, provider: 24, files: usize::MAX },
    Limits { error: 70, reason: 48, name: 40, provider: 20, files: usize::MAX },
    Limits { error: 48, reason: 32, name: 32, provider: 16, files: 2 },
    Limits { error: 36, reason: 24, name: 24, provider: 12, files: 1 },
];

/// The block for a provider that takes over.
pub fn provider_switch(switch: &ProviderSwitch<'_>, settings: &Settings) -> String {
    if is_blank(switch.provider) || !settings.uses(Kind::ProviderSwitch) {
        return String::new();
    }
    shortest(settings, |limits| {
        let mut block = Block::new("--- PROVIDER SWITCH CONTEXT ---");
        block.line(0, |line| {
            line.push_str("Previous provider (");
            fold(switch.provider, limits.provider, line);
            line.push_str(") failed: ");
            fold(or_unknown(switch.reason), limits.reason, line);
        });
        files(&mut block, 4, "Previous attempt created: ", switch.created, limits);
        files(&mut block, 3, "Previous attempt modified: ", switch.modified, limits);
        if let Some(error) = switch.error.filter(|error| !is_blank(error)) {
            block.line(2, |line| {
                line.push_str("Validation error: \"");
                fold(error, limits.error, line);
                line.push('"');
            });
        }
        block.line(1, |line| {
            line.push_str("Continue from where ");
            fold(switch.provider, limits.provider, line);
            line.push_str(" left off. Avoid recreating existing files.");
        });
        block
    })
}

/// The block for another try.
pub fn retry(retry: &Retry<'_>, settings: &Settings) -> String {
    let mut errors: Vec<&str> = Vec::with_capacity(MAX_ERRORS);
    for error in retry.errors {
        if errors.len() < MAX_ERRORS && !is_blank(error) && !errors.contains(&error.as_str()) {
            errors.push(error);
        }
    }
    if errors.is_empty() || !settings.uses(Kind::Retry) {
        return String::new();
    }
    shortest(settings, |limits| {
        let mut block = Block::new("--- RETRY CONTEXT ---");
        block.line(0, |line| {
            write_to(line, format_args!("Attempt #{} - Previous validation failures:", retry.attempt));
        });
        for (rank, error) in (1..).zip(&errors) {
            // The first error says most, even more than what to do about it.
            block.line(if rank == 1 { 1 } else { 2 + rank }, |line| {
                line.push_str("- ");
                fold(error, limits.error, line);
            });
        }
        files(&mut block, 7, "Already created: ", retry.created, limits);
        files(&mut block, 6, "Already modified: ", retry.modified, limits);
        block.line(2, |line| line.push_str("Focus on fixing validation failures listed above."));
        block
    })
}

/// The block for a helper.
pub fn helper(helper: &Helper<'_>, settings: &Settings) -> String {
    let Some(last) = helper.attempts.last().filter(|_| settings.uses(Kind::Helper)) else {
        return String::new();
    };
    let told = helper.attempts.len().saturating_sub(size(settings.helper_max_attempts.min(MAX_ATTEMPTS)));
    shortest(settings, |limits| {
        let mut block = Block::new("--- HELPER AGENT CONTEXT ---");
        let (number, retries) = (last.number, last.number.saturating_sub(1));
        block.line(0, |line| {
            let state = if helper.unverified { "criteria not verified" } else { "validation failed" };
            write_to(line, format_args!("Attempt #{number} ({retries} previous retries) - {state}"));
        });
        // The older an attempt, the sooner it is left out.
        for (rank, attempt) in
            (3..=u8::MAX).rev().take(helper.attempts.len() - told).zip(&helper.attempts[told..])
        {
            touched(&mut block, rank, attempt, limits);
        }
        if is_loop(helper.attempts) {
            block.line(2, |line| {
                line.push_str("Task appears stuck in validation loop - try different approach");
            });
        }
        block.line(1, |line| {
            line.push_str(if helper.unverified {
                "Generate commands to verify ALL criteria."
            } else {
                "Generate commands to verify ALL failed criteria from ALL attempts."
            });
        });
        block
    })
}

/// The line of one attempt, if anything is known of it.
fn touched(block: &mut Block, rank: u8, attempt: &Failed<'_>, limits: Limits) {
    let known = attempt.files.iter().any(|file| !is_blank(file));
    if !known && is_blank(attempt.error) {
        return;
    }
    block.line(rank, |line| {
        write_to(line, format_args!("Attempt {} touched: ", attempt.number));
        match limits.files {
            0 => write_to(line, format_args!("{} files", attempt.files.len())),
            _ if known => names(attempt.files, limits, line),
            _ => line.push_str("no files"),
        }
        if !is_blank(attempt.error) {
            line.push_str(" - error: \"");
            fold(attempt.error, limits.error, line);
            line.push('"');
        }
    });
}

/// Whether the last attempts all failed in the same way.
fn is_loop(attempts: &[Failed<'_>]) -> bool {
    let last = &attempts[attempts.len().saturating_sub(LOOP)..];
    last.len() == LOOP
        && last.iter().all(|attempt| !is_blank(attempt.error) && attempt.error == last[0].error)
}

/// A line of files, if there are any.
fn files(block: &mut Block, rank: u8, prefix: &str, files: &[String], limits: Limits) {
    if limits.files > 0 && files.iter().any(|file| !is_blank(file)) {
        block.line(rank, |line| {
            line.push_str(prefix);
            names(files, limits, line);
        });
    }
}

fn names(files: &[String], limits: Limits, line: &mut String) {
    let files = files.iter().filter(|file| !is_blank(file)).take(limits.files);
    for (index, file) in files.enumerate() {
        if index > 0 {
            line.push_str(", ");
        }
        fold_name(file, limits.name, line);
    }
}

/// The longest block that is short enough.
fn shortest(settings: &Settings, build: impl Fn(Limits) -> Block) -> String {
    let mut rungs = LADDER.iter();
    let mut next = || {
        let limits = rungs.next()?;
        let files = limits.files.min(size(settings.max_files));
        Some(build(Limits { files, ..*limits }).fit(size(settings.max_lines)))
    };
    let Some(mut block) = next() else { return String::new() };
    loop {
        let text = block.write();
        if tokens(&text) < MAX_TOKENS {
            return text;
        }
        match next() {
            Some(shorter) => block = shorter,
            None => block.leave_out(),
        }
    }
}

fn or_unknown(reason: &str) -> &str {
    if is_blank(reason) { "unknown" } else { reason }
}

fn size(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn write_to(line: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = line.write_fmt(what);
}

#[cfg(test)]
mod tests;
