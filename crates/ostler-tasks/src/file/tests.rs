use std::time::Duration;

use ostler_core::run::Policy;
use proptest::prelude::*;

use super::*;
use crate::{Check, TaskId, TimeBudget};

const FULL: &str = r#"
[[tasks]]
id = "login"
instructions = """
Add a login form.
"""
intent = "People can come back"
criteria = ["a wrong password is refused", "a right one is not"]
checks = ["cargo test", ["cargo", "clippy", "--", "-D", "warnings"]]
context = ["docs/auth.md"]
rules = ["no new dependencies"]
output_format = "One line."
retry = { max_attempts = 5 }
options.enable_pre_context = false
agents = ["one", "two"]
cwd = "web"
worktree = true
budget = { time = "1h 30m", tokens = 200000 }

[[tasks]]
id = "logout"
instructions = "Add a button."
"#;

#[test]
fn every_field_is_read() {
    let tasks = parse("tasks.toml", FULL).unwrap();
    let [login, logout] = tasks.as_slice() else { panic!() };
    assert_eq!(login.id.as_str(), "login");
    assert_eq!(login.instructions, "Add a login form.\n");
    assert_eq!(login.intent.as_deref(), Some("People can come back"));
    assert_eq!(login.criteria.len(), 2);
    let clippy = ["cargo", "clippy", "--", "-D", "warnings"].map(str::to_owned).to_vec();
    assert_eq!(login.checks, [Check::Shell("cargo test".into()), Check::Program(clippy)]);
    assert_eq!(login.context, ["docs/auth.md"]);
    assert_eq!(login.rules, ["no new dependencies"]);
    assert_eq!(login.output_format.as_deref(), Some("One line."));
    assert_eq!(login.agents, ["one", "two"]);
    assert_eq!((login.cwd.as_deref(), login.worktree), (Some("web"), true));
    assert_eq!(login.budget.time, Some(TimeBudget(Duration::from_mins(90))));
    let policy = login.policy(&Policy::default());
    assert_eq!((policy.max_attempts, policy.time_secs, policy.tokens), (5, 5_400, 200_000));
    assert!(policy.has_checks && !policy.pre_context.enabled);
    assert_eq!(*logout, Task::new("logout".parse().unwrap(), "Add a button."));
    let policy = logout.policy(&Policy::default());
    assert_eq!(policy, Policy { has_checks: false, ..Policy::default() });
    // JSON says the same.
    let json = serde_json::json!({ "tasks": tasks }).to_string();
    assert_eq!(parse("tasks.json", &json).unwrap(), tasks);
}

#[test]
fn other_names_of_the_fields_say_the_same() {
    let json = r#"{"task_id": "a", "instructions": "x", "intent": "y", "acceptance_criteria": ["c"],
        "retry_policy": {"max_retries": 2}, "options": {"enable_pre_context": true, "helper": "always"},
        "budget": {"checks": 90}}"#;
    let toml = "task_id = 'a'\ninstructions = 'x'\nintent = 'y'\nacceptance_criteria = ['c']\n\
        retry_policy.max_retries = 2\noptions = { enable_pre_context = true, helper = 'always' }\nbudget.checks = '90s'\n";
    for (file, text) in [("t.json", json), ("t.toml", toml)] {
        let [task] = parse(file, text).unwrap().try_into().unwrap();
        assert_eq!(
            (task.id.as_str(), task.intent.as_deref(), &*task.criteria),
            ("a", Some("y"), &["c".into()][..])
        );
        let policy = task.policy(&Policy::default());
        assert_eq!((policy.max_attempts, policy.check_secs), (3, 90), "the first attempt is no retry");
        assert!(policy.helper && policy.helper_always && policy.pre_context.enabled);
    }
    let table = [
        ("retry_policy.max_retries = 0", Ok(1)),
        ("retry.max_attempts = 2", Ok(2)),
        ("retry.max_retries = 50", Err("50 retries; write 0 to 49")),
        ("retry = { max_attempts = 2, max_retries = 1 }", Err("the same in two ways")),
        ("retry.max = 2", Err("unknown field `max`")),
        ("options.helper = 'sometimes'", Err("expected one of `never`, `loop`, `always`")),
        ("task_id = 'b'", Err("duplicate field")),
    ];
    for (line, expected) in table {
        let read = parse("t.toml", &format!("id = 'a'\ninstructions = 'x'\n{line}\n"));
        match (read, expected) {
            (Ok(tasks), Ok(attempts)) => assert_eq!(tasks[0].retry.max_attempts, attempts, "{line}"),
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{line}: {error}"),
            (read, _) => panic!("{line}: {read:?}"),
        }
    }
    let twins =
        parse("t.json", r#"[{"task_id": "a", "instructions": "x"}, {"task_id": "a", "instructions": "y"}]"#);
    assert!(
        twins
            .unwrap_err()
            .to_string()
            .starts_with("t.json:1: [1].id: \"a\" is the id of another task in line 1")
    );
    assert!(Check::shell(" \t").unwrap_err().to_string().contains("an empty check always succeeds"));
}

