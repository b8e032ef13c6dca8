//! What the agent claims on the terminal, and its dialogs.

use super::*;

#[test]
fn a_claim_counts_at_once_and_costs_nothing_afterwards() {
    let stage = play(
        SPEAKS,
        "0 -> starting
         500 claim idle -> idle
         1000 enter -> working
         1010 claim working -> working
         60000 -> working
         60001 claim done -> idle
         70000 claim working -> working
         71000 claim error -> error
         72000 claim working -> working
         73000 claim blocked -> blocked/permission
         99000 -> blocked/permission
         99001 claim working -> working
         99500 claim idle -> idle",
    );
    assert_eq!(stage.detector.deadline(), None);
}

#[test]
fn work_on_a_prompt_of_the_command_line_is_no_rest() {
    // It went to work before it said for the first time that it is ready.
    let early = "100 read working\n 500 claim idle -> working\n 1400 claim working -> working\n 9000 claim done -> idle";
    let stage = play(SPEAKS, early);
    assert!(!stage.announced.iter().any(|(at, state)| *state == State::Idle && *at < 9_000));
    play(SPEAKS, "100 read working\n 500 claim idle -> working\n 600 read idle -> idle");
    // Or a moment later, which whoever gave it the prompt knows before it says so.
    let late = "500 claim idle -> idle\n 600 read working -> idle\n 610 begun -> working\n 800 claim working -> working
                9000 claim done -> idle\n 9010 read idle -> idle";
    play(SPEAKS, late);
    play(
        SPEAKS,
        "500 claim idle -> idle\n 600 hook prompt\n 610 begun -> working\n 800 claim working -> working",
    );
    // What its screen still shows when a turn is over is not the next one.
    play(
        SPEAKS,
        "100 claim idle\n 200 claim working\n 300 read working\n 900 claim done -> idle\n 5000 -> idle",
    );
}

#[test]
fn a_dialog_that_it_claims_at_its_start_is_no_work() {
    let since = |stage: &Stage| stage.detector.went_to_work_since(BEGIN, stage.now);
    let trust = "300 claim blocked -> blocked/permission\n 350 read blocked/trust -> blocked/trust";
    assert_eq!(since(&play(SPEAKS, trust)), None);
    // It asks for permission in a turn that it told of.
    let turn =
        "500 claim idle -> idle\n 1000 enter\n 1050 claim working\n 2000 claim blocked -> blocked/permission";
    assert_eq!(since(&play(SPEAKS, turn)), Some("program status"));
    let done = "500 claim idle -> idle\n 1000 enter\n 1050 claim done -> idle";
    assert_eq!(since(&play(SPEAKS, done)), Some("program status"));
}

#[test]
fn background_work_is_no_turn() {
    // Its status says what goes on.
    play(
        SPEAKS,
        "500 claim idle -> idle\n 1000 enter\n 1050 claim working -> working\n 5000 claim watching -> watching
         90000 -> watching\n 91000 enter -> working\n 91050 claim working -> working\n 95000 claim watching -> watching",
    );
    // Its status says only that it works; hooks and screen know better.
    play(
        SPEAKS,
        "500 claim idle -> idle\n 1000 enter\n 1040 hook prompt\n 1050 claim working -> working
         5000 hook stop\n 5010 claim working -> working\n 5100 read watching -> watching\n 90000 -> watching
         91000 enter\n 91040 hook prompt -> working\n 91050 read working -> working
         95000 hook stop\n 95010 read watching -> watching",
    );
    // A turn that is open is work, whatever else goes on.
    play(
        SPEAKS,
        "500 claim idle\n 1000 enter\n 1040 hook prompt\n 1050 claim working\n 1100 read watching -> working",
    );
}

#[test]
fn a_claim_that_flickers_at_the_start_is_no_work() {
    let stage = play(
        SPEAKS,
        "500 claim idle -> idle
         550 claim working -> idle
         580 claim idle -> idle
         2000 -> idle",
    );
    assert_eq!(stage.announced, [(500, State::Idle)]);
    play(SPEAKS, "500 claim idle -> idle\n 550 claim working -> idle\n 649 -> idle\n 650 -> working");
    play(SPEAKS, "500 claim idle -> idle\n 700 claim working -> working");
    // It is no sign that a prompt was taken either.
    let since = |stage: &Stage, now| stage.detector.went_to_work_since(BEGIN, Steady(BEGIN.0 + now));
    let stage = play(SPEAKS, "500 claim idle -> idle\n 550 claim working -> idle");
    assert_eq!((since(&stage, 649), since(&stage, 650)), (None, Some("program status")));
    let stage = play(SPEAKS, "500 claim idle -> idle\n 540 hook prompt\n 550 claim working -> working");
    assert_eq!(since(&stage, 560), Some("program status"));
}

