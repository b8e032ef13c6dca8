//! Starting processes with a clean slate: no inherited handles, default signals, a session of their own.

#![expect(unsafe_code, reason = "code between fork and exec; wait4")]

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit};
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, OptionalActions, Winsize};

use crate::exit::ExitRecord;
use crate::spec::Spec;

const OOM_FILE: &str = "/proc/self/oom_score_adj";
/// Makes the kernel, when memory runs out, prefer a program to the holder that has its output.
const OOM_STEP: i32 = 100;

/// Both ends of a terminal.
#[derive(Debug)]
pub(crate) struct Pty {
    /// Our end: output is read from it, input written to it.
    pub(crate) master: OwnedFd,
    /// The program's end, kept open so that the terminal outlives a program that closes it for a while.
    pub(crate) slave: OwnedFd,
}

impl Pty {
    /// Opens a terminal of the given size. Neither end is ever inherited.
    pub(crate) fn open(cols: u16, rows: u16) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
        let mut termios = rustix::termios::tcgetattr(&slave)?;
        // In cooked mode, backspace is to remove a character, not a byte.
        termios.input_modes |= InputModes::IUTF8;
        rustix::termios::tcsetattr(&slave, OptionalActions::Now, &termios)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let pty = Self { master, slave };
        pty.resize(cols, rows)?;
        Ok(pty)
    }

    pub(crate) fn resize(&self, cols: u16, rows: u16) -> io::Result<()> {
        let size = Winsize { ws_col: cols.max(1), ws_row: rows.max(1), ws_xpixel: 0, ws_ypixel: 0 };
        Ok(rustix::termios::tcsetwinsize(&self.master, size)?)
    }
}

/// Starts the program on the terminal and returns its process id.
pub(crate) fn start(spec: &Spec, pty: &Pty) -> io::Result<u32> {
    let end = || -> io::Result<Stdio> { Ok(pty.slave.as_fd().try_clone_to_owned()?.into()) };
    let oom = raise_own_oom_protection();
    // Inherited by the program; the holder itself has few handles and gives its files explicit permissions.
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if spec.open_files > 0 {
        let current = limit.maximum.map_or(spec.open_files, |maximum| spec.open_files.min(maximum));
        let _ = rustix::process::setrlimit(
            Resource::Nofile,
            Rlimit { current: Some(current), maximum: limit.maximum },
        );
    }
    rustix::process::umask(Mode::from_raw_mode(spec.umask));
    let mut command = Command::new(&spec.program);
    command.arg0(&spec.argv0).args(&spec.args).current_dir(&spec.cwd);
    command.stdin(end()?).stdout(end()?).stderr(end()?);
    // SAFETY: only system calls between fork and exec; nothing allocates or locks.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            write_oom(&oom);
            default_signals();
            forget_handles()
        });
    }
    Ok(command.spawn()?.id())
}

/// Makes `command` start a process that is tied to no terminal and inherits no handle but its standard ones.
pub fn detach(command: &mut Command) -> &mut Command {
    // SAFETY: only system calls between fork and exec; nothing allocates or locks.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            default_signals();
            forget_handles()
        })
    }
}

/// Like [`detach`], for a process that is not to outlive the thread that starts it.
pub fn detach_while_we_live(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    // SAFETY: only system calls between fork and exec; nothing allocates or locks.
    unsafe {
        detach(command).pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // Who died before that said nothing.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(io::Error::from(io::ErrorKind::Interrupted))
            }
        })
    }
}

/// Marks every handle above the standard three to be closed by exec. Closing them here would also close the
/// pipe on which the caller learns why exec failed.
fn forget_handles() -> io::Result<()> {
    // SAFETY: changes flags of this process's descriptors only.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives every signal its default meaning and blocks none: ignored signals would be inherited.
fn default_signals() {
    // The kernel's own calls and structures: the C library refuses to touch the signals it reserves for its
    // threads, and those too can be inherited as ignored. All zeroes is the default action, and no signal.
    let action = [0u64; 8];
    let mask = 0u64;
    // SAFETY: called in a process about to exec; both structures are at least as large as the kernel reads.
    unsafe {
        for signal in 1..=64 {
            libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), 0usize, size_of_val(&mask));
        }
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            0usize,
            size_of_val(&mask),
        );
    }
}

/// Protects the holder where it may, and returns what the program's own score is to be.
fn raise_own_oom_protection() -> String {
    let own: i32 = fs::read_to_string(OOM_FILE).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    // Lowering the score takes a privilege most users lack; then the program's higher score has to do.
    let _ = fs::write(OOM_FILE, (own - 5 * OOM_STEP).max(-1000).to_string());
    (own + OOM_STEP).min(1000).to_string()
}

fn write_oom(score: &str) {
    use rustix::fs::OFlags;
    if let Ok(file) = rustix::fs::open(OOM_FILE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::io::write(&file, score.as_bytes());
    }
}

/// A child that was reaped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reaped {
    pub(crate) pid: u32,
    pub(crate) record: ExitRecord,
}

/// Reaps one ended child, if there is one; time of end and output offset are for the caller to fill in.
pub(crate) fn reap() -> Option<Reaped> {
    let mut status = 0;
    // SAFETY: both out-pointers are to live, writable values of the right type.
    let (pid, usage) = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        (libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage), usage)
    };
    let pid = u32::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let micros = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
    };
    let small = |value: i32| u8::try_from(value).unwrap_or(u8::MAX);
    Some(Reaped {
        pid,
        record: ExitRecord {
            status: libc::WIFEXITED(status).then(|| small(libc::WEXITSTATUS(status))),
            signal: libc::WIFSIGNALED(status).then(|| small(libc::WTERMSIG(status))),
            user_us: micros(usage.ru_utime),
            system_us: micros(usage.ru_stime),
            max_rss_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
            ..ExitRecord::default()
        },
    })
}
