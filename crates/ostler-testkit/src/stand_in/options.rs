//! The command line of the stand-in.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};

/// Everything the stand-in can be told.
#[derive(Clone, Debug, Parser)]
#[command(name = "ostler-stand-in", version, about = "A scripted terminal agent that misbehaves on request")]
#[command(after_help = super::script::HELP)]
pub struct Options {
    /// Prompt to run as soon as the composer is ready
    pub prompt: Option<String>,
    /// Full-screen agent, or a byte sink
    #[arg(long, value_enum, default_value = "tui")]
    pub mode: Mode,
    /// File to which `--mode sink` appends every byte it reads
    #[arg(long, value_name = "FILE", required_if_eq("mode", "sink"))]
    pub sink: Option<PathBuf>,
    /// Append what was truly received and done, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Reply to prompts that carry no directive; may hold directives itself
    #[arg(long, value_name = "TEXT")]
    pub reply: Option<String>,
    /// JSON array of `{"when", "do", "repeat"}` that answers before anything else
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Seed of everything pseudo-random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How it looks.
    #[command(flatten)]
    pub look: Look,
    /// What happens before the first prompt.
    #[command(flatten)]
    pub startup: Startup,
    /// How it treats keys.
    #[command(flatten)]
    pub input: Input,
    /// What it writes beside its screen.
    #[command(flatten)]
    pub output: Output,
    /// How it lives and dies.
    #[command(flatten)]
    pub process: Process,
}

/// What kind of program to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Mode {
    /// The scripted agent.
    Tui,
    /// Appends its input to a file and acknowledges the total.
    Sink,
}

/// What becomes of a paste that is damaged.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Damage {
    /// Its signs are lost.
    Signs,
    /// Its line breaks become blanks.
    Breaks,
    /// What opens is closed at once, as editors do.
    Pairs,
    /// Its first thirty characters are lost, if it has more.
    Head,
}

/// What becomes of a command that is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Refusal {
    /// The composer is emptied.
    Empty,
    /// It stays there.
    Keep,
}

impl Damage {
    /// What is left of a text.
    pub fn apply(self, text: &str) -> String {
        match self {
            Self::Signs => text.chars().filter(|character| !character.is_ascii_punctuation()).collect(),
            Self::Breaks => text.replace('\n', " "),
            Self::Pairs => text.replace('(', "()").replace('[', "[]"),
            Self::Head => match text.char_indices().nth(30) {
                Some((at, _)) => text[at..].to_owned(),
                None => text.to_owned(),
            },
        }
    }
}

/// When to report OSC 7501 program status.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum StatusMode {
    /// Unasked.
    Always,
    /// Only once the terminal has answered the status query.
    Answered,
}

/// How the stand-in looks.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Look")]
pub struct Look {
    /// Name in the header and the title
    #[arg(long, default_value = "Stand-in")]
    pub name: String,
    /// Version in the header
    #[arg(long, value_name = "VERSION", default_value = env!("CARGO_PKG_VERSION"))]
    pub release: String,
    /// Use the alternate screen
    #[arg(long)]
    pub alt_screen: bool,
    /// Report OSC 7501 program status, always or only if its query is answered
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "always")]
    pub status: Option<StatusMode>,
    /// Dim suggestion in the empty composer, which a bare Enter submits
    #[arg(long, value_name = "TEXT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "run the tests and commit")]
    pub ghost: Option<String>,
    /// Text already in the composer at the start
    #[arg(long, value_name = "TEXT")]
    pub draft: Option<String>,
    /// Echo accepted prompts in the transcript as if they still stood in the composer
    #[arg(long)]
    pub history_echo: bool,
    /// Pause between two streamed words
    #[arg(long, value_name = "MS", value_parser = millis, default_value = "30")]
    pub word_pace: Duration,
    /// Stay in canonical mode: a plain line-by-line prompt without escape sequences
    #[arg(long)]
    pub cooked: bool,
}

