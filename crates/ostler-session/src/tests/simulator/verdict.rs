//! What a session said, held against what its agent truly received.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ostler_core::Proof;
use ostler_core::delivery::Mode;
use ostler_core::message::{Message, MessageState};
use ostler_testkit::stand_in::Record;

use super::plan::GHOST;
use super::world::{Promised, World};
use crate::{CARRIES_ON, NOTICE};

/// A person's keys wait for the Enter behind a text, but not for longer than this.
const STANDS: u64 = 1_000;

/// What an agent draws is on the session's screen and was looked at after this much.
const FRAME: u64 = 150;

/// Everything that was wrong.
pub(super) fn complaints(world: &World) -> Vec<String> {
    let mut complaints = world.complaints.clone();
    complaints.extend(stray_complaints(world));
    let (taken, begun) = taken(world);
    let prompts: Vec<_> = world.plan.sends.iter().filter(|sent| !sent.terms.raw).collect();
    let person: String =
        world.plan.keys.iter().map(|(_, keys)| keys.trim_end_matches(['\r', '\x15'])).collect();
    for (_, text) in &taken {
        let ours = prompts.iter().any(|sent| is_of(world, text, &sent.body));
        // A dialog may have swallowed a part of what a person typed.
        let enters = world.plan.keys.iter().any(|(_, keys)| keys == "\r");
        let theirs = !person.is_empty() && text.chars().all(|letter| person.contains(letter))
            || enters && *text == GHOST;
        let damaged = world.plan.damage.is_some_and(|damage| {
            prompts.iter().any(|sent| is_what_came(world, text, &damage.apply(&sent.body), &sent.body))
        });
        let came = |body: &[u8]| {
            let body = String::from_utf8_lossy(body);
            world.plan.damage.map_or_else(|| body.to_string(), |damage| damage.apply(&body))
        };
        // Where it was damaged, a person has entered it.
        let notice = |(message, body): &&(Message, Vec<u8>)| {
            let of_ostler = [NOTICE, CARRIES_ON].contains(&message.terms.sender.as_str());
            of_ostler && is_what_came(world, text, &came(body), &String::from_utf8_lossy(body))
        };
        let notices = world.store.messages.iter().filter(notice).count();
        if !ours && !theirs && !damaged && notices == 0 {
            complaints.push(format!("the agent took {text:?}, which nobody sent"));
        }
        if notices > 0 && taken.iter().filter(|(_, other)| other == text).count() > notices {
            complaints.push(format!("the agent was told {text:?} more often than it should be"));
        }
    }
    // Equal texts cannot be told apart: together, as many arrived as were said to, and no more than may have.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for sent in &prompts {
        let (sure, unsure) = counts.entry(&sent.body).or_default();
        match world.store.message(&sent.id).map(|(message, _)| message.state) {
            Some(MessageState::Delivered) => *sure += 1,
            Some(MessageState::Uncertain) => *unsure += 1,
            Some(MessageState::Failed) => {}
            Some(MessageState::Queued) if world.agent.ended.is_some() => *unsure += 1,
            Some(MessageState::Queued) => complaints.push(format!("{} never came to an end", sent.id)),
            None if world.agent.ended.is_some() => {}
            None => complaints.push(format!("{} was never accepted", sent.id)),
        }
    }
    for (body, (sure, unsure)) in counts {
        let arrived = taken.iter().filter(|(_, text)| is_of(world, text, body)).count();
        if arrived < sure {
            complaints
                .push(format!("{body:?} was called submitted {sure} times and arrived {arrived} times"));
        }
        // What a person added to and submitted was theirs to submit.
        let exact = taken.iter().filter(|(_, text)| text.trim_end() == body.trim_end()).count();
        if exact > sure + unsure {
            complaints.push(format!(
                "{body:?} arrived {arrived} times, and only {sure} (and perhaps {unsure}) were called submitted"
            ));
        }
    }
    let submitted: Vec<&Promised> = world.told.iter().filter(|told| told.proof >= Proof::Submitted).collect();
    for told in &submitted {
        let Some(sent) = prompts.iter().find(|sent| sent.id == told.id) else { continue };
        // Of equal texts as many had arrived by then as were called submitted.
        let equal = |other: &&&Promised| {
            other.at <= told.at
                && prompts.iter().any(|sent_too| sent_too.id == other.id && sent_too.body == sent.body)
        };
        let called = submitted.iter().filter(equal).map(|other| &other.id).collect::<BTreeSet<_>>().len();
        // What was meant for the agent's queue is not submitted while it is there.
        let queues = matches!(sent.terms.mode, Mode::Queue | Mode::Now);
        let unique = prompts.iter().filter(|other| other.body == sent.body).count() == 1;
        let moments = if queues && unique { &begun } else { &taken };
        let arrived =
            moments.iter().filter(|(at, text)| *at <= told.at && is_of(world, text, &sent.body)).count();
        if arrived < called {
            complaints.push(format!("{} was called submitted before it was", told.id));
        }
    }
    complaints.extend(raw_complaints(world));
    if !world.knows_of_stop() {
        complaints.push("the agent has stopped, and that is not said".into());
    }
    complaints
}

