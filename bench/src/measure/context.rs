//! What it costs to tell an agent of those before it.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use ostler_core::pre_context::{ProviderSwitch, Settings, provider_switch, tokens};

use crate::lab::Bench;
use crate::samples::Samples;
use crate::table::{Limit, Row};

pub(crate) const NAME: &str = "context";

/// Longest time for one block, in microseconds.
const MICROSECONDS: f64 = 100.0;
/// Blocks of one sample.
const BLOCKS: u32 = 1_000;

#[expect(clippy::unnecessary_wraps, reason = "every measurement may fail")]
pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let n = bench.count(9, 3);
    let files: Vec<String> = ["src/parser.rs", "src/lexer.rs", "tests/parser.rs"].map(str::to_owned).to_vec();
    let error = "error[E0308]: mismatched types: expected `u32`, found `String` in src/parser.rs";
    let plain = ProviderSwitch {
        provider: "first",
        reason: "rate limit exceeded",
        created: &files,
        modified: &files,
        error: Some(error),
    };
    let names: Vec<String> =
        (0..200).map(|number| format!("{number}/{}", "\n\"x\u{1b}".repeat(2_500))).collect();
    let huge = "line\n".repeat(2_000);
    let hostile = ProviderSwitch { created: &names, modified: &names, error: Some(&huge), ..plain };
    let settings = Settings::default();
    let per_block = |switch: &ProviderSwitch<'_>| {
        let runs = (0..n).map(|_| {
            let begun = Instant::now();
            for _ in 0..BLOCKS {
                black_box(provider_switch(black_box(switch), &settings));
            }
            begun.elapsed().as_secs_f64() * 1e6 / f64::from(BLOCKS)
        });
        Samples::new(runs.collect())
    };
    let (usual, worst) = (per_block(&plain), per_block(&hostile));
    let size = tokens(&provider_switch(&plain, &settings));
    Ok(vec![
        Row::new(NAME, "a block for the next provider", usual.median(), "µs")
            .note(format!("{size} tokens by estimate"))
            .limit(Limit::AtMost(MICROSECONDS))
            .n(n),
        Row::new(NAME, "the same with 200 hostile names of 10 kB", worst.median(), "µs").n(n),
    ])
}
