//! What people are told when the agent they want cannot be had.

use crate::{Agent, Registry};

use super::{Installation, Picks, Step, Whose};

/// A file that says nothing on the matter, or is not there.
pub(super) fn silent(picks: &Picks, whose: Whose, what: &str) -> String {
    match whose {
        _ if !picks.file.is_empty() => format!("{} {what}", picks.file),
        Whose::Project => "the project has no .ostler/config.toml".into(),
        Whose::User => "you have no config.toml".into(),
    }
}

/// No agent has that name: the reason, with who said so behind the name, and what to do.
pub fn unknown(registry: &Registry, name: &str, said: &str) -> (String, String) {
    let reason = format!("no agent is called {name:?}{said}");
    let broken = registry.problems().iter().find(|problem| problem.agent == name);
    let hint = match (broken, nearest(registry, name)) {
        (Some(problem), _) => format!("its preset cannot be used: {problem}"),
        (None, Some(near)) => format!("did you mean {near}? `ostler agents list` shows all that are known"),
        (None, None) => "`ostler agents list` shows those that are known; a preset adds one".into(),
    };
    (reason, hint)
}

/// The agent is known and cannot be started: the reason, and what to do.
pub(super) fn unusable(
    agent: &Agent,
    standing: Option<&Installation>,
    said: &str,
    step: Step,
) -> (String, String) {
    let command = &agent.preset.run.command;
    let reason = match standing {
        Some(Installation::Wrong { program, reason }) => {
            format!("{} is not {}: {reason} ({said})", program.display(), agent.title())
        }
        Some(Installation::Missing(reason)) => format!("{} is not installed: {reason} ({said})", agent.name),
        _ => format!("{} is not installed: no program called {command:?} was found ({said})", agent.name),
    };
    let other = match step {
        Step::Command => "name another agent",
        Step::Environment | Step::Tier => "set the variable to another agent, or unset it",
        _ => "name another agent, with the command or in that file",
    };
    let first = match standing {
        Some(Installation::Wrong { .. }) => "put the right one first on the PATH",
        _ => "install it",
    };
    (reason, format!("{first}, or {other}; `ostler agents list` shows what is installed"))
}

/// The known name that is one slip away.
fn nearest<'a>(registry: &'a Registry, name: &str) -> Option<&'a str> {
    let close = |agent: &&str| distance(agent, name) <= if name.len() > 4 { 2 } else { 1 };
    registry.agents().map(|agent| agent.name.as_str()).filter(close).min_by_key(|agent| distance(agent, name))
}

/// How many letters have to be added, dropped or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for column in 0..other.len() {
            let changed = diagonal + usize::from(letter != other[column]);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn slips_are_counted() {
        for (one, other, slips) in
            [("abc", "abc", 0), ("abc", "abd", 1), ("abc", "ab", 1), ("", "ab", 2), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(one, other), slips, "{one} {other}");
        }
    }
}
