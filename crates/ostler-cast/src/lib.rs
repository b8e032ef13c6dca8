//! asciicast v2, reading and writing.
