//! Sessions in a terminal: the viewer's end is a PTY of the test's own.
