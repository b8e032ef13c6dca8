//! Signals as readable events, so that the loop never races a handler.

#![expect(unsafe_code, reason = "signal mask and signalfd")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// What woke the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Some child ended.
    Child,
    /// Someone asks the holder to end its session.
    Terminate,
}

/// The signals a holder listens to; it ignores those that end a process whose terminal or reader goes away.
#[derive(Debug)]
pub(crate) struct Signals(OwnedFd);

impl Signals {
    /// Blocks and collects CHLD and TERM; ignores HUP, INT, QUIT, PIPE and XFSZ: a limit on
    /// file sizes ends a recording, not the session.
    pub(crate) fn install() -> io::Result<Self> {
        // SAFETY: the set is initialised before use; the descriptor is fresh and owned by the result.
        unsafe {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE, libc::SIGXFSZ] {
                libc::signal(signal, libc::SIG_IGN);
            }
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// The next signal, if there is one.
    pub(crate) fn next(&self) -> Option<Woken> {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        let count = rustix::io::read(&self.0, &mut info).ok()?;
        let number =
            info.first_chunk::<4>().filter(|_| count == info.len()).map(|b| u32::from_ne_bytes(*b))?;
        Some(if i32::try_from(number) == Ok(libc::SIGTERM) { Woken::Terminate } else { Woken::Child })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
