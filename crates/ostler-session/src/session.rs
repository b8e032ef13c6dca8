//! The session: all machines, and how they hear of each other.

use std::collections::{BTreeMap, VecDeque};

use ostler_agents::Observer;
use ostler_core::continuation::{self, Continuation};
use ostler_core::judge::Judge;
use ostler_core::lifecycle::{Lifecycle, Phase};
use ostler_core::typing::Typing;
use ostler_core::{Now, Steady, Wall, detector, judge, lifecycle};
use ostler_screen::Size;

use crate::agent_calls::AgentCalls;
use crate::agent_process::AgentProcess;
use crate::carrying_on::CarryingOn;
use crate::change::Change;
use crate::conversation::Conversation;
use crate::dialogs::Dialogs;
use crate::effect::{Answer, Effect, Request};
use crate::event::{Command, Event, TerminalStatus, Ticket};
use crate::human_input::HumanInput;
use crate::interrupting::Interrupting;
use crate::journal::{Journal, Kind};
use crate::life::Life;
use crate::memory::Remembered;
use crate::note::{Deferred, Note, Then};
use crate::outbox::Outbox;
use crate::profile::AgentProfile;
use crate::saved::Saved;
use crate::stops::{Stops, StopsMemory};
use crate::terminal::Terminal;

/// One session, from what is recorded of it until it has ended.
#[derive(Debug)]
pub struct Session {
    pub(crate) id: String,
    pub(crate) created: Wall,
    /// The preset of its agent.
    pub(crate) agent: Option<String>,
    /// Process id of the program, once it ran.
    pub(crate) pid: Option<u32>,
    /// Whether programs are told that their status is understood.
    pub(crate) answer_status: bool,
    /// The moment of the event in hand.
    pub(crate) now: Now,
    pub(crate) life: Life,
    pub(crate) terminal: Terminal,
    pub(crate) observer: Observer,
    /// Since when the session has been in its state.
    pub(crate) since: Wall,
    /// What is known of the agent.
    pub(crate) profile: AgentProfile,
    /// The rules are being read; what cannot be understood without them waits.
    pub(crate) unread_rules: Option<Vec<Deferred>>,
    pub(crate) conversation: Conversation,
    pub(crate) stops: Stops,
    pub(crate) carrying_on: CarryingOn,
    pub(crate) calls: AgentCalls,
    pub(crate) dialogs: Dialogs,
    pub(crate) interrupting: Option<Interrupting>,
    pub(crate) judge: Judge,
    pub(crate) outbox: Outbox,
    pub(crate) typing: Typing,
    pub(crate) human: HumanInput,
    /// When the screen changed last.
    pub(crate) changed: Steady,
    /// Where the agent's own process is, below a program that is not it.
    pub(crate) agent_process: AgentProcess,
    /// Since when its processes cannot be seen, if they cannot.
    pub(crate) hidden_processes: Option<Steady>,
    /// The program says by a file that it is ready.
    pub(crate) ready_marked: bool,
    /// When the agent last wished for its context.
    pub(crate) wished: Option<Steady>,
    /// A question to the terminal that waits for a look at the processes: for which message, and what it said.
    pub(crate) inspected: Option<(u64, TerminalStatus)>,
    /// Those who wait for the holder's word on the terminal, until this moment.
    pub(crate) inspectors: Vec<(Steady, Ticket)>,
    viewers: BTreeMap<u64, Size>,
    pub(crate) journal: Journal<Then>,
    notes: VecDeque<Note>,
    effects: VecDeque<Effect>,
    /// Effects that come behind the commit of this step, recorded or not.
    behind: Vec<Effect>,
    #[cfg(test)]
    pub(crate) disabled: Option<crate::Safeguard>,
}

