//! Everything around a session, in virtual time.

mod daemon;
mod people;
mod terminal;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use ostler_agents::{Agent as Preset, Layer, Registry};
use ostler_core::detector::{ProcessSample, Settings};
use ostler_core::message::{Message, MessageState};
use ostler_core::stop_analysis::Checked;
use ostler_core::{Now, Proof, Steady, Wall, continuation, interrupt, typing};
use ostler_screen::SafeText;
use ostler_testkit::stand_in::{PRESET, Record};

use super::agent::Agent;
use super::holder::Holder;
use super::plan::{LONG, Plan, Sent};
use super::store::Store;
use crate::effect::Lane;
use crate::event::{Abilities, Command, Event, StoredBody, TerminalStatus, Ticket};
use crate::profile::{AgentProfile, Policies};
use crate::{Change, Examination, Safeguard, Session};

/// The size of the terminal.
const SIZE: (u16, u16) = (64, 22);
/// When the wall clock stands at the beginning.
pub(super) const NOON: u64 = 1_800_000_000_000;
/// The bad part of the day; after it everything heals.
const BAD: u64 = 25_000;
/// A dialog that the session has had on its screen for this long is one that it knows.
const KNOWN: u64 = 400;
/// A state that is wrong for no longer than this is late, not wrong.
const LATE: u64 = 2_500;

/// Something that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sabotage {
    /// One of the session's safeguards is off.
    Session(Safeguard),
    /// The holder types what it has typed before.
    LedgerForgets,
    /// The store says that a commit is done before it is.
    CommitsAreLate,
    /// A daemon that takes over does not know what was typed.
    WritesAreForgotten,
}

