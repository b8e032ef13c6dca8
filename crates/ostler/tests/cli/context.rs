//! What is kept of a project, and how it gets to agents.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ostler_core::Timestamp;
use ostler_store::Store;
use serde_json::Value;

use crate::support::{Done, TestHome, ostler, until};

/// A home and a project beside it.
struct Lab {
    home: TestHome,
    project: PathBuf,
}

impl Lab {
    fn new() -> Self {
        let home = TestHome::new();
        let project = home.scratch().canonicalize().unwrap().join("project");
        fs::create_dir_all(project.join("src/deep")).unwrap();
        Self { home, project }
    }

    /// The same, as a work tree of git.
    fn with_git() -> Self {
        let lab = Self::new();
        lab.git(&["init", "-q", "-b", "trunk"]);
        fs::write(lab.project.join("a.txt"), "one\n").unwrap();
        lab.git(&["add", "."]);
        lab.git(&["commit", "-qm", "Begin the work"]);
        lab
    }

    fn git(&self, args: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgSign=false"];
        let mut git = Command::new("git");
        git.current_dir(&self.project).args(identity).args(args).stdin(Stdio::null());
        assert!(git.status().unwrap().success(), "{args:?}");
    }

    fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = self.home.command([&["context"], args].concat());
        command.current_dir(dir).env_remove("OSTLER_SESSION_ID");
        command
    }

    fn run(&self, args: &[&str]) -> Done {
        Done::from(&self.command(&self.project, args).output().unwrap())
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[args, &["--json"]].concat()).ok()).unwrap()
    }

    fn records(&self) -> Vec<Value> {
        self.json(&["show"])["records"].as_array().unwrap().clone()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.project.join(name)
    }
}

fn block(id: &str) -> String {
    format!("<!-- ostler:begin {id} -->\nsome context\n<!-- ostler:end {id} -->\n")
}

#[test]
fn what_is_saved_is_shown_and_loaded() {
    let lab = Lab::with_git();
    let project = lab.project.to_str().unwrap();
    assert!(lab.run(&["load"]).ok().starts_with(&format!("nothing is known of {project} yet")));
    assert_eq!(lab.json(&["load"])["text"], "");
    assert_eq!(lab.records(), Vec::<Value>::new());
    fs::write(lab.file("b.txt"), "new\n").unwrap();
    let said = lab.run(&["save", "Wrote the parser", "--open", "test it", "--open", "tell the others"]).ok();
    assert_eq!(said, format!("kept for {project}\n"));
    // From anywhere in the project, and from standard input.
    let mut command = lab.command(&lab.file("src/deep"), &["save", "-", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"Second\x1b[2J line\n").unwrap();
    let kept: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!((&kept["summary"], &kept["source"]), (&"Second[2J line".into(), &"person".into()));

    let records = lab.records();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0], kept);
    assert_eq!(records[1]["open"], serde_json::json!(["test it", "tell the others"]));
    assert_eq!(
        (&records[1]["branch"], &records[1]["files"]),
        (&"trunk".into(), &serde_json::json!(["b.txt"]))
    );
    assert!(records[1]["commit"].as_str().unwrap().ends_with(" Begin the work"));
    let shown = lab.run(&["show"]).ok();
    for text in [project, "by person", "  Wrote the parser", "tell the others", "trunk", "b.txt"] {
        assert!(shown.contains(text), "{text:?} is not in {shown}");
    }

    let text = lab.run(&["load", "--task", "Fix it."]).ok();
    for part in
        ["## Task\n\nFix it.\n", "## Earlier work", "> Wrote the parser\n", "- test it\n", "branch trunk"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!text.contains("## Code"), "{text}");
    assert!(lab.run(&["save"]).fails(2, &["nothing to save"]).contains("ostler:"));
    lab.run(&["load", "--cwd", "/no/such/place"]).fails(2, &["there is no directory"]);
    lab.run(&["load", "nobody"]).fails(1, &["no session called"]);
}

