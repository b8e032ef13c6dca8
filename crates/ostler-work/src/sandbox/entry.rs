//! The program that becomes the sandbox. It is started twice: the first process leaves the namespaces and watches
//! the clock, the second one restricts itself and runs the command.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Gid, Pid, PidfdFlags, Signal, Uid, WaitOptions, pidfd_open, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, wait,
};

use super::calls::{self, Surroundings};
use super::spec::{Channel, Containment, Report, Spec};
use super::{root, rules};

/// Tells the second process from the first.
const INSIDE: &str = "inside";
/// Whoever ends by the clock is ended by ostler; this is for when ostler is no more.
const GRACE: Duration = Duration::from_secs(5);
/// Who runs commands if ostler is run by root.
pub(super) const NOBODY: u32 = 65534;

/// Runs as the sandbox. For a program's `main`, before it starts any thread; `args` are those behind the name of
/// the subcommand. The exit status says nothing: the one who started it reads the report.
pub fn sandbox_exec(args: impl IntoIterator<Item = std::ffi::OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let inside = args.next().is_some_and(|arg| arg == INSIDE);
    let others = args.next().and_then(|count| count.to_str()?.parse().ok());
    let Ok(channel) = Channel::inherited() else { return ExitCode::from(2) };
    let report = match channel.spec() {
        Ok(spec) if inside => Some(run_inside(&spec, others.unwrap_or(0))),
        Ok(spec) => watch(&channel, &spec),
        Err(error) => Some(Report::Refused(format!("what to run is not understood: {error}"))),
    };
    match report.map(|report| channel.record(&report)) {
        None | Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(_)) => ExitCode::FAILURE,
    }
}

/// The first process.
fn watch(channel: &Channel, spec: &Spec) -> Option<Report> {
    if let Err(error) = stop_being_root() {
        return Some(Report::Refused(format!("root's rights cannot be given up: {error}")));
    }
    // Before the namespace of users changes how others' processes look.
    let others = rules::processes_that_count(spec.containment);
    if spec.containment == Containment::Namespaces
        && let Err(error) = root::enter_namespaces()
    {
        return Some(Report::NoNamespaces(error.to_string()));
    }
    match start_inside(channel, others)
        .and_then(|child| wait_for(child, spec.limits.wall.saturating_add(GRACE)))
    {
        // It has told itself.
        Ok(None) => None,
        Ok(Some(signal)) => Some(Report::Signalled(signal)),
        Err(error) => Some(Report::Refused(format!("the sandbox cannot be started: {error}"))),
    }
}

/// Root may read and stop everything, and no limit of processes holds for it.
fn stop_being_root() -> io::Result<()> {
    if !rustix::process::geteuid().is_root() && !rustix::process::getuid().is_root() {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)?;
    // Else the files of this process in `/proc` would still be root's.
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

fn start_inside(channel: &Channel, others: u64) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1)).arg(INSIDE).arg(others.to_string());
    command.stdin(channel.share()?).spawn()
}

/// Waits for the end, or ends it; says by which signal it ended.
fn wait_for(mut child: Child, limit: Duration) -> io::Result<Option<i32>> {
    use std::os::unix::process::ExitStatusExt;
    let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let mut handles = [PollFd::new(&handle, PollFlags::IN)];
    if poll(&mut handles, Some(&limit)) == Ok(0) {
        child.kill()?;
    }
    Ok(child.wait()?.signal())
}

/// The second process.
fn run_inside(spec: &Spec, others: u64) -> Report {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    match restrict(spec, others) {
        Ok(()) => run(spec),
        Err(report) => report,
    }
}

/// Gives up everything that the command must not have.
fn restrict(spec: &Spec, others: u64) -> Result<(), Report> {
    let refused = |what: &'static str| move |error| Report::Refused(format!("{what}: {error}"));
    rules::limit(&spec.limits, others).map_err(refused("its limits cannot be set"))?;
    let apart = spec.containment == Containment::Namespaces;
    if apart {
        let failed = |error| Report::NoNamespaces(format!("its root cannot be put together: {error}"));
        root::enter(spec).map_err(failed)?;
    }
    root::drop_capabilities().map_err(refused("rights cannot be given up"))?;
    // From here on, what it starts cannot look into it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| refused("it cannot be hidden from what it runs")(error.into()))?;
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
    let enforced = rules::restrict(spec).map_err(Report::Refused)?;
    let surroundings = Surroundings { apart, signals_stay: apart || enforced.signals };
    calls::restrict(surroundings).map_err(|error| Report::Refused(error.to_string()))
}

/// Runs the command under the rules that hold for this process.
fn run(spec: &Spec) -> Report {
    let Some((name, args)) = spec.words.split_first() else {
        return Report::Refused("nothing to run".into());
    };
    let mut command = Command::new(&spec.program);
    command.arg0(name).args(args).current_dir(&spec.cwd).stdin(Stdio::null());
    command.env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    let child = match command.spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => return Report::Refused(format!("{} cannot be run: {error}", spec.program.display())),
    };
    loop {
        // Also reaps what others have left behind.
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let signal = status.terminating_signal().map(Report::Signalled);
                return signal.unwrap_or_else(|| Report::Exited(status.exit_status().unwrap_or(-1)));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Report::Refused(format!("its end cannot be waited for: {error}")),
        }
    }
}
