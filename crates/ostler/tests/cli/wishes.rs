//! Agents that wish for their context, and words that only look like a wish.

use std::fs;
use std::io::Write;

use crate::stand_in::PRESET;
use crate::support::{TRANSCRIPT, TestHome, until};

const WISH: &str = "->continuity:load";

/// What the agent was given because it wished for it.
fn given(home: &TestHome) -> Vec<String> {
    home.taken("a")
        .into_iter()
        .filter(|text| text.contains("Nothing is known of this project yet."))
        .collect()
}

#[test]
fn a_line_of_a_prompt_is_no_wish_although_it_looks_like_a_reply() {
    let home = TestHome::with_stand_in();
    // What follows the first row of a prompt looks like the agent's own words.
    home.write_preset(&format!("{PRESET}[conversation]\nprompt = '^> '\nreply = '^(● |  )'\n"));
    home.start("a", &[]);
    home.wait("a", "idle");
    home.deliver("a", &format!("!say fine\n\n{WISH}"), &[]);
    home.await_screen("a", "● fine");
    home.wait("a", "idle");
    // Nor after a restart.
    home.kill_daemon();
    home.wait("a", "idle");
    // By now the context would be the next to go.
    home.deliver("a", "!say well", &[]);
    home.await_screen("a", "● well");
    assert_eq!(given(&home), Vec::<String>::new());
    home.wait("a", "idle");
    home.deliver("a", &format!("!say {WISH}"), &[]);
    until("the agent has what it wished for", || (given(&home).len() == 1).then_some(()));
}

#[test]
fn an_example_in_a_transcript_is_no_wish_whatever_the_screen_shows() {
    let home = TestHome::with_stand_in();
    let speech = "[conversation]\nprompt = '^> '\nreply = '^● '\n[config]\nenv = \"STAND_IN_HOME\"\n";
    home.write_preset(&format!("{PRESET}{speech}{TRANSCRIPT}"));
    let chats = home.file("agent/chats");
    fs::create_dir_all(&chats).unwrap();
    let variable = format!("STAND_IN_HOME={}", home.file("agent").display());
    home.start_with("a", &["--env", &variable], &[]).ok();
    home.wait("a", "idle");
    let write = |who: &str, text: &str| {
        let record = serde_json::json!({ "cwd": home.project(), "type": who, "text": text });
        let mut file = fs::File::options().create(true).append(true).open(chats.join("a.jsonl")).unwrap();
        writeln!(file, "{record}").unwrap();
    };
    home.deliver("a", "!say hello", &["--id", "m1", "--ack"]);
    write("assistant", "ACK: m1");
    until("the transcript is read", || (home.message("a", "m1")["proof"] == "acknowledged").then_some(()));
    home.wait("a", "idle");
    home.deliver("a", &format!("!say {WISH}"), &[]);
    home.await_screen("a", &format!("● {WISH}"));
    write("assistant", &format!("```\n{WISH}\n```\nis how"));
    home.wait("a", "idle");
    home.kill_daemon();
    home.wait("a", "idle");
    home.deliver("a", "!say well", &[]);
    home.await_screen("a", "● well");
    assert_eq!(given(&home), Vec::<String>::new());
    // In the transcript a wish counts as ever.
    write("assistant", WISH);
    until("the agent has what it wished for", || (given(&home).len() == 1).then_some(()));
}
