//! Real servers, started by the tests on a socket of their own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ostler_store::shared::{RedisShared, SharedError, SharedStore};
use ostler_testkit::wait::PATIENCE;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Names servers: paths, separated by colons. Named ones must be there.
const VARIABLE: &str = "OSTLER_TEST_REDIS";

/// Every program to test with: those named, else those on the path.
pub(crate) fn programs() -> Vec<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let named: Vec<PathBuf> = env::split_paths(&named).collect();
        for program in &named {
            assert!(program.is_file(), "{VARIABLE}: {} is not there", program.display());
        }
        return named;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    let found: Vec<PathBuf> = ["redis-server", "valkey-server"].into_iter().filter_map(find).collect();
    if found.is_empty() {
        println!("left out: no redis-server or valkey-server found (install one, or set {VARIABLE})");
    }
    found
}

/// A server with its files, which both end with this value.
pub(crate) struct Server {
    program: PathBuf,
    settings: Vec<String>,
    dir: TempDir,
    child: Child,
}

impl Server {
    /// Starts a server and waits until it answers.
    pub(crate) async fn start(program: &Path, settings: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        let child = spawn(program, &settings, dir.path());
        let server = Self { program: program.to_owned(), settings, dir, child };
        server.answers().await;
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.dir.path().join("socket").display())
    }

    /// The server as one machine has it.
    pub(crate) fn shared(&self) -> RedisShared {
        RedisShared::new(&self.url(), "test").unwrap()
    }

    async fn answers(&self) {
        let server = redis::Client::open(self.url()).unwrap();
        let ping = || redis::cmd("PING").query::<String>(&mut server.get_connection()?);
        // One that wants a password answers too.
        let refuses = |error: &redis::RedisError| {
            matches!(error.code(), Some("NOAUTH")) || error.kind() == redis::ErrorKind::AuthenticationFailed
        };
        looking("the server answers", async || {
            ping().map_or_else(|error| refuses(&error).then_some(()), |_| Some(()))
        })
        .await;
    }

    /// Runs a command past ostler.
    pub(crate) fn command(&self, words: &[&str]) {
        let mut connection = redis::Client::open(self.url()).unwrap().get_connection().unwrap();
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query::<redis::Value>(&mut connection).unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again on its files.
    pub(crate) async fn restart(&mut self) {
        self.child = spawn(&self.program, &self.settings, self.dir.path());
        self.answers().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &Path, settings: &[String], dir: &Path) -> Child {
    let mut command = Command::new(program);
    command.args(["--port", "0", "--unixsocket", "socket", "--save", "", "--dir"]).arg(dir);
    command.args(settings).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits until the store answers again.
pub(crate) async fn reachable(store: &RedisShared) {
    let answers = async || match store.guarantee().await {
        Ok(_) => Some(()),
        Err(SharedError::Unreachable(_) | SharedError::Refused(_)) => None,
        Err(error) => panic!("{error}"),
    };
    looking("the store answers", answers).await;
}

/// Looks until there is something to see, while tasks go on.
pub(crate) async fn looking<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
