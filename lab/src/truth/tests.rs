use std::collections::BTreeMap;

use super::*;

fn mark(from: f64, what: What) -> Mark {
    Mark { from: 1000.0 + from, to: 1000.0 + from + 0.1, what }
}

fn received(at: f64, exchange: u64, turn: Option<usize>) -> Entry {
    let (path, user) = ("/v1/messages".to_owned(), String::new());
    Entry {
        at: 1000.0 + at,
        exchange,
        event: Event::Received {
            path,
            turn,
            reply: turn,
            user,
            fresh: vec![],
            prompts: 0,
            tools: vec![],
            watched: BTreeMap::new(),
        },
    }
}

fn sent(at: f64, exchange: u64, status: u16, tool: bool) -> Entry {
    let tool = tool.then(|| "shell".to_owned());
    let more = tool.is_some() || status != 200;
    Entry { at: 1000.0 + at, exchange, event: Event::LastByte { status, text: String::new(), tool, more } }
}

/// Intervals as `from-to state`.
fn told(marks: &[Mark], log: &[Entry]) -> Vec<String> {
    let line = |interval: &Interval| {
        let kind = interval.kind.as_ref().map_or(String::new(), |kind| format!("/{kind}"));
        format!("{}-{} {}{kind}", interval.from, interval.to, interval.state)
    };
    intervals(marks, log, 1000.0).iter().map(line).collect()
}

#[test]
fn a_turn_works_from_enter_to_the_last_byte() {
    let marks = [
        mark(0.0, What::Started),
        mark(3.0, What::Ready),
        mark(5.0, What::Submitted),
        mark(15.0, What::Over),
    ];
    // A request on the side ends after the turn and means nothing.
    let log = [
        received(5.2, 1, Some(1)),
        received(5.3, 2, None),
        sent(9.0, 1, 200, false),
        sent(9.5, 2, 200, false),
    ];
    assert_eq!(told(&marks, &log), ["0-2 starting", "3.1-5 idle", "5.1-9 working", "9-15 idle"]);
}

#[test]
fn a_dialog_blocks_from_when_it_is_seen_to_its_answer() {
    let marks = [
        mark(1.0, What::Submitted),
        mark(3.0, What::DialogSeen { kind: "permission".into() }),
        mark(8.0, What::Answered { then: Then::Working }),
        mark(20.0, What::Over),
    ];
    let log = [
        received(1.2, 1, Some(1)),
        sent(2.0, 1, 200, true),
        received(11.0, 2, Some(1)),
        sent(12.0, 2, 200, false),
    ];
    let expected = ["1.1-2 working", "3.1-8 blocked/permission", "8.1-12 working", "12-20 idle"];
    assert_eq!(told(&marks, &log), expected);
}

#[test]
fn a_tool_that_needs_no_permission_is_work() {
    let marks = [mark(1.0, What::Submitted), mark(20.0, What::Over)];
    let log = [
        received(1.2, 1, Some(1)),
        sent(2.0, 1, 200, true),
        received(11.0, 2, Some(1)),
        sent(12.0, 2, 200, false),
    ];
    assert_eq!(told(&marks, &log), ["1.1-12 working", "12-20 idle"]);
}

#[test]
fn an_error_is_work_until_the_agent_gives_up() {
    let marks = [mark(1.0, What::Submitted), mark(6.0, What::GaveUp), mark(10.0, What::Over)];
    let log = [
        received(1.2, 1, Some(1)),
        sent(1.3, 1, 429, false),
        received(3.0, 2, Some(1)),
        sent(3.1, 2, 429, false),
    ];
    assert_eq!(told(&marks, &log), ["1.1-1.3 working", "1.3-3.1 working", "6.1-10 limited/rate"]);
}

#[test]
fn an_interrupt_is_over_when_the_client_has_left() {
    let marks = [mark(1.0, What::Submitted), mark(5.0, What::Interrupted), mark(10.0, What::Over)];
    let left = Entry { at: 1005.4, exchange: 1, event: Event::ClientLeft };
    assert_eq!(told(&marks, &[received(1.2, 1, Some(1)), left]), ["1.1-5 working", "5.9-10 idle"]);
}

#[test]
fn a_menu_is_a_dialog_and_a_command_of_the_agents_own_is_left_out_until_it_is_over() {
    let marks = [
        mark(1.0, What::Ready),
        mark(3.0, What::Commanded { asks: false }),
        mark(3.5, What::DialogSeen { kind: "menu".into() }),
        mark(7.0, What::Answered { then: Then::Idle }),
        mark(9.0, What::Commanded { asks: true }),
        mark(12.0, What::Settled),
        mark(15.0, What::Over),
    ];
    // What is asked on the side is no turn.
    let log = [received(9.2, 1, None), sent(11.0, 1, 200, false)];
    assert_eq!(
        told(&marks, &log),
        ["1.1-3 idle", "3.6-7 blocked/menu", "7.6-9 idle", "9.1-11 working", "12.1-15 idle"]
    );
}
