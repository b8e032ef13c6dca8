//! What an agent waits for, made definite: processes are identified, paths absolute, times moments.

use std::path::Path;

use ostler_core::Wall;
use ostler_core::awaited::{Awaited, AwaitedThing};
use ostler_core::continuity::cut;
use ostler_hold::Identity;
use ostler_protocol::{ErrorKind, Problem, WaitFor};

use crate::clock;
use crate::session::SessionHandle;
use crate::sessions::Sessions;

/// Most bytes of a note, and of the name of a shell.
const WORDS: usize = 300;
/// Longest that an agent may say it waits: a mistake in a unit must not put it to sleep for ever.
const LONGEST_SECONDS: u64 = 30 * 24 * 3_600;

/// What the agent waits for, if that makes sense.
pub(super) async fn awaited(
    sessions: &Sessions,
    caller: &SessionHandle,
    wanted: WaitFor,
) -> Result<Awaited, Problem> {
    let refused = |reason: String| Err(Problem::new(ErrorKind::Usage, reason));
    let WaitFor { pid, shell, file, seconds, until, note } = wanted;
    let now = clock::now();
    let until = match (seconds, until) {
        (Some(_), Some(_)) => return refused("say seconds or until, not both".into()),
        (Some(seconds), None) if (1..=LONGEST_SECONDS).contains(&seconds) => {
            Some(Wall(now.0.saturating_add(seconds * 1_000)))
        }
        (Some(seconds), None) => return refused(format!("{seconds} seconds are no time to wait")),
        (None, Some(until)) => {
            let at = Wall(u64::try_from(until.as_millisecond()).unwrap_or(0));
            if at <= now || at.since(now).as_secs() > LONGEST_SECONDS {
                return refused(format!("{until} is over, or too far away; it is {} now", clock::shown(now)));
            }
            Some(at)
        }
        (None, None) => None,
    };
    let what = match (pid, shell, file) {
        (Some(pid), None, None) => match Identity::of(pid) {
            Some(process) => AwaitedThing::Process { pid, started: Some(process.start) },
            None => return refused(format!("there is no process {pid}")),
        },
        (None, Some(shell), None) if !shell.trim().is_empty() => {
            AwaitedThing::Shell { name: cut(shell.trim(), WORDS) }
        }
        (None, None, Some(file)) if !file.trim().is_empty() => {
            let record = sessions.existing_record(&caller.id).await?;
            let path = Path::new(&record.start.cwd).join(file);
            AwaitedThing::File { path: path.to_string_lossy().into_owned() }
        }
        (None, None, None) if until.is_some() => AwaitedThing::Time,
        (None, None, None) => {
            return refused("say what is waited for: pid, shell or file, or a time".into());
        }
        _ => return refused("say one thing: pid, shell or file".into()),
    };
    let note = note.map(|note| cut(note.trim(), WORDS)).filter(|note| !note.is_empty());
    Ok(Awaited { what, until, note, since: now })
}
