//! Dialogs that have the words of another one in them: the policy of that one does not count for them.

use serde_json::Value;

use crate::stand_in::PRESET;
use crate::support::{TestHome, until};

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

fn home_with(settings: &str) -> TestHome {
    let home = TestHome::with_stand_in();
    home.write_preset(&preset());
    home.write_settings(settings);
    home
}

/// Waits until a dialog was left to a person, and returns why.
fn left(home: &TestHome, name: &str) -> String {
    until("a dialog is left to a person", || {
        let events = home.run(["events", name, "--json"]).ok();
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut left = events.filter(|event| event["event"] == "dialog.left");
        left.next().map(|event| event["details"]["reason"].as_str().unwrap().to_owned())
    })
}

/// What was chosen in the agent's dialogs.
fn answered(home: &TestHome, name: &str) -> Vec<Value> {
    let log = home.log(name).into_iter().filter(|record| record["event"] == "answered");
    log.map(|record| record["choice"].clone()).collect()
}

#[test]
fn trust_in_a_folder_gives_no_leave_to_a_command_that_speaks_of_it() {
    let home = home_with("");
    home.start_with("a", &["--trust"], &[]).ok();
    home.wait("a", "idle");
    home.send("a", "!permission sh x 'Is this a project you created'", &["--timeout", "60"]).ok();
    assert_eq!(left(&home, "a"), "rule permission sees another dialog there");
    assert_eq!(answered(&home, "a"), Vec::<Value>::new());
    // A person answers.
    home.press("a", "3");
    home.await_log("a", "answered", 1);
    assert_eq!(answered(&home, "a"), ["No"]);
}

#[test]
fn a_dialog_of_the_start_is_not_answered_later_even_by_another_daemon() {
    let home = home_with("[policy.rules]\ntheme = \"allow\"\n");
    // Nothing else knows the dialog: its look has changed.
    home.write_preset(&preset().replace("Do you want to proceed", "Shall I go on"));
    home.start_with("a", &[], &["--theme-dialog"]).ok();
    home.wait("a", "idle");
    assert_eq!(answered(&home, "a"), ["Dark mode"], "at the start it is answered");
    home.ok(["daemon", "stop"]);
    home.send("a", "!permission sh x 'Choose the text style'", &["--timeout", "60"]).ok();
    assert_eq!(left(&home, "a"), "it belongs to the agent's start, and that is over");
    assert_eq!(home.count("a", "answered"), 1);
}

#[test]
fn the_agents_own_word_keeps_a_look_from_being_answered() {
    let home = home_with("[policy]\nquestion = \"allow\"\n");
    let question = "[rules.question]\nstate = \"blocked\"\nkind = \"question\"\n";
    home.write_preset(
        &preset()
            .replace("Do you want to proceed", "Shall I go on")
            .replace("Enter to select · Esc to cancel", "Which way")
            .replace(question, &format!("{question}answer.accept_keys = [\"enter\"]\n")),
    );
    home.start_with("a", &[], &["--status"]).ok();
    home.wait("a", "idle");
    home.send("a", "!permission sh x 'Which way'", &["--timeout", "60"]).ok();
    assert_eq!(left(&home, "a"), "the agent says that it waits for something else: permission");
    assert_eq!(home.count("a", "answered"), 0);
    home.press("a", "3");
    home.wait("a", "idle");
    home.send("a", "!question Which way", &["--timeout", "60"]).ok();
    home.await_log("a", "answered", 2);
    assert_eq!(answered(&home, "a"), ["No", "Go left"]);
}

#[test]
fn rows_are_looked_for_in_the_dialog_and_not_in_the_command() {
    let home = home_with("[policy]\npermission = \"allow\"\n");
    let asks = "when = { in = \"dialog\", row = 'Do you want to proceed' }\n";
    let with = |answer: &str| home.write_preset(&preset().replace(asks, &format!("{asks}{answer}\n")));
    // The dialog has come to look different; what is looked for stands in the command.
    with("answer = { accept = 'Approve once', selected = '»' }");
    home.start("a", &[]);
    home.wait("a", "idle");
    home.send("a", "!permission » Approve once", &["--timeout", "60"]).ok();
    assert_eq!(left(&home, "a"), "the row to choose is not there");
    assert_eq!(home.count("a", "answered"), 0);
    with("answer = { accept = '1\\. Yes', selected = '❯' }");
    home.start("b", &[]);
    home.wait("b", "idle");
    home.send("b", "!permission ❯ 1. Yes", &["--timeout", "60"]).ok();
    home.await_log("b", "answered", 1);
    assert_eq!(answered(&home, "b"), ["Yes"]);
}

#[test]
fn a_policy_that_cannot_be_carried_out_is_told() {
    let home = home_with("[policy]\npermission = \"allow\"\n");
    home.start("a", &[]);
    home.wait("a", "idle");
    home.send("a", "!permission sh x", &["--timeout", "60"]).ok();
    assert_eq!(left(&home, "a"), "how it is answered as the policy wants is not known");
}