/// Texts, and when something happened with them.
type Moments<'a> = Vec<(u64, &'a str)>;

/// What the agent took and when, and the same with the moments at which it began with it: what it queued, it began with
/// when its turn was over.
fn taken(world: &World) -> (Moments<'_>, Moments<'_>) {
    let (mut taken, mut begun) = (Moments::new(), Moments::new());
    let (mut queue, mut begins) = (VecDeque::new(), false);
    for (at, record) in &world.agent.log {
        match record {
            Record::Submitted { text, queued, .. } => {
                if *queued {
                    queue.push_back(taken.len());
                }
                begins = !queued;
                taken.push((*at, text.as_str()));
                begun.push((if *queued { u64::MAX } else { *at }, text.as_str()));
            }
            Record::Turn { .. } if !std::mem::take(&mut begins) => {
                if let Some(index) = queue.pop_front() {
                    begun[index].0 = *at;
                }
            }
            _ => {}
        }
    }
    (taken, begun)
}

/// Keys of a message answer no dialog and submit no suggestion. Only the first Enter behind a text can be too late to be
/// kept back: a dialog opens while it is on its way.
fn stray_complaints(world: &World) -> Vec<String> {
    let strays = world.agent.strays.iter().filter(|stray| {
        let before = world.writes.iter().rev().find(|(at, _)| *at < stray.typed);
        let again = before.is_some_and(|(_, text)| text == "\r");
        let unseen = stray.open_since.is_some_and(|since| stray.typed < since + FRAME);
        again || !unseen
    });
    strays.map(|stray| format!("what was typed at {} {}", stray.typed, stray.what)).collect()
}

/// Raw bytes are typed once, if it is said that they are, and never twice.
fn raw_complaints(world: &World) -> Vec<String> {
    let received: String = world
        .agent
        .log
        .iter()
        .filter_map(|(_, record)| match record {
            Record::Bytes { escaped, .. } => Some(escaped.as_str()),
            _ => None,
        })
        .collect();
    let received = received + &world.agent.unread().escape_ascii().to_string();
    let raw = world.plan.sends.iter().filter(|sent| sent.terms.raw);
    raw.filter_map(|sent| {
        let count = received.matches(sent.body.trim_end_matches('\x15')).count();
        let state = world.store.message(&sent.id).map(|(message, _)| message.state);
        let fine = match state {
            Some(MessageState::Delivered) => count == 1,
            Some(MessageState::Failed) | None => count == 0,
            Some(MessageState::Uncertain) => count <= 1,
            Some(MessageState::Queued) => world.agent.ended.is_some() && count <= 1,
        };
        (!fine).then(|| format!("raw {} is {state:?} and was typed {count} times", sent.id))
    })
    .collect()
}

/// Whether the agent took this text: as it was sent, or with what a person wrote behind it who saw it stand there.
fn is_of(world: &World, taken: &str, sent: &str) -> bool {
    is_what_came(world, taken, sent, sent)
}

/// The same for what came of a text that was sent.
fn is_what_came(world: &World, taken: &str, came: &str, sent: &str) -> bool {
    let (taken, came, sent) = (taken.trim_end(), came.trim_end(), sent.trim_end());
    // A person's Enter right behind our Escape is a line break.
    let taken = if world.plan.keys.is_empty() { taken } else { taken.trim_start() };
    let Some(behind) = taken.strip_prefix(came) else { return false };
    if behind.is_empty() {
        return true;
    }
    let Some(typed) = world.writes.iter().find(|(_, text)| text.contains(sent)).map(|(at, _)| *at) else {
        return false;
    };
    let entered = world.writes.iter().find(|(at, text)| *at >= typed && text == "\r").map(|(at, _)| *at);
    let first = world.keys_typed.iter().find(|(_, keys)| behind.starts_with(keys.as_str()));
    let free = entered.unwrap_or(u64::MAX).min(typed + STANDS);
    // While the store refuses, a text may have to stand there without its Enter.
    first.is_some_and(|(first, _)| *first >= free) || !world.plan.store_trouble.is_empty()
}
