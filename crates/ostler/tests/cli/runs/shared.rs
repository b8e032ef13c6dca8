//! Runs whose record is on a server that speaks the Redis protocol.

#![allow(clippy::print_stdout, reason = "what is left out is said")]

use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::team::reasons;
use crate::support::{TestHome, until};

/// A server on a socket of its own, whose acknowledged writes survive its end.
pub(super) struct Server {
    program: PathBuf,
    dir: tempfile::TempDir,
    child: Child,
}

impl Server {
    /// Starts the server that the tests are told of, or the one on the path.
    pub(super) fn start() -> Option<Self> {
        let named = std::env::var_os("OSTLER_TEST_REDIS").filter(|value| !value.is_empty());
        let named = named.and_then(|named| std::env::split_paths(&named).next());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path =
            || std::env::split_paths(&path).map(|dir| dir.join("redis-server")).find(|file| file.is_file());
        let Some(program) = named.or_else(on_path) else {
            println!("left out: no redis-server found (install one, or set OSTLER_TEST_REDIS)");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let child = spawn(&program, &dir);
        Some(Self { program, dir, child })
    }

    fn url(&self) -> String {
        format!("unix://{}", self.dir.path().join("socket").display())
    }

    /// A home that keeps its runs there.
    pub(super) fn home(&self) -> TestHome {
        let home = TestHome::with_repository();
        let config = format!("[store]\nurl = \"{}\"\n", self.url());
        let settings = home.path().join("config");
        DirBuilder::new().recursive(true).mode(0o700).create(settings).unwrap();
        std::fs::write(home.path().join("config/config.toml"), config).unwrap();
        home
    }

    /// Asks the server something whose answer is one string or one number.
    fn ask(&self, words: &[&str]) -> String {
        let mut stream = UnixStream::connect(self.dir.path().join("socket")).unwrap();
        write!(stream, "*{}\r\n", words.len()).unwrap();
        for word in words {
            write!(stream, "${}\r\n{word}\r\n", word.len()).unwrap();
        }
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some(length) = line.strip_prefix('$') else { return line };
        let mut text = vec![0; length.trim().parse().unwrap()];
        reader.read_exact(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn record(&self, run: &str) -> (String, Value) {
        let key = format!("{{ostler:run:{run}}}");
        let record = self.ask(&["HGET", &key, "value"]);
        (key, serde_json::from_str(&record).unwrap())
    }

    /// Whose a run is.
    pub(super) fn recorded_owner(&self, run: &str) -> String {
        self.record(run).1["owner"].as_str().unwrap().to_owned()
    }

    /// Makes a run somebody else's.
    pub(super) fn record_owner(&self, run: &str, owner: &str) {
        let (key, mut record) = self.record(run);
        record["owner"] = json!(owner);
        assert_eq!(self.ask(&["HSET", &key, "value", &record.to_string()]), ":0\r\n");
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(super) fn restart(&mut self) {
        self.child = spawn(&self.program, &self.dir);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &PathBuf, dir: &tempfile::TempDir) -> Child {
    let durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
    let mut command = Command::new(program);
    command.args(["--port", "0", "--unixsocket", "socket", "--dir"]).arg(dir.path()).args(durable);
    command.current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    let socket = dir.path().join("socket");
    until("the server answers", || UnixStream::connect(&socket).ok());
    child
}

#[test]
fn a_run_survives_the_end_of_daemon_and_server() {
    let Some(mut server) = Server::start() else { return };
    let home = server.home();
    home.agent("a", "--status", &["!write one.txt 1 !work 1s !limit 7pm"]);
    home.agent("b", "--status", &["!work 1s !write two.txt 2 !say done"]);
    let args = ["run", "Do it.", "--agent", "a,b", "--check", "cat one.txt two.txt", "--detach"];
    let id = home.run(args).ok().trim().to_owned();
    let store = home.json(["providers", "--json"])["store"].as_str().unwrap().to_owned();
    assert!(store.contains("every acknowledged write survives a kill -9 of the server"), "{store}");

    // The server goes while the first agent works, the daemon while the second does.
    home.await_state(&id, "working");
    server.kill();
    server.restart();
    until("the second agent works", || {
        let run = home.json(["runs", "show", &id, "--json"]);
        (run["provider"] == "b" && run["state"] == "working").then_some(())
    });
    home.kill_daemon();
    server.kill();
    server.restart();
    let run = home.json(["runs", "wait", &id, "--json"]);
    assert_eq!(run["state"], "done", "{run:#}");
    assert_eq!(reasons(&run), [("a".into(), "quota used up".into()), ("b".into(), "idle".into())]);
    assert_eq!(run["files"]["created"], json!(["one.txt", "two.txt"]));
    assert_eq!((home.prompts("a").len(), home.prompts("b").len()), (1, 1));
    assert_eq!(home.breaker("a"), ("open".into(), "quota".into()));
    home.await_quiet();
}

#[test]
fn a_store_named_on_the_command_line_is_used_told_and_remembered() {
    let Some(server) = Server::start() else { return };
    let home = TestHome::with_repository();
    home.agent("a", "--status", &["!write one.txt 1 !say done"]);
    let url = server.url();
    let args = ["run", "Do it.", "--agent", "a", "--check", "cat one.txt", "--store", &url];
    let done = home.run(args);
    assert!(done.err.contains("every acknowledged write survives"), "{done:?}");
    done.ok();
    // The next daemon knows it too, without a word.
    let known = || home.json(["runs", "list", "--all", "--json"]).as_array().unwrap().len();
    assert_eq!(known(), 1);
    home.kill_daemon();
    assert_eq!(known(), 1);
    assert!(home.json(["providers", "--json"])["store"].as_str().unwrap().contains("survives a kill -9"));
    // A daemon that keeps them elsewhere is not asked to do both.
    let other = ["run", "Do it.", "--agent", "a", "--store", "local"];
    home.run(other).fails(2, &["the running daemon keeps runs in", "not in local", "ostler daemon stop"]);
    home.run(["daemon", "stop"]).ok();
    home.run([&other[..], &["--detach"]].concat()).ok();
    assert_eq!(known(), 1, "one that the server does not know");
    home.run(["daemon", "stop"]).ok();
    assert_eq!(home.json(["daemon", "start", "--json"])["store"], "local");
    home.run(["run", "Do it.", "--store", "http://x"]).fails(2, &["its address must be redis://"]);
    home.await_quiet();
}