#[test]
fn projects_are_kept_apart_and_need_no_git() {
    let lab = Lab::new();
    lab.run(&["save", "in the project"]).ok();
    let deep = lab.file("src/deep");
    let shown = |dir: &Path| lab.json(&["show", "--cwd", dir.to_str().unwrap()])["records"].clone();
    assert_eq!(shown(&deep), serde_json::json!([]));
    let record = &shown(&lab.project)[0];
    assert_eq!((&record["branch"], &record["files"]), (&Value::Null, &serde_json::json!([])));
    // A link to the project is the project.
    let link = lab.home.scratch().join("link");
    symlink(&lab.project, &link).unwrap();
    assert_eq!(shown(&link)[0], *record);
    assert_eq!(lab.run(&["clear", "--records"]).ok(), "forgot 1 record\n");
    assert_eq!(lab.records(), Vec::<Value>::new());
}

#[test]
fn a_context_keeps_to_its_budget_and_tells_of_code() {
    let lab = Lab::with_git();
    fs::write(lab.file(".gitignore"), "build/\n").unwrap();
    fs::create_dir(lab.file("build")).unwrap();
    fs::write(lab.file("build/out.rs"), "fn retry_budget() {}\n").unwrap();
    fs::write(lab.file("src/net.rs"), "// net\npub fn retry_budget(limit: u32) {}\n").unwrap();
    for n in 0..12 {
        lab.run(&["save", &format!("Step {n}: {}", "more words ".repeat(100))]).ok();
    }
    let task = format!("Raise retry_budget. {}", "Be careful. ".repeat(300));
    let whole = lab.json(&["load", "--task", &task, "--budget", "100000"]);
    assert!(whole["text"].as_str().unwrap().contains("- src/net.rs:2: pub fn retry_budget(limit: u32) {}\n"));
    assert_eq!((&whole["places"], &whole["records"]), (&1.into(), &12.into()));
    for budget in [0, 50, 400, 1_000, 3_000, 8_192] {
        let text = lab.run(&["load", "--task", &task, "--budget", &budget.to_string()]).ok();
        assert!(text.len() <= budget.max(200), "{} > {budget}", text.len());
        assert!(budget < 1_000 || text.contains("Step 11: "), "{text}");
    }
    let usual = lab.run(&["load", "--task", &task]).ok();
    assert!(usual.len() <= 8_192 && usual.len() > 7_000, "{}", usual.len());
    fs::create_dir_all(lab.home.path().join("config")).unwrap();
    fs::write(
        lab.home.path().join("config/config.toml"),
        "[context]\nbudget_bytes = 900\ncode_search = false\n",
    )
    .unwrap();
    let smaller = lab.json(&["load", "--task", &task]);
    assert!(smaller["text"].as_str().unwrap().len() <= 900, "{smaller}");
    assert_eq!(smaller["places"], 0);
}

#[test]
fn clearing_takes_out_what_is_ours_and_nothing_else() {
    let lab = Lab::with_git();
    let mine = "# Mine\r\nno end of line";
    fs::write(lab.file("AGENTS.md"), format!("{mine}\r\n{}", block("s-1").replace('\n', "\r\n").trim_end()))
        .unwrap();
    fs::write(lab.file("CLAUDE.md"), format!("<!-- ostler:made -->\n{}{}", block("s-1"), block("s-2")))
        .unwrap();
    fs::write(lab.file("elsewhere.md"), block("s-1")).unwrap();
    symlink("elsewhere.md", lab.file("GEMINI.md")).unwrap();
    lab.run(&["save", "stays"]).ok();
    let said = lab.run(&["clear"]).ok();
    let project = lab.project.display();
    assert!(said.contains(&format!("took 1 block out of {project}/AGENTS.md\n")), "{said}");
    assert!(
        said.contains(&format!("removed {project}/CLAUDE.md, which ostler had made (2 blocks)\n")),
        "{said}"
    );
    assert_eq!(fs::read_to_string(lab.file("AGENTS.md")).unwrap(), mine);
    assert!(!lab.file("CLAUDE.md").exists());
    assert_eq!(fs::read_to_string(lab.file("elsewhere.md")).unwrap(), block("s-1"));
    assert_eq!(lab.run(&["clear"]).ok(), format!("there was nothing to clear in {project}\n"));
    assert_eq!(lab.records().len(), 1);

    fs::write(lab.file("AGENTS.md"), block("s-1")).unwrap();
    fs::set_permissions(lab.file("AGENTS.md"), fs::Permissions::from_mode(0o400)).unwrap();
    let done = lab.run(&["clear", "--records", "--json"]);
    assert_eq!(done.code, 1, "{done:?}");
    let cleared: Value = serde_json::from_str(&done.out).unwrap();
    assert!(cleared["files"][0]["problem"].as_str().unwrap().contains("read-only"), "{cleared}");
    assert_eq!(cleared["records"], 1);
}

