//! What hooks and transcript tell of turns.

use super::*;

#[test]
fn hooks_open_and_close_a_turn_at_once() {
    for reporter in ["hook", "transport", "transcript"] {
        let script = "100 # session -> starting
             200 # prompt -> working
             300 # tool -> working
             60000 # tool-end -> working
             60500 # used -> working
             61000 # subagent -> working
             62000 # stop -> idle
             63000 # heartbeat -> idle
             90000 # idle -> idle";
        let stage = play(KNOWN, &script.replace('#', reporter));
        assert_eq!(stage.detector.deadline(), None, "{reporter}");
    }
}

#[test]
fn the_end_of_a_turn_from_before_the_last_prompt_is_no_rest() {
    // The transcript is late: it tells of the first turn when the second prompt is in.
    let late = "100 transcript prompt -> working
         200 read idle empty
         300 enter
         400 read working -> working
         500 transcript stop -> working
         600 transcript prompt -> working
         700 read idle empty
         800 transcript stop -> idle";
    play(KNOWN, late);
    // It has nothing about the second turn yet, and the screen shows that there is one.
    let silent = "100 transcript prompt -> working
         150 read idle empty
         200 transcript stop -> idle
         5000 enter -> working
         5100 read working -> working
         5200 tick -> working
         5300 transcript prompt -> working";
    play(KNOWN, silent);
}

#[test]
fn enter_begins_a_turn_before_a_hook_tells_it() {
    for reporter in ["hook", "transcript"] {
        let script = "100 # prompt -> working
             200 # stop -> idle
             300 read idle empty
             5000 enter -> working
             5300 # prompt -> working
             5400 # stop -> idle
             9000 enter -> working
             10999 -> working
             11000 -> idle";
        play(KNOWN, &script.replace('#', reporter));
    }
    // What was typed into a turn that was open is no news when it ends.
    play(
        KNOWN,
        "0 claim idle\n 10 claim clear\n 100 hook prompt\n 200 enter -> working\n 300 hook stop -> idle",
    );
}

#[test]
fn the_word_of_a_hook_goes_over_a_quiet_screen() {
    play(
        KNOWN,
        "100 read idle
         3000 hook prompt -> working
         3010 out
         3040 read -> working
         600000 -> working
         600001 hook stop -> idle",
    );
}

#[test]
fn an_interrupt_that_no_hook_reports_shows_on_the_screen() {
    play(
        KNOWN,
        "100 hook prompt -> working
         200 out
         230 read working -> working
         20000 out
         20030 read idle -> working
         21529 -> working
         21530 -> idle
         30000 hook prompt -> working
         32000 type -> working
         33499 -> working
         33500 -> idle",
    );
    play(KNOWN, "100 hook prompt -> working\n 200 hook interrupted -> idle");
}

#[test]
fn a_turn_that_has_yet_to_show_work_is_not_taken_for_one_that_was_stopped() {
    play(
        KNOWN,
        "100 read idle empty
         2000 -> idle
         3000 enter
         3050 read working empty
         3060 transcript prompt -> working
         5000 read idle empty -> working
         5100 transcript stop -> idle
         5200 read working empty
         5300 enter
         5310 read idle empty
         5400 transcript prompt -> working
         9000 -> working
         14399 -> working
         14400 -> idle
         15000 enter
         15100 transcript prompt -> working
         20000 read working empty -> working
         24000 read idle empty
         25500 -> idle",
    );
}

#[test]
fn a_turn_that_is_told_late_is_not_the_one_that_was_asked_for_since() {
    play(
        KNOWN,
        "100 read idle empty
         2000 -> idle
         3000 enter
         3100 read working empty -> working
         3300 read idle! empty
         3400 -> idle
         3500 enter -> working
         3600 written 3010 prompt -> working
         3610 written 3290 stop -> working
         3900 read working empty -> working
         4000 written 3880 prompt -> working
         4300 written 4290 stop -> idle",
    );
}

#[test]
fn work_that_shows_since_before_enter_says_nothing_of_it() {
    play(
        KNOWN,
        "100 read idle empty
         2000 -> idle
         3000 read working empty -> working
         4000 hook stop -> idle
         4100 enter
         4200 read working empty -> working
         4300 read idle! empty -> working
         5500 -> working
         5600 read working empty -> working
         5900 hook stop -> idle",
    );
}

#[test]
fn an_agent_that_goes_on_after_its_answer_is_at_work() {
    play(
        KNOWN,
        "100 read idle empty
         2000 -> idle
         3000 enter
         3100 read working! empty -> working
         3200 transcript prompt -> working
         4000 transcript stop -> working
         9000 read idle empty -> idle
         10000 enter
         10100 transcript prompt
         10200 read working! empty -> working
         10300 transcript other -> working
         10400 read idle empty -> error",
    );
}

#[test]
fn the_end_of_a_turn_that_was_not_shown_waits_for_the_screen() {
    let settings = Settings { end_confirm_ms: 1_000, ..settings() };
    let quick = "100 read idle empty\n 2000 -> idle\n 3000 enter\n 3050 read idle empty\n 3100 transcript prompt -> working\n 3200 transcript stop -> working\n";
    // It never shows: it is over.
    play_with(settings, KNOWN, &format!("{quick} 4199 -> working\n 4200 -> idle"));
    // It shows late, and goes on.
    play_with(
        settings,
        KNOWN,
        &format!("{quick} 4000 read working! empty -> working\n 6000 read idle empty -> idle"),
    );
    // It was shown: what the screen says now is so.
    play_with(
        settings,
        KNOWN,
        "100 read idle empty
         2000 -> idle
         3000 enter
         3050 read working! empty -> working
         3100 transcript prompt
         3190 read idle empty -> working
         3200 transcript stop -> idle",
    );
}

