//! What became of the messages: the model server's log against what `ostler send` said.

use ostler_testkit::model_server::{Entry, Event};
use regex::Regex;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::message::Message;
use crate::agent::Delivery;

/// What `ostler send` said of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The agent took it.
    Submitted,
    /// It is still on its way.
    Waiting(String),
    /// It did not arrive.
    Failed(String),
    /// Whether it arrived cannot be told.
    Uncertain(String),
}

/// A message that was sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sent {
    /// The message.
    pub message: Message,
    /// When `ostler send` was started, on the log's clock.
    pub at: f64,
    /// When it returned.
    pub returned: f64,
    /// What it said.
    pub said: Said,
    /// How often the text was typed.
    pub attempts: u64,
    /// How often Enter was pressed.
    pub enters: u64,
    /// What the proof rests on.
    pub evidence: Vec<String>,
    /// The agent was at rest when it was sent: the time to the model says something.
    pub timed: bool,
    /// The agent was asked to confirm it.
    #[serde(default)]
    pub asked: bool,
    /// It did.
    #[serde(default)]
    pub acknowledged: bool,
}

/// What became of one message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fate {
    /// When the model heard it first.
    pub heard: Option<f64>,
    /// How often it was heard, whole and alone.
    pub times: usize,
    /// It was heard together with another one.
    pub merged: bool,
    /// What was heard of it, where that is not the text.
    pub changed: Option<String>,
}

/// The sums.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Messages.
    pub sent: usize,
    /// Not heard, and not said to be so.
    pub lost: usize,
    /// Heard more than once.
    pub doubled: usize,
    /// Heard together with another.
    pub merged: usize,
    /// Heard, but not as they were.
    pub corrupted: usize,
    /// Said to be submitted, and not heard.
    pub falsely: usize,
    /// Said not to have arrived, and heard all the same.
    pub denied: usize,
    /// Said not to have arrived, or that it cannot be told.
    pub failed: usize,
    /// Heard before the turn was over that they should have waited for.
    pub early: usize,
    /// Dialogs that a message answered.
    pub answered: usize,
    /// How often the agent did not come to rest, or was gone.
    pub restless: usize,
    /// Messages that the agent was asked to confirm.
    pub asked: usize,
    /// Those that it confirmed.
    pub acknowledged: usize,
    /// Starts with something to know.
    pub contexts: usize,
    /// Those where the model knew it, once, when it was told what to do.
    pub visible: usize,
    /// Daemons that were killed.
    pub kills: usize,
    /// Typed once, entered once, and heard.
    pub first_try: usize,
    /// Said to be submitted, and heard once and whole.
    pub arrived: usize,
    /// Seconds from the last byte of a turn to the agent's being said to be at rest.
    pub to_idle: Vec<f64>,
    /// Seconds from `ostler send` to the model, where the agent was at rest.
    pub seconds: Vec<f64>,
    /// What went wrong, for people.
    pub notes: Vec<String>,
}

impl Tally {
    /// Nothing is wrong.
    pub fn passes(&self) -> bool {
        let wrong = [
            self.lost,
            self.doubled,
            self.merged,
            self.corrupted,
            self.falsely,
            self.denied,
            self.failed,
            self.early,
            self.answered,
            self.restless,
        ];
        // Whether an agent confirms is its own affair, so not all of them need be.
        let heeded = self.acknowledged * 10 >= self.asked * 8 && self.visible == self.contexts;
        wrong.iter().all(|count| *count == 0) && heeded && self.sent > 0
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.merged += other.merged;
        self.corrupted += other.corrupted;
        self.falsely += other.falsely;
        self.denied += other.denied;
        self.failed += other.failed;
        self.early += other.early;
        self.answered += other.answered;
        self.restless += other.restless;
        self.asked += other.asked;
        self.acknowledged += other.acknowledged;
        self.contexts += other.contexts;
        self.visible += other.visible;
        self.kills += other.kills;
        self.first_try += other.first_try;
        self.arrived += other.arrived;
        self.to_idle.extend(&other.to_idle);
        self.seconds.extend(&other.seconds);
        self.notes.extend(other.notes.iter().cloned());
    }
}

/// A blank to people, but not to programs that trim a text: typed before texts that would be commands.
const BLANK: char = '\u{2800}';

