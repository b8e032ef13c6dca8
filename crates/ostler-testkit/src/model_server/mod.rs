//! A model server that says what the prompt tells it to say.
//!
//! # Theory of Operation
//!
//! Real agents can be tried offline if something answers them. This server listens on loopback, speaks the wire
//! formats the agents speak ([`Format`]), and finds its script in the newest user message of each request:
//! `please [[say 40 words over 4s]] [[tool make]] [[say 3 words]]`. So one server serves every scene, and a
//! scene is nothing but a prompt.
//!
//! | directive | what the model does |
//! |---|---|
//! | `[[say 40 words over 4s]]` | streams so many words, evenly over the time |
//! | `[[silence 15s]]` | sends nothing for so long |
//! | `[[quote TEXT]]` | streams the text as it is; `\n` is a line break |
//! | `[[recite NAME]]` | streams a text the server was given under that name |
//! | `[[tool COMMAND]]` | calls the shell tool the agent offers |
//! | `[[question TEXT]]` | calls the tool for questions the agent offers; says the text if there is none. Several questions have ` \| ` between them |
//! | `[[agent TASK]]` | calls the tool that gives a task to another agent, which a [`Play`] tells what to do |
//! | `[[call NAME {"a": 1}]]` | calls the tool of that name, whatever the agent puts before it |
//! | `[[status 429 retry-after 2]]` | answers with an HTTP error, once |
//! | `[[forever 429]]` | answers with an HTTP error from now on |
//! | `[[forever 429 usage-limit 3600]]` | the same, and says that a plan is used up for so many seconds |
//!
//! Directives are taken in order. What ends a reply (a tool call, a question, an error) leaves the rest for the
//! agent's next request of the same turn. How far a turn has got is the server's own count, not the agent's
//! history: a request that is tried again after an error carries the same history.
//!
//! Where the same prompt is to have different answers, or has to be free of directives, the caller gives scripts for
//! prompts beforehand ([`Play`]).
//!
//! Agents also ask for things on the side: a title, a summary, a judgement. A request whose newest user message
//! has no directive, or that offers no tools, is such a *side* request and gets a short harmless answer at once.
//!
//! Nothing here knows an agent. The tool that runs commands is recognised by its name and its schema
//! ([`tools`]), and where that is not enough the caller says so in [`Settings`].
//!
//! Every exchange is logged with the time of its request, its first and its last byte ([`Entry`]): this is the
//! truth that what ostler says of an agent is measured against.

mod http;
mod log;
mod reading;
mod reply;
mod script;
mod server;
mod settings;
pub mod tools;
mod turns;
mod wire;

pub use log::{Entry, Event, Log};
pub use reading::{Asked, Item};
pub use script::{Ending, Part, Reply, replies};
pub use server::ModelServer;
pub use settings::{Play, Settings, ShellCall};
pub use wire::Format;
