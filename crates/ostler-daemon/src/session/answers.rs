//! How answers of the owner get to the agent that asked: as messages like any others.

use ostler_core::continuity::cut;
use ostler_protocol::{Proof, SendTerms};
use ostler_store::Question;
use tokio::sync::oneshot;

use super::SendCommand;

/// Who sends answers, for the record.
const OWNER: &str = "owner";
/// How much of a question is repeated with its answer.
const REPEATED: usize = 120;

/// The id of the message that tells an answer: it is the same message however often it is sent.
pub(crate) fn answer_id(number: i64) -> String {
    format!("answer-q{number}")
}

/// The message that tells an answer. Whoever waits for it hears when it is recorded.
pub(super) fn message(question: &Question, queued: super::Queued) -> Option<SendCommand> {
    let (answer, _) = question.answer.as_ref()?;
    let asked = cut(question.question.lines().next().unwrap_or_default(), REPEATED);
    let body = format!("Answer to your question q{} ({asked}): {answer}", question.number);
    let (settled, _) = oneshot::channel();
    Some(SendCommand {
        id: answer_id(question.number),
        body: body.into_bytes(),
        terms: SendTerms { sender: OWNER.into(), ..SendTerms::default() },
        wait: Proof::Queued,
        queued,
        settled,
    })
}
