//! Tasks given to stand-in agents.

mod ends;
mod kills;
mod switches;
mod watching;
mod world;
