//! The holder as a program of its own: small, because every session has one.

use std::io::Write;
use std::process::ExitCode;

use ostler_hold::SessionDir;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (Some(dir), None) = (args.next(), args.next()) else {
        let _ =
            writeln!(std::io::stderr(), "usage: ostler-hold DIR < DIR/spec (started by the ostler daemon)");
        return ExitCode::from(2);
    };
    ostler_hold::main(&SessionDir::new(dir))
}
