//! The one line that says best what is wrong.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// Longer lines are cut.
const LONGEST: usize = 300;

/// Lines that a compiler or a linter writes about one place, without the tool's own summary.
static COMPILERS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        // rustc and what speaks like it.
        r"^error(\[[A-Z]+\d+\])?: .",
        // cc: `file:line:column: error: ...`; tsc: `file(line,column): error TS...` or `file:line:column - error TS...`.
        r"^\S.*?[:(]\d+(?:[:,]\d+)?\)?(?::| -) (?:fatal )?error\b",
        // go: `./file.go:line:column: ...`.
        r"^\S+\.go:\d+:\d+: .",
    ])
});

/// Lines that name a failed test, or the assertion in it.
static TESTS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"^FAILED \S+::.* - .",
        r"^thread '.*' (?:\(\d+\) )?panicked at ",
        r"^--- FAIL: .",
        r"^\s*● .",
        r"^\s*(?:E\s+)?\w*Assertion\w*Error\b",
        r"^not ok \d",
    ])
});

/// Lines that end a program.
static EXCEPTIONS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"^(?:E\s+)?(?:Uncaught )?(?:\w+\.)*\w*(?:Error|Exception)(?: \[\w+\])?: .",
        r"^(?:E\s+)?(?:\w+\.)*\w+(?:Error|Exception)$",
        r"^panic: .",
        r"^fatal: .",
    ])
});

/// Lines that say that something has failed, and hardly more.
static COMPLAINTS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"^FAILED \S",
        r"^FAIL:? +\S",
        r"^ERROR:? +\S",
        r"(?i)^(?:\S+ )?(?:error|fatal|failure)(?:\[\S+\])?:? +\S",
        r"^\S+: \*\*\* ",
        r"(?i)\b(?:not found|no such file or directory|permission denied)$",
    ])
});

/// Lines in which words of failure mean nothing, or nothing that the lines before did not say better.
static SUMMARIES: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"(?i)\b(?:0|no) (?:\w+ )?(?:failed|failures?|failing|errors?)\b",
        r"^error: (?:test failed|could not compile|aborting due to|\d+ targets? failed|process didn't exit|build failed)",
        r"^error: Recipe ",
        r"^FAILED \(",
    ])
});

