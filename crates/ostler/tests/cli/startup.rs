//! Starting an agent with something to know and to do, and the dialogs on the way.

use std::fs;

use serde_json::Value;

use crate::stand_in::PRESET;
use crate::support::{TestHome, ostler, until, until_file};

/// Hooks that the agent's program runs itself: see [`HOOKED`].
const HOOKS: &str = r#"
[hooks]
file = "hooks.json"
[hooks.session]
args = ["--hooks"]
[hooks.events]
SessionStart = { fact = "session_started", context = "{text}" }
"#;

/// An agent whose program runs its session-start hook, and keeps what that printed.
fn hooked(home: &TestHome) -> String {
    format!(
        "out={}; if [ \"$1\" = --hooks ]; then shift; {} hook SessionStart --agent standin --context --per-session \
         < /dev/null >> \"$out\"; fi\nexec {1} stand-in \"$@\"\n",
        home.file("hook.out").display(),
        ostler().display()
    )
}

struct Cell {
    home: TestHome,
    started: Value,
}

/// Starts an agent with context and prompt.
fn start_with_both(argument: bool, hooks: bool) -> Cell {
    let first = if argument { "[prompt]\nfirst = \"flag\"\nflag = \"--\"\n" } else { "" };
    let home = TestHome::with_stand_in_and(&format!("{first}{}", if hooks { HOOKS } else { "" }));
    home.write_agent(&hooked(&home));
    let context = home.file("context.md");
    fs::write(&context, "The parser was rewritten yesterday.\n").unwrap();
    let options =
        ["--json", "--timeout", "60", "--prompt", "Fix the tests.", "--context", context.to_str().unwrap()];
    let started = serde_json::from_str(&home.start_with("a", &options, &[]).ok()).unwrap();
    Cell { home, started }
}

#[test]
fn context_and_prompt_reach_every_kind_of_agent_exactly_once() {
    for (argument, hooks) in [(false, false), (true, false), (false, true), (true, true)] {
        let Cell { home, started } = start_with_both(argument, hooks);
        let cell = format!("argument {argument}, hooks {hooks}: {started}");
        let taken = home.taken("a");
        let printed = fs::read_to_string(home.file("hook.out")).unwrap_or_default();
        let everything = format!("{}{printed}", taken.join("\u{1}"));
        for content in ["The parser was rewritten yesterday.", "Fix the tests.", "[OSTLER] a <- tester • "]
        {
            assert_eq!(everything.matches(content).count(), 1, "{content:?}: {cell}: {everything:?}");
        }
        assert_eq!(printed.contains("parser"), hooks, "{cell}");
        assert_eq!(taken.len(), if hooks { 1 } else { 2 }, "{cell}: {taken:?}");
        assert!(taken.last().unwrap().ends_with("Fix the tests."), "{cell}: {taken:?}");
        assert!(everything.contains("assigned"), "{cell}");
        // Whichever way it goes, the agent is asked to confirm it.
        assert_eq!(everything.matches("please acknowledge").count(), 1, "{cell}");
        let log = home.log("a");
        let first = log.iter().position(|record| record["event"] == "submitted").unwrap();
        let typed = log[..first].iter().any(|record| record["event"] == "bytes");
        assert_eq!(typed, !argument, "{cell}: the first prompt is on the command line, or typed");
        let startup = started["startup"].as_array().unwrap();
        assert_eq!(startup.len(), 2, "{cell}");
        assert!(startup.iter().all(|message| message["proof"] == "submitted"), "{cell}");
        let counts = home.json(["metrics", "--json"])["deliveries"].clone();
        assert_eq!((&counts["attempted"], &counts["submitted"]), (&2.into(), &2.into()), "{cell}: {counts}");
    }
}

#[test]
fn a_hook_that_never_runs_costs_time_and_no_order() {
    let home = TestHome::with_stand_in_and(HOOKS);
    home.write_agent(&format!("shift; exec {} stand-in \"$@\"\n", ostler().display()));
    let context = home.file("context.md");
    fs::write(&context, "First this.").unwrap();
    let options = ["--timeout", "60", "--prompt", "Then that.", "--context", context.to_str().unwrap()];
    home.start_with("a", &options, &[]).ok();
    let taken = home.taken("a");
    assert_eq!(taken.len(), 2, "{taken:?}");
    assert!(taken[0].contains("First this.") && taken[1].ends_with("Then that."), "{taken:?}");
}

