//! Whose a transcript is that nobody named.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use ostler_agents::transcript::{Decoder, Memory};
use ostler_core::Fact;

use super::tail::FileId;

/// Bytes at the beginning of a transcript that are searched for a prompt of ours.
const HEAD: u64 = 256 << 10;
/// A text of so many characters is found in another only if it is meant.
const DISTINCT: usize = 20;

/// What is known of a session beside its files, and tells its transcript from those of others in the same directory.
/// Everything may block for a moment.
pub trait Provenance: fmt::Debug + Send + Sync {
    /// Whether another session's agent may write to the same place.
    fn has_neighbour(&self) -> bool;
    /// Texts that this session's agent was given, and no neighbour's.
    fn own_prompts(&self) -> Vec<String>;
    /// Whether a process of the session has this file open.
    fn has_open(&self, file: FileId) -> bool;
}

/// Whether it is proven that a file is the session's: its program has it open, or it begins with what only this
/// session's agent was told.
pub(super) fn is_proven(decoder: &Decoder, file: File, provenance: &dyn Provenance) -> bool {
    if FileId::of(&file).is_ok_and(|id| provenance.has_open(id)) {
        return true;
    }
    let prompts: Vec<String> = provenance.own_prompts().iter().map(|text| one_line(text)).collect();
    !prompts.is_empty()
        && prompts_in(decoder, file).iter().any(|told| prompts.iter().any(|own| is_same(own, told)))
}

/// The first prompts in a transcript.
fn prompts_in(decoder: &Decoder, file: File) -> Vec<String> {
    let mut decoder = decoder.clone().resume(Memory::default());
    let mut lines = BufReader::new(file.take(HEAD));
    let (mut line, mut told) = (Vec::new(), Vec::new());
    while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        told.extend(decoder.line(&line).into_iter().filter_map(|fact| match fact {
            Fact::PromptSubmitted { text } => text.map(|text| one_line(&text)),
            _ => None,
        }));
        line.clear();
    }
    told
}

/// Whether a prompt in a transcript is the text that was given. What the agent adds to a long one does not matter.
fn is_same(own: &str, told: &str) -> bool {
    told == own || own.chars().count() >= DISTINCT && told.contains(own)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
