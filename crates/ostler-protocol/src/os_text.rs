//! Operating system strings in JSON.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

/// A path, argument or variable: a string where it is valid UTF-8, else the list of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OsText {
    /// Plain text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl OsText {
    /// The text for a person, with odd bytes replaced.
    pub fn lossy(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        }
    }

    /// The text as its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl<T: AsRef<OsStr> + ?Sized> From<&T> for OsText {
    fn from(text: &T) -> Self {
        let bytes = text.as_ref().as_bytes();
        std::str::from_utf8(bytes)
            .map_or_else(|_| Self::Bytes(bytes.to_vec()), |text| Self::Text(text.to_owned()))
    }
}

impl From<OsText> for OsString {
    fn from(text: OsText) -> Self {
        match text {
            OsText::Text(text) => text.into(),
            OsText::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_json_whatever_the_bytes() {
        for bytes in [b"plain".to_vec(), vec![0xFF, 0xFE, b'x']] {
            let original = OsString::from_vec(bytes);
            let json = serde_json::to_string(&OsText::from(&original)).unwrap();
            let back: OsText = serde_json::from_str(&json).unwrap();
            assert_eq!(OsString::from(back), original);
        }
    }
}