/// Something that is going to happen.
#[derive(Debug)]
enum Happening {
    Agent,
    Send(usize),
    CarryOn(continuation::Event),
    Keys(usize),
    /// The person looks whether there is a dialog to answer.
    Person,
    /// Somebody wants the turn stopped.
    Interrupt,
    /// Somebody answers the dialog that they see.
    AnswerDialog(&'static str),
    Break,
    Jump(i64),
    Heal,
    Restart,
    Tick,
    Output,
    /// The session is handed what hooks reported while there was no daemon.
    Spool,
    Arrive(Arrival),
    Hook {
        event: &'static str,
        text: String,
    },
    /// Input of a daemon that was killed a moment ago reaches the holder.
    Stray {
        lane: Lane,
        epoch: u64,
        seq: u64,
        bytes: Vec<u8>,
        sent: u64,
    },
}

/// Something that reaches the session, unless its daemon is another by then.
#[derive(Debug, Clone, Copy)]
enum Arrival {
    Connected(TerminalStatus),
    NoConnection,
    Answered(typing::Answer),
    Inspected(TerminalStatus),
    Exited,
    Rules,
    Sampled,
    AgentFound,
    KeyDriven,
    BodyStored(u64),
    Context,
    Examined(u64),
}

/// What somebody was told of a message.
#[derive(Debug, Clone)]
pub(super) struct Promised {
    pub(super) at: u64,
    pub(super) id: String,
    pub(super) proof: Proof,
    pub(super) state: MessageState,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) sabotage: Option<Sabotage>,
    rng: fastrand::Rng,
    now: u64,
    wall_offset: i64,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    happenings: HashMap<usize, (u64, Happening)>,
    count: usize,
    pub(super) agent: Agent,
    pub(super) holder: Holder,
    pub(super) store: Store,
    /// Commits that the store has promised and not made.
    promised: Vec<(Vec<Change>, Wall)>,
    session: Option<Session>,
    /// It has ended, and its actor has left.
    over: bool,
    /// Number of the daemon; what is on its way to an earlier one is lost.
    daemon: u64,
    /// Output up to here was handed to the session, while it is subscribed.
    subscribed: Option<u64>,
    saved_screen: Option<(Vec<u8>, u64)>,
    pub(super) abilities: Abilities,
    /// While a connection is broken, more is written than the holder keeps.
    pub(super) loses_output: bool,
    effects: u64,
    kills: std::vec::IntoIter<u64>,
    kill_at: Option<u64>,
    /// When a daemon was killed last.
    killed_at: u64,
    healed: bool,
    tickets: HashMap<Ticket, String>,
    last_ticket: u64,
    /// Hook reports that found no daemon.
    spool: Vec<(&'static str, String, Wall)>,
    /// Reports that a daemon has taken and not heard: the next one finds them.
    claims: BTreeMap<Ticket, (&'static str, String, Wall)>,
    seen_log: usize,
    /// What the agent has in its queue.
    kept: VecDeque<String>,
    /// The turn that begins next is one of a prompt that was just entered.
    entered: bool,
    pub(super) told: Vec<Promised>,
    /// Since when there is a dialog on the agent's screen that the session knows of.
    dialog_since: Option<u64>,
    /// Since when the agent works and the session can see it.
    working_since: Option<u64>,
    said_idle: bool,
    wrong_since: Option<u64>,
    pub(super) complaints: Vec<String>,
    tale: Vec<String>,
    answered_at: Option<u64>,
    /// When which messages went into the instructions file, and when what was there went out of it for them.
    pub(super) escalated: Vec<(u64, String)>,
    pub(super) withdrawn: Vec<(u64, String)>,
    /// When what was printed by hooks.
    pub(super) printed: Vec<(u64, String)>,
    /// When what was typed for messages.
    pub(super) writes: Vec<(u64, String)>,
    /// What became of answers to dialogs: why one is not known to be answered, and whether it was pressed.
    pub(super) answers: Vec<(Option<&'static str>, bool)>,
    /// The dialog that somebody answered first.
    first_dialog: Option<String>,
    /// What became of interrupts.
    pub(super) interrupted: Vec<interrupt::Outcome>,
    /// When what people typed reached the terminal.
    pub(super) keys_typed: Vec<(u64, String)>,
    /// How often the checks were run.
    examined: u32,
    /// When the session was told to do nothing automatic, and when to go on.
    pub(super) held: Vec<(u64, bool)>,
}

/// How its permission dialogs are answered.
const ANSWER: &str = r"
[rules.permission.answer]
accept = 'Yes$'
decline = 'No$'
selected = '^ ❯ '
";
const HOOKS: &str = r#"
[hooks]
file = "hooks.json"
[hooks.events]
Start = { fact = "session_started", context = "{text}", anew = { "/source" = ["clear"] } }
Prompt = { fact = "prompt_submitted", text = "/prompt", context = "{text}" }
Stop = { fact = "turn_ended" }
"#;

/// What is known of the stand-in, with hooks or without.
fn profile(hooks: bool, policy: ostler_core::dialog::Policy) -> AgentProfile {
    static KNOWN: OnceLock<[AgentProfile; 2]> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        ["", HOOKS].map(|hooks| {
            let (agent, file) = ("standin".into(), "standin.toml".into());
            let registry = Registry::new(&[Layer { agent, file, text: format!("{PRESET}{ANSWER}{hooks}") }]);
            assert_eq!(registry.problems(), []);
            let agent: Arc<Preset> = registry.get("standin").unwrap().clone();
            AgentProfile {
                book: Arc::new(registry.rulebook(&agent, None).unwrap()),
                settings: ostler_agents::settings_for(&agent, Settings::default()),
                expectations: agent.expectations(None),
                agent,
                ..AgentProfile::default()
            }
        })
    });
    let policies = Policies { permission: policy, trust: policy, dialog: policy, ..Policies::default() };
    AgentProfile { policy: Arc::new(policies), ..known[usize::from(hooks)].clone() }
}

impl World {
    pub(super) fn new(plan: Plan, sabotage: Option<Sabotage>) -> Self {
        let rng = fastrand::Rng::with_seed(plan.seed ^ 0x5eed);
        let agent = Agent::new(&plan, SIZE, 0);
        let mut holder = Holder::default();
        holder.size = SIZE;
        holder.forgets = sabotage == Some(Sabotage::LedgerForgets);
        let mut kills = plan.kills.clone().into_iter();
        let kill_at = kills.next();
        let mut world = Self {
            rng,
            sabotage,
            now: 0,
            wall_offset: 0,
            queue: BinaryHeap::new(),
            happenings: HashMap::new(),
            count: 0,
            agent,
            holder,
            store: Store::default(),
            promised: Vec::new(),
            session: None,
            over: false,
            daemon: 0,
            subscribed: None,
            saved_screen: None,
            abilities: Abilities { keys: true, terminal: true },
            loses_output: false,
            effects: 0,
            kills,
            kill_at,
            killed_at: 0,
            healed: false,
            tickets: HashMap::new(),
            last_ticket: 0,
            spool: Vec::new(),
            claims: BTreeMap::new(),
            seen_log: 0,
            kept: VecDeque::new(),
            entered: false,
            told: Vec::new(),
            dialog_since: None,
            working_since: None,
            said_idle: false,
            wrong_since: None,
            complaints: Vec::new(),
            tale: Vec::new(),
            answered_at: None,
            escalated: Vec::new(),
            withdrawn: Vec::new(),
            printed: Vec::new(),
            writes: Vec::new(),
            answers: Vec::new(),
            first_dialog: None,
            interrupted: Vec::new(),
            keys_typed: Vec::new(),
            examined: 0,
            held: Vec::new(),
            plan,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for at in 0..self.plan.sends.len() {
            self.schedule(self.plan.sends[at].at, Happening::Send(at));
        }
        if let Some((at, _)) = self.plan.keys.first() {
            self.schedule(*at, Happening::Keys(0));
        }
        for at in self.plan.breaks.clone() {
            self.schedule(at, Happening::Break);
        }
        for (at, by) in self.plan.clock_jumps.clone() {
            self.schedule(at, Happening::Jump(by));
        }
        if let Some((at, terms)) = self.plan.carried_on.clone() {
            self.schedule(at, Happening::CarryOn(continuation::Event::Began(terms)));
            self.schedule(at + 1, Happening::CarryOn(continuation::Event::Requested));
        }
        for (at, held) in self.plan.holds.clone() {
            self.schedule(at, Happening::CarryOn(continuation::Event::Held(held)));
        }
        for (at, source) in self.plan.starts.clone() {
            self.schedule(at, Happening::Hook { event: "Start", text: source.into() });
        }
        for (at, word) in self.plan.answers.clone() {
            self.schedule(at, Happening::AnswerDialog(word));
        }
        for at in self.plan.interrupts.clone() {
            self.schedule(at, Happening::Interrupt);
        }
        self.schedule(BAD, Happening::Heal);
        self.schedule(500, Happening::Person);
        let output = self.agent.start(0);
        self.emit(&output);
        self.start_daemon(false);
        self.schedule_agent();
    }

    fn now(&self) -> Now {
        let wall = (NOON + self.now).saturating_add_signed(self.wall_offset);
        Now { wall: Wall(wall), steady: Steady(self.now + 1_000) }
    }

    fn schedule(&mut self, at: u64, happening: Happening) {
        self.count += 1;
        self.happenings.insert(self.count, (self.daemon, happening));
        self.queue.push(Reverse((at.max(self.now), self.count as u64, self.count)));
    }

    fn soon(&mut self, within: u64, happening: Happening) {
        let at = self.now + self.rng.u64(0..=within);
        self.schedule(at, happening);
    }

    fn arrive(&mut self, within: u64, arrival: Arrival) {
        self.soon(within, Happening::Arrive(arrival));
    }

    pub(super) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Plays the day until every message has come to an end, or it is over.
    pub(super) fn run(&mut self) {
        let mut same = 0;
        while let Some(Reverse((at, _, number))) = self.queue.pop() {
            if at > self.plan.day || (self.healed && self.is_settled()) {
                break;
            }
            // Time stands still where a session asks again and again for a moment that has passed.
            same = if at == self.now { same + 1 } else { 0 };
            assert!(same < 50_000, "{}", self.story(&["it never comes to rest".into()]));
            self.now = at;
            let Some((daemon, happening)) = self.happenings.remove(&number) else { continue };
            self.happen(daemon, happening);
            self.watch();
        }
    }

    fn is_settled(&self) -> bool {
        if self.plan.carried_on.is_some() {
            // Who waits for a limit, or for its next prompt, does so all day.
            return self.store.ending.is_some();
        }
        let known = |sent: &Sent| {
            self.store.message(&sent.id).is_some_and(|(message, _)| message.state != MessageState::Queued)
        };
        let told = |(message, _): &(Message, Vec<u8>)| {
            message.terms.sender != crate::NOTICE || message.state != MessageState::Queued
        };
        let known = self.plan.sends.iter().all(known) && self.store.messages.iter().all(told);
        let done = known && !self.agent.is_working() && self.now > BAD + 6_000;
        done && self.knows_of_stop() || self.store.ending.is_some()
    }

    /// Whether the session has said that its agent has stopped, where it has.
    pub(super) fn knows_of_stop(&self) -> bool {
        let Some(session) = &self.session else { return false };
        let found = session.stops();
        let taken = self.agent.log.iter().rev().find_map(|(at, record)| match record {
            Record::Submitted { text, .. } => Some((*at, text.trim_end())),
            _ => None,
        });
        // What a person typed is remembered with the next state: a daemon that is killed before takes it along.
        let entered = self.keys_typed.iter().rev().find(|(_, keys)| keys == "\r").map(|(at, _)| *at);
        let is_known = |(at, text): (u64, &str)| {
            at > self.killed_at && entered.is_none_or(|entered| entered > at || entered > self.killed_at)
                || self.plan.sends.iter().any(|sent| text.ends_with(sent.body.trim_end()))
        };
        if self.agent.ended.is_some() {
            found.end.is_some()
        } else if self.agent.dialog().is_some() {
            found.dialog.is_some()
        } else {
            !taken.is_some_and(is_known) || found.turn.is_some()
        }
    }

    fn happen(&mut self, daemon: u64, happening: Happening) {
        match happening {
            Happening::Agent => self.wake_agent(),
            Happening::Send(at) => self.send(at),
            Happening::Keys(at) => {
                // Nobody can type while there is no daemon to type through.
                if self.session.as_ref().is_none_or(|session| !session.listens()) {
                    return self.schedule(self.now + 300, Happening::Keys(at));
                }
                let (then, keys) = self.plan.keys[at].clone();
                self.narrate(format!("a person types {keys:?}"));
                self.hand(Event::Command(Command::Keys(keys.into_bytes())));
                if let Some((next, _)) = self.plan.keys.get(at + 1) {
                    self.schedule(self.now + next - then, Happening::Keys(at + 1));
                }
            }
            Happening::CarryOn(event) => {
                if self.session.as_ref().is_none_or(|session| !session.listens()) {
                    return self.schedule(self.now + 300, Happening::CarryOn(event));
                }
                self.narrate(format!("{event:?}"));
                self.hand(Event::Command(Command::CarryOn(event.clone())));
                if self.session.is_none() {
                    // A client whose daemon dies asks again.
                    return self.schedule(self.now + 300, Happening::CarryOn(event));
                }
                if let continuation::Event::Held(held) = event {
                    self.held.push((self.now, held));
                }
            }
            Happening::Person => self.person(),
            Happening::Interrupt => self.interrupt(),
            Happening::AnswerDialog(word) => self.answer_dialog(word),
            Happening::Break => self.break_connection(),
            Happening::Jump(by) => {
                self.narrate(format!("the clock is set by {by} ms"));
                self.wall_offset += by;
            }
            Happening::Heal => self.heal(),
            Happening::Restart => self.start_daemon(true),
            Happening::Stray { lane, epoch, seq, bytes, sent } => {
                _ = self.type_input(lane, epoch, seq, &bytes, sent);
            }
            Happening::Hook { event, text } => self.report(event, text),
            Happening::Tick if daemon == self.daemon => {
                let due = self.session.as_ref().and_then(Session::deadline);
                if due.is_some_and(|due| due <= self.now().steady) {
                    self.hand(Event::Tick);
                }
            }
            Happening::Output if daemon == self.daemon => self.pass_output(),
            Happening::Spool if daemon == self.daemon => self.hear_spool(),
            Happening::Arrive(arrival) if daemon == self.daemon => self.on_arrival(arrival),
            Happening::Tick | Happening::Output | Happening::Spool | Happening::Arrive(_) => {}
        }
    }

    fn on_arrival(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Connected(status) => {
                let abilities = self.abilities;
                self.hand(Event::Connected { status, abilities });
            }
            Arrival::NoConnection => {
                self.subscribed = None;
                let evidence = self.evidence();
                self.hand(Event::Disconnected(evidence));
            }
            Arrival::Answered(answer) => self.hand(Event::InputAnswered(answer)),
            Arrival::Inspected(status) => self.hand(Event::Inspected(status)),
            Arrival::Exited => {
                if let Some(exit) = self.exit() {
                    self.hand(Event::Exited(exit));
                }
            }
            Arrival::Rules => {
                let profile = profile(self.plan.hooks.is_some(), self.plan.policy);
                self.hand(Event::Rules(Some(Box::new(profile))));
            }
            Arrival::Sampled => {
                let reads_terminal = !self.agent.is_working();
                let sample = ProcessSample { reads_terminal, ..ProcessSample::default() };
                self.hand(Event::Sampled(Some(sample)));
            }
            Arrival::AgentFound => self.hand(Event::AgentFound(None)),
            Arrival::KeyDriven => self.hand(Event::KeyDriven(false)),
            Arrival::BodyStored(order) => {
                let line = SafeText::new("Read the file and do what it says.");
                let stored = Ok(StoredBody { path: "/messages/m.md".into(), line });
                self.hand(Event::BodyStored { order, stored });
            }
            Arrival::Examined(question) => {
                self.examined += 1;
                let passed = u32::from(self.plan.passes > 0 && self.examined >= self.plan.passes);
                let checks = Some(Checked { passed, failed: 1 - passed });
                // The same complaint again and again would soon be no progress.
                let failures = vec!["x".repeat(self.examined as usize); 1 - passed as usize];
                let changed = Some(self.rng.bool());
                let examination =
                    Examination { question, checks, failures, changed, ..Examination::default() };
                self.hand(Event::Examined(examination));
            }
            Arrival::Context => self.hand(Event::ContextGathered("Nothing is known.".into())),
        }
    }

