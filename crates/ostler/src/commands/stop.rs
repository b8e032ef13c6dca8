//! `ostler stop`

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use ostler_protocol::{Request, SessionInfo};

use crate::cli::Stop;
use crate::error::{CommandError, Kind};
use crate::{client, output};

/// Sessions that are ended at the same time.
const AT_ONCE: usize = 64;

pub(crate) fn run(args: &Stop) -> Result<ExitCode, CommandError> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the parser bounds it")]
    let grace_ms = (args.grace * 1000.0).min(f64::from(u32::MAX)) as u32;
    let mut failed = None;
    in_order(
        &args.names,
        |name| stop(name, grace_ms),
        |stopped| {
            match stopped {
                Ok(session) if args.json => output::json(&session)?,
                Ok(session) => output::print(&format!("{} {}\n", session.name, describe_end(&session)))?,
                Err(error) if args.names.len() == 1 => return Err(error),
                Err(error) => {
                    error.report();
                    failed = Some(error.kind);
                }
            }
            Ok(())
        },
    )?;
    Ok(failed.map_or(ExitCode::SUCCESS, Kind::exit_code))
}

fn stop(name: &str, grace_ms: u32) -> Result<SessionInfo, CommandError> {
    client::call(&Request::Stop { name: name.to_owned(), grace_ms }).and_then(super::session)
}

fn describe_end(session: &SessionInfo) -> String {
    output::plain(&session.because.join("; "))
}

/// Does something for each of `items`, many at a time, and hands out the results in their order.
fn in_order<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(R) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..items.len().min(AT_ONCE) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    if sender.send((index, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early: std::collections::BTreeMap<usize, R> = std::collections::BTreeMap::new();
        let mut due = 0;
        for (index, result) in results {
            early.insert(index, result);
            while let Some(result) = early.remove(&due) {
                due += 1;
                done(result)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_what_was_asked() {
        let items: Vec<usize> = (0..500).collect();
        let mut seen = Vec::new();
        let done = |result| {
            seen.push(result);
            Ok(())
        };
        in_order(&items, |item| item * 2, done).unwrap();
        assert_eq!(seen, items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }
}