impl Session {
    /// Takes up a session from its record; `recovered` is one that an earlier daemon looked after.
    pub fn new(saved: Saved, recovered: bool, now: Now) -> Self {
        let Saved {
            id,
            created,
            agent,
            size,
            pid,
            stop_requested,
            memory,
            answer_status,
            zone,
            screen,
            messages,
        } = saved;
        let profile = AgentProfile::default();
        let remembered = memory.as_deref().and_then(Remembered::read);
        let calls = remembered.as_ref().map(|remembered| remembered.calls.clone()).unwrap_or_default();
        let answers = remembered.as_ref().map_or(0, |remembered| remembered.answers);
        let (since, memory, conversation, stops, carrying_on) = match remembered.map(Remembered::into_parts) {
            Some(parts) => parts,
            None => (created, None, Conversation::default(), StopsMemory::default(), Continuation::default()),
        };
        let AgentProfile { book, settings, expectations, .. } = &profile;
        let observer = Observer::new(book.clone(), *settings, *expectations, memory, now.steady);
        let terminal = if recovered { Terminal::recovered(screen, size) } else { Terminal::new(size) };
        let mut session = Self {
            id,
            created,
            agent,
            pid,
            answer_status,
            now,
            life: Life::new(Lifecycle::recorded(stop_requested), recovered.then_some(now.steady)),
            terminal,
            observer,
            since,
            profile,
            unread_rules: Some(Vec::new()),
            conversation,
            stops: Stops::new(&stops, zone, now),
            carrying_on: CarryingOn::new(carrying_on),
            calls,
            dialogs: Dialogs::recovered(answers),
            interrupting: None,
            judge: Judge::new(judge::Settings::default()),
            outbox: Outbox::default(),
            typing: Typing::default(),
            human: HumanInput::default(),
            changed: Steady(0),
            agent_process: AgentProcess::default(),
            hidden_processes: None,
            ready_marked: false,
            wished: None,
            inspected: None,
            inspectors: Vec::new(),
            viewers: BTreeMap::new(),
            journal: Journal::default(),
            notes: VecDeque::new(),
            effects: VecDeque::from([Effect::LoadRules, Effect::StopsChanged]),
            behind: Vec::new(),
            #[cfg(test)]
            disabled: None,
        };
        session.outbox.held_back = session.carrying_on.machine.is_held();
        session.load_messages(messages, recovered);
        session
    }

    /// Takes in what happened. What follows from it is given by [`Session::poll`].
    pub fn handle(&mut self, event: Event<'_>, now: Now) {
        self.now = now;
        match event {
            Event::Launched => {
                self.note(Note::Life(lifecycle::Event::Launched));
                if self.carrying_on.machine.is_on() {
                    self.note(Note::CarryOn(continuation::Event::Restarted));
                    self.push(Effect::Examine { question: 0, checks: Vec::new() });
                }
            }
            Event::Recovered => {
                self.note(Note::Life(lifecycle::Event::Recovered));
                self.note(Note::CarryOn(continuation::Event::Restarted));
            }
            Event::SpoolHeard => self.on_spool_heard(),
            Event::Committed => {
                for then in self.journal.committed() {
                    self.follow(then);
                }
            }
            Event::NotCommitted => {
                for then in self.journal.refused(now.steady) {
                    self.follow(then);
                }
                if self.life.is_ended() {
                    self.push(Effect::AnswerStoppers);
                }
            }
            Event::Connected { status, abilities } => self.on_connect(&status, abilities),
            Event::Disconnected(evidence) => self.on_disconnect(evidence),
            Event::Output { offset, bytes } => self.on_output(offset, bytes),
            Event::Gap { from, resumed, modes } => {
                self.push(Effect::Log(crate::Log::Warning(format!(
                    "output from {from} to {resumed} was lost"
                ))));
                self.terminal.gap(from, resumed, &modes);
                self.note(Note::Detect(detector::Event::Lost));
            }
            Event::InputAnswered(answer) => {
                let actions = self.typing.answered(answer, now.steady);
                self.note(Note::Typing(actions));
            }
            Event::Inspected(status) => self.on_inspected(status),
            Event::Exited(exit) => self.on_exit(exit),
            Event::Remains { exit, output } => self.on_remains(exit, output),
            Event::RulesChanged => {
                self.unread_rules.get_or_insert_default();
                self.push(Effect::LoadRules);
            }
            Event::Rules(profile) => self.on_rules(profile),
            Event::Transcript(batch) => self.on_transcript(batch),
            Event::TranscriptProblem(problem) => self.conversation.problem = Some(problem),
            Event::ReadyMarked => {
                self.ready_marked = true;
                self.note(Note::Deliver);
            }
            Event::Hook(report) => self.on_hook(report),
            Event::HookPrinted { orders, again, taken } => self.on_hook_printed(&orders, again, taken),
            Event::Escalated { id, in_file, tell } => self.on_escalated(&id, in_file, tell),
            Event::AgentCalled(call) => self.on_agent_call(call),
            Event::Judge(event) => self.note(Note::Judge(event)),
            Event::Sampled(sample) => self.on_sample(sample),
            Event::AgentFound(pid) => self.on_agent_found(pid),
            Event::AgentEnded => self.find_agent(),
            Event::KeyDriven(taken) => self.on_key_driven(taken),
            Event::Grants(grants) => {
                self.dialogs.grants = grants;
                self.note(Note::LookAtDialog);
            }
            Event::BodyStored { order, stored } => self.on_body_stored(order, stored),
            Event::ContextGathered(text) => self.on_context(text),
            Event::Examined(examination) => self.on_examined(examination),
            Event::Command(command) => self.on_command(command),
            Event::Tick => self.on_tick(),
        }
        self.settle();
    }

