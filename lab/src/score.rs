//! What ostler said against what was true.
//!
//! The rules:
//!
//! - Only labelled time counts. The first 0.5 s after each true change of state do not: nothing is asked of a
//!   detector before a person would have noticed. Neighbouring intervals that accept the same states are no
//!   change.
//! - *Right* is the share of that time in which the state said is the true one, or one that the truth accepts.
//! - *False idle* is the time in which `idle` was said and the truth does not accept it: this is what makes a
//!   supervisor type into a busy agent. It is counted in total and by its longest stretch.
//! - A dialog is *missed* if `blocked` was not said within 1.5 s of its appearance, or for less than 1 s of it.
//! - *Lag* is the time from a true change between working and idle to the first moment it is said. A change that
//!   is never said lags as long as the state lasts.

use serde::Deserialize;

use crate::truth::{Interval, Truth};

/// Time after a true change that does not count.
pub const GRACE: f64 = 0.5;
/// The longest false idle of an agent of which nothing is known.
pub const GUESS: f64 = 1.0;
/// Time within which a dialog has to be noticed.
pub const NOTICE: f64 = 1.5;
/// Time for which a dialog has to be told.
pub const TELL: f64 = 1.0;
/// Two intervals with no more than this between them are neighbours.
const GAP: f64 = 1.5;

/// One change of what ostler says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Said {
    /// Seconds in the recording.
    pub t: f64,
    /// The state.
    pub state: String,
    /// Its kind.
    #[serde(default)]
    pub kind: Option<String>,
}

/// How well a recording, or many of them, was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Score {
    /// Seconds that count.
    pub counted: f64,
    /// Seconds of them that were right.
    pub right: f64,
    /// Seconds of false idle.
    pub false_idle: f64,
    /// The longest stretch of it.
    pub longest_false_idle: f64,
    /// Dialogs there were.
    pub dialogs: usize,
    /// Dialogs that were missed.
    pub missed: usize,
    /// Lags of changes from working to idle.
    pub to_idle: Vec<f64>,
    /// Lags of changes from idle to working.
    pub to_working: Vec<f64>,
}

impl Score {
    /// The share of counted time that was right, from 0 to 1.
    pub fn share(&self) -> f64 {
        if self.counted > 0.0 { self.right / self.counted } else { 1.0 }
    }

    /// Says whether nothing was said that makes people or programs lose something: a false idle that lasts, or
    /// nothing about a dialog.
    pub fn is_harmless(&self) -> bool {
        self.longest_false_idle <= GRACE && self.missed == 0
    }

    /// The same of an agent of which nothing is known.
    pub fn is_harmless_guess(&self) -> bool {
        self.longest_false_idle <= GUESS && self.missed == 0
    }

    /// Says whether nothing harmful was said and little was wrong.
    pub fn passes(&self) -> bool {
        self.share() >= 0.95 && self.is_harmless()
    }

    /// Adds the score of another recording.
    pub fn add(&mut self, other: &Self) {
        self.counted += other.counted;
        self.right += other.right;
        self.false_idle += other.false_idle;
        self.longest_false_idle = self.longest_false_idle.max(other.longest_false_idle);
        self.dialogs += other.dialogs;
        self.missed += other.missed;
        self.to_idle.extend(&other.to_idle);
        self.to_working.extend(&other.to_working);
    }
}

/// Compares what was said of a recording with the truth.
pub fn score(truth: &Truth, said: &[Said]) -> Score {
    let mut score = Score::default();
    // Where the current stretch of false idle began and has come to.
    let mut stretch: Option<(f64, f64)> = None;
    for (index, interval) in truth.intervals.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| truth.intervals.get(index));
        let before = before.filter(|before| interval.from - before.to <= GAP);
        let same =
            before.is_some_and(|before| accepted(before) == accepted(interval) && before.to >= interval.from);
        let from = if same { interval.from } else { interval.from + GRACE };
        for (begin, end, state) in spans(said, from, interval.to) {
            let right = accepts(interval, state);
            score.counted += end - begin;
            score.right += if right { end - begin } else { 0.0 };
            if state == "idle" && !right {
                score.false_idle += end - begin;
                let began =
                    stretch.filter(|(_, to)| begin - to <= GRACE + 0.001).map_or(begin, |(began, _)| began);
                stretch = Some((began, end));
                score.longest_false_idle = score.longest_false_idle.max(end - began);
            } else {
                stretch = None;
            }
        }
        if interval.state == "blocked" && interval.any.is_empty() {
            score.dialogs += 1;
            score.missed += usize::from(is_missed(interval, said));
        }
        match before.map(|before| (before.state.as_str(), interval.state.as_str())) {
            Some(("working", "idle")) => score.to_idle.push(lag(interval, said)),
            Some(("idle", "working")) => score.to_working.push(lag(interval, said)),
            _ => {}
        }
    }
    score
}

fn accepted(interval: &Interval) -> Vec<&str> {
    if interval.any.is_empty() {
        vec![interval.state.as_str()]
    } else {
        interval.any.iter().map(String::as_str).collect()
    }
}

fn accepts(interval: &Interval, state: &str) -> bool {
    accepted(interval).contains(&state)
}

