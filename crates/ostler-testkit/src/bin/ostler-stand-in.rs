//! The stand-in agent as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    ostler_testkit::stand_in::main_from(std::env::args_os())
}
