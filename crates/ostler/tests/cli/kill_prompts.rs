//! Prompts whose daemon is killed at any point of their delivery arrive once.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::killer::Killer;
use crate::support::{Random, TestHome, seed, setting};

/// What was said of the prompts that were sent.
#[derive(Debug, Default)]
struct Sent {
    texts: Vec<String>,
    /// Those of which it could not be told whether they arrived.
    uncertain: Vec<String>,
    /// What else was said.
    wrong: Vec<String>,
}

fn text(name: &str, number: usize, random: &mut Random) -> String {
    let mut text = format!("prompt {number} for {name}");
    for _ in 0..random.below(12) {
        text.push(random.one_of(&[' ', ' ', '\n']));
        text.push_str(random.one_of(&["one", "more", "wörd", "字", "and", "!work 150ms"]));
    }
    text
}

/// Sends prompts one after the other until the killing is over.
fn send(home: &TestHome, name: &str, seed: u64, killer: &Killer) -> Sent {
    let mut random = Random(seed);
    let mut sent = Sent::default();
    while !killer.is_done() {
        let text = text(name, sent.texts.len(), &mut random);
        let id = format!("m{}", sent.texts.len());
        // Daemon after daemon dies before it can answer: the same message again, as the command advises. The kills
        // come to an end, and so does this.
        let done = loop {
            let done = home.send(name, &text, &["--id", &id, "--timeout", "120"]);
            if done.code != 3 {
                break done;
            }
        };
        match done.code {
            0 => {}
            1 if done.err.contains("is uncertain") => sent.uncertain.push(text.clone()),
            _ => sent.wrong.push(format!("{name} {id}: {done:?}")),
        }
        sent.texts.push(text);
        killer.progressed();
    }
    sent
}

/// The number of kills is a setting: `OSTLER_PROMPT_KILLS=500` takes a while.
#[test]
fn prompts_arrive_once_through_kills_of_the_daemon_at_any_moment() {
    let (kills, seed) = (setting("OSTLER_PROMPT_KILLS", 40), seed());
    println!("OSTLER_PROMPT_KILLS={kills} OSTLER_SEED={seed}");
    let home = TestHome::with_stand_in();
    let names = ["a", "b", "c"];
    for (name, flags) in
        names.iter().zip([&[][..], &["--status", "--slow-echo", "120"], &["--swallow-enter", "2"]])
    {
        home.start(name, &[&["--word-pace", "1"], flags].concat());
        home.wait(name, "idle");
    }
    let killer = Killer::default();
    let sent: BTreeMap<&str, Sent> = std::thread::scope(|scope| {
        let senders: Vec<_> = (1..)
            .zip(names)
            .map(|(index, name)| {
                let (home, killer) = (&home, &killer);
                (name, scope.spawn(move || send(home, name, seed + index, killer)))
            })
            .collect();
        killer.kill(&home, kills, &mut Random(seed), Duration::from_millis(700));
        senders.into_iter().map(|(name, sender)| (name, sender.join().unwrap())).collect()
    });
    let (mut total, mut uncertain, mut wrong) = (0, 0, Vec::new());
    for (name, sent) in &sent {
        let taken = home.taken(name);
        wrong.extend(sent.wrong.clone());
        for text in &sent.texts {
            let times = taken.iter().filter(|taken| *taken == text).count();
            if times != 1 && !sent.uncertain.contains(text) || times > 1 {
                wrong.push(format!("{name}: taken {times} times: {text:?}"));
            }
        }
        wrong.extend(
            taken
                .iter()
                .filter(|taken| !sent.texts.contains(taken))
                .map(|taken| format!("{name}: nobody sent {taken:?}")),
        );
        total += sent.texts.len();
        // An Enter that was ignored while no daemon watched looks like one that the agent has yet to look at.
        let untold = if *name == "c" { 2 } else { 0 };
        assert!(
            sent.uncertain.len() <= untold,
            "the screen shows what became of each: {name} {:?}",
            sent.uncertain
        );
        uncertain += sent.uncertain.len();
    }
    println!("{total} prompts through {kills} kills, {uncertain} uncertain");
    assert!(wrong.is_empty(), "{} of {total}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(total as u64 > kills / 4, "too few prompts to mean anything: {total}");
}
