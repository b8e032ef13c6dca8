//! The store on a thread of its own: SQLite blocks, actors must not.

use std::sync::mpsc;
use std::thread;

use tokio::sync::{oneshot, watch};

use crate::error::StoreError;
use crate::store::Store;

type Job = Box<dyn FnOnce(&mut Store) + Send>;

/// Ends the process if the thread panics: a daemon that cannot record must not act, and the next one starts
/// from the record.
struct DieTogether;

impl Drop for DieTogether {
    fn drop(&mut self) {
        if thread::panicking() {
            tracing::error!("the store has failed; the daemon ends, sessions go on");
            std::process::exit(70);
        }
    }
}

/// A ticket to the store. Jobs run one after the other, in the order they were handed in.
#[derive(Debug, Clone)]
pub struct StoreHandle {
    jobs: mpsc::Sender<Job>,
    changes: watch::Receiver<u64>,
}

impl StoreHandle {
    /// Starts the thread; it ends when the last ticket is gone.
    pub fn spawn(mut store: Store) -> std::io::Result<Self> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let (counter, changes) = watch::channel(0);
        thread::Builder::new().name("store".into()).spawn(move || {
            let _guard = DieTogether;
            for job in inbox {
                job(&mut store);
                counter
                    .send_if_modified(|count| std::mem::replace(count, store.changes()) != store.changes());
            }
        })?;
        Ok(Self { jobs, changes })
    }

    /// Runs a job and waits for its result. What it wrote is committed then.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = oneshot::channel();
        let gone = || StoreError::Unwritable("the store has ended".into());
        self.jobs.send(Box::new(move |store| drop(sender.send(job(store))))).map_err(|_| gone())?;
        receiver.await.map_err(|_| gone())?
    }

    /// Changes whenever something was recorded.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }
}
