//! A helper: another agent that proposes commands which verify what failed.
//!
//! It is asked without a terminal, in a copy of the work tree, and what it proposes is run in the sandbox or not at
//! all: a model's command is nobody's wish.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ostler_agents::{Agent, HeadlessCall};
use ostler_protocol::OsText;
use ostler_work::Keep;
use ostler_work::sandbox::{Copy, CopyLimits, Sandbox, SandboxError, SandboxLimits};

use super::record::exclude;
use crate::errand::{self, Errand};
use crate::registry::Shared;
use crate::{choice, presets, programs};

/// Commands of one answer that are run.
const MAX_COMMANDS: usize = 10;
/// Words of one command.
const MAX_WORDS: usize = 100;

/// What a helper is asked.
pub(super) struct Question {
    /// Who may be asked, the first that can be.
    pub(super) agents: Vec<String>,
    /// What it is told of the attempts.
    pub(super) context: String,
    /// The task.
    pub(super) task: String,
    /// What must be true in the end, in words.
    pub(super) criteria: Vec<String>,
    pub(super) env: Vec<(OsText, OsText)>,
    pub(super) limit: Duration,
}

/// What came of its commands.
pub(super) struct Answer {
    pub(super) verified: bool,
    pub(super) findings: Vec<String>,
}

/// Asks a helper, and runs what it proposes where that can do no harm.
pub(super) async fn ask(shared: &Shared, cwd: &Path, question: Question) -> Result<Answer, String> {
    let sandbox = sandbox(shared, cwd);
    let copy = sandbox.copy(cwd).await.map_err(|error| error.to_string())?;
    let commands = propose(shared, &copy, cwd, question).await?;
    let mut findings = Vec::new();
    let mut ran = 0;
    for words in commands {
        let shown = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        match sandbox.run(&copy, &words).await {
            Ok(result) => {
                ran += 1;
                if !result.end.is_success() {
                    let said = ostler_work::check::first_error(&result.stdout.text(), &result.stderr.text());
                    let said = said.unwrap_or_else(|| format!("it {}", result.end));
                    findings.push(format!("{shown}: {said}"));
                }
            }
            Err(SandboxError::Refused(reason)) => findings.push(format!("{shown}: not run: {reason}")),
            Err(error) => return Err(error.to_string()),
        }
    }
    if ran == 0 {
        return Err(findings.into_iter().next().unwrap_or_else(|| "it proposed no command".into()));
    }
    Ok(Answer { verified: findings.is_empty(), findings })
}

/// Asks for commands.
async fn propose(
    shared: &Shared,
    copy: &Copy,
    cwd: &Path,
    question: Question,
) -> Result<Vec<Vec<OsString>>, String> {
    let registry = presets::load(&shared.home, cwd).registry;
    let agent = question
        .agents
        .iter()
        .filter_map(|name| registry.get(name))
        .find(|agent| agent.preset.headless.is_some())
        .cloned()
        .ok_or("no agent of this run can be asked without a terminal; name one with --helper")?;
    let prompt = prompt(&question);
    let call = HeadlessCall::new(&agent.preset, &prompt).ok_or("the helper cannot be asked")?;
    let env: Vec<(OsString, OsString)> =
        question.env.iter().map(|(name, value)| (name.clone().into(), value.clone().into())).collect();
    let env = choice::environment_of(&agent, &env);
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap_or_default();
    let command = OsString::from(&agent.preset.run.command);
    let program = programs::find(&command, &path, cwd).map_err(|error| error.to_string())?;
    let (tree, limit) = (copy.tree(), question.limit);
    let run = move || {
        errand::run(&Errand {
            program: &program,
            args: &call.args,
            env: &env,
            cwd: &tree,
            input: call.input.as_deref(),
            limit,
            until_closed: None,
        })
    };
    let outcome = tokio::task::spawn_blocking(run).await.map_err(|error| error.to_string())?;
    if let Some(trouble) = outcome.trouble.as_ref().filter(|trouble| trouble.is_failure()) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = ostler_work::check::first_error(&text(&outcome.output), &text(&outcome.errors));
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        return Err(format!("{}: {trouble}{said}", agent.title()));
    }
    read(&agent, &String::from_utf8_lossy(&outcome.output))
}

fn prompt(question: &Question) -> String {
    let criteria = match question.criteria.as_slice() {
        [] => String::new(),
        criteria => format!("\nCriteria:\n- {}\n", criteria.join("\n- ")),
    };
    format!(
        "{}Task:\n{}\n{criteria}\nDo not change any file. Answer with nothing but a JSON array of at most {MAX_COMMANDS} \
         commands; each command is an array of words, the program first. No shell interprets them, there is no network, \
         and each must end with status 0 if and only if what it verifies is right.\n",
        question.context, question.task
    )
}

/// The commands in an answer: a JSON array of arrays of words, perhaps with other words around it.
fn read(agent: &Agent, output: &str) -> Result<Vec<Vec<OsString>>, String> {
    let headless = agent.preset.headless.clone().unwrap_or_default();
    let answer = headless.answer_in(output)?;
    let found = answer.match_indices('[').find_map(|(begin, _)| {
        let mut values = serde_json::Deserializer::from_str(&answer[begin..]).into_iter::<Vec<Vec<String>>>();
        values.next()?.ok()
    });
    let commands = found.ok_or("its answer has no JSON array of commands")?;
    let usable = |words: &Vec<String>| !words.is_empty() && words.len() <= MAX_WORDS;
    let commands: Vec<Vec<OsString>> = commands
        .into_iter()
        .filter(usable)
        .take(MAX_COMMANDS)
        .map(|words| words.into_iter().map(OsString::from).collect())
        .collect();
    if commands.is_empty() { Err("it proposed no command".into()) } else { Ok(commands) }
}

fn sandbox(shared: &Shared, cwd: &Path) -> Sandbox {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    Sandbox {
        launcher: vec![shared.executable.as_os_str().to_owned(), "sandbox-exec".into()],
        scratch: std::env::temp_dir(),
        readable: ostler_work::sandbox::tool_dirs(&home),
        private: vec![home, shared.home.path().to_owned()],
        path: std::env::var_os("PATH").unwrap_or_default(),
        env: Vec::new(),
        exclude: exclude(shared, cwd),
        copy_limits: CopyLimits::default(),
        limits: SandboxLimits::default(),
        keep: Keep::default(),
        namespaces: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_strictly() {
        let agent = Agent::default();
        let read = |text: &str| read(&agent, text).map(|commands| commands.len());
        assert_eq!(read(r#"[["true"], ["test", "-f", "a"]]"#), Ok(2));
        assert_eq!(read("Here you are:\n```json\n[[\"true\"]]\n```"), Ok(1));
        assert!(read("[]").is_err() && read("rm -rf /").is_err() && read(r#"["rm -rf /"]"#).is_err());
        assert!(read("[[]]").is_err());
    }
}
