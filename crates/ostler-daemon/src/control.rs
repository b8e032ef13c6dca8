//! What clients may do to the daemon itself.

use std::sync::Arc;

use ostler_core::Wall;
use tokio::sync::watch;

/// What clients may do to the daemon itself.
#[derive(Debug, Clone)]
pub(crate) struct Control {
    pub(crate) started: Wall,
    shutdown: Arc<watch::Sender<bool>>,
}

impl Control {
    /// The control of a daemon that started at `started`, and what the daemon is asked by it.
    pub(crate) fn new(started: Wall) -> (Self, watch::Receiver<bool>) {
        let (shutdown, receiver) = watch::channel(false);
        (Self { started, shutdown: Arc::new(shutdown) }, receiver)
    }

    /// Asks the daemon to end.
    pub(crate) fn shut_down(&self) {
        self.shutdown.send_replace(true);
    }
}
