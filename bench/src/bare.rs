//! The least that anybody can do with a program's output: read it and forget it.
//!
//! How fast that goes is the kernel's doing, and no terminal is faster. A program that writes more slowly into
//! ostler than into this one waits for ostler; one that does not waits for the kernel.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::pty::OpenptFlags;

use crate::input::Input;

/// From the start of `cat` on a terminal of its own until all of the file has come out at the other end.
pub(crate) fn read(input: &Input) -> Result<Duration> {
    let begin = Instant::now();
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&master)?;
    let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
    let mut cat = Command::new("cat");
    cat.arg(&input.path).stdin(Stdio::null()).stdout(slave);
    let mut cat = cat.spawn().context("cannot run cat")?;
    let (mut master, mut buffer) = (File::from(master), vec![0; 256 * 1024]);
    let mut left = input.shown();
    while left > 0 {
        let count = master.read(&mut buffer).context("the output ended early")?;
        left = left.saturating_sub(count as u64);
    }
    let taken = begin.elapsed();
    ensure!(cat.wait()?.success(), "cat failed");
    Ok(taken)
}
