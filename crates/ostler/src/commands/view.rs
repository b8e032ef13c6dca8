//! A view as blocking code reads it.

use ostler_protocol::frame::Frame;
use ostler_protocol::{Request, Response, SessionInfo, ViewRequest};

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
    /// The session when the view began.
    pub(super) session: SessionInfo,
    /// Bytes of output from before that are no longer kept.
    pub(super) missing: u64,
}

/// Opens a view.
pub(super) fn open(request: ViewRequest) -> Result<View, CommandError> {
    let home = client::home()?;
    let request = Request::View(request);
    let mut tries = TRIES;
    loop {
        let mut client = Client::connect_or_start(&home)?;
        tries -= 1;
        match client.call(&request, None, None) {
            Ok(Response::View { session, missing }) => {
                return Ok(View { client, session: *session, missing });
            }
            Ok(_) => return Err(super::unexpected()),
            // The daemon died; another one can do as well.
            Err(CallError::Lost) if tries > 0 => {}
            Err(error) => return Err(lost(error)),
        }
    }
}

impl View {
    /// The next thing that happens in the view.
    pub(super) fn next(&mut self) -> Result<Event, CommandError> {
        loop {
            let frame = self.client.read().map_err(lost)?;
            if let Frame::Bytes(bytes) = frame {
                return Ok(Event::Bytes(bytes));
            }
            match frame.json().map_err(|error| lost(error.into()))? {
                Response::Resized { cols, rows } => return Ok(Event::Resized(cols, rows)),
                Response::Restarted { missing } => return Ok(Event::Restarted(missing)),
                Response::ViewEnded { session } => return Ok(Event::Ended(session)),
                Response::Failed(problem) => return Err(problem.into()),
                _ => {}
            }
        }
    }
}

fn lost(error: CallError) -> CommandError {
    match error {
        CallError::Command(error) => error,
        CallError::Lost | CallError::TimedOut => CommandError::new(Kind::Unreachable, "the daemon has ended")
            .hint("try again; the session goes on"),
    }
}
