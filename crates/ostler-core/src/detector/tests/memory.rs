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
    // Nothing comes to look at.
    play(
        KNOWN,
        "100 read blocked/trust\n 1000 restart\n 2999 -> blocked/trust\n 3000 -> starting\n 31000 -> unknown/unrecognised",
    );
    // The end of a turn was missed: the screen tells.
    play(
        KNOWN,
        "100 hook prompt\n 200 read working\n 1000 restart -> working\n 1001 out\n 1031 read idle -> working\n 2531 -> idle",
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
