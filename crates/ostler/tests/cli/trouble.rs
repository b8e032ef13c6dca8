//! Full disks, missing programs, stale sockets: clear messages, nothing lost.
