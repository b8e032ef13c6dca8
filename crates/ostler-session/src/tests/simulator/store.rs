//! The record of a session, in memory.

use ostler_core::message::{Ending, LastWrite, MISSED, Message, MessageState};
use ostler_core::queue::Priority;
use ostler_core::start_plan::StartupRoute;
use ostler_core::{Proof, Wall};

use crate::change::Change;
use crate::saved::{SavedMessage, SavedMessages};

#[derive(Debug, Clone)]
struct Write {
    seq: u64,
    message: String,
    kind: &'static str,
    done: bool,
    echoes: u32,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Store {
    pub(super) messages: Vec<(Message, Vec<u8>)>,
    writes: Vec<Write>,
    pub(super) memory: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) stop_requested: bool,
    pub(super) ending: Option<Ending>,
    /// Commits that say something of messages.
    pub(super) message_commits: u64,
}

impl Store {
    pub(super) fn message(&self, id: &str) -> Option<&(Message, Vec<u8>)> {
        self.messages.iter().find(|(message, _)| message.id == id)
    }

    pub(super) fn commit(&mut self, changes: &[Change], at: Wall) {
        let other = |change: &Change| {
            matches!(
                change,
                Change::Observed { .. }
                    | Change::Remembered { .. }
                    | Change::Event { .. }
                    | Change::Started { .. }
            )
        };
        self.message_commits += u64::from(!changes.iter().all(other));
        for change in changes {
            self.apply(change, at);
        }
    }

