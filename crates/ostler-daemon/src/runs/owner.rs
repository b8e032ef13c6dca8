//! Whose daemon looks after a run.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;

use crate::Home;

/// Names a home among all that share a store.
///
/// It is drawn by lot and kept in the home: machines that were made from one image have the same host name and the same
/// paths, and one that was made anew has another name and is the same home.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    id: Arc<str>,
    /// What earlier versions called this home: host name and path.
    former: Arc<str>,
}

impl Owner {
    /// The owner that a home has; drawn, if it has none yet. Whoever asks holds the lock of the home.
    pub(crate) fn of(home: &Home) -> io::Result<Self> {
        let host = rustix::system::uname();
        let former = format!("{}:{}", host.nodename().to_string_lossy(), home.path().display());
        let id = match fs::read_to_string(home.owner()) {
            Ok(text) if super::is_plain(text.trim()) => text.trim().to_owned(),
            Ok(text) => {
                tracing::error!(
                    file = %home.owner().display(),
                    text,
                    "not an owner; another is drawn, and runs on a server that were this home's are left alone"
                );
                draw(home)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => draw(home)?,
            Err(error) => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", home.owner().display())));
            }
        };
        Ok(Self { id: id.into(), former: former.into() })
    }

    /// The name in records, from now on.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether a record names this home.
    pub(super) fn is(&self, recorded: &str) -> bool {
        recorded == &*self.id || recorded == &*self.former
    }
}

fn draw(home: &Home) -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    let id = bytes.iter().fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    });
    let file = home.owner();
    let fresh = file.with_extension("new");
    let mut open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    open.write_all(id.as_bytes())?;
    open.sync_all()?;
    fs::rename(&fresh, &file)?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn home(dir: &std::path::Path) -> Home {
        Home::resolve(|name| (name == "OSTLER_HOME").then(|| dir.into())).unwrap()
    }

    #[test]
    fn a_home_keeps_its_owner_and_no_two_have_the_same() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, two) = (home(one.path()), home(two.path()));
        let first = Owner::of(&one).unwrap();
        assert_eq!(Owner::of(&one).unwrap().id(), first.id());
        assert_ne!(Owner::of(&two).unwrap().id(), first.id());
        assert_eq!(fs::metadata(one.owner()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(one.path()).unwrap().count(), 1, "nothing else is left");

        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let table = [
            (first.id().to_owned(), true),
            (format!("{host}:{}", one.path().display()), true),
            (format!("{host}:{}", two.path().display()), false),
            (format!("other-{host}:{}", one.path().display()), false),
            (String::new(), false),
        ];
        for (recorded, expected) in table {
            assert_eq!(first.is(&recorded), expected, "{recorded}");
        }

        // What cannot be an owner is replaced; what cannot be read is told.
        fs::write(one.owner(), "").unwrap();
        let drawn = Owner::of(&one).unwrap();
        assert_ne!(drawn.id(), first.id());
        assert_eq!(Owner::of(&one).unwrap().id(), drawn.id());
        fs::remove_file(one.owner()).unwrap();
        fs::create_dir(one.owner()).unwrap();
        assert!(Owner::of(&one).unwrap_err().to_string().contains("owner"));
    }
}
