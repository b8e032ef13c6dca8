//! How long a person or a script waits for a command, its process included.

use std::time::Duration;

use anyhow::Result;

use crate::lab::{Bench, Lab};
use crate::samples::{Samples, millis};
use crate::table::{Limit, Row};

pub(crate) const LIST: &str = "list";
pub(crate) const SEND: &str = "send";
pub(crate) const START: &str = "start";

/// Sessions that are there meanwhile.
const SESSIONS: usize = 100;
/// Most time of `ostler list` in the median, in milliseconds.
const LIST_LIMIT: f64 = 15.0;

pub(crate) fn list(bench: &Bench) -> Result<Vec<Row>> {
    let n = bench.count(50, 20);
    let lab = bench.lab(LIST)?;
    lab.start_many(SESSIONS, "read x", &[])?;
    let taken = repeat(n, |_| lab.timed(["list"]))?;
    lab.close()?;
    let what = format!("ostler list, {SESSIONS} sessions");
    Ok(vec![row(LIST, &what, &taken).n(n).limit(Limit::AtMost(LIST_LIMIT))])
}

/// From the start of `ostler send` to its word that every byte is in the program's terminal.
pub(crate) fn send(bench: &Bench) -> Result<Vec<Row>> {
    let n = bench.count(50, 20);
    let lab = bench.lab(SEND)?;
    // A program that reads: a terminal nobody reads from would fill up.
    lab.run(Lab::start("reader", "exec cat", &[]))?;
    let taken = repeat(n, |_| lab.timed(["send", "reader", "--raw", "hello\r"]))?;
    lab.close()?;
    Ok(vec![row(SEND, "ostler send --raw until written", &taken).n(n)])
}

pub(crate) fn start(bench: &Bench) -> Result<Vec<Row>> {
    let n = bench.count(20, 10);
    let lab = bench.lab(START)?;
    let taken = repeat(n, |index| lab.timed(Lab::start(&format!("s{index}"), "read x", &[])))?;
    lab.close()?;
    Ok(vec![row(START, "ostler start sh", &taken).n(n)])
}

fn repeat(n: usize, mut once: impl FnMut(usize) -> Result<Duration>) -> Result<Samples> {
    // The first one fills caches, which is not what a user sees most of the time.
    once(n)?;
    Ok(Samples::new((0..n).map(|index| once(index).map(millis)).collect::<Result<_>>()?))
}

fn row(group: &'static str, what: &str, taken: &Samples) -> Row {
    let note = format!("(p95 {:.1}, max {:.1})", taken.percentile(95), taken.max());
    Row::new(group, what, taken.median(), "ms").note(note)
}
