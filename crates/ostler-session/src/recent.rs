//! Messages that something may still be heard of, and whose prompt an agent means.

use ostler_agents::{Body, Likeness, speech};
use ostler_core::delivery::Witness;
use ostler_core::message::{Message, MessageState};
use ostler_core::queue::Priority;
use ostler_core::{Now, Proof, Steady};

use crate::outbox::Outbox;

/// Messages that are remembered after they were taken.
const RECENT: usize = 32;
/// A text of so many letters is found in another only if it is meant.
const DISTINCT: usize = 20;

/// A message that was taken, or of which that cannot be told.
#[derive(Debug)]
pub(crate) struct Recent {
    pub(crate) message: Message,
    pub(crate) body: Body,
    pub(crate) wants_ack: bool,
    /// Something that was typed has a line like its confirmation: the screen cannot tell whose it is.
    pub(crate) quoted: bool,
    /// Its text has a line like a wish for context.
    pub(crate) quotes_wish: bool,
    /// When it was asked to confirm its context: the next message is for an agent that knows it.
    pub(crate) asked: Option<Steady>,
    /// Who has said so.
    pub(crate) told: Vec<Witness>,
    /// When its Enter was typed, by this daemon.
    pub(crate) entered: Option<Steady>,
}

impl Recent {
    pub(crate) fn new(message: Message, body: Body, now: Now) -> Self {
        let wants_ack = message.terms.ack && message.proof < Proof::Acknowledged;
        let context = wants_ack && message.terms.priority == Priority::Startup;
        let asked = message.submitted.filter(|_| context).map(|at| now.steady_at(at));
        let said = |by: &Witness| message.evidence.iter().any(|said| said == witness_evidence(*by));
        let told = Witness::ALL.into_iter().filter(said).collect();
        Self { message, body, wants_ack, quoted: false, quotes_wish: false, asked, told, entered: None }
    }
}

/// The evidence for a prompt that the agent said it took.
pub(crate) fn witness_evidence(by: Witness) -> &'static str {
    match by {
        Witness::Hook => "hook: the agent took this prompt",
        Witness::Transcript => "transcript: the agent took this prompt",
    }
}

impl Outbox {
    /// The message that an agent means which says what prompt it took.
    ///
    /// Of equal messages the one is meant that was entered just now, else the oldest that was taken and not spoken of
    /// before. One that was given up, or has yet to be entered, is meant only if no other one can be. Agents may put words of their own
    /// before and behind it; then the longest one is meant, for a short one may be a part of anything. Last, a text that
    /// is much like the one that was entered just now is that one, damaged on its way.
    pub(crate) fn meant(&self, by: Witness, text: &str) -> Option<String> {
        let recent = self.recent.iter().filter(|recent| !recent.told.contains(&by));
        let recent = recent.map(|recent| (&recent.body, &recent.message));
        let begun = self.open.values().filter(|open| open.delivery.attempts() > 0);
        let all: Vec<_> = recent.chain(begun.map(|open| (&open.body, &open.message))).collect();
        let held = self.held();
        let rank = |message: &Message| match self.open.get(&message.seq) {
            Some(open) if held == Some(message.seq) && open.delivery.enters() > 0 => 0,
            Some(open) if open.delivery.is_queued_by_agent() => 1,
            None if !message.state.is_given_up() => 1,
            // Its Enter is still to come; a person may have been faster.
            Some(_) if held == Some(message.seq) => 2,
            None => 3,
            // A crash kept it from being typed, or it was found to be missing.
            Some(_) => 4,
        };
        let exact = all.iter().filter(|(body, _)| body.is(text)).min_by_key(|(_, message)| rank(message));
        if let Some((body, message)) = exact {
            // Another one that reads the same may be spoken of once more.
            let other = |recent: &Recent| recent.message.id != message.id && recent.body.reads_like(body);
            let sure = rank(message) < 2 || !self.recent.iter().any(other);
            return sure.then(|| message.id.clone());
        }
        // A few letters are a part of anything, but they were entered just now.
        let likely = |(body, message): &&(&Body, &Message)| {
            body.is_in(text) && (body.weight() >= DISTINCT || rank(message) == 0)
        };
        let within = all.iter().filter(likely).rev().max_by_key(|(body, _)| body.weight());
        let damaged = || {
            // It is one that was spoken of before.
            if self.recent.iter().any(|recent| recent.body.is(text)) {
                return None;
            }
            let open = held.and_then(|held| self.open.get(&held)).filter(|open| open.delivery.enters() > 0);
            let recent = self.recent.back().filter(|recent| recent.told.is_empty());
            let open = open.map(|open| (&open.body, &open.message));
            let last = open.or(recent.map(|recent| (&recent.body, &recent.message)));
            last.filter(|(body, _)| body.compare(text) != Likeness::Other).map(|(_, message)| message)
        };
        within.map(|(_, message)| *message).or_else(damaged).map(|message| message.id.clone())
    }

    /// How a prompt that the agent says it took compares with the text of this message.
    pub(crate) fn compare(&self, id: &str, text: &str) -> Likeness {
        let open = self.open.values().find(|open| open.message.id == id).map(|open| &open.body);
        let recent = self.recent.iter().find(|recent| recent.message.id == id).map(|recent| &recent.body);
        open.or(recent).map_or(Likeness::Other, |body| body.compare(text))
    }

    /// Remembers a message that something may still be heard of, and whose text this is.
    pub(crate) fn remember(&mut self, mut recent: Recent, text: &str) {
        recent.quotes_wish = speech::quotes_request(text);
        self.recent.retain(|known| known.message.id != recent.message.id);
        self.recent.push_back(recent);
        for recent in &mut self.recent {
            recent.quoted |=
                speech::text_acknowledges(text, &[&recent.message.id], &self.ack_words).is_some();
        }
        while self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// A message that was given up is tried again.
    pub(crate) fn take_up_again(&mut self, id: &str) {
        if let Some(at) = self.recent.iter().position(|recent| recent.message.id == id) {
            self.left.extend(self.recent.remove(at).map(|recent| recent.body));
        }
        while self.left.len() > RECENT {
            self.left.pop_front();
        }
    }

    /// Texts of earlier messages that may stand in the composer.
    pub(crate) fn earlier(&self) -> impl Iterator<Item = &Body> {
        self.recent.iter().map(|recent| &recent.body).chain(&self.left)
    }

    /// Whether this text was typed before, for a message that was then given up.
    pub(crate) fn is_left(&self, body: &Body) -> bool {
        self.left.iter().any(|left| left.reads_like(body))
    }

    /// Whether something that may be the last prompt on the screen has a line like a wish for context: then the screen
    /// cannot tell whose it is. The last message that was taken stands below all before it.
    pub(crate) fn quotes_wish(&self) -> bool {
        let delivered = |recent: &Recent| recent.message.state == MessageState::Delivered;
        let taken = self.recent.iter().rposition(delivered);
        self.recent.iter().skip(taken.unwrap_or(0)).any(|recent| recent.quotes_wish)
            || self.open.values().any(|open| speech::quotes_request(open.plain.as_str()))
    }
}
