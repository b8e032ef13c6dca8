//! What one agent of a storm is like, and what it is sent.

use crate::support::Random;

/// A message of a storm.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) mode: &'static str,
    pub(super) priority: &'static str,
    /// It is sent while the one before it is on its way.
    pub(super) at_once: bool,
}

/// What is known of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Everything that its preset says.
    Known,
    /// The same, and that it takes a first prompt on its command line.
    TakesArgument,
    /// Nothing: any program may be like that.
    Unknown,
}

/// One agent, its misbehaviours, and its messages.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// What it is started with.
    pub(super) prompt: Option<String>,
    pub(super) flags: Vec<String>,
    pub(super) messages: Vec<Message>,
    /// The folder is trusted beforehand; otherwise a person answers the dialog.
    pub(super) trusted: bool,
    /// The person whose draft stands in the composer takes it away.
    pub(super) clears_draft: bool,
    /// The agent says that it took what it did not take.
    pub(super) lies: bool,
}

/// What stands in the composer and is nobody's business.
pub(super) const DRAFT: &str = "a person's own words";
/// What the agent suggests, faintly.
pub(super) const GHOST: &str = "run the tests and commit";

const WORDS: [&str; 14] = [
    "please",
    "look",
    "at",
    "naïve",
    "test",
    "漢字",
    "done?",
    "[ok]",
    "fix:",
    "the",
    "🦀",
    "a_b",
    "--all",
    "\"quoted\"",
];

impl Scenario {
    pub(super) fn new(seed: u64, index: u64) -> Self {
        // Neighbouring seeds share no scenario.
        let mut random = Random(((seed << 32) ^ index).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        let kind =
            random.one_of(&[Kind::Known, Kind::Known, Kind::Known, Kind::TakesArgument, Kind::Unknown]);
        // Of a program that nobody knows, no dialog and no draft can be told from anything else.
        let known = kind != Kind::Unknown;
        let mut flags = Vec::new();
        let mut add = |flag: &str, value: String| flags.extend([flag.to_owned(), value]);
        if random.chance(30) {
            add("--ready-after", random.below(2_500).to_string());
        }
        if random.chance(15) && known {
            add("--swallow-early", (1_000 + random.below(6_000)).to_string());
        }
        if random.chance(25) {
            add("--swallow-enter", (1 + random.below(4)).to_string());
        }
        if random.chance(25) {
            let most = random.one_of(&[200, 1_500, 4_000]);
            add("--slow-echo", (20 + random.below(most)).to_string());
        }
        if random.chance(20) {
            add("--collapse-pastes", (20 + random.below(400)).to_string());
        }
        if random.chance(20) {
            add("--paste-burst", (50 + random.below(600)).to_string());
        }
        if random.chance(4) && known {
            add("--cut-pastes", (10 + random.below(200)).to_string());
        }
        if random.chance(8) {
            add("--die-after", (1_500 + random.below(9_000)).to_string());
        }
        if random.chance(30) {
            add("--word-pace", (1 + random.below(80)).to_string());
        }
        if random.chance(8) && known {
            add("--draft", DRAFT.to_owned());
        }
        let lies = random.chance(4);
        let (trust, theme) = (random.chance(10) && known, random.chance(8) && known);
        for (flag, wanted) in [
            ("--history-echo", random.chance(20)),
            ("--alt-screen", random.chance(25)),
            ("--restore-draft", random.chance(30)),
            ("--die-on-submit", random.chance(4)),
            ("--query", random.chance(10)),
            ("--trust-dialog", trust),
            ("--theme-dialog", theme),
            ("--lie", lies),
        ] {
            flags.extend(wanted.then(|| flag.to_owned()));
        }
        if random.chance(30) {
            flags.push(random.one_of(&["--status=always", "--status=answered"]).to_owned());
        }
        if random.chance(20) && known {
            flags.push(format!("--ghost={GHOST}"));
        }
        let count = 1 + random.below(4);
        let messages = (0..count).map(|number| message(&mut random, index, number, known)).collect();
        let (trusted, clears_draft) = (random.chance(50), random.chance(60));
        let prompt = (random.chance(25) && known).then(|| text(&mut random, &format!("s{index}p"), known));
        Self { name: format!("s{index}"), kind, prompt, flags, messages, trusted, clears_draft, lies }
    }

    /// Everything that the agent is to get.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.prompt
            .iter()
            .chain(self.messages.iter().map(|message| &message.text))
            .map(|text| text.trim_end())
    }

    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }
}

fn message(random: &mut Random, scenario: u64, number: u64, known: bool) -> Message {
    let id = format!("s{scenario}m{number}");
    let modes: &[&str] = if known {
        &["when-idle", "when-idle", "when-idle", "queue", "interrupt", "now"]
    } else {
        &["when-idle"]
    };
    Message {
        text: text(random, &id, known),
        id,
        mode: random.one_of(modes),
        priority: random.one_of(&["normal", "normal", "low", "startup"]),
        at_once: random.chance(50),
    }
}

fn text(random: &mut Random, id: &str, known: bool) -> String {
    // The word by which the text is known, whatever is cut off or put beside it.
    let mut text = format!("{id}x");
    let size = random.one_of(&[3, 3, 8, 30, 120, 400]);
    for _ in 0..random.below(size) {
        text.push(random.one_of(&[' ', ' ', ' ', ' ', '\n']));
        text.push_str(random.one_of(&WORDS));
    }
    if random.chance(55) {
        let directive = directive(random, id, known);
        text = format!("{text}\n{}", directive.trim_end());
    }
    text
}

/// What the agent is to do with a prompt.
fn directive(random: &mut Random, id: &str, known: bool) -> String {
    let work = 100 + random.below(2_500);
    match random.below(if known { 16 } else { 11 }) {
        0..=4 => format!("!work {work}ms"),
        5 => format!("!silent {work}ms"),
        6 => format!("!tool grep {work}ms"),
        7 => "!quote".to_owned(),
        8 => "!error 500 something broke".to_owned(),
        9 => format!("!say {}", "word ".repeat(usize::try_from(random.below(60)).unwrap())),
        10 => format!("!work {work}ms !say yes, {id}x it is"),
        11 => "!permission make install".to_owned(),
        12 => format!("!work {work}ms !permission make"),
        13 => "!question which one?".to_owned(),
        14 => format!("!work {work}ms !question which one?"),
        _ => "!work 20s".to_owned(),
    }
}
