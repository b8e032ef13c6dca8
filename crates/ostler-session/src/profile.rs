//! What a session knows of its agent and of its user's wishes.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use ostler_agents::{Agent, RuleBook};
use ostler_core::delivery::Backoff;
use ostler_core::detector::{Expectations, Settings};
use ostler_core::dialog::Policy;
use ostler_core::{Asking, judge};
use serde::Deserialize;

/// What a session knows of its agent; nothing by default.
#[derive(Debug, Clone, Default)]
pub struct AgentProfile {
    /// The preset.
    pub agent: Arc<Agent>,
    /// Its rules, for the version at hand.
    pub book: Arc<RuleBook>,
    /// Times of the detector.
    pub settings: Settings,
    /// What the detector can expect of the agent.
    pub expectations: Expectations,
    /// Which dialogs are answered.
    pub policy: Arc<Policies>,
    /// When the judge is asked.
    pub judge: judge::Settings,
    /// How messages are delivered.
    pub delivery: DeliverySettings,
}

/// What is done about dialogs, as the user's settings say. A person answers where they say nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policies {
    /// Leave to do something.
    pub permission: Policy,
    /// A question of the agent.
    pub question: Policy,
    /// Approval of a plan.
    pub plan: Policy,
    /// Trust in a folder, a server, an import.
    pub trust: Policy,
    /// A login or a key.
    pub auth: Policy,
    /// Anything else.
    pub dialog: Policy,
    /// Single dialogs, by the rules that know them.
    pub rules: BTreeMap<String, Policy>,
}

impl Policies {
    /// What is done about a dialog that this rule knows.
    pub fn of(&self, rule: &str, kind: Option<&str>) -> Policy {
        let by_kind = || {
            let is = |asking: Asking| kind == Some(asking.as_str());
            [
                (Asking::Permission, self.permission),
                (Asking::Question, self.question),
                (Asking::Plan, self.plan),
                (Asking::Trust, self.trust),
                (Asking::Auth, self.auth),
            ]
            .into_iter()
            .find(|(asking, _)| is(*asking))
            .map_or(self.dialog, |(_, policy)| policy)
        };
        self.rules.get(rule).copied().unwrap_or_else(by_kind)
    }
}

/// How messages are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeliverySettings {
    /// Ask the agent to confirm the context that it is started with.
    pub ack: bool,
    /// How long its confirmation is waited for before the next message is typed.
    pub ack_wait_seconds: u32,
    /// How often a text is typed.
    pub max_attempts: NonZeroU32,
    /// The pauses between attempts, also of those that find the agent busy.
    #[serde(rename = "backoff_seconds")]
    pub backoff: Backoff,
    /// After so many failures, what an agent has to know goes into its instructions file.
    pub file_after: NonZeroU32,
    /// Tell the agent then where it is.
    pub notify: bool,
    /// What an agent without hooks should know and do from its start goes into its instructions file before it is started.
    pub assignment_file: bool,
}

impl Default for DeliverySettings {
    fn default() -> Self {
        let three = NonZeroU32::MIN.saturating_add(2);
        let max_attempts = three.saturating_add(2);
        let backoff = Backoff::default();
        Self {
            ack: true,
            ack_wait_seconds: 5,
            max_attempts,
            backoff,
            file_after: three,
            notify: true,
            assignment_file: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_counts_before_the_kind() {
        let policies: Policies =
            toml::from_str("trust = \"allow\"\ndialog = \"deny\"\n[rules]\nnew-server = \"ask\"").unwrap();
        assert_eq!(policies.of("trust-folder", Some("trust")), Policy::Allow);
        assert_eq!(policies.of("new-server", Some("trust")), Policy::Ask);
        assert_eq!(policies.of("theme", Some("dialog")), Policy::Deny);
        assert_eq!(policies.of("theme", None), Policy::Deny);
        assert_eq!(policies.of("run", Some("permission")), Policy::Ask, "a person answers");
    }
}
