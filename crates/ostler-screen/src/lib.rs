//! Terminal bytes to screen, signals and safe input.