#[test]
fn hooks_are_left_out_only_where_the_user_says_something_else_and_that_is_told() {
    let home = TestHome::with_stand_in_and(&HOOKS.replace("[\"--hooks\"]", "[\"-c\", \"hooks.it=1\"]"));
    let args = home.file("$OSTLER_SESSION.args");
    home.write_agent(&format!(
        "echo \"$@\" > \"{}\"\nexec {} stand-in\n",
        args.display(),
        ostler().display()
    ));
    for (name, said, left_out) in [("a", "model=x", false), ("b", "hooks.it=2", true)] {
        home.run(["start", "standin", "--name", name, "--", "-c", said]).ok();
        let file = home.scratch().join(format!("{name}.args"));
        let given = until_file(&file, "the program is there", || {
            fs::read_to_string(&file).ok().filter(|given| given.ends_with('\n'))
        });
        assert_eq!(given.contains("hooks.it=1"), !left_out, "{given}");
        let events = home.ok(["events", name]);
        assert_eq!(events.contains("hooks.left_out"), left_out, "{events}");
        assert_eq!(events.contains("your arguments say something else: -c hooks.it"), left_out, "{events}");
    }
}

#[test]
fn a_prompt_alone_needs_no_more_than_a_line_that_says_who_speaks() {
    let home = TestHome::with_stand_in();
    let told = home.start_with("a", &["--prompt", "Say hello.", "--timeout", "60"], &[]).ok();
    assert!(told.starts_with("a\n") && told.contains("submitted"), "{told}");
    let taken = home.taken("a");
    assert!(
        taken[0].starts_with("[OSTLER] a <- tester • ") && taken[0].ends_with("• assigned\n\nSay hello."),
        "{taken:?}"
    );
    home.start_with("b", &["--prompt", "Say hello.", "--no-beacon", "--timeout", "60"], &[]).ok();
    assert_eq!(home.taken("b"), ["Say hello."]);
    let options = ["--prompt", "Try that again.", "--topic", "retry:42", "--timeout", "60"];
    home.start_with("again", &options, &[]).ok();
    assert!(home.taken("again")[0].contains("• retry:42\n\n"), "{:?}", home.taken("again"));
    home.start_with("no", &["--prompt", "x", "--topic", "lunch"], &[])
        .fails(2, &["no topic is called \"lunch\"", "handoff, patrol, retry, switch"]);
    home.start_with("no", &["--topic", "patrol"], &[]).fails(2, &["--topic", "give --prompt"]);
    // A flag that an agent wants before its first prompt.
    home.write_preset(&format!("{PRESET}[prompt]\nfirst = \"flag\"\nflag = \"--reply\"\n"));
    home.start_with("c", &["--prompt", "hello", "--no-wait"], &[]).ok();
    let command = home.status("c")["pid"].as_u64().unwrap();
    let words = until("the program is there", || {
        let words = fs::read(format!("/proc/{command}/cmdline")).unwrap();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        words.contains("stand-in --log").then_some(words)
    });
    assert!(words.contains(" --reply [OSTLER] c <- "), "{words}");
}

#[test]
fn an_agent_that_does_not_take_its_argument_is_typed_to() {
    let home = TestHome::with_stand_in_and("[prompt]\nfirst = \"flag\"\nflag = \"--\"\n");
    // The program drops its arguments, as a wrapper may.
    home.write_agent(&format!("exec {} stand-in --log \"$2\"\n", ostler().display()));
    home.start_with("a", &["--prompt", "Never mind.", "--no-beacon", "--timeout", "60"], &[]).ok();
    assert_eq!(home.taken("a"), ["Never mind."]);
}

#[test]
fn a_first_prompt_is_never_behind_arguments_that_may_swallow_it() {
    let home = TestHome::with_stand_in_and("[prompt]\nfirst = \"arg\"\n");
    let logs = home.file("$OSTLER_SESSION.log");
    home.write_agent(&format!("exec {} stand-in --log \"{}\" \"$@\"\n", ostler().display(), logs.display()));
    let start = |name: &str, args: &[&str]| {
        let start = ["start", "standin", "--name", name, "--prompt", "Go on.", "--timeout", "60", "--"];
        home.run([&start[..], args].concat()).ok();
        assert!(
            matches!(&home.taken(name)[..], [taken] if taken.ends_with("Go on.")),
            "{:?}",
            home.taken(name)
        );
        home.count(name, "bytes") > 0
    };
    assert!(!start("a", &[]), "it is on the command line");
    // As far as ostler knows, the option takes all words behind it.
    assert!(start("b", &["--word-pace", "1"]), "it is typed");
}

