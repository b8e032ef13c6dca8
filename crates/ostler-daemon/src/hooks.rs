//! What binds agents' hooks to their sessions: the nonce, the claims, the rates.
//!
//! Reports are hints of an untrusted program, bound to their session by a nonce that only processes of that session
//! are given. `hook_reports` hands them to the sessions.

mod claim;
mod nonce;
mod rate;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ostler_core::Steady;
use ostler_hold::SessionDir;
use ostler_protocol::MAX_HOOK_PAYLOAD;
use rustix::fs::{Mode, OFlags};

use crate::home::Home;
use crate::ready_file;

pub(crate) use claim::{Claim, give_up, put_back, take as claim};
pub(crate) use nonce::matches as has_nonce;

/// Longest file that is a report: the payload and its header.
const MAX_FILE: u64 = MAX_HOOK_PAYLOAD as u64 + (16 << 10);
/// Variables that speak of one session's hooks, and are not to be inherited by another session.
pub(crate) const VARIABLES: [&str; 3] = [nonce::VARIABLE, "OSTLER_HOOKS", ready_file::VARIABLE];

/// How many reports each session has made lately.
#[derive(Debug, Default)]
pub(crate) struct ReportRates(Mutex<HashMap<String, rate::Bucket>>);

impl ReportRates {
    /// Whether a session may report once more. The others' reports cost it nothing.
    pub(crate) fn admits(&self, session: &str, now: Steady) -> bool {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A bucket that is full again says nothing.
        if buckets.len() > 1_000 {
            buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        buckets.entry(session.to_owned()).or_insert_with(|| rate::Bucket::full(now)).take(now)
    }
}

/// What a program is given so that its hooks find their way: a fresh nonce, and where ostler lives.
pub(crate) fn environment(home: &Home, dir: &SessionDir) -> io::Result<Vec<(OsString, OsString)>> {
    dir.create()?;
    Ok(vec![
        (nonce::VARIABLE.into(), nonce::make(dir)?.into()),
        ("OSTLER_HOME".into(), home.path().as_os_str().to_owned()),
        (ready_file::VARIABLE.into(), ready_file::path(dir.path()).into()),
    ])
}

/// Reads a file of the spool, whatever was put there.
pub(crate) fn read_report(file: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(file, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}
