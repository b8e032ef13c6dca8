//! What sessions cost in which nothing happens.

use std::time::Duration;

use anyhow::Result;

use crate::lab::{Bench, holder_of};
use crate::process::{Process, TICKS};
use crate::samples::float;
use crate::table::{Limit, Row};

pub(crate) const NAME: &str = "idle";

/// What the sessions' starts have set off is over by then.
const SETTLING: Duration = Duration::from_secs(3);
/// Most CPU of the daemon, in percent of a core.
const DAEMON_LIMIT: f64 = 1.0;

/// CPU time and wake-ups of processes so far.
#[derive(Debug, Clone, Copy)]
struct Used {
    ticks: u64,
    wakeups: u64,
}

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let count = bench.count(200, 50);
    let period = Duration::from_secs(if bench.quick { 5 } else { 20 });
    let seconds = period.as_secs();
    let lab = bench.lab(NAME)?;
    lab.start_many(count, "read x", &[])?;
    let sessions = lab.client()?.list()?;
    anyhow::ensure!(sessions.len() == count, "{} of {count} sessions run", sessions.len());
    let holders: Vec<Process> = sessions.iter().map(holder_of).collect::<Result<_>>()?;
    let daemon = [lab.daemon()?];
    std::thread::sleep(SETTLING);
    let before = (used(&holders)?, used(&daemon)?);
    std::thread::sleep(period);
    let after = (used(&holders)?, used(&daemon)?);
    lab.close()?;
    let (holders, daemon) = (since(before.0, after.0), since(before.1, after.1));
    let percent = float(daemon.ticks) / (float(seconds) * f64::from(TICKS)) * 100.0;
    let woken = |used: Used| format!("({} wake-ups in {seconds} s)", used.wakeups);
    Ok(vec![
        Row::new(NAME, format!("CPU of {count} idle holders"), float(holders.ticks), "ticks")
            .note(woken(holders))
            .n(count)
            .limit(Limit::AtMost(0.0)),
        Row::new(NAME, format!("CPU of the daemon, {count} idle sessions"), percent, "% of a core")
            .note(woken(daemon))
            .limit(Limit::AtMost(DAEMON_LIMIT)),
    ])
}

fn used(processes: &[Process]) -> Result<Used> {
    let mut total = Used { ticks: 0, wakeups: 0 };
    for process in processes {
        total.ticks += process.ticks()?;
        total.wakeups += process.wakeups()?;
    }
    Ok(total)
}

fn since(before: Used, after: Used) -> Used {
    Used { ticks: after.ticks - before.ticks, wakeups: after.wakeups - before.wakeups }
}
