//! Messages whose daemon is killed at any moment of their delivery.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::job::{Effort, Job};
use super::message::{self, Message};
use super::session::{await_rest, send, start};
use super::tally::{Said, Sent, Tally};
use super::trial::Stage;
use crate::driver::{Driver, home};

/// How long a daemon usually lives, at most.
const LIFE: Duration = Duration::from_millis(900);
/// And when nothing gets done in that time.
const LONG_LIFE: Duration = Duration::from_secs(5);
/// Seconds in which a message has to get through all the daemons that die over it.
const PATIENCE: f64 = 180.0;

/// Sends one message after the other while daemons are killed.
pub fn run(driver: &mut Driver, job: &Job, stage: &Stage, tally: &mut Tally) -> Result<Vec<Sent>> {
    start(driver, stage, "kills")?;
    await_rest(driver)?;
    // More than there will be time for.
    let effort = Effort { messages: job.effort.kills.max(1) * 20, ..job.effort.clone() };
    let messages = message::messages(&effort, &job.agent.delivery.marks);
    let (over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (killed, results) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut results = Vec::new();
            for message in messages.iter().take_while(|_| !over.load(Ordering::Relaxed)) {
                results.push(persist(driver, message)?);
                sent.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, anyhow::Error>(results)
        });
        let killed = kill_many(job, &sent, || sender.is_finished());
        over.store(true, Ordering::Relaxed);
        (killed, sender.join().map_err(|_| anyhow::anyhow!("the sender broke")))
    });
    tally.kills = killed?;
    results?
}

/// Sends the same message until somebody lives long enough to say what became of it.
fn persist(driver: &Driver, message: &Message) -> Result<Sent> {
    let began = driver.now();
    loop {
        let sent = send(driver, message, 60, false)?;
        if !matches!(sent.said, Said::Waiting(_)) || driver.now() > began + PATIENCE {
            return Ok(Sent { at: began, ..sent });
        }
    }
}

/// Kills daemons, each at a moment of its own; returns how many. How long one may live follows from what gets done.
fn kill_many(job: &Job, sent: &AtomicUsize, finished: impl Fn() -> bool) -> Result<usize> {
    let mut random = fastrand::Rng::with_seed(job.effort.seed);
    let (mut span, mut last, mut seen) = (LIFE, None, 0);
    for kill in 0..job.effort.kills {
        let daemon = loop {
            if finished() {
                return Ok(kill);
            }
            match serving().filter(|daemon| Some(*daemon) != last) {
                Some(daemon) => break daemon,
                None => std::thread::yield_now(),
            }
        };
        let moment = Instant::now() + Duration::from_secs_f64(random.f64() * span.as_secs_f64());
        std::thread::sleep(moment.saturating_duration_since(Instant::now()));
        kill_process(daemon, Signal::KILL).context("the daemon cannot be killed")?;
        last = Some(daemon);
        let now = sent.load(Ordering::Relaxed);
        span = match now - std::mem::replace(&mut seen, now) {
            0 => (span * 5 / 4).min(LONG_LIFE),
            1 => span,
            _ => (span * 4 / 5).max(LIFE),
        };
    }
    if sent.load(Ordering::Relaxed) == 0 {
        bail!("no message got through {} daemons", job.effort.kills);
    }
    Ok(job.effort.kills)
}

/// The daemon that serves the home now.
fn serving() -> Option<Pid> {
    let text = std::fs::read_to_string(home().join("daemon.lock")).ok()?;
    let daemon = Pid::from_raw(text.trim().parse().ok()?)?;
    test_kill_process(daemon).is_ok().then_some(daemon)
}