#[test]
fn an_agent_that_starts_anew_when_it_is_trusted_is_given_nothing_before() {
    let startup = "[startup]\nrestarts = true\ntrusted_args = [\"--yes\"]\n";
    let identity = "[run.identity]\nargs = [\"--version\"]\nmatches = \"^it is\"\nchecked = \"2\"\n";
    let home = TestHome::with_stand_in_and(&format!(
        "[prompt]\nfirst = \"flag\"\nflag = \"--\"\n{startup}{identity}"
    ));
    // It asks, and begins again with the same arguments.
    let stand_in = format!("{} stand-in", ostler().display());
    let write = |version: &str| {
        home.write_agent(&format!(
            "if [ \"$1\" = --version ]; then echo it is {version}; exit; fi\n\
             if [ \"$1\" = --yes ]; then shift; else {stand_in} --trust-dialog \"$@\"; fi\nexec {stand_in} \"$@\"\n"
        ));
    };
    write("2.1.0");
    let options = ["--prompt", "Go.", "--timeout", "60"];
    home.start_with("a", &options, &[]).fails(5, &["a person is needed", "❯ No, exit"]);
    let words = |name: &str| {
        let program = home.status(name)["pid"].as_u64().unwrap();
        String::from_utf8_lossy(&fs::read(format!("/proc/{program}/cmdline")).unwrap()).into_owned()
    };
    assert!(!words("a").contains("Go."), "{:?}", words("a"));
    home.press("a", "\r");
    home.await_log("a", "submitted", 1);
    home.start_with("b", &[&options[..], &["--trust"]].concat(), &[]).ok();
    assert!(words("b").contains("Go."), "{:?}", words("b"));
    // Nobody knows whether another version heeds what it is told.
    write("1.12.0");
    home.start_with("c", &options, &[]).ok();
    assert!(!words("c").contains("Go."), "{:?}", words("c"));
    for name in ["a", "b", "c"] {
        assert!(matches!(&home.taken(name)[..], [taken] if taken.ends_with("Go.")), "{:?}", home.taken(name));
    }
}

#[test]
fn a_prompt_that_reads_like_a_command_is_none() {
    let preset = PRESET.replace("[input]\n", "[input]\nliteral = { \"/\" = \" \" }\n");
    let home = TestHome::with_stand_in();
    home.write_preset(&format!("{preset}[prompt]\nfirst = \"flag\"\nflag = \"--\"\n"));
    home.start_with("a", &["--prompt", "/etc is full", "--no-beacon", "--timeout", "60"], &[]).ok();
    assert_eq!(home.taken("a"), [" /etc is full"]);
    home.start_with("b", &["--prompt", "/etc is full", "--timeout", "60"], &[]).ok();
    let log = home.log("b");
    assert!(log.iter().all(|record| record["event"] != "bytes"), "behind other words it is none: {log:?}");
}

#[test]
fn a_context_that_is_too_long_to_be_typed_arrives_whole() {
    for (first, hooks) in [("", ""), ("[prompt]\nfirst = \"flag\"\nflag = \"--\"\n", ""), ("", HOOKS)] {
        let home = TestHome::with_stand_in_and(&format!("{first}{hooks}"));
        home.write_agent(&hooked(&home));
        let context = home.file("context.md");
        let long = format!("It begins.\n{}It ends.", "Many words about the parser.\n".repeat(20_000));
        fs::write(&context, &long).unwrap();
        let options = ["--timeout", "60", "--prompt", "Go.", "--context", context.to_str().unwrap()];
        home.start_with("a", &options, &[]).ok();
        let taken = home.taken("a");
        assert_eq!(taken.len(), 2, "{first}{hooks}: {taken:?}");
        assert!(taken[0].len() < 1_000 && taken[1].ends_with("Go."), "{taken:?}");
        let file = taken[0].strip_prefix("Read the file ").unwrap().split(" and do").next().unwrap();
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(&long) && text.contains("please acknowledge"), "{} bytes", text.len());
    }
}

