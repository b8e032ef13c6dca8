//! What a delivery needs to know of the agent: what it is doing, what its composer shows, and what proves something.

use std::time::Duration;

use ostler_agents::{Body, Composer, Prompt, Reader, WhileWorking};
use ostler_core::State;
use ostler_core::delivery::{ComposerView, HoldReason, Mode, ProofEvidence, Shape, Situation, View};
use ostler_core::message::Message;
use ostler_screen::Screen;

use crate::Safeguard;
use crate::effect::MessageView;
use crate::outbox::Open;
use crate::recent::witness_evidence;
use crate::session::Session;

/// A program that nobody understands is typed into after this much silence, unless its preset has another figure.
const UNRECOGNISED: Duration = Duration::from_secs(30);
/// How the evidence begins for a text that the agent has in a queue of its own.
pub(crate) const KEPT: &str = "screen: queued by the agent";
/// And after this much whatever that says.
const LONGEST_SILENCE: Duration = Duration::from_mins(10);

impl Session {
    /// The row from which on the composer is.
    pub(crate) fn composer_top(&self) -> usize {
        let rows = usize::from(self.terminal.screen.size().rows);
        self.observer.composer().map_or(rows, |composer| composer.framed.start)
    }

    pub(crate) fn situation(&self) -> Situation {
        let now = self.now.steady;
        let (state, ..) = self.described();
        let delay = self.profile.agent.preset.startup.ready_delay_ms;
        let delay = delay.map_or(UNRECOGNISED, |ms| Duration::from_millis(ms.into()).min(LONGEST_SILENCE));
        // What a program says of its start holds until something was typed.
        let marked = self.ready_marked && self.outbox.last_written == 0;
        let quiet = marked || now.since(self.observer.detector().moved()) >= delay;
        let ruled = self.profile.expectations.rules;
        // What is not understood yet is as good as not ready; but gone is gone.
        let state = match state {
            State::Exited => state,
            _ if !self.watches() => State::Starting,
            State::Starting if marked && !ruled => State::Unknown,
            _ => state,
        };
        let ignored = match state {
            State::Blocked => !self.guards(Safeguard::NothingIntoDialogs),
            State::Starting => !self.guards(Safeguard::NothingBeforeReady),
            State::Working => !self.guards(Safeguard::NothingIntoTurns),
            _ => false,
        };
        Situation {
            state: if ignored { State::Idle } else { state },
            reachable: self.life.connected && self.is_attached(),
            person: self.human.is_typing(now) && self.guards(Safeguard::PeopleTypeFirst),
            unrecognised: if ruled { self.is_opaque() } else { quiet },
        }
    }

    /// Whether the agent has a composer that should be seen and never was.
    pub(crate) fn is_opaque(&self) -> bool {
        let (state, kind, _) = self.described();
        let deadline = Duration::from_millis(self.profile.settings.startup_deadline_ms.into());
        let late = self.now.wall >= self.created.plus(deadline);
        let never_seen = match state {
            State::Unknown => kind.as_deref() == Some("unrecognised"),
            // By other signs than its composer.
            State::Idle => late && !self.outbox.composer_seen,
            _ => false,
        };
        never_seen && self.profile.book.knows_composer()
    }

    /// Whether an earlier text may stand where the next one would be typed.
    fn is_unsure(&self) -> bool {
        let unsure = self.outbox.unsure.as_ref();
        unsure.is_some_and(|before| Prompt::at_cursor(&self.terminal.screen) != *before)
    }

    /// How much the program had written when its screen came to show what it shows now. A title, a bell, a cursor that blinks
    /// or a frame like the last one say nothing of what it has done about a key.
    pub(crate) fn drawn(&self, safeguard: Safeguard) -> u64 {
        if self.guards(safeguard) { self.terminal.drawn } else { u64::MAX }
    }

