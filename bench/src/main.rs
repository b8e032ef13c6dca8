//! Benchmarks with limits: one table, and a failure if a limit is missed.
//!
//! # Theory of operation
//!
//! Every measurement works on the `dist` binaries from the outside, the way a user does: it runs `ostler`
//! with a home of its own, and reads `/proc` for what processes cost. Only waiting for output goes over the
//! daemon's socket, because a process per look would take the very CPU time that is being measured.
//!
//! Where the limit is relative (output throughput), the peer runs the same input in the same minute, turn by
//! turn with ostler, so that a busy machine slows both.
//!
//! Whatever becomes of the bench, a [`janitor`] outlives it and ends what it started.

mod bare;
mod binaries;
mod client;
mod input;
mod janitor;
mod lab;
mod machine;
mod measure;
mod options;
mod process;
mod samples;
mod table;
mod tmux;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::lab::Bench;
use crate::machine::Machine;
use crate::options::Options;
use crate::table::{Row, Table};

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "ostler-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether every limit was kept.
fn run(options: Options) -> Result<bool> {
    if let Some(root) = options.clean_up {
        janitor::run(&root, &options.ostler.context("the janitor needs --ostler")?);
        return Ok(true);
    }
    let ostler = binaries::ready(options.ostler, options.no_build)?;
    let (bench, janitor) = Bench::new(ostler, options.quick)?;
    let mut machine = Machine::look(&bench)?;
    let mut rows = Vec::new();
    for (name, measure) in measure::ALL {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        let _ = writeln!(io::stderr(), "{name} …");
        match measure(&bench) {
            Ok(measured) => rows.extend(measured),
            Err(error) => rows.push(Row::broken(name, &error)),
        }
    }
    machine.load_after = machine::load()?;
    janitor.finish()?;
    let table = Table { machine, rows };
    let mut out = io::stdout().lock();
    if options.json {
        writeln!(out, "{:#}", table.to_json())?;
    } else {
        write!(out, "{table}")?;
    }
    Ok(table.passes())
}
