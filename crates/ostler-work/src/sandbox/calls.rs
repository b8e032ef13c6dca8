//! Which system calls a sandboxed program may make. What is not listed does not exist for it.

mod table;

use std::collections::BTreeMap;

use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use table::{APART, FILES, FORBIDDEN, ITSELF, OLD, OLD_APART, SIGNALS};

// Numbers that are the same on all processors that a filter is known for.
const F_SETOWN: u64 = 8;
const F_SETSIG: u64 = 10;
const F_SETOWN_EX: u64 = 15;
const F_SETLEASE: u64 = 1024;
const F_NOTIFY: u64 = 1026;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// What the rest of the sandbox sees to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Surroundings {
    /// There is nothing else to be seen: namespaces of its own, and a root with little in it.
    pub(super) apart: bool,
    /// Signals reach nothing else: a process namespace, or landlock's scope.
    pub(super) signals_stay: bool,
}

/// Why the filter cannot be put in place.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilterError {
    /// There is none for this machine.
    #[error("no filter of system calls is known for this processor ({})", std::env::consts::ARCH)]
    Processor,
    /// The kernel refuses it, or does not know it.
    #[error("the kernel takes no filter of system calls: {0}")]
    Kernel(String),
}

/// Puts the filter in place, for this process and all that it starts, for good.
pub(super) fn restrict(surroundings: Surroundings) -> Result<(), FilterError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(|_| FilterError::Processor)?;
    let kernel = |error: seccompiler::Error| FilterError::Kernel(error.to_string());
    let rules = |error: seccompiler::BackendError| FilterError::Kernel(error.to_string());

    let mut allowed = allowed(surroundings).map_err(rules)?;
    let forbidden = forbidden(surroundings);
    allowed.extend(forbidden.iter().map(|call| (*call, Vec::new())));
    let unknown = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let list = SeccompFilter::new(allowed, unknown, SeccompAction::Allow, arch).map_err(rules)?;
    let refusals = forbidden.into_iter().map(|call| (call, Vec::new())).collect();
    let refusals = SeccompFilter::new(refusals, SeccompAction::Allow, refused, arch).map_err(rules)?;
    // Where both have something to say, the later one is heard.
    for filter in [list, refusals] {
        let program: seccompiler::BpfProgram = filter.try_into().map_err(rules)?;
        seccompiler::apply_filter(&program).map_err(kernel)?;
    }
    Ok(())
}

/// Calls that are refused. Their conditions, if they have any, are among the allowed.
fn forbidden(surroundings: Surroundings) -> Vec<i64> {
    let apart = [APART, OLD_APART].concat();
    let apart = if surroundings.apart { Vec::new() } else { apart };
    FORBIDDEN.iter().copied().chain(apart).collect()
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn allowed(surroundings: Surroundings) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = [FILES, OLD, ITSELF].concat().into_iter().map(|call| (call, Vec::new())).collect();
    if surroundings.apart {
        rules.extend([APART, OLD_APART].concat().into_iter().map(|call| (call, Vec::new())));
    }
    if surroundings.signals_stay {
        rules.extend(SIGNALS.iter().map(|call| (*call, Vec::new())));
    } else {
        // To its own process group, which is all of the sandbox and nothing else.
        rules.insert(libc::SYS_kill, vec![all([is(0, 0)?])?]);
    }
    // No new namespaces. The newer call hides its flags in memory; programs fall back to this one.
    let namespaces = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;
    rules.insert(libc::SYS_clone, vec![all([has_none(0, namespaces.cast_unsigned().into())?])?]);
    // Streams only: over a pair of datagram sockets a program could send to others by name.
    let stream = SeccompCondition::new(
        1,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(0xf),
        libc::SOCK_STREAM.unsigned_abs().into(),
    )?;
    rules.insert(libc::SYS_socketpair, vec![all([is(0, libc::AF_UNIX.unsigned_abs().into())?, stream])?]);
    // Of no other process, which in these calls is called zero.
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler] {
        rules.insert(call, vec![all([is(0, 0)?])?]);
    }
    rules.insert(libc::SYS_setpriority, vec![all([is(0, 0)?, is(1, 0)?])?]);
    // A file can be made to send signals or to hold up others, and a terminal to receive what seems to be typed.
    let owner = [F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY].map(|command| is_not(1, command));
    rules.insert(libc::SYS_fcntl, vec![all(owner.into_iter().collect::<Result<Vec<_>, _>>()?)?]);
    let bad = [FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX].map(|request| is_not(1, request));
    rules.insert(libc::SYS_ioctl, vec![all(bad.into_iter().collect::<Result<Vec<_>, _>>()?)?]);
    Ok(rules)
}

type Condition = Result<SeccompCondition, seccompiler::BackendError>;

fn all(conditions: impl Into<Vec<SeccompCondition>>) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into())
}

fn is(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn has_none(argument: u8, bits: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(bits), 0)
}