#[test]
fn a_claim_that_is_taken_back_leaves_the_screen() {
    play(
        SPEAKS,
        "500 claim idle -> idle
         1000 claim clear
         5000 -> unknown
         5100 out
         5130 read idle
         6000 -> idle",
    );
}

#[test]
fn a_claimed_error_is_told_as_the_screen_and_the_records_know_it() {
    play(SPEAKS, "0 claim working\n 10 read limited/quota@5pm\n 20 claim error -> limited/quota@5pm");
    play(
        SPEAKS,
        "0 claim working\n 10 hook prompt\n 20 hook rate-limit\n 30 claim error -> limited/rate_limit",
    );
    play(SPEAKS, "0 claim working\n 10 read error/auth\n 20 claim error -> error/auth");
}

#[test]
fn work_on_the_screen_that_was_not_announced_is_believed_after_a_while() {
    play(
        SPEAKS,
        "500 claim idle -> idle
         5000 out
         5030 read working -> idle
         6029 -> idle
         6030 -> working
         7000 read idle -> idle",
    );
    // What is older than the claim has yet to be drawn over.
    play(SPEAKS, "50 claim working\n 100 read working\n 500 claim idle -> idle\n 9000 -> idle");
}

#[test]
fn a_dialog_beats_every_claim_but_the_answer() {
    play(
        SPEAKS,
        "500 claim working -> working
         900 out
         930 read blocked/plan -> blocked/plan
         60000 claim working -> working
         60999 -> working
         61000 -> blocked/plan
         62000 claim working -> working
         62500 read working -> working
         99000 -> working",
    );
    play(
        SPEAKS,
        "10 claim idle -> idle\n 20 read blocked -> blocked/dialog\n 30 claim idle -> blocked/dialog",
    );
    let stage =
        play(SPEAKS, "10 read blocked/trust\n 20 claim blocked -> blocked/trust\n 999999 -> blocked/trust");
    assert!(stage.detector.verdict().confidence > 0.98 && stage.detector.verdict().because.len() == 2);
}

#[test]
fn word_of_work_beats_what_only_looks_like_a_dialog_of_some_agent() {
    for work in ["claim working", "hook prompt", "transcript prompt"] {
        // Text that streams by, or is quoted; the agent's own dialogs count as ever.
        play(
            KNOWN,
            &format!(
                "100 {work} -> working
                 200 out
                 230 read ~blocked -> working
                 10199 -> working
                 10200 -> blocked/dialog
                 11000 out -> working
                 11030 read -> working
                 11040 read blocked/plan -> blocked/plan"
            ),
        );
    }
    play(KNOWN, "100 claim idle\n 200 read ~blocked -> blocked/dialog");
    play(KNOWN, "100 hook prompt\n 200 hook stop\n 300 read ~blocked -> blocked/dialog");
    play(KNOWN, "100 hook prompt\n 200 hook asked\n 300 read ~blocked/plan -> blocked/plan");
}

#[test]
fn a_dialog_is_never_released_by_time() {
    for script in [
        "100 read blocked/permission -> blocked/permission",
        "100 read ~blocked/permission -> blocked/permission",
        "100 claim blocked -> blocked/permission",
        "50 hook tool\n 100 hook asked -> blocked/permission",
        "50 transcript tool\n 100 transcript asked -> blocked/permission",
    ] {
        let mut stage = play(KNOWN, script);
        stage.run_until(BEGIN.plus(Duration::from_hours(24)));
        assert_eq!(stage.shown(), "blocked/permission", "{script}");
        assert_eq!(stage.detector.deadline(), None, "{script}");
    }
}

#[test]
fn a_dialog_that_is_gone_was_answered() {
    play(
        KNOWN,
        "100 read idle
         3000 -> idle
         3100 out
         3130 read blocked/permission -> blocked/permission
         9000 out
         9030 read -> working
         9060 read working -> working",
    );
    // Before the agent was ready it still starts.
    play(KNOWN, "100 read blocked/trust -> blocked/trust\n 5000 out\n 5030 read -> starting");
}
