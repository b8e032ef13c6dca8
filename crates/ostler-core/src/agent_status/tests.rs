use super::*;
use crate::Steady;

fn record(failure: Option<Failure>) -> TurnRecord {
    TurnRecord { failed: failure.map(|what| At { what, at: Steady(0) }), ..TurnRecord::default() }
}

#[test]
fn the_most_exact_word_on_a_failure_counts() {
    use {Failure as F, Reporter as R};
    let cases = [
        ((None, None, State::Error, None), None),
        ((Some(F::Other), None, State::Idle, None), Some((R::Hook, F::Other))),
        ((None, Some(F::Quota), State::Error, None), Some((R::Transcript, F::Quota))),
        // Among equals hooks come first, then the transcript.
        ((Some(F::Quota), Some(F::RateLimit), State::Error, Some("auth")), Some((R::Hook, F::Quota))),
        (
            (Some(F::Other), Some(F::Invalid), State::Error, Some("unavailable")),
            Some((R::Transcript, F::Invalid)),
        ),
        ((Some(F::Other), Some(F::Unavailable), State::Error, Some("quota")), Some((R::Screen, F::Quota))),
        // The screen has a word only while it shows an error, and only where it is a failure's name.
        ((None, None, State::Limited, Some("quota")), None),
        ((Some(F::Other), None, State::Error, Some("red")), Some((R::Hook, F::Other))),
    ];
    for ((hooks, transcript, state, kind), expected) in cases {
        let (hooks, transcript) = (record(hooks), record(transcript));
        let records = [(R::Hook, &hooks), (R::Transcript, &transcript)];
        assert_eq!(failure(records, state, kind), expected, "{state} {kind:?}");
    }
}

#[test]
fn a_process_ends_by_itself_by_request_or_unknown_how() {
    let exit = |status, signal| Some(Exit { status, signal });
    let cases = [
        (None, false, Stop::Lost),
        (None, true, Stop::Lost),
        (exit(None, None), false, Stop::Lost),
        (exit(None, None), true, Stop::Ended),
        (exit(Some(0), None), false, Stop::Exited { status: Some(0), signal: None }),
        (exit(None, Some(9)), false, Stop::Exited { status: None, signal: Some(9) }),
        (exit(Some(143), None), true, Stop::Ended),
    ];
    for (exit, requested, expected) in cases {
        assert_eq!(Stop::of_process(exit, requested), expected, "{exit:?} {requested}");
    }
}
