//! A person at the same terminal: what they type is theirs.

use crate::support::{TestHome, until};

/// A person's terminal with the agent in it.
struct Desk {
    desk: TestHome,
}

impl Desk {
    fn attached_to(home: &TestHome) -> Self {
        let desk = TestHome::new();
        desk.at_desk("v", "110x35", home, &["attach", "a"]);
        desk.await_screen("v", "shortcuts");
        Self { desk }
    }

    fn press(&self, keys: &str) {
        self.desk.ok(["send", "v", "--raw", keys]);
    }
}

#[test]
fn messages_wait_while_a_person_types_and_come_when_they_are_done() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.wait("a", "idle");
    let desk = Desk::attached_to(&home);
    desk.press("I was just ab");
    home.await_screen("a", "I was just ab");
    let waits = home.send("a", "from a program", &["--id", "m1", "--timeout", "0.5"]);
    assert!(waits.code == 4, "{waits:?}");
    let why = home.message("a", "m1")["waits_for"].as_str().unwrap_or_default().to_owned();
    assert!(why == "a person is typing" || why.contains("something stands in the composer"), "{why}");
    // The person thinks for longer than anybody is taken to be typing: the draft speaks for itself.
    until("the draft is what it waits for", || {
        let why = home.message("a", "m1")["waits_for"].clone();
        why.as_str().is_some_and(|why| why.contains("something stands in the composer")).then_some(())
    });
    desk.press("out to ask\r");
    home.await_log("a", "submitted", 2);
    assert_eq!(home.taken("a"), ["I was just about to ask", "from a program"]);
    assert_eq!(home.await_message("a", "m1", "delivered")["attempts"], 1);
}

#[test]
fn an_agent_that_a_person_uses_gets_messages_between_their_prompts() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.wait("a", "idle");
    let desk = Desk::attached_to(&home);
    let mut expected = Vec::new();
    for round in 0..4 {
        let sending = home.begin_send("a", format!("program {round}").as_bytes(), &["--timeout", "60"]);
        for letter in format!("person {round}").chars() {
            desk.press(&letter.to_string());
        }
        let typed = format!("person {round}");
        until("the person's words stand alone in the composer", || {
            let screen = home.screen("a");
            screen.lines().any(|row| row.trim_end_matches([' ', '│']).ends_with(&typed)).then_some(())
        });
        desk.press("\r");
        sending.finish().ok();
        expected.extend([typed, format!("program {round}")]);
    }
    let mut taken = home.taken("a");
    taken.sort();
    expected.sort();
    assert_eq!(taken, expected, "each alone and once");
}
