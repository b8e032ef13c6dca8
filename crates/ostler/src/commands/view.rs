//! A view as blocking code reads it.

use std::time::Duration;

use ostler_protocol::frame::Frame;
use ostler_protocol::{Request, Response, SessionInfo, Since, ViewRequest};

use crate::client::{self, CallError, Client};
use crate::error::{CommandError, Kind};

/// How often a view that a dying daemon cut short is opened.
const TRIES: u32 = 5;

/// What a view brings.
#[derive(Debug)]
pub(super) enum Event {
    /// Output.
    Bytes(Vec<u8>),
    /// The terminal's size changed.
    Resized(u16, u16),
    /// So many bytes were missed; the screen starts anew.
    Restarted(u64),
    /// It is over.
    Ended(Box<SessionInfo>),
}

/// A view that is open.
#[derive(Debug)]
pub(super) struct View {
    client: Client,
    request: ViewRequest,
    /// Output up to here was read, of a view that began with the oldest.
    offset: u64,
    /// The session when the view began.
    pub(super) session: SessionInfo,
    /// Bytes of output from before that are no longer kept.
    pub(super) missing: u64,
}

/// Opens a view.
pub(super) fn open(request: ViewRequest) -> Result<View, CommandError> {
    let home = client::home()?;
    let asked = Request::View(request.clone());
    let mut tries = TRIES;
    loop {
        let mut client = Client::connect_or_start(&home)?;
        tries -= 1;
        match client.call(&asked, None, None) {
            Ok(Response::View { session, missing }) => {
                return Ok(View { client, request, offset: missing, session: *session, missing });
            }
            Ok(_) => return Err(super::unexpected()),
            // The daemon died; another one can do as well.
            Err(CallError::Lost) if tries > 0 => {}
            Err(error) => return Err(lost(error)),
        }
    }
}

impl View {
    /// Whether something happens in the view within this time.
    pub(super) fn wait(&mut self, patience: Duration) -> Result<bool, CommandError> {
        Ok(self.client.is_ready(patience)?)
    }

    /// The next thing that happens in the view. One that follows outlives the daemon.
    pub(super) fn next(&mut self) -> Result<Event, CommandError> {
        loop {
            let frame = match self.client.read() {
                Ok(frame) => frame,
                Err(CallError::Lost) if self.request.follow => match self.resume()? {
                    Some(event) => return Ok(event),
                    None => continue,
                },
                Err(error) => return Err(lost(error)),
            };
            if let Frame::Bytes(bytes) = frame {
                self.offset += bytes.len() as u64;
                return Ok(Event::Bytes(bytes));
            }
            match frame.json().map_err(|error| lost(error.into()))? {
                Response::Resized { cols, rows } => return Ok(Event::Resized(cols, rows)),
                Response::Restarted { missing } => {
                    self.offset += missing;
                    return Ok(Event::Restarted(missing));
                }
                Response::ViewEnded { session } => return Ok(Event::Ended(session)),
                Response::Failed(problem) => return Err(problem.into()),
                _ => {}
            }
        }
    }

    /// Goes on where a daemon that died has stopped; says so where that is not possible.
    fn resume(&mut self) -> Result<Option<Event>, CommandError> {
        let process = self.session.process;
        let since = match self.request.since {
            Since::Screen => Since::Screen,
            Since::Oldest | Since::Offset(_) => Since::Offset(self.offset),
        };
        let name = self.session.id.clone();
        let mut next = open(ViewRequest { name: name.clone(), since, ..self.request.clone() })?;
        if next.session.process != process {
            // Its output begins anew.
            next = open(ViewRequest { name, since: self.request.since, ..self.request.clone() })?;
        } else if since != Since::Screen {
            next.offset = self.offset;
        }
        let restarts = next.session.process != process || since == Since::Screen;
        let missing = next.missing;
        *self = next;
        Ok(restarts.then_some(Event::Restarted(missing)))
    }
}

fn lost(error: CallError) -> CommandError {
    match error {
        CallError::Command(error) => error,
        CallError::Lost | CallError::TimedOut => CommandError::new(Kind::Unreachable, "the daemon has ended")
            .hint("try again; the session goes on"),
    }
}