    fn heal(&mut self) {
        self.narrate("everything heals");
        self.healed = true;
        self.agent.heal();
        self.schedule_agent();
    }

    /// Holds what the session says against what the agent does.
    fn watch(&mut self) {
        let current = self.subscribed == Some(self.holder.written());
        match (self.agent.dialog(), self.dialog_since) {
            (Some(_), None) if current => self.dialog_since = Some(self.now),
            (None, Some(_)) => self.dialog_since = None,
            _ => {}
        }
        let stalled = self.now < self.agent.stalled_until;
        match (self.agent.is_working(), self.working_since) {
            (true, None) if current => self.working_since = Some(self.now),
            (false, Some(_)) => self.working_since = None,
            _ => {}
        }
        let wrong = self.said_idle && self.agent.is_working() && current && !stalled;
        let attached =
            self.session.as_ref().is_some_and(|session| session.is_observed() && session.watches());
        if !(wrong && attached) {
            self.wrong_since = None;
        } else if *self.wrong_since.get_or_insert(self.now) + LATE < self.now {
            self.complaints.push("it says idle, and the agent works".into());
            self.wrong_since = None;
            self.said_idle = false;
        }
    }

    fn narrate(&mut self, text: impl AsRef<str>) {
        self.tale.push(format!("{:>7}  {}", self.now, text.as_ref()));
    }

    /// What happened, in lines.
    pub(super) fn story(&self, complaints: &[String]) -> String {
        let mut story = format!("seed {}: {}\n", self.plan.seed, complaints.join("; "));
        let _ = writeln!(story, "agent: {}", self.plan.agent.join(" "));
        for line in &self.tale {
            let _ = writeln!(story, "{line}");
        }
        if let Some(session) = &self.session {
            let _ =
                writeln!(story, "in the end: {:?}, with {} waiting", session.described(), session.waiting());
            let _ = writeln!(story, "  {:?}", session.stops());
            for view in self.plan.sends.iter().filter_map(|sent| session.message(&sent.id)) {
                let _ = writeln!(story, "  {} waits for {:?}", view.message.id, view.waits_for);
            }
            if !complaints.is_empty() {
                let _ = writeln!(story, "{}", session.screen().text());
            }
        }
        story
    }
}
