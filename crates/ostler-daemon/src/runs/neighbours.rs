//! Runs in the same directory.

use std::ffi::OsString;
use std::path::PathBuf;

use ostler_protocol::RunRequest;

/// Where a run works, and with whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Neighbour {
    pub(super) cwd: PathBuf,
    batch: Option<(String, u32)>,
    /// The user insists on it.
    shares: bool,
}

impl Neighbour {
    pub(super) fn of(request: &RunRequest) -> Self {
        Self {
            cwd: PathBuf::from(OsString::from(request.cwd.clone())),
            batch: request.batch.clone(),
            shares: request.shares_directory,
        }
    }

    /// Whether it must not begin while the other one works.
    pub(super) fn is_in_the_way_of(&self, other: &Self) -> bool {
        let overlap = self.cwd.starts_with(&other.cwd) || other.cwd.starts_with(&self.cwd);
        // Tasks that come one after the other are no trouble.
        let takes_turns = self.batch == other.batch && matches!(self.batch, Some((_, 1)));
        overlap && !self.shares && !takes_turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_in_one_directory_are_in_each_others_way() {
        let at = |cwd: &str, batch: Option<(&str, u32)>| Neighbour {
            cwd: cwd.into(),
            batch: batch.map(|(name, width)| (name.to_owned(), width)),
            shares: false,
        };
        let table = [
            (at("/a", None), at("/a", None), true),
            (at("/a", None), at("/a/b", None), true),
            (at("/a/b", None), at("/a", None), true),
            (at("/a", None), at("/ab", None), false),
            (at("/a", Some(("x", 1))), at("/a", Some(("x", 1))), false),
            (at("/a", Some(("x", 2))), at("/a", Some(("x", 2))), true),
            (at("/a", Some(("x", 1))), at("/a", Some(("y", 1))), true),
            (at("/a", Some(("x", 2))), at("/b", Some(("x", 2))), false),
            (Neighbour { shares: true, ..at("/a", None) }, at("/a", None), false),
        ];
        for (one, other, expected) in table {
            assert_eq!(one.is_in_the_way_of(&other), expected, "{one:?} {other:?}");
        }
    }
}
