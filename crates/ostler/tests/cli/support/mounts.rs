//! What is mounted for one test alone.

use std::process::Command;

use rustix::thread::UnshareFlags;

/// Gives this thread, and the processes that it starts, mounts of their own: they are gone with them, come what may.
#[expect(unsafe_code, reason = "a mount namespace for one thread")]
pub(crate) fn own_mounts() -> Result<(), String> {
    // SAFETY: only the table of open files is unsafe to leave, and it stays shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.map_err(|error| error.to_string())?;
    mount(&["--make-rprivate", "/"])
}

/// Mounts something there.
pub(crate) fn mount(args: &[&str]) -> Result<(), String> {
    let output = Command::new("mount").args(args).output().map_err(|error| error.to_string())?;
    let complaint = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(complaint()) }
}
