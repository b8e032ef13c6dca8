//! The prompt of a task.

use std::fmt;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, context};

use crate::{Check, Task, TaskId};

/// What templates can use.
pub const VARIABLES: [&str; 10] = [
    "id",
    "instructions",
    "description",
    "intent",
    "criteria",
    "checks",
    "context",
    "rules",
    "output_format",
    "directory",
];

/// The template that is used where the user brings none.
const BUILT_IN: &str = include_str!("prompt.jinja");
/// Steps that a template may take: it cannot run for ever.
const MAX_STEPS: u64 = 1_000_000;

/// Makes prompts of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate {
    file: String,
    text: String,
}

/// What is wrong with a template, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// The file, as people know it.
    pub file: String,
    /// The line, from 1, if it is known.
    pub line: Option<usize>,
    /// The variable or expression, if it is known.
    pub variable: Option<String>,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl std::error::Error for TemplateError {}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(variable) = &self.variable {
            write!(f, ": {variable}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl Default for PromptTemplate {
    fn default() -> Self {
        Self { file: "built-in template".into(), text: BUILT_IN.into() }
    }
}

impl PromptTemplate {
    /// A user's template, if it can be used. `file` is what people know it by.
    pub fn parse(file: impl Into<String>, text: impl Into<String>) -> Result<Self, TemplateError> {
        let template = Self { file: file.into(), text: text.into() };
        let environment = template.environment()?;
        let parsed = environment.get_template(&template.file).map_err(|error| template.error(&error))?;
        let globals: Vec<String> = environment.globals().map(|(name, _)| name.to_owned()).collect();
        let mut unknown: Vec<String> = parsed
            .undeclared_variables(false)
            .into_iter()
            .filter(|name| !VARIABLES.contains(&name.as_str()) && !globals.contains(name))
            .collect();
        // The first one in the text, to tell the same whenever it is asked.
        unknown.sort_by_key(|name| template.line_of(name));
        if let Some(name) = unknown.first() {
            let reason = format!("no such variable; there are {}", VARIABLES.join(", "));
            let (file, line) = (template.file.clone(), template.line_of(name));
            return Err(TemplateError { file, line, variable: Some(name.clone()), reason });
        }
        // Unknown filters and the like show only when it is used.
        drop(parsed);
        template.render(&sample(), "/")?;
        Ok(template)
    }

    /// The prompt of a task that is done in a directory.
    pub fn render(&self, task: &Task, directory: &str) -> Result<String, TemplateError> {
        let environment = self.environment()?;
        let checks: Vec<String> = task.checks.iter().map(ToString::to_string).collect();
        let values = context! {
            id => task.id.as_str(),
            instructions => task.instructions.as_str(),
            description => task.instructions.as_str(),
            intent => task.intent.as_deref().unwrap_or_default(),
            criteria => task.criteria.clone(),
            checks,
            context => task.context.clone(),
            rules => task.rules.clone(),
            output_format => task.output_format.as_deref().unwrap_or_default(),
            directory,
        };
        let template = environment.get_template(&self.file).map_err(|error| self.error(&error))?;
        let prompt = template.render(values).map_err(|error| self.error(&error))?;
        if prompt.trim().is_empty() {
            let reason = "the prompt is empty; use at least {{ instructions }}".to_owned();
            return Err(TemplateError { file: self.file.clone(), line: None, variable: None, reason });
        }
        Ok(prompt)
    }

    fn environment(&self) -> Result<Environment<'_>, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_fuel(Some(MAX_STEPS));
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| self.error(&error))?);
        environment.add_template(&self.file, &self.text).map_err(|error| self.error(&error))?;
        Ok(environment)
    }

    fn error(&self, error: &minijinja::Error) -> TemplateError {
        let expression = error.range().and_then(|range| self.text.get(range)).map(str::trim);
        let variable = expression
            .filter(|text| {
                text.len() < 80 && text.chars().any(char::is_alphabetic) && !text.contains(['{', '%'])
            })
            .map(str::to_owned);
        let reason = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        TemplateError { file: self.file.clone(), line: error.line(), variable, reason }
    }

    /// The first line with a name in it, as a whole word within braces.
    fn line_of(&self, name: &str) -> Option<usize> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let has = |line: &str| line.contains('{') && line.split(|c| !is_word(c)).any(|word| word == name);
        self.text.lines().position(has).map(|index| index + 1)
    }
}

/// A task that has everything.
fn sample() -> Task {
    let some = || vec!["sample".to_owned()];
    Task {
        intent: Some("sample".into()),
        criteria: some(),
        checks: vec![Check::Program(some())],
        context: some(),
        rules: some(),
        output_format: Some("sample".into()),
        ..Task::new(TaskId::sample(), "sample")
    }
}

#[cfg(test)]
mod tests;
