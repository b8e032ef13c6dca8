//! Who is asked for commands, and what for.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use ostler_agents::choice::Installation;
use ostler_agents::{Agent, HeadlessCall};
use ostler_core::breaker::{AgentReport, Key, Probes};
use ostler_core::run::AttemptNotes;
use serde::Deserialize;

use super::super::breakers::ProviderBreakers;
use super::{HelperPrompt, Helpers, Question};
use crate::errand::{self, Errand};
use crate::{choice, clock, presets};

/// Commands of one answer that are run.
const MAX_COMMANDS: usize = 10;
/// Words of one command.
const MAX_WORDS: usize = 100;

/// Commands that somebody proposes.
pub(super) struct Proposal {
    /// Who.
    pub(super) by: String,
    pub(super) commands: Vec<Proposed>,
    /// Who came before and could not be asked, and why.
    pub(super) skipped: Vec<String>,
}

/// A command that somebody proposes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proposed {
    pub(super) words: Vec<OsString>,
    /// The number of the criterion that it verifies, if it says so.
    pub(super) criterion: Option<u32>,
}

/// A command as it stands in an answer.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Words(Vec<String>),
    Numbered { criterion: u32, command: Vec<String> },
}

/// Asks one agent after the other, in `tree`, until one proposes commands. Adds what was asked to `prompts`.
pub(super) async fn propose(
    helpers: &Helpers,
    tree: &Path,
    cwd: &Path,
    question: &Question,
    prompts: &mut Vec<HelperPrompt>,
) -> Result<Proposal, String> {
    let registry = presets::load(&helpers.home, cwd).registry;
    let can_be_asked =
        |name: &String| registry.get(name).is_some_and(|agent| agent.preset.headless.is_some());
    let names = match &question.named {
        Some(named) => std::slice::from_ref(named),
        None if question.agents.iter().any(can_be_asked) => &question.agents,
        None => {
            return Err("no agent of this run can be asked without a terminal; name one with --helper".into());
        }
    };
    let (original, deadline) = (prompt(question), clock::steady().plus(question.limit));
    let prompt = format!("{}{original}", question.context);
    let mut skipped = Vec::new();
    for (name, left) in names.iter().zip((1..=names.len()).rev()) {
        // One that hangs leaves time for the others.
        let share = u32::try_from(left).unwrap_or(u32::MAX);
        let limit = deadline.since(clock::steady()) / share;
        let asked = match registry.get(name) {
            Some(agent) => {
                let asked = put(helpers, agent, &prompt, (tree, cwd), question, limit).await;
                asked.and_then(|answer| {
                    let (context, original) = (question.context.clone(), original.clone());
                    prompts.push(HelperPrompt { to: name.clone(), context, original });
                    answer
                })
            }
            None => Err("no agent is called that".to_owned()),
        };
        match asked {
            Ok(commands) => return Ok(Proposal { by: name.clone(), commands, skipped }),
            Err(reason) => skipped.push(format!("{name}: {reason}")),
        }
    }
    Err(skipped.join("; "))
}

/// Asks one agent, if it can be asked: in a copy of the tree, with the programs that the run's agents have. The outer
/// error is why it was not asked.
async fn put(
    helpers: &Helpers,
    agent: &Agent,
    prompt: &str,
    (tree, cwd): (&Path, &Path),
    question: &Question,
    limit: Duration,
) -> Result<Result<Vec<Proposed>, String>, String> {
    let call = HeadlessCall::new(&agent.preset, prompt).ok_or("it cannot be asked without a terminal")?;
    let env: Vec<(OsString, OsString)> =
        question.env.iter().map(|(name, value)| (name.clone().into(), value.clone().into())).collect();
    let env = choice::environment_of(agent, &env);
    let program = match choice::standing(agent, &env, cwd) {
        Installation::Installed(program) => program,
        Installation::Missing(reason) | Installation::Wrong { reason, .. } => return Err(reason),
    };
    let key = Key::of(&agent.name).with_account(agent.preset.account(&env, helpers.breakers.owner_id()));
    let probes = admitted(&helpers.breakers, &key).await?;
    let began = clock::now();
    // Closed when nobody waits for the answer any more.
    let (until_closed, _awaited) = io::pipe().map_err(|error| error.to_string())?;
    let tree = tree.to_owned();
    let run = move || {
        errand::run(&Errand {
            program: &program,
            args: &call.args,
            env: &env,
            cwd: &tree,
            input: call.input.as_deref(),
            limit,
            until_closed: Some(&until_closed),
        })
    };
    let outcome = tokio::task::spawn_blocking(run).await.map_err(|error| error.to_string());
    let answer = outcome.and_then(|outcome| commands(agent, &outcome));
    if probes.is_some() {
        let news = if answer.is_ok() { AgentReport::Succeeded { began } } else { AgentReport::Nothing };
        helpers.breakers.report_of(&key, news, probes).await;
    }
    Ok(answer)
}

/// Whether the provider can be used, and whether that is a probe.
async fn admitted(breakers: &ProviderBreakers, key: &Key) -> Result<Option<Probes>, String> {
    match breakers.choose_of(std::slice::from_ref(key), &[], clock::now()).await {
        Ok(choice) => Ok(choice.probe),
        Err(shut) => Err(shut.first().map_or_else(
            || "it cannot be used now".to_owned(),
            |shut| {
                let until = clock::shown(shut.until).strftime("%Y-%m-%d %H:%M:%SZ");
                format!("{}, until {until}", shut.reason.in_words())
            },
        )),
    }
}

