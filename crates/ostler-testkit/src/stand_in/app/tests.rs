use clap::Parser as _;

use super::super::reply::ReplyKind;
use super::*;

const SIZE: Size = Size { cols: 60, rows: 24 };

/// A stand-in with a clock that the test moves.
struct Bench {
    app: App,
    now: Duration,
    effects: Vec<Effect>,
}

impl Bench {
    fn new(args: &[&str]) -> Self {
        let options = Options::parse_from(["stand-in"].iter().chain(args));
        let playbook = Playbook::new(None, options.reply.clone()).unwrap();
        let mut bench = Self { app: App::new(options, playbook), now: Duration::ZERO, effects: vec![] };
        bench.handle(Event::Started { pid: 1 });
        bench
    }

    fn handle(&mut self, event: Event) {
        self.effects.extend(self.app.handle(self.now, event));
    }

    fn send(&mut self, text: &str) -> &mut Self {
        self.handle(Event::Read(text.as_bytes().to_vec()));
        self
    }

    /// Lets the time pass, waking only at deadlines.
    fn pass(&mut self, millis: u64) -> &mut Self {
        let end = self.now + Duration::from_millis(millis);
        while let Some(due) = self.app.deadline().filter(|&due| due <= end && self.exit().is_none()) {
            self.now = self.now.max(due);
            self.handle(Event::Tick);
        }
        self.now = end;
        self
    }

    fn log(&self) -> Vec<&Record> {
        let record = |effect| match effect {
            &Effect::Log(Record::Bytes { .. } | Record::Started { .. }) => None,
            Effect::Log(record) => Some(record),
            _ => None,
        };
        self.effects.iter().filter_map(record).collect()
    }

