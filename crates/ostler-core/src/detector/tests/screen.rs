//! What the rules for an agent see on its screen, and what was typed.

use super::*;

#[test]
fn a_screen_that_looks_idle_is_believed_after_a_quiet_while() {
    let stage = play(
        KNOWN,
        "0 out
         30 read idle -> starting
         1229 -> starting
         1230 -> idle
         5000 out
         5030 read working -> working
         9000 out
         9030 read idle -> working
         9200 out -> working
         9549 -> working
         9550 -> idle",
    );
    assert_eq!(stage.detector.deadline(), None);
    assert_eq!(stage.announced, [(1230, State::Idle), (5030, State::Working), (9550, State::Idle)]);
}

#[test]
fn an_agent_that_will_tell_its_status_has_longer_to_start() {
    play(SPEAKS, "0 out\n 30 read idle -> starting\n 2529 -> starting\n 2530 -> idle");
    play(SPEAKS, "0 out\n 30 read idle -> starting\n 900 claim idle -> idle");
}

#[test]
fn a_prompt_that_flashes_between_two_tools_is_not_idle() {
    let stage = play(
        KNOWN,
        "0 read idle
         2000 -> idle
         3000 out
         3030 read working -> working
         9000 out
         9030 read idle -> working
         9200 out
         9230 read working -> working
         9500 out
         9530 read -> working
         9600 read idle
         9700 read working -> working",
    );
    assert_eq!(stage.announced.len(), 2);
}

#[test]
fn noise_keeps_idle_away_unless_the_rule_is_certain() {
    let noise: Vec<String> = (0..50).map(|n| format!("{} out\n", 5000 + n * 100)).collect();
    let noise = noise.concat();
    let script = |finding: &str, state: &str| {
        format!(
            "100 read working -> working\n 4990 out\n 4995 read {finding} -> working\n {noise} 9950 -> {state}"
        )
    };
    play(KNOWN, &script("idle", "working"));
    play(KNOWN, &script("idle!", "idle"));
    let settings = Settings { noisy_idle_ms: 3_000, ..settings() };
    play_with(settings, KNOWN, &script("idle", "idle"));
    // Certain rules need less time, counted from when they are.
    play(KNOWN, "100 read working\n 5000 out\n 5000 read idle! -> working\n 5099 -> working\n 5100 -> idle");
    play(
        KNOWN,
        "100 read working\n 5000 read idle\n 5200 out\n 5200 read idle! idle -> working\n 5299 -> working\n 5300 -> idle",
    );
}

#[test]
fn what_is_idle_stays_so_while_a_person_types() {
    let stage = play(
        KNOWN,
        "0 read idle empty
         2000 -> idle
         3000 type
         3010 out
         3040 read idle draft -> idle
         3600 type
         3610 out -> idle
         9000 out -> idle
         20000 -> idle",
    );
    assert_eq!(stage.announced, [(1200, State::Idle)]);
    // A prompt with something in it is known to no general rule.
    let stage = play(
        STRANGE,
        &format!(
            "{AT_REST} 5100 type
             5110 out
             5140 read -> idle
             6000 type
             6010 out
             7000 enter -> working
             7010 out
             7040 read ~idle -> working
             12000 -> idle
             13000 type
             13010 out
             13040 read -> idle
             14999 -> idle
             15000 -> unknown"
        ),
    );
    assert_eq!(stage.announced.len(), 4);
}

#[test]
fn enter_means_work_for_a_while() {
    play(
        KNOWN,
        "0 read idle empty
         2000 -> idle
         3000 enter -> working
         4999 -> working
         5000 -> idle",
    );
    // What was written is not taken: an agent may be slow.
    play(
        KNOWN,
        "0 read idle draft
         2000 -> idle
         3000 enter -> working
         12999 -> working
         13000 -> idle",
    );
    // Taken, and still no sign of work.
    play(
        KNOWN,
        "0 read idle draft
         2000 -> idle
         3000 enter -> working
         8000 read idle empty -> working
         9999 -> working
         10000 -> idle",
    );
    // A start is not over because somebody typed, nor is what was typed then a prompt.
    let stage = play(
        KNOWN,
        "0 read blocked\n 1000 enter\n 1030 read idle -> starting\n 2230 -> idle\n 2300 out -> idle",
    );
    assert_eq!(stage.announced.last(), Some(&(2230, State::Idle)));
}

