//! A world of its own for each scene: no network, neutral paths, nothing left behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Sets the world up and plays the scene. The shell stays as the first process, so that orphans are waited for.
///
/// Bound into `$root` before anything is covered: what is needed may lie under `/home` or `/tmp`.
const SCRIPT: &str = r#"
root=$1 bins=$2 out=$3 node=$4 trap=$5 mute=$6 command=$7
shift 7
ip link set lo up
echo dev > /proc/sys/kernel/hostname 2>/dev/null || true
mount -t tmpfs -o mode=755 tmpfs "$root"
mkdir -p "$root/bin" "$root/out" "$root/node" "$root/ostler-home"
chmod 700 "$root/ostler-home"
cp "$bins/ostler-lab" "$bins/ostler" "$root/bin/"
if [ -e "$bins/ostler-hold" ]; then cp "$bins/ostler-hold" "$root/bin/"; fi
cp "$trap" "$root/trap.txt"
while [ $# -gt 0 ]; do
    mkdir -p "$root/agents/$1"
    mount --bind "$2" "$root/agents/$1"
    shift 2
done
mount --bind "$out" "$root/out"
if [ -n "$node" ]; then mount --bind "$node" "$root/node"; fi
mount --rbind "$root" /opt
mount -t tmpfs tmpfs /tmp
chmod 1777 /tmp
mount -t tmpfs tmpfs /home
mkdir -p /home/dev
cd /home/dev
code=0
env -i PATH=/opt/node/bin:/usr/local/bin:/usr/bin:/bin HOME=/home/dev USER=dev LOGNAME=dev SHELL=/bin/bash \
    TERM=xterm-256color LANG=C.UTF-8 TZ=UTC NO_COLOR= OSTLER_ANSWER_STATUS_QUERY="$mute" \
    /opt/bin/ostler-lab "$command" /opt/out/job.json || code=$?
exit $code
"#;

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct World<'a> {
    /// The directory with `ostler-lab`, `ostler` and `ostler-hold`.
    pub bins: &'a Path,
    /// The agents by their names, and where they are installed.
    pub agents: &'a [(&'a str, &'a Path)],
    /// Where results go; has the job in it.
    pub out: &'a Path,
    /// The text for the trap.
    pub trap: &'a Path,
    /// The terminal does not answer the query for program status.
    pub mute: bool,
    /// The hidden command of this program that plays the job.
    pub command: &'a str,
}

/// Plays the job in `out` within a world of its own.
pub fn play(world: &World<'_>) -> Result<()> {
    let root = tempfile::Builder::new().prefix("ostler-stage-").tempdir()?;
    let mut command = Command::new("unshare");
    if !rustix::process::getuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.args(["sh", "-eu", "-c", SCRIPT, "sh"]);
    command.arg(root.path()).arg(world.bins).arg(world.out);
    command.arg(node_prefix().unwrap_or_default()).arg(world.trap).arg(if world.mute { "0" } else { "1" });
    command.arg(world.command);
    for (name, place) in world.agents {
        command.arg(name).arg(place);
    }
    let output = command.stdin(Stdio::null()).output().context("unshare does not run; install util-linux")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.trim());
    }
    Ok(())
}

/// Where node is installed, unless it is where every system has it.
fn node_prefix() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let node = std::env::split_paths(&path).map(|dir| dir.join("node")).find(|node| node.is_file())?;
    let prefix = node.canonicalize().ok()?.parent()?.parent()?.to_owned();
    (prefix != Path::new("/usr") && prefix != Path::new("/")).then_some(prefix)
}
