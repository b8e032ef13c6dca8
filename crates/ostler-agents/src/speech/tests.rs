use super::*;

fn speech(prompt: &str, reply: &str) -> Speech {
    Speech { prompt: Regex::new(prompt).unwrap(), reply: Regex::new(reply).unwrap() }
}

fn asks(prompt: &str, reply: &str, rows: &str) -> bool {
    let rows: Vec<&str> = rows.lines().collect();
    requests_context(&rows, Some(&speech(prompt, reply)))
}

#[test]
fn a_wish_counts_only_in_the_last_reply() {
    let asks = |rows| asks("^❯ ", "^● ", rows);
    assert!(asks("❯ go on\n\n● ->continuity:load"));
    assert!(asks("❯ go on\n\n● I do not know this project.\n\n  ->continuity:load\n"));
    assert!(asks("● earlier\n❯ go on\n● ->continuity:load\n✻ Worked for 4s"));
    // What was typed: in its first row and in the rows behind it.
    assert!(!asks("❯ ->continuity:load"));
    assert!(!asks("❯ if you need it, print\n  ->continuity:load\n\n  on a line of its own"));
    assert!(!asks("❯ print\n  ->continuity:load\n\n● I will if I need to."));
    // It was answered: something was typed since.
    assert!(!asks("● ->continuity:load\n\n❯ here it is"));
    // Beside other words, in what a tool printed, in a list, above all that is known.
    assert!(!asks("● I could print ->continuity:load"));
    assert!(!asks("● Bash(cat notes)\n  ⎿  one\n     ->continuity:load"));
    assert!(!asks("● one\n  - ->continuity:load"));
    assert!(!asks("  ->continuity:load\n❯ go on"));
    assert!(!asks("  ->continuity:load"));
}

#[test]
fn agents_without_marks_are_understood_too() {
    let bars = |rows| asks("^  ┃", "^ {5}", rows);
    assert!(bars("  ┃\n  ┃  go on\n  ┃\n\n     ->continuity:load\n\n     ▣  Build"));
    assert!(!bars("  ┃\n  ┃  say\n  ┃  ->continuity:load\n  ┃\n\n     no"));
    assert!(!bars("  ┃  go on\n\n       ->continuity:load"));
    let plain = |rows| asks("^([a-z]+)?> ", "^$", rows);
    assert!(plain("diff> go on\n\n->continuity:load\n\nTokens: 2k"));
    assert!(!plain("diff> say\n->continuity:load\n\nno"));
}

#[test]
fn a_prompt_with_such_a_line_is_known() {
    assert!(quotes_request("one\n\n  ->continuity:load\n"));
    assert!(!quotes_request("go on"));
    assert!(!quotes_request("print ->continuity:load"));
    assert!(!requests_context(&["->continuity:load"], None));
}

#[test]
fn written_text_asks_by_a_line_of_its_own() {
    assert!(text_requests_context("I need more.\n\n->continuity:load\n"));
    for text in [
        "",
        "`->continuity:load`",
        "print ->continuity:load",
        "> ->continuity:load",
        "```\n->continuity:load\n```\nis how",
        "->continuity:loads",
    ] {
        assert!(!text_requests_context(text), "{text:?}");
    }
    assert!(text_requests_context("```\ncode\n```\n->continuity:load"));
}

