//! Whether a session's program runs, cannot be reached, or has ended; and how it is stopped.
//!
//! A holder that does not answer is not a holder that is dead. Only evidence ends a session: the exit record,
//! or proof that the holder is gone. Until then the session is unreachable and is tried again.

use std::time::Duration;

use crate::time::Steady;

/// Waits between tries to reach a holder: short at first, for a daemon that starts before the holder listens.
const RETRY: [Duration; 6] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// How a session's program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The holder saw it: exit status or signal.
    Exited {
        /// Exit status, where the program ended by itself.
        status: Option<u8>,
        /// Signal that ended it, where one did.
        signal: Option<u8>,
    },
    /// Its holder is gone without a record; the terminal went with it.
    Lost,
    /// It never ran.
    Failed {
        /// The reason, for people.
        reason: String,
    },
}

/// What can be found out about a holder that is not connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The exit record: `(status, signal)`.
    pub exit: Option<(Option<u8>, Option<u8>)>,
    /// The holder's lock is held: it lives.
    pub held: bool,
    /// A holder has left its name: there was one.
    pub started: bool,
}

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The holder was asked for and has not said that the program runs.
    Launching,
    /// A connection to the holder is being made, for the `attempt`th time since it was last there.
    Attaching {
        /// Tries before this one.
        attempt: usize,
    },
    /// The holder is connected.
    Attached,
    /// The holder lives and does not answer.
    Unreachable {
        /// Tries so far.
        attempt: usize,
        /// When to try again.
        retry_at: Steady,
    },
    /// The program has ended, for good.
    Ended(End),
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The holder says that the program runs.
    Launched,
    /// A daemon took over the session from its record.
    Recovered,
    /// The connection to the holder is up.
    Connected,
    /// There is no connection, and this is what the session directory says.
    Disconnected(Evidence),
    /// The holder reported the program's end.
    Exited {
        /// Exit status.
        status: Option<u8>,
        /// Signal.
        signal: Option<u8>,
    },
    /// A person wants the session ended.
    StopRequested,
    /// Time has passed.
    Tick,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Connect to the holder; the answer is `Connected` or `Disconnected`.
    Connect,
    /// Ask the connected holder to end the process tree.
    Stop,
    /// Ask a holder that cannot be reached otherwise, by a signal to its process.
    StopBySignal,
    /// Record the end.
    Finish(End),
}

/// The life of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lifecycle {
    phase: Phase,
    stop_requested: bool,
}

impl Lifecycle {
    /// A session that is recorded, as one whose end was asked for or not.
    pub fn recorded(stop_requested: bool) -> Self {
        Self { phase: Phase::Launching, stop_requested }
    }

    /// Where the session stands.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether a person asked for its end.
    pub fn stop_requested(&self) -> bool {
        self.stop_requested
    }

    /// When `Tick` is due.
    pub fn deadline(&self) -> Option<Steady> {
        match self.phase {
            Phase::Unreachable { retry_at, .. } => Some(retry_at),
            _ => None,
        }
    }

    /// Takes an event and returns what to do.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "an event is used up")]
    pub fn handle(&mut self, event: Event, now: Steady) -> Vec<Action> {
        let attempt = match self.phase {
            // Nothing revives a session: late news of an ended one change nothing.
            Phase::Ended(_) => return Vec::new(),
            Phase::Attaching { attempt } | Phase::Unreachable { attempt, .. } => attempt,
            Phase::Launching | Phase::Attached => 0,
        };
        match event {
            Event::Launched | Event::Recovered => self.connect(0),
            Event::Exited { status, signal } => self.finish(End::Exited { status, signal }),
            Event::Connected => {
                self.phase = Phase::Attached;
                if self.stop_requested { vec![Action::Stop] } else { Vec::new() }
            }
            Event::Disconnected(Evidence { exit: Some((status, signal)), .. }) => {
                self.finish(End::Exited { status, signal })
            }
            Event::Disconnected(Evidence { held: false, started: true, .. }) => self.finish(End::Lost),
            Event::Disconnected(Evidence { held: false, started: false, .. }) => {
                self.finish(End::Failed { reason: "the daemon ended before the program was started".into() })
            }
            Event::Disconnected(Evidence { held: true, .. }) => {
                let wait = RETRY[attempt.min(RETRY.len() - 1)];
                self.phase = Phase::Unreachable { attempt: attempt + 1, retry_at: now.plus(wait) };
                Vec::new()
            }
            Event::StopRequested => {
                self.stop_requested = true;
                match self.phase {
                    Phase::Attached => vec![Action::Stop],
                    Phase::Unreachable { .. } => vec![Action::StopBySignal],
                    // It is carried out when the holder is there.
                    _ => Vec::new(),
                }
            }
            Event::Tick => match self.phase {
                Phase::Unreachable { attempt, retry_at } if now >= retry_at => self.connect(attempt),
                _ => Vec::new(),
            },
        }
    }