#[test]
fn an_agent_finds_its_project_wherever_it_went() {
    let lab = Lab::with_git();
    lab.run(&["save", "Earlier work"]).ok();
    let ostler = ostler().display();
    let script = format!(
        "cd /; {ostler} context load > {0}/loaded; {ostler} context save 'From within' --open 'more'; \
         {ostler} context load --cwd / > {0}/root; echo done; read x",
        lab.project.display()
    );
    let start = ["start", "sh", "--name", "inner", "--json", "--cwd", lab.project.to_str().unwrap(), "--"];
    lab.home.json([&start[..], &["-c", &script]].concat());
    lab.home.await_screen("inner", "done");
    assert!(fs::read_to_string(lab.file("loaded")).unwrap().contains("> Earlier work\n"));
    assert!(fs::read_to_string(lab.file("root")).unwrap().contains("nothing is known of / yet"));
    let record = &lab.records()[0];
    assert_eq!((&record["source"], &record["session"]), (&"agent".into(), &"inner".into()));
    // From outside, by the session's name.
    let text = Done::from(&lab.command(Path::new("/"), &["load", "inner"]).output().unwrap()).ok();
    assert!(text.contains("> From within\n"), "{text}");
    // A session that nobody knows is no obstacle.
    let mut stranger = lab.command(&lab.project, &["load"]);
    let text = Done::from(&stranger.env("OSTLER_SESSION_ID", "of-another-home").output().unwrap()).ok();
    assert!(text.contains("> From within\n"), "{text}");
}

#[test]
fn what_waits_for_a_session_is_the_first_it_loads() {
    let lab = Lab::with_git();
    lab.run(&["save", "Earlier work"]).ok();
    let out = lab.file("loaded");
    let script =
        format!("read x; {} context load > {}; echo done; read y", ostler().display(), out.display());
    let start = ["start", "sh", "--name", "inner", "--json", "--cwd", lab.project.to_str().unwrap(), "--"];
    let session = lab.home.json([&start[..], &["-c", &script]].concat());
    let id = session["id"].as_str().unwrap();
    let mut store = Store::open(&lab.home.path().join("ostler.db")).unwrap();
    let waiting = format!("Your assignment: {}\n", "care ".repeat(3_000));
    store.set_pending_context(id, &waiting, Timestamp(1)).unwrap();
    lab.home.ok(["send", "inner", "--raw", "\n"]);
    lab.home.await_screen("inner", "done");
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.starts_with("Your assignment: care"), "{text}");
    assert!(text.len() >= waiting.trim_end().len(), "it is not cut");
    let loaded = until("it is noted", || store.pending_context(id).unwrap()?.loaded);
    assert!(loaded > Timestamp(1));
    let events = lab.home.ok(["events", "inner", "--json"]);
    assert!(events.contains("\"context.loaded\""), "{events}");
    // Another session of the project has nothing waiting.
    assert!(!lab.run(&["load"]).ok().contains("Your assignment"));
}
