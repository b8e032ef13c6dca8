//! Which files a sandboxed process may use, and how much of everything.

use std::fs;
use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit};

use super::root::{DEVICES, SHARED_MEMORY};
use super::spec::{Containment, SandboxLimits, Spec};

/// The newest rights that are known here. Older kernels restrict what they know.
const KNOWN: ABI = ABI::V6;
/// How much more address space than memory a process may reserve: some runtimes reserve a lot and use little.
const RESERVED: u64 = 32;
/// How much less urgent than anything else a command is.
const NICE: i32 = 10;
/// Makes the kernel choose these processes first when memory runs out.
const OOM_SCORE: &str = "1000";

/// What the rules do beyond files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Enforced {
    /// Signals reach only processes under the same rules.
    pub(super) signals: bool,
}

/// Restricts files, network and signals, for this process and all that it starts, for good.
pub(super) fn restrict(spec: &Spec) -> Result<Enforced, String> {
    let failed = |error: RulesetError| format!("the kernel refuses the rules for files (landlock): {error}");
    let status = rules(spec).map_err(failed)?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err(
            "the kernel has no rules for files (landlock); it needs Linux 5.13 with landlock enabled".into(),
        );
    };
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err("the kernel does not enforce the rules for files (landlock)".into());
    }
    suffices(spec.containment, effective_abi)?;
    Ok(Enforced { signals: effective_abi >= ABI::V6 })
}

/// Whether rules of this version are enough for this containment.
///
/// Opening a file to read it can empty it, and older rules know reading only. In namespaces, what can be read from
/// outside is mounted so that nothing can be written; without them, nothing else keeps a readable file whole.
fn suffices(containment: Containment, rules: ABI) -> Result<(), String> {
    if containment == Containment::Rules && rules < ABI::V3 {
        return Err(
            "this system allows no namespaces, and the rules for files of its kernel (landlock) cannot keep \
                    files from being emptied; it needs Linux 6.2, or user namespaces"
                .into(),
        );
    }
    Ok(())
}

fn rules(spec: &Spec) -> Result<landlock::RestrictionStatus, RulesetError> {
    let everything = AccessFs::from_all(KNOWN);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let device: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(path_beneath_rules([&spec.tree, &spec.tmp], everything))?
        .add_rules(path_beneath_rules(&spec.readable, reading))?
        .add_rules(path_beneath_rules(DEVICES, device))?;
    let rules = match spec.containment {
        // Both are of the sandbox alone.
        Containment::Namespaces => rules
            .add_rules(path_beneath_rules(["/proc"], AccessFs::ReadFile | AccessFs::ReadDir))?
            .add_rules(path_beneath_rules([SHARED_MEMORY], everything))?,
        Containment::Rules => rules,
    };
    rules.restrict_self()
}

/// Limits what this process and all that it starts may use up. `others` are processes that count as well.
pub(super) fn limit(limits: &SandboxLimits, others: u64) -> io::Result<()> {
    let set = |resource, most: u64| {
        let now = rustix::process::getrlimit(resource);
        let most = now.maximum.map_or(most, |maximum| most.min(maximum));
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    let seconds = limits.cpu.as_secs().max(1);
    set(Resource::Cpu, seconds)?;
    set(Resource::Data, limits.memory)?;
    set(Resource::As, limits.memory.saturating_mul(RESERVED))?;
    set(Resource::Fsize, limits.file_size)?;
    set(Resource::Nofile, limits.open_files)?;
    // None at all; with zero, one would still be handed to a program of the system.
    set(Resource::Core, 1)?;
    set(Resource::Memlock, 1 << 20)?;
    set(Resource::Msgqueue, 0)?;
    set(Resource::Nproc, limits.processes.saturating_add(others))?;
    let _ = rustix::process::nice(NICE);
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    Ok(())
}

/// How many threads there are already that count against the limit of processes: those of the same user, except
/// in a namespace of users, which newer kernels count on its own.
pub(super) fn processes_that_count(containment: Containment) -> u64 {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if containment == Containment::Namespaces && is_at_least(&release, (5, 14)) {
        return 0;
    }
    let user = rustix::process::getuid().as_raw();
    let count = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
        (field("Uid:")?.parse() == Ok(user)).then_some(())?;
        field("Threads:")?.parse::<u64>().ok()
    };
    ostler_hold::tree::process_ids().filter_map(count).sum()
}

fn is_at_least(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= version
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_alone_must_keep_files_from_being_emptied() {
        let table = [
            (Containment::Rules, ABI::V1, false),
            (Containment::Rules, ABI::V2, false),
            (Containment::Rules, ABI::V3, true),
            (Containment::Rules, ABI::V6, true),
            (Containment::Namespaces, ABI::V1, true),
        ];
        for (containment, rules, enough) in table {
            let verdict = suffices(containment, rules);
            assert_eq!(verdict.is_ok(), enough, "{containment:?} {rules:?}");
            // Whoever reads the report knows what is missing.
            assert!(verdict.err().is_none_or(|why| why.contains("landlock") && why.contains("Linux 6.2")));
        }
    }

    #[test]
    fn versions_of_the_kernel_are_compared_by_number() {
        for (release, expected) in
            [("5.14.0-1", true), ("6.1", true), ("5.4.0-generic", false), ("5.9", false), ("", false)]
        {
            assert_eq!(is_at_least(release, (5, 14)), expected, "{release}");
        }
    }
}
