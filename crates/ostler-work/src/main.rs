//! The sandbox as a program of its own, for programs that have no such subcommand. See the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ostler_work::sandbox::sandbox_exec(std::env::args_os().skip(1))
}
