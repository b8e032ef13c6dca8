//! The measurements, one file per group.

mod burst;
mod context;
mod detector;
mod idle;
mod latency;
mod memory;
mod recovery;
mod run;
mod throughput;

use anyhow::Result;

use crate::lab::Bench;
use crate::table::Row;

/// A measurement: works in homes of its own and leaves nothing running.
type Measure = fn(&Bench) -> Result<Vec<Row>>;

/// All measurements by name, in the order in which they are made.
pub(crate) const ALL: &[(&str, Measure)] = &[
    (memory::HOLDER, memory::holder),
    (memory::DAEMON, memory::daemon),
    (idle::NAME, idle::measure),
    (burst::NAME, burst::measure),
    (throughput::NAME, throughput::measure),
    (latency::LIST, latency::list),
    (latency::SEND, latency::send),
    (latency::START, latency::start),
    (recovery::NAME, recovery::measure),
    (detector::NAME, detector::measure),
    (context::NAME, context::measure),
    (run::NAME, run::measure),
];

/// Names for `--only`.
pub(crate) fn names() -> Vec<&'static str> {
    ALL.iter().map(|(name, _)| *name).collect()
}
