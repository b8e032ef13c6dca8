//! Messages that cannot be typed: too long, or of several lines where every line end would be an Enter.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ostler_hold::{crc32, create_private};
use ostler_screen::SafeText;
use ostler_session::StoredBody;

fn file(dir: &Path, id: &str) -> PathBuf {
    // An id is the sender's choice, and a file name is not; no two ids have the same one.
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(80).collect();
    let sum = if name == id { String::new() } else { format!(".{:08x}", crc32(id.as_bytes())) };
    dir.join("messages").join(format!("{name}{sum}.md"))
}

fn pointer(file: &Path, bytes: u64) -> StoredBody {
    let path = file.display().to_string();
    // It does not say why: a daemon that takes over has to make the same line to recognise it on the screen.
    let line = SafeText::new(&format!(
        "Read the file {path} and do what it says: it is a message to you, {bytes} bytes, which cannot be typed here."
    ));
    StoredBody { path, line }
}

/// Writes a message to a file of its session, and returns the line that says where it is.
pub(super) fn put(dir: &Path, id: &str, text: &str) -> io::Result<StoredBody> {
    let file = file(dir, id);
    create_private(&dir.join("messages"))?;
    let mut open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file)?;
    open.write_all(text.as_bytes())?;
    open.sync_all()?;
    Ok(pointer(&file, text.len() as u64))
}

/// The line that says where a message is, if it was put into a file.
pub(super) fn find(dir: &Path, id: &str) -> Option<StoredBody> {
    let file = file(dir, id);
    let bytes = fs::metadata(&file).ok()?.len();
    Some(pointer(&file, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_found_and_stays_inside() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(find(dir.path(), "m"), None);
        let stored = put(dir.path(), "../../m", "long text").unwrap();
        assert!(stored.path.contains("/messages/______m."), "{stored:?}");
        assert!(stored.line.as_str().contains(&stored.path), "{stored:?}");
        assert_eq!(find(dir.path(), "../../m"), Some(stored));
        assert_eq!(find(dir.path(), "______m"), None, "another id is another file");
        let file = fs::read_dir(dir.path().join("messages")).unwrap().next().unwrap().unwrap();
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "long text");
    }
}
