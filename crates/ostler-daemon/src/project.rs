//! Which project a directory belongs to.

use std::path::{Path, PathBuf};

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its root, by its real name: the work tree of git that the directory is in, else the directory itself.
    pub root: PathBuf,
    /// It is a work tree of git.
    pub git: bool,
}

impl Project {
    /// The project that a directory belongs to. Waits for the disk.
    pub fn of(directory: &Path) -> Self {
        let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        match real.ancestors().find(|above| above.join(".git").exists()) {
            Some(root) => Self { root: root.to_owned(), git: true },
            None => Self { root: real, git: false },
        }
    }

    /// What it is called in the record.
    pub fn key(&self) -> String {
        self.root.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_project_is_a_work_tree_or_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("repo/src/deep")).unwrap();
        fs::create_dir(base.join("repo/.git")).unwrap();
        fs::create_dir_all(base.join("repo/tree/sub")).unwrap();
        fs::write(base.join("repo/tree/.git"), "gitdir: elsewhere").unwrap();
        fs::create_dir(base.join("plain")).unwrap();
        symlink("repo/src", base.join("link")).unwrap();
        let table = [
            ("repo/src/deep", "repo", true),
            ("repo", "repo", true),
            ("repo/tree/sub", "repo/tree", true),
            ("link", "repo", true),
            ("plain", "plain", false),
            ("gone", "gone", false),
        ];
        for (directory, root, git) in table {
            assert_eq!(
                Project::of(&base.join(directory)),
                Project { root: base.join(root), git },
                "{directory}"
            );
        }
    }
}
