//! What came of the things that a run's actor began.

use ostler_core::Wall;
use ostler_core::pre_context;
use ostler_core::run::{Act, AgentId, Changes, Event, HelperAnswer};
use ostler_core::stop_watch::{Findings, Listener, Report};
use ostler_protocol::CheckInfo;
use serde_json::json;

use super::super::ended_agent;
use super::super::helper::HelperPrompt;
use super::super::record::forget_seen;
use super::{MAX_KEPT, RunActor, WatchedAgent};
use crate::session::SessionHandle;

/// What came of something that the actor began.
#[derive(Debug)]
pub(in super::super) enum TaskResult {
    /// Nothing but an event for the run.
    Event(Event),
    /// This is found of an agent's stops now.
    Found {
        agent: AgentId,
        found: Findings,
    },
    /// An agent's session is gone.
    Gone {
        agent: AgentId,
    },
    Started {
        agent: AgentId,
        handle: SessionHandle,
    },
    Submitted {
        act: Act,
        agent: AgentId,
        proof: String,
        sent: Wall,
    },
    Observed {
        act: Act,
        changes: Option<Changes>,
        words: Option<String>,
        tree: Option<u32>,
    },
    Checked {
        act: Act,
        results: Vec<CheckInfo>,
        /// The tree was looked at again: what checks write is no work of an agent.
        tree: Option<u32>,
    },
    Helped {
        act: Act,
        answer: Result<HelperAnswer, String>,
        prompts: Vec<HelperPrompt>,
    },
}

impl RunActor {
    pub(super) async fn on_result(&mut self, result: TaskResult) {
        match result {
            TaskResult::Event(event) => self.handle(event).await,
            TaskResult::Found { agent, found } => {
                if let Some(watched) = self.agents.get_mut(&agent) {
                    watched.found = Some(found);
                    self.listen(agent).await;
                }
            }
            TaskResult::Gone { agent } => self.on_gone(agent).await,
            TaskResult::Started { agent, handle } => self.watch(agent, handle, Listener::default()),
            TaskResult::Submitted { act, agent, proof, sent } => {
                if let Some(prompt) = self.record.prompts.last_mut() {
                    prompt.proof = Some(proof.clone());
                }
                self.record.sent = Some(sent);
                self.handle(Event::PromptSubmitted { act, proof }).await;
                // The turn may be over already.
                self.listen(agent).await;
            }
            TaskResult::Observed { act, changes, words, tree } => {
                // What was seen later is of no use where nobody asks for it any more.
                let before = self.record.run.is_observing(act).then(|| self.record.take_tree(tree)).flatten();
                self.handle(Event::TreeObserved { act, changes, words }).await;
                self.forget_tree(before);
            }
            TaskResult::Checked { act, results, tree } => self.on_checked(act, results, tree).await,
            TaskResult::Helped { act, answer, prompts } => {
                let injected = prompts.iter().filter(|prompt| prompt.has_context()).count();
                self.record.note_helper_prompts(act, prompts);
                self.handle(match answer {
                    Ok(answer) => Event::HelperAnswered { act, answer },
                    Err(reason) => Event::HelperFailed { act, reason },
                })
                .await;
                for _ in 0..injected {
                    self.count(format!("context_injection.{}", pre_context::Kind::Helper.as_str())).await;
                }
            }
        }
    }

    async fn on_checked(&mut self, act: Act, results: Vec<CheckInfo>, tree: Option<u32>) {
        // The agent works again meanwhile: what was checked is old.
        if !self.record.run.is_checking(act) {
            return;
        }
        for check in &results {
            let CheckInfo { attempt, command, passed, error, seconds, .. } = check;
            let details = json!({
                "attempt": attempt, "command": command, "passed": passed, "error": error, "seconds": seconds
            });
            self.record_event("run.check", details).await;
        }
        let broken = results.iter().find(|check| check.not_runnable);
        let broken = broken.and_then(|check| check.error.clone());
        let passed = results.iter().all(|check| check.passed);
        let failures = results.iter().filter(|check| !check.passed);
        let failures = failures
            .map(|check| check.error.clone().unwrap_or_else(|| format!("{} failed", check.command)))
            .collect();
        self.record.checks.extend(results);
        let excess = self.record.checks.len().saturating_sub(MAX_KEPT);
        self.record.checks.drain(..excess);
        let before = self.record.take_tree(tree);
        let event = match broken {
            Some(reason) => Event::CheckNotRunnable { act, reason },
            None => Event::ChecksFinished { act, passed, failures },
        };
        self.handle(event).await;
        self.forget_tree(before);
    }

    /// Forgets what the tree was like once, after the record names what it is like now.
    fn forget_tree(&self, number: Option<u32>) {
        if let Some(number) = number {
            forget_seen(&self.runs.home, &self.record.request.id, number);
        }
    }

    /// Hears what is new of what was found of an agent.
    async fn listen(&mut self, agent: AgentId) {
        let prompt = self.record.run.prompt(self.record.sent);
        let Some(WatchedAgent { listener, found: Some(found), .. }) = self.agents.get_mut(&agent) else {
            return;
        };
        for report in listener.on_findings(found, prompt) {
            self.on_report(agent, report).await;
        }
    }

    /// An agent's session is gone; where nobody has said how it ended, its record does.
    async fn on_gone(&mut self, agent: AgentId) {
        let said = |watched: &WatchedAgent| watched.found.is_some_and(|found| found.end.is_some());
        if self.agents.get(&agent).is_some_and(|watched| !said(watched)) {
            let stop = ended_agent::stop(&self.runs.store, &self.record.session_id(agent)).await;
            self.handle(Event::AgentStopped { agent, stop }).await;
        }
    }

    async fn on_report(&mut self, agent: AgentId, report: Report) {
        let event = match report {
            Report::Ready => Event::AgentReady { agent },
            Report::Resumed => Event::AgentResumed { agent },
            Report::Stopped(stopped) => Event::AgentStopped { agent, stop: stopped.stop },
            Report::Spent(usage) => {
                // A session that was taken up again may have forgotten the last of it.
                let spent = self.record.spent.entry(self.record.session_id(agent)).or_default();
                *spent = spent.max(usage);
                Event::Spent { tokens: self.record.usage().tokens() }
            }
        };
        self.handle(event).await;
    }
}
