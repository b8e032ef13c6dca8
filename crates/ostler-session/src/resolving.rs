//! What somebody means who answers a dialog.

use ostler_agents::Choosable;
use ostler_screen::SafeText;

use crate::event::AnswerCommand;
use crate::pending_dialog::{Known, PendingDialog, find};
use crate::refusal::Refusal;

/// What is to be done with a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Choose this.
    Choose(Choosable),
    /// Press these keys.
    Press(Vec<String>),
    /// Write this, in the choice of that place in the list if there is one, once these keys were pressed.
    Write { text: String, keys: Vec<String> },
}

/// What to do for an answer, in words, and which choice has to be selected for it.
pub(crate) fn resolve(
    pending: &PendingDialog,
    known: &Known,
    command: &AnswerCommand,
) -> Result<(Goal, String, Option<usize>), Refusal> {
    let options = &pending.text.options;
    let word = command.word.trim();
    let choose = |at: usize| {
        let option = options[at].clone();
        Ok((Goal::Choose(option.clone()), option.label, Some(at)))
    };
    let unknown = || Refusal::NoSuchChoice {
        word: word.to_owned(),
        choices: options.iter().map(|option| option.label.clone()).collect(),
    };
    if command.own_words {
        return write(pending, known, word).ok_or(Refusal::TakesNoText);
    }
    let lower = word.to_lowercase();
    if command.always {
        return pending.always.filter(|_| lower == "yes").map_or(Err(Refusal::NoAlways), choose);
    }
    let matching = |is_so: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..options.len()).filter(|at| is_so(&options[*at].label.to_lowercase())).collect()
    };
    if let [at] = *matching(&|label| label == lower) {
        return choose(at);
    }
    if let Ok(number) = word.parse::<u32>() {
        let at = options.iter().position(|option| option.number == Some(number));
        // Rows without numbers are counted.
        let counted = (options.iter().all(|option| option.number.is_none()) && number > 0)
            .then(|| number as usize - 1)
            .filter(|at| *at < options.len());
        return at.or(counted).map_or_else(|| Err(unknown()), choose);
    }
    if lower == "yes" || lower == "no" {
        let is_yes = lower == "yes";
        let (answer, choice) = (&known.answer, &known.choice);
        let (patterns, own_keys, keys) = if is_yes {
            ([&choice.accept, &answer.accept], &choice.accept_keys, &answer.accept_keys)
        } else {
            ([&choice.decline, &answer.decline], &choice.decline_keys, &answer.decline_keys)
        };
        if !own_keys.is_empty() {
            return Ok((Goal::Press(own_keys.clone()), lower, None));
        }
        let pattern = patterns.into_iter().flatten().next().map(String::as_str);
        let opening: &[&str] = if is_yes { &YES } else { &NO };
        let at = find(options, pattern).or_else(|| {
            options
                .iter()
                .enumerate()
                .position(|(at, option)| Some(at) != pending.always && begins_with(&option.label, opening))
        });
        if let Some(at) = at {
            return choose(at);
        }
        if options.is_empty() && !keys.is_empty() {
            return Ok((Goal::Press(keys.clone()), lower, None));
        }
        return Err(unknown());
    }
    if let [at] = *matching(&|label| word.chars().count() > 1 && label.starts_with(&lower)) {
        return choose(at);
    }
    write(pending, known, word).ok_or_else(unknown)
}

/// How words of one's own are written, where the dialog takes some.
fn write(pending: &PendingDialog, known: &Known, word: &str) -> Option<(Goal, String, Option<usize>)> {
    // A line end would be an answer.
    let text = SafeText::new(word).as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() || !pending.takes_text {
        return None;
    }
    let goal = Goal::Write { text: text.clone(), keys: known.choice.text_keys.clone() };
    Some((goal, text, pending.text_row))
}

/// Words with which a choice begins that agrees.
const YES: [&str; 9] = ["yes", "allow", "approve", "accept", "proceed", "continue", "trust", "ok", "submit"];
/// Words with which a choice begins that does not.
const NO: [&str; 9] = ["no", "don't", "don’t", "deny", "reject", "decline", "cancel", "quit", "exit"];