#[test]
fn a_trust_dialog_is_left_to_a_person_and_told() {
    let home = TestHome::with_stand_in();
    let told = home
        .start_with("a", &["--prompt", "Go.", "--timeout", "60"], &["--trust-dialog"])
        .fails(5, &["a person is needed", "Is this a project you created", "❯ No, exit", "ostler attach a"]);
    assert!(told.contains("the session is blocked"), "{told}");
    assert_eq!((home.count("a", "answered"), home.count("a", "bytes")), (0, 0));
    // The person says yes, and the prompt is delivered.
    home.press("a", "\x1b[B");
    home.await_screen("a", "❯ Yes, I trust");
    home.press("a", "\r");
    home.await_log("a", "submitted", 1);
    assert!(home.taken("a")[0].ends_with("Go."));
}

#[test]
fn an_agent_that_may_work_alone_may_also_say_so_to_its_own_warning() {
    let warning = r#"
[rules.trust-folder]
state = "blocked"
kind = "trust"
when = { in = "dialog", row = 'Is this a project you created' }
answer = { accept = 'Yes, I trust this folder', decline = 'No, exit', selected = '^ ❯ ', grants = "unattended" }
"#;
    let home = TestHome::with_stand_in();
    home.write_preset_of("alone", &format!("run.command = \"stand-in-agent\"\n{warning}"));
    let start = |name: &str, more: &[&str]| {
        let log = home.log_file(name);
        let args = ["start", "alone", "--name", name, "--prompt", "Go.", "--timeout", "60"];
        let flags = ["--", "--trust-dialog", "--log", log.to_str().unwrap()];
        home.run([&args[..], more, &flags].concat())
    };
    // Trust in the folder is something else.
    start("a", &["--trust"]).fails(5, &["a person is needed"]);
    let done = start("b", &["--unattended"]);
    let answers = |name: &str| home.log(name).iter().filter(|record| record["event"] == "answered").count();
    assert_eq!((answers("a"), answers("b")), (0, 1), "{done:?}");
}

#[test]
fn a_trusted_folder_is_said_to_be_by_choosing_the_row() {
    let home = TestHome::with_stand_in();
    let options = ["--prompt", "Go.", "--trust", "--timeout", "60"];
    home.start_with("a", &options, &["--trust-dialog"]).ok();
    let answered = |name: &str| -> Vec<Value> {
        let log = home.log(name).into_iter().filter(|record| record["event"] == "answered");
        log.map(|record| record["choice"].clone()).collect()
    };
    assert_eq!(answered("a"), ["Yes, I trust this folder"]);
    assert!(home.taken("a")[0].ends_with("Go."));
    // It is remembered for the folder, and for no other.
    home.start_with("b", &["--prompt", "Go.", "--timeout", "60"], &["--trust-dialog"]).ok();
    assert_eq!(answered("b"), ["Yes, I trust this folder"]);
    let elsewhere = home.scratch().to_str().unwrap().to_owned();
    let options = ["--prompt", "Go.", "--timeout", "60", "--cwd", &elsewhere];
    home.start_with("c", &options, &["--trust-dialog"]).fails(5, &["a person is needed"]);
    assert_eq!(answered("c"), Vec::<Value>::new());
    let events = home.ok(["events", "a"]);
    assert!(events.contains("dialog.answering") && events.contains("dialog.answered"), "{events}");
}

#[test]
fn context_goes_before_the_prompt_also_when_it_has_to_be_typed_again() {
    let home = TestHome::with_stand_in();
    let context = home.file("context.md");
    fs::write(&context, "First this.").unwrap();
    let options = ["--timeout", "60", "--prompt", "Then that.", "--context", context.to_str().unwrap()];
    home.start_with("a", &options, &["--swallow-early", "3500"]).ok();
    let taken = home.taken("a");
    assert!(taken[0].contains("First this.") && taken[1].ends_with("Then that."), "{taken:?}");
    assert!(home.ok(["events", "a"]).contains("message.missed"), "the first try was lost");
}

