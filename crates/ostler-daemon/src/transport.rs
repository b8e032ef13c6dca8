//! Ways to reach a program.
//!
//! A session speaks to its program through a transport: requests go out, events come in, and it says what it can do. The one
//! there is today is a holder that owns a terminal; whatever takes its place has the same three functions.

mod holder;
mod link;

use ostler_session::{Abilities, Event, Request};

pub(crate) use holder::{Holder, exit};
pub(crate) use link::{Link, LinkError};

/// A connection to a program.
pub(crate) trait Transport {
    /// What has arrived at once.
    type Arrived: Arrived;

    /// What it can do; it is asked for nothing else.
    fn abilities(&self) -> Abilities;

    /// Asks for something; it is sent as the other side takes it.
    fn request(&mut self, request: &Request);

    /// Sends and receives until something has arrived. May be cancelled at any time.
    fn arrived(&mut self) -> impl Future<Output = Result<Self::Arrived, LinkError>> + Send;
}

/// Events that have arrived, in their order.
pub(crate) trait Arrived {
    /// The next one, until there is none.
    fn next(&mut self) -> Result<Option<Event<'_>>, LinkError>;
}