fn begins_with(label: &str, words: &[&str]) -> bool {
    let label = label.to_lowercase();
    words.iter().any(|word| {
        let rest = label.strip_prefix(word);
        rest.is_some_and(|rest| rest.chars().next().is_none_or(|next| !next.is_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use ostler_agents::{Answer, ChoiceSpec, DialogText};

    use super::*;
    use crate::event::Ticket;

    fn pending(labels: &[&str]) -> PendingDialog {
        let options = labels.iter().zip(1..).map(|(label, number)| Choosable {
            number: Some(number),
            label: (*label).into(),
            place: 0,
        });
        PendingDialog {
            id: "1".into(),
            rule: None,
            kind: None,
            text: DialogText { options: options.collect(), ..DialogText::default() },
            takes_text: false,
            always: None,
            print: 0,
            text_row: None,
        }
    }

    fn meant(pending: &PendingDialog, known: &Known, word: &str) -> String {
        let always = word == "always";
        let word = if always { "yes" } else { word }.to_owned();
        let command = AnswerCommand { dialog: "1".into(), word, own_words: false, always, ticket: Ticket(0) };
        match resolve(pending, known, &command) {
            Ok((Goal::Choose(option), _, Some(at))) => format!("{at} {}", option.label),
            Ok((goal, _, at)) => format!("{goal:?} {at:?}"),
            Err(refusal) => format!("{refusal:?}").split([' ', '{']).next().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn choices_are_meant_by_number_by_words_and_by_yes_and_no() {
        let labels = ["Yes", "Yes, and always allow it", "No, and say why (esc)"];
        let permission = PendingDialog { always: Some(1), ..pending(&labels) };
        let plain = Known::default();
        for (word, choice) in [
            ("yes", "0 Yes"),
            ("YES", "0 Yes"),
            ("no", "2 No, and say why (esc)"),
            ("2", "1 Yes, and always allow it"),
            ("no, and", "2 No, and say why (esc)"),
            ("always", "1 Yes, and always allow it"),
            ("4", "NoSuchChoice"),
            ("perhaps", "NoSuchChoice"),
            ("", "NoSuchChoice"),
        ] {
            assert_eq!(meant(&permission, &plain, word), choice, "{word}");
        }
        // Words that two choices begin with mean neither.
        assert_eq!(meant(&pending(&["Allow here", "Allow there"]), &plain, "allow"), "NoSuchChoice");
        assert_eq!(meant(&pending(&["Nothing", "Yesterday"]), &plain, "yes"), "NoSuchChoice");
        assert_eq!(meant(&pending(&["Yes", "No"]), &plain, "always"), "NoAlways");
        // The preset knows better than the words.
        let answer = Answer { accept: Some("2. Go".into()), ..Answer::default() };
        let known = Known { answer, ..Known::default() };
        assert_eq!(meant(&pending(&["Continue later", "Go"]), &known, "yes"), "1 Go");
    }

    #[test]
    fn keys_are_for_dialogs_without_choices_unless_the_preset_says_more() {
        let answer = Answer { accept_keys: vec!["y".into()], ..Answer::default() };
        let known = Known { answer, ..Known::default() };
        assert_eq!(meant(&pending(&[]), &known, "yes"), "Press([\"y\"]) None");
        assert_eq!(meant(&pending(&["One", "Two"]), &known, "yes"), "NoSuchChoice");
        assert_eq!(meant(&pending(&[]), &known, "no"), "NoSuchChoice");
        let choice = ChoiceSpec { decline_keys: vec!["escape".into()], ..ChoiceSpec::default() };
        let known = Known { choice, ..Known::default() };
        assert_eq!(meant(&pending(&["Yes", "No, and say why"]), &known, "no"), "Press([\"escape\"]) None");
    }

    #[test]
    fn own_words_are_for_dialogs_that_take_them_and_have_no_line_ends() {
        let question = PendingDialog { takes_text: true, text_row: Some(1), ..pending(&["Red", "Other"]) };
        let plain = Known::default();
        let written = meant(&question, &plain, "dark\n green");
        assert_eq!(written, "Write { text: \"dark green\", keys: [] } Some(1)");
        assert_eq!(meant(&question, &plain, "red"), "0 Red");
        assert_eq!(meant(&question, &plain, "yes"), "NoSuchChoice", "yes is no colour");
    }
}
