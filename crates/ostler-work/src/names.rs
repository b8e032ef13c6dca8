//! File names as text: one line each, whatever their bytes.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path as text that [`unescaped`] turns back: `\` doubled; bytes that are no UTF-8, and characters that
/// would break or disguise a line, as `\xNN`.
pub fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                c if is_misleading(c) => escape(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => text.push(c),
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

fn escape(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(text, "\\x{byte:02x}");
    }
}

/// Whether a character ends a line, moves a cursor, or turns the direction of writing.
fn is_misleading(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The path that [`escaped`] was given.
pub fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
        } else if let Some((hex, after)) = rest.strip_prefix(b"x").and_then(|rest| rest.split_at_checked(2))
            && let Some(byte) = std::str::from_utf8(hex).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok())
        {
            bytes.push(byte);
            rest = after;
        } else {
            bytes.push(b'\\');
            rest = rest.strip_prefix(b"\\").unwrap_or(rest);
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// The path of bytes that git or the kernel named.
pub(crate) fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// `path` as seen from the directory `from`; both are relative to the same place.
pub(crate) fn relative(from: &Path, path: &Path) -> PathBuf {
    let shared = from.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Path::new(".."));
    up.chain(path.components().skip(shared).map(|part| Path::new(part.as_os_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_line_and_comes_back() {
        let table: [(&[u8], &str); 7] = [
            (b"src/main.rs", "src/main.rs"),
            ("d\u{e9}j\u{e0} vu".as_bytes(), "d\u{e9}j\u{e0} vu"),
            (b"a\nb\t", r"a\x0ab\x09"),
            (b"back\\slash \\x41", r"back\\slash \\x41"),
            (b"\xff\xfe.txt", r"\xff\xfe.txt"),
            ("txt.\u{202e}exe".as_bytes(), r"txt.\xe2\x80\xaeexe"),
            (b"", ""),
        ];
        for (bytes, text) in table {
            assert_eq!(escaped(path(bytes)), text);
            assert_eq!(unescaped(text), path(bytes), "{text}");
        }
    }

    #[test]
    fn paths_are_seen_from_the_directory_of_the_task() {
        let table = [("", "a/b", "a/b"), ("a", "a/b", "b"), ("a/x", "a/b", "../b"), ("a/b", "c", "../../c")];
        for (from, path, seen) in table {
            assert_eq!(relative(Path::new(from), Path::new(path)), Path::new(seen));
        }
    }
}
