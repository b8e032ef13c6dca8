//! The agent's own process below a program, and its end.

use std::fs;
use std::time::Duration;

use ostler_hold::tree::Processes;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Looks;

/// An agent that starts itself anew is gone for so long at most.
const ANEW: Duration = Duration::from_millis(500);
/// The kernel keeps so much of a process's name, in bytes.
const NAME: usize = 15;

/// The process below a program that bears one of these names, the uppermost first; none if the program bears one itself:
/// then its end is that of the session.
pub(crate) fn find_agent(looks: &Looks, program: u32, session: &str, names: &[String]) -> Option<u32> {
    let is_agent = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        names.iter().any(|other| other.as_bytes().iter().take(NAME).eq(name.trim_end().as_bytes()))
    };
    if is_agent(&program) {
        return None;
    }
    looks.get(Processes::look).descendants(program, Some(session)).into_iter().find(is_agent)
}

/// Waits until a process has ended, and until one that takes its place would be there.
pub(crate) async fn await_end(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(handle) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) {
        // What replaces it is unsafe, for types that could change their handle: this one cannot.
        #[expect(deprecated, reason = "the safe way to register a handle that is owned")]
        let handle = AsyncFd::with_interest(handle, Interest::READABLE);
        if let Ok(handle) = handle {
            drop(handle.readable().await);
        }
    }
    tokio::time::sleep(ANEW).await;
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[tokio::test]
    async fn an_agent_below_a_wrapper_is_found_and_its_end_is_seen() {
        let mut wrapper =
            Command::new("sh").args(["-c", "sleep 600 & cat; wait"]).stdin(Stdio::piped()).spawn().unwrap();
        let looks = Looks::default();
        let names = ["other".to_owned(), "sleep".to_owned()];
        let found = loop {
            if let Some(pid) = find_agent(&looks, wrapper.id(), "none", &names) {
                break pid;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(
            find_agent(&looks, wrapper.id(), "none", &["sh".into(), "sleep".into()]),
            None,
            "it is the agent"
        );
        let pid = Pid::from_raw(i32::try_from(found).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        await_end(found).await;
        assert_eq!(find_agent(&looks, wrapper.id(), "none", &names), None);
        assert!(wrapper.try_wait().unwrap().is_none(), "the wrapper runs on");
        drop(wrapper.stdin.take());
        wrapper.wait().unwrap();
    }
}
