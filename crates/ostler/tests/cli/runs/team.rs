//! Stand-in agents with a part to play, and tasks for them.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{TestHome, ostler, until};

/// The stand-in agents of the demo, with more ways to fail.
const PRESET: &str = concat!(
    include_str!("../../../src/commands/demo/agent.toml"),
    r#"
[rules.retrying]
state = "working"
kind = "rate_limit"
when = { in = "above 6", row = '^● retry-429\(\)' }
[rules.rate]
state = "limited"
kind = "rate_limit"
priority = 60
when = { in = "above 2", row = '^● API Error: 429' }
[rules.auth]
state = "error"
kind = "auth"
priority = 60
when = { in = "above 2", row = '^● API Error: 401' }
[rules.overloaded]
state = "error"
kind = "overloaded"
priority = 60
when = { in = "above 2", row = '^● API Error: 529' }
"#
);

impl TestHome {
    /// A home whose project is a repository.
    pub(super) fn with_repository() -> Self {
        let home = Self::new();
        home.repository("project");
        home
    }

    /// A repository for a task.
    pub(super) fn repository(&self, name: &str) -> String {
        let dir = self.file(name);
        fs::create_dir_all(&dir).unwrap();
        let git = Command::new("git").args(["init", "--quiet"]).current_dir(&dir).status().unwrap();
        assert!(git.success());
        dir.display().to_string()
    }

    /// An agent that does one thing after the other, whatever it is told. Its log is beside the directory it works in.
    pub(super) fn agent(&self, name: &str, flags: &str, acts: &[&str]) -> &Self {
        let script: Vec<Value> = acts.iter().map(|act| json!({ "do": act })).collect();
        self.scripted(name, flags, &json!(script))
    }

    pub(super) fn scripted(&self, name: &str, flags: &str, script: &Value) -> &Self {
        let play = self.file(&format!("{name}.json"));
        fs::write(&play, script.to_string()).unwrap();
        let (ostler, play) = (ostler().display(), play.display());
        let line = format!(
            "exec {ostler} stand-in --word-pace 1 {flags} --script {play} --log \"$PWD.{name}.log\" \"$@\""
        );
        self.script(name, &line);
        self.preset(name)
    }

    /// An agent that is described, and perhaps not installed.
    pub(super) fn preset(&self, name: &str) -> &Self {
        self.write_preset_of(name, &PRESET.replace("@NAME@", name));
        self
    }

    /// An agent that is asked without a terminal: it keeps what it was told, and says what it is to say.
    pub(super) fn helper(&self, name: &str, says: &str) -> &Self {
        let told = self.file(&format!("{name}.told"));
        self.script(name, &format!("printf '%s' \"$2\" > '{}'\ncat <<'END'\n{says}\nEND", told.display()));
        let preset = format!("run.command = \"{name}\"\nheadless.args = [\"-p\", \"{{prompt}}\"]\n");
        self.write_preset_of(name, &preset);
        self
    }

    /// What a helper was told last.
    pub(super) fn told(&self, name: &str) -> String {
        fs::read_to_string(self.file(&format!("{name}.told"))).unwrap()
    }

    /// Runs a task to its end, and returns what is known of the run.
    #[track_caller]
    pub(super) fn task(&self, code: i32, args: &[&str]) -> Value {
        let done = self.run([&["run", "Do it.", "--json"], args].concat());
        assert_eq!(done.code, code, "{done:?}");
        serde_json::from_str(&done.out).unwrap()
    }

    /// What an agent says it was told, in a project.
    pub(super) fn prompts_in(&self, project: &str, agent: &str) -> Vec<String> {
        let log = fs::read_to_string(self.file(&format!("{project}.{agent}.log"))).unwrap_or_default();
        log.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|event| event["event"] == "submitted")
            .map(|event| event["text"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(super) fn prompts(&self, agent: &str) -> Vec<String> {
        self.prompts_in("project", agent)
    }

    /// Where a provider's breaker stands, and why.
    pub(super) fn breaker(&self, provider: &str) -> (String, String) {
        let all = self.json(["providers", "--json"])["providers"].clone();
        let found = all.as_array().unwrap().iter().find(|known| known["provider"] == provider).cloned();
        let text = |found: &Value, name: &str| found[name].as_str().unwrap_or_default().to_owned();
        found.map_or_else(Default::default, |found| (text(&found, "breaker"), text(&found, "reason")))
    }

    pub(super) fn await_state(&self, run: &str, state: &str) {
        until(&format!("the run is {state}"), || {
            (self.json(["runs", "show", run, "--json"])["state"] == state).then_some(())
        });
    }

    /// No agent is left behind.
    pub(super) fn await_quiet(&self) {
        until("no session is left", || {
            self.json(["list", "--json"]).as_array().unwrap().is_empty().then_some(())
        });
    }
}

/// Why each turn of a run ended.
pub(super) fn reasons(run: &Value) -> Vec<(String, String)> {
    let attempts = run["attempts"].as_array().unwrap();
    let turns = attempts.iter().flat_map(|attempt| attempt["turns"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    turns.map(|turn| (text(&turn["provider"]), text(&turn["reason"]))).collect()
}
