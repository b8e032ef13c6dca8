//! Changing an agent's settings: text in, text out.

use std::path::Path;

use serde_json::{Value, json};

use super::command::{self, BY_OSTLER};
use super::json_text::{Kind, Layout, Node, line_of, made_together, nodes, with, without};
use super::own_file;
use super::render::{fresh, group};
use super::spec::{Format, HookSpec};

/// Largest settings file that is changed.
const MAX_SETTINGS: usize = 4 << 20;

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// It has comments, which would be lost or misplaced.
    #[error("line {line} has a comment, so the file is not changed by a program")]
    Comment {
        /// The first of them.
        line: usize,
    },
    /// It cannot be read.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line of the error.
        line: usize,
        /// Column of the error.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// Something that ostler would have to change has another form than the agent knows.
    #[error("line {line}: {what} is not {wanted}")]
    Shape {
        /// Line of the error.
        line: usize,
        /// What.
        what: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// It has the name of a file of ostler's, and is none.
    #[error("the file is not ostler's, although it has its name")]
    NotOurs,
    /// It is too large to be a settings file.
    #[error("the file is too large ({0} bytes)")]
    TooLarge(usize),
    /// The preset does not say what to write.
    #[error("the preset does not say how its hooks are written")]
    NoTemplate,
}

impl MergeError {
    /// The line that it is about.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Comment { line } | Self::Syntax { line, .. } | Self::Shape { line, .. } => Some(*line),
            _ => None,
        }
    }
}

/// What is left after a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The text without what was ours.
    pub text: String,
    /// Nothing is left that ostler would not have put there itself.
    pub empty: bool,
}

/// What is found of ostler's hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// All, as they would be installed now.
    Current,
    /// Some, or for a binary that is elsewhere.
    Outdated,
}

/// Puts ostler's hooks into the text of a file, or makes the text where there is no file.
pub fn install(
    spec: &HookSpec,
    agent: &str,
    ostler: &Path,
    before: Option<&str>,
) -> Result<String, MergeError> {
    if spec.own_file || spec.format == Format::Program {
        return own_file::install(spec, agent, ostler, before);
    }
    let before = before.filter(|text| !text.trim().is_empty());
    let Some(before) = before else { return Ok(fresh(spec, agent, ostler, BY_OSTLER)) };
    if inspect(spec, agent, ostler, Some(before))? == Found::Current {
        return Ok(before.to_owned());
    }
    let mut text = remove(spec, before)?.text;
    for (name, event) in &spec.events {
        text = add(&text, name, &group(spec, agent, ostler, (name, event), BY_OSTLER))?;
    }
    Ok(text)
}

/// Takes ostler's hooks out of the text of a file.
pub fn remove(spec: &HookSpec, before: &str) -> Result<Removed, MergeError> {
    if spec.own_file || spec.format == Format::Program {
        return Ok(own_file::remove(before));
    }
    if before.trim().is_empty() {
        return Ok(Removed { text: before.to_owned(), empty: true });
    }
    let mut text = before.to_owned();
    // Backwards: each step is the exact reverse of one of an installation.
    while let Some(shorter) = without_last(&text)? {
        text = shorter;
    }
    let left: Value = serde_json::from_str(unmarked(&text).1).unwrap_or_default();
    let empty = left
        .as_object()
        .is_some_and(|left| left.iter().all(|(key, value)| spec.base.get(key) == Some(value)));
    Ok(Removed { text, empty })
}

/// Tells what of ostler's hooks is in the text of a file.
pub fn inspect(spec: &HookSpec, agent: &str, ostler: &Path, text: Option<&str>) -> Result<Found, MergeError> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(Found::Nothing) };
    if spec.own_file || spec.format == Format::Program {
        return own_file::inspect(spec, agent, ostler, text);
    }
    let (_, root) = parsed(text)?;
    let found = ours(text, &root)?;
    if found.is_empty() {
        return Ok(Found::Nothing);
    }
    let value: Value = serde_json::from_str(unmarked(text).1).unwrap_or_default();
    let current = found.len() == spec.events.len()
        && spec.events.iter().all(|(name, event)| {
            let wanted = group(spec, agent, ostler, (name, event), BY_OSTLER);
            value["hooks"][name].as_array().is_some_and(|groups| groups.contains(&wanted))
        });
    Ok(if current { Found::Current } else { Found::Outdated })
}

/// What a person would add to a file that is not changed by a program.
pub fn by_hand(spec: &HookSpec, agent: &str, ostler: &Path) -> String {
    own_file::whole(spec, agent, ostler).unwrap_or_else(|_| fresh(spec, agent, ostler, BY_OSTLER))
}

