//! Which files are read for a session already.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tail::FileId;

/// Which files are read for a session already: two agents in one directory do not share a transcript.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims(Arc<Mutex<BTreeMap<FileId, usize>>>);

/// A file that is read for a session. Dropping it lets others have the file.
#[derive(Debug)]
pub(super) struct Claim {
    claims: Claims,
    file: FileId,
}

impl Claims {
    /// Takes a file. One that a hook named may be taken by several.
    pub(super) fn take(&self, file: FileId) -> Claim {
        *self.table().entry(file).or_default() += 1;
        Claim { claims: self.clone(), file }
    }

    pub(super) fn is_taken(&self, file: FileId) -> bool {
        self.table().contains_key(&file)
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<FileId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut table = self.claims.table();
        if let Some(count) = table.get_mut(&self.file) {
            *count -= 1;
            if *count == 0 {
                table.remove(&self.file);
            }
        }
    }
}
