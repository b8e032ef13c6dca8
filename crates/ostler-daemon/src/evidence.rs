//! What a session directory proves about a holder that is not connected.

use ostler_core::lifecycle::Evidence;
use ostler_hold::SessionDir;

/// Looks at the lock first: a holder that ends between the two looks has written its record by then. `seen` says
/// that the program is known to have run, whatever has become of the directory.
pub(crate) fn gather(dir: &SessionDir, seen: bool) -> Evidence {
    let held = dir.is_held();
    Evidence {
        exit: dir.read_exit().map(|record| (record.status, record.signal)),
        held,
        started: seen || dir.read_identity().is_some(),
    }
}
