//! Agents of which little is known: output, processes, the judge.

use super::*;

#[test]
fn an_unknown_agent_that_came_to_rest_needs_less_silence() {
    let turn = "5100 enter -> working
         5200 out
         5230 read ~working ~idle -> working
         9000 out
         9030 read ~idle -> working";
    play(STRANGE, &format!("{AT_REST} {turn}\n 10229 -> working\n 10230 -> idle"));
    // A prompt that was there all the time tells nothing.
    let turn = "5100 enter -> working
         5600 out
         7000 out
         8000 out
         9000 out";
    play(STRANGE, &format!("{AT_REST} {turn}\n 10999 -> working\n 11000 -> idle"));
}

#[test]
fn an_unknown_agent_that_has_not_answered_enter_is_waited_for() {
    play(STRANGE, &format!("{AT_REST} 5100 enter -> working\n 15099 -> working\n 15100 -> idle"));
    // It echoed it.
    play(STRANGE, &format!("{AT_REST} 5100 enter -> working\n 5110 out\n 7899 -> working\n 7900 -> idle"));
}

#[test]
fn an_unknown_agent_whose_screen_ends_with_an_error_is_not_idle() {
    play(
        STRANGE,
        &format!(
            "{AT_REST} 5100 enter -> working
             5200 out
             5230 read ~working ~idle
             6000 out
             6030 read ~idle ~limited/rate_limit#3 -> working
             9000 -> limited/rate_limit
             9010 out -> limited/rate_limit
             9100 enter -> working
             9200 out
             9230 read ~working ~idle ~limited/rate_limit#3 -> working
             10000 out
             10030 read ~idle ~limited/rate_limit#3 -> working
             15000 -> idle"
        ),
    );
    // Where nothing says that it waits for a person, it may go on.
    play(STRANGE, "0 out\n 30 read ~error#3\n 90000 -> unknown/unrecognised");
}

#[test]
fn signs_are_added_up() {
    // Silence 0.3, stable 0.2, ending 0.2, agreement 0.1.
    let stage = play(STRANGE, "0 out\n 30 read ~idle -> starting\n 1999 -> starting\n 2030 -> idle");
    assert!((stage.detector.verdict().confidence - 0.8).abs() < 0.001);
    assert_eq!(stage.detector.verdict().because.len(), 3);
    assert_eq!(stage.detector.deadline(), None);
    let settings = Settings { weights: Weights { threshold: 0.85, ..WEIGHTS }, ..settings() };
    let stage = play_with(settings, STRANGE, "0 out\n 30 read ~idle\n 90000 -> unknown/unrecognised");
    assert_eq!(stage.samples, 1);
    // A read of the terminal is worth more than all else.
    let stage = play(STRANGE, "0 out\n 2500 sample reads -> idle");
    assert!((stage.detector.verdict().confidence - 0.95).abs() < 0.001);
    // Processes at work are.
    play(STRANGE, "0 out\n 30 read ~idle\n 1900 sample cpu\n 2100 -> working");
    play(STRANGE, "0 out\n 30 read ~idle\n 1900 sample cpu\n 2100 -> working");
    // An agent that is known is not ready because of them.
    play(
        KNOWN,
        "0 out\n 2500 sample cpu -> starting\n 3000 out\n 3030 read idle\n 4229 -> starting\n 4230 -> idle",
    );
    // A look that is older than the last output says nothing.
    play(STRANGE, "0 out\n 10 sample reads\n 20 out\n 9000 -> starting");
}

#[test]
fn a_prompt_in_front_of_processes_at_work_is_not_idle() {
    let prompt = "0 out\n 30 read ~idle";
    for (seen, state) in [
        ("cpu", "working"),
        ("reads cpu", "working"),
        ("network", "working"),
        // What was there before the prompt belongs to the program, and who sleeps before it is asked anything starts.
        ("9000", "idle"),
        ("deaf", "starting"),
        ("deaf 9000", "starting"),
        ("hidden", "idle"),
        ("", "idle"),
    ] {
        play(STRANGE, &format!("{prompt}\n 560 sample {seen} -> {}\n 2500 -> {state}", "starting"));
    }
    // A program that does nothing but read needs no patience.
    play(STRANGE, &format!("{prompt}\n 560 sample reads alone -> idle"));
    play(STRANGE, &format!("{prompt}\n 560 sample reads -> starting\n 2029 -> starting\n 2030 -> idle"));
    let turn = format!("{AT_REST} 5100 enter -> working\n 5600 out\n 7200 sample");
    for (seen, state) in [("deaf", "working"), ("2000", "working"), ("9000", "idle"), ("reads alone", "idle")]
    {
        play(STRANGE, &format!("{turn} {seen}\n 8000 -> {state}"));
    }
    // What was left behind asleep holds up nothing for ever.
    play(STRANGE, &format!("{turn} 2000 -> working\n 125599 -> working\n 125600 -> idle"));
}

