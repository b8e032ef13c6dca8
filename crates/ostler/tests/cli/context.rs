//! What is kept of a project, and how it gets to agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ostler_core::Wall;
use ostler_store::Store;
use serde_json::Value;

use crate::support::{Done, TRANSCRIPT, TestHome, ostler, until};

/// A project, and a home that keeps records of it.
struct Project {
    home: TestHome,
    dir: PathBuf,
}

impl Project {
    fn new() -> Self {
        let home = TestHome::new();
        let project = home.scratch().canonicalize().unwrap().join("project");
        fs::create_dir_all(project.join("src/deep")).unwrap();
        Self { home, dir: project }
    }

    /// The same, as a work tree of git.
    fn with_git() -> Self {
        let project = Self::new();
        project.git(&["init", "-q", "-b", "trunk"]);
        fs::write(project.dir.join("a.txt"), "one\n").unwrap();
        project.git(&["add", "."]);
        project.git(&["commit", "-qm", "Begin the work"]);
        project
    }

    fn git(&self, args: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false"];
        let mut git = Command::new("git");
        git.current_dir(&self.dir).args(identity).args(args).stdin(Stdio::null());
        assert!(git.status().unwrap().success(), "{args:?}");
    }

    fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = self.home.command([&["context"], args].concat());
        command.current_dir(dir);
        command
    }

    fn run(&self, args: &[&str]) -> Done {
        Done::from(&self.command(&self.dir, args).output().unwrap())
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[args, &["--json"]].concat()).ok()).unwrap()
    }

    fn records(&self) -> Vec<Value> {
        self.json(&["show"])["records"].as_array().unwrap().clone()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

fn block(id: &str) -> String {
    format!("<!-- ostler:begin {id} -->\nsome context\n<!-- ostler:end {id} -->\n")
}

#[test]
fn what_is_saved_is_shown_and_loaded() {
    let project = Project::with_git();
    let place = project.dir.to_str().unwrap();
    assert!(project.run(&["load"]).ok().starts_with(&format!("nothing is known of {place} yet")));
    assert_eq!(project.json(&["load"])["text"], "");
    assert_eq!(project.records(), Vec::<Value>::new());
    fs::write(project.file("b.txt"), "new\n").unwrap();
    let said =
        project.run(&["save", "Wrote the parser", "--open", "test it", "--open", "tell the others"]).ok();
    assert_eq!(said, format!("kept for {place}\n"));
    // From anywhere in the project, and from standard input.
    let mut command = project.command(&project.file("src/deep"), &["save", "-", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"Second\x1b[2J line\n").unwrap();
    let kept: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!((&kept["summary"], &kept["source"]), (&"Second[2J line".into(), &"person".into()));

    let records = project.records();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0], kept);
    assert_eq!(records[1]["open"], serde_json::json!(["test it", "tell the others"]));
    assert_eq!(
        (&records[1]["branch"], &records[1]["files"]),
        (&"trunk".into(), &serde_json::json!(["b.txt"]))
    );
    assert!(records[1]["commit"].as_str().unwrap().ends_with(" Begin the work"));
    let shown = project.run(&["show"]).ok();
    for text in [place, "by person", "  Wrote the parser", "tell the others", "trunk", "b.txt"] {
        assert!(shown.contains(text), "{text:?} is not in {shown}");
    }

    let text = project.run(&["load", "--task", "Fix it."]).ok();
    for part in
        ["## Task\n\nFix it.\n", "## Earlier work", "> Wrote the parser\n", "- test it\n", "branch trunk"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!text.contains("## Code"), "{text}");
    assert!(project.run(&["save"]).fails(2, &["nothing to save"]).contains("ostler:"));
    project.run(&["load", "--cwd", "/no/such/place"]).fails(2, &["there is no directory"]);
    project.run(&["load", "nobody"]).fails(1, &["no session called"]);
}

#[test]
fn projects_are_kept_apart_and_need_no_git() {
    let project = Project::new();
    project.run(&["save", "in the project"]).ok();
    let deep = project.file("src/deep");
    let shown = |dir: &Path| project.json(&["show", "--cwd", dir.to_str().unwrap()])["records"].clone();
    assert_eq!(shown(&deep), serde_json::json!([]));
    let record = &shown(&project.dir)[0];
    assert_eq!((&record["branch"], &record["files"]), (&Value::Null, &serde_json::json!([])));
    // A link to the project is the project.
    let link = project.home.scratch().join("link");
    symlink(&project.dir, &link).unwrap();
    assert_eq!(shown(&link)[0], *record);
    assert_eq!(project.run(&["clear", "--records"]).ok(), "forgot 1 record\n");
    assert_eq!(project.records(), Vec::<Value>::new());
}

