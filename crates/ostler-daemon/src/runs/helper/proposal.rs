//! Who is asked for commands, and what for.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use ostler_agents::choice::Standing;
use ostler_agents::{Agent, HeadlessCall};
use ostler_core::breaker::{Key, News, Probes};

use super::super::breakers::ProviderBreakers;
use super::{Helpers, Question};
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
    pub(super) commands: Vec<Vec<OsString>>,
    /// Who came before and could not be asked, and why.
    pub(super) skipped: Vec<String>,
}

/// Asks one agent after the other, in `tree`, until one proposes commands.
pub(super) async fn propose(
    helpers: &Helpers,
    tree: &Path,
    cwd: &Path,
    question: &Question,
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
    let (prompt, deadline) = (prompt(question), clock::steady().plus(question.limit));
    let mut skipped = Vec::new();
    for (name, left) in names.iter().zip((1..=names.len()).rev()) {
        // One that hangs leaves time for the others.
        let share = u32::try_from(left).unwrap_or(u32::MAX);
        let limit = deadline.since(clock::steady()) / share;
        let asked = match registry.get(name) {
            Some(agent) => put(helpers, agent, &prompt, (tree, cwd), question, limit).await,
            None => Err("no agent is called that".to_owned()),
        };
        match asked {
            Ok(commands) => return Ok(Proposal { by: name.clone(), commands, skipped }),
            Err(reason) => skipped.push(format!("{name}: {reason}")),
        }
    }
    Err(skipped.join("; "))
}

/// Asks one agent, if it can be asked: in a copy of the tree, with the programs that the run's agents have.
async fn put(
    helpers: &Helpers,
    agent: &Agent,
    prompt: &str,
    (tree, cwd): (&Path, &Path),
    question: &Question,
    limit: Duration,
) -> Result<Vec<Vec<OsString>>, String> {
    let call = HeadlessCall::new(&agent.preset, prompt).ok_or("it cannot be asked without a terminal")?;
    let env: Vec<(OsString, OsString)> =
        question.env.iter().map(|(name, value)| (name.clone().into(), value.clone().into())).collect();
    let env = choice::environment_of(agent, &env);
    let program = match choice::standing(agent, &env, cwd) {
        Standing::Installed(program) => program,
        Standing::Missing(reason) | Standing::Wrong { reason, .. } => return Err(reason),
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
        let news = if answer.is_ok() { News::Succeeded { began } } else { News::Nothing };
        helpers.breakers.report_of(&key, news, probes).await;
    }
    answer
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

fn prompt(question: &Question) -> String {
    let criteria = match question.criteria.as_slice() {
        [] => String::new(),
        criteria => format!("\nCriteria:\n- {}\n", criteria.join("\n- ")),
    };
    format!(
        "{}Task:\n{}\n{criteria}\nSomebody else has worked at this task here. Propose commands that verify whether \
         it is done right, and every criterion with it. Do not change any file. Answer with nothing but a JSON array \
         of at most {MAX_COMMANDS} commands; each command is an array of words, the program first. No shell interprets \
         them, there is no network, and each must end with status 0 if and only if what it verifies is right.\n",
        question.context, question.task
    )
}

/// The commands that an agent proposes, or why there are none.
fn commands(agent: &Agent, outcome: &errand::Outcome) -> Result<Vec<Vec<OsString>>, String> {
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
