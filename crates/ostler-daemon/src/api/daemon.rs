//! What clients ask about the daemon itself.

use ostler_protocol::{DaemonInfo, PROTOCOL};
use ostler_store::shared::AnyShared;

use crate::control::Control;
use crate::home::Home;
use crate::sessions::Sessions;
use crate::{clock, store_choice};

/// Describes the daemon.
pub(crate) fn info(
    control: &Control,
    home: &Home,
    sessions: &Sessions,
    shared_store: &AnyShared,
) -> DaemonInfo {
    DaemonInfo {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        sessions: sessions.all().len(),
        since: clock::shown(control.started),
        home: home.path().display().to_string(),
        store: store_choice::shown(shared_store),
    }
}

/// Ends the daemon; sessions go on.
pub(crate) fn shut_down(control: &Control) {
    control.shut_down();
}
