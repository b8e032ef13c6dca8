//! The secret that binds a hook's reports to its session.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::io;

use ostler_hold::{SessionDir, write_atomically};

/// The variable that hands it to the session's processes.
pub(super) const VARIABLE: &str = "OSTLER_HOOK_NONCE";

const FILE: &str = "hook-nonce";

/// Draws a nonce and writes it down, so that it outlives the daemon.
pub(super) fn make(dir: &SessionDir) -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    let nonce = bytes.iter().fold(String::new(), |mut nonce, byte| {
        let _ = write!(nonce, "{byte:02x}");
        nonce
    });
    write_atomically(&dir.path().join(FILE), nonce.as_bytes())?;
    Ok(nonce)
}

/// Whether this is the session's nonce.
pub(crate) fn matches(dir: &SessionDir, given: &str) -> bool {
    let known = fs::read(dir.path().join(FILE)).unwrap_or_default();
    !known.is_empty() && same(&known, given.as_bytes())
}

/// Compares in a time that does not tell where the difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && black_box(a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b))) == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_very_nonce_matches() {
        let base = tempfile::tempdir().unwrap();
        let dir = SessionDir::new(base.path().join("s"));
        assert!(!matches(&dir, ""));
        dir.create().unwrap();
        let nonce = make(&dir).unwrap();
        assert_eq!(nonce.len(), 64);
        assert!(matches(&dir, &nonce));
        for wrong in ["", "x", &nonce[1..], &format!("{nonce}0"), &nonce.to_uppercase().replace('A', "b")] {
            assert!(wrong == nonce || !matches(&dir, wrong), "{wrong}");
        }
        let mode = fs::metadata(dir.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(make(&dir).unwrap(), nonce);
    }
}
