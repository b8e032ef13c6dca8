//! Agents that wish for their context, and words that only look like a wish.

use std::fs;
use std::io::Write;

use crate::agent_lab::{Lab, PRESET};
use crate::support::{TRANSCRIPT, until};

const WISH: &str = "->continuity:load";

/// What the agent was given because it wished for it.
fn given(lab: &Lab) -> Vec<String> {
    lab.taken("a").into_iter().filter(|text| text.contains("Nothing is known of this project yet.")).collect()
}

#[test]
fn a_line_of_a_prompt_is_no_wish_although_it_looks_like_a_reply() {
    let lab = Lab::new();
    // What follows the first row of a prompt looks like the agent's own words.
    lab.write_preset(&format!("{PRESET}[conversation]\nprompt = '^> '\nreply = '^(● |  )'\n"));
    lab.start("a", &[]);
    lab.wait("a", "idle");
    lab.deliver("a", &format!("!say fine\n\n{WISH}"), &[]);
    lab.home.await_screen("a", "● fine");
    lab.wait("a", "idle");
    // Nor after a restart.
    lab.home.kill_daemon();
    lab.wait("a", "idle");
    // By now the context would be the next to go.
    lab.deliver("a", "!say well", &[]);
    lab.home.await_screen("a", "● well");
    assert_eq!(given(&lab), Vec::<String>::new());
    lab.wait("a", "idle");
    lab.deliver("a", &format!("!say {WISH}"), &[]);
    until("the agent has what it wished for", || (given(&lab).len() == 1).then_some(()));
}

#[test]
fn an_example_in_a_transcript_is_no_wish_whatever_the_screen_shows() {
    let lab = Lab::new();
    let speech = "[conversation]\nprompt = '^> '\nreply = '^● '\n[config]\nenv = \"STAND_IN_HOME\"\n";
    lab.write_preset(&format!("{PRESET}{speech}{TRANSCRIPT}"));
    let chats = lab.home.scratch().join("agent/chats");
    fs::create_dir_all(&chats).unwrap();
    let variable = format!("STAND_IN_HOME={}", lab.home.scratch().join("agent").display());
    lab.start_with("a", &["--env", &variable], &[]).ok();
    lab.wait("a", "idle");
    let write = |who: &str, text: &str| {
        let record = serde_json::json!({ "cwd": lab.project(), "type": who, "text": text });
        let mut file = fs::File::options().create(true).append(true).open(chats.join("a.jsonl")).unwrap();
        writeln!(file, "{record}").unwrap();
    };
    lab.deliver("a", "!say hello", &["--id", "m1", "--ack"]);
    write("assistant", "ACK: m1");
    until("the transcript is read", || (lab.message("a", "m1")["proof"] == "acknowledged").then_some(()));
    lab.wait("a", "idle");
    lab.deliver("a", &format!("!say {WISH}"), &[]);
    lab.home.await_screen("a", &format!("● {WISH}"));
    write("assistant", &format!("```\n{WISH}\n```\nis how"));
    lab.wait("a", "idle");
    lab.home.kill_daemon();
    lab.wait("a", "idle");
    lab.deliver("a", "!say well", &[]);
    lab.home.await_screen("a", "● well");
    assert_eq!(given(&lab), Vec::<String>::new());
    // In the transcript a wish counts as ever.
    write("assistant", WISH);
    until("the agent has what it wished for", || (given(&lab).len() == 1).then_some(()));
}