    fn apply(&mut self, change: &Change, at: Wall) {
        match change {
            Change::Accepted { id, order, body, terms } => {
                if self.message(id).is_some() {
                    return;
                }
                let message = Message {
                    session: "s".into(),
                    id: id.clone(),
                    seq: *order,
                    terms: terms.clone(),
                    state: MessageState::Queued,
                    proof: Proof::Queued,
                    evidence: Vec::new(),
                    failure: None,
                    attempts: 0,
                    enters: 0,
                    escalated: None,
                    created: at,
                    submitted: None,
                    bytes: body.len(),
                    mark: None,
                };
                self.messages.push((message, body.clone()));
            }
            Change::Revived { id, order } => {
                let order = *order;
                self.writes.retain(|write| write.message != *id);
                self.change(id, |message| {
                    message.seq = order;
                    message.state = MessageState::Queued;
                    message.proof = Proof::Queued;
                    message.evidence.clear();
                    (message.failure, message.attempts, message.enters) = (None, 0, 0);
                    message.terms.way = StartupRoute::Message;
                });
            }
            Change::Cancelled { id } => self.change(id, |message| message.state = MessageState::Failed),
            Change::WriteBegun { id, seq, write, echoes, mark } => {
                self.begin(id, *seq, write, *echoes, mark.as_ref());
            }
            Change::WriteEnded { seq } => {
                self.writes.iter_mut().filter(|write| write.seq == *seq).for_each(|write| write.done = true);
            }
            Change::Proven { id, proof, evidence, last } => self.prove(id, *proof, evidence, *last, at),
            Change::ProvenLate { id, proof, evidence } => {
                if self.message(id).is_some_and(|(message, _)| message.proof < *proof) {
                    self.prove(id, *proof, evidence, true, at);
                }
            }
            Change::Differed { id, evidence, failure } => self.change(id, |message| {
                message.evidence.push(evidence.clone());
                (message.state, message.failure) = (MessageState::Failed, Some(failure.clone()));
            }),
            Change::Missed { id } => {
                let last = self.writes.iter_mut().filter(|write| write.message == *id).max_by_key(|w| w.seq);
                if let Some(last) = last {
                    last.kind = MISSED;
                }
                self.change(id, |message| {
                    message.proof = Proof::Queued;
                    message.evidence.clear();
                    message.terms.way = StartupRoute::Message;
                });
            }
            Change::GivenUp { id, state, failure } => self.change(id, |message| {
                if message.state == MessageState::Queued {
                    (message.state, message.failure) = (*state, Some(failure.clone()));
                }
            }),
            Change::Started { pid } => self.pid = Some(*pid),
            Change::StopRequested => self.stop_requested = true,
            Change::Observed { memory, .. } | Change::Remembered { memory } => {
                self.memory = Some(memory.clone());
            }
            Change::Ended(ending) => _ = self.ending.get_or_insert_with(|| ending.clone()),
            Change::Dropped { .. } | Change::Resized { .. } | Change::Event { .. } => {}
        }
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut Message)) {
        if let Some((message, _)) = self.messages.iter_mut().find(|(message, _)| message.id == id) {
            change(message);
        }
    }

    fn begin(&mut self, id: &str, seq: u64, write: &'static str, echoes: u32, mark: Option<&String>) {
        if self.writes.iter().any(|known| known.seq == seq) {
            return;
        }
        self.writes.push(Write { seq, message: id.into(), kind: write, done: false, echoes });
        self.change(id, |message| {
            let text = matches!(write, "raw" | "body");
            message.attempts += u32::from(text);
            message.enters = if text { 0 } else { message.enters + u32::from(write == "enter") };
            if mark.is_some() {
                message.mark = mark.cloned();
            }
        });
    }

    fn prove(&mut self, id: &str, proof: Proof, evidence: &str, last: bool, at: Wall) {
        self.change(id, |message| {
            message.proof = proof;
            message.evidence.push(evidence.to_owned());
            if proof >= Proof::Submitted {
                message.submitted.get_or_insert(at);
            }
            if last {
                (message.state, message.failure) = (MessageState::Delivered, None);
            }
        });
    }

    /// The message that a write is for.
    pub(super) fn written_for(&self, seq: u64) -> Option<&Message> {
        let write = self.writes.iter().find(|write| write.seq == seq && write.kind == "body")?;
        self.message(&write.message).map(|(message, _)| message)
    }

    /// What a daemon that takes over finds.
    pub(super) fn load(&self, forgets_writes: bool) -> SavedMessages {
        let saved = |(message, body): &(Message, Vec<u8>)| {
            let last = self.writes.iter().filter(|write| write.message == message.id).max_by_key(|w| w.seq);
            let last = last.map(|write| LastWrite {
                seq: write.seq,
                write: write.kind.to_owned(),
                done: write.done,
                echoes: write.echoes,
            });
            let last = last.filter(|_| !forgets_writes);
            SavedMessage { message: message.clone(), body: body.clone(), last, pointer: None }
        };
        let open = |(message, _): &&(Message, Vec<u8>)| message.state == MessageState::Queued;
        let typed = |(message, _): &&(Message, Vec<u8>)| {
            let given_up = message.state.is_given_up() && message.attempts > 0;
            !message.terms.raw && (message.submitted.is_some() || given_up)
        };
        let highest = |of: &dyn Fn(&&Write) -> bool| self.writes.iter().filter(of).map(|w| w.seq).max();
        let last_order = self.messages.iter().map(|(message, _)| message.seq).max().unwrap_or(0);
        let mut open: Vec<SavedMessage> = self.messages.iter().filter(open).map(saved).collect();
        open.sort_by_key(|saved| saved.message.seq);
        let essential = |(message, _): &&(Message, Vec<u8>)| {
            message.terms.way == StartupRoute::Hook || message.terms.priority == Priority::Startup
        };
        SavedMessages {
            open,
            essential: self.messages.iter().filter(essential).map(saved).collect(),
            taken: self.messages.iter().filter(typed).rev().map(saved).collect(),
            last_order,
            last_input: highest(&|_| true).unwrap_or(0).max(last_order),
            last_prompt_write: highest(&|write| write.kind != "raw").unwrap_or(0),
            last_raw_write: highest(&|write| write.kind == "raw").unwrap_or(0),
        }
    }
}
