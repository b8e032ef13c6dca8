//! What people read: the commands that they look at most, to the letter.
//!
//! Where a text was changed on purpose, `cargo insta test --review -p ostler --test cli -- output` takes the new one over.

#![allow(clippy::too_many_lines, reason = "most of them are what is printed")]

use std::fs;

use insta::assert_snapshot;

use crate::support::TestHome;

#[test]
fn an_agent_is_started_sent_to_and_looked_at() {
    let home = TestHome::with_stand_in();
    assert_snapshot!(home.session_of(&[&["list"], &["messages", "list"], &["providers"]]), @r"
    $ ostler list
    no sessions; `ostler start PROGRAM` begins one
    $ ostler messages list
    there are no messages under way or given up
    $ ostler providers
    no run has had trouble with a provider
    store: its own database: every acknowledged write survives a kill -9; a power cut may take the last few.
    ");
    let started = home.start_with("a", &["--timeout", "60"], &["--word-pace", "1"]);
    assert_snapshot!(home.transcript(&["start", "standin", "--name", "a"], &started), @r"
    $ ostler start standin --name a
    a
    ");
    let send = ["send", "a", "please look around", "--id", "m1", "--from", "boss", "--timeout", "60"];
    assert_snapshot!(home.session_of(&[&send]), @r"
    $ ostler send a 'please look around' --id m1 --from boss --timeout 60
    m1 submitted ([proof])
    ");
    home.await_log("a", "done", 1);
    home.wait("a", "idle");
    assert_snapshot!(home.session_of(&[&["list"], &["messages", "list", "a", "--all"]]), @r"
    $ ostler list
    NAME  STATE  SINCE  PID  COMMAND
    a  idle  [for]  [pid]  standin --log [test]/a.log --word-pace 1
    $ ostler messages list a --all
    m1  a  delivered  submitted  18 B  [proof]
    ");
    assert_snapshot!(home.session_of(&[&["status", "a"]]), @r"
    $ ostler status a
    name  a
    state  idle for [for]
    because  screen: rule composer
    command  standin --log [test]/a.log --word-pace 1
    directory  [test]/project
    terminal  120x40, [n] bytes of output
    title  ✳ Stand-in
    process [pid], held by [pid]
    input  raw, read by group [pid]
    prompts  1 of 1 taken, 1 at the first try (100 % arrived, 100 % at once)
    id  [id]
    files  [test]/home/sessions/[id]
    ");
    assert_snapshot!(home.session_of(&[&["explain", "a"]]), @r"
    $ ostler explain a
    a: idle, [n] sure, for [for]
      because  screen: rule composer

    signals
      program status  -
      hooks  -
      transcript  -
      title  ✳ Stand-in
      composer  there, empty
      output  something was written  ([for] ago)
      processes  [seen]
      terminal  cursor shown, bracketed paste on, main screen
      judge  -

    rules that hold on the screen
      composer  idle

    rules from [test]/home/config/agents/standin.toml
    ");
    assert_snapshot!(home.session_of(&[&["metrics"]]), @r#"
    $ ostler metrics
    # HELP ostler_messages_sent_total Prompts that were sent.
    # TYPE ostler_messages_sent_total counter
    ostler_messages_sent_total 1
    # HELP ostler_injections_attempted_total Prompts that were typed, or given to their agent another way.
    # TYPE ostler_injections_attempted_total counter
    ostler_injections_attempted_total 1
    # HELP ostler_injections_succeeded_total Prompts that are proven to be taken.
    # TYPE ostler_injections_succeeded_total counter
    ostler_injections_succeeded_total 1
    # HELP ostler_injections_first_try_total Prompts that were taken at the first try.
    # TYPE ostler_injections_first_try_total counter
    ostler_injections_first_try_total 1
    # HELP ostler_injections_after_retry_total Prompts that were taken after more than one try.
    # TYPE ostler_injections_after_retry_total counter
    ostler_injections_after_retry_total 0
    # HELP ostler_injections_acknowledged_total Prompts that their agent confirmed.
    # TYPE ostler_injections_acknowledged_total counter
    ostler_injections_acknowledged_total 0
    # HELP ostler_injections_acknowledgement_wanted_total Prompts whose agent was asked to confirm.
    # TYPE ostler_injections_acknowledgement_wanted_total counter
    ostler_injections_acknowledgement_wanted_total 0
    # HELP ostler_injections_escalated_total Prompts that took another way.
    # TYPE ostler_injections_escalated_total counter
    ostler_injections_escalated_total 0
    # HELP ostler_injections_escalated_to_file_total Prompts that were put into the instructions file.
    # TYPE ostler_injections_escalated_to_file_total counter
    ostler_injections_escalated_to_file_total 0
    # HELP ostler_contexts_total Texts that an agent has to know.
    # TYPE ostler_contexts_total counter
    ostler_contexts_total 0
    # HELP ostler_contexts_visible_total Texts that an agent has to know and took, or found in its instructions file.
    # TYPE ostler_contexts_visible_total counter
    ostler_contexts_visible_total 0
    # HELP ostler_injections_failed_total Prompts that were given up; some may be tried again.
    # TYPE ostler_injections_failed_total counter
    ostler_injections_failed_total 0
    # HELP ostler_injections_uncertain_total Prompts of which it could not be told when they were given up.
    # TYPE ostler_injections_uncertain_total counter
    ostler_injections_uncertain_total 0
    # HELP ostler_messages_waiting Prompts that wait.
    # TYPE ostler_messages_waiting gauge
    ostler_messages_waiting 0
    # HELP ostler_injection_attempts_mean Times a prompt was given until it was taken.
    # TYPE ostler_injection_attempts_mean gauge
    ostler_injection_attempts_mean [n]
    # HELP ostler_injection_seconds_mean Time from sending to being taken.
    # TYPE ostler_injection_seconds_mean gauge
    ostler_injection_seconds_mean [n]
    # HELP ostler_injection_first_try_ratio Prompts taken at the first try, of those that came to an end.
    # TYPE ostler_injection_first_try_ratio gauge
    ostler_injection_first_try_ratio 1.0000
    # HELP ostler_injection_success_ratio Prompts that were taken, of those that came to an end.
    # TYPE ostler_injection_success_ratio gauge
    ostler_injection_success_ratio 1.0000
    # HELP ostler_sessions Running sessions by state.
    # TYPE ostler_sessions gauge
    ostler_sessions{state="idle"} 1
    # HELP ostler_context_injection_count Prompts of runs with context before them, by its kind.
    # TYPE ostler_context_injection_count counter
    ostler_context_injection_count{type="helper"} 0
    ostler_context_injection_count{type="provider_switch"} 0
    ostler_context_injection_count{type="retry"} 0
    # HELP context_injection_count Prompts of runs with context before them, by its kind.
    # TYPE context_injection_count counter
    context_injection_count{type="circuit_breaker"} 0
    context_injection_count{type="helper"} 0
    context_injection_count{type="retry"} 0
    # HELP ostler_runs_ended_total Ended runs by outcome.
    # TYPE ostler_runs_ended_total counter
    "#);
}

#[test]
fn an_agent_at_work_lets_messages_wait() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!work 10m", &[]);
    home.wait("a", "working");
    home.send("a", "later", &["--id", "m1", "--wait", "queued"]).ok();
    assert_snapshot!(home.session_of(&[
        &["send", "a", "now?", "--id", "m2", "--timeout", "0.5"],
        &["messages", "list", "a"],
        &["messages", "retry", "m1"],
        &["messages", "drop", "m1"],
        &["messages", "list", "a"],
    ]), @r#"
    $ ostler send a now? --id m2 --timeout 0.5
    m2 queued
    ostler: the message is queued, not yet submitted: the agent is working
    the session is working; its screen ends with:
      | ✻ Stand-in v0.1.0
      |  a scripted agent for tests and demos
      | > !work 10m
      | * Working… ([for] · esc to interrupt)
      | ╭──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────╮
      | │ > Type a message, or /exit to leave  │
      | ╰──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────╯
      |  esc to interrupt
    hint: it stays queued and is delivered when it can be; ask again with --id m2, or: ostler messages drop m2
    (status 4)
    $ ostler messages list a
    m1  a  queued  queued  5 B  the agent is working
    m2  a  queued  queued  4 B  the agent is working
    $ ostler messages retry m1
    ostler: message "m1" is queued
    hint: only a message that was given up can be tried again
    (status 1)
    $ ostler messages drop m1
    m1  a  failed  queued  5 B  it was dropped on request
    $ ostler messages list a
    m2  a  queued  queued  4 B  the agent is working
    "#);
    home.ok(["stop", "a", "--grace", "0"]);
    assert_snapshot!(home.session_of(&[&["list"], &["list", "--all"], &["send", "a", "hello"]]), @r#"
    $ ostler list
    no sessions; `ostler start PROGRAM` begins one
    $ ostler list --all
    NAME  STATE  SINCE  PID  COMMAND
    a  exited  [for]  -  standin --log [test]/a.log (killed)
    $ ostler send a hello
    ostler: session "a" has ended
    hint: `ostler status a` says how; `ostler resume a` runs it again
    (status 1)
    "#);
}

#[test]
fn a_dialog_is_shown_to_whoever_has_to_answer_it() {
    let home = TestHome::with_stand_in();
    home.start("a", &[]);
    home.deliver("a", "!permission rm -r build", &[]);
    home.wait("a", "blocked");
    assert_snapshot!(home.session_of(&[&["send", "a", "yes", "--id", "m1", "--timeout", "0.5"]]), @r"
    $ ostler send a yes --id m1 --timeout 0.5
    m1 queued
    ostler: the message is queued, not yet submitted: the agent waits for a person; whatever is typed now would be an answer
    the session is blocked; its screen ends with:
      | ✻ Stand-in v0.1.0
      |  a scripted agent for tests and demos
      | > !permission rm -r build
      | ● Shell(rm -r build)
      | ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
      |  Shell command
      |  rm -r build
      |  Do you want to proceed?
      |  ❯ 1. Yes
      |  2. Yes, and always allow this command
      |  3. No
      |  Esc to cancel
    hint: it stays queued and is delivered when it can be; ask again with --id m1, or: ostler messages drop m1
    (status 5)
    ");
}

#[test]
fn what_happened_is_told_in_its_order() {
    let home = TestHome::new();
    home.start_sh("a", "read x");
    home.ok(["send", "a", "--raw", "secret", "--id", "m"]);
    home.ok(["stop", "a", "--grace", "0"]);
    let events = home.ok(["events", "a"]);
    assert!(!events.contains("secret"), "a message's text is not in the events: {events}");
    let kind = |line: &str| line.split_whitespace().skip(1).take(2).collect::<Vec<_>>().join("  ");
    let kinds: Vec<String> = events.lines().map(kind).collect();
    assert_snapshot!(kinds.join("\n"), @r"
    a  session.created
    a  session.started
    a  message.queued
    a  message.written
    a  session.stop_requested
    a  session.stopped
    a  session.ended
    ");
}

#[test]
fn what_cannot_be_done_comes_with_a_hint() {
    let home = TestHome::new();
    home.start_sh("a", "read x; exit 3");
    let plain = home.file("plain");
    fs::write(&plain, "text").unwrap();
    assert_snapshot!(home.session_of(&[
        &["status", "nobody"],
        &["start", "sh", "--name", "a"],
        &["start", "sh", "--name", "no/slash"],
        &["start", "no-such-program"],
        &["start", plain.to_str().unwrap()],
        &["start", "sh", "--cwd", "/no/such/place"],
        &["start", "sh", "--as", "nobody"],
        &["start", "sh", "--size", "0x0"],
        &["start", "sh", "--env", "FOO"],
        &["send", "a", ""],
        &["send", "a", "x", "--id", "two words"],
        &["send", "a", "x", "--raw", "--wait", "seen"],
        &["wait", "a", "sleeping"],
        &["wait", "a", "exited", "--timeout", "0.2"],
        &["attach", "a"],
        &["messages", "drop", "m9"],
        &["runs", "show", "nothing"],
        &["run", "  "],
        &["run", "x", "--agent", "nobody"],
        &["resume", "a"],
        &["hooks", "install", "nobody"],
        &["nonsense"],
    ]), @r#"
    $ ostler status nobody
    ostler: there is no session called "nobody"
    hint: ostler list --all shows the sessions there are
    (status 1)
    $ ostler start sh --name a
    ostler: a running session is called "a" already
    hint: choose another --name, or end it: ostler stop a
    (status 1)
    $ ostler start sh --name no/slash
    error: invalid value 'no/slash' for '--name <NAME>': "no/slash" cannot be a session name: use 1 to 64 letters, digits, '.', '_' or '-', starting with a letter or digit

    For more information, try '--help'.
    (status 2)
    $ ostler start no-such-program
    ostler: no program called "no-such-program" is on the PATH
    hint: check the name, or give the program's full path; ostler agents list shows agents
    (status 1)
    $ ostler start [test]/plain
    ostler: [test]/plain is not an executable file
    hint: check the name, or give the program's full path; ostler agents list shows agents
    (status 1)
    $ ostler start sh --cwd /no/such/place
    ostler: there is no directory /no/such/place
    hint: give another one with --cwd
    (status 2)
    $ ostler start sh --as nobody
    ostler: no agent is called "nobody"
    hint: ostler agents list shows those that are known
    (status 2)
    $ ostler start sh --size 0x0
    error: invalid value '0x0' for '--size <COLSxROWS>': "0x0" is not a terminal size: write COLUMNSxROWS such as 120x40, with 2 to 1000 columns and 1 to 500 rows

    For more information, try '--help'.
    (status 2)
    $ ostler start sh --env FOO
    error: invalid value 'FOO' for '--env <NAME=VALUE>': write it as NAME=VALUE

    For more information, try '--help'.
    (status 2)
    $ ostler send a ''
    ostler: there is nothing to send
    (status 2)
    $ ostler send a x --id 'two words'
    ostler: "two words" cannot be the id of a message
    hint: use 1 to 128 characters without blanks and control characters
    (status 2)
    $ ostler send a x --raw --wait seen
    ostler: of raw bytes no more can be proven than that they are written
    hint: leave --raw away, or --wait
    (status 2)
    $ ostler wait a sleeping
    error: invalid value 'sleeping' for '<STATES>...': no state is called "sleeping"; the states are starting, idle, working, watching, blocked, limited, error, exited, unknown

    For more information, try '--help'.
    (status 2)
    $ ostler wait a exited --timeout 0.2
    ostler: session "a" was not exited in time
    hint: `ostler status a` tells what it is
    (status 4)
    $ ostler attach a
    ostler: attach needs a terminal
    hint: `ostler screen` and `ostler logs -f` work without one
    (status 2)
    $ ostler messages drop m9
    ostler: there is no message "m9"
    hint: ostler messages list --all shows them
    (status 1)
    $ ostler runs show nothing
    ostler: there is no run "nothing", or several begin so
    hint: ostler runs list --all shows them
    (status 1)
    $ ostler run '  '
    ostler: there is nothing to do
    hint: say what is to be done, or name a file with --task
    (status 2)
    $ ostler run x --agent nobody
    ostler: no agent is called "nobody"
    hint: `ostler agents list` shows those that are known; a preset adds one
    (status 2)
    $ ostler resume a
    ostler: session "a" runs
    hint: `ostler attach a` shows it
    (status 1)
    $ ostler hooks install nobody
    ostler: no agent is called "nobody"
    hint: `ostler agents list` names those that are known
    (status 2)
    $ ostler nonsense
    error: unrecognized subcommand 'nonsense'

    Usage: ostler <COMMAND>

    For more information, try '--help'.
    (status 2)
    "#);
    home.ok(["send", "a", "--raw", "\n"]);
    home.ok(["wait", "a", "exited"]);
    assert_snapshot!(home.session_of(&[&["wait", "a", "idle"], &["send", "a", "--raw", "x"]]), @r#"
    $ ostler wait a idle
    exited
    ostler: session "a" has ended (exit status 3) and will not be idle
    (status 1)
    $ ostler send a --raw x
    ostler: session "a" has ended
    hint: `ostler status a` says how; `ostler resume a` runs it again
    (status 1)
    "#);
}

#[test]
fn a_doctor_finds_what_there_is() {
    let home = TestHome::new();
    home.project();
    assert_snapshot!(home.session_of(&[&["doctor"], &["daemon", "status"]]), @r"
    $ ostler doctor
    ok  home  [test]/home can be written
    ok  disk  [n] MiB free
    ok  holder  [ostler]-hold
    ok  kernel  Linux [n]
    ok  settings  every file can be used
    ok  database  not there yet; the first command that needs it makes it
    ok  daemon  not running; the first command that needs it starts it
    $ ostler daemon status
    ostler: no daemon runs for [test]/home
    hint: any command that needs it starts it, and so does `ostler daemon start`
    (status 3)
    ");
    home.daemon_pid();
    home.write_settings("[policy]\ntrust = \"alow\"\n");
    assert_snapshot!(home.session_of(&[&["daemon", "status"], &["doctor"], &["daemon", "stop"], &["daemon", "stop"]]), @r"
    $ ostler daemon status
    daemon [pid] (version 0.1.0) runs for [for] in [test]/home, 0 sessions, runs are kept at local
    $ ostler doctor
    ok  home  [test]/home can be written
    ok  disk  [n] MiB free
    ok  holder  [ostler]-hold
    ok  kernel  Linux [n]
    FAIL  settings  [test]/home/config/config.toml:2: policy.trust: unknown variant `alow`, expected one of `ask`, `allow`, `deny`
                    correct it: until then nothing in that file counts; ostler agents check looks again
    ok  database  0 sessions, 0 messages
    ok  daemon  process [pid], version 0.1.0, 0 sessions
    ok  sessions  0 run
    (status 1)
    $ ostler daemon stop
    daemon ended; sessions go on
    $ ostler daemon stop
    no daemon runs
    ");
}
