//! Transcripts as they are written down in a preset.

use std::collections::BTreeMap;
use std::fmt;

use ostler_core::{Asking, Failure};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Where an agent's transcript is, and what its records mean.
///
/// Places in a record are JSON pointers (`/message/id`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TranscriptSpec {
    /// What kind of file it is.
    pub format: Format,
    /// The directory that all transcripts are beneath, and nothing else is ever read: `{config}` is the agent's
    /// config directory, `{home}` the user's, `{data}` the user's directory for data. Empty means `{config}`.
    pub root: String,
    /// The file beneath that directory. `*` stands for any part of a name, `{session}` for the id of the
    /// conversation (`{session:8}` for its first 8 characters), `{cwd}` for the working directory after `mangle`.
    pub place: String,
    /// How the agent makes a name of the working directory.
    pub mangle: Vec<Mangle>,
    /// For a database: gives a key that grows and a record, ordered by the key. `:after` is the last key that was
    /// read, `:session` the id of the conversation or null, `:cwd` the working directory, `:started` the start
    /// of the session in milliseconds.
    pub query: Option<String>,
    /// Which record tells whose transcript it is. Empty: any record that has `session` or `cwd`.
    pub owner: Conditions,
    /// Where a record has the id of the conversation.
    pub session: Option<String>,
    /// Where a record has the working directory.
    pub cwd: Option<String>,
    /// A file that has the working directory, seen from the directory of the transcript.
    pub cwd_file: Option<String>,
    /// Where a record has its time: RFC 3339, or seconds or milliseconds since 1970.
    pub time: Option<String>,
    /// Records that are not the conversation's own: those of subagents, of titles. One condition is enough.
    pub ignore: Vec<Conditions>,
    /// Which words mean which failure. The first that matches counts.
    pub failures: Vec<CaseSpec>,
    /// What records mean. All that match a record count, in this order.
    pub records: Vec<RecordSpec>,
}

impl TranscriptSpec {
    /// Whether it is known where a transcript has what the agent says.
    pub fn tells_replies(&self) -> bool {
        self.records.iter().any(|record| record.fact == Some(FactKind::Said))
    }
}

/// What kind of file a transcript is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One JSON object per line, appended.
    #[default]
    Jsonl,
    /// A database that is read with a query.
    Sqlite,
}

/// One step in making a name of a directory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mangle {
    /// A regular expression.
    pub pattern: String,
    /// What every match becomes.
    pub with: String,
}

/// What must be so, by the place in the record. All of it.
pub type Conditions = BTreeMap<String, TestSpec>;

/// What a kind of record means.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordSpec {
    /// Which records.
    pub when: Conditions,
    /// The fact is told once for every element of this array; other places are then within the element.
    pub each: Option<String>,
    /// Which elements.
    #[serde(rename = "where")]
    pub filter: Conditions,
    /// What it means.
    pub fact: Option<FactKind>,
    /// What names the tool call or the message.
    pub id: Option<String>,
    /// Tell it only once per `id`: the agent writes the record again when something in it changes.
    pub once: bool,
    /// Where the prompt is, or what the agent says. The first place that has text counts.
    pub text: Vec<String>,
    /// What the agent asks for, for `asked`.
    pub kind: Option<Asking>,
    /// Where the words of a failure are; all are taken.
    pub detail: Vec<String>,
    /// The failure, if none of the transcript's `failures` matches the detail.
    pub failure: Option<Failure>,
    /// Where the counters are, for `used`.
    pub usage: UsageSpec,
    /// What it is about, for people.
    pub note: Option<String>,
}

/// Which words mean which failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseSpec {
    /// A regular expression for the detail of the failure.
    pub matches: String,
    /// The failure.
    pub failure: Failure,
}

/// Where a record counts what was spent. Places of one kind are added up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageSpec {
    /// Tokens sent to the model.
    pub input: Vec<String>,
    /// Tokens read from a cache.
    pub cached: Vec<String>,
    /// Tokens that the model wrote.
    pub output: Vec<String>,
    /// Cost in US dollars.
    pub cost: Vec<String>,
    /// The tokens sent include those read from a cache.
    pub input_has_cached: bool,
    /// The counters are those of the whole conversation, not of one message.
    pub total: bool,
}

/// What a record can mean; see [`ostler_core::Fact`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named after the facts, which say what they are")]
pub enum FactKind {
    SessionStarted,
    SessionEnded,
    PromptSubmitted,
    TurnStarted,
    TurnProgressed,
    Said,
    TurnEnded,
    TurnFailed,
    Retrying,
    Interrupted,
    ToolStarted,
    ToolEnded,
    Asked,
    Answered,
    Compacting,
    SubagentEnded,
    Used,
}

/// A plain value in a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
}

/// What must be so at one place of a record: a value, a list of possible values, or a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TestSpec {
    /// This value is there.
    Is(Scalar),
    /// One of these values is there.
    OneOf(Vec<Scalar>),
    /// What the table says.
    Table(Box<TestTable>),
}

/// What must be so at one place of a record. All that is said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TestTable {
    /// Whether something other than null is there.
    pub exists: Option<bool>,
    /// None of these values is there.
    pub not: Vec<Scalar>,
    /// The text there matches this regular expression. The text of a list is that of its elements.
    pub matches: Option<String>,
    /// The text there, if any, does not match this regular expression.
    pub lacks: Option<String>,
    /// One element of the list there satisfies all of this.
    pub any: Conditions,
    /// No element of the list there satisfies all of this.
    pub none: Conditions,
}

// Written out because an untagged enum would answer every mistake with "did not match any variant".
impl<'de> Deserialize<'de> for TestSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TestVisitor)
    }
}

struct TestVisitor;

impl<'de> Visitor<'de> for TestVisitor {
    type Value = TestSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value, a list of values, or a table of exists, not, matches, lacks, any, none")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<TestSpec, E> {
        Ok(TestSpec::Is(Scalar::Bool(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<TestSpec, E> {
        Ok(TestSpec::Is(Scalar::Int(value)))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<TestSpec, E> {
        i64::try_from(value).map(|value| TestSpec::Is(Scalar::Int(value))).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<TestSpec, E> {
        Ok(TestSpec::Is(Scalar::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<TestSpec, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(TestSpec::OneOf)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<TestSpec, A::Error> {
        TestTable::deserialize(MapAccessDeserializer::new(table))
            .map(|table| TestSpec::Table(Box::new(table)))
    }
}
