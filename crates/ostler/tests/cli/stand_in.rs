//! Homes in which the stand-in is an agent like any other: known by a preset, found on the PATH.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

pub(crate) use ostler_testkit::stand_in::PRESET;
use serde_json::Value;

use crate::support::{Done, TestHome, ostler, until, until_file};

impl TestHome {
    pub(crate) fn with_stand_in() -> Self {
        Self::with_stand_in_and("")
    }

    /// With more in its preset: tables that it does not have yet.
    pub(crate) fn with_stand_in_and(more: &str) -> Self {
        let home = Self::new();
        home.project();
        home.write_preset(&format!("{PRESET}{more}"));
        home.write_agent(&format!("exec {} stand-in \"$@\"", ostler().display()));
        home
    }

    pub(crate) fn write_preset(&self, text: &str) {
        self.write_preset_of("standin", text);
    }

    /// Makes the agent's program do this.
    pub(crate) fn write_agent(&self, script: &str) {
        self.script("stand-in-agent", script);
    }

    pub(crate) fn log_file(&self, name: &str) -> PathBuf {
        self.file(&format!("{name}.log"))
    }

    /// Starts the agent with `options` of `start`, and `flags` of the stand-in.
    pub(crate) fn start_with(&self, name: &str, options: &[&str], flags: &[&str]) -> Done {
        let log = self.log_file(name);
        let start = ["start", "standin", "--name", name];
        let log = ["--", "--log", log.to_str().unwrap()];
        self.run([&start[..], options, &log[..], flags].concat())
    }

    /// Starts the agent; it is not waited for.
    #[track_caller]
    pub(crate) fn start(&self, name: &str, flags: &[&str]) {
        self.start_with(name, &["--no-wait"], flags).ok();
    }

    #[track_caller]
    pub(crate) fn wait(&self, name: &str, states: &str) -> Value {
        self.json(["wait", name, states, "--timeout", "60", "--json"])
    }

    /// Sends a prompt; `options` are of `send`.
    pub(crate) fn send(&self, name: &str, text: &str, options: &[&str]) -> Done {
        self.begin_send(name, text.as_bytes(), options).finish()
    }

    /// Begins to send a prompt, without waiting for what becomes of it.
    pub(crate) fn begin_send(&self, name: &str, text: &[u8], options: &[&str]) -> Sending {
        let mut command = self.command([&["send", name, "-"], options].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        Sending(child)
    }

    /// Sends a prompt and returns what is proven of it.
    #[track_caller]
    pub(crate) fn deliver(&self, name: &str, text: &str, options: &[&str]) -> Value {
        let sent = self.send(name, text, &[&["--json", "--timeout", "60"], options].concat());
        serde_json::from_str(&sent.ok()).unwrap()
    }

    /// The message of an id, whatever became of it.
    #[track_caller]
    pub(crate) fn message(&self, name: &str, id: &str) -> Value {
        let messages = self.json(["messages", "list", name, "--all", "--json"]);
        let messages = messages.as_array().unwrap();
        messages.iter().find(|message| message["id"] == id).expect("there is such a message").clone()
    }

    #[track_caller]
    pub(crate) fn await_message(&self, name: &str, id: &str, state: &str) -> Value {
        until(&format!("message {id} is {state}"), || {
            let message = self.message(name, id);
            (message["state"] == state).then_some(message)
        })
    }

    /// What the agent really got and did.
    pub(crate) fn log(&self, name: &str) -> Vec<Value> {
        read_log(&self.log_file(name))
    }

    /// The prompts that the agent really took.
    pub(crate) fn taken(&self, name: &str) -> Vec<String> {
        texts(&self.log(name))
    }

    /// Waits until the agent did this so often.
    #[track_caller]
    pub(crate) fn await_log(&self, name: &str, event: &str, count: usize) {
        let what = format!("{name} logs {event}");
        until_file(&self.log_file(name), &what, || (self.count(name, event) >= count).then_some(()));
    }

    pub(crate) fn count(&self, name: &str, event: &str) -> usize {
        self.log(name).iter().filter(|record| record["event"] == event).count()
    }

    /// Types as a person would.
    #[track_caller]
    pub(crate) fn press(&self, name: &str, keys: &str) {
        self.ok(["send", name, "--raw", keys]);
    }
}

/// A prompt that is being sent.
pub(crate) struct Sending(Child);

impl Sending {
    /// Whether it is known what became of it.
    pub(crate) fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    pub(crate) fn finish(self) -> Done {
        Done::from(&self.0.wait_with_output().unwrap())
    }
}

pub(crate) fn read_log(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The texts of the prompts in a log.
pub(crate) fn texts(log: &[Value]) -> Vec<String> {
    let taken = log.iter().filter(|record| record["event"] == "submitted");
    taken.map(|record| record["text"].as_str().unwrap().to_owned()).collect()
}
