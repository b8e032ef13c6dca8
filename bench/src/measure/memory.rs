//! What a session costs in memory: its holder, and its part of the daemon.

use anyhow::Result;

use crate::client::has_lost;
use crate::input::Input;
use crate::lab::{Bench, Lab, holder_of};
use crate::process::Memory;
use crate::samples::{Samples, float};
use crate::table::{Limit, Row};

pub(crate) const HOLDER: &str = "holder-memory";
pub(crate) const DAEMON: &str = "daemon-memory";

/// Most memory of a holder whose ring is full, in KiB.
const HOLDER_LIMIT: f64 = 450.0;
/// Most memory that a session may add to the daemon, in KiB.
const DAEMON_LIMIT: f64 = 400.0;

/// More than the ring keeps, so that every page of it is in use.
const FLOOD: u64 = 400_000;
const FLOOD_SCRIPT: &str = r#"head -c 400000 /dev/zero | tr "\0" a; read x"#;

/// Sessions that printed more than their rings keep the moment they were started.
struct Flooded {
    holders: Vec<Memory>,
    /// Sessions whose first output was gone before the daemon listened.
    lost: usize,
}

/// Holders with full rings: one alone, then many that share their program's pages.
pub(crate) fn holder(bench: &Bench) -> Result<Vec<Row>> {
    let many = bench.count(50, 20);
    let one = flood(bench, 1)?.holders;
    let Flooded { holders, lost } = flood(bench, many)?;
    let pss = |holders: &[Memory]| Samples::new(holders.iter().map(|memory| float(memory.pss)).collect());
    let dirty = Samples::new(holders.iter().map(|memory| float(memory.private_dirty)).collect());
    let note = format!("(max {}, private dirty {})", pss(&holders).max(), dirty.median());
    Ok(vec![
        Row::new(HOLDER, format!("holder PSS, full ring, {many} sessions"), pss(&holders).median(), "KiB")
            .note(note)
            .n(many)
            .limit(Limit::AtMost(HOLDER_LIMIT)),
        Row::new(HOLDER, "holder PSS, full ring, alone", pss(&one).median(), "KiB")
            .note(format!("(private dirty {})", one[0].private_dirty)),
        Row::new(HOLDER, "sessions that lost output of their first moments", float(lost as u64), "")
            .n(many)
            .limit(Limit::AtMost(0.0)),
    ])
}

fn flood(bench: &Bench, count: usize) -> Result<Flooded> {
    let lab = bench.lab(&format!("holder-memory-{count}"))?;
    let names = lab.start_many(count, FLOOD_SCRIPT, &[])?;
    let mut client = lab.client()?;
    let sessions: Vec<_> =
        names.iter().map(|name| client.wait_for_output(name, FLOOD)).collect::<Result<_>>()?;
    let lost = sessions.iter().filter(|session| has_lost(session)).count();
    let holders = sessions.iter().map(|session| holder_of(session)?.memory()).collect::<Result<_>>()?;
    lab.close()?;
    Ok(Flooded { holders, lost })
}

/// The daemon with screens of 120x40 in colours on top of the daemon alone; then after a flood, because memory
/// that was used for once must not stay.
pub(crate) fn daemon(bench: &Bench) -> Result<Vec<Row>> {
    let count = bench.count(100, 30);
    let picture = Input::screenful(&bench.root)?;
    let lab = bench.lab(DAEMON)?;
    let daemon = lab.daemon()?;
    let alone = daemon.memory()?.pss;
    let file = picture.path.to_string_lossy().into_owned();
    let script = r#"cat "$1"; read x; head -c 400000 /dev/zero | tr "\0" a; cat "$1"; read x"#;
    let mut client = lab.client()?;
    let drawn = picture.shown();
    // What the first session brings with it, such as rules, all of them share.
    lab.run(Lab::start("first", script, &[&file]))?;
    client.wait_for_output("first", drawn)?;
    lab.run(["wait", "first", "idle,unknown", "--timeout", "30"])?;
    let base = daemon.memory()?.pss;
    let per_session = |pss: u64| float(pss.saturating_sub(base)) / float(count as u64);
    let names = lab.start_many(count, script, &[&file])?;
    names.iter().try_for_each(|name| client.wait_for_output(name, drawn).map(drop))?;
    let full = daemon.memory()?.pss;
    names.iter().try_for_each(|name| lab.run(["send", name, "--raw", "\r"]).map(drop))?;
    // The terminal echoes the key as two bytes.
    let flooded = drawn + 2 + FLOOD + drawn;
    names.iter().try_for_each(|name| client.wait_for_output(name, flooded).map(drop))?;
    let after = daemon.memory()?.pss;
    lab.close()?;
    Ok(vec![
        Row::new(DAEMON, "daemon PSS per session, full screen of 120x40", per_session(full), "KiB")
            .note(format!("({alone} alone, {base} with the first, {full} with {count} more)"))
            .n(count)
            .limit(Limit::AtMost(DAEMON_LIMIT)),
        Row::new(DAEMON, "daemon PSS per session, after 400 kB of output each", per_session(after), "KiB")
            .note(format!("({after} with {count})"))
            .n(count),
    ])
}
