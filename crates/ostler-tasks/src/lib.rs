//! Tasks: files of them, and the prompts they make.
//!
//! # Theory of operation
//!
//! A [`Task`] is work with a way to tell whether it is done. It comes from the command line or from a file, TOML or
//! JSON, which is read strictly: an unknown field, a check that is no command or an id that is there twice is refused
//! with its place and with what to do, for a task that is misread costs more than one that is refused. A template
//! makes the prompt of a task; users can bring their own. Nothing here reads a file: texts come in as arguments.

mod check;
mod duration;
mod error;
mod file;
mod id;
mod prompt;
mod task;

pub use check::{Check, EmptyCheck};
pub use duration::TimeBudget;
pub use error::TaskError;
pub use file::{Format, parse};
pub use id::{BadId, TaskId};
pub use prompt::{PromptTemplate, TemplateError, VARIABLES};
pub use task::{Budget, HelperUse, Options, RetryPolicy, Task};