/// What was said between two moments, as `(from, to, state)`. Before the first word it is `unknown`.
fn spans(said: &[Said], from: f64, to: f64) -> Vec<(f64, f64, &str)> {
    let starts =
        std::iter::once((0.0, "unknown")).chain(said.iter().map(|said| (said.t, said.state.as_str())));
    let ends = said.iter().map(|said| said.t).chain(std::iter::once(f64::INFINITY));
    let clipped = starts.zip(ends).map(|((begin, state), end)| (begin.max(from), end.min(to), state));
    clipped.filter(|(begin, end, _)| end > begin).collect()
}

fn is_missed(dialog: &Interval, said: &[Said]) -> bool {
    let told: Vec<_> =
        spans(said, dialog.from, dialog.to).into_iter().filter(|(_, _, state)| *state == "blocked").collect();
    let long: f64 = told.iter().map(|(begin, end, _)| end - begin).sum();
    let late = told.first().is_none_or(|(begin, _, _)| begin - dialog.from > NOTICE);
    late || long < TELL.min(dialog.to - dialog.from)
}

fn lag(interval: &Interval, said: &[Said]) -> f64 {
    let spans = spans(said, interval.from, interval.to);
    let first = spans.iter().find(|(_, _, state)| accepts(interval, state));
    first.map_or(interval.to - interval.from, |(begin, _, _)| begin - interval.from)
}

/// The value below which this share of the values lies; none of no values.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let index = (last as f64 * share).ceil() as usize;
    sorted.get(index.min(last)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(intervals: &[(f64, f64, &str)]) -> Truth {
        let interval = |(from, to, state): &(f64, f64, &str)| Interval {
            from: *from,
            to: *to,
            state: (*state).into(),
            kind: None,
            any: vec![],
        };
        Truth { intervals: intervals.iter().map(interval).collect(), ..Truth::default() }
    }

    fn said(changes: &[(f64, &str)]) -> Vec<Said> {
        changes.iter().map(|(t, state)| Said { t: *t, state: (*state).into(), kind: None }).collect()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn the_truth_itself_is_right() {
        let truth = truth(&[
            (1.0, 5.0, "idle"),
            (5.0, 10.0, "working"),
            (11.0, 15.0, "blocked"),
            (15.0, 20.0, "idle"),
        ]);
        let score =
            score(&truth, &said(&[(0.5, "idle"), (5.1, "working"), (11.2, "blocked"), (15.3, "idle")]));
        assert!(near(score.share(), 1.0) && near(score.counted, 16.0), "{score:?}");
        assert!(near(score.to_working[0], 0.1) && score.to_idle.is_empty());
        assert_eq!((score.dialogs, score.missed), (1, 0));
        assert!(score.passes());
    }

    #[test]
    fn idle_said_too_early_is_false_idle() {
        let truth = truth(&[(0.0, 10.0, "working"), (10.0, 20.0, "idle")]);
        let score = score(&truth, &said(&[(0.0, "working"), (4.0, "idle"), (6.0, "working"), (9.0, "idle")]));
        assert!(near(score.false_idle, 3.0) && near(score.longest_false_idle, 2.0), "{score:?}");
        assert!(near(score.right, 6.5 + 9.5), "{score:?}");
        assert_eq!(score.to_idle, [0.0]);
        assert!(!score.passes());
    }

    #[test]
    fn a_stretch_goes_on_over_the_grace_after_a_change() {
        let truth = truth(&[(0.0, 5.0, "working"), (5.0, 10.0, "blocked")]);
        let score = score(&truth, &said(&[(0.0, "idle")]));
        assert!(near(score.false_idle, 9.0) && near(score.longest_false_idle, 9.5), "{score:?}");
        assert_eq!(score.missed, 1);
    }

    #[test]
    fn a_dialog_is_missed_if_told_late_or_briefly() {
        let truth = truth(&[(0.0, 5.0, "blocked")]);
        for (changes, missed) in [
            (&[(0.0, "blocked")][..], 0),
            (&[(1.4, "blocked")], 0),
            (&[(1.6, "blocked")], 1),
            (&[(0.0, "blocked"), (0.9, "working")], 1),
            (&[(0.0, "blocked"), (0.5, "working"), (3.0, "blocked")], 0),
            (&[], 1),
        ] {
            assert_eq!(score(&truth, &said(changes)).missed, missed, "{changes:?}");
        }
    }

    #[test]
    fn what_the_truth_accepts_is_right_and_no_change() {
        let mut truth = truth(&[(0.0, 2.0, "working"), (2.0, 6.0, "working")]);
        for interval in &mut truth.intervals {
            interval.any = vec!["working".into(), "limited".into()];
        }
        let score = score(&truth, &said(&[(0.0, "limited")]));
        assert!(near(score.counted, 5.5) && near(score.share(), 1.0), "{score:?}");
    }

    #[test]
    fn a_change_that_is_never_said_lags_for_as_long_as_it_lasts() {
        let truth = truth(&[(0.0, 5.0, "working"), (5.0, 9.0, "idle")]);
        assert_eq!(score(&truth, &said(&[(0.0, "working")])).to_idle, [4.0]);
    }

    #[test]
    fn quantiles() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.95), Some(3.0));
    }
}
