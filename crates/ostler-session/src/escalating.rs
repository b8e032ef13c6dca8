//! What an agent has to know and cannot be given: failed attempts are counted, other ways taken, and the agent told.

use ostler_core::Steady;
use ostler_core::delivery::{HoldReason, Situation};
use ostler_core::message::{MessageState, Terms};
use ostler_core::queue::Priority;

use crate::event::Send;
use crate::outbox::Open;
use crate::session::Session;

/// Who tells an agent that something waits for it elsewhere.
pub const NOTICE: &str = "notice";
/// Characters of a message's id in that of its notice.
const ID: usize = 100;

/// The id of the message that tells an agent of another one.
pub(crate) fn notice_id(id: &str) -> String {
    format!("notice-{}", id.chars().take(ID).collect::<String>())
}

/// What the agent is told.
fn notice(file: Option<&str>) -> String {
    let waits = "[OSTLER] Something that you have to know waits for you.";
    match file {
        Some(file) => format!(
            "{waits} It is in {file}, between the lines with ostler:begin and ostler:end: read it now. \
             `ostler context load` prints it, too."
        ),
        None => format!("{waits} Run `ostler context load` now."),
    }
}

impl Session {
    /// Looks whether what the agent has to know can be typed: where it cannot, that is a failed attempt.
    pub(crate) fn look_after_windows(&mut self) {
        let situation = self.situation();
        let (now, backoff) = (self.now.steady, self.profile.delivery.backoff);
        let enough = self.profile.delivery.file_after.get();
        let waits = |open: &&Open| open.is_essential() && open.delivery.is_waiting();
        let orders: Vec<u64> = self.outbox.open.values().filter(waits).map(|open| open.message.seq).collect();
        for order in orders {
            let Some(open) = self.outbox.open.get_mut(&order) else { continue };
            let shut = why_shut(open, situation);
            let counts = shut.is_some_and(|shut| is_failure(shut, self.outbox.was_ready));
            let enough = enough.saturating_sub(open.delivery.attempts());
            if open.window.look(counts, enough, &backoff, now) {
                self.escalate(order, false);
            }
        }
    }

    /// When one of them is looked at again.
    pub(crate) fn windows_until(&self) -> Option<Steady> {
        let situation = self.situation();
        let enough = self.profile.delivery.file_after.get();
        let shut = |open: &&Open| {
            open.is_essential()
                && open.delivery.is_waiting()
                && why_shut(open, situation).is_some_and(|shut| is_failure(shut, self.outbox.was_ready))
        };
        let waiting = self.outbox.open.values().filter(shut);
        waiting.filter_map(|open| open.window.deadline(enough.saturating_sub(open.delivery.attempts()))).min()
    }

    /// Nothing of a message was typed in time. What an agent has to know from its start it has to know all the same.
    pub(crate) fn escalate_expired(&mut self, order: u64) {
        let startup = |open: &Open| open.message.terms.priority == Priority::Startup;
        if self.outbox.open.get(&order).is_some_and(startup) {
            self.escalate(order, true);
        } else {
            self.withdraw(order);
        }
    }

    /// It waits elsewhere: the agent is told with the next prompt, or when it rests.
    pub(crate) fn on_escalated(&mut self, id: &str, in_file: bool, tell: bool) {
        let way = if tell { Some("notification") } else { in_file.then_some("file") };
        let open = self.outbox.open.values_mut().find(|open| open.message.id == id);
        let mut priority = Priority::Startup;
        if let Some(Open { message, .. }) = open {
            message.escalated = way.map(str::to_owned).or_else(|| message.escalated.take());
            priority = message.terms.priority;
        } else if let Some(recent) = self.outbox.recent.iter().find(|recent| recent.message.id == id) {
            if recent.message.state == MessageState::Delivered {
                return;
            }
            priority = recent.message.terms.priority;
        }
        if !tell || self.life.is_ending() || self.outbox.find(&notice_id(id)).is_some() {
            return;
        }
        let file = self.profile.agent.preset.instructions.as_deref().filter(|_| in_file);
        self.on_send(Send {
            id: notice_id(id),
            body: notice(file).into_bytes(),
            // Behind what it tells of.
            terms: Terms { sender: NOTICE.into(), priority, ..Terms::default() },
            known: None,
            queued: None,
            waiter: None,
        });
    }

    /// A message got through: that it waits elsewhere need not be told any more.
    pub(crate) fn withdraw_notice(&mut self, id: &str) {
        self.withdraw_waiting(&notice_id(id), NOTICE);
    }
}

/// Why a message cannot be typed now.
fn why_shut(open: &Open, situation: Situation) -> Option<HoldReason> {
    situation.admits(open.delivery.mode()).err().or(open.delivery.shut())
}

/// Whether that is a failed attempt. An agent that is on its way, or out of reach, was not tried; and before it was
/// `ready` for the first time, what covers its composer is a part of its start.
fn is_failure(shut: HoldReason, ready: bool) -> bool {
    match shut {
        HoldReason::Unreachable | HoldReason::Ended | HoldReason::Starting => false,
        HoldReason::Working | HoldReason::Limited => true,
        _ => ready,
    }
}