    fn connect(&mut self, attempt: usize) -> Vec<Action> {
        self.phase = Phase::Attaching { attempt };
        vec![Action::Connect]
    }

    fn finish(&mut self, end: End) -> Vec<Action> {
        self.phase = Phase::Ended(end.clone());
        vec![Action::Finish(end)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALIVE: Evidence = Evidence { exit: None, held: true, started: true };
    const GONE: Evidence = Evidence { exit: None, held: false, started: true };

    fn run(lifecycle: &mut Lifecycle, table: &[(u64, Event)]) -> Vec<Action> {
        table.iter().flat_map(|(ms, event)| lifecycle.handle(event.clone(), Steady(*ms))).collect()
    }

    #[test]
    fn an_unreachable_holder_is_tried_again_and_not_given_up() {
        let mut session = Lifecycle::recorded(false);
        let actions = run(&mut session, &[(0, Event::Recovered), (0, Event::Disconnected(ALIVE))]);
        assert_eq!(actions, [Action::Connect]);
        for (at, next) in [(50, 150), (150, 350), (350, 850), (850, 1850), (1850, 6850), (6850, 11850)] {
            assert_eq!(session.deadline(), Some(Steady(at)));
            assert_eq!(run(&mut session, &[(at - 1, Event::Tick)]), []);
            assert_eq!(run(&mut session, &[(at, Event::Tick)]), [Action::Connect]);
            assert_eq!(run(&mut session, &[(at, Event::Disconnected(ALIVE))]), []);
            assert_eq!(session.deadline(), Some(Steady(next)));
        }
    }

    #[test]
    fn only_evidence_ends_a_session() {
        let table = [
            (Event::Disconnected(GONE), End::Lost),
            (
                Event::Disconnected(Evidence { exit: Some((Some(3), None)), held: true, started: true }),
                End::Exited { status: Some(3), signal: None },
            ),
            (Event::Exited { status: None, signal: Some(9) }, End::Exited { status: None, signal: Some(9) }),
            (
                Event::Disconnected(Evidence { started: false, ..GONE }),
                End::Failed { reason: "the daemon ended before the program was started".into() },
            ),
        ];
        for (event, end) in table {
            let mut session = Lifecycle::recorded(false);
            let actions = run(&mut session, &[(0, Event::Launched), (1, Event::Connected), (2, event)]);
            assert_eq!(actions, [Action::Connect, Action::Finish(end)]);
        }
    }

    #[test]
    fn a_stop_is_carried_out_as_soon_as_the_holder_can_be_had() {
        let mut session = Lifecycle::recorded(false);
        let actions = run(
            &mut session,
            &[
                (0, Event::StopRequested),
                (1, Event::Launched),
                (2, Event::Disconnected(ALIVE)),
                (3, Event::StopRequested),
            ],
        );
        assert_eq!(actions, [Action::Connect, Action::StopBySignal]);
        assert_eq!(
            run(&mut session, &[(52, Event::Tick), (53, Event::Connected)]),
            [Action::Connect, Action::Stop]
        );
        let mut recovered = Lifecycle::recorded(true);
        assert_eq!(
            run(&mut recovered, &[(0, Event::Recovered), (1, Event::Connected)]),
            [Action::Connect, Action::Stop]
        );
    }

    fn any_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::Launched),
            Just(Event::Recovered),
            Just(Event::Connected),
            Just(Event::Disconnected(ALIVE)),
            Just(Event::Disconnected(GONE)),
            Just(Event::Exited { status: Some(0), signal: None }),
            Just(Event::StopRequested),
            Just(Event::Tick),
        ]
    }

    proptest! {
        #[test]
        fn ends_at_most_once_and_then_does_nothing(events in proptest::collection::vec((0u64..10_000, any_event()), 0..60)) {
            let mut session = Lifecycle::recorded(false);
            let mut ended = false;
            for (at, event) in events {
                let actions = session.handle(event, Steady(at));
                prop_assert!(!ended || actions.is_empty());
                ended |= actions.iter().any(|action| matches!(action, Action::Finish(_)));
                prop_assert_eq!(ended, matches!(session.phase(), Phase::Ended(_)));
            }
        }
    }
}
