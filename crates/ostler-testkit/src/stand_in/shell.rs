//! The loop around [`App`]: waits for bytes and deadlines, performs effects.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};

use super::app::App;
use super::event::{Effect, Event};
use super::flood::Flood;
use super::lines::LinePrinter;
use super::options::Options;
use super::painter::Painter;
use super::playbook::Playbook;
use super::process;
use super::record::Record;
use super::terminal::{self, Terminal};

/// Runs the agent until it ends.
pub(super) fn run(options: Options) -> io::Result<ExitCode> {
    let script = options.script.as_ref().map(std::fs::read_to_string).transpose()?;
    let playbook = Playbook::new(script.as_deref(), options.reply.clone())
        .map_err(|error| io::Error::other(format!("--script: {error}")))?;
    let log = options
        .log
        .as_ref()
        .map(|path| OpenOptions::new().append(true).create(true).open(path))
        .transpose()?;
    let cooked = options.look.cooked;
    let orphan = options.process.fork_orphan.then(process::start_orphan).transpose()?;
    let _restored_on_return = if cooked { Terminal::cooked() } else { Terminal::raw()? };
    let shell = Shell {
        started: Instant::now(),
        log,
        screen: if cooked { Screen::Lines(LinePrinter::default()) } else { Screen::Full(Painter::default()) },
        floods: Flood::all(&options.output, options.seed).into(),
        input: if options.input.never_read { Input::Unread } else { Input::Read },
        writable: true,
        resizes: terminal::resizes()?,
        app: App::new(options, playbook),
    };
    shell.play(orphan)
}

struct Shell {
    app: App,
    started: Instant,
    log: Option<File>,
    screen: Screen,
    floods: VecDeque<Flood>,
    input: Input,
    /// Cleared when the terminal is gone, for a program that lives on without it.
    writable: bool,
    /// Readable when the terminal has another size.
    resizes: UnixStream,
}

enum Screen {
    Full(Painter),
    Lines(LinePrinter),
}

/// What is done with standard input.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Input {
    Read,
    /// Only its end is noticed.
    Unread,
    Gone,
}

impl Shell {
    fn play(mut self, orphan: Option<u32>) -> io::Result<ExitCode> {
        let mut event = Event::Started { pid: std::process::id() };
        if let Some(pid) = orphan {
            self.record(&Record::Orphan { pid })?;
        }
        loop {
            for effect in self.app.handle(self.started.elapsed(), event) {
                if let Some(code) = self.perform(effect)? {
                    return Ok(code);
                }
            }
            event = self.wait()?;
        }
    }

    fn perform(&mut self, effect: Effect) -> io::Result<Option<ExitCode>> {
        match effect {
            Effect::Draw => {
                let size = terminal::size();
                let text = match &mut self.screen {
                    Screen::Full(painter) => painter.paint(&self.app.render(size), size),
                    Screen::Lines(printer) => printer.update(&self.app, size),
                };
                self.write(text.as_bytes());
            }
            Effect::Write(bytes) => self.write(&bytes),
            Effect::Log(record) => self.record(&record)?,
            Effect::WriteFile { file, content } => {
                let error = process::write_file(&file, &content).err().map(|error| error.to_string());
                self.record(&Record::Wrote { file, len: content.len(), error })?;
            }
            Effect::Exit { code, ending } => return process::end(code, ending).map(Some),
        }
        Ok(None)
    }

    /// Sleeps until there is an event, flooding meanwhile.
    fn wait(&mut self) -> io::Result<Event> {
        loop {
            if !self.writable && self.input != Input::Gone {
                self.input = Input::Gone;
                return Ok(Event::Hangup);
            }
            let now = self.started.elapsed();
            let flood = self.floods.front().map(|flood| flood.deadline(now));
            let deadline = self.app.deadline().into_iter().chain(flood.filter(|&due| due > now)).min();
            let ready =
                self.poll(deadline.map(|due| due.saturating_sub(now)), flood.is_some_and(|due| due <= now))?;
            if ready.resized {
                terminal::forget_resizes(&mut self.resizes);
                self.perform(Effect::Draw)?;
            }
            if ready.hung_up && self.input == Input::Unread {
                self.input = Input::Gone;
                return Ok(Event::Hangup);
            }
            if ready.readable && self.input == Input::Read {
                return Ok(terminal::read()?.map_or_else(
                    || {
                        self.input = Input::Gone;
                        Event::Hangup
                    },
                    Event::Read,
                ));
            }
            let now = self.started.elapsed();
            if ready.writable {
                self.flood(now)?;
            }
            if self.app.deadline().is_some_and(|due| due <= now) {
                return Ok(Event::Tick);
            }
        }
    }

    fn poll(&self, timeout: Option<Duration>, flooding: bool) -> io::Result<Ready> {
        let (input, output) = (stdin(), stdout());
        let wanted = if self.input == Input::Read { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = Vec::with_capacity(3);
        fds.push(PollFd::new(&self.resizes, PollFlags::IN));
        if self.input != Input::Gone {
            fds.push(PollFd::new(&input, wanted));
        }
        if flooding {
            fds.push(PollFd::new(&output, PollFlags::OUT));
        }
        // Rounded up: a deadline met a hair too early would spin until it passes.
        let timeout = timeout.map(|left| left + Duration::from_micros(100));
        let timeout = timeout.map(Timespec::try_from).transpose().map_err(|_| Errno::OVERFLOW)?;
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let has_input = self.input != Input::Gone;
        let got = |at: usize| fds.get(at).map_or(PollFlags::empty(), PollFd::revents);
        let (read, written) = if has_input { (got(1), got(2)) } else { (PollFlags::empty(), got(1)) };
        Ok(Ready {
            resized: !got(0).is_empty(),
            readable: read.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR),
            hung_up: read.intersects(PollFlags::HUP | PollFlags::ERR),
            writable: !written.is_empty(),
        })
    }

    fn flood(&mut self, now: Duration) -> io::Result<()> {
        let Some(flood) = self.floods.front_mut() else { return Ok(()) };
        let bytes = flood.chunk(now);
        if flood.is_over() {
            let record = Record::Flooded { bytes: flood.sent() };
            self.floods.pop_front();
            self.write(&bytes);
            return self.record(&record);
        }
        self.write(&bytes);
        Ok(())
    }

    /// Writes to the terminal; once it is gone, to nowhere.
    fn write(&mut self, bytes: &[u8]) {
        if self.writable && terminal::write(bytes).is_err() {
            self.writable = false;
            self.floods.clear();
        }
    }

    /// Appends one line to the log with one write, so that a kill never leaves half a line.
    fn record(&mut self, record: &Record) -> io::Result<()> {
        let now = self.started.elapsed();
        self.log.as_mut().map_or(Ok(()), |log| log.write_all(&record.line(now)))
    }
}

/// What `poll` found.
struct Ready {
    resized: bool,
    readable: bool,
    hung_up: bool,
    writable: bool,
}
