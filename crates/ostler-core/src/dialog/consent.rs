//! Whether a dialog may be answered by a policy.
//!
//! An agent writes part of its dialogs: a command or a reason may hold the words of any other dialog, and so the
//! look of one that the user allows. An answer therefore needs everything that is known of the dialog to point the
//! same way; in doubt a person answers.

use super::Policy;
use crate::Asking;

/// A rule that sees a dialog on the screen, and what the user says of such dialogs.
#[derive(Debug, Clone)]
pub struct Witness<'a, A> {
    /// The rule.
    pub rule: &'a str,
    /// What kind of dialog it knows, if it says: without, it sees no more than that somebody is asked.
    pub kind: Option<&'a str>,
    /// What the user's policy says of it.
    pub policy: Policy,
    /// What it knows of answers.
    pub answer: RuleAnswer<A>,
    /// The dialog belongs to the agent's start.
    pub startup: bool,
}

/// What a rule knows of answers to its dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleAnswer<A> {
    /// It has no answer.
    None,
    /// It has one, but not the one that the policy wants.
    Unwanted,
    /// How to do what the policy wants.
    Wanted(A),
}

/// What else is known of the moment.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The agent's start is over: what it shows now may be its own words.
    pub started: bool,
    /// What the agent itself says that it waits for.
    pub told: &'a [Asking],
}

/// What to do about a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent<'a, A> {
    /// The policy leaves it to a person.
    Ask,
    /// It is answered.
    Answer {
        /// The rule that knows how.
        rule: &'a str,
        /// What the policy says.
        policy: Policy,
        /// How.
        answer: A,
    },
    /// The policy wants it answered, and it is better not to.
    Refuse {
        /// The rule that the policy is about.
        rule: &'a str,
        /// Why not.
        doubt: Doubt,
    },
}

/// Why a dialog is not answered although the policy wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// No way to do what the policy wants is known.
    NoWay,
    /// Another rule sees another dialog there.
    Contradicted(String),
    /// It belongs to the start, and that is over.
    Late,
    /// The agent says that it waits for something else.
    Denied(Asking),
}

impl Doubt {
    /// The reason for people.
    pub fn reason(&self) -> String {
        match self {
            Self::NoWay => "how it is answered as the policy wants is not known".into(),
            Self::Contradicted(rule) => format!("rule {rule} sees another dialog there"),
            Self::Late => "it belongs to the agent's start, and that is over".into(),
            Self::Denied(asking) => {
                format!("the agent says that it waits for something else: {}", asking.as_str())
            }
        }
    }
}

/// Decides from all rules that see a dialog, the weightiest first.
pub fn consent<'a, A: Clone + PartialEq>(
    witnesses: &[Witness<'a, A>],
    circumstances: Circumstances<'_>,
) -> Consent<'a, A> {
    let way = |witness: &'_ Witness<'a, A>| match &witness.answer {
        RuleAnswer::Wanted(answer) if witness.policy != Policy::Ask => Some(answer.clone()),
        _ => None,
    };
    let Some((leader, answer)) = witnesses.iter().find_map(|witness| Some((witness, way(witness)?))) else {
        return match witnesses.iter().find(|witness| witness.policy != Policy::Ask) {
            Some(Witness { rule, .. }) => Consent::Refuse { rule, doubt: Doubt::NoWay },
            None => Consent::Ask,
        };
    };
    let refuse = |doubt| Consent::Refuse { rule: leader.rule, doubt };
    if let Some(other) = witnesses.iter().find(|witness| !agrees(witness, leader)) {
        return refuse(Doubt::Contradicted(other.rule.to_owned()));
    }
    if leader.startup && circumstances.started {
        return refuse(Doubt::Late);
    }
    if let Some(told) = circumstances.told.iter().find(|told| is_other(**told, leader.kind, leader.startup)) {
        return refuse(Doubt::Denied(*told));
    }
    Consent::Answer { rule: leader.rule, policy: leader.policy, answer }
}

/// Whether a rule says nothing against an answer to the dialog that another one sees.
fn agrees<A: PartialEq>(witness: &Witness<'_, A>, leader: &Witness<'_, A>) -> bool {
    match &witness.answer {
        RuleAnswer::Wanted(_) => witness.policy == leader.policy && witness.answer == leader.answer,
        RuleAnswer::Unwanted => false,
        // It sees the same dialog in another place. Two that are of no particular kind need not be the same.
        RuleAnswer::None => {
            witness.kind.is_none()
                || (witness.kind == leader.kind && witness.kind != Some(Asking::Dialog.as_str()))
        }
    }
}

