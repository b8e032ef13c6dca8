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
    // Taken, and still no sign of work: it was slow to take it, and may be as slow to show work.
    play(
        KNOWN,
        "0 read idle draft
         2000 -> idle
         3000 enter -> working
         5500 read idle empty -> working
         10499 -> working
         10500 -> idle",
    );
    play(
        KNOWN,
        "0 read idle draft\n 2000 -> idle\n 3000 enter -> working\n 3050 read idle empty -> working\n 5049 -> working\n 5050 -> idle",
    );
    // A start is not over because somebody typed, nor is what was typed then a prompt.
    let stage = play(
        KNOWN,
        "0 read blocked\n 1000 enter\n 1030 read idle -> starting\n 2230 -> idle\n 2300 out -> idle",
    );
    assert_eq!(stage.announced.last(), Some(&(2230, State::Idle)));
}

#[test]
fn what_is_erased_or_refused_is_no_work() {
    for (expected, rest) in [(KNOWN, "0 read idle empty"), (SPEAKS, "0 claim idle\n 10 read idle empty")] {
        // A slash, and Backspace.
        play(
            expected,
            &format!(
                "{rest}\n 2000 -> idle\n 3000 type\n 3020 out\n 3040 read idle draft -> idle\n 4000 type\n 4020 out
                 4040 read idle empty -> idle\n 9000 -> idle"
            ),
        );
        // An unknown command: the agent says so, and the text stays.
        play(
            expected,
            &format!(
                "{rest}\n 2000 type\n 2040 read idle draft\n 3000 enter -> working\n 3050 out\n 3080 read idle draft
                 4049 -> working\n 4050 -> idle\n 20000 -> idle"
            ),
        );
        // It took a while to draw, and may take a while longer; a text that stays for ever was not taken.
        play(
            expected,
            &format!(
                "{rest}\n 2000 type\n 2040 read idle draft\n 3000 enter -> working\n 5000 out\n 5030 read idle draft
                 8999 -> working\n 9000 -> idle"
            ),
        );
        // A prompt that was typed and then submitted.
        play(
            expected,
            &format!(
                "{rest}\n 2000 type\n 2040 read idle draft\n 3000 enter -> working\n 3050 out
                 3080 read idle empty -> working\n 5000 -> working"
            ),
        );
    }
}

#[test]
fn a_command_that_is_answered_at_once_is_no_work() {
    for (expected, rest) in [(KNOWN, "0 read idle empty"), (SPEAKS, "0 claim idle\n 10 read idle empty")] {
        let typed = format!("{rest}\n 2000 type\n 2040 read idle draft\n 3000 enter -> working\n 3050 out");
        play(expected, &format!("{typed}\n 3080 read idle=#1 empty -> idle\n 9000 -> idle"));
        // What was answered before says nothing of this one, as long as the same rows stand there.
        let again = format!(
            "{rest}\n 900 read idle=#7 empty\n 2000 type\n 2040 read idle=#7 draft\n 3000 enter -> working"
        );
        play(expected, &format!("{again}\n 3050 out\n 3080 read idle=#7 empty -> working\n 4000 -> working"));
        play(expected, &format!("{again}\n 3050 out\n 3080 read idle=#8 empty -> idle"));
        // It may leave the text where it was.
        play(expected, &format!("{typed}\n 3080 read idle=#3 draft -> idle"));
    }
}

#[test]
fn an_agent_is_ready_when_its_composer_is_there() {
    let boxed = Expectations { composer: true, ..SPEAKS };
    play(boxed, "0 claim idle -> starting\n 400 out\n 430 read idle empty -> idle");
    play(
        boxed,
        "0 claim idle -> starting\n 400 read blocked/trust -> blocked/trust\n 900 read idle empty -> idle",
    );
    // It may look otherwise in a version of which nobody knows; once it was there, it may be hidden.
    play(boxed, "0 claim idle -> starting\n 29999 -> starting\n 30000 -> idle");
    play(boxed, "0 claim idle\n 400 read idle empty -> idle\n 900 read -> idle");
}

#[test]
fn an_agent_whose_process_has_ended_is_gone_whatever_its_screen_shows() {
    for seen in ["read idle", "read working", "claim idle", "read blocked/trust", "hook stop"] {
        play(KNOWN, &format!("0 {seen}\n 5000 agent ended -> unknown/gone\n 6000 {seen} -> unknown/gone"));
    }
    let stage = play(KNOWN, "0 read idle\n 5000 -> idle\n 5000 agent ended\n 9000 agent runs -> idle");
    assert!(!stage.detector.is_gone());
    // What its wrapper writes is looked at once: it may start the agent again.
    let stage = play(KNOWN, "0 read idle\n 5000 agent ended\n 6000 out\n 7000 out\n 90000 tick");
    assert_eq!((stage.samples, stage.detector.is_puzzled()), (3, false));
}

#[test]
fn a_limit_comes_to_an_end() {
    let limited = "0 read idle empty\n 2000 -> idle\n 3000 enter\n 3100 read working -> working";
    let again = |at: u64| format!("{at} read idle limited/rate_limit#7");
    // Each one in a row is waited for twice as long.
    play(
        KNOWN,
        &format!(
            "{limited}\n {} -> limited/rate_limit\n 65999 -> limited/rate_limit\n 66000 -> idle\n 90000 out\n 95000 -> idle
             100000 enter\n 100100 read working -> working\n 101000 read idle limited/rate_limit#8 -> limited/rate_limit
             220999 -> limited/rate_limit\n 221000 -> idle",
            again(6000)
        ),
    );
    // The agent got through in between.
    play(
        KNOWN,
        &format!(
            "{limited}\n {}\n 66000 -> idle\n 70000 enter\n 70100 read working -> working\n 71000 read idle -> working
             80000 -> idle\n 90000 enter\n 90100 read working\n 91000 read idle limited/rate_limit#8 -> limited/rate_limit
             150999 -> limited/rate_limit\n 151000 -> idle",
            again(6000)
        ),
    );
    // A quota lasts, unless the agent tells its end.
    play(
        KNOWN,
        "0 read idle\n 2000 read idle limited/quota -> limited/quota\n 201999 -> limited/quota\n 202000 -> idle",
    );
    let told = "0 read idle\n 2000 read idle limited/quota@5pm -> limited/quota@5pm\n 2001 limit-ends 90000";
    let stage = play(KNOWN, &format!("{told}\n 89999 -> limited/quota@5pm\n 90000 -> idle"));
    assert_eq!(stage.detector.unread_limit(), None);
    assert_eq!(
        play(KNOWN, "0 read idle\n 2000 read idle limited/quota@5pm").detector.unread_limit(),
        Some("5pm")
    );
    // By the agent's own word too; and where nothing shows that it rests, nothing is known.
    play(KNOWN, "0 hook prompt\n 10 hook rate-limit -> limited/rate_limit\n 60010 -> idle");
    play(KNOWN, "0 read limited/rate_limit -> limited/rate_limit\n 60000 -> unknown");
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
    play(STRANGE, "0 out\n 30 read ~working+ ~idle -> working\n 10829 -> working\n 10830 -> idle");
    play(STRANGE, "0 out\n 30 read ~working ~idle -> working\n 2829 -> working\n 2830 -> idle");
}
