//! The daemon's life: one per home, from lock to farewell.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_hold::{SocketPath, create_private};
use ostler_store::shared::{AnyShared, SharedError, SharedStore};
use ostler_store::{NewEvent, Store, StoreError, StoreHandle};
use rustix::fs::FlockOperation;
use tokio::net::UnixListener;
use tokio::sync::watch;

use crate::control::Control;
use crate::home::Home;
use crate::hook_reports::replay_spool;
use crate::runs::Owner;
use crate::services::{Foundation, Services};
use crate::session::{Command, Origin};
use crate::{
    clock, comebacks, connection, edits, hooks, housekeeping, left_blocks, store_choice, unrecorded,
};

/// Number of the signal for a reached limit on file sizes, on Linux.
const SIGXFSZ: i32 = 25;
/// How long sessions may take to put their screens on disk at the end.
const PARKING: Duration = Duration::from_secs(5);

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartupError {
    /// Another daemon serves this home.
    #[error("a daemon (process {pid}) serves {home} already")]
    Running {
        /// Its process id, as far as it is known.
        pid: String,
        /// The home.
        home: PathBuf,
    },
    /// The home cannot be used.
    #[error("cannot use {home}: {source}")]
    Home {
        /// The home.
        home: PathBuf,
        /// The reason, for people.
        source: io::Error,
    },
    /// The record cannot be used.
    #[error("cannot use {record}: {source}")]
    Store {
        /// The database file.
        record: PathBuf,
        /// The reason, for people.
        source: StoreError,
    },
    /// The shared store cannot be used as it is named.
    #[error("cannot use the shared store: {0}")]
    Shared(#[from] SharedError),
}

/// A daemon that holds the lock of its home and listens.
#[derive(Debug)]
pub struct Daemon {
    services: Services,
    /// Number of this daemon; holders refuse input of earlier ones.
    epoch: u64,
    shutdown: watch::Receiver<bool>,
    listener: UnixListener,
    /// Held until the process ends.
    _lock: File,
}

impl Daemon {
    /// Takes the lock, opens the record, listens, and takes up every session that is recorded as running.
    ///
    /// `answer_status` says whether programs are told that their status is understood (OSC 7501). `shared` is the
    /// server that runs and breakers are to be kept on, or [`store_choice::LOCAL`]; without it, what was chosen before.
    pub fn open(
        home: Home,
        executable: &Path,
        answer_status: bool,
        shared: Option<&str>,
    ) -> Result<Self, StartupError> {
        let unusable = |source| StartupError::Home { home: home.path().to_owned(), source };
        create_private(home.path()).map_err(unusable)?;
        let lock = take_lock(&home)?;
        let server = store_choice::server(&home, shared)?;
        create_private(&home.sessions()).map_err(unusable)?;
        let owner = Owner::of(&home).map_err(unusable)?;
        let record = home.database();
        let unreadable = |source| StartupError::Store { record: record.clone(), source };
        let mut store = Store::open(&record).map_err(unreadable)?;
        let started = clock::now();
        let epoch = store.next_epoch(started).map_err(unreadable)?;
        let event = NewEvent {
            at: started,
            session: None,
            event: "daemon.started",
            details: serde_json::json!({ "pid": std::process::id(), "epoch": epoch }),
        };
        store.record(&event).map_err(unreadable)?;
        unrecorded::record_all(&home, &mut store, started).map_err(unreadable)?;
        let sessions = store.sessions(false).map_err(unreadable)?;
        let listener = listen(&home).map_err(unusable)?;
        let store = StoreHandle::spawn(store).map_err(unusable)?;
        let shared_store = server.map_or_else(|| AnyShared::Own(store.clone()), AnyShared::Redis);
        let (control, shutdown) = Control::new(started);
        let services = Services::new(Foundation {
            control,
            home,
            owner,
            store,
            shared_store,
            epoch,
            executable,
            answer_status,
        });
        for record in sessions {
            services.sessions.spawn_actor(record, Origin::Recovered);
        }
        Ok(Self { services, epoch, shutdown, listener, _lock: lock })
    }

    /// Serves clients until it is asked to end. Holders and their programs are left alone.
    pub async fn run(mut self) -> io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        // A terminal that goes away is none of our business.
        let _hangup = signal(SignalKind::hangup())?;
        // A limit on file sizes makes writes fail, not the daemon die.
        let _file_size = signal(SignalKind::from_raw(SIGXFSZ))?;
        let Services {
            home, store, shared_store, starter, runs, hook_reports, knowledge, hints, ended, ..
        } = self.services.clone();
        tracing::info!(home = %home.path().display(), epoch = self.epoch, "daemon runs");
        tokio::spawn(log_guarantee(shared_store));
        hooks::put_back(&home);
        tokio::spawn(replay_spool(hook_reports, hints.clone()));
        tokio::spawn(edits::follow(hints, knowledge));
        tokio::spawn(runs.resume());
        tokio::spawn(left_blocks::take_out_of_ended(home, store.clone()));
        tokio::spawn(comebacks::run(store.clone(), starter.clone(), ended));
        tokio::spawn(housekeeping::run(store, starter));
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        tokio::spawn(connection::serve(stream, self.services.clone()));
                    }
                    Err(error) => {
                        // Out of handles, most likely: those in use will be closed at some time.
                        tracing::error!(%error, "cannot accept a client");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = self.shutdown.changed() => break,
            }
        }
        self.park().await;
        let _ = std::fs::remove_file(self.services.home.socket());
        tracing::info!("daemon ends; sessions go on");
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    async fn park(&self) {
        let parking = async {
            for handle in self.services.sessions.all() {
                let _ = handle.ask(Command::Park).await;
            }
            let event = NewEvent {
                at: clock::now(),
                session: None,
                event: "daemon.stopped",
                details: serde_json::json!({ "pid": std::process::id() }),
            };
            let _ = self.services.store.run(move |store| store.record(&event)).await;
            // Before the lock is free: whoever waits for that may copy the file.
            self.services.store.close().await;
        };
        let _ = tokio::time::timeout(PARKING, parking).await;
    }
}

/// Says what the store of runs and breakers is worth.
async fn log_guarantee(shared_store: AnyShared) {
    match shared_store.guarantee().await {
        Ok(guarantee) => tracing::info!(%guarantee, "store of runs and breakers"),
        Err(error) => tracing::error!(%error, "the store of runs and breakers does not answer"),
    }
}

fn take_lock(home: &Home) -> Result<File, StartupError> {
    let unusable = |source| StartupError::Home { home: home.path().to_owned(), source };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(home.lock())
        .map_err(unusable)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            let pid = if pid.trim().is_empty() { "?".to_owned() } else { pid.trim().to_owned() };
            return Err(StartupError::Running { pid, home: home.path().to_owned() });
        }
        Err(error) => return Err(unusable(error.into())),
    }
    // For people; the lock itself is what counts, so a full disk does not matter here.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// Listens on the home's socket. Whoever has the lock may replace a socket that a killed daemon left.
fn listen(home: &Home) -> io::Result<UnixListener> {
    let path = home.socket();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let address = SocketPath::new(&path)?;
    let listener = UnixListener::bind(address.as_path())?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}
