//! What a delivery needs to know of the agent: what it is doing, what its composer shows, and what proves something.

use std::time::Duration;

use ostler_agents::{Body, Composer, Prompt, Reader, WhileWorking};
use ostler_core::State;
use ostler_core::delivery::{Because, Mode, Sight, Situation, View};
use ostler_core::lifecycle::Phase;

use super::Actor;
use super::messages::told;
use crate::clock;

/// A program that nobody understands is typed into after this much silence, unless its preset has another figure.
const UNRECOGNISED: Duration = Duration::from_secs(30);
/// And after this much whatever that says.
const LONGEST_SILENCE: Duration = Duration::from_mins(10);

impl Actor {
    /// The row from which on the composer is.
    pub(super) fn above(&self) -> usize {
        let rows = usize::from(self.output.screen.size().rows);
        self.observer.composer().map_or(rows, |composer| composer.framed.start)
    }

    pub(super) fn situation(&self) -> Situation {
        let now = clock::steady();
        let (state, ..) = self.described();
        let delay = self.known.agent.preset.startup.ready_delay_ms;
        let delay = delay.map_or(UNRECOGNISED, |ms| Duration::from_millis(ms.into()).min(LONGEST_SILENCE));
        let quiet = now.since(self.deliveries.changed) >= delay;
        let ruled = self.known.expectations.rules;
        Situation {
            // What is not understood yet is as good as not ready; but gone is gone.
            state: if self.watches() || state == State::Exited { state } else { State::Starting },
            reachable: self.link.is_some() && matches!(self.lifecycle.phase(), Phase::Attached),
            person: self.deliveries.person.is_some_and(|until| now < until),
            unrecognised: if ruled { self.is_opaque() } else { quiet },
        }
    }

    /// Whether the agent has a composer that should be seen and never was.
    pub(super) fn is_opaque(&self) -> bool {
        let (state, kind, _) = self.described();
        let deadline = Duration::from_millis(self.known.settings.startup_deadline_ms.into());
        let late = clock::now() >= self.record.start.created.plus(deadline);
        let never_seen = match state {
            State::Unknown => kind.as_deref() == Some("unrecognised"),
            // By other signs than its composer.
            State::Idle => late && !self.deliveries.composer_seen,
            _ => false,
        };
        never_seen && self.known.book.knows_composer()
    }

    /// Whether an earlier text may stand where the next one would be typed.
    fn is_unsure(&self) -> bool {
        self.deliveries
            .unsure
            .as_ref()
            .is_some_and(|before| Prompt::at_cursor(&self.output.screen) != *before)
    }

    /// What can be seen of a message now.
    pub(super) fn view(&self, order: u64, situation: Situation) -> Option<View> {
        let open = self.deliveries.open.get(&order)?;
        let screen = &self.output.screen;
        let glanced: Option<Composer>;
        let composer = if open.delivery.glances() {
            glanced = Reader::glance(&self.known.book, screen);
            glanced.as_ref()
        } else {
            self.observer.composer()
        };
        // What was put back matters only to a message that waits for an empty composer.
        let drafted = composer.is_some_and(|composer| composer.draft) && open.delivery.is_waiting();
        let earlier: Vec<Body> = self.deliveries.earlier().filter(|_| drafted).cloned().collect();
        let sight = match composer {
            Some(composer) => {
                let mark = self.deliveries.placeholder.as_ref();
                open.body.sight(screen, &self.known.book, composer, mark, &earlier)
            }
            // It is drawn as nobody foresaw; but an agent at rest shows the text, and its end is where the cursor is.
            None if !open.delivery.is_blind() => {
                let at_rest = situation.state == State::Idle && open.delivery.is_composing();
                if at_rest { open.body.sight_at_cursor(screen, open.prompt.as_ref()) } else { Sight::Hidden }
            }
            None if open.delivery.is_waiting() && self.is_unsure() => Sight::Foreign,
            None => open.body.sight_at_cursor(screen, open.prompt.as_ref()),
        };
        let is_repeated = self.deliveries.earlier().any(|earlier| earlier.reads_like(&open.body));
        // Nothing was typed for this message yet: an equal one before it was put back, or is left from before.
        let of_before = match sight {
            Sight::Ours => is_repeated,
            Sight::Part => self.deliveries.is_left(&open.body),
            _ => false,
        };
        let is_earlier = of_before && open.delivery.attempts() == 0;
        let sight = if is_earlier { Sight::Earlier } else { sight };
        let above = composer.map_or(usize::from(screen.size().rows), |composer| composer.framed.start);
        let typed = open.delivery.is_looking() || open.delivery.is_confirming() || open.delivery.is_given();
        let detector = self.observer.detector();
        let busy = matches!(open.message.terms.mode, Mode::Queue | Mode::Now) && detector.shows_work();
        let began = |entered| detector.went_to_work_since(entered, clock::steady()).is_some();
        Some(View {
            situation,
            sight,
            at_work: busy || open.entered.is_some_and(began),
            repeated: is_repeated,
            echoed: typed && open.body.echoes(screen, above) > open.echoes,
            tells_prompts: self.deliveries.tells_prompts,
            touched: self.deliveries.touched.is_some(),
            taken: self.deliveries.taken,
            changed: self.deliveries.changed,
            current: self.observer.is_current(),
        })
    }

    pub(super) fn evidence(&self, order: u64, because: Because) -> String {
        let open = self.deliveries.open.get(&order);
        let sign = open
            .and_then(|open| open.entered)
            .and_then(|entered| self.observer.detector().went_to_work_since(entered, clock::steady()))
            .unwrap_or("screen");
        let unseen = self.known.book.knows_composer() && open.is_some_and(|open| open.delivery.is_blind());
        match because {
            Because::Ledger if unseen => {
                "ledger: every byte is in the terminal, typed without seeing a composer".into()
            }
            Because::Ledger => "ledger: every byte is in the terminal".into(),
            Because::Composer => "screen: the composer shows it".into(),
            Because::Told(by) => told(by).into(),
            Because::WentToWork if self.is_on_command_line(order) => {
                format!("command line: it was there; {sign}: the agent went to work")
            }
            Because::Echoed if self.is_on_command_line(order) => {
                "command line: it was there; screen: it stands among what was said".into()
            }
            Because::WentToWork => {
                format!("screen: the composer was emptied; {sign}: the agent went to work")
            }
            Because::Kept => match self.known.agent.preset.input.while_working {
                Some(WhileWorking::Queue) => "screen: the agent keeps it for after its turn".into(),
                Some(WhileWorking::Steer) => {
                    "screen: the composer was emptied; the agent takes it into its turn".into()
                }
                None => "screen: the composer was emptied while the agent was at work".into(),
            },
            Because::Echoed => "screen: the composer was emptied, and it stands among what was said".into(),
            Because::PutBack => {
                "screen: it stands among what was said, and was put back into the composer".into()
            }
            Because::HookTook => "hook: the agent's session-start hook took it".into(),
            Because::Emptied => "screen: the composer was emptied of the command".into(),
            Because::LineRead => "terminal: the program has read the line".into(),
        }
    }
}
