//! What goes into the log: the truth that tests compare a supervisor's claims with.

use std::time::Duration;

use serde::Serialize;

use super::reply::Reply;

/// One fact about what the stand-in received or did.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Record {
    /// The process runs and the terminal is set up.
    Started {
        /// Its process id.
        pid: u32,
    },
    /// The composer is on the screen and takes Enter.
    Ready,
    /// One read from the terminal.
    Bytes {
        /// Bytes in this read.
        len: usize,
        /// Bytes since the start.
        total: u64,
        /// The bytes, with everything but printable ASCII escaped.
        escaped: String,
    },
    /// A message was taken. Logged once per message.
    Submitted {
        /// The whole message, pastes expanded.
        text: String,
        /// Its length in bytes.
        len: usize,
        /// Whether it waits behind a running turn.
        queued: bool,
    },
    /// A turn began.
    Turn {
        /// Length of its prompt in bytes.
        len: usize,
    },
    /// A turn ended by itself.
    Done {
        /// `done`, `error`, `limit` or `auth`.
        outcome: &'static str,
    },
    /// A dialog opened.
    Dialog {
        /// `theme`, `trust`, `permission` or `question`.
        kind: &'static str,
    },
    /// A dialog was answered.
    Answered {
        /// Which dialog.
        kind: &'static str,
        /// The row that was chosen.
        choice: &'static str,
    },
    /// A turn was stopped by Esc, Ctrl-C or a refused permission.
    Interrupted,
    /// A key was ignored on purpose or because nothing could take it.
    Swallowed {
        /// The kind of key.
        key: &'static str,
        /// Length of its text in bytes.
        len: usize,
    },
    /// `--lie` made a message look taken.
    Lied {
        /// Its length in bytes.
        len: usize,
    },
    /// The terminal answered a query.
    Reply(Reply),
    /// `!write` wrote a file, or failed to.
    Wrote {
        /// Its path as given.
        file: String,
        /// Bytes of content.
        len: usize,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// `--fork-orphan` left a process behind.
    Orphan {
        /// Its process id.
        pid: u32,
    },
    /// A flood ended.
    Flooded {
        /// Bytes written.
        bytes: u64,
    },
    /// The terminal is gone.
    Hangup,
    /// The program ends.
    Exit {
        /// Its exit code; meaningless when killed.
        code: u8,
        /// `clean`, `abrupt` or `killed`.
        how: &'static str,
    },
}

#[derive(Serialize)]
struct Stamped<'a> {
    t: u128,
    #[serde(flatten)]
    record: &'a Record,
}

impl Record {
    /// Encodes the record as one line of the log.
    pub(super) fn line(&self, now: Duration) -> Vec<u8> {
        let stamped = Stamped { t: now.as_millis(), record: self };
        let mut line = serde_json::to_vec(&stamped).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_flat_json_line() {
        let record = Record::Submitted { text: "a\nb".into(), len: 3, queued: false };
        let line = record.line(Duration::from_millis(12));
        let text = r#"{"t":12,"event":"submitted","text":"a\nb","len":3,"queued":false}"#;
        assert_eq!(String::from_utf8(line).unwrap(), format!("{text}\n"));
    }
}
