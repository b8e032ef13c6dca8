//! What happens on a bad day, drawn from a seed.

use ostler_core::delivery::Mode;
use ostler_core::dialog::Policy;
use ostler_core::message::Terms;
use ostler_core::queue::Priority;
use ostler_core::{Proof, continuation};

use clap::ValueEnum as _;
use ostler_testkit::stand_in::Damage;

use crate::event::Grants;

/// What an empty composer suggests, and a bare Enter submits.
pub(super) const GHOST: &str = "run-the-tests";
/// The end of a day.
pub(super) const DAY: u64 = 400_000;
/// The longest stall of an agent.
pub(super) const LONG: u64 = 12_000;

/// A day.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    /// Arguments of the stand-in.
    pub(super) agent: Vec<String>,
    /// What becomes of what is pasted.
    pub(super) damage: Option<Damage>,
    pub(super) sends: Vec<Sent>,
    /// How much proof senders wait for; without it, one of the levels each.
    pub(super) wants: Option<Proof>,
    /// What people type, and when.
    pub(super) keys: Vec<(u64, String)>,
    /// How long a person takes to answer a dialog.
    pub(super) answers_after: u64,
    /// The daemon dies when it has performed so many effects since it started, one after the other.
    pub(super) kills: Vec<u64>,
    /// The store refuses from here to there.
    pub(super) store_trouble: Vec<(u64, u64)>,
    /// The agent neither reads nor draws from here to there.
    pub(super) stalls: Vec<(u64, u64)>,
    /// After which of its reads the agent stalls, and for how long, before it looks at what it has read.
    pub(super) read_stalls: Vec<(u64, u64)>,
    /// A stalled agent takes what is typed out of its terminal.
    pub(super) reads_ahead: bool,
    /// The connection to the holder breaks.
    pub(super) breaks: Vec<u64>,
    /// Somebody sets the clock.
    pub(super) clock_jumps: Vec<(u64, i64)>,
    pub(super) hooks: Option<Hooks>,
    /// When the agent's session-start hook runs, and why.
    pub(super) starts: Vec<(u64, &'static str)>,
    pub(super) policy: Policy,
    pub(super) grants: Grants,
    /// From when on and how far the agent is carried on.
    pub(super) carried_on: Option<(u64, continuation::Terms)>,
    /// Its checks pass when they are run the so manieth time; never, if that is 0.
    pub(super) passes: u32,
    /// When it is held, and when that ends.
    pub(super) holds: Vec<(u64, bool)>,
    /// The end of the day, where nothing ends it sooner.
    pub(super) day: u64,
    /// When somebody wants the turn stopped.
    pub(super) interrupts: Vec<u64>,
    /// When somebody answers the dialog that they see then, and how; behind a `=`, the one that they saw first.
    pub(super) answers: Vec<(u64, &'static str)>,
}

/// How an agent's hooks behave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hooks {
    /// So many of a hundred are lost.
    pub(super) lost: u64,
    /// So many of a hundred come twice.
    pub(super) doubled: u64,
    /// They are this late at most.
    pub(super) late: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) at: u64,
    pub(super) id: String,
    pub(super) body: String,
    pub(super) terms: Terms,
}

impl Plan {
    /// A day on which nothing goes wrong, with one message.
    pub(super) fn quiet() -> Self {
        let terms = Terms { sender: "tester".into(), ..Terms::default() };
        let sent = Sent { at: 2_000, id: "m0".into(), body: "please look at it".into(), terms };
        Self {
            seed: 0,
            agent: Vec::new(),
            damage: None,
            sends: vec![sent],
            wants: Some(Proof::Submitted),
            keys: Vec::new(),
            answers_after: 0,
            kills: Vec::new(),
            store_trouble: Vec::new(),
            stalls: Vec::new(),
            read_stalls: Vec::new(),
            reads_ahead: false,
            breaks: Vec::new(),
            clock_jumps: Vec::new(),
            hooks: None,
            starts: Vec::new(),
            policy: Policy::Ask,
            grants: Grants::default(),
            carried_on: None,
            passes: 0,
            holds: Vec::new(),
            day: DAY,
            interrupts: Vec::new(),
            answers: Vec::new(),
        }
    }

