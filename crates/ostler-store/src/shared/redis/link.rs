//! The connection: made when it is needed, given up when it is broken, never waited for long.

use std::sync::OnceLock;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::shared::SharedError;

/// How long a connection may take to be made, and a question to be answered.
const LIMIT: Duration = Duration::from_secs(2);
/// How long after a failure nobody knocks again.
const PAUSE: Duration = Duration::from_millis(250);

/// A script, known to the server by its hash.
#[derive(Debug)]
pub(super) struct Script {
    code: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    pub(super) const fn new(code: &'static str) -> Self {
        Self { code, hash: OnceLock::new() }
    }

    fn hash(&self) -> &str {
        self.hash.get_or_init(|| redis::Script::new(self.code).get_hash().to_owned())
    }
}

enum State {
    /// Never tried, or given up.
    Closed,
    /// Works, as far as is known. The number tells it from the one after.
    Open(u64, MultiplexedConnection),
    /// Could not be made.
    Failed(Instant, SharedError),
}

/// The way to one server.
pub(super) struct Link {
    client: Client,
    state: Mutex<(u64, State)>,
}

impl Link {
    pub(super) fn new(url: &str) -> Result<Self, SharedError> {
        if url.starts_with("rediss:") || url.starts_with("valkeys:") {
            let advice = "TLS is not built in; use a tunnel and its local address";
            return Err(SharedError::Setup(advice.into()));
        }
        // What the library says of a bad address may hold the password.
        let advice = "its address must be redis://[user:password@]host[:port][/db] or unix:///path";
        let client = Client::open(url).map_err(|_| SharedError::Setup(advice.into()))?;
        Ok(Self { client, state: Mutex::new((0, State::Closed)) })
    }

    /// Where the server is, without the password.
    pub(super) fn address(&self) -> String {
        let info = self.client.get_connection_info();
        match info.redis_settings().db() {
            0 => info.addr().to_string(),
            db => format!("{}/{db}", info.addr()),
        }
    }

    async fn connection(&self) -> Result<(u64, MultiplexedConnection), SharedError> {
        let mut state = self.state.lock().await;
        match &state.1 {
            State::Open(number, connection) => return Ok((*number, connection.clone())),
            State::Failed(at, error) if at.elapsed() < PAUSE => return Err(error.clone()),
            State::Closed | State::Failed(..) => {}
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(LIMIT))
            .set_response_timeout(Some(LIMIT));
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        let result = match tokio::time::timeout(2 * LIMIT, connecting).await {
            Ok(result) => result.map_err(|error| self.error(&error)),
            Err(_) => Err(self.silent()),
        };
        match result {
            Ok(connection) => {
                let number = state.0 + 1;
                *state = (number, State::Open(number, connection.clone()));
                Ok((number, connection))
            }
            Err(error) => {
                state.1 = State::Failed(Instant::now(), error.clone());
                Err(error)
            }
        }
    }

    /// Gives up a connection, unless there is a newer one already.
    async fn give_up(&self, number: u64) {
        let mut state = self.state.lock().await;
        if matches!(&state.1, State::Open(open, _) if *open == number) {
            state.1 = State::Closed;
        }
    }

    async fn try_once<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<Result<T, RedisError>, SharedError> {
        let (number, mut connection) = self.connection().await?;
        match tokio::time::timeout(2 * LIMIT, cmd.query_async(&mut connection)).await {
            Ok(Err(error)) if is_broken(&error) => {
                self.give_up(number).await;
                Err(self.error(&error))
            }
            Ok(result) => Ok(result),
            Err(_) => {
                self.give_up(number).await;
                Err(self.silent())
            }
        }
    }

    /// Asks what may be asked twice, and waits for the answer. What ends in an error may have happened all the same.
    ///
    /// A connection that broke while nobody used it says nothing of the server: another one is tried at once.
    pub(super) async fn ask<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<T, SharedError> {
        let (began, was_open) = (Instant::now(), matches!(self.state.lock().await.1, State::Open(..)));
        let answer = match self.try_once(cmd).await {
            Err(SharedError::Unreachable(_)) if was_open && began.elapsed() < LIMIT => {
                self.try_once(cmd).await
            }
            answer => answer,
        };
        answer?.map_err(|error| self.error(&error))
    }

    /// Runs a script over one key.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        script: &Script,
        key: &str,
        args: &[String],
    ) -> Result<T, SharedError> {
        let call = |how: &str, what: &str| {
            let mut cmd = redis::cmd(how);
            cmd.arg(what).arg(1).arg(key).arg(args);
            cmd
        };
        match self.try_once(&call("EVALSHA", script.hash())).await? {
            // The server has been restarted, or never knew it.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.try_once(&call("EVAL", script.code)).await?.map_err(|error| self.error(&error))
            }
            result => result.map_err(|error| self.error(&error)),
        }
    }

    fn silent(&self) -> SharedError {
        SharedError::Unreachable(format!("{} does not answer", self.address()))
    }

    fn error(&self, error: &RedisError) -> SharedError {
        use ServerErrorKind as Said;
        let text = format!("{}: {error}", self.address());
        match error.kind() {
            ErrorKind::Server(Said::Moved | Said::Ask | Said::CrossSlot) => {
                SharedError::Setup(format!("{} is part of a cluster; use a single server", self.address()))
            }
            ErrorKind::Server(Said::BusyLoading | Said::TryAgain | Said::ClusterDown | Said::MasterDown) => {
                SharedError::Unreachable(text)
            }
            ErrorKind::Extension if error.code() == Some("WRONGTYPE") => SharedError::Unclear(text),
            ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::AuthenticationFailed => {
                SharedError::Refused(text)
            }
            ErrorKind::Parse | ErrorKind::UnexpectedReturnType => SharedError::Unclear(text),
            ErrorKind::InvalidClientConfig => SharedError::Setup(text),
            _ => SharedError::Unreachable(text),
        }
    }
}

/// Whether nothing more can come over the connection. An error that the server sent is an answer.
fn is_broken(error: &RedisError) -> bool {
    !matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::UnexpectedReturnType)
}