#[test]
fn idle_waits_for_a_look_at_the_processes_and_not_for_ever() {
    let mut stage = play(STRANGE, "0 out\n 30 read ~idle\n 399 tick");
    assert_eq!((stage.samples, stage.detector.deadline()), (0, Some(BEGIN.plus(Duration::from_millis(400)))));
    stage.run_until(BEGIN.plus(Duration::from_millis(400)));
    assert_eq!(stage.samples, 1);
    let slow = Settings { look_wait_ms: 3_000, ..settings() };
    play_with(slow, STRANGE, "0 out\n 30 read ~idle\n 3399 -> starting\n 3400 -> idle");
    play_with(slow, STRANGE, "0 out\n 30 read ~idle\n 3000 sample cpu -> working");
}

#[test]
fn a_sleeping_child_does_not_keep_a_start_from_coming_to_nothing() {
    play(STRANGE, "0 out\n 560 sample 300 -> starting\n 29999 -> starting\n 30000 -> unknown/unrecognised");
    play(KNOWN, "0 out\n 2500 sample 300 -> starting\n 30000 -> unknown/unrecognised");
    // Its end may come without a word: it is looked at again.
    let stage = play(STRANGE, "0 out\n 560 sample 300 -> starting\n 2600 sample reads alone -> idle");
    assert_eq!(stage.samples, 2);
}

#[test]
fn a_program_that_never_wrote_is_looked_at_too() {
    let stage = play(STRANGE, "0 tick\n 2500 -> starting");
    assert_eq!(stage.samples, 1);
    play(STRANGE, "0 tick\n 2500 sample reads -> idle");
}

#[test]
fn output_that_flows_is_work_and_pauses_are_not_idle() {
    let flow = "100 out\n 300 out\n 500 out\n 700 out";
    play(STRANGE, &format!("{flow} -> working\n 1899 -> working\n 1900 -> working\n 60000 -> unknown"));
    // An agent with rules draws much before it is ready.
    play(KNOWN, &format!("{flow} -> starting"));
}

#[test]
fn the_echo_of_what_was_typed_is_no_activity() {
    let stage = play(STRANGE, "0 out\n 1000 type\n 1100 out\n 1399 out\n 1500 tick");
    assert_eq!(stage.detector.last_output(), Some(BEGIN));
    let stage = play(STRANGE, "0 out\n 1000 type\n 1400 out\n 1500 tick");
    assert_eq!(stage.detector.last_output(), Some(BEGIN.plus(Duration::from_millis(1400))));
    play(
        KNOWN,
        "0 read working
         5000 read idle
         5100 type
         5200 out
         5349 -> working
         5350 -> idle",
    );
}

#[test]
fn a_judge_is_asked_last_and_heard_until_something_is_written() {
    play(
        STRANGE,
        "0 out\n 40000 -> unknown/unrecognised\n 40001 judge idle -> idle\n 50000 out\n 60000 -> unknown",
    );
    play(STRANGE, "0 out\n 40000 judge working -> working");
    play(STRANGE, "0 out\n 40000 judge blocked -> blocked/dialog");
    play(KNOWN, "0 read blocked\n 40000 judge idle -> blocked/dialog");
    play(KNOWN, "0 read working\n 40000 judge idle -> working");
    play(
        KNOWN,
        "0 claim working\n 40000 judge idle -> working\n 40001 claim idle\n 40002 judge working -> idle",
    );
    play(
        KNOWN,
        "0 hook prompt\n 40000 judge idle -> working\n 40001 hook stop\n 40002 judge blocked -> idle",
    );
    let stage = play(STRANGE, "0 out\n 40000 judge idle -> idle");
    assert_eq!(stage.detector.verdict().because[0], "judge: idle");
}

#[test]
fn a_judge_does_not_call_working_processes_idle() {
    let stage = play(
        STRANGE,
        "0 out
         2500 sample cpu -> working
         40000 judge idle -> working
         50000 sample -> idle",
    );
    assert_eq!(stage.detector.verdict().because[0], "judge: idle");
    play(STRANGE, "0 out\n 2500 sample cpu -> working\n 40000 judge blocked -> blocked/dialog");
}