    /// What can be seen of a message now.
    pub(crate) fn delivery_view(&self, order: u64, situation: Situation) -> Option<View> {
        let open = self.outbox.open.get(&order)?;
        let screen = &self.terminal.screen;
        let glanced: Option<Composer>;
        let composer = if open.delivery.glances() {
            glanced = Reader::glance(&self.profile.book, screen);
            glanced.as_ref()
        } else {
            self.observer.composer()
        };
        let sight = self.composer_sight(open, composer, situation);
        let is_repeated = self.outbox.earlier().any(|earlier| earlier.reads_like(&open.body));
        // Nothing was typed for this message yet: an equal one before it was put back, or is left from before.
        let of_before = match sight {
            ComposerView::Ours => is_repeated,
            ComposerView::Part | ComposerView::Garbled => self.outbox.is_left(&open.body),
            _ => false,
        };
        let is_earlier = of_before && open.delivery.attempts() == 0;
        let sight = if is_earlier { ComposerView::Earlier } else { sight };
        let typed = open.delivery.is_looking() || open.delivery.is_confirming() || open.delivery.is_aside();
        let detector = self.observer.detector();
        let busy = matches!(open.message.terms.mode, Mode::Queue | Mode::Now) && detector.shows_work();
        let began = |entered| detector.went_to_work_since(entered, self.now.steady).is_some();
        let overtyped = open.delivery.is_confirming()
            && open.entered.is_none_or(|entered| self.human.has_typed_since(entered));
        let before = if self.guards(Safeguard::OldEchoesDoNotCount) { open.echoes } else { 0 };
        let above = composer.map_or(usize::from(screen.size().rows), |composer| composer.framed.start);
        let repeats = typed && self.echoes(open, above) > before;
        // What refuses a command repeats it.
        let tells_refusals = self.tells_refusals(open);
        Some(View {
            situation,
            sight,
            at_work: busy || open.entered.is_some_and(began),
            repeated: is_repeated && self.guards(Safeguard::OldEchoesDoNotCount),
            echoed: repeats && !tells_refusals,
            refused: repeats && tells_refusals,
            tells_refusals,
            keeps: self.profile.agent.preset.input.while_working == Some(WhileWorking::Queue),
            tells_prompts: self.outbox.tells_prompts,
            touched: self.human.has_touched(),
            other_entered: open.entered.is_some_and(|entered| self.human.has_entered_since(entered))
                && self.guards(Safeguard::OthersEnterForThemselves),
            raw: self.human.raw,
            taken: self.outbox.taken,
            changed: self.changed,
            drawn: self.drawn(Safeguard::ReadIsNotDone),
            shape: composer.filter(|_| !overtyped).map(|composer| shape(screen, composer)),
            current: self.observer.is_current(),
        })
    }

    /// Whether the agent would say that it does not know a command.
    fn tells_refusals(&self, open: &Open) -> bool {
        open.message.terms.command && self.profile.book.knows_refusals()
    }

    /// How often a message stands among what was said; or, of a command, how often it was refused.
    pub(crate) fn echoes(&self, open: &Open, above: usize) -> usize {
        if self.tells_refusals(open) {
            return self.refusals(open, above).count();
        }
        open.body.echoes(&self.terminal.screen, above)
    }

    /// The rows that say that a command was refused.
    pub(crate) fn refusals(&self, open: &Open, above: usize) -> impl Iterator<Item = String> {
        // Some name it without its slash.
        let name = open.plain.as_str().split_whitespace().next().unwrap_or_default();
        let name = name.trim_start_matches('/').to_owned();
        let above = u16::try_from(above).unwrap_or(u16::MAX).min(self.terminal.screen.size().rows);
        (0..above).filter_map(move |row| {
            let mut text = String::new();
            self.terminal.screen.read_row(row, &mut text);
            self.profile.book.refuses(&text, &name).then(|| text.trim().to_owned())
        })
    }

    /// What the composer shows of a message.
    fn composer_sight(&self, open: &Open, composer: Option<&Composer>, situation: Situation) -> ComposerView {
        let screen = &self.terminal.screen;
        // What was put back matters only to a message that waits for an empty composer.
        let drafted = composer.is_some_and(|composer| composer.draft) && open.delivery.is_waiting();
        let earlier: Vec<Body> = self.outbox.earlier().filter(|_| drafted).cloned().collect();
        let sight = match composer {
            Some(composer) => {
                let mark = self.outbox.placeholder.as_ref();
                open.body.sight(screen, &self.profile.book, composer, mark, &earlier)
            }
            // It is drawn as nobody foresaw; but an agent at rest shows the text, and its end is where the cursor is.
            None if !open.delivery.is_blind() => {
                let at_rest = situation.state == State::Idle && open.delivery.is_composing();
                if at_rest {
                    open.body.sight_at_cursor(screen, open.prompt.as_ref())
                } else {
                    ComposerView::Hidden
                }
            }
            None if open.delivery.is_waiting() && self.is_unsure() => ComposerView::Foreign,
            None => open.body.sight_at_cursor(screen, open.prompt.as_ref()),
        };
        let waits = open.delivery.is_waiting() || open.delivery.glances() && !open.delivery.is_composing();
        let hidden = match self.described().0 {
            State::Blocked => Some(Safeguard::NothingIntoDialogs),
            State::Starting => Some(Safeguard::NothingBeforeReady),
            _ => None,
        };
        match sight {
            ComposerView::Hidden if hidden.is_some_and(|safeguard| !self.guards(safeguard)) => {
                ComposerView::Empty
            }
            ComposerView::Garbled if !self.guards(Safeguard::WordForWord) => ComposerView::Ours,
            ComposerView::Foreign
            | ComposerView::Part
            | ComposerView::Garbled
            | ComposerView::Earlier
            | ComposerView::Ours
                if waits && !self.guards(Safeguard::OnlyIntoAnEmptyComposer) =>
            {
                ComposerView::Empty
            }
            ComposerView::Empty
            | ComposerView::Part
            | ComposerView::Garbled
            | ComposerView::Hidden
            | ComposerView::Foreign
                if open.delivery.is_composing() && !self.guards(Safeguard::EnterOnlyWhileSeen) =>
            {
                ComposerView::Ours
            }
            sight => sight,
        }
    }