#[test]
fn a_file_may_be_one_task_or_an_array() {
    let one = parse("t.toml", "id = 'a'\ninstructions = 'x'\n").unwrap();
    let table = [
        ("t.json", r#"{"id":"a","instructions":"x"}"#),
        ("t.json", r#" [{"id":"a","instructions":"x"}] "#),
        ("stdin", r#"{"tasks":[{"id":"a","instructions":"x"}]}"#),
        ("stdin", r#"[ {"id":"a","instructions":"x"} ]"#),
        ("stdin", "[[tasks]]\nid = 'a'\ninstructions = 'x'"),
        ("a.b/T.TOML", "id = 'a'\ninstructions = 'x'"),
    ];
    for (file, text) in table {
        assert_eq!(parse(file, text).unwrap(), one, "{file}: {text}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_to_do() {
    let toml = [
        (
            "id = 'a'\n",
            "t.toml:1: missing field `instructions`; say what is to be done: instructions = \"…\"",
        ),
        (
            "[[tasks]]\nid = 'a'\ninstructions = ' '\n",
            "t.toml:3: tasks[0].instructions: empty; say what is to be done",
        ),
        (
            "[[tasks]]\nid = 'a'\ninstructions = 'x'\n[[tasks]]\ninstructions = 'y'\n",
            "t.toml:4: tasks[1]: missing field `id`; give the task a name of its own: id = \"…\"",
        ),
        (
            "id = 'a/b'\ninstructions = 'x'\n",
            "t.toml:1: id: \"a/b\" cannot be an id; use 1 to 64 letters, digits, '.', '_' or '-', starting with a letter or digit",
        ),
        (
            "[[tasks]]\nid = 'a'\ninstructions = 'x'\n\n[[tasks]]\nid = 'a'\ninstructions = 'y'\n",
            "t.toml:6: tasks[1].id: \"a\" is the id of another task in line 2; give each its own",
        ),
        (
            "id = 'a'\ninstructions = 'x'\nchecks = ['cargo test', 7]\n",
            "t.toml:3: checks[1]: invalid type: integer `7`, expected a line for the shell, such as \"cargo test\", or a \
             program with its arguments, such as [\"cargo\", \"test\"]",
        ),
        (
            "id = 'a'\ninstructions = 'x'\nchecks = ['']\n",
            "t.toml:3: checks[0]: an empty check always succeeds; write a command, or leave it out",
        ),
        (
            "id = 'a'\ninstructions = 'x'\nchecks = [[]]\n",
            "t.toml:3: checks[0]: a check needs a program; write it as the first of the array",
        ),
        (
            "id = 'a'\ninstructions = 'x'\nbudget.time = 'soon'\n",
            "t.toml:3: budget.time: \"soon\" is no length of time; write seconds, or text such as \"90m\" or \"1h 30m\"",
        ),
        (
            "id = 'a'\ninstructions = 'x'\nbudget.time = 0\n",
            "t.toml:3: budget.time: no time at all; leave it out for no limit",
        ),
        (
            "id = 'a'\ninstructions = 'x'\nretry.max_attempts = 99\n",
            "t.toml:3: retry.max_attempts: 99 attempts; write 1 to 50",
        ),
        ("tasks = []\n", "t.toml: there are no tasks; add one to `tasks`"),
    ];
    for (text, expected) in toml {
        assert_eq!(parse("t.toml", text).unwrap_err().to_string(), expected, "{text}");
    }
    let unknown = parse("t.toml", "id = 'a'\ninstructions = 'x'\nchecs = []\n").unwrap_err();
    assert_eq!((unknown.line, unknown.field.as_deref()), (Some(3), Some("checs")));
    assert!(
        unknown.reason.starts_with("unknown field `checs`, expected one of `id`, `task_id`, `instructions`"),
        "{unknown}"
    );
    assert!(unknown.reason.ends_with("correct its name or remove it"), "{unknown}");
    let broken = parse("t.toml", "id = 'a'\ninstructions = \n").unwrap_err();
    assert_eq!(broken.line, Some(2));
}

#[test]
fn json_is_refused_as_clearly() {
    let table = [
        (
            "{\"tasks\": [\n {\"id\": \"a\", \"instructions\": \"x\"},\n {\"id\": \"a\",\n \"instructions\": \"x\"}\n]}",
            Some(3),
            "tasks[1].id",
            "\"a\" is the id of another task in line 2; give each its own",
        ),
        (
            "[\n {\"id\": \"a\", \"instructions\": \"x\"},\n {\n \"id\": \"a\", \"instructions\": \"x\"}\n]",
            Some(4),
            "[1].id",
            "\"a\" is the id of another task in line 2; give each its own",
        ),
        (
            "{\"id\": \"a\",\n \"instructions\": \"x\",\n \"retry\": {\"max_attempts\": \"3\"}}",
            Some(3),
            "retry.max_attempts",
            "invalid type: string \"3\", expected u32",
        ),
        (
            "{\"id\": \"a\",\n \"instructions\": 7}",
            Some(2),
            "instructions",
            "invalid type: integer `7`, expected a string",
        ),
    ];
    for (text, line, field, reason) in table {
        let error = parse("t.json", text).unwrap_err();
        assert_eq!(
            (error.line, error.field.as_deref(), error.reason.as_str()),
            (line, Some(field), reason),
            "{text}"
        );
    }
    let broken = parse("t.json", "{\"id\": \"a\",\n \"instructions\" \"x\"}").unwrap_err();
    assert_eq!((broken.line, broken.reason.as_str()), (Some(2), "expected `:`"));
    let behind = parse("t.json", "{\"id\": \"a\", \"instructions\": \"x\"}\n}").unwrap_err();
    assert_eq!((behind.line, behind.reason.as_str()), (Some(2), "trailing characters"));
    let huge = format!("# {}\n", "x".repeat(MAX_BYTES));
    assert!(parse("t.toml", &huge).unwrap_err().reason.contains("split it"));
}

#[test]
fn ids_fit_paths_and_branches() {
    for good in ["a", "1", "fix-login_2.b", &"n".repeat(64)] {
        assert!(good.parse::<TaskId>().is_ok(), "{good}");
    }
    for bad in ["", "-a", ".a", "a/b", "a b", "a..b", "a.", "é", "a\n", &"n".repeat(65)] {
        assert!(bad.parse::<TaskId>().is_err(), "{bad}");
    }
}

#[test]
fn commands_are_shown_as_they_would_be_typed() {
    let program =
        |argv: &[&str]| Check::Program(argv.iter().map(|argument| (*argument).to_owned()).collect());
    assert_eq!(program(&["cargo", "test", "--", "-q"]).to_string(), "cargo test -- -q");
    assert_eq!(program(&["echo", "it's", "", "a b"]).to_string(), r"echo 'it'\''s' '' 'a b'");
    assert_eq!(Check::Shell("a | b".into()).to_string(), "a | b");
}

proptest! {
    #[test]
    fn no_text_is_fatal(text in any::<String>(), json in any::<bool>()) {
        let file = if json { "t.json" } else { "t.toml" };
        if let Err(error) = parse(file, &text) {
            prop_assert!(error.line.is_none_or(|line| line >= 1 && line <= text.matches('\n').count() + 1));
            prop_assert!(!error.reason.is_empty());
        }
    }

    #[test]
    fn what_is_written_is_read_again(
        id in "[a-z][a-z0-9_-]{0,20}",
        instructions in "[ -~]{0,40}[!-~]",
        criteria in prop::collection::vec(any::<String>(), 0..3),
        line in "[!-~]{1,20}",
    ) {
        let task = Task {
            criteria,
            checks: vec![Check::Shell(line.clone()), Check::Program(vec![line])],
            ..Task::new(id.parse().unwrap(), instructions)
        };
        let json = serde_json::to_string(&task).unwrap();
        prop_assert_eq!(parse("t.json", &json).unwrap(), vec![task.clone()]);
        let toml = toml::to_string(&task).unwrap();
        prop_assert_eq!(parse("t.toml", &toml).unwrap(), vec![task]);
    }
}
