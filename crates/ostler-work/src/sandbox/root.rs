//! A root directory with little in it, for a process in namespaces of its own.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::spec::Spec;
use crate::names;

/// Devices that are no one's.
pub(super) const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// What programs share memory by.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";
/// What is mounted can only be seen.
const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Puts this process into namespaces of its own. The next process that it starts is the first one in there, and
/// may mount.
pub(super) fn enter_namespaces() -> io::Result<()> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let namespaces = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    // What replaces it is unsafe for the sake of a flag that is not among these.
    #[expect(deprecated, reason = "the safe way to leave namespaces")]
    rustix::thread::unshare(namespaces)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
    // A user other than root keeps nothing through exec, except by this.
    let own = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(None, CapabilitySets { inheritable: own.permitted, ..own })?;
    rustix::thread::configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?;
    Ok(())
}

/// Gives up everything that was needed to get here.
pub(super) fn drop_capabilities() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, none)?;
    Ok(())
}

/// Moves this process into a root that has the readable places, read-only, the copy and the temporary files.
pub(super) fn enter(spec: &Spec) -> io::Result<()> {
    let at = |path: &Path| spec.root.join(path.strip_prefix("/").unwrap_or(path));
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    mount("tmpfs", &spec.root, "tmpfs", PLAIN, c"mode=755,size=64m")?;
    let tmp = at(Path::new("/tmp"));
    fs::create_dir_all(&tmp)?;
    // Before all others: some of them may lie in it.
    mount_bind(&spec.tmp, &tmp)?;
    for place in &spec.readable {
        show(place, &at(place))?;
    }
    fs::create_dir_all(at(Path::new(SHARED_MEMORY)))?;
    for device in DEVICES.iter().map(Path::new).filter(|device| device.exists()) {
        fs::write(at(device), "")?;
        mount_bind(device, at(device))?;
    }
    for (name, target) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        symlink(format!("/proc/self/fd{target}"), at(&Path::new("/dev").join(name)))?;
    }
    fs::create_dir_all(at(Path::new("/proc")))?;
    make_read_only(&spec.root, &tmp)?;
    mount("tmpfs", at(Path::new(SHARED_MEMORY)), "tmpfs", PLAIN, c"mode=1777,size=256m")?;
    // Containers may forbid this one. Then there is none, and most programs do not mind.
    let _ = mount("proc", at(Path::new("/proc")), "proc", PLAIN | MountFlags::NOEXEC, c"");
    for place in [&spec.tmp, &spec.tree] {
        fs::create_dir_all(at(place))?;
        mount_bind(place, at(place))?;
    }
    mount_remount(&spec.root, PLAIN | MountFlags::RDONLY, c"mode=755,size=64m")?;
    std::env::set_current_dir(&spec.root)?;
    // The old root is put over the new one, and taken away from there.
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")
}

/// Shows a file, a directory or a link at another place.
fn show(place: &Path, target: &Path) -> io::Result<()> {
    // What this user cannot reach, there is nothing to show of.
    let Ok(found) = place.symlink_metadata() else { return Ok(()) };
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if found.is_symlink() {
        return symlink(fs::read_link(place)?, target);
    }
    if found.is_dir() {
        fs::create_dir_all(target)?;
    } else {
        fs::write(target, "")?;
    }
    // With all that is mounted below: the kernel does not let a part of it be uncovered.
    Ok(mount_bind_recursive(place, target)?)
}

/// Makes everything read-only that is mounted below `root`, but for itself and one other place.
fn make_read_only(root: &Path, except: &Path) -> io::Result<()> {
    let mounts = fs::read("/proc/self/mountinfo")?;
    let (root, except) = (root.canonicalize()?, except.canonicalize()?);
    for (place, flags) in mounts.split(|byte| *byte == b'\n').filter_map(parse_mount) {
        if place != root && place != except && place.starts_with(&root) {
            let flags = flags | MountFlags::NOSUID | MountFlags::RDONLY | MountFlags::BIND;
            mount_remount(&place, flags, c"")?;
        }
    }
    Ok(())
}

/// Place and flags of one line of `mountinfo`. The flags cannot be taken off again by this user.
fn parse_mount(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let place = names::path(&unescape(fields.nth(4)?)).to_owned();
    let flags = fields.next()?.split(|byte| *byte == b',').map(|option| match option {
        b"nosuid" => MountFlags::NOSUID,
        b"nodev" => MountFlags::NODEV,
        b"noexec" => MountFlags::NOEXEC,
        b"noatime" => MountFlags::NOATIME,
        b"nodiratime" => MountFlags::NODIRATIME,
        b"relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    });
    Some((place, flags.collect()))
}

/// A path in which the kernel wrote some bytes in octal.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let octal =
            after.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(escaped) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(escaped);
            rest = &after[3..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_their_flags() {
        let line = br"36 35 98:0 / /mnt\040a\134b rw,nosuid,noexec,relatime shared:1 - ext4 /dev/root rw";
        let (place, flags) = parse_mount(line).unwrap();
        assert_eq!(place, Path::new(r"/mnt a\b"));
        assert_eq!(flags, MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::RELATIME);
        assert_eq!(parse_mount(b""), None);
    }
}
