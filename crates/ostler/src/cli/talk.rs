//! The commands about what is said.

use clap::Args;
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Args)]
pub(crate) struct Last {
    /// The session's name or id
    pub(crate) name: String,
    /// How many answers, oldest first
    #[arg(short = 'n', long = "count", value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) count: u8,
    /// Print JSON: prompts, answers, times, and where they are from
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Transcript {
    /// The session's name or id
    pub(crate) name: String,
    /// Only from this moment on: 10m, 2h, 1d ago, or a time such as 2026-11-19T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub(crate) since: Option<Since>,
    /// Go on until the session ends
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// The session's name or id
    pub(crate) name: String,
    /// yes, no, the number or the words of a choice, or your own words where the dialog takes them [default: only show
    /// the dialog]
    #[arg(value_name = "ANSWER")]
    pub(crate) choice: Option<String>,
    /// Your own words, whatever they are
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["choice", "always"])]
    pub(crate) text: Option<String>,
    /// Yes, now and later, where the agent offers that
    #[arg(long)]
    pub(crate) always: bool,
    /// Only if this dialog is still open; without it, the one that is open now
    #[arg(long, value_name = "ID")]
    pub(crate) dialog: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Answer {
    /// What is answered, and whether it is one's own words.
    pub(crate) fn word(&self) -> Option<(&str, bool)> {
        let text = self.text.as_deref().map(|text| (text, true));
        let always = self.always.then_some(("yes", false));
        text.or(self.choice.as_deref().map(|choice| (choice, false))).or(always)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Interrupt {
    /// The session's name or id
    pub(crate) name: String,
    /// How many seconds the agent may take to come to rest
    #[arg(long, value_name = "SECS", default_value = "15", value_parser = super::seconds)]
    pub(crate) timeout: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A moment from which on something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// So long ago.
    Ago(SignedDuration),
    /// Then.
    At(Timestamp),
}

impl Since {
    /// The moment, if it is now.
    pub(crate) fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(ago) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
            Self::At(at) => at,
        }
    }
}

fn since(text: &str) -> Result<Since, String> {
    let error = || "write it as 10m, 2h, 1d or as 2026-11-19T18:00:00Z".to_owned();
    if let Ok(at) = text.parse() {
        return Ok(Since::At(at));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(error()),
    };
    let count: u32 = digits.parse().map_err(|_| error())?;
    Ok(Since::Ago(SignedDuration::from_secs(i64::from(count) * unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_by_their_distance_or_their_time() {
        let now: Timestamp = "2026-11-19T18:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("90", "2026-11-19T17:58:30Z"),
            ("10m", "2026-11-19T17:50:00Z"),
            ("2h", "2026-11-19T16:00:00Z"),
            ("1d", "2026-11-18T18:00:00Z"),
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ] {
            assert_eq!(since(text).unwrap().moment(now), expected.parse().unwrap(), "{text}");
        }
        for text in ["", "m", "-5m", "5w", "yesterday", "ü"] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