#[test]
fn the_policy_of_the_moment_counts() {
    let home = TestHome::with_stand_in();
    home.write_settings("[policy]\ntrust = \"allow\"\n");
    home.start_with("a", &[], &["--trust-dialog"]).ok();
    home.write_settings("[policy]\ntrust = \"deny\"\n");
    home.start_with("b", &[], &["--trust-dialog"]).fails(1, &["b ended at once: exit status 1"]);
    let events = home.ok(["events", "b"]);
    assert!(!events.contains("allow"), "{events}");
    assert!(events.contains("dialog.answered") && events.contains("deny"), "{events}");
}

#[test]
fn the_policy_answers_where_it_says_so() {
    let home = TestHome::with_stand_in();
    home.write_settings("[policy]\ntrust = \"deny\"\ndialog = \"allow\"\n");
    home.start("a", &["--trust-dialog"]);
    let ended = home.wait("a", "exited");
    assert_eq!(ended["exit"]["status"], 1, "{ended}");
    let answered = |name: &str| -> Vec<Value> {
        let log = home.log(name).into_iter().filter(|record| record["event"] == "answered");
        log.map(|record| record["choice"].clone()).collect()
    };
    assert_eq!(answered("a"), ["No, exit"]);
    // Another dialog before the one that a person has to see to.
    home.write_settings("[policy.rules]\ntheme = \"allow\"\n");
    home.start_with("b", &["--prompt", "Go.", "--timeout", "60"], &["--theme-dialog", "--trust-dialog"])
        .fails(5, &["Is this a project you created"]);
    assert_eq!(answered("b"), ["Light mode"]);
}

#[test]
fn without_a_name_the_agent_and_the_name_are_chosen() {
    let home = TestHome::with_stand_in();
    home.write_settings("[agents]\ndefault = \"standin\"\n");
    let first: Value = serde_json::from_str(&home.run(["start", "--json"]).ok()).unwrap();
    assert_eq!(first["agent"], "standin");
    let name = first["name"].as_str().unwrap();
    let second = home.run(["start", "standin"]).ok();
    assert_ne!(second.trim(), name, "a running session keeps its name");
    home.wait(name, "idle");
    home.wait(second.trim(), "idle");
    home.run(["send", second.trim(), "hello", "--timeout", "60"]).ok();
}

