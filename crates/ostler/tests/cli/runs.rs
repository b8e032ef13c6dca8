//! Tasks given to stand-in agents.

mod accounts;
mod criteria;
mod ends;
mod helping;
mod kills;
mod output;
mod owners;
mod shared;
mod switches;
mod team;
mod tools;
mod trees;
mod watching;
