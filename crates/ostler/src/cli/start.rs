//! The command that starts a session.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use ostler_core::SessionName;
use ostler_core::beacon::Subject;
use ostler_screen::Size;

use super::{Limits, seconds};

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The agent (see: ostler agents list), or any program: a name on the PATH, or a path [default: what ostler
    /// agents which says]
    #[arg(value_name = "AGENT")]
    pub(crate) program: Option<OsString>,
    /// The program is this agent, behind a wrapper such as npx, python -m or a container
    #[arg(long = "as", value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// The role it is for, where no agent is named
    #[arg(long, conflicts_with = "program")]
    pub(crate) role: Option<String>,
    /// What to call the session [default: the program's name]
    #[arg(long)]
    pub(crate) name: Option<SessionName>,
    /// Where to start it [default: here]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable in its environment; may be given more than once
    #[arg(long, value_name = "NAME=VALUE", value_parser = env_pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Size of its terminal
    #[arg(long, value_name = "COLSxROWS", default_value = "120x40")]
    pub(crate) size: Size,
    /// What the agent should do; waits until it has taken it
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// What the agent should know before it begins: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// Tell it what is known of this project: earlier work, and code that has to do with the prompt
    #[arg(long)]
    pub(crate) recall: bool,
    /// Do not wait until the agent is ready and has taken prompt and context
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Give up waiting after this many seconds; prompt and context stay with ostler
    #[arg(long, value_name = "SECS", default_value = "90", value_parser = seconds)]
    pub(crate) timeout: f64,
    /// Do not say in the first line who speaks and about what
    #[arg(long)]
    pub(crate) no_beacon: bool,
    /// What the first line says prompt and context are about: assigned, cold-start, handoff, patrol, retry or
    /// switch, and which, as in retry:42 [default: assigned with a prompt, else cold-start]
    #[arg(long, value_name = "TOPIC[:ID]", conflicts_with = "no_beacon")]
    pub(crate) topic: Option<Subject>,
    /// Trust this folder, now and later: dialogs that ask for it are answered so
    #[arg(long)]
    pub(crate) trust: bool,
    /// Let the agent work without asking for permission, where it has a way to
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Tell it to go on when it stops before the work is done; ask `ostler continue --help` for more
    #[arg(long, requires = "prompt")]
    pub(crate) carry_on: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Record the session as an asciicast in its directory, up to this many MiB
    #[arg(long, value_name = "MIB", num_args = 0..=1, default_missing_value = "64")]
    pub(crate) record: Option<u32>,
    /// Do not set up the agent's hooks for this session
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Arguments for the program
    #[arg(last = true)]
    pub(crate) args: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// Name or id of a session that has ended
    pub(crate) name: String,
    /// Begin a new conversation, even if the agent could continue the last one
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Set a variable in its environment; may be given more than once. The rest of the environment is that of this
    /// command
    #[arg(long, value_name = "NAME=VALUE", value_parser = env_pair)]
    pub(crate) env: Vec<(String, String)>,
    /// Do not wait until the agent is ready
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Give up waiting after this many seconds
    #[arg(long, value_name = "SECS", default_value = "90", value_parser = seconds)]
    pub(crate) timeout: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Arguments for the program, instead of those that it was started with
    #[arg(last = true)]
    pub(crate) args: Option<Vec<OsString>>,
}

#[derive(Debug, Args)]
pub(crate) struct Wrap {
    /// The agent, or any program
    #[arg(value_name = "AGENT")]
    pub(crate) program: OsString,
    /// What to call the session [default: the program's name]
    #[arg(long)]
    pub(crate) name: Option<SessionName>,
    /// What the agent should know before it begins: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// Tell it what is known of this project: earlier work
    #[arg(long)]
    pub(crate) recall: bool,
    /// The key that leaves; the agent goes on
    #[arg(long, value_name = "KEY", default_value = "ctrl-\\", value_parser = super::detach_key)]
    pub(crate) detach_key: super::DetachKey,
    /// Record the session as an asciicast in its directory, up to this many MiB
    #[arg(long, value_name = "MIB", num_args = 0..=1, default_missing_value = "64")]
    pub(crate) record: Option<u32>,
    /// Do not set up the agent's hooks for this session
    #[arg(long)]
    pub(crate) no_hooks: bool,
    /// Arguments for the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

impl Wrap {
    /// The same as a start in a terminal of this size.
    pub(crate) fn start(&self, size: Size) -> Start {
        Start {
            program: Some(self.program.clone()),
            agent: None,
            role: None,
            name: self.name.clone(),
            cwd: None,
            env: Vec::new(),
            size,
            prompt: None,
            context: self.context.clone(),
            recall: self.recall,
            no_wait: true,
            timeout: 0.0,
            no_beacon: false,
            topic: None,
            trust: false,
            unattended: false,
            carry_on: false,
            limits: Limits::default(),
            record: self.record,
            no_hooks: self.no_hooks,
            json: false,
            args: self.args.clone(),
        }
    }
}

fn env_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".into()),
    }
}