#[test]
fn a_context_keeps_to_its_budget_and_tells_of_code() {
    let project = Project::with_git();
    fs::write(project.file(".gitignore"), "build/\n").unwrap();
    fs::create_dir(project.file("build")).unwrap();
    fs::write(project.file("build/out.rs"), "fn retry_budget() {}\n").unwrap();
    fs::write(project.file("src/net.rs"), "// net\npub fn retry_budget(limit: u32) {}\n").unwrap();
    for n in 0..12 {
        project.run(&["save", &format!("Step {n}: {}", "more words ".repeat(100))]).ok();
    }
    let task = format!("Raise retry_budget. {}", "Be careful. ".repeat(300));
    let whole = project.json(&["load", "--task", &task, "--budget", "100000"]);
    assert!(whole["text"].as_str().unwrap().contains("- src/net.rs:2: pub fn retry_budget(limit: u32) {}\n"));
    assert_eq!((&whole["places"], &whole["records"]), (&1.into(), &12.into()));
    for budget in [0, 50, 400, 1_000, 3_000, 8_192] {
        let text = project.run(&["load", "--task", &task, "--budget", &budget.to_string()]).ok();
        assert!(text.len() <= budget.max(200), "{} > {budget}", text.len());
        assert!(budget < 1_000 || text.contains("Step 11: "), "{text}");
    }
    let usual = project.run(&["load", "--task", &task]).ok();
    assert!(usual.len() <= 8_192 && usual.len() > 7_000, "{}", usual.len());
    project.home.write_settings("[context]\nbudget_bytes = 900\ncode_search = false\n");
    let smaller = project.json(&["load", "--task", &task]);
    assert!(smaller["text"].as_str().unwrap().len() <= 900, "{smaller}");
    assert_eq!(smaller["places"], 0);
}

#[test]
fn clearing_takes_out_what_is_ours_and_nothing_else() {
    let project = Project::with_git();
    let mine = "# Mine\r\nno end of line";
    fs::write(
        project.file("AGENTS.md"),
        format!("{mine}\r\n{}", block("s-1").replace('\n', "\r\n").trim_end()),
    )
    .unwrap();
    fs::write(project.file("CLAUDE.md"), format!("<!-- ostler:made -->\n{}{}", block("s-1"), block("s-2")))
        .unwrap();
    fs::write(project.file("elsewhere.md"), block("s-1")).unwrap();
    symlink("elsewhere.md", project.file("GEMINI.md")).unwrap();
    project.run(&["save", "stays"]).ok();
    let done = project.run(&["clear"]);
    let place = project.dir.display();
    // Nobody writes through a link; but whoever made it should know what is behind it.
    assert!(done.code == 1 && done.out.contains("GEMINI.md") && done.out.contains("link"), "{done:?}");
    let said = done.out;
    assert!(said.contains(&format!("took 1 block out of {place}/AGENTS.md\n")), "{said}");
    assert!(
        said.contains(&format!("removed {place}/CLAUDE.md, which ostler had made (2 blocks)\n")),
        "{said}"
    );
    assert_eq!(fs::read_to_string(project.file("AGENTS.md")).unwrap(), mine);
    assert!(!project.file("CLAUDE.md").exists());
    assert_eq!(fs::read_to_string(project.file("elsewhere.md")).unwrap(), block("s-1"));
    fs::write(project.file("elsewhere.md"), "").unwrap();
    assert_eq!(project.run(&["clear"]).ok(), format!("there was nothing to clear in {place}\n"));
    assert_eq!(project.records().len(), 1);

    fs::write(project.file("AGENTS.md"), block("s-1")).unwrap();
    fs::set_permissions(project.file("AGENTS.md"), fs::Permissions::from_mode(0o400)).unwrap();
    let done = project.run(&["clear", "--records", "--json"]);
    assert_eq!(done.code, 1, "{done:?}");
    let cleared: Value = serde_json::from_str(&done.out).unwrap();
    assert!(cleared["files"][0]["problem"].as_str().unwrap().contains("read-only"), "{cleared}");
    assert_eq!(cleared["records"], 1);
}

