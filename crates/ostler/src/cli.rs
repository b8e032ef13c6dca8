//! The command line, as a contract.

mod carry_on;
mod messages;
mod run;
mod start;
mod talk;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use ostler_core::State;

pub(crate) use carry_on::{Continue, Hold, Limits};
pub(crate) use messages::{Ack, Level, Messages, Send};
pub(crate) use run::{OnInterrupt, OneRun, Providers, ProvidersCommand, Run, Runs, Worktrees};
pub(crate) use start::{Resume, Start, Wrap};
pub(crate) use talk::{Answer, Interrupt, Last, Transcript};

/// Looks after terminal programs: starts them, shows them, types into them once and for sure, and never loses
/// them, whatever happens to ostler itself.
#[derive(Debug, Parser)]
#[command(name = "ostler", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 daemon not reachable, 4 timed out, 5 blocked: \
                        a person is needed, 70 internal.\n\
                        State is kept in $OSTLER_HOME, else $XDG_STATE_HOME/ostler, else ~/.local/state/ostler."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give a task to whichever agent can do it, and check the work
    Run(Box<Run>),
    /// List runs, show one, wait for it, or end it
    Runs {
        #[command(subcommand)]
        command: Runs,
    },
    /// List the work trees that runs were given, or remove them
    Worktrees {
        #[command(subcommand)]
        command: Worktrees,
    },
    /// Tell which providers can be used, or say that one can be again
    Providers(Providers),
    /// Start an agent, or any program, under care
    Start(Box<Start>),
    /// Run an ended session again: same name, messages and history, and the agent's last conversation
    Resume(Resume),
    /// Carry an agent on that stops before its work is done: look now whether it should go on, and whenever it stops.
    /// One that is carried on keeps its goal and limits, unless others are given
    Continue(Continue),
    /// Do nothing automatic with an agent: no prompt to go on, no prompt of a run
    Hold(Hold),
    /// List sessions
    #[command(visible_alias = "ls")]
    List(List),
    /// Tell what a session is doing
    Status(Named),
    /// Show a session's screen
    Screen(Screen),
    /// Print a session's output as text, from its start on as far as it is kept or was recorded
    Logs(Logs),
    /// Put a session in this terminal
    Attach(Attach),
    /// Run an agent by hand, in this terminal, with the same care behind it
    #[command(disable_version_flag = true)]
    Wrap(Wrap),
    /// Give an agent a prompt, exactly once and with proof
    Send(Send),
    /// Print the agent's last answer
    Last(Last),
    /// Print what was said, from the agent's own transcript
    Transcript(Transcript),
    /// List messages, try them again, or take them back
    Messages {
        #[command(subcommand)]
        command: Messages,
    },
    /// Confirm a message (run by the agent that got it)
    Ack(Ack),
    /// Print what became of all messages, as Prometheus reads it
    Metrics(Json),
    /// Wait until a session is in a state
    Wait(Wait),
    /// Show what an agent asks, or answer it
    Answer(Answer),
    /// Stop an agent's turn, as its own interrupt key does
    Interrupt(Interrupt),
    /// End a session and every process it started
    Stop(Stop),
    /// Tell why a session is in its state: what each signal says, and which rule decided
    Explain(Named),
    /// Tell what happened
    Events(Events),
    /// Tell what an agent did in a recording: the same detector, offline
    Replay(Replay),
    /// Tell which agents are known and installed, and what is known about them
    Agents {
        #[command(subcommand)]
        command: Agents,
    },
    /// Put ostler's hooks into the settings of agents, or take them out
    Hooks {
        #[command(subcommand)]
        command: Hooks,
    },
    /// Tell an agent what was done in a project before, and keep what it should know next time
    Context {
        #[command(subcommand)]
        command: Context,
    },
    /// Show what agents ask you, and answer
    Ask {
        #[command(subcommand)]
        command: Ask,
    },
    /// Give the agent of a session ostler's tools, over the Model Context Protocol (run by the agent)
    Mcp(Mcp),
    /// Report what happened in an agent (run by its hooks)
    #[command(hide = true)]
    Hook(Hook),
    /// Manage the daemon
    Daemon {
        #[command(subcommand)]
        command: Daemon,
    },
    /// Check what is found and what is missing
    Doctor(Doctor),
    /// See the main job done on a stand-in agent
    #[cfg(feature = "stand-in")]
    Demo,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Own the terminal of one session (started by the daemon)
    #[command(hide = true)]
    OwnTerminal {
        /// The session directory
        dir: PathBuf,
    },
    /// Run the stand-in agent
    #[cfg(feature = "stand-in")]
    #[command(hide = true)]
    StandIn(Box<ostler_testkit::stand_in::Options>),
}

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long, conflicts_with = "repair")]
    pub(crate) json: bool,
    /// Make a new database of what can be read of a damaged one, which is kept; programs under care go on
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The session's name or id
    pub(crate) name: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Recordings: asciicast v2, plain or gzipped
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The agent whose rules are used [default: the recording's, else none]
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Its version [default: the recording's]
    #[arg(long, value_name = "VERSION")]
    pub(crate) agent_version: Option<String>,
    /// The terminal did not answer the agent's query for program status (OSC 7501)
    #[arg(long)]
    pub(crate) mute: bool,
    /// Print one JSON object per change
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the screen at this second instead, and what the rules see there
    #[arg(long, value_name = "SECONDS")]
    pub(crate) at: Option<f64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// List the agents that are known
    List {
        /// Ask programs for their versions that were not asked before
        #[arg(long)]
        probe: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show everything that is known about an agent
    Show {
        /// The agent
        agent: String,
        /// Print JSON instead of TOML
        #[arg(long)]
        json: bool,
    },
    /// Tell which agent would be started here, and why
    Which {
        /// The role it is for
        #[arg(long)]
        role: Option<String>,
        /// The agent that was asked for
        agent: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check agents: installed? really that program? a version our rules know? what would a start do?
    Check {
        /// The agents [default: all that are installed]
        agents: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Trust what the project's files in .ostler/agents say, as they are now
    Trust {
        /// A directory of the project
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Ended sessions too
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Screen {
    /// The session's name or id
    pub(crate) name: String,
    /// With colours and attributes
    #[arg(long, conflicts_with = "json")]
    pub(crate) ansi: bool,
    /// Print JSON: rows with attributes, cursor, modes, title
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The session's name or id
    pub(crate) name: String,
    /// Go on until the session ends
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// The bytes as the program wrote them, for another terminal or program
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The session's name or id
    pub(crate) name: String,
    /// Only look; the session's size stays as it is
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The key that leaves: a letter or one of [ \ ] ^ _ with Ctrl
    #[arg(long, value_name = "KEY", default_value = "ctrl-\\", value_parser = detach_key)]
    pub(crate) detach_key: DetachKey,
}

/// A control character that ends an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DetachKey(pub(crate) u8);

fn detach_key(text: &str) -> Result<DetachKey, String> {
    let error = || "write it as ctrl-X, with a letter or one of [ \\ ] ^ _".to_owned();
    let key = text.to_ascii_lowercase();
    let key = key.strip_prefix("ctrl-").or_else(|| key.strip_prefix("c-")).ok_or_else(error)?;
    match key.as_bytes() {
        [key @ (b'a'..=b'z' | b'[' | b'\\' | b']' | b'^' | b'_')] => Ok(DetachKey(key & 0x1F)),
        _ => Err(error()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// The session's name or id
    pub(crate) name: String,
    /// States to wait for, separated by commas: starting, idle, working, watching, blocked, limited, error,
    /// exited, unknown
    #[arg(value_delimiter = ',', required = true)]
    pub(crate) states: Vec<State>,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// Names or ids of the sessions
    #[arg(required = true)]
    pub(crate) names: Vec<String>,
    /// Seconds between asking and killing
    #[arg(long, value_name = "SECS", default_value = "5", value_parser = seconds)]
    pub(crate) grace: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Only of this session
    pub(crate) name: Option<String>,
    /// Go on as events happen
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Ask {
    /// List the questions that are open, oldest first
    List {
        /// Only of this session
        name: Option<String>,
        /// Those that were answered, too
        #[arg(long, short)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer a question; the agent gets the answer as a message
    Answer {
        /// The question's id
        id: String,
        /// The answer, the number of a choice, or - to read it from standard input
        #[arg(allow_hyphen_values = true)]
        text: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List the tools
    Tools,
    /// Call a tool from within a session, for agents that do not speak the protocol
    Call {
        /// The tool
        tool: String,
        /// Its arguments: a JSON object
        arguments: Option<String>,
    },
}

/// A hook must not fail because a newer ostler wrote its command: what is not known is passed over.
#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// The agent's name for what happened
    pub(crate) event: String,
    /// `--agent NAME`, `--print TEXT`, `--context`, `--by-ostler`, `--per-session`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<OsString>,
}

impl Hook {
    /// Reads a command line that is a hook's, the short way.
    pub(crate) fn from_words(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        words.nth(1).filter(|word| word == "hook")?;
        let event = words.next()?.into_string().ok().filter(|event| !event.starts_with('-'))?;
        Some(Self { event, rest: words.collect() })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hooks {
    /// Put them in, beside what is there
    Install(HookPlaces),
    /// Tell where they are
    Status(HookPlaces),
    /// Take them out, and nothing else
    Remove(HookPlaces),
}

#[derive(Debug, Args)]
pub(crate) struct HookPlaces {
    /// The agents [default: all that have hooks and were used here]
    pub(crate) agents: Vec<String>,
    /// In the settings of this project, not in the user's
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Only tell what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Context {
    /// Print what an agent should know: what waits for it, the task, earlier work, code that has to do with it
    Load {
        #[command(flatten)]
        place: ContextPlace,
        /// What is to be done; code that has to do with it is sought
        #[arg(long, value_name = "TEXT")]
        task: Option<String>,
        /// Most bytes to print [default: `budget_bytes` in the settings, 8192]
        #[arg(long, value_name = "BYTES")]
        budget: Option<usize>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the records of a project, newest first
    Show {
        #[command(flatten)]
        place: ContextPlace,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Keep a record of what was done
    Save {
        /// What was done, or - to read it from standard input
        text: Option<String>,
        /// Something that is left to do; may be given more than once
        #[arg(long, value_name = "TEXT")]
        open: Vec<String>,
        /// The session it is about [default: the one this command runs in]
        #[arg(long, value_name = "NAME")]
        session: Option<String>,
        /// The project, by a directory in it [default: the session's, else here]
        #[arg(long, value_name = "DIR", conflicts_with = "session")]
        cwd: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take ostler's blocks out of the project's instructions files
    Clear {
        #[command(flatten)]
        place: ContextPlace,
        /// Forget the records of the project, too
        #[arg(long)]
        records: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which project a command is about.
#[derive(Debug, Args)]
pub(crate) struct ContextPlace {
    /// The session whose project it is [default: the one this command runs in]
    pub(crate) name: Option<String>,
    /// The project, by a directory in it [default: the session's, else here]
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Daemon {
    /// Start it, if it does not run
    Start(Json),
    /// End it; sessions go on
    Stop(Json),
    /// Tell about it
    Status(Json),
    /// Run it in the foreground, for a service manager
    Run,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("write it as a number of seconds".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn the_short_way_to_a_hook_is_the_same_as_the_long_one() {
        let words = ["ostler", "hook", "Stop", "--agent", "a", "--print", "{}", "--new"];
        let short = Hook::from_words(words.iter().map(OsString::from)).unwrap();
        let Command::Hook(long) = Cli::try_parse_from(words).unwrap().command else { panic!("not a hook") };
        assert_eq!((short.event, short.rest), (long.event, long.rest));
        for other in
            [&["ostler"][..], &["ostler", "hook"], &["ostler", "hook", "--help"], &["ostler", "list"]]
        {
            assert!(Hook::from_words(other.iter().map(OsString::from)).is_none(), "{other:?}");
        }
    }

    #[test]
    fn detach_keys_are_control_characters() {
        assert_eq!(detach_key("ctrl-\\"), Ok(DetachKey(0x1C)));
        assert_eq!(detach_key("C-a"), Ok(DetachKey(1)));
        assert!(detach_key("a").is_err() && detach_key("ctrl-ab").is_err() && detach_key("ctrl-é").is_err());
    }
}
