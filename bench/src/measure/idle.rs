//! What sessions cost in which nothing happens.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::lab::{Bench, holder_of};
use crate::process::{Process, TICKS};
use crate::samples::float;
use crate::table::{Limit, Row};

pub(crate) const NAME: &str = "idle";

/// What the sessions' starts have set off is over by then.
const SETTLING: Duration = Duration::from_secs(3);
/// Most CPU of the daemon, in percent of a core.
const DAEMON_LIMIT: f64 = 1.0;

/// CPU time of processes so far, and wake-ups of each of their threads.
#[derive(Debug, Default)]
struct Used {
    ticks: u64,
    wakeups: BTreeMap<OsString, u64>,
}

impl Used {
    fn by(processes: &[Process]) -> Result<Self> {
        let mut used = Self::default();
        for process in processes {
            used.ticks += process.ticks()?;
            used.wakeups.extend(process.wakeups()?);
        }
        Ok(used)
    }

    /// Ticks and wake-ups since an earlier look. A thread that has ended meanwhile takes its count with it.
    fn since(&self, before: &Self) -> (u64, u64) {
        let earlier = |thread| before.wakeups.get(thread).copied().unwrap_or(0);
        let wakeups = self.wakeups.iter().map(|(thread, count)| count.saturating_sub(earlier(thread)));
        (self.ticks.saturating_sub(before.ticks), wakeups.sum())
    }
}

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let count = bench.count(200, 50);
    let period = Duration::from_secs(if bench.quick { 5 } else { 20 });
    let seconds = period.as_secs();
    let lab = bench.lab(NAME)?;
    lab.start_many(count, "read x", &[])?;
    let sessions = lab.client()?.list()?;
    ensure!(sessions.len() == count, "{} of {count} sessions run", sessions.len());
    let holders: Vec<Process> = sessions.iter().map(holder_of).collect::<Result<_>>()?;
    let daemon = [lab.daemon()?];
    std::thread::sleep(SETTLING);
    let before = (Used::by(&holders)?, Used::by(&daemon)?);
    std::thread::sleep(period);
    let after = (Used::by(&holders)?, Used::by(&daemon)?);
    lab.close()?;
    let (holder_ticks, holder_wakeups) = after.0.since(&before.0);
    let (daemon_ticks, daemon_wakeups) = after.1.since(&before.1);
    let percent = float(daemon_ticks) / (float(seconds) * f64::from(TICKS)) * 100.0;
    Ok(vec![
        Row::new(NAME, format!("CPU of {count} idle holders"), float(holder_ticks), "ticks")
            .note(format!("({holder_wakeups} wake-ups in {seconds} s)"))
            .n(count)
            .limit(Limit::AtMost(0.0)),
        Row::new(NAME, format!("CPU of the daemon, {count} idle sessions"), percent, "% of a core")
            .note(format!("({daemon_wakeups} wake-ups in {seconds} s)"))
            .limit(Limit::AtMost(DAEMON_LIMIT)),
    ])
}
