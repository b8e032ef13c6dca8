//! What a store's promises are worth.

use std::fmt;

/// What an acknowledged change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Every one survives the death of the server and of its machine.
    EveryWrite,
    /// Every one survives the death of the process; a power cut may take the last few.
    EveryWriteButPower,
    /// About a second of them may be lost.
    LastSecond,
    /// They reach the disk when the system likes.
    WhenTheSystemLikes,
    /// All since the last snapshot are lost, or all there are.
    SinceSnapshot,
    /// The server does not say.
    Unknown,
}

/// What a server may throw away although it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction {
    /// Nothing.
    Nothing,
    /// Leases, so that two may do what only one should.
    Leases,
    /// Anything.
    Anything,
    /// The server does not say.
    Unknown,
}

/// What is known of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarantee {
    /// What it is, with its version.
    pub server: String,
    /// What an acknowledged change survives.
    pub durability: Durability,
    /// What may vanish.
    pub eviction: Eviction,
    /// Whether it has replicas: a change of roles may take the last writes.
    pub replicated: bool,
}

impl fmt::Display for Guarantee {
    /// A plain sentence or two, with what to do where something is amiss.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.server)?;
        f.write_str(match self.durability {
            Durability::EveryWrite => "every acknowledged write survives a kill -9 of the server.",
            Durability::EveryWriteButPower => {
                "every acknowledged write survives a kill -9; a power cut may take the last few."
            }
            Durability::LastSecond => {
                "up to 1 s of acknowledged writes may be lost when the server dies (set appendfsync always)."
            }
            Durability::WhenTheSystemLikes => {
                "up to half a minute of acknowledged writes may be lost when the machine dies (set appendfsync always)."
            }
            Durability::SinceSnapshot => {
                "acknowledged writes are lost when the server dies (set appendonly yes and appendfsync always, where \
                 the server has them)."
            }
            Durability::Unknown => {
                "it is unknown what acknowledged writes survive, for the server does not show its settings."
            }
        })?;
        f.write_str(match self.eviction {
            Eviction::Nothing => "",
            Eviction::Leases => {
                " Leases may be evicted when memory runs out (set maxmemory-policy noeviction)."
            }
            Eviction::Anything => {
                " Keys may be evicted when memory runs out (set maxmemory-policy noeviction)."
            }
            Eviction::Unknown => " It is unknown whether keys may be evicted.",
        })?;
        if self.replicated {
            f.write_str(" When a replica takes over, the last acknowledged writes may be lost.")?;
        }
        Ok(())
    }
}
