//! One kind of record, ready to be recognised.

use ostler_core::{Asking, Fact, Failure, Usage};
use regex::Regex;
use serde_json::Value;

use super::error::SpecError;
use super::memory::Memory;
use super::spec::{FactKind, RecordSpec, UsageSpec};
use super::test::Tests;
use super::value::{Pointer, count, cut, micros, name, text, words};

/// Longest prompt, and longest words of the agent, that are passed on.
const MAX_TEXT: usize = 1 << 18;
/// Longest words of a failure that are passed on.
const MAX_DETAIL: usize = 1 << 10;
/// Elements of a list that are looked at.
const MAX_EACH: usize = 1_000;

/// One kind of record and what it means.
#[derive(Debug, Clone)]
pub(super) struct Record {
    when: Tests,
    each: Option<Pointer>,
    filter: Tests,
    fact: FactKind,
    id: Option<Pointer>,
    once: bool,
    text: Vec<Pointer>,
    kind: Asking,
    detail: Vec<Pointer>,
    failure: Failure,
    usage: Counters,
    /// Tells its counter of the whole conversation from that of other kinds of records.
    counter: String,
}

#[derive(Debug, Clone)]
struct Counters {
    input: Vec<Pointer>,
    cached: Vec<Pointer>,
    output: Vec<Pointer>,
    cost: Vec<Pointer>,
    input_has_cached: bool,
    total: bool,
}

impl Record {
    pub(super) fn new(index: usize, spec: &RecordSpec) -> Result<Self, SpecError> {
        let at = |field: &str| format!("records[{index}].{field}");
        let missing = |field: &str, reason| SpecError::Missing { field: at(field), reason };
        let fact = spec.fact.ok_or_else(|| missing("fact", "says what the record means"))?;
        if spec.once && spec.id.is_none() {
            return Err(missing("id", "is needed to tell a record once"));
        }
        if fact == FactKind::Asked && spec.kind.is_none() {
            return Err(missing("kind", "says what is asked for"));
        }
        if spec.when.is_empty() && spec.each.is_none() {
            return Err(missing("when", "says which records are meant"));
        }
        Ok(Self {
            when: Tests::new(&at("when"), &spec.when)?,
            each: Pointer::maybe(&at("each"), spec.each.as_ref())?,
            filter: Tests::new(&at("where"), &spec.filter)?,
            fact,
            id: Pointer::maybe(&at("id"), spec.id.as_ref())?,
            once: spec.once,
            text: Pointer::list(&at("text"), &spec.text)?,
            kind: spec.kind.unwrap_or(Asking::Dialog),
            detail: Pointer::list(&at("detail"), &spec.detail)?,
            failure: spec.failure.unwrap_or(Failure::Other),
            usage: Counters::new(&at("usage"), &spec.usage)?,
            counter: spec.usage.cost.iter().chain(&spec.usage.input).cloned().collect(),
        })
    }

    /// Adds what a record means.
    pub(super) fn decode(
        &self,
        record: &Value,
        cases: &[(Regex, Failure)],
        memory: &mut Memory,
        facts: &mut Vec<Fact>,
    ) {
        if !self.when.hold(record) {
            return;
        }
        let Some(each) = &self.each else { return self.decode_one(record, cases, memory, facts) };
        let Some(list) = each.of(record).and_then(Value::as_array) else { return };
        for element in list.iter().take(MAX_EACH).filter(|element| self.filter.hold(element)) {
            self.decode_one(element, cases, memory, facts);
        }
    }

    fn decode_one(&self, at: &Value, cases: &[(Regex, Failure)], memory: &mut Memory, facts: &mut Vec<Fact>) {
        let id = self.id.as_ref().and_then(|pointer| pointer.of(at)).and_then(name);
        if self.once && id.as_ref().is_some_and(|id| !memory.first(&format!("{:?}", self.fact), id)) {
            return;
        }
        let fact = match self.fact {
            FactKind::SessionStarted => Fact::SessionStarted,
            FactKind::SessionEnded => Fact::SessionEnded,
            FactKind::PromptSubmitted => Fact::PromptSubmitted { text: self.text(at) },
            FactKind::Said => match self.text(at).filter(|text| !text.trim().is_empty()) {
                Some(text) => Fact::Said { text },
                None => return,
            },
            FactKind::TurnStarted => Fact::TurnStarted,
            FactKind::TurnProgressed => Fact::TurnProgressed,
            FactKind::TurnEnded => Fact::TurnEnded { background: 0 },
            FactKind::TurnFailed => {
                let (failure, detail) = self.failure(at, cases);
                Fact::TurnFailed { failure, detail }
            }
            FactKind::Retrying => Fact::Retrying { failure: self.failure(at, cases).0 },
            FactKind::Interrupted => Fact::Interrupted,
            FactKind::ToolStarted => Fact::ToolStarted { id },
            FactKind::ToolEnded => {
                if id.as_ref().is_some_and(|id| memory.answered(id)) {
                    facts.push(Fact::Answered);
                }
                Fact::ToolEnded { id }
            }
            FactKind::Asked => {
                if let Some(id) = &id {
                    memory.asked(id);
                }
                Fact::Asked { kind: self.kind }
            }
            FactKind::Answered => Fact::Answered,
            FactKind::Compacting => Fact::Compacting,
            FactKind::SubagentEnded => Fact::SubagentEnded,
            FactKind::Used => {
                let now = self.usage.of(at);
                let added = match &id {
                    _ if self.usage.total => memory.of_total(&self.counter, now),
                    Some(id) => memory.of_message(id, now),
                    None => now,
                };
                if added == Usage::default() {
                    return;
                }
                Fact::Used(added)
            }
        };
        facts.push(fact);
    }

    fn text(&self, at: &Value) -> Option<String> {
        let text = self.text.iter().find_map(|pointer| pointer.of(at).and_then(text));
        text.map(|text| cut(text, MAX_TEXT))
    }

    fn failure(&self, at: &Value, cases: &[(Regex, Failure)]) -> (Failure, Option<String>) {
        let parts: Vec<String> = self
            .detail
            .iter()
            .filter_map(|pointer| pointer.of(at))
            .map(|value| text(value).unwrap_or_else(|| words(value)))
            .collect();
        if parts.is_empty() {
            return (self.failure, None);
        }
        let detail = cut(parts.join(" "), MAX_DETAIL);
        let case = cases.iter().find(|(regex, _)| regex.is_match(&detail));
        (case.map_or(self.failure, |(_, failure)| *failure), Some(detail))
    }
}

impl Counters {
    fn new(field: &str, spec: &UsageSpec) -> Result<Self, SpecError> {
        Ok(Self {
            input: Pointer::list(field, &spec.input)?,
            cached: Pointer::list(field, &spec.cached)?,
            output: Pointer::list(field, &spec.output)?,
            cost: Pointer::list(field, &spec.cost)?,
            input_has_cached: spec.input_has_cached,
            total: spec.total,
        })
    }

    fn of(&self, at: &Value) -> Usage {
        let sum = |places: &[Pointer], read: fn(&Value) -> u64| {
            places.iter().filter_map(|place| place.of(at)).map(read).fold(0, u64::saturating_add)
        };
        let cached = sum(&self.cached, count);
        let input = sum(&self.input, count);
        Usage {
            input: if self.input_has_cached { input.saturating_sub(cached) } else { input },
            cached,
            output: sum(&self.output, count),
            cost_micros: sum(&self.cost, micros),
        }
    }
}
