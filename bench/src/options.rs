//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// Measures ostler against its limits and prints one table; fails if a limit is missed.
#[derive(Debug, Parser)]
#[command(name = "ostler-bench", version)]
pub(crate) struct Options {
    /// Measure only this; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = crate::measure::names())]
    pub(crate) only: Vec<String>,
    /// Fewer sessions and repetitions: a look, not a verdict
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Take the `dist` binaries as they are
    #[arg(long)]
    pub(crate) no_build: bool,
    /// The `ostler` to measure, with its `ostler-hold` beside it [default: build it]
    #[arg(long, value_name = "FILE")]
    pub(crate) ostler: Option<PathBuf>,
    /// Wait for standard input to close, then end what runs below this directory and remove it
    #[arg(long, hide = true)]
    pub(crate) clean_up: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }
}