#[test]
fn an_acknowledgement_is_a_line_that_begins_with_it() {
    let ids = ["c-12", "c-1", "c-123"];
    let table = [
        ("● ACK: c-12", Some("c-12")),
        ("  ACK: c-123", Some("c-123")),
        ("- ACK: c-1", Some("c-1")),
        (" ● ACK: c-12                              █", Some("c-12")),
        ("ACK: c-12. Ready.", Some("c-12")),
        ("**ACK: c-12**", Some("c-12")),
        ("`ACK: c-12`", Some("c-12")),
        ("Ack: `c-12`", Some("c-12")),
        ("     ACK:c-12", Some("c-12")),
        // Requests, quotes, prompts, strangers.
        ("[END CONTEXT - reply \"ACK: c-12\"]", None),
        ("\"ACK: c-12\"]", None),
        ("ACK: c-12\"]", None),
        ("❯ ACK: c-12", None),
        ("> ACK: c-12", None),
        ("› ACK: c-12", None),
        ("┃  ACK: c-12", None),
        ("│ ACK: c-12 │", None),
        ("diff> ACK: c-12", None),
        ("I reply ACK: c-12", None),
        ("ACK: c-1234", None),
        ("ACK: c-12-x", None),
        ("ACK: ", None),
        ("NACK: c-12", None),
    ];
    for (row, expected) in table {
        assert_eq!(acknowledged(&[row], None, &ids, &[]), expected, "{row:?}");
        assert!(
            expected.is_none()
                || text_acknowledges(&format!("Hello.\n{row}\n"), &ids, &[]).is_some()
                || row.contains('█')
        );
    }
    assert_eq!(acknowledged(&["ACK: "], None, &[""], &[]), None);
}

#[test]
fn an_acknowledgement_counts_only_in_the_last_reply_where_that_is_known() {
    let known = speech("^❯ ", "^● ");
    let heard = |rows: &str| {
        let rows: Vec<&str> = rows.lines().collect();
        acknowledged(&rows, Some(&known), &["c-1"], &[])
    };
    assert_eq!(heard("❯ go on\n\n● ACK: c-1"), Some("c-1"));
    assert_eq!(heard("❯ go on\n\n● I read it.\n\n  ACK: c-1\n"), Some("c-1"));
    // What was typed, and what a tool printed.
    assert_eq!(heard("❯ do this and reply\n  ACK: c-1"), None);
    assert_eq!(heard("❯ do this and reply\n  ACK: c-1\n\n● Not yet."), None);
    assert_eq!(heard("● Bash(cat notes)\n  ⎿  one\n     ACK: c-1"), None);
    assert_eq!(heard("  ACK: c-1"), None);
}

#[test]
fn a_request_is_no_acknowledgement_however_it_is_broken() {
    let request = "[CONTEXT c-12 - please acknowledge] go on [END CONTEXT - reply \"ACK: c-12\"]";
    let characters: Vec<char> = request.chars().collect();
    for width in 9..characters.len() {
        for lead in 0..width {
            // Broken anywhere, and between words; behind any prefix of the same text.
            let shifted: Vec<char> =
                std::iter::repeat_n('x', lead).chain(characters.iter().copied()).collect();
            let hard: Vec<String> = shifted.chunks(width).map(|row| row.iter().collect()).collect();
            assert_eq!(acknowledged(&hard, None, &["c-12"], &[]), None, "{hard:?}");
        }
        let mut soft = vec![String::new()];
        for word in request.split(' ') {
            let row = soft.last_mut().unwrap();
            if row.len() + word.len() < width {
                row.push(' ');
                row.push_str(word);
            } else {
                soft.push(format!("  {word}"));
            }
        }
        assert_eq!(acknowledged(&soft, None, &["c-12"], &[]), None, "{soft:?}");
    }
}

#[test]
fn an_agent_may_confirm_in_words_of_its_own() {
    let words = ["VU:".to_owned(), "Received".to_owned(), String::new()];
    let heard = |line: &str| text_acknowledges(line, &["c-1"], &words);
    for line in ["VU: c-1", "- Received c-1.", "ACK: c-1"] {
        assert_eq!(heard(line), Some("c-1"), "{line:?}");
    }
    for line in ["c-1", "VU c-1", "I have VU: c-1", "Received c-12"] {
        assert_eq!(heard(line), None, "{line:?}");
    }
    assert_eq!(text_acknowledges("VU: c-1", &["c-1"], &[]), None);
}