    fn submitted(&self) -> Vec<&str> {
        self.log()
            .into_iter()
            .filter_map(|record| match record {
                Record::Submitted { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    fn exit(&self) -> Option<(u8, Ending)> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Exit { code, ending } => Some((*code, *ending)),
            _ => None,
        })
    }

    fn screen(&self) -> String {
        self.app.render(SIZE).text()
    }

    fn written(&self) -> String {
        let bytes = |effect: &Effect| match effect {
            Effect::Write(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        };
        self.effects.iter().map(bytes).collect()
    }
}

#[test]
fn a_message_is_taken_answered_and_done() {
    let mut bench = Bench::new(&[]);
    bench.send("\x1b[200~hello\nthere\x1b[201~");
    assert!(bench.screen().contains("│ > hello "), "{}", bench.screen());
    bench.send("\r");
    assert!(bench.screen().contains("Working… (0s · esc to interrupt)"));
    bench.pass(1000);
    assert_eq!(bench.submitted(), ["hello\nthere"]);
    assert_eq!(bench.log().last(), Some(&&Record::Done { outcome: "done" }));
    assert!(bench.screen().contains("● ok: hello there"), "{}", bench.screen());
    assert!(bench.screen().contains("? for shortcuts"));
    assert_eq!(bench.app.deadline(), None);
}

#[test]
fn keys_that_submit_and_keys_that_do_not() {
    let table: &[(&[&str], &[&str], &[&str])] = &[
        (&[], &["a\r"], &["a"]),
        (&[], &["a\nb", "\r"], &["a\nb"]),
        (&[], &["a\x1b[13u"], &["a"]),
        (&[], &["ab\x7f", "\r"], &["a"]),
        (&[], &["ab\x15c", "\r"], &["c"]),
        (&[], &["\r", " \r"], &[]),
        (&["--draft", "half "], &["done\r"], &["half done"]),
        (&["--ghost=do it"], &["\r"], &["do it"]),
        (&["--ghost=do it"], &["x\r"], &["x"]),
        (&["--swallow-enter", "2"], &["a\r\r"], &[]),
        (&["--swallow-enter", "2"], &["a\r\r\r"], &["a"]),
        (&["--paste-burst", "100"], &["a\r"], &[]),
        (&["--collapse-pastes", "3"], &["\x1b[200~a\nb\nc\x1b[201~", "\r"], &["a\nb\nc"]),
        (&["--lie"], &["a\r"], &[]),
        (&["--ready-after", "9"], &["a\r"], &[]),
        (&["--swallow-early", "9"], &["a\r"], &[]),
        (&["--trust-dialog"], &["a\x1b[200~b\x1b[201~"], &[]),
        (&["first"], &[], &["first"]),
    ];
    for (args, reads, submitted) in table {
        let mut bench = Bench::new(args);
        for read in *reads {
            bench.send(read);
        }
        assert_eq!(bench.submitted(), *submitted, "{args:?} {reads:?}");
    }
}

#[test]
fn an_enter_after_the_burst_submits() {
    let mut bench = Bench::new(&["--paste-burst", "100"]);
    bench.send("a\r").pass(99).send("\r").pass(100).send("\r");
    assert_eq!(bench.submitted(), ["a\n\n"]);
}

#[test]
fn keys_that_are_ignored_are_told_unless_quietly() {
    let mut bench = Bench::new(&["--swallow-enter", "1"]);
    bench.send("a").send("\r");
    assert!(bench.screen().contains("Not yet, try again (0 s ago)"), "{}", bench.screen());
    bench.pass(4_999);
    assert!(bench.screen().contains("Not yet, try again (4 s ago)"), "{}", bench.screen());
    bench.pass(1);
    assert!(bench.screen().contains("? for shortcuts") && bench.app.deadline().is_none());
    let mut bench = Bench::new(&["--swallow-early", "9000"]);
    bench.pass(100).send("a");
    assert!(bench.screen().contains("Not yet, try again"), "{}", bench.screen());
    bench.pass(5_000);
    assert!(bench.screen().contains("  Loading"), "{}", bench.screen());
    bench.pass(3_900);
    assert!(bench.screen().contains("? for shortcuts") && bench.app.deadline().is_none());
    for args in [["--swallow-enter", "1"], ["--swallow-early", "2000"]] {
        let mut bench = Bench::new(&[&args[..], &["--ignore-quietly"]].concat());
        let before = bench.send("").screen();
        bench.send("\r");
        assert_eq!((bench.screen(), bench.app.deadline()), (before, None), "{args:?}");
    }
}

#[test]
fn typed_text_before_ready_is_kept_without_its_enter() {
    let mut bench = Bench::new(&["--ready-after", "500"]);
    bench.send("early\r");
    assert_eq!(bench.screen(), "");
    bench.pass(500);
    assert!(bench.screen().contains("│ > early "));
    bench.send("\r");
    assert_eq!(bench.submitted(), ["early"]);
}

#[test]
fn messages_sent_while_working_wait_their_turn() {
    let mut bench = Bench::new(&[]);
    bench.send("!work 1s\r").send("second\r");
    assert!(bench.screen().contains("> second"));
    assert_eq!(bench.submitted(), ["!work 1s", "second"]);
    bench.pass(5000);
    assert!(bench.screen().contains("● ok: second"));
    assert_eq!(bench.log().iter().filter(|record| matches!(record, Record::Turn { .. })).count(), 2);
}

#[test]
fn dialogs_of_the_start() {
    let down = "\x1b[B";
    let table: &[(&[&str], Option<u8>, &str)] = &[
        (&["\r"], Some(1), "No, exit"),
        (&[down, "\r"], None, "Yes, I trust this folder"),
        // The arrow is not applied before the Enter of the same read.
        (&["\x1b[B\r"], Some(1), "No, exit"),
        (&["2", "y", "\r"], Some(1), "No, exit"),
    ];
    for (reads, code, choice) in table {
        let mut bench = Bench::new(&["--trust-dialog"]);
        for read in *reads {
            bench.send(read);
        }
        assert_eq!(bench.exit().map(|(code, _)| code), *code, "{reads:?}");
        assert!(bench.log().contains(&&Record::Answered { kind: "trust", choice }), "{reads:?}");
    }
}

#[test]
fn answers_to_a_permission() {
    let table: &[(&[&str], Option<&str>, &str)] = &[
        (&["1"], Some("Yes"), ""),
        (&["3"], Some("No"), ""),
        (&["\r"], Some("Yes"), ""),
        (&["\x1b[B", "\r"], Some("Yes, and always allow this command"), ""),
        (&["stop it, try again"], Some("Yes"), "again"),
        (&["\x1b[200~yes\x1b[201~"], None, ""),
    ];
    for (reads, choice, left) in table {
        let mut bench = Bench::new(&[]);
        bench.send("!permission rm x\r");
        assert!(bench.screen().contains("Do you want to proceed?") && bench.screen().contains("❯ 1. Yes"));
        for read in *reads {
            bench.send(read);
        }
        let answered = bench.log().into_iter().find_map(|record| match record {
            Record::Answered { choice, .. } => Some(*choice),
            _ => None,
        });
        assert_eq!(answered, *choice, "{reads:?}");
        assert!(bench.app.composer.visible(bench.now, 99).contains(left), "{reads:?}");
    }
}

#[test]
fn escape_and_interrupts() {
    let mut bench = Bench::new(&["--restore-draft"]);
    bench.send("!work 9s\r").pass(100).send("\x1b").pass(100);
    assert!(bench.log().contains(&&Record::Interrupted));
    assert_eq!(bench.app.composer.visible(bench.now, 99), "!work 9s");
    bench.send("\x03").pass(2001).send("\x03");
    assert_eq!(bench.exit(), None);
    bench.send("\x03");
    assert_eq!(bench.exit(), Some((0, Ending::Clean)));
}

#[test]
fn ways_to_end() {
    let table: &[(&[&str], &str, (u8, Ending))] = &[
        (&[], "/exit\r", (0, Ending::Clean)),
        (&[], "!exit 7\r", (7, Ending::Clean)),
        (&[], "!crash\r", (137, Ending::Killed)),
        (&["--die-on-submit", "--exit-code", "9"], "x\r", (9, Ending::Abrupt)),
        (&["--die-after", "800", "--die-signal"], "", (1, Ending::Killed)),
    ];
    for (args, keys, end) in table {
        let mut bench = Bench::new(args);
        bench.send(keys).pass(1000);
        assert_eq!(bench.exit(), Some(*end), "{args:?} {keys}");
    }
}

#[test]
fn silence_draws_nothing() {
    let mut bench = Bench::new(&[]);
    bench.send("!silent 15s\r");
    bench.effects.clear();
    bench.pass(14_000).send("x");
    assert!(!bench.effects.contains(&Effect::Draw), "{:?}", bench.effects);
    assert_eq!(bench.written(), "");
}

#[test]
fn typed_text_is_echoed_late() {
    let mut bench = Bench::new(&["--slow-echo", "300"]);
    bench.send("hello");
    assert!(!bench.screen().contains("hello"));
    bench.pass(300);
    assert!(bench.screen().contains("hello"));
}

#[test]
fn status_follows_the_state() {
    let mut bench = Bench::new(&["--status"]);
    bench.send("!permission\r").pass(100).send("1").pass(2000).send("!error 401\r").pass(100).send("/exit\r");
    let written = bench.written();
    let states: Vec<_> =
        written.split("]7501;state=").skip(1).map(|rest| rest.split('\x1b').next().unwrap()).collect();
    assert_eq!(
        states,
        [
            "idle:app=stand-in",
            "blocked:app=stand-in:kind=permission",
            "working:app=stand-in",
            "done:app=stand-in",
            "blocked:app=stand-in:kind=auth",
            "clear:app=stand-in",
        ]
    );
}

#[test]
fn status_waits_for_the_answer_to_its_query() {
    let mut bench = Bench::new(&["--status=answered"]);
    assert!(bench.written().ends_with("\x1b]7501;?\x1b\\\x1b]0;✳ Stand-in\x1b\\"));
    bench.send("\x1b]7501;?\x1b\\");
    assert!(bench.written().contains("state=idle"));
    let reply =
        |record: &&Record| matches!(record, Record::Reply(reply) if reply.kind == ReplyKind::ProgramStatus);
    assert!(bench.log().iter().any(reply));
    assert!(bench.app.composer.is_empty());
}

#[test]
fn the_transcript_shows_only_the_start_of_a_long_prompt() {
    let mut bench = Bench::new(&[]);
    bench.send(&format!("\x1b[200~{}\x1b[201~\r", "line\n".repeat(30))).pass(1000);
    assert!(bench.screen().contains("… +22 lines"), "{}", bench.screen());
}

#[test]
fn files_are_written_by_the_shell() {
    let mut bench = Bench::new(&[]);
    bench.send("!write out.txt some text\r").pass(1000);
    assert!(
        bench.effects.contains(&Effect::WriteFile { file: "out.txt".into(), content: "some text".into() })
    );
}
