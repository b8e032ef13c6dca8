//! Answers in words for a model.

use ostler_protocol::{TaskInfo, ToolAnswer};

/// An answer in words.
pub fn in_words(answer: &ToolAnswer) -> String {
    match answer {
        ToolAnswer::Noted => "recorded".to_owned(),
        ToolAnswer::Message(message) => {
            format!("message {}: {}, {}", message.id, message.state, message.proof.as_str())
        }
        ToolAnswer::Task(None) => {
            "No run of ostler gave you a task; your owner's prompts are your task.".to_owned()
        }
        ToolAnswer::Task(Some(task)) => task_in_words(task),
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

fn task_in_words(task: &TaskInfo) -> String {
    let TaskInfo { run, task, state, goal, attempt, checks, errors } = task;
    let list = |title: &str, lines: &[String]| {
        if lines.is_empty() { String::new() } else { format!("\n\n{title}:\n- {}", lines.join("\n- ")) }
    };
    let goal = goal.as_ref().map_or_else(String::new, |goal| format!("\n\nGoal:\n{goal}"));
    let checks = list("Checks that have to pass", checks);
    let errors = list("What failed before", errors);
    format!("Task {task}, attempt {attempt} (run {run}: {state}){errors}{checks}{goal}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_told_with_what_is_known_of_it() {
        let task = TaskInfo {
            run: "r1".into(),
            task: "parser".into(),
            state: "working".into(),
            goal: Some("Fix it.".into()),
            attempt: 2,
            checks: vec!["cargo test".into()],
            errors: vec![],
        };
        let told = in_words(&ToolAnswer::Task(Some(Box::new(task))));
        let expected = "Task parser, attempt 2 (run r1: working)\n\nChecks that have to pass:\n- cargo test\n\nGoal:\nFix it.";
        assert_eq!(told, expected);
    }
}
