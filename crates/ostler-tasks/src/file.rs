//! Files of tasks.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use toml::de::DeTable;

use crate::{Task, TaskError};

/// Largest file, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Tasks in one file.
const MAX_TASKS: usize = 1_000;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl Format {
    /// The format of a file: by its name, or else by how it begins.
    pub fn of(file: &str, text: &str) -> Self {
        match file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref() {
            Some("toml") => return Self::Toml,
            Some("json") => return Self::Json,
            _ => {}
        }
        let text = text.trim_start();
        // A table of TOML begins with a bracket too, but with a name in it.
        let is_array = text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['{', ']']));
        if text.starts_with('{') || is_array { Self::Json } else { Self::Toml }
    }
}

/// A file that has several tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    tasks: Vec<Task>,
}

/// What is read of a task to find its id again.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow, alias = "task_id")]
    id: &'a RawValue,
}

#[derive(Deserialize)]
struct BatchOutline<'a> {
    #[serde(borrow)]
    tasks: Vec<Outline<'a>>,
}

/// How the tasks of a file are arranged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    Batch,
    Array,
}

/// Reads the tasks of a file. `file` is what people know it by.
///
/// A file has an array `tasks`, or is one task. TOML and JSON have the same fields. `task_id`, `acceptance_criteria`,
/// `retry_policy` and, in it, `max_retries` (attempts after the first) are understood too:
///
/// ```
/// let tasks = ostler_tasks::parse(
///     "tasks.toml",
///     r#"
///     [[tasks]]
///     id = "login"                                # required
///     instructions = "Add a login form."          # required
///     intent = "People can come back."
///     criteria = ["A wrong password is refused."]
///     checks = ["cargo test", ["cargo", "fmt", "--check"]]
///     context = ["docs/auth.md"]
///     rules = ["No new dependencies."]
///     output_format = "One line."
///     retry = { max_attempts = 3 }
///     options = { enable_pre_context = true, helper = "always" }  # or "loop", "never"
///     agents = ["first", "second"]
///     cwd = "web"
///     worktree = true
///     budget = { time = "1h 30m", tokens = 200000, checks = "10m" }
///     "#,
/// )?;
/// assert_eq!(tasks[0].checks.len(), 2);
/// # Ok::<(), ostler_tasks::TaskError>(())
/// ```
///
/// # Errors
///
/// The first thing that is wrong; no task of such a file is used.
pub fn parse(file: &str, text: &str) -> Result<Vec<Task>, TaskError> {
    let source = Source { file, text, format: Format::of(file, text) };
    if text.len() > MAX_BYTES {
        return Err(source.error(None, None, &format!("larger than {MAX_BYTES} bytes; split it")));
    }
    let shape = source.shape()?;
    let tasks = match shape {
        Shape::One => vec![source.read()?],
        Shape::Batch => source.read::<Batch>()?.tasks,
        Shape::Array => source.read()?,
    };
    if tasks.is_empty() {
        return Err(source.error(None, None, "there are no tasks; add one to `tasks`"));
    }
    if tasks.len() > MAX_TASKS {
        return Err(source.error(None, None, &format!("more than {MAX_TASKS} tasks; split it")));
    }
    source.refuse_twins(&tasks, shape)?;
    Ok(tasks)
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
    format: Format,
}