    /// The next thing to do, if there is one.
    pub fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Lets the machines hear of each other until none has anything to say, then records what is to be recorded.
    fn settle(&mut self) {
        while let Some(note) = self.notes.pop_front() {
            // What follows from a note is heard before the next one.
            let rest = std::mem::take(&mut self.notes);
            self.on_note(note);
            self.notes.extend(rest);
        }
        if let Some(changes) = self.journal.offer(self.now.steady) {
            self.effects.push_back(Effect::Commit { changes, at: self.now.wall });
        }
        self.effects.extend(self.behind.drain(..));
    }

    fn on_note(&mut self, note: Note) {
        match note {
            Note::Detect(event) => self.detect(event),
            Note::Detected { actions, before } => self.on_detected(&actions, before),
            Note::Life(event) => self.on_lifecycle(event),
            Note::LookAtDialog => {
                self.look_at_dialog();
                self.look_at_interrupt();
            }
            Note::ReadAgentSpeech => self.read_agent_speech(),
            Note::Deliver => self.deliver(),
            Note::Delivery(order, event) => {
                self.step_delivery(order, event);
                self.type_others();
            }
            Note::Typing(actions) => self.perform_typing(actions),
            Note::Settled(seq, settled) => self.on_settled(seq, settled),
            Note::UpdateJudge => self.update_judge(),
            Note::Judge(event) => self.on_judge(event),
            Note::PromptTaken(by, text) => self.on_prompt_taken(by, text.as_deref()),
            Note::AgentText(text) => self.on_agent_text(&text),
            Note::Inspected(status) => self.on_inspected(status),
            Note::CarryOn(event) => self.carry_on(event),
            Note::Finish => self.finish(),
        }
    }

    fn follow(&mut self, then: Then) {
        match then {
            Then::Do(effect) => self.push(effect),
            Then::Tell(message) => self.notify_waiters(&message),
            Then::Opened { open, queued, waiter } => self.on_opened(*open, queued, waiter),
            Then::Revived { open, ticket } => self.on_revived(*open, ticket),
            Then::Cancelled { order, ticket } => self.on_cancelled(order, ticket),
            Then::Dropped { message, ticket } => self.on_dropped(&message, ticket),
            Then::Stepped(stepped) => self.on_stepped(*stepped),
            Then::NotAnswered(ticket) => self.on_not_answered(ticket),
            Then::AnswerByHand(by_hand) => self.answer_by_hand(*by_hand),
            Then::NotStepped { order } => self.on_not_stepped(order),
            Then::Refuse(tickets, refusal) => self.refuse(tickets, &refusal),
            Then::Ended => self.on_end_recorded(),
        }
    }

    /// Tells another machine something.
    pub(crate) fn note(&mut self, note: Note) {
        // The same look twice in a row shows the same.
        let repeats = matches!(
            (self.notes.back(), &note),
            (Some(Note::Deliver), Note::Deliver)
                | (Some(Note::UpdateJudge), Note::UpdateJudge)
                | (Some(Note::LookAtDialog), Note::LookAtDialog)
        );
        if !repeats {
            self.notes.push_back(note);
        }
    }

    /// Has something done now, before what is to be recorded in this step.
    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    /// Has something done behind the commit of this step, whether or not the store takes it.
    pub(crate) fn push_behind(&mut self, effect: Effect) {
        self.behind.push(effect);
    }

    pub(crate) fn request(&mut self, request: Request) {
        if self.life.connected {
            self.push(Effect::Request(request));
        }
    }

    /// Records something that happened.
    pub(crate) fn record(&mut self, change: Change) {
        self.journal.add(Kind::Fact, change, Vec::new());
    }

    /// Records something that happened, which nobody waits for.
    pub(crate) fn record_lazily(&mut self, change: Change) {
        self.journal.add(Kind::LazyFact, change, Vec::new());
    }

