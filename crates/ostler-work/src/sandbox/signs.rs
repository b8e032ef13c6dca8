//! Signs that a command failed because it is contained, and not because the work is wrong.

use super::SandboxResult;
use crate::process::End;

/// What programs say when the system refuses them something; in lower case.
const SIGNS: [&str; 16] = [
    "operation not permitted",
    "permission denied",
    "permissionerror",
    "read-only file system",
    "network is unreachable",
    "could not resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "getaddrinfo",
    "enetunreach",
    "eacces",
    "eperm",
    "function not implemented",
    "resource temporarily unavailable",
    "cannot allocate memory",
    "file too large",
];
/// Signals by which limits and forbidden calls end a program.
const SIGNALS: [(i32, &str); 4] = [
    (libc::SIGSYS, "a system call is forbidden"),
    (libc::SIGXCPU, "too much processor time"),
    (libc::SIGXFSZ, "too large a file"),
    (libc::SIGKILL, "it was killed"),
];

impl SandboxResult {
    /// The sign that a command which failed may have done so because it is contained; none if there is none.
    pub fn contained(&self) -> Option<String> {
        match self.end {
            End::Exited(0) => return None,
            End::TimedOut => return Some("it took too long".into()),
            // What a shell says of a program that it cannot run.
            End::Exited(status @ (126 | 127)) => return Some(format!("status {status}")),
            End::Signalled(signal) => {
                if let Some((_, why)) = SIGNALS.iter().find(|(known, _)| *known == signal) {
                    return Some((*why).to_owned());
                }
            }
            End::Exited(_) => {}
        }
        let said = format!("{}\n{}", self.stderr.text(), self.stdout.text()).to_lowercase();
        SIGNS.iter().find(|sign| said.contains(**sign)).map(|sign| (*sign).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::kept::{Keep, Kept};
    use crate::sandbox::Containment;

    #[test]
    fn only_what_a_sandbox_refuses_is_a_sign_of_it() {
        let table = [
            (End::Exited(0), "permission denied", None),
            (End::Exited(1), "0", None),
            (End::Exited(1), "error: 2 tests failed", None),
            (End::Exited(101), "failed to open: Permission denied (os error 13)", Some("permission denied")),
            (End::Exited(6), "curl: (6) Could not resolve host: example.com", Some("could not resolve host")),
            (End::Exited(127), "sh: cargo: not found", Some("status 127")),
            (End::Signalled(31), "", Some("a system call is forbidden")),
            (End::Signalled(6), "", None),
            (End::TimedOut, "", Some("it took too long")),
        ];
        for (end, text, expected) in table {
            let mut stderr = Kept::default();
            stderr.push(text.as_bytes(), Keep::default());
            let result = SandboxResult {
                end,
                took: Duration::ZERO,
                stdout: Kept::default(),
                stderr,
                containment: Containment::Rules,
            };
            assert_eq!(result.contained().as_deref(), expected, "{end:?} {text}");
        }
    }
}