impl Source<'_> {
    fn shape(&self) -> Result<Shape, TaskError> {
        let has_tasks = match self.format {
            Format::Toml => DeTable::parse_recoverable(self.text).0.get_ref().contains_key("tasks"),
            Format::Json if self.text.trim_start().starts_with('[') => return Ok(Shape::Array),
            Format::Json => self.read::<serde_json::Map<String, serde_json::Value>>()?.contains_key("tasks"),
        };
        Ok(if has_tasks { Shape::Batch } else { Shape::One })
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T, TaskError> {
        match self.format {
            Format::Toml => {
                let deserializer =
                    toml::Deserializer::parse(self.text).map_err(|error| self.toml_error(&error, None))?;
                serde_path_to_error::deserialize(deserializer)
                    .map_err(|error| self.toml_error(error.inner(), Some(error.path())))
            }
            Format::Json => {
                let mut deserializer = serde_json::Deserializer::from_str(self.text);
                let value = serde_path_to_error::deserialize(&mut deserializer)
                    .map_err(|error| self.json_error(error.inner(), Some(error.path())))?;
                deserializer.end().map_err(|error| self.json_error(&error, None))?;
                Ok(value)
            }
        }
    }

    fn toml_error(&self, error: &toml::de::Error, path: Option<&serde_path_to_error::Path>) -> TaskError {
        let line = error.span().map(|span| self.line_of(span.start));
        self.error(line, path.map(ToString::to_string), error.message())
    }

    fn json_error(&self, error: &serde_json::Error, path: Option<&serde_path_to_error::Path>) -> TaskError {
        let text = error.to_string();
        // The place is told in front.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let reason = text.strip_suffix(&place).unwrap_or(&text);
        self.error(Some(error.line()).filter(|line| *line > 0), path.map(ToString::to_string), reason)
    }

    /// Two tasks with one id cannot be told apart.
    fn refuse_twins(&self, tasks: &[Task], shape: Shape) -> Result<(), TaskError> {
        let mut seen = BTreeMap::new();
        for (index, task) in tasks.iter().enumerate() {
            if let Some(first) = seen.insert(&task.id, index) {
                let field = match shape {
                    Shape::Array => format!("[{index}].id"),
                    Shape::One | Shape::Batch => format!("tasks[{index}].id"),
                };
                let line = self.line_of_id(index, shape);
                let at =
                    self.line_of_id(first, shape).map(|line| format!(" in line {line}")).unwrap_or_default();
                let reason =
                    format!("{:?} is the id of another task{at}; give each its own", task.id.as_str());
                return Err(self.error(line, Some(field), &reason));
            }
        }
        Ok(())
    }

    fn line_of_id(&self, index: usize, shape: Shape) -> Option<usize> {
        let offset = match self.format {
            Format::Toml => {
                let (table, _) = DeTable::parse_recoverable(self.text);
                let task = table.get_ref().get("tasks")?.get_ref().get(index)?;
                let table = task.get_ref();
                table.get("id").or_else(|| table.get("task_id"))?.span().start
            }
            Format::Json => {
                let ids: Vec<Outline<'_>> = match shape {
                    Shape::Array => serde_json::from_str(self.text).ok()?,
                    Shape::One | Shape::Batch => {
                        serde_json::from_str::<BatchOutline<'_>>(self.text).ok()?.tasks
                    }
                };
                // The text of the id is a part of the text of the file.
                ids.get(index)?.id.get().as_ptr().addr().checked_sub(self.text.as_ptr().addr())?
            }
        };
        Some(self.line_of(offset))
    }

    fn line_of(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    fn error(&self, line: Option<usize>, field: Option<String>, reason: &str) -> TaskError {
        let field = field.filter(|field| field != "." && !field.is_empty());
        let reason =
            format!("{reason}{}", advice(reason).map(|advice| format!("; {advice}")).unwrap_or_default());
        TaskError { file: self.file.to_owned(), line, field, reason }
    }
}

/// What to do about errors that do not say so themselves.
fn advice(reason: &str) -> Option<&'static str> {
    let starts = |text| reason.starts_with(text);
    Some(match () {
        () if starts("missing field `id`") => "give the task a name of its own: id = \"…\"",
        () if starts("missing field `instructions`") => "say what is to be done: instructions = \"…\"",
        () if starts("missing field `tasks`") => "add an array of tasks",
        () if starts("unknown field") => "correct its name or remove it",
        () => return None,
    })
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Toml => "TOML",
            Self::Json => "JSON",
        })
    }
}

#[cfg(test)]
mod tests;
