//! Types on the wire between the command line and the daemon.
