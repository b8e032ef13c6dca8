//! The holder's loop: one thread, one `poll`, no timer unless something is due.

use std::io;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::termios::LocalModes;

use crate::client::Client;
use crate::dir::SessionDir;
use crate::exit::ExitRecord;
use crate::ledger::{Ledger, Verdict};
use crate::recorder::Recorder;
use crate::ring::Ring;
use crate::signals::{Signals, Woken};
use crate::spawn::{self, Pty};
use crate::stopping::Stopping;
use crate::tree;
use crate::wire::{self, Lane, Outcome, Reply, Request, Status, Token};

/// Most connections: the daemon's, and one for each viewer. Far fewer than a process may have open files.
const MAX_CLIENTS: usize = 512;
/// How long a holder whose program ended waits for readers to take the rest.
const LINGER: Duration = Duration::from_secs(2);
/// How often a record that the disk refused is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Most output read after the program's end: more than the kernel keeps for it. Others may hold the terminal and
/// write on for ever.
const LAST_OUTPUT: usize = 1 << 20;
/// Most bytes of one line that a terminal in cooked mode keeps.
const MAX_LINE: usize = 4095;
/// Grace for a session ended by a TERM to its holder.
const TERM_GRACE: Duration = Duration::from_secs(5);

/// Everything a holder owns.
#[derive(Debug)]
pub(crate) struct Holder {
    pub(crate) dir: SessionDir,
    pub(crate) token: Token,
    pub(crate) listener: UnixListener,
    pub(crate) signals: Signals,
    pub(crate) pty: Pty,
    pub(crate) ring: Ring,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) child: u32,
    pub(crate) cols: u16,
    pub(crate) rows: u16,
    pub(crate) ledger: Ledger,
    pub(crate) clients: Vec<Client>,
    /// Until when the first reader is waited for, if none has come yet.
    pub(crate) first_reader_until: Option<Instant>,
    /// The client that waits for the frame under way.
    pub(crate) typist: Option<usize>,
    pub(crate) reaped: Option<Reaped>,
    /// Some child was reaped since the tree was last looked at.
    pub(crate) reaped_some: bool,
    pub(crate) ended: Option<Ended>,
    pub(crate) stopping: Option<Stopping>,
}

/// The program is gone; what it wrote last may still be in the terminal.
#[derive(Debug)]
pub(crate) struct Reaped {
    record: ExitRecord,
    /// Bytes that are still read.
    left: usize,
}

/// The program has ended and all its output is read; what is left to do.
#[derive(Debug)]
pub(crate) struct Ended {
    record: ExitRecord,
    /// The record is on disk or in the hands of a daemon.
    safe: bool,
    retry_at: Instant,
    leave_at: Instant,
}

impl Holder {
    /// Runs until the program has ended and all that is known of it is handed over.
    pub(crate) fn run(mut self) -> io::Result<()> {
        loop {
            let now = Instant::now();
            self.advance(now);
            if self.is_done(now) {
                return Ok(());
            }
            self.wait(now)?;
        }
    }

