//! When the turn of a message is over, and its answer complete.
//!
//! A transcript tells it of that very message; the session tells it of the last prompt. Whichever is first is not
//! enough where words may still come: what tells the end and what has the words are two witnesses, one behind the other.

use crate::State;
use crate::exchange::{Closing, Exchange};
use crate::stop::{Stop, Stopped};
use crate::stop_watch::Findings;

/// What is known of the turn.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// What the transcript has of the message, and whether another prompt follows it there.
    pub exchange: Option<(&'a Exchange, bool)>,
    /// What the session has found of stops since the message was entered.
    pub found: &'a Findings,
    /// What the agent is doing.
    pub state: State,
    /// The program has ended.
    pub ended: bool,
}

/// What to do for who waits for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The turn goes on.
    Wait,
    /// It is over, and words may still come: wait a moment.
    Linger(Outcome),
    /// It is over.
    Ready(Outcome),
}

/// How the turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// By itself.
    Done,
    /// By an error.
    Failed(String),
    /// A person stopped it.
    Interrupted,
    /// A dialog waits for a person.
    Blocked,
    /// The program ended.
    Ended,
}

impl Outcome {
    /// The name in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
            Self::Blocked => "blocked",
            Self::Ended => "ended",
        }
    }

    fn of_stop(stop: Stop) -> Self {
        match stop {
            Stop::Idle { .. } => Self::Done,
            Stop::TurnFailed { failure, .. } => Self::Failed(failure.as_str().into()),
            Stop::StatusError => Self::Failed("its status is an error".into()),
            Stop::Limited { .. } => Self::Failed("it has hit a limit".into()),
            Stop::Blocked { .. } => Self::Blocked,
            Stop::Exited { .. } | Stop::Ended | Stop::Lost => Self::Ended,
        }
    }
}

/// Says whether a turn is over.
pub fn verdict(situation: Situation<'_>) -> Verdict {
    let Situation { exchange, found, state, ended } = situation;
    if let Some((exchange, followed)) = exchange {
        let answered = exchange.answer.is_some();
        match &exchange.closing {
            Some(Closing::Done) if answered => return Verdict::Ready(Outcome::Done),
            Some(Closing::Done) => return Verdict::Linger(Outcome::Done),
            Some(Closing::Failed(why)) => return Verdict::Ready(Outcome::Failed(why.clone())),
            Some(Closing::Interrupted) => return Verdict::Ready(Outcome::Interrupted),
            None if followed && answered => return Verdict::Ready(Outcome::Done),
            None => {}
        }
    }
    if ended {
        return Verdict::Linger(Outcome::Ended);
    }
    if found.dialog.is_some() {
        return Verdict::Ready(Outcome::Blocked);
    }
    let rests = !matches!(state, State::Working | State::Starting | State::Blocked);
    match found.turn.filter(|_| rests) {
        Some(Stopped { stop, .. }) => Verdict::Linger(Outcome::of_stop(stop)),
        None => Verdict::Wait,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::exchange::Exchanges;
    use crate::stop::Trigger;
    use crate::{Asking, Fact, Wall};

    fn stopped(stop: Stop) -> Stopped {
        let idle_for = Duration::ZERO;
        let trigger = Trigger::TurnEnded;
        Stopped { trigger, stop, exit: None, last_output: None, idle_for, last_heartbeat: None }
    }

    const IDLE: Stop = Stop::Idle { asks: false };

    fn of(facts: &[Fact], found: &Findings, state: State) -> Verdict {
        let mut exchanges = Exchanges::new(9);
        for fact in facts {
            exchanges.on_fact(fact, Some(Wall(5)));
        }
        let exchange = exchanges.begun_with("ours", Wall(1));
        verdict(Situation { exchange, found, state, ended: false })
    }

    #[test]
    fn a_transcript_tells_of_this_very_message() {
        let prompt = |text: &str| Fact::PromptSubmitted { text: Some(text.into()) };
        let said = || Fact::Said { text: "It is done.".into() };
        let ended = || Fact::TurnEnded { background: 0 };
        let nothing = Findings::default();
        // What was said of an earlier prompt is no answer.
        let stale = Findings { turn: Some(stopped(IDLE)), ..nothing };
        let (working, idle) = (State::Working, State::Idle);
        assert_eq!(of(&[said(), ended(), prompt("ours")], &stale, working), Verdict::Wait);
        assert_eq!(of(&[prompt("ours"), said()], &nothing, idle), Verdict::Wait);
        assert_eq!(of(&[prompt("ours"), ended()], &nothing, idle), Verdict::Linger(Outcome::Done));
        assert_eq!(of(&[prompt("ours"), said(), ended()], &nothing, working), Verdict::Ready(Outcome::Done));
        // Another prompt came so soon that no end was told.
        let followed = [prompt("ours"), said(), prompt("another")];
        assert_eq!(of(&followed, &nothing, working), Verdict::Ready(Outcome::Done));
        let stopped = [prompt("ours"), said(), Fact::Interrupted];
        assert_eq!(of(&stopped, &nothing, idle), Verdict::Ready(Outcome::Interrupted));
    }

    #[test]
    fn without_one_the_session_tells() {
        let found = |turn, dialog| Findings { dialog, turn, ..Findings::default() };
        let asks = Some(stopped(Stop::Blocked { kind: Asking::Permission }));
        let idle = Some(stopped(IDLE));
        assert_eq!(of(&[], &found(None, None), State::Idle), Verdict::Wait);
        assert_eq!(of(&[], &found(idle, None), State::Working), Verdict::Wait, "it goes on");
        assert_eq!(of(&[], &found(idle, None), State::Idle), Verdict::Linger(Outcome::Done));
        assert_eq!(of(&[], &found(None, asks), State::Blocked), Verdict::Ready(Outcome::Blocked));
        let failed = Some(stopped(Stop::StatusError));
        let why = Outcome::Failed("its status is an error".into());
        assert_eq!(of(&[], &found(failed, None), State::Error), Verdict::Linger(why));
        let found = Findings::default();
        let ended = Situation { exchange: None, found: &found, state: State::Exited, ended: true };
        assert_eq!(verdict(ended), Verdict::Linger(Outcome::Ended));
    }
}
