//! A person at the same terminal: what they type is theirs.

use crate::agent_lab::Lab;
use crate::support::{TestHome, ostler, until};

/// A person's terminal with the agent in it.
struct Desk {
    desk: TestHome,
}

impl Desk {
    fn attached_to(lab: &Lab) -> Self {
        let desk = TestHome::new();
        let at_home = format!("OSTLER_HOME={}", lab.home.path().display());
        let program = ostler().to_str().unwrap();
        desk.ok([
            "start", program, "--name", "v", "--size", "110x35", "--env", &at_home, "--", "attach", "a",
        ]);
        desk.await_screen("v", "shortcuts");
        Self { desk }
    }

    fn press(&self, keys: &str) {
        self.desk.ok(["send", "v", "--raw", keys]);
    }
}

#[test]
fn messages_wait_while_a_person_types_and_come_when_they_are_done() {
    let lab = Lab::new();
    lab.start("a", &[]);
    lab.wait("a", "idle");
    let desk = Desk::attached_to(&lab);
    desk.press("I was just ab");
    lab.home.await_screen("a", "I was just ab");
    let waits = lab.send("a", "from a program", &["--id", "m1", "--timeout", "0.5"]);
    assert!(waits.code == 4, "{waits:?}");
    let why = lab.message("a", "m1")["waits_for"].as_str().unwrap_or_default().to_owned();
    assert!(why == "a person is typing" || why.contains("something stands in the composer"), "{why}");
    // The person thinks for longer than anybody is taken to be typing: the draft speaks for itself.
    until("the draft is what it waits for", || {
        let why = lab.message("a", "m1")["waits_for"].clone();
        why.as_str().is_some_and(|why| why.contains("something stands in the composer")).then_some(())
    });
    desk.press("out to ask\r");
    lab.await_log("a", "submitted", 2);
    assert_eq!(lab.taken("a"), ["I was just about to ask", "from a program"]);
    assert_eq!(lab.await_message("a", "m1", "delivered")["attempts"], 1);
}

#[test]
fn a_person_who_takes_up_one_of_our_prompts_again_keeps_it() {
    let lab = Lab::new();
    lab.start("a", &[]);
    lab.deliver("a", "run the tests", &[]);
    lab.wait("a", "idle");
    let desk = Desk::attached_to(&lab);
    desk.press("run the tests");
    lab.home.await_screen("a", "│ > run the tests");
    lab.send("a", "from a program", &["--id", "m1", "--timeout", "6"])
        .fails(4, &["something stands in the composer that is not this message", "│ > run the tests"]);
    desk.press(" once more\r");
    lab.await_log("a", "submitted", 3);
    assert_eq!(lab.taken("a"), ["run the tests", "run the tests once more", "from a program"]);
}

#[test]
fn a_person_who_types_behind_our_text_is_not_cut_short() {
    let lab = Lab::new();
    lab.start("a", &["--slow-echo", "1500"]);
    lab.wait("a", "idle");
    let desk = Desk::attached_to(&lab);
    let sending = lab.begin_send("a", b"ours", &["--id", "m1", "--timeout", "40"]);
    lab.await_log("a", "bytes", 1);
    desk.press(" and theirs");
    let sent = sending.finish();
    // What stands there is neither the one nor the other, and nobody but the person can say what it is for.
    assert_eq!(lab.taken("a"), Vec::<String>::new(), "{sent:?}");
    sent.fails(1, &["something else than what was typed"]);
    desk.press("\r");
    lab.await_log("a", "submitted", 1);
    assert_eq!(lab.taken("a"), ["ours and theirs"]);
}

#[test]
fn an_agent_that_a_person_uses_gets_messages_between_their_prompts() {
    let lab = Lab::new();
    lab.start("a", &[]);
    lab.wait("a", "idle");
    let desk = Desk::attached_to(&lab);
    let mut expected = Vec::new();
    for round in 0..4 {
        let sending = lab.begin_send("a", format!("program {round}").as_bytes(), &["--timeout", "60"]);
        for letter in format!("person {round}").chars() {
            desk.press(&letter.to_string());
        }
        let typed = format!("person {round}");
        until("the person's words stand alone in the composer", || {
            let screen = lab.home.screen("a");
            screen.lines().any(|row| row.trim_end_matches([' ', '│']).ends_with(&typed)).then_some(())
        });
        desk.press("\r");
        sending.finish().ok();
        expected.extend([typed, format!("program {round}")]);
    }
    let mut taken = lab.taken("a");
    taken.sort();
    expected.sort();
    assert_eq!(taken, expected, "each alone and once");
}