#[test]
fn processes_at_work_are_looked_at_again_less_and_less_often() {
    let mut stage = play(STRANGE, "0 out\n 2500 sample cpu -> working");
    assert_eq!(stage.samples, 1);
    let mut looks = Vec::new();
    while looks.len() < 6 {
        let due = stage.detector.deadline().unwrap();
        let before = stage.samples;
        stage.handle(Event::Tick, due);
        if stage.samples > before {
            looks.push(due.0 - BEGIN.0);
            assert_eq!(stage.detector.deadline(), None, "one look at a time");
            let reported = due.plus(Duration::from_millis(50));
            stage.handle(Stage::event("sample cpu", reported), reported);
        }
    }
    assert_eq!(looks, [4_500, 8_550, 16_600, 26_650, 36_700, 46_750]);
    // The child is gone: so is the reason to look.
    let due = stage.detector.deadline().unwrap();
    stage.handle(Event::Tick, due);
    stage.handle(Stage::event("sample", due), due);
    assert_eq!(stage.detector.verdict().state, State::Unknown);
    assert_eq!(stage.detector.deadline(), None);
}

#[test]
fn a_question_over_the_network_is_work_unless_the_terminal_is_read() {
    let stage = play(STRANGE, "0 out\n 2500 sample network -> working");
    assert_eq!(stage.detector.verdict().because, ["it waits for an answer from the network"]);
    assert!(stage.detector.deadline().is_some(), "it is looked at again");
    let mut stage = play(STRANGE, "0 out\n 2400 tick");
    let both = ProcessSample { reads_terminal: true, awaits_answer: true, ..ProcessSample::default() };
    stage.handle(Event::Sampled(Some(both)), BEGIN.plus(Duration::from_millis(2_500)));
    assert_eq!(stage.detector.verdict().state, State::Idle);
    // It supports, and no more.
    play(KNOWN, "0 read idle\n 2500 sample network -> idle");
    play(KNOWN, "0 claim done\n 2500 sample network -> idle");
}

#[test]
fn looks_begin_anew_with_every_silence_and_end_with_better_evidence() {
    let stage = play(
        STRANGE,
        "0 out
         2500 sample cpu -> working
         4600 sample cpu
         10000 out
         12100 sample cpu -> working
         14099 tick",
    );
    assert_eq!(
        (stage.samples, stage.detector.deadline()),
        (4, Some(BEGIN.plus(Duration::from_millis(14_100))))
    );
    let stage =
        play(STRANGE, "0 out\n 2500 sample cpu -> working\n 3000 claim idle -> idle\n 99999 tick -> idle");
    assert_eq!((stage.samples, stage.detector.deadline()), (1, None));
    // An agent that waits for its terminal is not looked at again.
    let stage = play(STRANGE, "0 out\n 2500 sample reads -> idle\n 99999 tick -> idle");
    assert_eq!((stage.samples, stage.detector.deadline()), (1, None));
}

#[test]
fn it_is_puzzled_while_nothing_better_than_processes_or_a_judge_tells() {
    let table = [
        (STRANGE, "0 out\n 1000 tick", false),
        (STRANGE, "0 out\n 2500 tick", true),
        (STRANGE, "0 out\n 40000 tick", true),
        (STRANGE, "0 out\n 2500 sample cpu", true),
        (STRANGE, "0 out\n 2500 sample reads", false),
        (STRANGE, "0 out\n 40000 judge idle", true),
        (STRANGE, "0 out\n 40000 judge idle\n 40001 out", false),
        (STRANGE, "0 out\n 40000 claim working", false),
        (STRANGE, "0 out\n 40000 hook stop", false),
        (STRANGE, "0 out\n 40000 transcript stop", false),
        (KNOWN, "0 read idle\n 40000 tick", false),
        (KNOWN, "0 read blocked\n 40000 tick", false),
        // What is on the screen is not what the program wrote.
        (STRANGE, "0 out\n 40000 lost\n 60000 tick", false),
    ];
    for (expected, script, puzzled) in table {
        assert_eq!(play(expected, script).detector.is_puzzled(), puzzled, "{script}");
    }
}

#[test]
fn what_nothing_speaks_for_is_unknown_and_never_idle() {
    let stage = play(
        KNOWN,
        "0 out
         29999 -> starting
         30000 -> unknown/unrecognised
         999999 -> unknown/unrecognised",
    );
    assert_eq!(stage.detector.deadline(), None);
    play(KNOWN, "0 read idle\n 2000 -> idle\n 3000 out\n 3030 read -> idle\n 10000 -> unknown");
}
