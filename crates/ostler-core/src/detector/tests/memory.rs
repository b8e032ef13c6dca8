//! What was known before, and what is lost.

use super::*;

#[test]
fn the_next_daemon_takes_over_what_was_known() {
    for (script, state) in [
        ("100 claim idle -> idle", "idle"),
        ("100 claim working -> working", "working"),
        ("100 hook prompt -> working", "working"),
        ("100 hook prompt\n 200 hook asked -> blocked/permission", "blocked/permission"),
        ("100 hook prompt\n 200 hook quota -> limited/quota", "limited/quota"),
        ("100 hook prompt\n 200 hook stop-watching -> watching", "watching"),
        ("0 read working -> working", "working"),
    ] {
        play(SPEAKS, &format!("{script}\n 1000 restart -> {state}\n 1010 tick -> {state}"));
    }
    // A dialog on the screen is there again, or was answered; it is not idle.
    let stage = play(
        KNOWN,
        "100 read blocked/plan -> blocked/plan
         1000 restart
         1010 out -> blocked/plan
         1040 read blocked/plan -> blocked/plan
         5000 lost
         5010 out -> blocked/plan
         5040 read blocked/plan -> blocked/plan
         6000 restart
         6010 out
         6040 read -> starting",
    );
    assert_eq!(stage.announced.len(), 2);
    let stage = play(
        KNOWN,
        "0 read idle
         2000 read working -> working
         3000 restart
         3001 out
         3031 read idle -> working
         3100 out
         3130 read working -> working
         60000 -> working",
    );
    assert!(stage.announced.iter().filter(|(_, state)| *state == State::Idle).count() == 1);
    // What was claimed before the dialog came does not count before the screen was looked at.
    play(
        SPEAKS,
        "100 claim idle -> idle
         200 read blocked/trust -> blocked/trust
         1000 restart
         1010 out -> blocked/trust
         1020 claim idle -> blocked/trust
         1040 read blocked/trust -> blocked/trust",
    );
    // Word that it rests is older than its going to work, of which it had yet to tell.
    for rested in ["100 hook prompt\n 200 hook stop -> idle", "100 claim working\n 200 claim done -> idle"] {
        let script =
            "1000 enter -> working\n 1020 restart -> working\n 1030 out\n 1060 read working -> working";
        play(SPEAKS, &format!("{rested}\n {script}\n 1100 tick -> working\n 9000 read idle\n 9350 -> idle"));
    }
    // Nothing comes to look at.
    play(
        KNOWN,
        "100 read blocked/trust\n 1000 restart\n 2999 -> blocked/trust\n 3000 -> starting\n 31000 -> unknown/unrecognised",
    );
    // The end of a turn was missed: the screen tells.
    play(
        KNOWN,
        "100 hook prompt\n 200 read working\n 1000 restart -> working\n 1001 out\n 1031 read idle -> working\n 10000 -> working\n 10031 -> idle",
    );
}

#[test]
fn word_of_work_gives_way_to_a_long_silence_that_looks_idle() {
    play(
        SPEAKS,
        "0 claim working -> working
         100 read idle -> working
         60000 out -> working
         179999 -> working
         180000 -> idle",
    );
    play(SPEAKS, "0 claim working -> working\n 900000 -> working");
}

#[test]
fn lost_output_makes_the_screen_unknown_and_leaves_the_hooks() {
    play(SPEAKS, "0 claim idle -> idle\n 100 read idle\n 5000 lost -> unknown\n 9000 -> unknown");
    play(KNOWN, "0 hook prompt\n 100 hook stop -> idle\n 5000 lost -> idle");
    play(KNOWN, "0 read idle draft\n 2000 -> idle\n 5000 lost\n 9000 -> unknown");
}

#[test]
fn a_verdict_says_since_when() {
    let stage = play(SPEAKS, "0 claim idle\n 700 claim working\n 5000 claim working\n 5100 out");
    assert_eq!(stage.detector.verdict().since, BEGIN.plus(Duration::from_millis(700)));
}

#[test]
fn a_start_is_over_once_the_agent_was_ready_or_told_of_a_turn_also_for_the_next_daemon() {
    for (script, over) in [
        ("100 read blocked/trust", false),
        ("100 hook session\n 200 read blocked/trust", false),
        // Its box is drawn a moment before the dialog that takes its place.
        ("100 read idle\n 800 read blocked/trust", false),
        ("100 read idle\n 3000 read blocked/trust", true),
        ("100 claim idle\n 200 read blocked/trust", true),
        ("100 hook prompt\n 110 read blocked/permission", true),
        ("100 read working\n 110 read blocked/permission", true),
    ] {
        for restart in ["", "\n 4000 restart\n 4010 read blocked/trust"] {
            let stage = play(KNOWN, &format!("{script}{restart}"));
            assert_eq!(stage.detector.has_started(), over, "{script}{restart}");
        }
    }
}

#[test]
fn what_an_agent_waits_for_is_its_newest_word() {
    let table: &[(&str, &[Asking])] = &[
        ("100 read blocked/trust", &[]),
        ("100 claim blocked", &[Asking::Permission]),
        ("100 claim blocked\n 200 claim working", &[]),
        ("100 hook asked", &[Asking::Permission]),
        ("100 hook asked\n 200 claim working", &[]),
        ("100 claim working\n 200 hook asked", &[Asking::Permission]),
        ("100 hook asked\n 200 hook answered", &[]),
    ];
    for (script, told) in table {
        assert_eq!(play(SPEAKS, script).detector.told_to_wait_for(), *told, "{script}");
    }
}
