//! What of the system a command may see, and which programs it may start with.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::SandboxError;
use super::copy::Copy;

/// Programs, libraries and what they need to know, on every system that has them. Nothing here is a user's.
const SYSTEM: &[&str] = &[
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/fonts",
    "/etc/group",
    "/etc/host.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Where toolchains lie in a home, without anything that is meant to be secret.
const TOOLS: &[&str] = &[
    ".cargo/bin",
    ".cargo/registry",
    ".rustup/settings.toml",
    ".rustup/toolchains",
    ".pyenv/versions",
    ".local/bin",
    ".local/lib",
    ".local/share/uv/python",
    ".local/share/pnpm",
    ".nvm/versions",
    ".volta/bin",
    ".volta/tools",
    ".bun/bin",
    ".deno/bin",
    ".rbenv/versions",
    ".sdkman/candidates",
    ".asdf/installs",
    ".local/share/mise/installs",
    "go/bin",
    "go/pkg/mod",
];

/// Toolchains in a home, for [`super::Sandbox::readable`]. They cannot be reached if ostler is run by root, unless
/// everybody may enter that home.
pub fn tool_dirs(home: &Path) -> Vec<PathBuf> {
    TOOLS.iter().map(|tool| home.join(tool)).filter(|place| place.exists()).collect()
}

/// Places that may be read: those of the system and `more`, as they really are; none that has something private.
pub(super) fn readable(more: &[PathBuf], private: &[PathBuf]) -> Vec<PathBuf> {
    let private: Vec<PathBuf> = private.iter().filter_map(|place| place.canonicalize().ok()).collect();
    let is_open = |place: &Path| {
        place.canonicalize().is_ok_and(|real| !private.iter().any(|secret| secret.starts_with(&real)))
    };
    let system = SYSTEM.iter().map(PathBuf::from).filter(|place| is_open(place));
    // Links of the system stay links; others are named by where they lead.
    let more = more.iter().filter_map(|place| place.canonicalize().ok()).filter(|place| is_open(place));
    let mut places: Vec<PathBuf> = system.chain(more).collect();
    places.sort();
    // Sorted, what contains a place comes before it.
    let mut kept: Vec<PathBuf> = Vec::new();
    for place in places {
        if !kept.iter().any(|known| place.starts_with(known)) {
            kept.push(place);
        }
    }
    kept
}

fn is_readable(place: &Path, readable: &[PathBuf]) -> bool {
    let real: Vec<PathBuf> = readable.iter().filter_map(|place| place.canonicalize().ok()).collect();
    place.canonicalize().is_ok_and(|place| real.iter().any(|known| place.starts_with(known)))
}

/// The directories of a search path that may be read, as they really are.
pub(super) fn path(path: &OsStr, readable: &[PathBuf]) -> OsString {
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute() && is_readable(dir, readable));
    let dirs = dirs.filter_map(|dir| dir.canonicalize().ok());
    std::env::join_paths(dirs).unwrap_or_default()
}

/// The environment of a command: its own places, and what the policy adds.
pub(super) fn env(more: &[(OsString, OsString)], path: &OsStr, copy: &Copy) -> Vec<(OsString, OsString)> {
    let own: [(&str, OsString); 5] = [
        ("PATH", path.to_owned()),
        ("HOME", copy.home().into()),
        ("TMPDIR", copy.tmp().into()),
        ("LANG", "C.UTF-8".into()),
        ("TERM", "dumb".into()),
    ];
    own.into_iter().map(|(name, value)| (name.into(), value)).chain(more.iter().cloned()).collect()
}

/// The program that a command names: in the copy, or in a readable place.
pub(super) fn program(
    words: &[OsString],
    path: &OsStr,
    copy: &Copy,
    readable: &[PathBuf],
) -> Result<PathBuf, SandboxError> {
    let refused = |reason: String| Err(SandboxError::Refused(reason));
    let Some(name) = words.first().filter(|name| !name.is_empty()) else {
        return refused("the command is empty".into());
    };
    if words.iter().any(|word| word.as_encoded_bytes().contains(&0)) {
        return refused("the command has a zero byte in it".into());
    }
    let shown = name.to_string_lossy();
    let found = if name.as_encoded_bytes().contains(&b'/') {
        Some(copy.tree().join(name)).filter(|program| program.exists())
    } else {
        std::env::split_paths(path).map(|dir| dir.join(name)).find(|program| is_program(program))
    };
    let Some(program) = found else {
        return refused(format!("{shown} is not found among the programs that the sandbox shows"));
    };
    let Some(real) = program.canonicalize().ok().filter(|real| is_program(real)) else {
        return refused(format!("{shown} is not a program"));
    };
    let in_copy = copy.tree().canonicalize().is_ok_and(|tree| real.starts_with(tree));
    if !in_copy && !is_readable(&real, readable) {
        return refused(format!("{shown} lies outside what the sandbox shows"));
    }
    if real.metadata().is_ok_and(|found| found.mode() & 0o6000 != 0) {
        return refused(format!("{shown} would run as another user (setuid)"));
    }
    Ok(program)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
