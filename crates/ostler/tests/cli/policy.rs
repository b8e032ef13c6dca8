//! Dialogs that have the words of another one in them: the policy of that one does not count for them.

use serde_json::Value;

use crate::agent_lab::{Lab, PRESET};
use crate::support::until;

/// The preset with weighty dialogs of the start, as real agents have them, and with leave that can be given.
fn preset() -> String {
    let heavy = PRESET
        .replace("kind = \"trust\"\n", "kind = \"trust\"\npriority = 90\n")
        .replace("kind = \"dialog\"\n", "kind = \"dialog\"\npriority = 90\n")
        .replace("'Yes, I trust this folder'", "'Yes, (I trust|and always)'");
    heavy.replace(
        "accept = 'Light mode', decline = 'Dark mode', selected = '^ ❯ '",
        "accept_keys = [\"enter\"]",
    )
}

fn lab(settings: &str) -> Lab {
    let lab = Lab::new();
    lab.write_preset(&preset());
    lab.write_settings(settings);
    lab
}

/// Waits until a dialog was left to a person, and returns why.
fn left(lab: &Lab, name: &str) -> String {
    until("a dialog is left to a person", || {
        let events = lab.run(&["events", name, "--json"]).ok();
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut left = events.filter(|event| event["event"] == "dialog.left");
        left.next().map(|event| event["details"]["reason"].as_str().unwrap().to_owned())
    })
}

/// What was chosen in the agent's dialogs.
fn answered(lab: &Lab, name: &str) -> Vec<Value> {
    let log = lab.log(name).into_iter().filter(|record| record["event"] == "answered");
    log.map(|record| record["choice"].clone()).collect()
}

#[test]
fn trust_in_a_folder_gives_no_leave_to_a_command_that_speaks_of_it() {
    let lab = lab("");
    lab.start_with("a", &["--trust"], &[]).ok();
    lab.wait("a", "idle");
    lab.send("a", "!permission sh x 'Is this a project you created'", &["--timeout", "60"]).ok();
    assert_eq!(left(&lab, "a"), "rule permission sees another dialog there");
    assert_eq!(answered(&lab, "a"), Vec::<Value>::new());
    // A person answers.
    lab.press("a", "3");
    lab.await_log("a", "answered", 1);
    assert_eq!(answered(&lab, "a"), ["No"]);
}

#[test]
fn a_dialog_of_the_start_is_not_answered_later_even_by_another_daemon() {
    let lab = lab("[policy.rules]\ntheme = \"allow\"\n");
    // Nothing else knows the dialog: its look has changed.
    lab.write_preset(&preset().replace("Do you want to proceed", "Shall I go on"));
    lab.start_with("a", &[], &["--theme-dialog"]).ok();
    lab.wait("a", "idle");
    assert_eq!(answered(&lab, "a"), ["Dark mode"], "at the start it is answered");
    lab.home.ok(["daemon", "stop"]);
    lab.send("a", "!permission sh x 'Choose the text style'", &["--timeout", "60"]).ok();
    assert_eq!(left(&lab, "a"), "it belongs to the agent's start, and that is over");
    assert_eq!(lab.count("a", "answered"), 1);
}

#[test]
fn the_agents_own_word_keeps_a_look_from_being_answered() {
    let lab = lab("[policy]\nquestion = \"allow\"\n");
    let question = "[rules.question]\nstate = \"blocked\"\nkind = \"question\"\n";
    lab.write_preset(
        &preset()
            .replace("Do you want to proceed", "Shall I go on")
            .replace("Enter to select · Esc to cancel", "Which way")
            .replace(question, &format!("{question}answer.accept_keys = [\"enter\"]\n")),
    );
    lab.start_with("a", &[], &["--status"]).ok();
    lab.wait("a", "idle");
    lab.send("a", "!permission sh x 'Which way'", &["--timeout", "60"]).ok();
    assert_eq!(left(&lab, "a"), "the agent says that it waits for something else: permission");
    assert_eq!(lab.count("a", "answered"), 0);
    lab.press("a", "3");
    lab.wait("a", "idle");
    lab.send("a", "!question Which way", &["--timeout", "60"]).ok();
    lab.await_log("a", "answered", 2);
    assert_eq!(answered(&lab, "a"), ["No", "Go left"]);
}

#[test]
fn rows_are_looked_for_in_the_dialog_and_not_in_the_command() {
    let lab = lab("[policy]\npermission = \"allow\"\n");
    let asks = "when = { in = \"dialog\", row = 'Do you want to proceed' }\n";
    let with = |answer: &str| lab.write_preset(&preset().replace(asks, &format!("{asks}{answer}\n")));
    // The dialog has come to look different; what is looked for stands in the command.
    with("answer = { accept = 'Approve once', selected = '»' }");
    lab.start("a", &[]);
    lab.wait("a", "idle");
    lab.send("a", "!permission » Approve once", &["--timeout", "60"]).ok();
    assert_eq!(left(&lab, "a"), "the row to choose is not there");
    assert_eq!(lab.count("a", "answered"), 0);
    with("answer = { accept = '1\\. Yes', selected = '❯' }");
    lab.start("b", &[]);
    lab.wait("b", "idle");
    lab.send("b", "!permission ❯ 1. Yes", &["--timeout", "60"]).ok();
    lab.await_log("b", "answered", 1);
    assert_eq!(answered(&lab, "b"), ["Yes"]);
}

#[test]
fn a_policy_that_cannot_be_carried_out_is_told() {
    let lab = lab("[policy]\npermission = \"allow\"\n");
    lab.start("a", &[]);
    lab.wait("a", "idle");
    lab.send("a", "!permission sh x", &["--timeout", "60"]).ok();
    assert_eq!(left(&lab, "a"), "how it is answered as the policy wants is not known");
}
