//! How long a killed daemon is missed.

use anyhow::{Result, ensure};

use crate::lab::Bench;
use crate::samples::{Samples, millis};
use crate::table::Row;

pub(crate) const NAME: &str = "recovery";

const SESSIONS: usize = 100;

/// Kills the daemon; the next command starts another, which finds every session again before it answers.
pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let n = bench.count(5, 2);
    let lab = bench.lab(NAME)?;
    lab.start_many(SESSIONS, "read x", &[])?;
    let mut taken = Vec::new();
    for _ in 0..n {
        let daemon = lab.daemon()?;
        daemon.kill();
        while daemon.is_alive() {
            std::thread::yield_now();
        }
        taken.push(millis(lab.timed(["list"])?));
        let sessions = lab.client()?.list()?;
        let held = sessions.iter().filter(|session| session.holder.is_some()).count();
        ensure!(held == SESSIONS, "{held} of {SESSIONS} sessions were found again");
    }
    lab.close()?;
    let taken = Samples::new(taken);
    Ok(vec![
        Row::new(
            NAME,
            format!("ostler list after a daemon's SIGKILL, {SESSIONS} sessions"),
            taken.median(),
            "ms",
        )
        .note(format!("(max {:.0})", taken.max()))
        .n(n),
    ])
}
