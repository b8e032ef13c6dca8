//! What was seen, against what has to be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scene::{Expect, Heard, Scene};

/// Something that a model was told by a person, or by ostler for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestText {
    /// When, in seconds since the Unix epoch.
    pub at: f64,
    /// Whose model.
    pub agent: String,
    /// In full.
    pub text: String,
}

/// What was seen of one run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Seen {
    /// The report of the run.
    pub run: Value,
    /// What the command wrote for people.
    pub said: String,
    /// Seconds that it took.
    pub seconds: f64,
    /// What is known of the providers.
    pub providers: Value,
}

/// All that was seen in a scene.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// The run.
    pub first: Seen,
    /// What models heard in it.
    pub told: Vec<RequestText>,
    /// The time when the providers were looked at.
    pub at: f64,
    /// What is known of the providers after the daemon was killed.
    pub providers_after: Value,
    /// The run after that.
    pub second: Option<Seen>,
}

/// Lists what is wrong.
pub fn faults(scene: &Scene, evidence: &Evidence) -> Vec<String> {
    let expect = &scene.expect;
    let mut faults = Vec::new();
    ending(&mut faults, &evidence.first, &expect.outcome, &expect.turns);
    for text in expect.told.iter().filter(|text| !evidence.first.said.contains(*text)) {
        faults.push(format!("the report does not say {text:?}: {:?}", evidence.first.said));
    }
    if evidence.first.seconds > expect.within {
        faults.push(format!("it took {:.0} s, not {:.0}", evidence.first.seconds, expect.within));
    }
    heard(&mut faults, expect, &evidence.told, &evidence.first.run);
    breakers(&mut faults, expect, evidence);
    let created = strings(&evidence.first.run["files"]["created"]);
    for file in expect.created.iter().filter(|file| !created.contains(file)) {
        faults.push(format!("{file} is not said to be created, but {created:?}"));
    }
    if let (Some(then), Some(second)) = (&scene.then, &evidence.second) {
        let mut later = Vec::new();
        ending(&mut later, second, &then.outcome, &then.turns);
        faults.extend(later.into_iter().map(|fault| format!("in the run behind it: {fault}")));
    }
    faults
}

fn ending(faults: &mut Vec<String>, seen: &Seen, outcome: &str, turns: &[(String, String)]) {
    let ended = seen.run["outcome"]["outcome"].as_str().unwrap_or("nothing");
    if ended != outcome {
        faults.push(format!("it ends with {ended}, not {outcome}: {}", seen.said.trim()));
    }
    let worked = worked(&seen.run);
    let alike =
        |(was, has): (&(String, String), &(String, String))| was.0 == has.0 && was.1.starts_with(&has.1);
    if worked.len() != turns.len() || !worked.iter().zip(turns).all(alike) {
        faults.push(format!("the turns are {worked:?}, not {turns:?}"));
    }
}

/// Who worked in a run, and why each stopped.
pub fn worked(run: &Value) -> Vec<(String, String)> {
    let attempts = run["attempts"].as_array().into_iter().flatten();
    let turns = attempts.flat_map(|attempt| attempt["turns"].as_array().into_iter().flatten());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    turns.map(|turn| (text(&turn["provider"]), text(&turn["reason"]))).collect()
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Every prompt reached the model it was for, once, with its block as the first lines and the task behind it.
fn heard(faults: &mut Vec<String>, expect: &Expect, told: &[RequestText], run: &Value) {
    let heard: Vec<&str> = told.iter().map(|told| told.agent.as_str()).collect();
    let wanted: Vec<&str> = expect.heard.iter().map(|heard| heard.agent.as_str()).collect();
    if heard != wanted {
        faults.push(format!("the models of {heard:?} were asked, not of {wanted:?}"));
    }
    let task = run["prompts"][0]["original"].as_str().unwrap_or_default();
    for (Heard { agent, block, with }, told) in expect.heard.iter().zip(told) {
        let text = told.text.trim();
        let block = block.trim();
        let behind = if block.is_empty() { Some(text) } else { text.strip_prefix(block) };
        let Some(behind) = behind else {
            faults.push(format!("the model of {agent} heard first {:?}, not {block:?}", head(text)));
            continue;
        };
        if !block.is_empty() && !behind.starts_with("\n\n") {
            faults.push(format!("there is no blank line behind the block for {agent}: {:?}", head(behind)));
        }
        if with.is_empty() && behind.trim() != task.trim() {
            faults.push(format!("the task for {agent} is not the whole task: {:?}", head(behind)));
        }
        for text in with.iter().filter(|text| !behind.contains(*text)) {
            faults.push(format!("the model of {agent} did not hear {text:?}"));
        }
    }
}

fn head(text: &str) -> String {
    text.chars().take(600).collect()
}

fn breakers(faults: &mut Vec<String>, expect: &Expect, evidence: &Evidence) {
    let known = &evidence.first.providers;
    let open = open(known);
    let wanted: BTreeMap<_, _> =
        expect.breakers.iter().map(|(name, why)| (name.clone(), why.clone())).collect();
    if open != wanted {
        faults.push(format!("the breakers are {open:?}, not {wanted:?}"));
    }
    for (provider, (least, most)) in &expect.shut_for {
        let until = providers(known).find(|known| known["provider"] == provider.as_str());
        let until = until.and_then(|known| known["until"].as_str()?.parse::<jiff::Timestamp>().ok());
        let left = until.map(|until| until.as_duration().as_secs_f64() - evidence.at);
        if !left.is_some_and(|left| (*least..=*most).contains(&left)) {
            faults.push(format!("{provider} is shut for {left:?} s, not for {least} to {most}"));
        }
    }
    let all = |known: &Value| providers(known).cloned().collect::<Vec<_>>();
    if all(known) != all(&evidence.providers_after) {
        faults.push(format!(
            "the next daemon knows of {:?}, the killed one knew of {:?}",
            all(&evidence.providers_after),
            all(known)
        ));
    }
}

fn providers(known: &Value) -> impl Iterator<Item = &Value> {
    known["providers"].as_array().into_iter().flatten()
}

fn open(known: &Value) -> BTreeMap<String, (String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    providers(known)
        .filter(|known| known["breaker"] != "closed")
        .map(|known| (text(&known["provider"]), (text(&known["breaker"]), text(&known["reason"]))))
        .collect()
}

#[cfg(test)]
mod tests;
