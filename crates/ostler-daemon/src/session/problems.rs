//! What clients are told when a session cannot do what they ask.

use ostler_protocol::{Code, ErrorKind, Problem};
use ostler_session::{MAX_ID, Refusal};
use ostler_store::{Message, StoreError};

/// One id for two messages.
pub(crate) fn reused_id(id: &str) -> Problem {
    Problem::new(
        ErrorKind::Conflict,
        format!("message {id:?} was sent before with another body, or in another way (--raw)"),
    )
    .hint("use another --id for another message")
}

/// A failure of the store as the client sees it.
pub(crate) fn store_problem(error: &StoreError) -> Problem {
    match error {
        StoreError::NameTaken(name) => {
            Problem::new(ErrorKind::Conflict, format!("a running session is called {name:?} already"))
                .hint(format!("choose another --name, or end it: ostler stop {name}"))
        }
        StoreError::Unwritable(_) => Problem::new(ErrorKind::Storage, error.to_string()).hint(
            "free some disk space, or point OSTLER_HOME elsewhere; programs under care go on meanwhile",
        ),
        StoreError::Damaged(_) => {
            Problem::new(ErrorKind::Storage, format!("the record: {error}")).code(Code::RecordDamaged)
        }
        _ => Problem::new(ErrorKind::Internal, error.to_string()),
    }
}

/// Whether a message was given up, and so can be done with.
pub(crate) fn droppable(message: &Message) -> Result<(), Problem> {
    if message.state.is_given_up() {
        return Ok(());
    }
    Err(of(Refusal::NotDroppable { id: message.id.clone(), state: message.state }, None))
}

/// Why a session refused something; `error` is the store's last one.
pub(super) fn of(refusal: Refusal, error: Option<&StoreError>) -> Problem {
    let conflict = |message: String| Problem::new(ErrorKind::Conflict, message);
    let usage = |message: String| Problem::new(ErrorKind::Usage, message);
    match refusal {
        Refusal::BadId { id } => usage(format!("{id:?} cannot be the id of a message"))
            .hint(format!("use 1 to {MAX_ID} characters without blanks and control characters")),
        Refusal::ReusedId { id } => reused_id(&id),
        Refusal::QueueFull { waiting } => {
            conflict(format!("{waiting} messages wait for this session already"))
                .hint("ostler messages list shows them; ostler messages drop ID takes one back")
        }
        Refusal::NotText => {
            usage("the message is not valid UTF-8".into()).hint("--raw types bytes as they are")
        }
        Refusal::Empty => {
            usage("nothing is left of the message without blanks and control characters".into())
                .hint("--raw types bytes as they are")
        }
        Refusal::NoInterrupt { agent } => usage(format!("it is not known how to interrupt {agent}"))
            .hint("set input.interrupt in its preset, or use --mode queue"),
        Refusal::NoDialog => conflict("no dialog is open".into()).code(Code::NoDialog),
        Refusal::AnotherDialog { id } => {
            conflict(format!("another dialog is open by now ({id}): nothing was pressed"))
                .code(Code::NoDialog)
        }
        Refusal::BeingAnswered => conflict("the dialog is being answered already".into()),
        Refusal::NoSuchChoice { word, choices } if choices.is_empty() => {
            usage(format!("how to answer {word:?} is not known here: no choices are seen in the dialog"))
                .code(Code::NoDialog)
        }
        Refusal::NoSuchChoice { word, choices } => {
            usage(format!("the dialog has no choice {word:?}; it has: {}", choices.join(" · ")))
        }
        Refusal::NoAlways => usage("the dialog has no choice that allows it for good, or several".into())
            .hint("choose one by its number or its words"),
        Refusal::TakesNoText => usage("the dialog takes no words of one's own".into())
            .hint("choose one of its choices by its number or its words"),
        Refusal::NoKeys => conflict("nothing can be typed into this session".into()),
        Refusal::NotGivenUp { id, state } => conflict(format!("message {id:?} is {}", state.as_str()))
            .hint("only a message that was given up can be tried again"),
        Refusal::NotDroppable { id, state } => conflict(format!("message {id:?} is {}", state.as_str()))
            .hint("only a message that is under way, or was given up, can be dropped"),
        Refusal::InTerminal { id } => conflict(format!("message {id:?} is in the terminal already"))
            .hint("ostler screen shows it; ostler attach lets you take it back"),
        Refusal::RawBytes { id } => conflict(format!("message {id:?} is raw bytes, and no prompt"))
            .hint("of raw bytes no more can be proven than that they are written"),
        Refusal::NotTyped { id } => conflict(format!("message {id:?} was not typed yet")),
        Refusal::Ended => Problem::new(ErrorKind::Ended, "its program has ended"),
        Refusal::NotRecorded => match error {
            Some(error) => store_problem(error),
            None => Problem::new(ErrorKind::Storage, "the store does not take it"),
        },
    }
}
