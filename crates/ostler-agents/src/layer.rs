//! Files that say something about an agent, and what is wrong with them.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::Preset;

/// Largest preset, in bytes.
const MAX_FILE: usize = 1 << 20;

/// A file with all or some fields of a preset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The agent it is about: the file's name without its extension.
    pub agent: String,
    /// The file, as people know it.
    pub file: String,
    /// What it says.
    pub text: String,
}

/// Why a file is not used. The others are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PresetError {
    /// The agent it is about.
    pub agent: String,
    /// The file.
    pub file: String,
    /// The line, from 1, if it is known.
    pub line: Option<usize>,
    /// The field, from the top of the file, if it is known.
    pub field: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl std::error::Error for PresetError {}

impl fmt::Display for PresetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl Layer {
    /// Reads the file as a preset, by itself.
    pub(crate) fn parse(&self) -> Result<Table, PresetError> {
        self.read::<Preset>()?;
        self.read()
    }

    /// Reads the file by itself, so that an error is told with its place.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, PresetError> {
        if self.text.len() > MAX_FILE {
            return Err(self.error(None, None, format!("it may have {MAX_FILE} bytes")));
        }
        let at = |error: &toml::de::Error| {
            let start = error.span().map(|span| span.start);
            let line = start.map(|start| self.line_of(start));
            self.error(line, start.and_then(|start| self.field_at(start)), error.message().to_owned())
        };
        toml::from_str(&self.text).map_err(|error| at(&error))
    }

    /// An error in a field that is known by its path.
    pub(crate) fn error_in(&self, field: &str, reason: String) -> PresetError {
        let line = self.place_of(field).map(|start| self.line_of(start));
        self.error(line, (!field.is_empty()).then(|| field.to_owned()), reason)
    }

    fn error(&self, line: Option<usize>, field: Option<String>, reason: String) -> PresetError {
        PresetError { agent: self.agent.clone(), file: self.file.clone(), line, field, reason }
    }

    fn line_of(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    /// The path of the innermost field around a place.
    fn field_at(&self, offset: usize) -> Option<String> {
        let (table, _) = DeTable::parse_recoverable(&self.text);
        let mut path = Vec::new();
        let mut tables = vec![table.get_ref()];
        while let Some(table) = tables.pop() {
            let inside = |span: std::ops::Range<usize>| span.contains(&offset);
            // A table's own span is that of its heading; what is in it lies behind.
            let found = table
                .iter()
                .find(|(key, value)| inside(key.span()) || inside(value.span()) || holds(value, offset));
            let Some((key, value)) = found else { break };
            path.push(key.get_ref().to_string());
            tables.extend(value.get_ref().as_table());
        }
        (!path.is_empty()).then(|| path.join("."))
    }

    /// Where a field is, or the nearest around it that this file has.
    fn place_of(&self, field: &str) -> Option<usize> {
        let (table, _) = DeTable::parse_recoverable(&self.text);
        let mut place = None;
        let mut value: Option<&Spanned<DeValue<'_>>> = None;
        for part in field.split('.') {
            let (name, index) = match part.split_once('[') {
                Some((name, index)) => (name, index.trim_end_matches(']').parse::<usize>().ok()),
                None => (part, None),
            };
            let inner = match value {
                None => Some(table.get_ref()),
                Some(value) => value.get_ref().as_table(),
            };
            let Some((key, found)) =
                inner.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == name))
            else {
                break;
            };
            place = Some(key.span().start);
            value = Some(found);
            if let Some(element) = index.and_then(|index| found.get_ref().get(index)) {
                place = Some(element.span().start);
                value = Some(element);
            }
        }
        place
    }
}

/// Whether a place lies in a value or in one of its parts.
fn holds(value: &Spanned<DeValue<'_>>, offset: usize) -> bool {
    value.span().contains(&offset)
        || value.get_ref().as_table().is_some_and(|table| {
            table.iter().any(|(key, value)| key.span().contains(&offset) || holds(value, offset))
        })
}

/// Puts the fields of one file over those of another. Tables are merged, everything else is replaced.
pub(crate) fn merge(below: &mut Table, above: &Table) {
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            _ => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
