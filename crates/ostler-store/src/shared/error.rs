use crate::error::StoreError;
use crate::shared::LARGEST;

/// Why the shared store could not do what it was asked. None of these says anything about a value: whoever gets
/// one goes on with what it knew.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SharedError {
    /// It cannot be reached, or does not answer in time. A change may or may not have happened.
    #[error("the shared store cannot be reached: {0}")]
    Unreachable(String),
    /// It answers, and does not do it: no permission, no memory, no disk, a replica.
    #[error("the shared store refuses: {0}")]
    Refused(String),
    /// What is stored is not what this ostler writes: something else uses the same keys, or a newer ostler.
    #[error("the shared store has something that is not understood: {0}")]
    Unclear(String),
    /// The value is larger than is stored.
    #[error("a value of {0} bytes is too large for the shared store (at most {LARGEST})")]
    TooLarge(usize),
    /// It is not set up in a way that can work.
    #[error("the shared store is not set up: {0}")]
    Setup(String),
}

impl From<StoreError> for SharedError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error.to_string())
    }
}
