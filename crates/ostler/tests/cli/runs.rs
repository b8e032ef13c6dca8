//! Tasks given to stand-in agents.

mod criteria;
mod ends;
mod helping;
mod kills;
mod shared;
mod switches;
mod trees;
mod watching;
mod world;
