//! Reading places of a record.

use ostler_core::Wall;
use serde_json::Value;

use super::error::SpecError;

/// A place in a record.
#[derive(Debug, Clone)]
pub(super) struct Pointer(String);

impl Pointer {
    pub(super) fn new(field: &str, pointer: &str) -> Result<Self, SpecError> {
        let escapes_well =
            pointer.split('~').skip(1).all(|rest| rest.starts_with('0') || rest.starts_with('1'));
        if (pointer.is_empty() || pointer.starts_with('/')) && escapes_well {
            Ok(Self(pointer.to_owned()))
        } else {
            Err(SpecError::Pointer { field: field.to_owned(), pointer: pointer.to_owned() })
        }
    }

    pub(super) fn list(field: &str, pointers: &[String]) -> Result<Vec<Self>, SpecError> {
        pointers.iter().map(|pointer| Self::new(field, pointer)).collect()
    }

    pub(super) fn maybe(field: &str, pointer: Option<&String>) -> Result<Option<Self>, SpecError> {
        pointer.map(|pointer| Self::new(field, pointer)).transpose()
    }

    /// What is there; null is nothing.
    pub(super) fn of<'a>(&self, record: &'a Value) -> Option<&'a Value> {
        record.pointer(&self.0).filter(|value| !value.is_null())
    }
}

/// The text of a value: a string, or the texts of a list of strings and of objects with `text`.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part.get("text").and_then(Value::as_str)))
                .collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

/// A value as words: text as it is, anything else as JSON.
pub(super) fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What names something: a string or a number.
pub(super) fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A count of tokens; numbers that make no sense count nothing.
pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// US dollars as millionths.
pub(super) fn micros(value: &Value) -> u64 {
    let dollars = value.as_f64().unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, as wanted"
    )]
    let micros = (dollars * 1e6).round() as u64;
    micros
}

/// A moment: RFC 3339, or seconds or milliseconds since 1970.
pub(super) fn moment(value: &Value) -> Option<Wall> {
    let millis = match value {
        Value::String(text) => u64::try_from(text.parse::<jiff::Timestamp>().ok()?.as_millisecond()).ok()?,
        Value::Number(_) => {
            let number = value.as_f64().filter(|number| *number >= 0.0)?;
            // Seconds of the year 5000 are milliseconds of April 1973: nothing is that old.
            let millis = if number < 1e11 { number * 1e3 } else { number };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the cast saturates, as wanted"
            )]
            let millis = millis as u64;
            millis
        }
        _ => return None,
    };
    Some(Wall(millis))
}

/// Cuts text to a number of bytes, between characters.
pub(super) fn cut(mut text: String, limit: usize) -> String {
    text.truncate(text.floor_char_boundary(limit));
    text
}
