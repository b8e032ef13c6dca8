//! The tools that ostler gives to agents, over the Model Context Protocol.
//!
//! # Theory of operation
//!
//! An agent starts the server (`ostler mcp`) and talks to it on standard input and output. The server knows the tools
//! ([`tools`]), reads a call ([`read_call`]), hands it to a [`Desk`] and says the answer in words for a model
//! ([`in_words`]). It keeps no state, so a call works again as soon as the desk does. Revisions of the protocol are the
//! library's concern: the stateless one and those that begin with `initialize` reach the same code.
//!
//! What a call does is decided in the daemon; nothing here knows of sockets.

mod call;
mod server;
mod tools;
mod words;

pub use call::read_call;
pub use server::{Desk, serve};
pub use tools::{ToolText, tools};
pub use words::in_words;