    pub(super) fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut agent: Vec<String> = vec!["--word-pace".into(), "200".into()];
        let mut flag = |rng: &mut fastrand::Rng, one_in: u64, text: String| {
            if rng.u64(0..one_in) == 0 {
                agent.extend(text.split(' ').map(str::to_owned));
                return true;
            }
            false
        };
        let ready_after = rng.u64(0..1500);
        flag(&mut rng, 3, format!("--ready-after {ready_after}"));
        let slow = rng.u64(50..700);
        let slow_echo = flag(&mut rng, 4, format!("--slow-echo {slow}"));
        let swallowed = rng.u64(1..4);
        flag(&mut rng, 5, format!("--swallow-enter {swallowed}"));
        flag(&mut rng, 3, "--ignore-quietly".into());
        flag(&mut rng, 4, "--collapse-pastes 220".into());
        let burst = rng.u64(20..140);
        flag(&mut rng, 5, format!("--paste-burst {burst}"));
        flag(&mut rng, 3, format!("--ghost={GHOST}"));
        flag(&mut rng, 6, "--history-echo".into());
        flag(&mut rng, 6, "--trust-dialog".into());
        flag(&mut rng, 8, "--theme-dialog".into());
        flag(&mut rng, 4, "--status".into());
        flag(&mut rng, 5, "--restore-draft".into());
        let early = rng.u64(200..900);
        flag(&mut rng, 8, format!("--swallow-early {early}"));
        let sends = sends(&mut rng);
        let people = rng.u64(0..3) == 0;
        let stalls = !people && rng.u64(0..3) == 0;
        let span = |rng: &mut fastrand::Rng, longest: u64| {
            let from = if rng.bool() { rng.u64(0..5_000) } else { rng.u64(0..15_000) };
            (from, from + rng.u64(50..longest))
        };
        let count = |rng: &mut fastrand::Rng, most: u64| rng.u64(0..=most) * rng.u64(0..2);
        let mut plan = Self {
            seed,
            agent,
            damage: None,
            wants: None,
            keys: if people && !slow_echo { keys(&mut rng) } else { Vec::new() },
            answers_after: rng.u64(1500..7000),
            kills: (0..count(&mut rng, 4)).map(|_| rng.u64(1..60)).collect(),
            store_trouble: (0..count(&mut rng, 2)).map(|_| span(&mut rng, 3000)).collect(),
            stalls: (0..if stalls { 2 } else { 0 })
                .map(|_| {
                    let longest = if rng.u64(0..4) == 0 { LONG } else { 2_500 };
                    span(&mut rng, longest)
                })
                .collect(),
            read_stalls: (0..if stalls { rng.u64(0..4) } else { 0 })
                .map(|_| {
                    let longest = if rng.bool() { LONG } else { 2_500 };
                    (rng.u64(1..9), rng.u64(50..longest))
                })
                .collect(),
            reads_ahead: rng.u64(0..3) == 0,
            breaks: (0..count(&mut rng, 2)).map(|_| rng.u64(0..15_000)).collect(),
            clock_jumps: (0..count(&mut rng, 1))
                .map(|_| (rng.u64(0..15_000), rng.i64(-7_200_000..7_200_000)))
                .collect(),
            hooks: (rng.u64(0..3) == 0).then(|| Hooks {
                lost: rng.u64(0..2) * rng.u64(0..60),
                // Of equal prompts a report that comes twice could mean either.
                doubled: if has_equals(&sends) { 0 } else { rng.u64(0..2) * rng.u64(0..40) },
                late: rng.u64(1..1200),
            }),
            starts: Vec::new(),
            policy: if rng.u64(0..3) == 0 { Policy::Allow } else { Policy::Ask },
            grants: Grants { folder: rng.bool(), unattended: false },
            sends,
            ..Self::quiet()
        };
        // What a mark hides, nobody can see.
        let collapses = plan.agent.iter().any(|flag| flag == "--collapse-pastes");
        if rng.u64(0..10) == 0 && !collapses {
            plan =
                plan.damaged(*rng.choice([Damage::Signs, Damage::Breaks].iter()).unwrap_or(&Damage::Signs));
        }
        plan
    }

    /// The same day with an agent that damages what is pasted.
    pub(super) fn damaged(mut self, damage: Damage) -> Self {
        let name = damage.to_possible_value().map(|value| value.get_name().to_owned());
        self.agent.extend(["--damage".to_owned()].into_iter().chain(name));
        Self { damage: Some(damage), ..self }
    }
}

fn sends(rng: &mut fastrand::Rng) -> Vec<Sent> {
    let count = rng.u64(1..5);
    let mut at = 0;
    let mut sends: Vec<Sent> = Vec::new();
    for number in 0..count {
        at += rng.u64(0..4500);
        let raw = rng.u64(0..8) == 0;
        let word = format!("note{number}{:04x}", rng.u16(..));
        let deed = match rng.u64(0..14) {
            0..3 => format!(" !work {}ms", rng.u64(200..2500)),
            3 | 12.. => " !permission ls".to_owned(),
            4 => " !question which".to_owned(),
            5 => " !quote".to_owned(),
            6 => format!(" !tool Look {}ms", rng.u64(100..900)),
            _ => String::new(),
        };
        let long = rng.bool();
        let body = match rng.u64(0..6) {
            // Letters that answer no dialog, and are taken out again.
            _ if raw => {
                let letters: String =
                    (0..8).map(|_| *rng.choice(b"abcdefghklmprt").unwrap() as char).collect();
                format!("{letters}\x15")
            }
            0 => format!("{word}: first line\nand a second line{deed}"),
            1 => format!("{word} {}{deed}", "with many words ".repeat(if long { 15 } else { 4 })),
            _ => format!("{word}: please look at it{deed}"),
        };
        // Sometimes the same thing is said twice.
        let again = sends.last().filter(|_| !raw && rng.u64(0..4) == 0).filter(|last| !last.terms.raw);
        let body = again.map_or(body, |last| last.body.clone());
        let mode = match rng.u64(0..8) {
            0 => Mode::Queue,
            1 => Mode::Now,
            2 => Mode::Interrupt,
            _ => Mode::WhenIdle,
        };
        let priority = match rng.u64(0..6) {
            0 => Priority::Low,
            1 => Priority::Startup,
            _ => Priority::Normal,
        };
        let terms = Terms { raw, sender: "tester".into(), priority, mode, ..Terms::default() };
        sends.push(Sent { at, id: format!("m{number}"), body, terms });
    }
    sends
}

fn has_equals(sends: &[Sent]) -> bool {
    sends.iter().enumerate().any(|(at, sent)| sends[..at].iter().any(|other| other.body == sent.body))
}

/// A person writes something, slowly, and submits it or takes it back.
fn keys(rng: &mut fastrand::Rng) -> Vec<(u64, String)> {
    let mut at = rng.u64(500..9_000);
    let text = format!("person{:04x}", rng.u16(..));
    let mut keys = Vec::new();
    for piece in [&text[..3], &text[3..7], &text[7..]] {
        keys.push((at, piece.to_owned()));
        at += rng.u64(60..1500);
    }
    at += rng.u64(100..4000);
    keys.push((at, if rng.bool() { "\r".to_owned() } else { "\x15".to_owned() }));
    keys
}
