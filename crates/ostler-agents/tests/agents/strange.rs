//! Programs that no preset knows, in styles of their own: what general rules, quiet and processes tell of them.
//!
//! A program is put together from how it looks, what it shows at work, what moves all the time, and what its processes
//! tell. Rules were written with the first half of the looks in mind; the other half stands for the rest of the world.

use std::fmt::Write as _;
use std::sync::Arc;

use ostler_agents::{Registry, RuleBook};

mod play;
mod program;

use crate::recordings::score::{GUESS, Score, score};
use program::{Frame, Kind, Look, Noise, Program, Status, Work};

const WORK: [Work; 7] =
    [Work::Computes, Work::Asks, Work::Runs, Work::Word, Work::Spinner, Work::Counter, Work::Bar];
const NOISE: [Noise; 5] = [Noise::None, Noise::Clock, Noise::Uptime, Noise::Blink, Noise::Redraw];
const KINDS: [Kind; 3] = [Kind::Reads, Kind::Events, Kind::Hidden];

const PLAIN: Frame =
    Frame { prompt: "> ", close: "", above: "", below: "", status: Status::Bottom, own_cursor: "", hint: "" };

const fn lines(prompt: &'static str, editor: bool, toolbar: bool) -> Look {
    Look::Lines { prompt, editor, toolbar }
}

/// The looks that rules were written with.
const TUNED: [(&str, Look); 11] = [
    ("python", lines(">>> ", true, false)),
    ("shell", lines("user@host:~/src$ ", true, false)),
    ("toolbar", lines("In [1]: ", true, true)),
    ("two rows", lines("╭─user in ~/src on main\r\n╰─❯ ", true, false)),
    ("cooked", lines("Name: ", false, false)),
    ("curses", Look::Full(PLAIN)),
    ("status above", Look::Full(Frame { prompt: "[#main] ", status: Status::Above, ..PLAIN })),
    (
        "rounded",
        Look::Full(Frame {
            prompt: "│ > ",
            close: "│",
            above: "╭──────────────────────────────────────────────────────────────────────────────╮",
            below: "╰──────────────────────────────────────────────────────────────────────────────╯",
            ..PLAIN
        }),
    ),
    ("lines", Look::Full(Frame { prompt: "", above: "─", below: "", ..PLAIN })),
    ("own cursor", Look::Full(Frame { prompt: "❯ ", own_cursor: "█", ..PLAIN })),
    ("clock above", Look::Full(Frame { prompt: "Input: ", status: Status::Top, ..PLAIN })),
];

/// The looks that stand for the rest of the world.
const HELD_OUT: [(&str, Look); 11] = [
    ("sqlite", lines("sqlite> ", true, false)),
    ("debugger", lines("(gdb) ", true, false)),
    ("named toolbar", lines("chat [small] » ", true, true)),
    ("lambda", lines("~/src main*\r\nλ ", true, false)),
    ("cooked question", lines("What next? ", false, false)),
    ("last row", Look::Full(Frame { prompt: "you> ", status: Status::Top, ..PLAIN })),
    (
        "ascii box",
        Look::Full(Frame {
            prompt: "| ",
            close: "|",
            above: "+------------------------------------------------------------------------------+",
            below: "+------------------------------------------------------------------------------+",
            ..PLAIN
        }),
    ),
    (
        "titled",
        Look::Full(Frame {
            prompt: "│",
            close: "│",
            above: "┌ Message ─────────────────────────────────────────────────────────────────────┐",
            below: "└──────────────────────────────────────────────────────────────────────────────┘",
            ..PLAIN
        }),
    ),
    (
        "blocks",
        Look::Full(Frame {
            prompt: "▊ ",
            close: "▎",
            above: "▔",
            below: "▁",
            hint: "Write a message",
            ..PLAIN
        }),
    ),
    ("bar", Look::Full(Frame { prompt: "┃ ", hint: "Say something", status: Status::Bottom, ..PLAIN })),
    ("double line", Look::Full(Frame { prompt: "Message: ", above: "═", status: Status::Bottom, ..PLAIN })),
];

/// Seven programs of every look, each with other things to show, with other noise, and of another kind.
fn programs(looks: &[(&'static str, Look)]) -> Vec<(&'static str, Program)> {
    let mut all = Vec::new();
    for (index, (name, look)) in looks.iter().enumerate() {
        for (number, work) in WORK.into_iter().enumerate() {
            let noise = NOISE[(index + number * 2) % NOISE.len()];
            let kind = KINDS[(index * 2 + number) % KINDS.len()];
            let program = Program { look: *look, work, noise, kind };
            all.extend(program.can_be_known().then_some((*name, program)));
        }
    }
    all
}

/// The score of all, and a line for every one of which too little was right.
fn tally(looks: &[(&'static str, Look)], book: &Arc<RuleBook>) -> (Score, String) {
    let (mut sum, mut wrong) = (Score::default(), String::new());
    for (name, program) in programs(looks) {
        let play = program.play();
        let said = play.said(book);
        let one = score(&play.truth(), &said);
        let Program { work, noise, kind, .. } = program;
        if one.share() < 0.95 || one.longest_false_idle > GUESS {
            let told: Vec<String> = said.iter().map(|said| format!("{:.1} {}", said.t, said.state)).collect();
            let (share, false_idle) = (one.share() * 100.0, one.longest_false_idle);
            let _ = writeln!(
                wrong,
                "{name}, {work:?}, {noise:?}, {kind:?}: {share:.0} %, {false_idle:.1} s of false idle"
            );
            let _ = writeln!(wrong, "    {}", told.join(", "));
        }
        sum.add(&one);
    }
    (sum, wrong)
}

#[test]
fn programs_that_nobody_knows_are_read_right() {
    let registry = Registry::new(&[]);
    let book = Arc::new(registry.rulebook(registry.generic().unwrap(), None).unwrap());
    for (set, looks) in [("tuned", &TUNED), ("held out", &HELD_OUT)] {
        let (score, wrong) = tally(looks, &book);
        println!(
            "{set}: {:.1} % right, {:.1} s of false idle, the longest {:.1} s\n{wrong}",
            score.share() * 100.0,
            score.false_idle,
            score.longest_false_idle
        );
        assert!(score.share() >= 0.95, "{set}: {:.1} % is right\n{wrong}", score.share() * 100.0);
        assert!(
            score.longest_false_idle <= GUESS,
            "{set}: {:.1} s of false idle\n{wrong}",
            score.longest_false_idle
        );
    }
}