/// What a helper is asked, without the block before it.
fn prompt(question: &Question) -> String {
    let AttemptNotes { failures, response, files } = &question.attempt;
    let files =
        if files.is_empty() { String::new() } else { format!("\nFiles:\n- {}\n", files.join("\n- ")) };
    let response = response.as_ref().map_or_else(String::new, |said| {
        // It stands between lines of its own, and proves nothing.
        format!("\nWhat the agent said of it, which may be wrong:\n<<<\n{said}\n>>>\n")
    });
    let which = match (question.criteria.is_empty(), failures.is_empty()) {
        (false, _) => "every criterion",
        (true, false) => "everything that failed",
        (true, true) => "all that it asks for",
    };
    format!(
        "Task:\n{}\n{}{}{files}{response}\nSomebody else has worked at this task here. Propose commands that verify \
         whether it is done right, and {which} with it. Do not change any file. Answer with nothing but a JSON array \
         of at most {MAX_COMMANDS} commands; each command is an array of words, the program first, or \
         {{\"criterion\": NUMBER, \"command\": [WORDS]}} for one that verifies a criterion. No shell interprets them, \
         there is no network, and each must end with status 0 if and only if what it verifies is right: one that also \
         succeeds in an empty directory proves nothing.\n",
        question.task,
        numbered("Criteria", &question.criteria),
        numbered("What failed", failures),
    )
}

/// A list with numbers, if there is anything in it.
fn numbered(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let lines = (1..).zip(items).map(|(number, item)| format!("{number}. {item}\n"));
    format!("\n{title}:\n{}", lines.collect::<String>())
}

/// The commands that an agent proposes, or why there are none.
fn commands(agent: &Agent, outcome: &errand::Outcome) -> Result<Vec<Proposed>, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some(trouble) = &outcome.trouble else { return read(agent, &text(&outcome.output)) };
    // What was said before it was cut off may be all that is needed.
    if !trouble.is_failure()
        && let Ok(commands) = read(agent, &text(&outcome.output))
    {
        return Ok(commands);
    }
    let said = ostler_work::check::first_error(&text(&outcome.output), &text(&outcome.errors));
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    Err(format!("{trouble}{said}"))
}

/// The commands in an answer: a JSON array of commands, perhaps with other words around it.
fn read(agent: &Agent, output: &str) -> Result<Vec<Proposed>, String> {
    let headless = agent.preset.headless.clone().unwrap_or_default();
    let answer = headless.answer_in(output)?;
    let found = answer.match_indices('[').find_map(|(begin, _)| {
        let mut values = serde_json::Deserializer::from_str(&answer[begin..]).into_iter::<Vec<Written>>();
        values.next()?.ok()
    });
    let commands = found.ok_or("its answer has no JSON array of commands")?;
    let usable = |proposed: &Proposed| !proposed.words.is_empty() && proposed.words.len() <= MAX_WORDS;
    let commands: Vec<Proposed> = commands
        .into_iter()
        .map(|written| match written {
            Written::Words(words) => (words, None),
            Written::Numbered { criterion, command } => (command, Some(criterion)),
        })
        .map(|(words, criterion)| Proposed {
            words: words.into_iter().map(OsString::from).collect(),
            criterion,
        })
        .filter(usable)
        .take(MAX_COMMANDS)
        .collect();
    if commands.is_empty() { Err("it proposed no command".into()) } else { Ok(commands) }
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

    #[test]
    fn a_command_may_name_its_criterion() {
        let answer = r#"[{"criterion": 2, "command": ["grep", "x", "a"]}, ["true"]]"#;
        let proposed = |words: &[&str], criterion| Proposed {
            words: words.iter().map(OsString::from).collect(),
            criterion,
        };
        let expected = vec![proposed(&["grep", "x", "a"], Some(2)), proposed(&["true"], None)];
        assert_eq!(read(&Agent::default(), answer), Ok(expected));
    }

    #[test]
    fn a_helper_is_told_the_task_what_failed_and_what_was_said() {
        let mut question = Question {
            named: None,
            agents: Vec::new(),
            context: "BLOCK\n\n".into(),
            task: "Do it.".into(),
            criteria: vec!["a is b".into(), "c is d".into()],
            attempt: AttemptNotes {
                failures: vec!["E".into()],
                response: Some("I did it.".into()),
                files: vec!["x.rs".into()],
            },
            env: Vec::new(),
            limit: Duration::ZERO,
        };
        let told = prompt(&question);
        let head = "Task:\nDo it.\n\nCriteria:\n1. a is b\n2. c is d\n\nWhat failed:\n1. E\n\nFiles:\n- x.rs\n\n\
                    What the agent said of it, which may be wrong:\n<<<\nI did it.\n>>>\n\nSomebody else";
        assert!(told.starts_with(head) && told.contains("and every criterion with it"), "{told}");
        question.criteria.clear();
        question.attempt = AttemptNotes::default();
        assert!(prompt(&question).starts_with("Task:\nDo it.\n\nSomebody else"));
    }
}