/// Whether what an agent says it waits for is something else than a dialog of this kind.
fn is_other(told: Asking, kind: Option<&str>, startup: bool) -> bool {
    match told {
        // No particular kind.
        Asking::Dialog => false,
        // Before its first turn an agent has nothing else to ask permission for: it is the general word for trust, too.
        Asking::Permission if startup && kind == Some(Asking::Trust.as_str()) => false,
        // Some ask for leave to go on with a plan.
        Asking::Permission if kind == Some(Asking::Plan.as_str()) => false,
        told => kind != Some(told.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUST: Witness<'_, &str> = Witness {
        rule: "trust",
        kind: Some("trust"),
        policy: Policy::Allow,
        answer: RuleAnswer::Wanted("row of trust"),
        startup: true,
    };
    const PERMISSION: Witness<'_, &str> = Witness {
        rule: "permission",
        kind: Some("permission"),
        policy: Policy::Allow,
        answer: RuleAnswer::Wanted("1. Yes"),
        startup: false,
    };
    const TITLE: Witness<'_, &str> =
        Witness { rule: "title", policy: Policy::Ask, answer: RuleAnswer::None, ..PERMISSION };
    const STARTING: Circumstances<'_> = Circumstances { started: false, told: &[] };
    const STARTED: Circumstances<'_> = Circumstances { started: true, told: &[] };

    fn outcome(witnesses: &[Witness<'static, &'static str>], circumstances: Circumstances<'_>) -> String {
        match consent(witnesses, circumstances) {
            Consent::Ask => "ask".into(),
            Consent::Answer { rule, answer, .. } => format!("{rule}: {answer}"),
            Consent::Refuse { rule, doubt } => format!("{rule}: {doubt:?}"),
        }
    }

    #[test]
    fn one_rule_with_a_policy_is_answered() {
        assert_eq!(outcome(&[], STARTING), "ask");
        assert_eq!(outcome(&[TRUST], STARTING), "trust: row of trust");
        assert_eq!(outcome(&[PERMISSION], STARTED), "permission: 1. Yes");
        let asked = Witness { policy: Policy::Ask, answer: RuleAnswer::Unwanted, ..PERMISSION };
        assert_eq!(outcome(&[asked], STARTED), "ask");
    }

    #[test]
    fn the_words_of_an_allowed_dialog_in_another_one_are_not_answered() {
        let asked = Witness { policy: Policy::Ask, answer: RuleAnswer::Unwanted, ..PERMISSION };
        for circumstances in [STARTING, STARTED] {
            let contradicted = "trust: Contradicted(\"permission\")";
            assert_eq!(outcome(&[TRUST, asked.clone()], circumstances), contradicted);
            assert_eq!(outcome(&[TRUST, PERMISSION], circumstances), contradicted, "the answers differ");
        }
        let denied = Witness { policy: Policy::Deny, answer: RuleAnswer::Wanted("3. No"), ..PERMISSION };
        assert_eq!(outcome(&[PERMISSION, denied], STARTED), "permission: Contradicted(\"permission\")");
        let login = Witness { rule: "login", kind: Some("auth"), ..TITLE };
        assert_eq!(outcome(&[login, PERMISSION], STARTED), "permission: Contradicted(\"login\")");
    }

    #[test]
    fn a_rule_that_sees_the_same_dialog_elsewhere_does_no_harm() {
        assert_eq!(outcome(&[PERMISSION, TITLE], STARTED), "permission: 1. Yes");
        let anything = Witness { kind: None, ..TITLE };
        assert_eq!(outcome(&[PERMISSION, anything], STARTED), "permission: 1. Yes");
        let theme = Witness { rule: "theme", kind: Some("dialog"), ..TRUST };
        let resume = Witness { rule: "resume", kind: Some("dialog"), ..TITLE };
        assert_eq!(outcome(&[theme, resume], STARTING), "theme: Contradicted(\"resume\")");
    }

    #[test]
    fn a_dialog_of_the_start_is_answered_at_the_start() {
        assert_eq!(outcome(&[TRUST], STARTED), "trust: Late");
    }

    #[test]
    fn the_agents_own_word_counts_for_more_than_the_look() {
        let told = |told| Circumstances { started: false, told };
        let general = "it is the general word";
        assert_eq!(outcome(&[TRUST], told(&[Asking::Permission])), "trust: row of trust", "{general}");
        let later = Witness { startup: false, ..TRUST };
        assert_eq!(outcome(&[later], told(&[Asking::Permission])), "trust: Denied(Permission)");
        assert_eq!(outcome(&[TRUST], told(&[Asking::Question])), "trust: Denied(Question)");
        assert_eq!(outcome(&[TRUST], told(&[Asking::Trust])), "trust: row of trust");
        assert_eq!(outcome(&[TRUST], told(&[Asking::Dialog])), "trust: row of trust", "it names none");
        assert_eq!(outcome(&[PERMISSION], told(&[Asking::Question])), "permission: Denied(Question)");
        let plan = Witness { kind: Some("plan"), rule: "plan", ..PERMISSION };
        assert_eq!(outcome(&[plan], told(&[Asking::Permission])), "plan: 1. Yes");
    }

    #[test]
    fn a_policy_that_cannot_be_carried_out_is_told() {
        let unable = Witness { answer: RuleAnswer::Unwanted, ..PERMISSION };
        assert_eq!(outcome(&[unable], STARTED), "permission: NoWay");
        let unknown = Witness { answer: RuleAnswer::None, ..PERMISSION };
        assert_eq!(outcome(&[unknown], STARTED), "permission: NoWay");
    }
}
