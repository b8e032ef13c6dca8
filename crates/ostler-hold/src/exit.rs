//! How a program ended: what the holder leaves behind when everything else is gone.

use crate::codec::{Fields, Put, Truncated};

/// The end of a program under care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExitRecord {
    /// Exit status, where the program ended by itself.
    pub status: Option<u8>,
    /// Signal that ended it, where one did.
    pub signal: Option<u8>,
    /// Offset behind the last byte of output.
    pub written: u64,
    /// When it ended, in milliseconds since 1970.
    pub at_ms: u64,
    /// User CPU time of the program and what it waited for, in microseconds.
    pub user_us: u64,
    /// System CPU time likewise.
    pub system_us: u64,
    /// Largest resident set, in KiB.
    pub max_rss_kib: u64,
    /// Sequence of the last message that was typed to its last byte.
    pub typed: u64,
}

/// The exit file is not one that this version can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadExitFile(pub String);

impl std::fmt::Display for BadExitFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit record cannot be read: {}", self.0)
    }
}

impl std::error::Error for BadExitFile {}

const FIRST_LINE: &str = "ostler exit 1";

impl ExitRecord {
    /// The record as the text of the session's `exit` file: a `name value` line each.
    pub fn to_text(&self) -> String {
        let optional = |value: Option<u8>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        format!(
            "{FIRST_LINE}\nstatus {}\nsignal {}\nwritten {}\nat_ms {}\nuser_us {}\nsystem_us {}\nmax_rss_kib {}\ntyped {}\n",
            optional(self.status),
            optional(self.signal),
            self.written,
            self.at_ms,
            self.user_us,
            self.system_us,
            self.max_rss_kib,
            self.typed,
        )
    }

    /// Reads what [`ExitRecord::to_text`] wrote; names it does not know are those of a newer version.
    pub fn from_text(text: &str) -> Result<Self, BadExitFile> {
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err(BadExitFile("unknown first line".into()));
        }
        let mut record = Self::default();
        for line in lines {
            let bad = || BadExitFile(format!("bad line {line:?}"));
            let (name, value) = line.split_once(' ').ok_or_else(bad)?;
            if value == "-" {
                continue;
            }
            let number: u64 = value.parse().map_err(|_| bad())?;
            match name {
                "status" => record.status = Some(u8::try_from(number).map_err(|_| bad())?),
                "signal" => record.signal = Some(u8::try_from(number).map_err(|_| bad())?),
                "written" => record.written = number,
                "at_ms" => record.at_ms = number,
                "user_us" => record.user_us = number,
                "system_us" => record.system_us = number,
                "max_rss_kib" => record.max_rss_kib = number,
                "typed" => record.typed = number,
                _ => {}
            }
        }
        Ok(record)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.u8(u8::from(self.status.is_some()) | u8::from(self.signal.is_some()) << 1);
        out.u8(self.status.unwrap_or(0));
        out.u8(self.signal.unwrap_or(0));
        for value in [self.written, self.at_ms, self.user_us, self.system_us, self.max_rss_kib, self.typed] {
            out.u64(value);
        }
    }

    pub(crate) fn decode(fields: &mut Fields<'_>) -> Result<Self, Truncated> {
        let (present, status, signal) = (fields.u8()?, fields.u8()?, fields.u8()?);
        Ok(Self {
            status: (present & 1 != 0).then_some(status),
            signal: (present & 2 != 0).then_some(signal),
            written: fields.u64()?,
            at_ms: fields.u64()?,
            user_us: fields.u64()?,
            system_us: fields.u64()?,
            max_rss_kib: fields.u64()?,
            typed: fields.u64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ExitRecord;

    #[test]
    fn text_is_stable_and_read_back() {
        let record = ExitRecord {
            status: None,
            signal: Some(9),
            written: 70_000,
            at_ms: 5,
            user_us: 3,
            system_us: 4,
            max_rss_kib: 900,
            typed: 12,
        };
        let text = record.to_text();
        assert_eq!(
            text,
            "ostler exit 1\nstatus -\nsignal 9\nwritten 70000\nat_ms 5\nuser_us 3\nsystem_us 4\nmax_rss_kib 900\ntyped 12\n"
        );
        assert_eq!(ExitRecord::from_text(&text), Ok(record));
        assert_eq!(ExitRecord::from_text(&format!("{text}later 1\n")), Ok(record));
        assert!(ExitRecord::from_text("ostler exit 2\n").is_err());
        assert!(ExitRecord::from_text("ostler exit 1\nstatus 400\n").is_err());
    }
}
