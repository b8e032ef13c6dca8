//! From records to facts.

use std::sync::Arc;

use ostler_core::{Fact, Failure, Wall};
use regex::Regex;
use serde_json::Value;

use super::MAX_LINE;
use super::error::SpecError;
use super::memory::Memory;
use super::record::Record;
use super::spec::{Format, TranscriptSpec};
use super::test::{Tests, regex};
use super::value::{Pointer, moment, name};

/// Turns the records of one transcript into facts, one after the other.
///
/// A clone shares the rules and has a memory of its own.
#[derive(Debug, Clone)]
pub struct Decoder {
    rules: Arc<Rules>,
    memory: Memory,
    skipped: Skipped,
    /// When the last record was written.
    time: Option<Wall>,
}

#[derive(Debug)]
struct Rules {
    owner: Tests,
    session: Option<Pointer>,
    cwd: Option<Pointer>,
    time: Option<Pointer>,
    ignore: Vec<Tests>,
    failures: Vec<(Regex, Failure)>,
    records: Vec<Record>,
}

/// Whose transcript it is, as far as a record tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// The id of the conversation.
    pub session: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
}

/// Records that were not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Longer than [`MAX_LINE`].
    pub too_long: u64,
    /// Not a JSON object.
    pub not_json: u64,
}

impl Decoder {
    /// Makes a decoder, if everything in the specification is well-formed.
    pub fn new(spec: &TranscriptSpec) -> Result<Self, SpecError> {
        if spec.format == Format::Sqlite && spec.query.is_none() {
            return Err(SpecError::Missing {
                field: "query".into(),
                reason: "a database is read with a query",
            });
        }
        let ignore = spec.ignore.iter().enumerate();
        let failures = spec.failures.iter().enumerate();
        let records = spec.records.iter().enumerate();
        let rules = Rules {
            owner: Tests::new("owner", &spec.owner)?,
            session: Pointer::maybe("session", spec.session.as_ref())?,
            cwd: Pointer::maybe("cwd", spec.cwd.as_ref())?,
            time: Pointer::maybe("time", spec.time.as_ref())?,
            ignore: ignore
                .map(|(index, conditions)| {
                    let field = format!("ignore[{index}]");
                    let tests = Tests::new(&field, conditions)?;
                    let reason = "an empty condition would ignore everything";
                    if tests.is_empty() { Err(SpecError::Missing { field, reason }) } else { Ok(tests) }
                })
                .collect::<Result<_, _>>()?,
            failures: failures
                .map(|(index, case)| Ok((regex(&format!("failures[{index}]"), &case.matches)?, case.failure)))
                .collect::<Result<_, _>>()?,
            records: records.map(|(index, record)| Record::new(index, record)).collect::<Result<_, _>>()?,
        };
        Ok(Self {
            rules: Arc::new(rules),
            memory: Memory::default(),
            skipped: Skipped::default(),
            time: None,
        })
    }

    /// Goes on where another decoder stopped.
    #[must_use]
    pub fn resume(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Takes records before this moment for history: counters are read from them, nothing is told.
    #[must_use]
    pub fn since(mut self, moment: Wall) -> Self {
        if self.rules.time.is_some() {
            self.memory.forget_until(moment);
        }
        self
    }

    /// Says that the transcript begins anew: what it repeats of records that were seen is history.
    pub fn rewound(&mut self) {
        if self.rules.time.is_some() {
            self.memory.forget_seen();
        }
    }

    /// What must be kept to go on later.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// When the last record was written, as it says itself.
    pub fn time(&self) -> Option<Wall> {
        self.time
    }

    /// What was not understood so far.
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// Notes that a record was too long to be read.
    pub fn skip_long(&mut self) {
        self.skipped.too_long += 1;
    }

    /// What a record means.
    pub fn line(&mut self, line: impl AsRef<[u8]>) -> Vec<Fact> {
        let mut facts = Vec::new();
        let line = line.as_ref();
        let Some(record) = self.parse(line) else { return facts };
        let time = self.rules.time.as_ref().and_then(|pointer| pointer.of(&record)).and_then(moment);
        let history = self.memory.is_history(time, line);
        self.time = time;
        if self.rules.ignore.iter().any(|tests| tests.hold(&record)) {
            return facts;
        }
        for kind in &self.rules.records {
            kind.decode(&record, &self.rules.failures, &mut self.memory, &mut facts);
        }
        if history {
            facts.clear();
        }
        facts
    }

    /// Whose transcript it is, if this record tells.
    pub fn owner(&self, line: impl AsRef<[u8]>) -> Option<Owner> {
        let record: Value = serde_json::from_slice(line.as_ref()).ok()?;
        if !self.rules.owner.hold(&record) {
            return None;
        }
        let read = |pointer: &Option<Pointer>| pointer.as_ref()?.of(&record).and_then(name);
        let owner = Owner { session: read(&self.rules.session), cwd: read(&self.rules.cwd) };
        (!self.rules.owner.is_empty() || owner != Owner::default()).then_some(owner)
    }

    fn parse(&mut self, line: &[u8]) -> Option<Value> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        if line.len() > MAX_LINE {
            self.skip_long();
            return None;
        }
        let record = serde_json::from_slice(line).ok().filter(Value::is_object);
        if record.is_none() {
            self.skipped.not_json += 1;
        }
        record
    }
}
