//! A control group for each session, where the system lets us make one.
//!
//! Whatever a program does to its environment, its session or its parents, it stays in its group. So what is left of a
//! session whose holder was killed can be found. The group limits nothing.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::dir::{SessionDir, write_atomically};

/// What the name of a session's group begins with; its id follows.
const PREFIX: &str = "ostler-";

/// Makes the session's group and moves this process into it, and so all that it starts. Where that is not possible,
/// nothing is different from how it was.
pub(crate) fn enter(dir: &SessionDir, session: &str) -> io::Result<()> {
    if session.contains('/') {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let own = own_group()?;
    let group = own.join(format!("{PREFIX}{session}"));
    match fs::create_dir(&group) {
        // An earlier process of the session left it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    // Written down before anything is in it, so that it is removed with the session.
    let entered = write_atomically(&dir.cgroup(), group.as_os_str().as_encoded_bytes())
        .and_then(|()| fs::write(group.join("cgroup.procs"), "0"));
    if entered.is_err() {
        let _ = fs::remove_dir(&group);
        let _ = fs::remove_file(dir.cgroup());
    }
    entered
}

/// The session whose group a process is in: the innermost, where sessions were started from within others.
pub fn session_of(pid: u32) -> Option<String> {
    let path = unified(&fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?)?.to_owned();
    path.rsplit('/').find_map(|name| name.strip_prefix(PREFIX)).map(str::to_owned)
}

/// Moves this process out of the session's group, which goes if nothing else is in it.
pub(crate) fn leave(dir: &SessionDir) {
    let group = fs::read_to_string(dir.cgroup()).map(PathBuf::from);
    if let Some(outer) = group.as_deref().ok().and_then(Path::parent) {
        let _ = fs::write(outer.join("cgroup.procs"), "0");
        remove(dir);
    }
}

/// Removes a session's group, if nothing is in it.
pub fn remove(dir: &SessionDir) {
    let Ok(group) = fs::read_to_string(dir.cgroup()) else { return };
    let group = Path::new(&group);
    // The file says what we made; what it says otherwise is nothing of ours.
    let ours = group.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    if ours {
        let _ = fs::remove_dir(group);
    }
}

/// The directory of the group that this process is in.
fn own_group() -> io::Result<PathBuf> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let mount = BufReader::new(File::open("/proc/self/mountinfo")?)
        .lines()
        .find_map(|line| mount_point(&line.ok()?))
        .ok_or_else(missing)?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    Ok(mount.join(unified(&groups).ok_or_else(missing)?.trim_start_matches('/')))
}

/// Where a line of `mountinfo` says that the whole tree of groups is mounted.
fn mount_point(line: &str) -> Option<PathBuf> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    (filesystem.starts_with("cgroup2 ") && root == "/").then(|| point.into())
}

/// The group in the one tree that holds every process, from `/proc/PID/cgroup`.
fn unified(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read() {
        let line = "36 25 0:30 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(mount_point(line), Some("/sys/fs/cgroup/unified".into()));
        for other in [
            "35 25 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids",
            "36 25 0:30 /a/part /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "36 25",
            "",
        ] {
            assert_eq!(mount_point(other), None, "{other}");
        }
        assert_eq!(unified("2:cpu:/\n1:name=systemd:/x\n0::/user.slice/a\n"), Some("/user.slice/a"));
        assert_eq!(unified("2:cpu:/\n"), None);
    }

    #[test]
    fn only_a_group_of_ours_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let dir = SessionDir::new(base.path());
        let (theirs, ours) = (base.path().join("user.slice"), base.path().join("ostler-1"));
        for group in [&theirs, &ours] {
            fs::create_dir(group).unwrap();
            fs::write(dir.cgroup(), group.as_os_str().as_encoded_bytes()).unwrap();
            remove(&dir);
        }
        assert!(theirs.exists());
        assert!(!ours.exists());
    }
}