/// Text without the mark that some editors put before it, and that mark.
fn unmarked(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// The values and places of a text that can be changed.
fn parsed(text: &str) -> Result<(Value, Node), MergeError> {
    if text.len() > MAX_SETTINGS {
        return Err(MergeError::TooLarge(text.len()));
    }
    let (mark, body) = unmarked(text);
    let value: Value = serde_json::from_str(body).map_err(|error| syntax(body, &error))?;
    // The same places, but of the whole text, so that they hold for it.
    let blank = format!("{}{body}", " ".repeat(mark.len()));
    let shape = |line| MergeError::Shape { line, what: "the file".into(), wanted: "an object" };
    let root = nodes(&blank).ok_or_else(|| shape(1))?;
    if !value.is_object() {
        return Err(shape(line_of(text, root.span.start)));
    }
    Ok((value, root))
}

fn syntax(text: &str, error: &serde_json::Error) -> MergeError {
    let (line, column) = (error.line(), error.column());
    let here = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let before = here.get(..column.min(here.len())).unwrap_or_default().trim_start();
    if before.ends_with('/') || before.ends_with("/*") {
        return MergeError::Comment { line };
    }
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default().to_owned();
    MergeError::Syntax { line, column, message }
}

/// A handler of ours: the index of its event, of its group, and of itself in the group.
struct Ours {
    event: usize,
    group: usize,
    /// Only where other handlers are in the same group.
    handler: Option<usize>,
}

/// Finds ostler's handlers.
fn ours(text: &str, root: &Node) -> Result<Vec<Ours>, MergeError> {
    let Some(hooks) = root.member("hooks") else { return Ok(Vec::new()) };
    let Kind::Object(events) = &hooks.value.kind else {
        let line = line_of(text, hooks.span.start);
        return Err(MergeError::Shape { line, what: "\"hooks\"".into(), wanted: "an object" });
    };
    let mut found = Vec::new();
    for (event, member) in events.iter().enumerate() {
        let Kind::Array(groups) = &member.value.kind else { continue };
        for (group, node) in groups.iter().enumerate() {
            if is_ours(text, node) {
                found.push(Ours { event, group, handler: None });
                continue;
            }
            let Some(Kind::Array(handlers)) = node.member("hooks").map(|member| &member.value.kind) else {
                continue;
            };
            let own: Vec<usize> =
                (0..handlers.len()).filter(|index| is_ours(text, &handlers[*index])).collect();
            if !own.is_empty() && own.len() == handlers.len() {
                found.push(Ours { event, group, handler: None });
            } else {
                found.extend(own.into_iter().map(|handler| Ours { event, group, handler: Some(handler) }));
            }
        }
    }
    Ok(found)
}

/// Whether a handler runs ostler, whatever the agent calls the field with the command.
fn is_ours(text: &str, handler: &Node) -> bool {
    let Kind::Object(members) = &handler.kind else { return false };
    members.iter().any(|member| {
        member.value.kind == Kind::Scalar
            && serde_json::from_str::<String>(&text[member.value.span.clone()])
                .is_ok_and(|value| command::is_ours(&value))
    })
}

/// The text without the last of ostler's handlers, and without what was made only for it.
fn without_last(text: &str) -> Result<Option<String>, MergeError> {
    let (_, root) = parsed(text)?;
    let Some(last) = ours(text, &root)?.pop() else { return Ok(None) };
    let Kind::Object(settings) = &root.kind else { return Ok(None) };
    let Some(at) = settings.iter().rposition(|member| member.key == "hooks") else { return Ok(None) };
    let hooks = &settings[at].value;
    let Kind::Object(events) = &hooks.kind else { return Ok(None) };
    let entries = &events[last.event].value;
    let Kind::Array(groups) = &entries.kind else { return Ok(None) };
    if let (Some(index), Some(handlers)) = (last.handler, groups[last.group].member("hooks")) {
        return Ok(Some(without(text, &handlers.value, index)));
    }
    Ok(Some(if !made_together(text, entries) {
        without(text, entries, last.group)
    } else if !made_together(text, hooks) {
        without(text, hooks, last.event)
    } else {
        without(text, &root, at)
    }))
}

/// Puts a group at the end of an event's list.
fn add(text: &str, event: &str, group: &Value) -> Result<String, MergeError> {
    let (_, root) = parsed(text)?;
    let layout = Layout::of(text, &root);
    let member =
        |name: &str, value: &Value, level| format!("{}: {}", json!(name), layout.render(value, level));
    let Some(hooks) = root.member("hooks") else {
        return Ok(with(text, &root, &member("hooks", &json!({ event: [group] }), 1)));
    };
    let Some(list) = hooks.value.member(event) else {
        return Ok(with(text, &hooks.value, &member(event, &json!([group]), 2)));
    };
    if !matches!(list.value.kind, Kind::Array(_)) {
        let line = line_of(text, list.span.start);
        return Err(MergeError::Shape { line, what: format!("{event:?}"), wanted: "a list" });
    }
    Ok(with(text, &list.value, &layout.render(group, 3)))
}
