//! `ostler stop`

use std::process::ExitCode;

use ostler_protocol::Request;

use crate::cli::Stop;
use crate::error::{CommandError, Kind};
use crate::{client, output};

pub(crate) fn run(args: &Stop) -> Result<ExitCode, CommandError> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the parser bounds it")]
    let grace_ms = (args.grace * 1000.0).min(f64::from(u32::MAX)) as u32;
    let mut failed = None;
    for name in &args.names {
        let stopped = client::call(&Request::Stop { name: name.clone(), grace_ms }).and_then(super::session);
        match stopped {
            Ok(session) if args.json => output::json(&session)?,
            Ok(session) => output::print(&format!("{} {}\n", session.name, session.because.join("; ")))?,
            Err(error) if args.names.len() == 1 => return Err(error),
            Err(error) => {
                error.report();
                failed = Some(error.kind);
            }
        }
    }
    Ok(failed.map_or(ExitCode::SUCCESS, Kind::exit_code))
}