/// What differs from run to run although nothing else does.
static PASSING: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?P<thread>^thread '.*') \(\d+\)|\s*\(\d+(?:\.\d+)? ?m?s\)$"));
static COLOURS: LazyLock<Regex> =
    LazyLock::new(|| expression(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"));

#[expect(clippy::expect_used, reason = "the expressions are constants, and every one is used in the tests")]
fn set(expressions: &[&str]) -> RegexSet {
    RegexSet::new(expressions).expect("a constant expression")
}

#[expect(clippy::expect_used, reason = "the expressions are constants, and every one is used in the tests")]
fn expression(expression: &str) -> Regex {
    Regex::new(expression).expect("a constant expression")
}

/// Finds the line of a failed program's output that says best what is wrong: what a compiler says of a place,
/// else a failed test with its reason, else an exception, else a complaint, else the last thing it said.
///
/// Numbers that change from run to run (threads, durations) are taken out, so that equal failures read equal.
pub fn first_error(stdout: &str, stderr: &str) -> Option<String> {
    let streams = [cleaned(stderr), cleaned(stdout)];
    for kind in [&COMPILERS, &TESTS, &EXCEPTIONS, &COMPLAINTS] {
        for lines in &streams {
            let is_meant = |line: &String| kind.is_match(line) && !SUMMARIES.is_match(line);
            if let Some(at) = lines.iter().position(is_meant) {
                return Some(shortened(&with_reason(lines, at)));
            }
        }
    }
    streams.iter().find_map(|lines| lines.last()).map(|line| shortened(line))
}

/// Lines without colours and without what was overwritten on the same line; no empty ones.
fn cleaned(text: &str) -> Vec<String> {
    let text = COLOURS.replace_all(text, "");
    let lines = text.split('\n').map(|line| {
        let line = line.trim_end();
        line.rsplit('\r').next().unwrap_or(line).trim_end().to_owned()
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// A line and, where it only announces, the one that goes on.
fn with_reason(lines: &[String], at: usize) -> String {
    let line = lines[at].trim();
    let next = lines.get(at + 1).map_or("", |next| next.trim());
    let place = next.strip_prefix("--> ");
    let announces = line.starts_with("thread '") || line.starts_with("--- FAIL: ") || line.starts_with("● ");
    match place {
        Some(place) => format!("{line} ({place})"),
        None if announces && !next.is_empty() => {
            let head = PASSING.replace(line, "$thread");
            format!("{}: {next}", head.trim_end_matches(':'))
        }
        None => line.strip_prefix("E ").unwrap_or(line).trim_start().to_owned(),
    }
}

fn shortened(line: &str) -> String {
    let line = PASSING.replace(line.trim(), "$thread");
    let plain = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut text: String = plain.take(LONGEST).collect();
    if line.chars().count() > LONGEST {
        text.pop();
        text.push('\u{2026}');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(name: &str) -> (String, String) {
        let read = |stream: &str| {
            let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/outputs");
            std::fs::read_to_string(format!("{dir}/{name}.{stream}")).unwrap_or_default()
        };
        let streams = (read("stdout"), read("stderr"));
        assert!(!(streams.0.is_empty() && streams.1.is_empty()), "{name}");
        streams
    }

    #[test]
    fn real_programs_are_understood() {
        let table = [
            ("cargo-compile", "error[E0277]: cannot add `&str` to `i32` (src/lib.rs:2:7)"),
            (
                "cargo-test",
                "thread 'tests::adds' panicked at src/lib.rs:8:17: assertion `left == right` failed: the sum",
            ),
            ("pytest", "FAILED test_a.py::test_sum - assert (1 + 1) == 3"),
            ("pytest-import", "ModuleNotFoundError: No module named 'nosuchmodule'"),
            ("unittest", "AssertionError: 1 != 2"),
            ("python-traceback", "KeyError: 'key'"),
            ("jest", "● adds: expect(received).toBe(expected) // Object.is equality"),
            ("vitest", "AssertionError: expected 3 to be 4 // Object.is equality"),
            ("mocha", "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:"),
            ("tsc", "t/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'."),
            ("tsc-pretty", "t/a.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'."),
            ("node", "TypeError: Cannot read properties of undefined (reading 'x')"),
            ("npm", "npm error Missing script: \"nosuch\""),
            ("go-test", "--- FAIL: TestAdd: a_test.go:9: got 3, want 4"),
            ("go-compile", "./a.go:4:9: undefined: undefinedThing"),
            ("make", "main.c:2:12: error: \u{2018}x\u{2019} undeclared (first use in this function)"),
            ("make-norule", "make: *** No rule to make target 'nosuch'.  Stop."),
            ("sh", "sh: 1: nosuchprogram: not found"),
        ];
        for (name, expected) in table {
            let (stdout, stderr) = output(name);
            assert_eq!(first_error(&stdout, &stderr).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn words_of_failure_in_a_good_line_mean_nothing() {
        let good = "12 passed, 0 failed\nFound 0 errors\nno errors\nall done";
        assert_eq!(first_error(good, "").as_deref(), Some("all done"));
        assert_eq!(
            first_error("0 failed", "the disk is on strike\n\n").as_deref(),
            Some("the disk is on strike")
        );
        assert_eq!(first_error("", ""), None);
        assert_eq!(first_error(" \n", "\x1b[0m\n"), None);
    }

    #[test]
    fn the_result_is_one_short_line_that_reads_the_same_next_time() {
        let long = format!("error: {}", "x".repeat(5000));
        assert_eq!(first_error("", &long).map(|line| line.chars().count()), Some(LONGEST));
        assert_eq!(first_error("", "10%\r50%\rerror: bad\tthing\r\n").as_deref(), Some("error: bad thing"));
        let run = |thread: u32, time: &str| {
            let text = format!("thread 'a' ({thread}) panicked at x:1:2:\nboom\n--- FAIL: T ({time}s)\n");
            first_error(&text, "")
        };
        assert_eq!(run(1, "0.01"), run(2, "1.23"));
        let go = |time: &str| first_error(&format!("--- FAIL: T ({time}s)\nFAIL\n"), "");
        assert_eq!(go("0.01"), go("7.00"));
    }
}
