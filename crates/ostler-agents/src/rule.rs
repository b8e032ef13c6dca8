//! Rules as they are written down.

use ostler_core::{Asking, State};
use serde::{Deserialize, Serialize};

/// What a sight on the screen means.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSpec {
    /// The state it shows.
    pub state: Option<State>,
    /// What kind of blocked, limited or error; of working, why the agent tries again what failed.
    pub kind: Option<String>,
    /// Where rules contradict, the highest wins.
    pub priority: i32,
    /// The versions of the agent it is for: a comma-separated range such as `>=2.1.295, <3`.
    pub versions: Option<String>,
    /// A rule that a layer wants gone.
    pub off: bool,
    /// It holds however much else moves on the screen: idle is believed without a quiet moment. Work is believed though
    /// hooks or transcript say that the turn is over.
    pub certain: bool,
    /// Of idle: what was typed last is over and began no work, or none that goes on, if this was not there before it.
    pub answered: bool,
    /// It holds for agents in general, beside their own rules; only in the preset for agents in general.
    pub general: bool,
    /// When it holds.
    pub when: Condition,
    /// How a dialog is answered.
    pub answer: Option<Answer>,
    /// How its choices look, for who answers it by hand.
    pub choice: Option<ChoiceSpec>,
    /// What it is about, for people.
    pub note: Option<String>,
}

/// When a rule holds: everything that is said must be so.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Condition {
    /// Where to look; see [`crate::Region`].
    #[serde(rename = "in")]
    pub region: Option<String>,
    /// What one row there looks like: a regular expression. Its group `until` is when a limit ends.
    pub row: Option<String>,
    /// All of these hold.
    pub all: Vec<Condition>,
    /// One of these holds.
    pub any: Vec<Condition>,
    /// None of these holds.
    pub not: Vec<Condition>,
    /// Whether the composer is there.
    pub composer: Option<bool>,
    /// Whether something is written in the composer.
    pub draft: Option<bool>,
    /// Whether the cursor is visible.
    pub cursor_visible: Option<bool>,
    /// Whether one or two blanks lie between the cursor and what stands before it, as behind a prompt.
    pub cursor_apart: Option<bool>,
    /// Whether nothing but faint text stands at the cursor and behind it: a hint in an empty place to write.
    pub cursor_hint: Option<bool>,
    /// Whether the cursor is in the composer.
    pub cursor_in_composer: Option<bool>,
    /// Whether pastes are bracketed.
    pub bracketed_paste: Option<bool>,
    /// Whether the program draws on the alternate screen.
    pub alternate_screen: Option<bool>,
}

/// How a dialog is answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// The row that says yes, once.
    pub accept: Option<String>,
    /// The row that says no.
    pub decline: Option<String>,
    /// What marks the selected row.
    pub selected: Option<String>,
    /// Keys that say yes where there are no rows to choose from.
    pub accept_keys: Vec<String>,
    /// Keys that say no where there are no rows to choose from.
    pub decline_keys: Vec<String>,
    /// What saying yes grants, which the user can give beforehand: `folder` is trust in the folder, `unattended` is that
    /// the agent works without asking.
    pub grants: Option<String>,
    /// It is asked at the agent's start and never later: it is not answered any more once the agent was ready, for then
    /// the same words may be the agent's own. So it is unless said otherwise, but for permissions, questions and plans.
    pub startup: Option<bool>,
}

/// How the choices of a dialog look, where that is not as usual, and what they mean.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChoiceSpec {
    /// The row that says yes, where the rule's `answer` has none.
    pub accept: Option<String>,
    /// The row that says no, where the rule's `answer` has none.
    pub decline: Option<String>,
    /// The row that says yes, now and later.
    pub always: Option<String>,
    /// What marks the selected row, where the rule's `answer` does not say it and it is not as usual.
    pub selected: Option<String>,
    /// The row in which one can write.
    pub text: Option<String>,
    /// Keys that open the place to write, once that row is selected.
    pub text_keys: Vec<String>,
    /// One writes at once: there is no such row.
    pub writes: bool,
    /// The choices stand beside one another in one row: a pattern for each of them.
    pub buttons: Option<String>,
    /// Only the background tells which is selected.
    pub by_colour: bool,
    /// Keys that say yes, whatever rows there are.
    pub accept_keys: Vec<String>,
    /// Keys that say no, whatever rows there are.
    pub decline_keys: Vec<String>,
}

impl Answer {
    /// Whether a dialog of this kind is answered only until the agent was ready.
    pub fn is_for_startup(&self, kind: Option<&str>) -> bool {
        let later = [Asking::Permission, Asking::Question, Asking::Plan];
        self.startup.unwrap_or_else(|| !later.iter().any(|asking| kind == Some(asking.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_asked_for_at_the_start_and_leave_at_any_time() {
        let answer = Answer::default();
        for (kind, startup) in [("trust", true), ("auth", true), ("dialog", true), ("permission", false)] {
            assert_eq!(answer.is_for_startup(Some(kind)), startup, "{kind}");
        }
        assert!(answer.is_for_startup(None));
        assert!(!Answer { startup: Some(false), ..answer }.is_for_startup(Some("dialog")));
    }
}
