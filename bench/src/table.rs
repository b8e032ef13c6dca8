//! What was measured, beside what is allowed.

use std::fmt;

use serde_json::{Value, json};

use crate::machine::Machine;

/// What a value must keep to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// One measurement.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The name of the group, for `--only`.
    pub(crate) group: &'static str,
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// More about the value: spread, peer.
    pub(crate) note: String,
    /// None for what is told but not judged.
    pub(crate) limit: Option<Limit>,
    /// Number of values it is made from.
    pub(crate) n: usize,
    /// Why there is no value.
    pub(crate) error: Option<String>,
}

impl Row {
    /// A value that is told but not judged; [`Row::limit`] makes it count.
    pub(crate) fn new(group: &'static str, what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        let (note, limit, error) = (String::new(), None, None);
        Self { group, what: what.into(), value, unit, note, limit, n: 1, error }
    }

    /// A measurement that could not be made, which fails like a missed limit.
    pub(crate) fn broken(group: &'static str, error: &anyhow::Error) -> Self {
        Self { error: Some(format!("{error:#}")), n: 0, ..Self::new(group, group, 0.0, "") }
    }

    pub(crate) fn n(mut self, n: usize) -> Self {
        self.n = n;
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(crate) fn limit(mut self, limit: Limit) -> Self {
        self.limit = Some(limit);
        self
    }

    pub(crate) fn passes(&self) -> bool {
        self.error.is_none()
            && match self.limit {
                Some(Limit::AtMost(most)) => self.value <= most,
                Some(Limit::AtLeast(least)) => self.value >= least,
                None => true,
            }
    }

    fn verdict(&self) -> &'static str {
        match (&self.error, self.limit) {
            (Some(_), _) => "ERROR",
            (None, None) => "-",
            (None, Some(_)) if self.passes() => "pass",
            (None, Some(_)) => "FAIL",
        }
    }

    /// The value as a part of its limit.
    fn ratio(&self) -> Option<f64> {
        match self.limit? {
            Limit::AtMost(limit) | Limit::AtLeast(limit) => (limit > 0.0).then(|| self.value / limit),
        }
    }

    fn cells(&self) -> [String; 6] {
        let measured = match &self.error {
            Some(error) => error.clone(),
            None => format!("{} {} {}", shown(self.value), self.unit, self.note).trim_end().to_owned(),
        };
        let limit = match self.limit {
            Some(Limit::AtMost(limit)) => format!("<= {} {}", shown(limit), self.unit),
            Some(Limit::AtLeast(limit)) => format!(">= {} {}", shown(limit), self.unit),
            None => "-".to_owned(),
        };
        let ratio = self.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        [
            self.what.clone(),
            measured,
            limit.trim_end().to_owned(),
            ratio,
            self.n.to_string(),
            self.verdict().into(),
        ]
    }

    fn to_json(&self) -> Value {
        let limit = match self.limit {
            Some(Limit::AtMost(most)) => json!({ "at_most": most }),
            Some(Limit::AtLeast(least)) => json!({ "at_least": least }),
            None => Value::Null,
        };
        json!({
            "name": self.group, "what": self.what, "value": self.value, "unit": self.unit, "note": self.note,
            "limit": limit, "ratio": self.ratio(), "n": self.n, "pass": self.passes(), "error": self.error,
        })
    }
}

/// Three digits that matter.
fn shown(value: f64) -> String {
    match value {
        whole if whole.fract() == 0.0 => format!("{whole:.0}"),
        small if small < 10.0 => format!("{small:.2}"),
        medium if medium < 100.0 => format!("{medium:.1}"),
        large => format!("{large:.0}"),
    }
}

/// All that one run of the bench has to say.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) machine: Machine,
    pub(crate) rows: Vec<Row>,
}

impl Table {
    pub(crate) fn passes(&self) -> bool {
        self.rows.iter().all(Row::passes)
    }

    pub(crate) fn to_json(&self) -> Value {
        let machine = &self.machine;
        json!({
            "machine": {
                "cpu": machine.cpu, "cores": machine.cores, "kernel": machine.kernel,
                "ostler": machine.ostler, "tmux": machine.tmux,
                "load_before": machine.load_before, "load_after": machine.load_after,
            },
            "quick": machine.quick,
            "rows": self.rows.iter().map(Row::to_json).collect::<Vec<_>>(),
            "pass": self.passes(),
        })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.machine;
        writeln!(f, "{} cores ({}), Linux {}", machine.cores, machine.cpu, machine.kernel)?;
        writeln!(f, "{}, {}{}", machine.ostler, machine.tmux, if machine.quick { ", quick" } else { "" })?;
        writeln!(f, "load average {} before, {} after\n", machine.load_before, machine.load_after)?;
        let head = ["what", "measured", "limit", "of limit", "n", "verdict"].map(str::to_owned);
        let lines: Vec<[String; 6]> = std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect();
        let width = |column: usize| {
            let longest = lines.iter().map(|line| line[column].chars().count()).max();
            longest.unwrap_or(0)
        };
        let widths: [usize; 6] = std::array::from_fn(width);
        for line in &lines {
            for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
                match column {
                    // Numbers stand below each other; what comes last needs no filling.
                    3 | 4 => write!(f, "{cell:>width$}  ")?,
                    5 => writeln!(f, "{cell}")?,
                    _ => write!(f, "{cell:width$}  ")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_just_kept_passes() {
        let row = |value, limit| Row::new("test", "a thing", value, "ms").limit(limit);
        assert!(row(15.0, Limit::AtMost(15.0)).passes());
        assert!(!row(15.1, Limit::AtMost(15.0)).passes());
        assert!(row(3.0, Limit::AtLeast(3.0)).passes());
        assert!(!row(2.9, Limit::AtLeast(3.0)).passes());
        assert!(!Row::broken("test", &anyhow::anyhow!("no such thing")).passes());
    }
}
