//! What can be wrong with a specification.

/// What is wrong with the description of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A place that is not a JSON pointer.
    #[error("transcript.{field}: {pointer:?} is not a JSON pointer (such as `/message/id`)")]
    Pointer {
        /// Where it stands.
        field: String,
        /// What stands there.
        pointer: String,
    },
    /// A regular expression that cannot be used.
    #[error("transcript.{field}: {reason}")]
    Regex {
        /// Where it stands.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something is missing.
    #[error("transcript.{field}: {reason}")]
    Missing {
        /// Where it should stand.
        field: String,
        /// Why it is needed.
        reason: &'static str,
    },
    /// A place that leads nowhere.
    #[error("transcript.{field}: {reason}")]
    Place {
        /// Where it stands.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
}
