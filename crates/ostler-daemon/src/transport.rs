//! Ways to reach a program.
//!
//! A session speaks to its program through a transport: requests go out, events come in. The one there is today is a
//! holder that owns a terminal; whatever takes its place has the same two functions.

mod holder;
mod link;

use ostler_session::{Event, Request};

pub(crate) use holder::{Holder, exit};
pub(crate) use link::{Link, LinkError};

/// A connection to a program.
pub(crate) trait Transport {
    /// What has arrived at once.
    type Arrived: Arrived;

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
