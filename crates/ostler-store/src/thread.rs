//! The store on a thread of its own: SQLite blocks, actors must not.

use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use tokio::sync::{oneshot, watch};

use crate::error::StoreError;
use crate::store::Store;

/// What the thread is asked for.
enum Job {
    Do(Box<dyn FnOnce(&mut Store) + Send>),
    /// Close the database and end.
    End(oneshot::Sender<()>),
}

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
    damage: Arc<OnceLock<String>>,
}

impl StoreHandle {
    /// Starts the thread; it ends when the last ticket is gone.
    pub fn spawn(mut store: Store) -> std::io::Result<Self> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let (counter, changes) = watch::channel(0);
        thread::Builder::new().name("store".into()).spawn(move || {
            let _guard = DieTogether;
            for job in inbox {
                match job {
                    Job::Do(job) => job(&mut store),
                    Job::End(ended) => {
                        store.put_back();
                        drop(store);
                        let _ = ended.send(());
                        return;
                    }
                }
                counter
                    .send_if_modified(|count| std::mem::replace(count, store.changes()) != store.changes());
            }
        })?;
        Ok(Self { jobs, changes, damage: Arc::default() })
    }

    /// Runs a job and waits for its result. What it wrote is committed then.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = oneshot::channel();
        let gone = || StoreError::Unwritable("the store has ended".into());
        let job = Job::Do(Box::new(move |store| drop(sender.send(job(store)))));
        self.jobs.send(job).map_err(|_| gone())?;
        let done = receiver.await.map_err(|_| gone())?;
        if let Err(StoreError::Damaged(how)) = &done {
            self.damage.get_or_init(|| how.clone());
        }
        done
    }

    /// How the database is damaged, if a job has met that.
    pub fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    /// Closes the database, behind what was handed in before: all of it is in the one file then.
    pub async fn close(&self) {
        let (sender, ended) = oneshot::channel();
        if self.jobs.send(Job::End(sender)).is_ok() {
            let _ = ended.await;
        }
    }

    /// Changes whenever something was recorded.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }
}
