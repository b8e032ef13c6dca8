//! Watching runs.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ostler_protocol::{Request, Response, RunInfo};

use super::progress;
use crate::cli::OnInterrupt;
use crate::client;
use crate::error::{CommandError, Kind};

/// How long one question may stay open: an interrupt is noticed between two.
const GLANCE: Duration = Duration::from_millis(500);

/// Watches runs until all have ended, and tells what happens.
pub(super) fn follow(
    runs: &[RunInfo],
    on_interrupt: OnInterrupt,
    quiet: bool,
) -> Result<Vec<RunInfo>, CommandError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // The first one is noticed here; the second ends this command as it would any other.
    let sigint = signal_hook::consts::SIGINT;
    let _ = signal_hook::flag::register_conditional_default(sigint, interrupted.clone());
    let _ = signal_hook::flag::register(sigint, interrupted.clone());
    let shown = Mutex::new(());
    let many = runs.len() > 1;
    let ended: Vec<Result<RunInfo, CommandError>> = std::thread::scope(|scope| {
        let watchers: Vec<_> = runs
            .iter()
            .map(|run| {
                let (interrupted, shown) = (&interrupted, &shown);
                scope.spawn(move || {
                    watch(run, interrupted, |line| {
                        if !quiet {
                            let _turn = shown.lock().unwrap_or_else(PoisonError::into_inner);
                            let name = if many { format!("{}: ", run.task) } else { String::new() };
                            let _ = writeln!(std::io::stderr(), "{name}{line}");
                        }
                    })
                })
            })
            .collect();
        watchers
            .into_iter()
            .map(|watcher| {
                watcher.join().unwrap_or_else(|_| Err(CommandError::new(Kind::Internal, "a watcher failed")))
            })
            .collect()
    });
    let ended: Vec<RunInfo> = ended.into_iter().collect::<Result<_, _>>()?;
    let going: Vec<&RunInfo> = ended.iter().filter(|run| !run.is_over()).collect();
    if going.is_empty() {
        return Ok(ended);
    }
    if on_interrupt == OnInterrupt::Stop {
        return ended.iter().map(|run| super::one(&Request::CancelRun { id: run.id.clone() })).collect();
    }
    if !quiet {
        for run in going {
            let _ = writeln!(std::io::stderr(), "[left; {0} goes on: ostler runs wait {0}]", run.id);
        }
    }
    Ok(ended)
}

fn watch(
    run: &RunInfo,
    interrupted: &AtomicBool,
    print_note: impl Fn(&str),
) -> Result<RunInfo, CommandError> {
    let mut last = run.clone();
    let mut told = PrintedSoFar::default();
    told.news(&last, &print_note);
    while !last.is_over() && !interrupted.load(Ordering::Relaxed) {
        let request = Request::RunStatus { id: run.id.clone(), after: Some(last.version) };
        match client::call_with(&request, None, Some(GLANCE)) {
            Ok(Response::Run(now)) => {
                last = *now;
                told.news(&last, &print_note);
            }
            Ok(_) => return Err(crate::commands::unexpected()),
            Err(error) if error.kind == Kind::TimedOut => {}
            Err(error) => return Err(error),
        }
    }
    Ok(last)
}

/// States that pass at once, or that other news tell better.
const FLEETING: [&str; 3] = ["choosing", "observing", "delivering"];

/// What was told already.
#[derive(Default)]
struct PrintedSoFar {
    state: String,
    lines: usize,
    trouble: bool,
}

impl PrintedSoFar {
    fn news(&mut self, run: &RunInfo, print_note: &impl Fn(&str)) {
        let lines = progress::lines(run);
        for line in lines.iter().skip(self.lines) {
            print_note(line);
        }
        self.lines = lines.len();
        match (&run.trouble, self.trouble) {
            (Some(trouble), false) => print_note(&format!("  the shared store does not answer: {trouble}")),
            (None, true) => print_note("  the shared store answers again"),
            _ => {}
        }
        self.trouble = run.trouble.is_some();
        if self.state != run.state && !run.is_over() {
            self.state.clone_from(&run.state);
            if !FLEETING.contains(&run.state.as_str()) {
                print_note(&format!("  {}", run.summary));
            }
        }
    }
}
