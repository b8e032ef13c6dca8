//! A settings file of an agent, changed whole or not at all.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ostler_agents::hooks::MergeError;

use super::made::Made;
use super::place::Place;
use super::target;

/// Largest file that is read: more than any settings.
const MAX_BYTES: u64 = 8 << 20;

/// Why a file is not changed.
#[derive(Debug)]
pub(super) enum SettingsError {
    /// Its contents.
    Content(MergeError),
    /// It is not a text file of ours.
    Unfit(String),
    /// It may not be written.
    ReadOnly(PathBuf),
    /// Somebody else changed it at the same moment.
    Changed(PathBuf),
    /// The disk says no.
    Io(PathBuf, io::Error),
}

impl From<MergeError> for SettingsError {
    fn from(error: MergeError) -> Self {
        Self::Content(error)
    }
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Content(error) => error.fmt(f),
            Self::Unfit(reason) => f.write_str(reason),
            Self::ReadOnly(path) => write!(f, "{} is read-only; nothing was changed", path.display()),
            Self::Changed(path) => write!(f, "{} keeps changing; nothing was changed", path.display()),
            Self::Io(path, error) => write!(f, "{}: {error}; nothing was changed", path.display()),
        }
    }
}

impl SettingsError {
    pub(super) fn line(&self) -> Option<usize> {
        match self {
            Self::Content(error) => error.line(),
            _ => None,
        }
    }

    /// Whether a person could still do by hand what ostler does not do.
    pub(super) fn is_content(&self) -> bool {
        matches!(self, Self::Content(_))
    }

    pub(super) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Content(MergeError::NotOurs) => "move it away, then try again",
            Self::Content(_) => "nothing was changed: mend that line, then try again",
            Self::ReadOnly(_) => "make it writable (chmod u+w), then try again",
            Self::Changed(_) => "try again when the agent is not being set up",
            _ => return None,
        };
        Some(hint.into())
    }
}

/// A file as it was found.
#[derive(Debug)]
pub(super) struct SettingsFile {
    /// The name it is known by.
    named: PathBuf,
    /// The file itself, where the name is a link.
    path: PathBuf,
    text: Option<String>,
    metadata: Option<Metadata>,
}

impl SettingsFile {
    /// Reads the file, if it is there.
    pub(super) fn open(place: &Place) -> Result<Self, SettingsError> {
        let named = place.file.clone();
        let path = target(&named).map_err(|error| SettingsError::Io(named.clone(), error))?;
        if !place.links_lead_out && !stays_inside(&place.dir, &path) {
            return Err(SettingsError::Unfit(format!(
                "{} is a link that leads out of the project",
                named.display()
            )));
        }
        let failed = |error| SettingsError::Io(path.clone(), error);
        let file = match OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(&path)
        {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { named, path, text: None, metadata: None });
            }
            Err(error) => return Err(failed(error)),
        };
        let metadata = file.metadata().map_err(failed)?;
        let unfit = |what: &str| Err(SettingsError::Unfit(format!("{} {what}", path.display())));
        if !metadata.is_file() {
            return unfit("is not a regular file");
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return unfit("belongs to another user");
        }
        if metadata.len() > MAX_BYTES {
            return unfit("is too large for settings");
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        let Ok(text) = String::from_utf8(bytes) else { return unfit("is not UTF-8 text") };
        Ok(Self { named, path, text: Some(text), metadata: Some(metadata) })
    }

    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Whether the file may be replaced. To rename over a read-only file would be possible, and not what its owner
    /// meant.
    pub(super) fn check_writable(&self) -> Result<(), SettingsError> {
        let read_only = |metadata: &Metadata| metadata.mode() & 0o200 == 0;
        if self.metadata.as_ref().is_some_and(read_only) {
            return Err(SettingsError::ReadOnly(self.path.clone()));
        }
        let dir = self.path.ancestors().skip(1).find(|dir| dir.is_dir());
        match dir.and_then(|dir| Some((dir, dir.metadata().ok()?))) {
            Some((dir, metadata)) if read_only(&metadata) => Err(SettingsError::ReadOnly(dir.to_owned())),
            _ => Ok(()),
        }
    }

    /// Replaces the file in one step, or takes it away.
    pub(super) fn replace(&self, after: Option<&str>, made: Option<&mut Made>) -> Result<(), SettingsError> {
        self.check_writable()?;
        match after {
            Some(text) => self.write(text, made),
            None => self.delete(made),
        }
        .map_err(|error| match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => SettingsError::ReadOnly(self.path.clone()),
            // Somebody was faster.
            io::ErrorKind::ResourceBusy => SettingsError::Changed(self.path.clone()),
            _ => SettingsError::Io(self.path.clone(), error),
        })
    }

    fn delete(&self, made: Option<&mut Made>) -> io::Result<()> {
        self.check_unchanged()?;
        match fs::remove_file(&self.named) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        made.map_or(Ok(()), |made| made.gone(&self.named))
    }

    fn write(&self, text: &str, mut made: Option<&mut Made>) -> io::Result<()> {
        let dir = self.path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        if let Some(made) = made.as_deref_mut() {
            for missing in missing(dir) {
                made.add(&missing)?;
            }
        }
        DirBuilder::new().recursive(true).create(dir)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = dir.join(format!(".{name}.ostler-{}", std::process::id()));
        let written = self.write_temporary(&temporary, text).and_then(|()| {
            self.check_unchanged()?;
            if let Some(made) = made.filter(|_| self.metadata.is_none()) {
                made.add(&self.named)?;
            }
            fs::rename(&temporary, &self.path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn write_temporary(&self, temporary: &Path, text: &str) -> io::Result<()> {
        // One that a killed command of the same process id left.
        let _ = fs::remove_file(temporary);
        // A new file is as the user's umask says; an old one is private until it has its old mode again.
        let mode = if self.metadata.is_some() { 0o600 } else { 0o666 };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(temporary)?;
        file.write_all(text.as_bytes())?;
        if let Some(before) = &self.metadata {
            if before.gid() != file.metadata()?.gid() {
                std::os::unix::fs::fchown(&file, None, Some(before.gid()))?;
            }
            file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o7777))?;
        }
        // People's settings: a power cut must not leave an empty file where they were.
        file.sync_all()
    }

    /// Agents write their settings too, and know nothing of our lock.
    fn check_unchanged(&self) -> io::Result<()> {
        let now = match File::open(&self.path) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Some(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if now.as_deref() == self.text.as_deref().map(str::as_bytes) {
            Ok(())
        } else {
            Err(io::ErrorKind::ResourceBusy.into())
        }
    }
}

/// Directories that are not there yet, innermost last.
fn missing(dir: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        dir.ancestors().take_while(|dir| !dir.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Whether a path that may not exist yet is beneath a directory, wherever links lead.
fn stays_inside(dir: &Path, path: &Path) -> bool {
    let existing = path.ancestors().find_map(|part| part.canonicalize().ok());
    existing.is_some_and(|existing| existing.starts_with(dir))
}
