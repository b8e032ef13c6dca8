//! Answers in words for a model.

use ostler_protocol::ToolAnswer;

/// An answer in words.
pub fn in_words(answer: &ToolAnswer) -> String {
    match answer {
        ToolAnswer::Noted => "recorded".to_owned(),
        ToolAnswer::Message(message) => {
            format!("message {}: {}, {}", message.id, message.state, message.proof.as_str())
        }
        ToolAnswer::Question(question) => match &question.answer {
            Some(answer) => format!("{} was answered: {answer}", question.id),
            None => format!("{} is open; the answer comes as a message", question.id),
        },
        ToolAnswer::Context(context) if context.text.is_empty() => {
            "Nothing is known of this project yet.".to_owned()
        }
        ToolAnswer::Context(context) => ostler_screen::SafeText::new(&context.text).as_str().to_owned(),
    }
}