    /// What proves something of a message, in words. Whatever is proven of a text that was replaced is proven of what
    /// replaced it.
    pub(crate) fn evidence(&self, order: u64, because: ProofEvidence) -> String {
        let evidence = self.sign(order, because);
        match self.outbox.open.get(&order).and_then(|open| open.file.evidence()) {
            Some(file) => format!("{evidence}; {file}"),
            None => evidence,
        }
    }

    fn sign(&self, order: u64, because: ProofEvidence) -> String {
        let open = self.outbox.open.get(&order);
        let sign = open
            .and_then(|open| open.entered)
            .and_then(|entered| self.observer.detector().went_to_work_since(entered, self.now.steady))
            .unwrap_or("screen");
        let unseen = self.profile.book.knows_composer() && open.is_some_and(|open| open.delivery.is_blind());
        match because {
            ProofEvidence::Ledger if unseen => {
                "ledger: every byte is in the terminal, typed without seeing a composer".into()
            }
            ProofEvidence::Ledger => "ledger: every byte is in the terminal".into(),
            ProofEvidence::Composer if open.is_some_and(|open| self.shows_only_end(open)) => {
                "screen: the composer shows its end; its beginning is out of sight".into()
            }
            ProofEvidence::Composer => "screen: the composer shows it".into(),
            ProofEvidence::Reported(by) => witness_evidence(by).into(),
            ProofEvidence::WentToWork if self.is_on_command_line(order) => {
                format!("command line: it was there; {sign}: the agent went to work")
            }
            ProofEvidence::Echoed if self.is_on_command_line(order) => {
                "command line: it was there; screen: it stands among what was said".into()
            }
            ProofEvidence::WentToWork => {
                format!("screen: the composer was emptied; {sign}: the agent went to work")
            }
            ProofEvidence::Kept => format!("{KEPT}, for after its turn"),
            ProofEvidence::Steered => match self.profile.agent.preset.input.while_working {
                Some(WhileWorking::Steer) => {
                    "screen: the composer was emptied; the agent takes it into its turn".into()
                }
                _ => "screen: the composer was emptied while the agent was at work".into(),
            },
            ProofEvidence::Echoed => {
                "screen: the composer was emptied, and it stands among what was said".into()
            }
            ProofEvidence::PutBack => {
                "screen: it stands among what was said, and was put back into the composer".into()
            }
            ProofEvidence::HookTook => "hook: the agent's session-start hook took it".into(),
            ProofEvidence::PromptHookTook => "hook: the agent's prompt hook took it".into(),
            ProofEvidence::TurnBegan => format!("{sign}: a turn began that has it"),
            ProofEvidence::Emptied => "screen: the composer was emptied of the command".into(),
            ProofEvidence::LineRead => "terminal: the program has read the line".into(),
        }
    }

    fn shows_only_end(&self, open: &Open) -> bool {
        let (screen, book) = (&self.terminal.screen, &self.profile.book);
        let composer = Reader::glance(book, screen);
        composer.is_some_and(|composer| open.body.shows_only_end(screen, book, &composer))
    }

    /// A message as it stands now.
    pub(crate) fn message_view(&self, message: &Message) -> MessageView {
        let open = self.outbox.open.get(&message.seq).filter(|open| !open.message.terms.raw);
        let waits_for = open.and_then(|open| self.waits_for(open));
        MessageView { message: open.map_or_else(|| message.clone(), Open::current), waits_for }
    }

    /// A message that is under way, as it stands now.
    pub fn message(&self, id: &str) -> Option<MessageView> {
        self.outbox.find(id).map(|open| self.message_view(&open.message))
    }

    /// Why a message is not typed now.
    fn waits_for(&self, open: &Open) -> Option<&'static str> {
        if let Some(shut) = open.delivery.shut() {
            return Some(shut.as_str());
        }
        if self.outbox.holds_back(open) && open.delivery.is_waiting() {
            return Some("it is on hold; `ostler resume` lets it go on");
        }
        if open.delivery.is_kept() {
            let queued = open.delivery.is_queued_by_agent();
            return Some(if queued {
                "the agent keeps it for after its turn"
            } else {
                "no turn with it has begun"
            });
        }
        if open.delivery.is_given() {
            return self.situation().admits(Mode::WhenIdle).err().map(HoldReason::as_str);
        }
        if !open.delivery.is_waiting() {
            return None;
        }
        // Another one is to go first: what that waits for, this one does too.
        let first = self.outbox.in_hand.filter(|order| *order != open.message.seq);
        let shut = first.and_then(|order| self.outbox.shut(order));
        let shut = shut.or_else(|| self.situation().admits(open.message.terms.mode).err());
        let behind = || (first.is_some() || self.outbox.has_given()).then_some("another message goes first");
        shut.map(HoldReason::as_str).or_else(behind)
    }
}

fn shape(screen: &Screen, composer: &Composer) -> Shape {
    let mut last = String::new();
    if let Ok(row) = u16::try_from(composer.rows.end.saturating_sub(1)) {
        screen.read_row(row, &mut last);
    }
    Shape { rows: composer.rows.len(), ends_blank: !last.contains(char::is_alphanumeric) }
}