#[test]
fn the_settings_say_whether_and_how_long_a_confirmation_is_waited_for() {
    let home = TestHome::with_stand_in();
    let context = home.file("context.md");
    fs::write(&context, "First this.").unwrap();
    let options = ["--prompt", "Then that.", "--no-wait", "--context", context.to_str().unwrap()];
    // Longer than anybody has: the prompt comes when the agent has confirmed its context.
    home.write_settings("[delivery]\nack_wait_seconds = 3600\n");
    home.start_with("a", &options, &[]).ok();
    home.await_log("a", "submitted", 1);
    home.wait("a", "idle");
    let waiting = || home.run(["messages", "list", "a", "--json"]).ok();
    until("the prompt waits", || waiting().contains("another message goes first").then_some(()));
    let id = home.taken("a")[0].split("[CONTEXT ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    assert_eq!(home.count("a", "submitted"), 1);
    home.run(["ack", &id]).ok();
    home.await_log("a", "submitted", 2);
    // Not at all.
    home.write_settings("[delivery]\nack_wait_seconds = 0\n");
    home.start_with("b", &options, &[]).ok();
    home.await_log("b", "submitted", 2);
    // And nobody need be asked.
    home.write_settings("[delivery]\nack = false\nack_wait_seconds = 3600\n");
    home.start_with("c", &options, &[]).ok();
    home.await_log("c", "submitted", 2);
    assert!(!home.taken("c").concat().contains("acknowledge"), "{:?}", home.taken("c"));
}

#[test]
fn what_is_recalled_does_not_repeat_the_prompt() {
    let home = TestHome::with_stand_in();
    fs::write(home.project().join("parser.rs"), "fn parse_numbers() {}\n").unwrap();
    home.run(["context", "save", "The parser was rewritten."]).ok();
    let prompt = "Mend parse_numbers for hexadecimal ones.";
    home.start_with("a", &["--timeout", "60", "--recall", "--prompt", prompt], &[]).ok();
    let taken = home.taken("a").join("\n");
    assert!(taken.contains("The parser was rewritten.") && taken.contains("parser.rs"), "{taken}");
    assert_eq!(taken.matches(prompt).count(), 1, "{taken}");
}

/// An agent that runs its session-start hook, and again when the file `again` is there.
fn forgetful(home: &TestHome) -> String {
    let hook = format!("{} hook SessionStart --agent standin --context --per-session", ostler().display());
    let (out, again) =
        (home.file("hook.out").display().to_string(), home.file("again").display().to_string());
    format!(
        "shift; {hook} < /dev/null >> {out}\n\
         (while ! [ -e {again} ]; do sleep 0.05; done; \
         echo '{{\"source\":\"clear\"}}' | {hook} >> {out}; echo . >> {out}) &\nexec {} stand-in \"$@\"\n",
        ostler().display()
    )
}

#[test]
fn a_context_alone_is_seen_when_the_hook_took_it_and_given_again_when_the_agent_forgets_it() {
    let anew = HOOKS.replace("\"{text}\" }", "\"{text}\", anew = { \"/source\" = [\"clear\"] } }");
    let home = TestHome::with_stand_in_and(&anew);
    home.write_agent(&forgetful(&home));
    let context = home.file("context.md");
    fs::write(&context, "The parser was rewritten yesterday.\n").unwrap();
    let options = ["--json", "--timeout", "30", "--context", context.to_str().unwrap()];
    let started: Value = serde_json::from_str(&home.start_with("a", &options, &[]).ok()).unwrap();
    let message = &started["startup"][0];
    // No turn has it yet.
    assert_eq!((&message["proof"], &message["way"]), (&"seen".into(), &"hook".into()), "{message}");
    let printed = || fs::read_to_string(home.file("hook.out")).unwrap_or_default();
    let once = printed();
    assert!(once.contains("[OSTLER] a <- tester • ") && once.contains("please acknowledge"), "{once}");
    assert_eq!(home.count("a", "submitted"), 0);
    home.deliver("a", "Go on.", &[]);
    let id = message["id"].as_str().unwrap();
    assert_eq!(home.message("a", id)["proof"], "submitted");
    // Another daemon has it from the record.
    home.kill_daemon();
    home.daemon_pid();
    fs::write(home.file("again"), "").unwrap();
    until_file(&home.file("hook.out"), "it was given again", || {
        (printed().matches("The parser was rewritten yesterday.").count() == 2).then_some(())
    });
    assert!(home.ok(["events", "a"]).contains("context.given_again"));
}

#[test]
fn an_assignment_is_in_the_instructions_file_before_the_agent_is_started() {
    let home = TestHome::with_stand_in();
    home.write_preset(&format!("instructions = \"AGENTS.md\"\n{PRESET}"));
    home.write_settings("[delivery]\nassignment_file = true\n");
    let (file, found) = (home.project().join("AGENTS.md"), home.file("found"));
    home.write_agent(&format!(
        "cp AGENTS.md {}\nexec {} stand-in \"$@\"\n",
        found.display(),
        ostler().display()
    ));
    fs::write(&file, "mine\n").unwrap();
    let context = home.file("context.md");
    fs::write(&context, "The parser was rewritten.").unwrap();
    let options = ["--prompt", "Fix the tests.", "--timeout", "60", "--context", context.to_str().unwrap()];
    home.start_with("a", &options, &[]).ok();
    let read = fs::read_to_string(&found).unwrap();
    assert!(read.starts_with("mine\n"), "{read}");
    let typed = home.taken("a").concat();
    for content in ["The parser was rewritten.", "Fix the tests."] {
        assert_eq!((read.matches(content).count(), typed.matches(content).count()), (1, 0), "{read} {typed}");
    }
    assert!(typed.starts_with("[OSTLER] a <- tester") && typed.contains("is in AGENTS.md"), "{typed}");
    // Other messages leave it there; it goes with the session.
    home.deliver("a", "And hurry.", &[]);
    assert!(fs::read_to_string(&file).unwrap().contains("Fix the tests."));
    home.run(["stop", "a", "--grace", "0"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    // A file that cannot be changed is no obstacle.
    let elsewhere = home.file("elsewhere.md");
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    home.start_with("b", &options, &[]).ok();
    assert_eq!(home.taken("b").concat().matches("Fix the tests.").count(), 1);
}
