//! How fast output gets from a program to its screen, beside tmux, and beside a reader that does nothing with it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::bare;
use crate::client::has_lost;
use crate::input::{Input, Kind};
use crate::lab::{Bench, Lab, holder_of};
use crate::process::TICKS;
use crate::samples::{Samples, float};
use crate::table::{Limit, Row};
use crate::tmux::Tmux;

pub(crate) const NAME: &str = "throughput";

/// Least speed, in multiples of the peer's.
const LIMIT: f64 = 3.0;

/// What the session is called, here and there.
const SESSION: &str = "run";
/// Printed behind the file, so that the peer can be seen to have come so far.
const MARK: &str = "END";

/// One run.
struct Run {
    taken: Duration,
    /// CPU time of those who read the output and keep the screen.
    ticks: u64,
    /// Whether all of the output got to the screen: a fast reader that drops what it cannot read is no feat.
    whole: bool,
}

pub(crate) fn measure(bench: &Bench) -> Result<Vec<Row>> {
    let (lab, tmux) = (bench.lab(NAME)?, Tmux::start(&bench.root)?);
    let (mut rows, mut runs) = (Vec::new(), Vec::new());
    for (kind, what) in [
        (Kind::Plain, "plain text"),
        (Kind::Endless, "one endless line"),
        (Kind::Coloured, "coloured names"),
        (Kind::Redraw, "full-screen redraws"),
    ] {
        let input = Input::generate(kind, &bench.root)?;
        let mut turns = Turns::default();
        for _ in 0..bench.count(7, 3) {
            turns.ours.push(in_ostler(&lab, &input)?);
            turns.theirs.push(in_tmux(&tmux, &input)?);
            turns.bare.push(bare::read(&input)?);
        }
        rows.extend(turns.compare(what, &input));
        runs.append(&mut turns.ours);
        std::fs::remove_file(&input.path)?;
    }
    tmux.end();
    lab.close()?;
    let broken = runs.iter().filter(|run| !run.whole).count();
    let lost = Row::new(NAME, "runs of those that lost some output", float(broken as u64), "");
    rows.push(lost.n(runs.len()).limit(Limit::AtMost(0.0)));
    Ok(rows)
}

/// What each did with the same file, turn by turn.
#[derive(Default)]
struct Turns {
    ours: Vec<Run>,
    theirs: Vec<Run>,
    bare: Vec<Duration>,
}

impl Turns {
    fn compare(&self, what: &str, input: &Input) -> [Row; 2] {
        let n = self.ours.len();
        let (ours, theirs) = (taken(&self.ours), taken(&self.theirs));
        let bare = Samples::new(self.bare.iter().map(Duration::as_secs_f64).collect());
        let speed = |seconds: f64| float(input.bytes) / 1e6 / seconds;
        let told = |samples: &Samples| {
            let [slowest, middle, fastest] = [samples.max(), samples.median(), samples.min()].map(speed);
            format!("{middle:.0} MB/s [{slowest:.0}-{fastest:.0}]")
        };
        let note = format!("({}; tmux {}; bare reader {})", told(&ours), told(&theirs), told(&bare));
        let speeds = Row::new(NAME, format!("output, {what}"), theirs.median() / ours.median(), "x tmux");
        let (ours, theirs) = (cpu(&self.ours).median(), cpu(&self.theirs).median());
        let cost = Row::new(NAME, format!("its CPU time, {what}"), ours / theirs, "x tmux");
        [
            speeds.note(note).n(n).limit(Limit::AtLeast(LIMIT)),
            cost.note(format!("({ours:.2} s; tmux {theirs:.2} s)")).n(n),
        ]
    }
}

fn taken(runs: &[Run]) -> Samples {
    Samples::new(runs.iter().map(|run| run.taken.as_secs_f64()).collect())
}

/// CPU time in seconds.
fn cpu(runs: &[Run]) -> Samples {
    Samples::new(runs.iter().map(|run| float(run.ticks) / f64::from(TICKS)).collect())
}

/// From `ostler start` until the session's screen has taken in all of the file.
fn in_ostler(lab: &Lab, input: &Input) -> Result<Run> {
    let script = format!(r#"cat "$1"; printf {MARK}; read x"#);
    let file = input.path.to_string_lossy();
    let (daemon, mut client) = (lab.daemon()?, lab.client()?);
    let before = daemon.ticks()?;
    let begin = Instant::now();
    lab.run(Lab::start(SESSION, &script, &[&file]))?;
    let session = client.wait_for_output(SESSION, input.shown() + MARK.len() as u64)?;
    let taken = begin.elapsed();
    let ticks = daemon.ticks()? - before + holder_of(&session)?.ticks()?;
    lab.run(["stop", "--grace", "1", SESSION])?;
    Ok(Run { taken, ticks, whole: !has_lost(&session) })
}

/// From `tmux new-session` until the program behind the file has had its turn. What tmux has read by then and
/// not shown yet counts as shown.
fn in_tmux(tmux: &Tmux, input: &Input) -> Result<Run> {
    let script = format!(r#"cat "$1"; printf {MARK}; tmux wait-for -S done; read x"#);
    let file = input.path.to_string_lossy();
    let server = tmux.server()?;
    let before = server.ticks()?;
    let begin = Instant::now();
    let size = ["new-session", "-d", "-s", SESSION, "-x", "120", "-y", "40"];
    tmux.run(&[&size[..], &["sh", "-c", &script, "sh", &file]].concat())?;
    tmux.run(&["wait-for", "done"])?;
    let taken = begin.elapsed();
    let ticks = server.ticks()? - before;
    let shown = tmux.run(&["capture-pane", "-p", "-J", "-t", SESSION])?;
    ensure!(shown.contains(MARK), "tmux does not show the end of the file");
    tmux.run(&["kill-session", "-t", SESSION])?;
    Ok(Run { taken, ticks, whole: true })
}