/// What happens before the first prompt.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Start")]
pub struct Startup {
    /// Show nothing for so long; text typed meanwhile is kept, Enter is lost
    #[arg(long, value_name = "MS", value_parser = millis, default_value = "0")]
    pub ready_after: Duration,
    /// Then show the composer for so long, before it asks anything
    #[arg(long, value_name = "MS", value_parser = millis, default_value = "0")]
    pub flash: Duration,
    /// Drop all keys for so long after the start
    #[arg(long, value_name = "MS", value_parser = millis, default_value = "0")]
    pub swallow_early: Duration,
    /// Ask for a theme first
    #[arg(long)]
    pub theme_dialog: bool,
    /// Ask whether the folder is trusted; the default row exits with 1
    #[arg(long)]
    pub trust_dialog: bool,
    /// Send terminal queries at the start and log each reply
    #[arg(long)]
    pub query: bool,
}

/// How keys are treated.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Keys")]
pub struct Input {
    /// Ignore the first N Enters at the composer
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub swallow_enter: u32,
    /// Draw nothing for keys that are ignored; without it a hint says so for five seconds
    #[arg(long)]
    pub ignore_quietly: bool,
    /// Show typed text only after a delay
    #[arg(long, value_name = "MS", value_parser = millis, default_value = "0")]
    pub slow_echo: Duration,
    /// Collapse pastes above this size to `[Pasted text #1 +26 lines]`
    #[arg(long, value_name = "BYTES")]
    pub collapse_pastes: Option<usize>,
    /// Keep only the beginning of a paste
    #[arg(long, value_name = "BYTES")]
    pub cut_pastes: Option<usize>,
    /// Damage every paste
    #[arg(long, value_enum, value_name = "HOW")]
    pub damage: Option<Damage>,
    /// Refuse commands, and empty the composer or keep them in it
    #[arg(long, value_enum, value_name = "HOW")]
    pub refuse_commands: Option<Refusal>,
    /// Take an Enter this soon after text for a newline
    #[arg(long, value_name = "MS", value_parser = millis, default_value = "0")]
    pub paste_burst: Duration,
    /// Put the prompt back into the composer when a turn is interrupted before it spoke
    #[arg(long)]
    pub restore_draft: bool,
    /// Empty the composer and look busy on Enter without taking the message (logged as `lied`)
    #[arg(long)]
    pub lie: bool,
    /// Never read standard input
    #[arg(long)]
    pub never_read: bool,
}

/// What is written beside the screen.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Flood the output at this rate; 0 is as fast as it goes
    #[arg(long, value_name = "BYTES_PER_SEC")]
    pub spam: Option<u64>,
    /// Stop the flood after so many bytes
    #[arg(long, value_name = "TOTAL", requires = "spam")]
    pub spam_bytes: Option<u64>,
    /// Flood with pseudo-random bytes instead of lines
    #[arg(long, requires = "spam")]
    pub junk: bool,
    /// Print one line of this length at the start
    #[arg(long, value_name = "BYTES")]
    pub long_line: Option<u64>,
}

/// How the process lives and dies.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Process")]
pub struct Process {
    /// Die after so long, without restoring the terminal
    #[arg(long, value_name = "MS", value_parser = millis)]
    pub die_after: Option<Duration>,
    /// Die when a message is submitted, after logging it
    #[arg(long)]
    pub die_on_submit: bool,
    /// Exit code of `--die-after` and `--die-on-submit`
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub exit_code: u8,
    /// Die by SIGKILL instead of exiting
    #[arg(long)]
    pub die_signal: bool,
    /// Ignore SIGHUP and live on after the terminal is gone
    #[arg(long)]
    pub ignore_hup: bool,
    /// Ignore SIGTERM
    #[arg(long)]
    pub ignore_term: bool,
    /// Leave a `sleep 600` behind in a session of its own that holds the terminal open
    #[arg(long)]
    pub fork_orphan: bool,
}

/// Parses a count of milliseconds.
fn millis(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}
