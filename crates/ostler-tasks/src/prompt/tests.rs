use super::*;
use crate::Check;

fn task() -> Task {
    Task {
        intent: Some("People can come back".into()),
        criteria: vec!["a wrong password is refused".into(), "a right one is not".into()],
        checks: vec![Check::Shell("cargo test".into())],
        context: vec!["docs/auth.md".into()],
        rules: vec!["No new dependencies.".into()],
        ..Task::new("login".parse().unwrap(), "Add a <login> form & a \"button\".\n")
    }
}

#[test]
fn the_built_in_template_has_all_sections() {
    let prompt = PromptTemplate::default().render(&task(), "/srv/web").unwrap();
    insta::assert_snapshot!(prompt, @r#"
    # Task login

    ## Description
    Add a <login> form & a "button".

    ## Intent
    People can come back

    ## Acceptance criteria
    - a wrong password is refused
    - a right one is not

    ## Checks
    These commands will be run when you stop, and all of them must succeed:
    - `cargo test`

    ## Read-only context
    Read these, do not change them:
    - docs/auth.md

    ## Rules
    - Do the whole task before you stop; do not ask whether to go on.
    - Change only what the task needs.
    - Leave the checks as they are: they must pass because the work is right.
    - No new dependencies.

    ## Output format
    End with one short paragraph: what you changed, and what is left open.

    ## Directory
    /srv/web
    "#);
}

#[test]
fn what_a_task_does_not_have_is_left_out() {
    let prompt =
        PromptTemplate::default().render(&Task::new("t".parse().unwrap(), "Do it."), "/work").unwrap();
    insta::assert_snapshot!(prompt, @r"
    # Task t

    ## Description
    Do it.

    ## Rules
    - Do the whole task before you stop; do not ask whether to go on.
    - Change only what the task needs.
    - Leave the checks as they are: they must pass because the work is right.

    ## Output format
    End with one short paragraph: what you changed, and what is left open.

    ## Directory
    /work
    ");
}

#[test]
fn users_bring_their_own_template() {
    let template = PromptTemplate::parse(
        "mine.jinja",
        "{{ id }}: {{ instructions | trim | upper }}\n{% for c in criteria %}\n* {{ c }}\n{% endfor %}",
    )
    .unwrap();
    let prompt = template.render(&task(), "/").unwrap();
    assert_eq!(
        prompt,
        "login: ADD A <LOGIN> FORM & A \"BUTTON\".\n* a wrong password is refused\n* a right one is not\n"
    );
    // What a task says is no template.
    let sly = Task::new("t".parse().unwrap(), "{{ 7 * 7 }}{% endfor %}");
    assert!(PromptTemplate::default().render(&sly, "/").unwrap().contains("{{ 7 * 7 }}{% endfor %}"));
}

#[test]
fn a_bad_template_is_told_with_line_and_variable() {
    let table = [
        (
            "{{ id }}\n\n{{ critera }}\n",
            "mine.jinja:3: critera: no such variable; there are id, instructions, description, intent, criteria, checks, \
             context, rules, output_format, directory",
        ),
        ("a\n{% for x in rules %}\n", "mine.jinja:2: syntax error: unexpected end of input"),
        ("a\n{{ id | shout }}\n", "mine.jinja:2: shout: unknown filter"),
        ("{{ id \n", "mine.jinja:1: id: syntax error"),
    ];
    for (text, start) in table {
        let told = PromptTemplate::parse("mine.jinja", text)
            .and_then(|template| template.render(&task(), "/"))
            .unwrap_err();
        assert!(told.to_string().starts_with(start), "{told}");
    }
    let error = PromptTemplate::parse("mine.jinja", "{{ id }}\n{{ id.size }}\n").unwrap_err();
    assert_eq!((error.line, error.variable.as_deref()), (Some(2), Some("id.size")));
    assert!(error.reason.starts_with("undefined value"), "{error}");
    let picky = PromptTemplate::parse("mine.jinja", "{{ id }}\n{{ criteria[1].x }}").unwrap_err();
    assert_eq!(picky.line, Some(2));
    let empty = PromptTemplate::parse("mine.jinja", "{# nothing #}").unwrap_err();
    assert!(empty.reason.contains("{{ instructions }}"), "{empty}");
}

#[test]
fn no_template_runs_for_ever() {
    let nested = "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}";
    let error = PromptTemplate::parse("mine.jinja", nested).unwrap_err();
    assert!(error.reason.contains("fuel"), "{error}");
}
