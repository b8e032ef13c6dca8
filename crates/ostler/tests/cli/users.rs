//! Users of one machine cannot touch each other's sessions.
