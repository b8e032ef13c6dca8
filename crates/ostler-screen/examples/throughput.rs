//! Measures how fast a screen takes in output: `throughput FILE`, or `-` for standard input.
//!
//! Prints megabytes per second for [`Screen::feed`], and for the emulator alone as a yardstick.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a measuring program, not the library")]

use std::io::Read;
use std::time::{Duration, Instant};

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::term::{Config, test::TermSize};
use alacritty_terminal::vte::ansi::Processor;
use ostler_screen::{Screen, Size};

/// As much as a terminal hands over in one read.
const READ: usize = 64 * 1024;

fn main() -> std::io::Result<()> {
    let mut input = Vec::new();
    match std::env::args().nth(1).as_deref() {
        None | Some("-") => std::io::stdin().read_to_end(&mut input)?,
        Some(path) => {
            input = std::fs::read(path)?;
            input.len()
        }
    };
    let size = Size { cols: 120, rows: 40 };
    for scrollback in [0, 1000] {
        let time = best(|| {
            let mut screen = Screen::new(size, scrollback);
            measure(&input, |chunk| drop(screen.feed(chunk)))
        });
        report(&format!("Screen::feed, scrollback {scrollback}"), &input, time);
    }
    let time = best(|| {
        let config = Config { scrolling_history: 0, ..Config::default() };
        let mut term = Term::new(config, &TermSize::new(120, 40), VoidListener);
        let mut processor: Processor = Processor::new();
        measure(&input, |chunk| processor.advance(&mut term, chunk))
    });
    report("emulator alone", &input, time);
    Ok(())
}

/// Runs a measurement a few times: the best is the one least disturbed.
fn best(measurement: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(measurement).take(5).min().unwrap_or_default()
}

fn measure(input: &[u8], mut feed: impl FnMut(&[u8])) -> Duration {
    let start = Instant::now();
    for chunk in input.chunks(READ) {
        feed(chunk);
    }
    start.elapsed()
}

#[allow(clippy::cast_precision_loss, reason = "a figure for people")]
fn report(name: &str, input: &[u8], time: Duration) {
    println!("{:8.1} MB/s  {name}", input.len() as f64 / 1e6 / time.as_secs_f64());
}
