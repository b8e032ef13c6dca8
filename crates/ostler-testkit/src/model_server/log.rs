//! The truth about every exchange.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Seconds since the Unix epoch; never runs backwards within one log.
    pub at: f64,
    /// The exchange, counted from 1.
    pub exchange: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened in an exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A request was read in full.
    Received {
        /// Where it was sent to.
        path: String,
        /// The turn it belongs to, counted from 1; none for a side request.
        turn: Option<usize>,
        /// Which reply of the turn it gets, counted from 1.
        reply: Option<usize>,
        /// The newest user message in full.
        user: String,
        /// What the user said since the model or a tool last spoke, each in full.
        #[serde(default)]
        fresh: Vec<String>,
        /// How many things the user has said in this conversation.
        #[serde(default)]
        prompts: usize,
        /// Names of the tools it offers.
        tools: Vec<String>,
        /// The watched texts that are anywhere in it, and how often.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        watched: BTreeMap<String, usize>,
    },
    /// The first byte of the answer's body went out.
    FirstByte,
    /// The last byte of the answer's body went out.
    LastByte {
        /// The HTTP status.
        status: u16,
        /// The text in it.
        text: String,
        /// The tool that it calls.
        tool: Option<String>,
        /// The agent will have to come back for more: the answer calls a tool or is an error.
        more: bool,
    },
    /// The client closed the connection before the last byte.
    ClientLeft,
}

/// A log that can be written from every task and read at any time.
#[derive(Debug, Clone)]
pub struct Log(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Wall time of `started`: a clock that is set back meanwhile does not disturb the order.
    epoch: f64,
    started: Instant,
    entries: Mutex<(Vec<Entry>, Option<File>)>,
}

impl Log {
    /// Creates a log that is kept in memory, and in a file if one is named.
    pub fn create(path: Option<&Path>) -> std::io::Result<Self> {
        let file = path.map(File::create).transpose()?;
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
        Ok(Self(Arc::new(Inner { epoch, started: Instant::now(), entries: Mutex::new((Vec::new(), file)) })))
    }

    /// Returns what was logged so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Returns the time on this log's clock.
    pub fn now(&self) -> f64 {
        self.0.epoch + self.0.started.elapsed().as_secs_f64()
    }

    /// The same in whole seconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is after 1970")]
    pub(super) fn seconds(&self) -> u64 {
        self.now() as u64
    }

    pub(super) fn write(&self, exchange: u64, event: Event) {
        let mut entries = self.0.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = Entry { at: self.now(), exchange, event };
        if let (Some(file), Ok(line)) = (&mut entries.1, serde_json::to_string(&entry)) {
            // The copy in memory is what counts; the file is for people.
            let _ = writeln!(file, "{line}");
        }
        entries.0.push(entry);
    }
}
