//! The agent at its terminal, its output, and what its hooks report.

use ostler_core::Wall;
use ostler_testkit::stand_in::Record;

use super::{Arrival, Happening, World};
use crate::Session;
use crate::event::{Event, HookReport};

impl World {
    pub(super) fn schedule_agent(&mut self) {
        if let Some(at) = self.agent.wakes(self.now) {
            let late = if self.agent.input.is_empty() { 0 } else { self.rng.u64(0..8) };
            self.schedule(at + late, Happening::Agent);
        }
    }

    pub(super) fn wake_agent(&mut self) {
        let now = self.now;
        let stall = self.plan.stalls.iter().find(|(from, to)| (*from..*to).contains(&now)).copied();
        if let Some((_, to)) = stall.filter(|_| !self.healed) {
            self.agent.stalled_until = self.agent.stalled_until.max(to);
        }
        let output = self.agent.wake(now);
        self.emit(&output);
        self.heed_log();
        self.schedule_agent();
    }

    pub(super) fn emit(&mut self, output: &[u8]) {
        if !output.is_empty() {
            self.holder.write(output);
            if self.subscribed.is_some() {
                self.soon(3, Happening::Output);
            }
        }
        if self.agent.ended.is_some() && self.subscribed.is_some() {
            self.arrive(3, Arrival::Exited);
        }
    }

    pub(super) fn pass_output(&mut self) {
        let Some(from) = self.subscribed else { return };
        if from < self.holder.oldest() {
            let resumed = self.holder.oldest();
            self.subscribed = Some(resumed);
            self.hand(Event::Gap { from, resumed, modes: self.holder.modes.clone() });
        }
        let Some(from) = self.subscribed else { return };
        let bytes = self.holder.read(from).to_vec();
        if bytes.is_empty() {
            return;
        }
        // A frame may come in two pieces.
        let cut = if self.rng.u64(0..3) == 0 { self.rng.usize(0..bytes.len()) } else { bytes.len() };
        let bytes = &bytes[..cut.max(1)];
        self.subscribed = Some(from + bytes.len() as u64);
        if self.holder.written() > from + bytes.len() as u64 {
            self.soon(4, Happening::Output);
        }
        self.hand(Event::Output { offset: from, bytes });
    }

    /// Lets hooks report what the agent did.
    pub(super) fn heed_log(&mut self) {
        let fresh: Vec<Record> =
            self.agent.log[self.seen_log..].iter().map(|(_, record)| record.clone()).collect();
        self.seen_log = self.agent.log.len();
        for record in fresh {
            let report = match record {
                Record::Submitted { text, queued: true, .. } => {
                    self.narrate(format!("the agent keeps {text:?}"));
                    self.kept.push_back(text);
                    None
                }
                Record::Submitted { text, .. } => {
                    self.narrate(format!("the agent takes {text:?}"));
                    self.entered = true;
                    Some(("Prompt", text))
                }
                Record::Turn { .. } if !std::mem::take(&mut self.entered) => {
                    self.kept.pop_front().map(|text| {
                        self.narrate(format!("the agent begins with {text:?}"));
                        ("Prompt", text)
                    })
                }
                Record::Done { .. } | Record::Interrupted => Some(("Stop", String::new())),
                Record::Answered { kind, choice } => {
                    self.narrate(format!("the {kind} dialog is answered with {choice:?}"));
                    self.answered_by(kind, choice);
                    None
                }
                Record::Dialog { kind } => {
                    self.narrate(format!("a {kind} dialog opens"));
                    None
                }
                Record::Exit { code, .. } => {
                    self.narrate(format!("the agent ends with {code}"));
                    None
                }
                _ => None,
            };
            let (Some((event, text)), Some(hooks)) = (report, self.plan.hooks) else { continue };
            let times = 1 + u64::from(self.rng.u64(0..100) < hooks.doubled);
            for _ in 0..times {
                if self.rng.u64(0..100) >= hooks.lost {
                    self.soon(hooks.late, Happening::Hook { event, text: text.clone() });
                }
            }
        }
    }

    pub(super) fn report(&mut self, event: &'static str, text: String) {
        let connected = self.session.as_ref().is_some_and(Session::listens);
        if !connected {
            // It waits until there is somebody to hear it.
            if self.session.is_some() {
                return self.schedule(self.now + 50, Happening::Hook { event, text });
            }
            let at = self.now().wall;
            return self.spool.push((event, text, at));
        }
        let at = self.now().wall;
        self.hand_report(event, text, at, true);
    }

    pub(super) fn hand_report(&mut self, event: &'static str, text: String, at: Wall, wants_context: bool) {
        let payload = serde_json::json!({ "prompt": text, "source": text }).to_string().into_bytes();
        let ticket = self.ticket(String::new());
        let agent = Some("standin".to_owned());
        self.claims.insert(ticket, (event, text, at));
        let report = HookReport { ticket, agent, event: event.into(), payload, at, wants_context };
        self.hand(Event::Hook(report));
    }
}
