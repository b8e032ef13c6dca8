//! Hooks: in the settings of agents, and what they report.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Done, TestHome, ostler, until, until_file};

/// An agent that is nobody's.
const PRESET: &str = r#"
[run]
command = "tester"

[config]
dir = "~/.tester"
env = "TESTER_HOME"

[hooks]
file = "sub/settings.json"
project_file = ".tester/settings.json"
handler = { type = "command", timeout = 5 }
note = "asks once whether it may run hooks"

[hooks.events]
SessionStart = { fact = "session_started", context = "{text}" }
Stop = { fact = "turn_ended" }
PreToolUse = { fact = "tool_started", matcher = "*" }
"#;

/// A home with the agent, which its user has used.
fn home_with_tester() -> TestHome {
    let home = TestHome::new();
    home.write_preset_of("tester", PRESET);
    fs::create_dir_all(home.settings().parent().unwrap()).unwrap();
    home
}

impl TestHome {
    /// The settings of the agent.
    fn settings(&self) -> PathBuf {
        self.user().join(".tester/sub/settings.json")
    }

    fn logged(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.env("OSTLER_LOG", "debug").env_remove("TESTER_HOME");
        command
    }

    fn hooks(&self, args: &[&str]) -> Done {
        Done::from(&self.logged(&[&["hooks"], args].concat()).output().unwrap())
    }

    fn state(&self, args: &[&str]) -> String {
        let outcomes: Value = serde_json::from_str(&self.hooks(&[args, &["--json"]].concat()).out).unwrap();
        outcomes[0]["state"].as_str().unwrap().to_owned()
    }
}

#[test]
fn hooks_are_put_beside_what_is_there_and_taken_out_again() {
    let home = home_with_tester();
    let before = "{\n    \"theme\": \"dark\",\n    \"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"say done\"}]}]}\n}\n";
    fs::write(home.settings(), before).unwrap();
    fs::set_permissions(home.settings(), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(home.state(&["status", "tester"]), "not_installed");
    assert_eq!(home.state(&["install", "tester", "--dry-run"]), "would_install");
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), before);

    let told = home.hooks(&["install", "tester"]).ok();
    assert!(told.contains("tester  installed") && told.contains("asks once"), "{told}");
    assert_eq!(home.state(&["status", "tester"]), "installed");
    assert_eq!(home.state(&["install", "tester"]), "unchanged");
    let text = fs::read_to_string(home.settings()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&value["theme"], &value["hooks"]["Stop"][0]["hooks"][0]["command"]),
        (&"dark".into(), &"say done".into())
    );
    let command = value["hooks"]["Stop"][1]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.contains(ostler().to_str().unwrap()), "{command}");
    assert_eq!(fs::metadata(home.settings()).unwrap().permissions().mode() & 0o777, 0o640);

    fs::write(home.settings(), text.replace(ostler().to_str().unwrap(), "/gone/ostler")).unwrap();
    assert_eq!(home.state(&["status", "tester"]), "outdated");
    home.hooks(&["install", "tester"]).ok();
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), text);

    assert_eq!(home.state(&["remove", "tester"]), "removed");
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), before);
    assert_eq!(home.state(&["remove", "tester"]), "not_installed");
    let left: Vec<_> = fs::read_dir(home.settings().parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn what_was_made_is_unmade() {
    let home = home_with_tester();
    fs::remove_dir(home.settings().parent().unwrap()).unwrap();
    home.hooks(&["install", "tester"]).ok();
    assert!(home.settings().is_file());
    home.hooks(&["remove", "tester"]).ok();
    assert_eq!(fs::read_dir(home.user().join(".tester")).unwrap().count(), 0);
    // What is not there is not made for an agent that was never used, and an empty file of the user stays.
    fs::remove_dir_all(home.user()).unwrap();
    assert_eq!(home.state(&["install", "tester"]), "no_directory");
    assert!(!home.user().exists());
    fs::create_dir_all(home.settings().parent().unwrap()).unwrap();
    fs::write(home.settings(), "{}").unwrap();
    home.hooks(&["install", "tester"]).ok();
    home.hooks(&["remove", "tester"]).ok();
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), "{}");
}

#[test]
fn a_file_with_comments_or_errors_is_left_alone_and_the_line_is_told() {
    let home = home_with_tester();
    for (text, line, word) in [
        ("{\n  \"a\": 1,\n  // my comment\n  \"b\": 2\n}\n", 3, "comment"),
        ("{\n  \"a\": 1,\n}\n", 3, "trailing comma"),
        ("{\n  \"hooks\": []\n}\n", 2, "is not an object"),
    ] {
        fs::write(home.settings(), text).unwrap();
        for command in ["install", "remove"] {
            let done = home.hooks(&[command, "tester", "--json"]);
            assert_eq!(done.code, 1, "{done:?}");
            let outcome: Value = serde_json::from_str(&done.out).unwrap();
            assert_eq!((&outcome[0]["state"], &outcome[0]["line"]), (&"broken".into(), &line.into()));
            assert!(outcome[0]["error"].as_str().unwrap().contains(word), "{outcome}");
            assert_eq!(fs::read_to_string(home.settings()).unwrap(), text);
        }
        assert_eq!(home.state(&["status", "tester"]), "broken");
        let told = home.hooks(&["install", "tester"]).out;
        assert!(told.contains("by hand") && told.contains("hook Stop --agent tester"), "{told}");
    }
}