/// A text as it is compared: composed, its blanks made equal, without what a terminal must not be sent.
pub fn normal(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    let composed: String = kept.nfc().collect();
    composed.trim_start_matches(BLANK).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How an agent treats a prompt on its way to the model.
#[derive(Debug, Default)]
pub struct Manners {
    /// What it puts around a prompt.
    pub adds: Vec<Regex>,
    /// What it makes of a text, and what is put in its place.
    pub alike: Vec<(Regex, String)>,
    /// What it asks on the side.
    pub aside: Vec<Regex>,
    /// A request without tools may be a prompt: it never offers any.
    pub without_tools: bool,
}

impl Manners {
    /// From what the rig knows of an agent.
    pub fn new(delivery: &Delivery, without_tools: bool) -> Result<Self, regex::Error> {
        let pair = |(pattern, text): &(String, String)| Ok((Regex::new(pattern)?, text.clone()));
        let all = |patterns: &[String]| -> Result<Vec<Regex>, regex::Error> {
            patterns.iter().map(|pattern| Regex::new(pattern)).collect()
        };
        Ok(Self {
            adds: all(&delivery.adds)?,
            aside: all(&delivery.aside)?,
            alike: delivery.alike.iter().map(pair).collect::<Result<_, _>>()?,
            without_tools,
        })
    }

    /// The same for messages that the agent is asked to confirm.
    pub fn with_requests(mut self) -> Result<Self, regex::Error> {
        self.adds.push(Regex::new(r"\[CONTEXT \S+ - please acknowledge\]")?);
        self.adds.push(Regex::new(r#"\[END CONTEXT - reply "ACK: \S+"\]"#)?);
        Ok(self)
    }

    /// A text as it is compared.
    fn normal(&self, text: &str) -> String {
        let alike = |text: String, (from, to): &(Regex, String)| from.replace_all(&text, to).into_owned();
        self.alike.iter().fold(normal(text), alike)
    }

    fn heard(&self, text: &str) -> String {
        let bare = |text: String, add: &Regex| add.replace_all(&text, "").into_owned();
        self.normal(&self.adds.iter().fold(text.to_owned(), bare))
    }
}

/// Follows every message through the log.
pub fn fates(sent: &[Sent], log: &[Entry], manners: &Manners) -> Vec<Fate> {
    let texts: Vec<String> = sent.iter().map(|sent| manners.normal(&sent.message.text)).collect();
    let mut fates = vec![Fate::default(); sent.len()];
    let mut known: Vec<(usize, Vec<String>)> = Vec::new();
    for entry in log {
        let Event::Received { fresh, prompts, tools, .. } = &entry.event else { continue };
        if fresh.is_empty() || (tools.is_empty() && !manners.without_tools) {
            continue;
        }
        if fresh.last().is_some_and(|last| manners.aside.iter().any(|aside| aside.is_match(last))) {
            continue;
        }
        let heard: Vec<String> = fresh.iter().map(|text| manners.heard(text)).collect();
        // A request that is tried again is no second prompt.
        let request = (*prompts, heard);
        if known.contains(&request) {
            continue;
        }
        let whole = request.1.iter().filter(|text| texts.contains(text)).count();
        for text in &request.1 {
            let equal: Vec<usize> = (0..texts.len()).filter(|index| texts[*index] == *text).collect();
            if let Some(index) =
                equal.iter().copied().find(|index| fates[*index].times == 0).or(equal.last().copied())
            {
                fates[index].times += 1;
                fates[index].heard.get_or_insert(entry.at);
                fates[index].merged |= whole > 1;
                continue;
            }
            let named: Vec<usize> = (0..sent.len())
                .filter(|index| sent[*index].message.token.as_ref().is_some_and(|token| text.contains(token)))
                .collect();
            let tokens: std::collections::BTreeSet<_> =
                named.iter().filter_map(|index| sent[*index].message.token.as_deref()).collect();
            // Of equal messages the first that was not heard is meant.
            let open = |index: &&usize| fates[**index].times == 0 && fates[**index].changed.is_none();
            let meant = if tokens.len() > 1 {
                named.clone()
            } else {
                named.iter().find(open).or(named.last()).copied().into_iter().collect()
            };
            for index in meant {
                fates[index].merged |= tokens.len() > 1;
                fates[index].heard.get_or_insert(entry.at);
                fates[index].changed.get_or_insert_with(|| text.clone());
            }
        }
        known.push(request);
    }
    fates
}

/// Adds up.
pub fn tally(sent: &[Sent], fates: &[Fate]) -> Tally {
    let mut tally = Tally { sent: sent.len(), ..Tally::default() };
    for (sent, fate) in sent.iter().zip(fates) {
        let heard = fate.heard.is_some();
        let mut note = |what: &str| tally.notes.push(describe(sent, fate, what));
        match (&sent.said, heard) {
            (Said::Submitted, false) => {
                tally.falsely += 1;
                tally.lost += 1;
                note("said to be submitted, never heard");
            }
            (Said::Waiting(why), false) => {
                tally.lost += 1;
                note(&format!("not heard while waiting: {why}"));
            }
            (Said::Failed(why), true) => {
                tally.denied += 1;
                note(&format!("heard, but said to have failed: {why}"));
            }
            (Said::Failed(why), false) => {
                tally.failed += 1;
                note(&format!("failed: {why}"));
            }
            (Said::Uncertain(why), _) => {
                tally.failed += 1;
                note(&format!("uncertain ({}): {why}", if heard { "heard" } else { "not heard" }));
            }
            (Said::Waiting(why), true) => note(&format!("heard late; it waited: {why}")),
            (Said::Submitted, true) => {}
        }
        let doubled = fate.times > 1 || (fate.times == 1 && fate.changed.is_some() && !fate.merged);
        if doubled {
            tally.doubled += 1;
            note("heard more than once");
        }
        if fate.merged {
            tally.merged += 1;
            note("merged with another");
        } else if fate.changed.is_some() && fate.times == 0 {
            tally.corrupted += 1;
            note("changed");
        }
        let once = fate.times == 1 && !doubled && !fate.merged;
        tally.asked += usize::from(sent.asked);
        tally.acknowledged += usize::from(sent.acknowledged);
        tally.arrived += usize::from(once && sent.said == Said::Submitted);
        tally.first_try +=
            usize::from(once && sent.said == Said::Submitted && sent.attempts == 1 && sent.enters == 1);
        if let Some(heard) = fate.heard.filter(|_| sent.timed) {
            tally.seconds.push(heard - sent.at);
        }
    }
    tally
}

fn describe(sent: &Sent, fate: &Fate, what: &str) -> String {
    let Message { id, kind, text, .. } = &sent.message;
    let short = |text: &str| text.chars().take(60).collect::<String>();
    let changed =
        fate.changed.as_ref().map_or_else(String::new, |changed| format!(", heard {:?}", short(changed)));
    format!("{id} {kind:?} {} B {:?}{changed}: {what}", text.len(), short(text))
}

#[cfg(test)]
mod tests;