#[test]
fn an_agent_finds_its_project_wherever_it_went() {
    let project = Project::with_git();
    project.run(&["save", "Earlier work"]).ok();
    let ostler = ostler().display();
    let script = format!(
        "cd /; {ostler} context load > {0}/loaded; {ostler} context save 'From within' --open 'more'; \
         {ostler} context load --cwd / > {0}/root; echo done; read x",
        project.dir.display()
    );
    let start = ["start", "sh", "--name", "inner", "--json", "--cwd", project.dir.to_str().unwrap(), "--"];
    project.home.json([&start[..], &["-c", &script]].concat());
    project.home.await_screen("inner", "done");
    assert!(fs::read_to_string(project.file("loaded")).unwrap().contains("> Earlier work\n"));
    assert!(fs::read_to_string(project.file("root")).unwrap().contains("nothing is known of / yet"));
    let record = &project.records()[0];
    assert_eq!((&record["source"], &record["session"]), (&"agent".into(), &"inner".into()));
    // From outside, by the session's name.
    let text = Done::from(&project.command(Path::new("/"), &["load", "inner"]).output().unwrap()).ok();
    assert!(text.contains("> From within\n"), "{text}");
    // A session that nobody knows is no obstacle.
    let mut stranger = project.command(&project.dir, &["load"]);
    let text = Done::from(&stranger.env("OSTLER_SESSION_ID", "of-another-home").output().unwrap()).ok();
    assert!(text.contains("> From within\n"), "{text}");
}

/// An agent that is nobody's, and writes down what is said.
const PRESET: &str = r#"
[run]
command = "tester"
[config]
dir = "~/.tester"
env = "TESTER_HOME"
"#;

impl Project {
    fn write_preset(&self) {
        // The end of a turn is the last of the transcript's records.
        let ends = "[[transcript.records]]\nfact = \"turn_ended\"\nwhen = { \"/type\" = \"assistant\" }\n";
        self.home.write_preset_of("tester", &format!("{PRESET}{TRANSCRIPT}{ends}"));
    }

    /// Starts a shell script as that agent.
    fn start_agent(&self, name: &str, script: &str) {
        self.write_preset();
        let chats = self.home.scratch().join("tester/chats");
        fs::create_dir_all(&chats).unwrap();
        let variable = format!("TESTER_HOME={}", self.home.scratch().join("tester").display());
        let chat = format!("CHAT={}", chats.join(format!("{name}.jsonl")).display());
        let cwd = self.dir.to_str().unwrap();
        let start = ["start", "sh", "--as", "tester", "--no-wait", "--name", name, "--json", "--cwd", cwd];
        let rest = ["--env", &variable, "--env", &chat, "--", "-c", script];
        let started = self.home.json([&start[..], &rest].concat());
        assert_eq!(started["agent"], "tester");
    }

    /// Ends a script that reads a line, once it does so.
    fn leave(&self, name: &str) {
        let wait = |state| self.home.json(["wait", name, state, "--timeout", "30", "--json"]);
        wait("idle,working");
        self.home.ok(["send", name, "--raw", "\n"]);
        wait("exited");
    }

    fn line(&self, kind: &str, text: &str) -> String {
        let line = serde_json::json!({ "cwd": self.dir, "type": kind, "text": text }).to_string();
        format!("printf '%s\\n' '{}' >> $CHAT; ", line.replace('\'', "'\\''"))
    }
}

