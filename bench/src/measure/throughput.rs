//! How fast output gets from a program to its screen, beside tmux.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::client::Client;
use crate::input::{Input, Kind};
use crate::lab::{Bench, Lab};
use crate::samples::{Samples, float};
use crate::table::{Limit, Row};
use crate::tmux::Tmux;

pub(crate) const NAME: &str = "throughput";

/// Least speed, in multiples of the peer's.
const LIMIT: f64 = 3.0;

/// Printed behind the file, so that the peer can be seen to have come so far.
const MARK: &str = "END";

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let lab = bench.lab(NAME)?;
    let mut client = lab.client()?;
    let tmux = Tmux::start(&bench.root)?;
    let mut rows = Vec::new();
    for (kind, what) in [
        (Kind::Plain, "output of plain text"),
        (Kind::Endless, "output of one endless line"),
        (Kind::Coloured, "output of coloured names"),
        (Kind::Redraw, "output of full-screen redraws"),
    ] {
        let input = Input::generate(kind, &bench.root)?;
        rows.push(compare(bench, &lab, &mut client, &tmux, &input, what)?);
        std::fs::remove_file(&input.path)?;
    }
    tmux.end();
    lab.close()?;
    Ok(rows)
}

/// Runs both on the same file, turn by turn.
fn compare(
    bench: &Bench,
    lab: &Lab,
    client: &mut Client,
    tmux: &Tmux,
    input: &Input,
    what: &str,
) -> Result<Row> {
    let n = bench.count(7, 3);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..n {
        ours.push(in_ostler(lab, client, input)?.as_secs_f64());
        theirs.push(in_tmux(tmux, input)?.as_secs_f64());
    }
    let (ours, theirs) = (Samples::new(ours), Samples::new(theirs));
    let speed = |seconds: f64| float(input.bytes) / 1e6 / seconds;
    let note = format!(
        "({:.0} MB/s, {:.0} to {:.0}; tmux {:.0}, {:.0} to {:.0})",
        speed(ours.median()),
        speed(ours.max()),
        speed(ours.min()),
        speed(theirs.median()),
        speed(theirs.max()),
        speed(theirs.min()),
    );
    Ok(Row::new(NAME, what, theirs.median() / ours.median(), "x tmux")
        .note(note)
        .n(n)
        .limit(Limit::AtLeast(LIMIT)))
}

/// From `ostler start` until the session's screen has taken in all of the file.
fn in_ostler(lab: &Lab, client: &mut Client, input: &Input) -> Result<Duration> {
    let name = "run";
    let script = format!(r#"cat "$1"; printf {MARK}; read x"#);
    let file = input.path.to_string_lossy();
    let begin = Instant::now();
    lab.run(Lab::start(name, &script, &[&file]))?;
    client.wait_for_output(name, input.shown() + MARK.len() as u64)?;
    let taken = begin.elapsed();
    lab.run(["stop", "--grace", "1", name])?;
    Ok(taken)
}

/// From `tmux new-session` until the program behind the file has had its turn. What tmux has read by then and
/// not shown yet counts as shown.
fn in_tmux(tmux: &Tmux, input: &Input) -> Result<Duration> {
    let script = format!(r#"cat "$1"; printf {MARK}; tmux wait-for -S done; read x"#);
    let file = input.path.to_string_lossy();
    let begin = Instant::now();
    let size = ["new-session", "-d", "-s", "run", "-x", "120", "-y", "40"];
    tmux.run(&[&size[..], &["sh", "-c", &script, "sh", &file]].concat())?;
    tmux.run(&["wait-for", "done"])?;
    let taken = begin.elapsed();
    let shown = tmux.run(&["capture-pane", "-p", "-t", "run"])?;
    ensure!(shown.contains(MARK), "tmux does not show the end of the file");
    tmux.run(&["kill-session", "-t", "run"])?;
    Ok(taken)
}