#[test]
fn what_is_read_only_stays_as_it_is() {
    let home = home_with_tester();
    let mode =
        |path: PathBuf, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let dir = home.settings().parent().unwrap().to_owned();
    fs::write(home.settings(), "{}").unwrap();
    mode(home.settings(), 0o444);
    let told = home.hooks(&["install", "tester"]);
    assert!(told.code == 1 && told.out.contains("read-only") && told.out.contains("chmod"), "{told:?}");
    mode(home.settings(), 0o644);
    mode(dir.clone(), 0o555);
    let told = home.hooks(&["install", "tester"]);
    assert!(told.code == 1 && told.out.contains("read-only"), "{told:?}");
    mode(dir.clone(), 0o755);
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), "{}");
    assert_eq!(fs::read_dir(dir).unwrap().count(), 1);
}

#[test]
fn a_link_to_settings_elsewhere_stays_a_link() {
    let home = home_with_tester();
    let real = home.file("dotfiles.json");
    fs::write(&real, "{\"a\": 1}").unwrap();
    symlink(&real, home.settings()).unwrap();
    home.hooks(&["install", "tester"]).ok();
    assert!(fs::symlink_metadata(home.settings()).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("--by-ostler"));
    home.hooks(&["remove", "tester"]).ok();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\"a\": 1}");

    // A project is not trusted that far.
    let project = home.file("project");
    fs::create_dir_all(project.join(".tester")).unwrap();
    symlink(&real, project.join(".tester/settings.json")).unwrap();
    let told = home.hooks(&["install", "tester", "--project", project.to_str().unwrap()]);
    assert!(told.code == 1 && told.out.contains("leads out"), "{told:?}");
    fs::remove_file(project.join(".tester/settings.json")).unwrap();
    home.hooks(&["install", "tester", "--project", project.to_str().unwrap()]).ok();
    home.hooks(&["remove", "tester", "--project", project.to_str().unwrap()]).ok();
    assert_eq!(fs::read_dir(project.join(".tester")).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\"a\": 1}");
}

#[test]
fn twenty_installations_at_once_leave_one_set() {
    let home = home_with_tester();
    fs::write(home.settings(), "{\"mine\": [1, 2, 3]}").unwrap();
    let started: Vec<_> = (0..20)
        .map(|_| home.logged(&["hooks", "install", "tester"]).stdout(Stdio::null()).spawn().unwrap())
        .collect();
    for mut child in started {
        assert!(child.wait().unwrap().success());
    }
    let text = fs::read_to_string(home.settings()).unwrap();
    assert_eq!(text.matches("--by-ostler").count(), 3, "{text}");
    home.hooks(&["remove", "tester"]).ok();
    assert_eq!(fs::read_to_string(home.settings()).unwrap(), "{\"mine\": [1, 2, 3]}");
}

/// A session, and hooks run as if by the agent in it.
struct Reporter {
    home: TestHome,
    env: HashMap<String, String>,
}

impl Reporter {
    fn new() -> Self {
        let home = home_with_tester();
        Done::from(&home.logged(&["daemon", "start"]).output().unwrap()).ok();
        let file = home.file("env");
        home.start_sh("a", &format!("env > {0}.new; mv {0}.new {0}; sleep 600", file.display()));
        let text = until_file(&file, "the session wrote its environment", || fs::read_to_string(&file).ok());
        let env = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { env: env.filter(|(name, _)| name.starts_with("OSTLER_")).collect(), home }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.logged(&[&["hook"], args].concat());
        command.envs(&self.env);
        command
    }

    fn report(&self, args: &[&str], payload: &[u8]) -> Done {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(payload).unwrap();
        Done::from(&child.wait_with_output().unwrap())
    }

    /// How often the session heard of an event.
    fn heard(&self, event: &str) -> usize {
        let log = fs::read_to_string(self.home.path().join("daemon.log")).unwrap();
        let event = format!("event=\"{event}\"");
        log.lines().filter(|line| line.contains(": hook heard ") && line.contains(&event)).count()
    }

    #[track_caller]
    fn await_heard(&self, event: &str) {
        until(&format!("{event} is heard"), || (self.heard(event) > 0).then_some(()));
    }

    fn spooled(&self) -> usize {
        let Ok(entries) = fs::read_dir(self.home.path().join("spool")) else { return 0 };
        entries.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_file()).count()
    }

    fn restart_daemon(&self) {
        Done::from(&self.home.logged(&["daemon", "start"]).output().unwrap()).ok();
    }
}