    /// Waits for the next event and handles all that are there.
    fn wait(&mut self, now: Instant) -> io::Result<()> {
        let held_until = self.held_until(now);
        let mut pty = PollFlags::empty();
        if held_until.is_none() && self.ended.is_none() {
            pty |= PollFlags::IN;
        }
        if self.ledger.is_busy() {
            pty |= PollFlags::OUT;
        }
        let timeout = self.deadline(held_until, now).map(|at| timespec(at.saturating_duration_since(now)));
        let mut polled = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
            PollFd::new(&self.pty.master, pty),
        ];
        polled.extend(self.clients.iter().map(|client| {
            let out = if client.wants_write(&self.ring) { PollFlags::OUT } else { PollFlags::empty() };
            PollFd::new(client, PollFlags::IN | out)
        }));
        match rustix::event::poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<PollFlags> = polled.iter().map(PollFd::revents).collect();
        drop(polled);
        let now = Instant::now();
        if !ready[0].is_empty() {
            self.on_signals(now);
        }
        if ready[2].contains(PollFlags::IN) && pty.contains(PollFlags::IN) {
            for client in &mut self.clients {
                client.before_output(&self.ring, now);
            }
            self.drain(self.ring.capacity() / 4);
        }
        if ready[2].contains(PollFlags::OUT) {
            self.type_on();
        }
        self.serve(&ready[3..], now);
        if !ready[1].is_empty() {
            self.accept(now);
        }
        Ok(())
    }

    /// The earliest moment at which something is due without an event.
    fn deadline(&self, held_until: Option<Instant>, now: Instant) -> Option<Instant> {
        let retry = self.ended.as_ref().filter(|ended| !ended.safe).map(|ended| ended.retry_at);
        let leave = self.ended.as_ref().map(|ended| ended.leave_at).filter(|at| *at > now);
        let stop = self.stopping.as_ref().filter(|stopping| !stopping.is_over()).map(Stopping::deadline);
        let greeting = self.clients.iter().filter_map(Client::greets_until).min();
        [held_until, retry, leave, stop, greeting].into_iter().flatten().min()
    }

    /// Until when output is not read, for the sake of a reader: one that is a little behind, or the one that
    /// started the session and is about to come.
    fn held_until(&self, now: Instant) -> Option<Instant> {
        let half_full = self.ring.written() >= self.ring.capacity() as u64 / 2;
        if let Some(until) = self.first_reader_until.filter(|until| now < *until && half_full) {
            return Some(until);
        }
        self.clients.iter().filter_map(|client| client.holds_back(&self.ring, now)).max()
    }

    /// Does what is due: reads the last output, presses on with stopping, hands over the exit record.
    fn advance(&mut self, now: Instant) {
        self.read_last_output(now);
        let program = self.program();
        if let Some(stopping) = &mut self.stopping {
            stopping.advance(now, std::mem::take(&mut self.reaped_some), program);
        }
        let Some(ended) = &mut self.ended else { return };
        if !ended.safe && now >= ended.retry_at {
            ended.safe = is_safe(&self.dir.write_exit(&ended.record));
            ended.retry_at = now + RETRY;
        }
        let record = ended.record;
        for client in self.clients.iter_mut().filter(|client| client.greeted && !client.told_exit) {
            if !client.send(&self.ring, now) {
                client.closing = true;
            } else if !client.wants_write(&self.ring) {
                client.reply(&Reply::Exited(record));
                client.told_exit = true;
            }
        }
    }

    fn is_done(&self, now: Instant) -> bool {
        let Some(ended) = &self.ended else { return false };
        let handed_over = self
            .clients
            .iter()
            .all(|client| !client.greeted || client.told_exit && !client.wants_write(&self.ring));
        let tree_gone = self.stopping.as_ref().is_none_or(Stopping::is_over);
        ended.safe && tree_gone && (handed_over || now >= ended.leave_at)
    }

    fn on_signals(&mut self, now: Instant) {
        while let Some(signal) = self.signals.next() {
            if signal == Woken::Terminate {
                self.stop(TERM_GRACE, now);
            }
        }
        while let Some(reaped) = spawn::reap() {
            self.reaped_some = true;
            if reaped.pid == self.child {
                self.reaped = Some(Reaped { record: reaped.record, left: LAST_OUTPUT });
            }
        }
    }

    /// Reads what a program that is gone wrote last, with the same regard for readers as before.
    fn read_last_output(&mut self, now: Instant) {
        if self.reaped.is_none() || self.held_until(now).is_some() {
            return;
        }
        let batch = self.ring.capacity() / 4;
        let count = self.drain(batch);
        let Some(Reaped { record, left }) = self.reaped.take() else { return };
        if count < batch || left <= count {
            self.on_exit(record, now);
        } else {
            self.reaped = Some(Reaped { record, left: left - count });
        }
    }

    fn on_exit(&mut self, record: ExitRecord, now: Instant) {
        if let Some(lost) = self.ledger.close() {
            self.answer_typist(lost.lane, lost.seq, Outcome::Closed, 0);
        }
        let at_ms = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        if let Some(recorder) = &mut self.recorder {
            recorder.ended();
        }
        let record = ExitRecord { written: self.ring.written(), at_ms, typed: self.ledger.typed(), ..record };
        let safe = is_safe(&self.dir.write_exit(&record));
        self.ended = Some(Ended { record, safe, retry_at: now + RETRY, leave_at: now + LINGER });
    }

    fn stop(&mut self, grace: Duration, now: Instant) {
        let program = self.program();
        if let Some(stopping) = &mut self.stopping {
            stopping.hurry(grace, now);
        } else {
            self.stopping = Some(Stopping::begin(grace, now, program, |program, signal| {
                let session = std::env::var(tree::SESSION_MARK).ok();
                tree::signal_all(std::process::id(), program, session.as_deref(), signal)
            }));
        }
    }

    /// The program, as long as its number is its own.
    fn program(&self) -> Option<u32> {
        (self.reaped.is_none() && self.ended.is_none()).then_some(self.child)
    }

    /// Moves output from the terminal to the ring, about `limit` bytes before others get their turn; fewer than
    /// that if there are no more. Returns how many.
    fn drain(&mut self, limit: usize) -> usize {
        let mut total = 0;
        while total < limit {
            let from = self.ring.written();
            let master = &self.pty.master;
            match self.ring.fill(|space| rustix::io::read(master, space)) {
                Ok(0) => break,
                Ok(count) => {
                    total += count;
                    if let Some(recorder) = &mut self.recorder {
                        recorder.output(self.ring.slices(from, count).0);
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        total
    }

    /// Writes as much of the frame under way as the terminal takes.
    fn type_on(&mut self) {
        while self.ledger.is_busy() {
            let pending = self.ledger.pending();
            let enter = pending.contains(&b'\r');
            let count = match rustix::io::write(&self.pty.master, pending) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
            };
            if let Some(done) = self.ledger.wrote(count, self.ring.written()) {
                if let Some(recorder) = self.recorder.as_mut().filter(|_| done.lane != Lane::Reply) {
                    recorder.typed(enter);
                }
                self.answer_typist(done.lane, done.seq, Outcome::Written, self.ring.written());
            } else if count == 0 {
                return;
            }
        }
    }

    fn answer_typist(&mut self, lane: Lane, seq: u64, outcome: Outcome, offset: u64) {
        if let Some(client) = self.typist.take().and_then(|index| self.clients.get_mut(index)) {
            client.reply(&Reply::Input { lane, seq, outcome, offset });
        }
    }

    fn accept(&mut self, now: Instant) {
        while let Ok((stream, _)) = self.listener.accept() {
            let own = rustix::process::geteuid();
            let allowed = rustix::net::sockopt::socket_peercred(&stream).is_ok_and(|peer| peer.uid == own);
            let Ok(mut client) = Client::new(stream, now) else { continue };
            if !allowed {
                client.refuse("this session belongs to another user");
            } else if self.clients.len() >= MAX_CLIENTS {
                client.refuse("too many connections to this session");
            }
            if client.closing {
                client.send(&self.ring, now);
            } else {
                self.clients.push(client);
            }
        }
    }

    /// Handles the clients, whose poll results are `ready`, and drops those that are gone.
    fn serve(&mut self, ready: &[PollFlags], now: Instant) {
        for (index, flags) in ready.iter().enumerate() {
            let gone = flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR)
                && !self.clients[index].receive();
            while !gone && !self.clients[index].closing {
                match self.clients[index].next_frame() {
                    Ok(Some(frame)) => self.on_frame(index, &frame, now),
                    Ok(None) => break,
                    Err(error) => self.clients[index].refuse(&error.to_string()),
                }
            }
            // Nobody stays who does not say who he is.
            let overdue = self.clients[index].greets_until().is_some_and(|until| now >= until);
            if gone || overdue {
                self.clients[index].closing = true;
            }
        }
        let mut index = 0;
        while index < self.clients.len() {
            let client = &mut self.clients[index];
            if client.send(&self.ring, now) && !client.closing {
                index += 1;
                continue;
            }
            self.clients.remove(index);
            self.typist = match self.typist {
                Some(typist) if typist == index => None,
                Some(typist) if typist > index => Some(typist - 1),
                other => other,
            };
        }
    }

    fn on_frame(&mut self, index: usize, frame: &[u8], now: Instant) {
        let request = match Request::decode(frame) {
            Ok(request) => request,
            Err(wire::WireError::UnknownType(kind)) if self.clients[index].greeted => {
                let reason = format!("request type {kind} is not known to this holder");
                return self.clients[index].reply(&Reply::Refused { reason: &reason });
            }
            Err(error) => return self.clients[index].refuse(&error.to_string()),
        };
        if let Request::Hello { token, .. } = request {
            if token == self.token {
                let welcome = Reply::Welcome { version: wire::VERSION, status: self.status() };
                self.clients[index].greeted = true;
                self.clients[index].reply(&welcome);
            } else {
                self.clients[index].refuse("wrong token");
            }
            return;
        }
        if !self.clients[index].greeted {
            return self.clients[index].refuse("no greeting");
        }
        match request {
            Request::Hello { .. } => {}
            Request::Subscribe { from, paced } => {
                self.first_reader_until = None;
                self.clients[index].subscribe(from, paced, now);
            }
            Request::Input { lane, epoch, seq, crc, bytes } => {
                let known = seq <= self.ledger.seqs()[lane.index()];
                let verdict = if known || self.would_keep(bytes) {
                    self.ledger.offer(lane, epoch, seq, crc, bytes)
                } else {
                    Verdict::Answer(Outcome::LineTooLong, 0)
                };
                self.on_verdict(index, lane, seq, verdict);
            }
            Request::Resize { cols, rows } => self.resize(cols, rows),
            Request::Query => {
                let status = self.status();
                self.clients[index].reply(&Reply::Status(status));
            }
            Request::Stop { grace_ms } => self.stop(Duration::from_millis(u64::from(grace_ms)), now),
            Request::Release => {
                if let Some(ended) = &mut self.ended {
                    ended.safe = true;
                }
            }
        }
    }

    fn on_verdict(&mut self, index: usize, lane: Lane, seq: u64, verdict: Verdict) {
        match verdict {
            Verdict::Accepted => {
                self.typist = Some(index);
                self.type_on();
            }
            Verdict::Answer(outcome, offset) => {
                if outcome == Outcome::Pending {
                    self.typist = Some(index);
                }
                self.clients[index].reply(&Reply::Input { lane, seq, outcome, offset });
            }
        }
    }

    fn resize(&mut self, cols: u16, rows: u16) {
        let (cols, rows) = (cols.max(1), rows.max(1));
        if (cols, rows) != (self.cols, self.rows) && self.pty.resize(cols, rows).is_ok() {
            (self.cols, self.rows) = (cols, rows);
            if let Some(recorder) = &mut self.recorder {
                recorder.resize(cols, rows);
            }
        }
    }

    /// Whether the terminal would keep all of this: in cooked mode it silently drops the end of a long line.
    fn would_keep(&self, bytes: &[u8]) -> bool {
        let ends_line = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let long = bytes.len() > MAX_LINE && bytes.split(ends_line).any(|line| line.len() > MAX_LINE);
        !long || !self.local_modes().contains(LocalModes::ICANON)
    }

    fn local_modes(&self) -> LocalModes {
        rustix::termios::tcgetattr(&self.pty.slave).map_or(LocalModes::empty(), |termios| termios.local_modes)
    }

    /// Bytes of input that the program has not read: those that its terminal has, and those that it has no room for.
    fn unread(&self) -> u32 {
        let waiting = rustix::io::ioctl_fionread(&self.pty.slave).unwrap_or(0);
        u32::try_from(waiting.saturating_add(self.ledger.pending().len() as u64)).unwrap_or(u32::MAX)
    }

    fn status(&self) -> Status {
        let modes = self.local_modes();
        let foreground = rustix::termios::tcgetpgrp(&self.pty.master)
            .map_or(0, |pid| u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0));
        Status {
            child: self.child,
            running: self.ended.is_none(),
            written: self.ring.written(),
            oldest: self.ring.oldest(),
            epoch: self.ledger.epoch(),
            seqs: self.ledger.seqs(),
            pending: self.unread(),
            cols: self.cols,
            rows: self.rows,
            canonical: modes.contains(LocalModes::ICANON),
            echo: modes.contains(LocalModes::ECHO),
            signals: modes.contains(LocalModes::ISIG),
            foreground,
        }
    }
}

/// Whether a record is as safe as it can be: written, or with no directory left to write it to.
fn is_safe(written: &io::Result<()>) -> bool {
    !matches!(written, Err(error) if error.kind() != io::ErrorKind::NotFound)
}

fn timespec(wait: Duration) -> Timespec {
    // Rounded up: waking a little early would spin until the moment has come.
    let wait = wait + Duration::from_millis(1);
    Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    }
}