#[test]
fn a_session_that_ends_leaves_a_record_of_itself() {
    let project = Project::with_git();
    // Neither a program that is no agent nor an agent that was asked nothing leaves one.
    project.home.start_sh("plain", "exit 0");
    project.start_agent("silent", "exit 0");
    let script = [
        project.line("user", "Fix the parser"),
        project.line("assistant", "Working on it."),
        project.line("user", "And test it"),
        "read x; ".into(),
        "echo two > a.txt; git add .; git -c user.name=t -c user.email=t@t commit -qm 'Mend the parser'; "
            .into(),
        "echo new > b.txt; ".into(),
        project.line("assistant", "I mended it.\n\n- [x] parser\n- [ ] tests"),
    ];
    // It ends right behind its last words.
    project.start_agent("fix", &script.concat());
    project.leave("fix");
    // What is known at its end is kept at once; its last words and the work tree are looked at then.
    let complete = |record: &Value| record["branch"] == "trunk";
    let record = until("there is a record", || project.records().first().cloned().filter(complete));
    assert_eq!(project.records().len(), 1);
    let summary = record["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("Asked: Fix the parser\nAsked: And test it\nLast answer:\nI mended it."),
        "{record}"
    );
    assert_eq!((&record["source"], &record["session"]), (&"session".into(), &"fix".into()));
    assert_eq!((&record["agent"], &record["open"]), (&"tester".into(), &serde_json::json!(["tests"])));
    assert_eq!((&record["branch"], &record["files"]), (&"trunk".into(), &serde_json::json!(["b.txt"])));
    let commits = record["commits"].as_array().unwrap();
    assert!(commits[0].as_str().unwrap().ends_with(" Mend the parser"), "{record}");

    // The next one is told.
    project
        .start_agent("next", &format!("{} context load > ../loaded; echo done; read x", ostler().display()));
    project.home.await_screen("next", "done");
    let text = fs::read_to_string(project.home.scratch().join("loaded")).unwrap();
    for part in ["session fix (tester)", "> I mended it.", "Open:\n- tests", "Mend the parser", "b.txt"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn an_agent_that_tells_nothing_is_known_by_what_it_was_sent() {
    let project = Project::new();
    project.write_preset();
    let (program, cwd) = (ostler().to_str().unwrap(), project.dir.to_str().unwrap());
    let start =
        ["start", program, "--as", "tester", "--name", "mute", "--json", "--cwd", cwd, "--", "stand-in"];
    assert_eq!(project.home.json(start)["agent"], "tester");
    project.home.await_screen("mute", "Type a message");
    project.home.ok(["send", "mute", "--raw", "!say hello there\r"]);
    project.home.await_screen("mute", "● hello there");
    project.home.ok(["send", "mute", "--raw", "not entered"]);
    project.home.ok(["stop", "mute"]);
    // Whatever becomes of the daemon now.
    project.home.kill_daemon();
    let record = project.records().first().cloned().expect("a record");
    assert_eq!(
        (&record["summary"], &record["open"]),
        (&"Asked: !say hello there".into(), &serde_json::json!([]))
    );
    let text = Done::from(&project.command(Path::new("/"), &["load", "mute"]).output().unwrap()).ok();
    assert!(text.contains("> Asked: !say hello there\n"), "{text}");
}

#[test]
fn who_wants_no_records_gets_none() {
    let mut project = Project::new();
    let first = project.dir.clone();
    let settings = project.home.write_settings("[context]\nrecord_sessions = false\n");
    project.start_agent("off", &(project.line("user", "Something") + "read x"));
    project.leave("off");
    // By the time that another project's session has come and gone, this one's would be there.
    project.dir = first.with_file_name("other");
    fs::create_dir(&project.dir).unwrap();
    project.start_agent("off-too", &(project.line("user", "Something") + "read x"));
    project.leave("off-too");
    fs::remove_file(settings).unwrap();
    project.start_agent("on", &(project.line("user", "Something else") + "read x"));
    project.leave("on");
    until("there is a record", || {
        project.records().iter().any(|record| record["session"] == "on").then_some(())
    });
    assert_eq!(project.json(&["show", "--cwd", first.to_str().unwrap()])["records"], serde_json::json!([]));
}

#[test]
fn what_was_said_outlives_the_daemon() {
    let project = Project::new();
    let script = format!(
        "{}{}echo ready; read x; exit 0",
        project.line("user", "Begin"),
        project.line("assistant", "Begun."),
    );
    project.start_agent("long", &script);
    project.home.await_screen("long", "ready");
    project.home.json(["wait", "long", "idle", "--timeout", "30", "--json"]);
    project.home.kill_daemon();
    project.leave("long");
    let record = until("there is a record", || project.records().first().cloned());
    assert_eq!(record["summary"], "Asked: Begin\nLast answer: Begun.");
}

#[test]
fn what_waits_for_a_session_is_the_first_it_loads() {
    let project = Project::with_git();
    project.run(&["save", "Earlier work"]).ok();
    let out = project.file("loaded");
    let script =
        format!("read x; {} context load > {}; echo done; read y", ostler().display(), out.display());
    let start = ["start", "sh", "--name", "inner", "--json", "--cwd", project.dir.to_str().unwrap(), "--"];
    let session = project.home.json([&start[..], &["-c", &script]].concat());
    let id = session["id"].as_str().unwrap();
    let mut store = Store::open(&project.home.path().join("ostler.db")).unwrap();
    let waiting = format!("Your assignment: {}\n", "care ".repeat(3_000));
    store.set_pending_context(id, "m1", &waiting, Wall(1)).unwrap();
    project.home.ok(["send", "inner", "--raw", "\n"]);
    project.home.await_screen("inner", "done");
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.starts_with("Your assignment: care"), "{text}");
    assert!(text.len() >= waiting.trim_end().len(), "it is not cut");
    let loaded = until("it is noted", || store.pending_context(id).unwrap()[0].loaded);
    assert!(loaded > Wall(1));
    let events = project.home.ok(["events", "inner", "--json"]);
    assert!(events.contains("\"context.loaded\""), "{events}");
    // What it tells is not told again.
    store.set_pending_context(id, "m1", "## Earlier work in this project\n\n> Mine\n", Wall(2)).unwrap();
    let text = project.run(&["load", "inner", "--task", "Go on."]).ok();
    assert_eq!(text.matches("## Earlier work").count(), 1, "{text}");
    assert!(
        text.starts_with("## Earlier") && text.contains("> Mine\n\n# Context") && text.contains("Go on."),
        "{text}"
    );
    // Another session of the project has nothing waiting.
    assert!(!project.run(&["load"]).ok().contains("Your assignment"));
}