#[test]
fn a_report_reaches_its_session_and_nothing_is_printed() {
    let reporter = Reporter::new();
    let done = reporter.report(&["Stop", "--agent", "tester", "--by-ostler"], b"{\"session_id\":\"x\"}");
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""));
    reporter.await_heard("Stop");
    let done =
        reporter.report(&["Other", "--print", "{}", "--context", "--from-the-future", "x"], b"not json");
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "{}", ""));
    reporter.await_heard("Other");
    // Where the session has hooks of its own, those of a settings file keep silent.
    let mut doubled = reporter.command(&["Doubled", "--print", "{}", "--by-ostler"]);
    assert!(doubled.env("OSTLER_HOOKS", "session").output().unwrap().stdout.is_empty());
    let mut own = reporter.command(&["Own", "--per-session"]);
    assert!(own.env("OSTLER_HOOKS", "session").status().unwrap().success());
    reporter.await_heard("Own");
    assert_eq!((reporter.heard("Doubled"), reporter.heard("Stop"), reporter.heard("Other")), (0, 1, 1));
}

#[test]
fn outside_a_session_a_hook_does_nothing() {
    let home = home_with_tester();
    let done =
        home.logged(&["hook", "Stop", "--print", "{}"]).env_remove("OSTLER_SESSION_ID").output().unwrap();
    assert!(done.status.success() && done.stdout.is_empty() && done.stderr.is_empty());
    assert!(!home.path().join("spool").exists() && !home.path().join("daemon.sock").exists());
}

#[test]
fn a_wrong_nonce_or_session_is_refused() {
    let reporter = Reporter::new();
    for (name, value) in [
        ("OSTLER_HOOK_NONCE", "0".repeat(64)),
        ("OSTLER_HOOK_NONCE", String::new()),
        ("OSTLER_SESSION_ID", "../a".into()),
    ] {
        let done = reporter.command(&["Forged", "--print", "{}"]).env(name, value).output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty());
        assert_eq!(done.stdout, b"{}");
    }
    // Nor from the spool, where they lie if no daemon is there to refuse them.
    reporter.home.kill_daemon();
    assert!(reporter.command(&["Forged"]).env("OSTLER_HOOK_NONCE", "1").status().unwrap().success());
    assert_eq!(reporter.spooled(), 1);
    reporter.restart_daemon();
    until("the spool is empty", || (reporter.spooled() == 0).then_some(()));
    reporter.report(&["Real"], b"");
    reporter.await_heard("Real");
    assert_eq!(reporter.heard("Forged"), 0);
}

#[test]
fn reports_that_find_no_daemon_are_all_heard_by_the_next() {
    let reporter = Reporter::new();
    reporter.home.kill_daemon();
    for index in 0..20 {
        let done = reporter.report(&[&format!("Event-{index}"), "--print", "{}"], b"{\"a\": 1}");
        assert_eq!((done.code, done.out.as_str()), (0, "{}"));
    }
    assert_eq!(reporter.spooled(), 20);
    // Daemons that are killed while they read the spool leave it to the next.
    for _ in 0..5 {
        reporter.restart_daemon();
        reporter.home.kill_daemon();
    }
    reporter.restart_daemon();
    until("the spool is empty", || (reporter.spooled() == 0).then_some(()));
    reporter.report(&["Last"], b"");
    reporter.await_heard("Last");
    let heard: Vec<usize> = (0..20).map(|index| reporter.heard(&format!("Event-{index}"))).collect();
    assert!(heard.iter().all(|count| *count >= 1), "{heard:?}");
    // At most the one that a daemon just heard when it was killed is heard again each time.
    assert!(heard.iter().sum::<usize>() <= 25, "{heard:?}");
}

#[test]
fn a_daemon_that_is_stuck_holds_up_no_agent_and_hears_once() {
    let reporter = Reporter::new();
    let pid = Pid::from_raw(i32::try_from(reporter.home.daemon_pid()).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let started = Instant::now();
    for index in 0..10 {
        reporter.report(&[&format!("Event-{index}")], &vec![b'x'; 300_000]);
    }
    let took = started.elapsed();
    kill_process(pid, Signal::CONT).unwrap();
    assert!(took < Duration::from_secs(5), "{took:?}");
    for index in 0..10 {
        reporter.await_heard(&format!("Event-{index}"));
    }
    until("the spool is empty", || (reporter.spooled() == 0).then_some(()));
    reporter.report(&["Last"], b"");
    reporter.await_heard("Last");
    assert!((0..10).all(|index| reporter.heard(&format!("Event-{index}")) == 1));
}

#[test]
fn a_payload_of_100_mb_costs_neither_memory_nor_the_report() {
    let reporter = Reporter::new();
    let script = format!(
        "ulimit -v 300000; (printf '{{\"session_id\":\"x\",\"y\":\"'; head -c 100000000 /dev/zero) | {} hook Big --print '{{}}'",
        ostler().display()
    );
    let started = Instant::now();
    let mut command = Command::new("sh");
    command.args(["-c", &script]).envs(&reporter.env);
    let done = Done::from(&command.output().unwrap());
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "{}", ""));
    assert!(started.elapsed() < Duration::from_secs(20));
    reporter.await_heard("Big");
    assert_eq!(reporter.heard("Big"), 1);
}