#[test]
fn a_general_prompt_on_the_screen_does_not_end_a_turn_soon() {
    // Many agents show their prompt while they work, and a tool may be silent for long.
    play(
        KNOWN,
        "100 hook prompt -> working
         200 out
         230 read ~idle -> working
         60000 -> working
         130000 -> idle",
    );
}

#[test]
fn work_on_the_screen_behind_a_closed_turn() {
    play(
        KNOWN,
        "100 hook prompt
         200 read working
         300 hook stop -> idle
         1299 -> idle
         1300 -> working
         1400 read idle -> idle",
    );
}

#[test]
fn what_a_hook_asked_is_doubted_if_the_screen_goes_on() {
    play(
        KNOWN,
        "100 hook prompt
         200 hook asked -> blocked/permission
         300 read working -> blocked/permission
         1199 -> blocked/permission
         1200 -> working",
    );
    play(KNOWN, "100 hook prompt\n 200 hook asked -> blocked/permission\n 300 claim working -> working");
    play(KNOWN, "100 hook prompt\n 200 hook asked -> blocked/permission\n 300 hook tool-end -> working");
    play(KNOWN, "100 hook prompt\n 200 hook asked -> blocked/permission\n 300 hook answered -> working");
    play(KNOWN, "100 hook prompt\n 200 hook asked -> blocked/permission\n 300 hook stop -> idle");
    // A prompt that agents in general show proves nothing against it.
    play(KNOWN, "100 hook prompt\n 200 hook asked\n 300 read ~idle\n 60000 -> blocked/permission");
}

#[test]
fn a_failed_turn_is_limited_or_an_error() {
    for (kind, state) in [
        ("quota", "limited/quota"),
        ("rate-limit", "limited/rate_limit"),
        ("overloaded", "error/overloaded"),
        ("other", "error"),
    ] {
        let script = format!("100 hook prompt\n 200 hook {kind} -> {state}\n 99000 hook prompt -> working");
        play(KNOWN, &script);
    }
    play(KNOWN, "100 hook prompt\n 200 read limited/usage@5pm\n 300 hook quota -> limited/quota@5pm");
    play(KNOWN, "100 hook prompt\n 200 hook quota -> limited/quota\n 300 hook tool -> working");
    play(KNOWN, "100 hook prompt\n 200 hook retry -> working/retrying\n 300 hook tool -> working");
}

#[test]
fn an_agent_that_tries_again_what_failed_is_at_work_and_says_why() {
    let since = |stage: &Stage| stage.detector.retrying().map(|(by, why)| (by, why.what, why.at.0 - BEGIN.0));
    let stage = play(
        SPEAKS,
        "0 claim working
         100 read working -> working
         200 read working/rate_limit working -> working/retrying
         9000 read working/overloaded working -> working/retrying",
    );
    assert_eq!(since(&stage), Some((Reporter::Screen, Failure::Overloaded, 200)));
    let stage = play(SPEAKS, "0 claim working\n 200 read working/rate_limit\n 300 read working -> working");
    assert_eq!(since(&stage), None);
    // What agents in general look like is no evidence against a provider, nor are kinds that are no failures.
    let stage = play(SPEAKS, "0 claim working\n 200 read ~working/rate_limit working/odd -> working");
    assert_eq!(since(&stage), None);
    let stage =
        play(KNOWN, "0 transcript started\n 50 transcript retry\n 900 transcript retry -> working/retrying");
    assert_eq!(since(&stage), Some((Reporter::Transcript, Failure::Overloaded, 50)));
    for over in ["stop", "tool", "tool-end", "prompt", "interrupted", "overloaded"] {
        let stage = play(KNOWN, &format!("0 hook prompt\n 50 hook retry\n 900 hook {over}"));
        assert_eq!(since(&stage), None, "{over}");
    }
}

#[test]
fn work_in_the_background_is_watched() {
    play(
        KNOWN,
        "100 hook prompt\n 200 hook stop-watching -> watching\n 300 hook prompt -> working\n 400 hook stop -> idle",
    );
    play(SPEAKS, "100 hook prompt\n 200 hook stop-watching\n 300 claim idle -> watching");
    play(KNOWN, "100 read watching\n 5000 -> watching");
    play(SPEAKS, "100 read watching\n 200 claim idle -> watching");
}

#[test]
fn the_transcript_is_asked_only_where_there_are_no_hooks() {
    play(
        KNOWN,
        "100 transcript prompt -> working
         200 transcript stop -> idle
         300 transcript prompt -> working
         400 hook prompt -> working
         500 transcript stop -> working
         600 hook stop -> idle
         700 transcript prompt -> idle",
    );
}

#[test]
fn a_transcript_that_never_tells_the_end_leaves_it_to_the_screen() {
    let expected = Expectations { transcript_ends: false, ..KNOWN };
    let script = "100 transcript prompt -> working
         200 out
         230 read -> working
         60000 -> working
         60100 out
         60130 read idle -> working
         60479 -> working
         60480 -> #";
    play(expected, &script.replace('#', "idle"));
    play(KNOWN, &script.replace('#', "working"));
    // Hooks tell it.
    play(expected, "100 hook prompt\n 60130 read idle -> working\n 61629 -> working\n 61630 -> idle");
}
