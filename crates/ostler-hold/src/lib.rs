//! Owns one terminal: PTY, output ring and input ledger.
