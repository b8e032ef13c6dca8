//! A terminal with nothing behind it: it pastes, waits a moment, and presses Enter without looking. Nobody can be faster.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use ostler_screen::{Screen, Size};
use regex::Regex;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::trial::Stage;

/// Between a paste and Enter: an agent that reads both at once may take Enter for a part of the paste.
const PAUSE: Duration = Duration::from_millis(5);
/// Size of its terminal.
const COLS: u16 = 120;
const ROWS: u16 = 40;

/// An agent in a bare terminal.
#[derive(Debug)]
pub struct Bare {
    terminal: File,
    agent: Child,
    screen: Arc<Mutex<Screen>>,
}

impl Bare {
    /// Starts the agent.
    pub fn start(stage: &Stage) -> Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        let size = Winsize { ws_col: COLS, ws_row: ROWS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size)?;
        let name = ptsname(&terminal, Vec::new())?;
        let end = || File::options().read(true).write(true).open(name.to_str().unwrap_or_default());
        // It makes its standard input the controlling terminal and becomes the program.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(&stage.program).args(&stage.args).current_dir(crate::stage::CWD);
        command.envs(stage.env.iter().map(|(name, value)| (name, value))).env("TERM", "xterm-256color");
        let agent = command.stdin(end()?).stdout(end()?).stderr(end()?).spawn();
        let agent = agent.context("setsid does not run; install util-linux")?;
        let terminal = File::from(terminal);
        let screen = Arc::new(Mutex::new(Screen::new(Size::clamped(COLS, ROWS), 0)));
        let (mut output, seen) = (terminal.try_clone()?, Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            // It ends with an error when the last program has left the terminal.
            while let Ok(count) = output.read(&mut bytes) {
                let _ = seen.lock().unwrap_or_else(PoisonError::into_inner).feed(&bytes[..count]);
            }
        });
        Ok(Self { terminal, agent, screen })
    }

    /// Whether the screen shows this.
    pub fn shows(&self, what: &Regex) -> bool {
        what.is_match(&self.screen.lock().unwrap_or_else(PoisonError::into_inner).text())
    }

    /// Pastes a text and presses Enter.
    pub fn send(&mut self, text: &str) -> Result<()> {
        self.terminal.write_all(format!("\x1b[200~{text}\x1b[201~").as_bytes())?;
        std::thread::sleep(PAUSE);
        self.terminal.write_all(b"\r")?;
        Ok(())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}