#[test]
fn a_draft_behind_a_quick_turn_is_not_what_enter_was_typed_for() {
    let quick = "0 read idle draft\n 2000 -> idle\n 2000 enter -> working\n 2020 read idle empty -> working";
    play(KNOWN, &format!("{quick}\n 4020 -> idle\n 5000 read idle draft -> idle\n 11000 -> idle"));
    // What is still there when nothing else was seen is.
    play(
        KNOWN,
        "0 read idle draft\n 2000 enter -> working\n 4500 read idle draft -> working\n 12000 -> idle",
    );
}

#[test]
fn an_emptied_composer_means_work_for_a_while() {
    play(
        SPEAKS,
        "0 claim idle -> idle
         100 read idle draft -> idle
         3000 read idle empty -> working
         4999 -> working
         5000 -> idle
         6000 read idle draft
         7000 read idle empty -> working
         7001 claim idle -> idle",
    );
    play(
        SPEAKS,
        "0 claim idle\n 100 read idle draft\n 3000 read idle empty -> working\n 3100 read idle draft -> idle",
    );
    // The agent has told all of a quick turn before its screen shows that it took the prompt.
    play(
        SPEAKS,
        "0 claim idle
         100 read idle draft -> idle
         3000 enter -> working
         3000 claim working -> working
         3001 claim done -> idle
         3002 read idle empty -> idle
         9000 read idle draft
         9500 enter -> working
         9600 read idle empty -> working
         9700 claim done -> idle",
    );
    // That it rests, it says again before it takes the prompt.
    play(
        SPEAKS,
        "0 claim idle
         100 read idle draft -> idle
         3000 enter -> working
         3010 claim idle -> working
         3020 read idle empty -> working
         3030 claim idle -> working
         3060 claim working -> working",
    );
    // Or it was still starting, and works for a moment at something else.
    play(
        SPEAKS,
        "0 claim idle
         100 read idle draft
         300 enter -> working
         310 claim working -> working
         330 claim idle -> idle
         340 read idle empty -> working
         360 claim working -> working",
    );
}

#[test]
fn an_error_at_the_end_of_the_conversation() {
    play(
        KNOWN,
        "0 read idle
         2000 -> idle
         3000 read working -> working
         9000 read idle error/api -> error/api
         99000 -> error/api
         99100 enter -> working
         99200 read idle -> working
         99300 read working -> working",
    );
    play(KNOWN, "0 read idle\n 2000 -> idle\n 3000 read idle limited/usage@5pm -> limited/usage@5pm");
    // Words that hold for agents in general prove no error.
    play(KNOWN, "0 read idle\n 2000 -> idle\n 3000 read idle ~error -> idle");
    // The error of the turn before is still there; another one like it is not the same.
    play(
        KNOWN,
        "0 read idle error/api#7 -> error/api
         5000 read idle -> idle
         9100 read idle error/api#7 -> error/api
         9200 enter -> working
         9300 read working error/api#7 -> working
         12000 read idle error/api#7 -> working
         12350 -> idle
         20000 enter -> working
         20100 read working error/api#7 -> working
         22000 read idle error/api#8 -> error/api",
    );
    // The error of a turn so short that nobody saw it work.
    play(
        KNOWN,
        "0 read idle draft
         2000 -> idle
         3000 enter -> working
         3100 read idle empty -> working
         3200 read idle empty limited/usage -> working
         9000 -> limited/usage",
    );
}

#[test]
fn work_that_holds_for_agents_in_general_needs_motion() {
    play(
        KNOWN,
        "0 out
         30 read ~working -> working
         1999 -> working
         2000 out -> working
         3999 -> working
         20000 -> unknown",
    );
    play(KNOWN, "0 read working -> working\n 900000 -> working");
    // What has moved is nobody's quotation, and may stand still for longer.
    play(STRANGE, "0 out\n 30 read ~working+ ~idle -> working\n 10029 -> working\n 10030 -> idle");
    play(STRANGE, "0 out\n 30 read ~working ~idle -> working\n 2029 -> working\n 2030 -> idle");
}
