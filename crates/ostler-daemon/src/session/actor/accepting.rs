//! Messages that are sent: refused with a reason, or recorded before anything else is done with them.

use ostler_core::Timestamp;
use ostler_core::delivery::Mode;
use ostler_core::lifecycle::Phase;
use ostler_core::start_plan::Way;
use ostler_protocol::{ErrorKind, Problem, SendTerms};
use ostler_store::{Accepted, MessageState, NewMessage, Terms};

use super::messages::prompt;
use super::{Actor, reused_id, store_problem};
use crate::clock;
use crate::session::SendCommand;
use crate::session::deliveries::{MAX_OPEN, MAX_OPEN_BYTES, Waiter};

/// Bytes that the id of a message may have.
const MAX_ID: usize = 128;

impl Actor {
    pub(super) async fn on_send(&mut self, command: SendCommand) {
        let SendCommand { id, body, terms, wait, queued, settled } = command;
        if terms.mode == Mode::Interrupt {
            self.await_rules().await;
        }
        if let Err(problem) = self.acceptable(&id, &body, &terms) {
            return drop(queued.send(Err(problem)));
        }
        let order = self.deliveries.last_order + 1;
        let session = self.record.start.id.clone();
        let message = NewMessage {
            session,
            id,
            seq: order,
            body: body.clone(),
            terms: agreed(terms),
            at: clock::now(),
        };
        let accepted = self
            .shared
            .store
            .run(move |store| {
                let accepted = store.add_message(&message)?;
                Ok((accepted, store.message(&message.session, &message.id)?))
            })
            .await;
        let (accepted, stored) = match accepted {
            Ok((accepted, Some(stored))) => (accepted, stored),
            Ok((_, None)) => {
                let problem = Problem::new(ErrorKind::Internal, "the message has no record");
                return drop(queued.send(Err(problem)));
            }
            Err(error) => return drop(queued.send(Err(store_problem(&error)))),
        };
        if matches!(accepted, Accepted::Conflict) {
            return drop(queued.send(Err(reused_id(&stored.id))));
        }
        let new = matches!(accepted, Accepted::New);
        if new {
            self.deliveries.last_order = order;
            self.open(stored.clone(), body);
        }
        let _ = queued.send(Ok(self.shown(&stored)));
        let waiter = Waiter { wants: wait, answer: settled };
        self.deliveries.waiters.entry(stored.id.clone()).or_default().push(waiter);
        self.tell(&stored);
        if !new {
            return;
        }
        if matches!(self.lifecycle.phase(), Phase::Ended(_)) {
            self.give_up(order, MessageState::Failed, "the program has ended".into()).await;
        } else if stored.terms.raw {
            self.type_raw().await;
        } else {
            self.deliver(None).await;
        }
    }

    fn acceptable(&self, id: &str, body: &[u8], terms: &SendTerms) -> Result<(), Problem> {
        // An agent may have to repeat it, and a person sees it in a terminal.
        if id.is_empty() || id.len() > MAX_ID || id.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err(Problem::new(
                ErrorKind::Usage,
                format!("{:?} cannot be the id of a message", id.chars().take(40).collect::<String>()),
            )
            .hint(format!("use 1 to {MAX_ID} characters without blanks and control characters")));
        }
        let waiting: usize = self
            .deliveries
            .open
            .values()
            .map(|open| open.raw.as_ref().map_or(0, Vec::len) + open.text.as_str().len())
            .sum();
        if self.deliveries.open.len() >= MAX_OPEN || waiting + body.len() > MAX_OPEN_BYTES {
            let message = format!("{} messages wait for this session already", self.deliveries.open.len());
            return Err(Problem::new(ErrorKind::Conflict, message)
                .hint("ostler messages list shows them; ostler messages drop ID takes one back"));
        }
        if terms.raw {
            return Ok(());
        }
        if std::str::from_utf8(body).is_err() {
            return Err(Problem::new(ErrorKind::Usage, "the message is not valid UTF-8")
                .hint("--raw types bytes as they are"));
        }
        if prompt(&String::from_utf8_lossy(body)).as_str().is_empty() {
            return Err(Problem::new(
                ErrorKind::Usage,
                "nothing is left of the message without blanks and control characters",
            )
            .hint("--raw types bytes as they are"));
        }
        if terms.mode == Mode::Interrupt && self.known.agent.preset.input.interrupt.is_empty() {
            let message = format!("it is not known how to interrupt {}", self.known.agent.title());
            return Err(Problem::new(ErrorKind::Usage, message)
                .hint("set input.interrupt in its preset, or use --mode queue"));
        }
        Ok(())
    }
}

fn agreed(terms: SendTerms) -> Terms {
    let SendTerms { raw, sender, priority, mode, ack, command, expires_ms } = terms;
    let way = Way::Message;
    let expires = expires_ms.map(|ms| Timestamp(clock::now().0.saturating_add(ms)));
    Terms { raw, sender, priority, mode, ack, expires, way, command }
}