    /// Records something that is good to know.
    pub(crate) fn record_note(&mut self, change: Change) {
        self.journal.add(Kind::Note, change, Vec::new());
    }

    /// Records something that happened, and what follows then.
    pub(crate) fn record_then(&mut self, change: Change, then: Vec<Then>) {
        self.journal.add(Kind::Fact, change, then);
    }

    /// Records what is about to be done, and what follows then or otherwise.
    pub(crate) fn intend(&mut self, changes: Vec<Change>, then: Then, otherwise: Option<Then>) {
        self.journal.intend(changes, then, otherwise);
    }

    /// Whether the store refused something that it has yet to take: nothing is begun meanwhile.
    pub(crate) fn is_store_stuck(&self) -> bool {
        self.journal.is_stuck()
    }

    pub(crate) fn is_recorded(&self) -> bool {
        self.journal.is_empty()
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Send(send) => self.on_send(*send),
            Command::Await { stored, wants, ticket } => self.on_await(*stored, wants, ticket),
            Command::Retry { stored, body, ticket } => self.on_retry(*stored, &body, ticket),
            Command::Drop { stored, ticket } => self.on_drop(*stored, ticket),
            Command::Acknowledge { stored, ticket } => self.on_acknowledge(*stored, ticket),
            Command::Keys(bytes) => self.on_keys(&bytes),
            Command::Viewer { viewer, size } => {
                self.viewers.insert(viewer, size);
                self.fit_viewers();
            }
            Command::ViewerGone { viewer } => {
                self.viewers.remove(&viewer);
                self.fit_viewers();
            }
            Command::Inspect(ticket) if self.life.connected && self.life.abilities.terminal => {
                self.inspectors.push((self.now.steady.plus(INSPECTION), ticket));
                self.request(Request::Inspect);
            }
            Command::Inspect(ticket) => self.push(Effect::Answer(ticket, Answer::Terminal(None))),
            Command::SetPatience(patience) => self.set_patience(patience),
            Command::CarryOn(event) => self.on_carry_on(event),
            Command::AnswerDialog(command) => self.on_answer(command),
            Command::Interrupt { patience, ticket } => self.on_interrupt(patience, ticket),
            Command::Stop { grace_ms } => self.on_stop(grace_ms),
            Command::Park => self.save_screen(),
        }
    }

    /// The terminal is as large as the smallest terminal of those who type in it.
    fn fit_viewers(&mut self) {
        let smaller = |a: Size, b: Size| Size::clamped(a.cols.min(b.cols), a.rows.min(b.rows));
        let Some(size) = self.viewers.values().copied().reduce(smaller) else { return };
        if size == self.terminal.screen.size() {
            return;
        }
        self.record_note(Change::Resized { cols: size.cols, rows: size.rows });
        self.request(Request::Resize { cols: size.cols, rows: size.rows });
        self.resize(size);
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.terminal.screen.resize(size);
        self.push(Effect::Size(size));
    }

    /// Answers all who asked for the terminal's settings, with what the holder said of them.
    pub(crate) fn answer_inspectors(&mut self, status: Option<TerminalStatus>) {
        for (_, ticket) in std::mem::take(&mut self.inspectors) {
            self.push(Effect::Answer(ticket, Answer::Terminal(status)));
        }
    }

    pub(crate) fn save_screen_if_due(&mut self) {
        if self.terminal.save_due().is_some_and(|at| self.now.steady >= at) {
            self.save_screen();
        }
    }

    fn save_screen(&mut self) {
        self.terminal.note_saved(self.now.steady);
        self.push(Effect::SaveScreen);
    }

    /// Whether the agent is watched: the old output is on the screen, and the rules are known.
    pub(crate) fn watches(&self) -> bool {
        !self.terminal.is_catching_up() && self.unread_rules.is_none()
    }

    pub(crate) fn is_attached(&self) -> bool {
        matches!(self.life.lifecycle.phase(), Phase::Attached)
    }

    /// Whether a safeguard is in force: always, but in tests that show what it is for.
    #[cfg(test)]
    pub(crate) fn guards(&self, safeguard: crate::Safeguard) -> bool {
        self.disabled != Some(safeguard)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests switch safeguards off")]
    pub(crate) fn guards(&self, _: crate::Safeguard) -> bool {
        true
    }
}

/// How long a holder may take to tell about its terminal.
const INSPECTION: std::time::Duration = std::time::Duration::from_secs(1);
