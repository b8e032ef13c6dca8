//! Many sessions started in one go.

use std::process::{Child, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::lab::{Bench, Lab};
use crate::process::Process;
use crate::samples::{Samples, float};
use crate::table::{Limit, Row};

pub(crate) const NAME: &str = "burst";

const SESSIONS: usize = 100;
/// Most seconds until all of them run.
const LIMIT: f64 = 10.0;

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let rounds = bench.count(3, 1);
    let row = |what: &str, seconds: &Samples| {
        let rate = float(SESSIONS as u64) / seconds.median();
        Row::new(NAME, what, seconds.median(), "s")
            .note(format!("(max {:.2}, {rate:.0} sessions/s)", seconds.max()))
            .n(rounds)
    };
    let warm = (0..rounds).map(|round| start_all(bench.lab(&format!("burst-{round}"))?));
    let warm = Samples::new(warm.collect::<Result<_>>()?);
    // Everyone finds no daemon and tries to start it.
    let cold = (0..rounds).map(|round| start_all(bench.cold_lab(&format!("burst-cold-{round}"))));
    let cold = Samples::new(cold.collect::<Result<_>>()?);
    Ok(vec![
        row("100 concurrent starts", &warm).limit(Limit::AtMost(LIMIT)),
        row("100 concurrent starts, no daemon yet", &cold).limit(Limit::AtMost(LIMIT)),
    ])
}

/// Starts all sessions at the same moment; returns the seconds until all run.
fn start_all(lab: Lab) -> Result<f64> {
    let begin = Instant::now();
    let mut starting: Vec<Child> = Vec::with_capacity(SESSIONS);
    for index in 0..SESSIONS {
        let name = format!("s{index}");
        let mut command = lab.command(Lab::start(&name, "read x", &[]));
        starting.push(command.stdout(Stdio::null()).spawn()?);
    }
    for child in &mut starting {
        let status = child.wait()?;
        ensure!(status.success(), "a start failed: {status}");
    }
    let sessions = lab.client()?.list()?;
    let taken = begin.elapsed();
    ensure!(sessions.len() == SESSIONS, "{} of {SESSIONS} sessions run", sessions.len());
    for id in sessions.iter().flat_map(|session| [session.pid, session.holder]) {
        let alive = id.is_some_and(|id| Process::find(id).is_ok_and(Process::is_alive));
        ensure!(alive, "process {id:?} of a session is not there");
    }
    lab.close()?;
    Ok(taken.as_secs_f64())
}
