use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

const END: &str = "--- END CONTEXT ---";
const TITLES: [&str; 3] =
    ["--- PROVIDER SWITCH CONTEXT ---", "--- RETRY CONTEXT ---", "--- HELPER AGENT CONTEXT ---"];

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// The blocks of the design's examples.
fn examples() -> [String; 3] {
    let created =
        strings(&["src/auth/login.ts", "src/auth/session.ts", "tests/login.test.ts", "left/out.ts"]);
    let modified = strings(&["src/index.ts", "package.json"]);
    let errors = strings(&[
        "File src/auth/token.ts does not exist",
        "Test suite failed: 2 tests",
        "Missing export: login",
        "left out",
    ]);
    let settings = Settings::default();
    let switch = provider_switch(
        &ProviderSwitch {
            provider: "gemini",
            reason: "rate limit exceeded",
            created: &created,
            modified: &modified,
            error: Some("File src/auth/token.ts does not exist"),
        },
        &settings,
    );
    let again = retry(
        &Retry { attempt: 2, errors: &errors, created: &created[..1], modified: &modified[..1] },
        &settings,
    );
    let failed = |number, files| Failed { number, files, error: "Test suite failed" };
    let attempts = [failed(1, &modified[..]), failed(2, &created[..1]), failed(3, &[])];
    [switch, again, helper(&Helper { attempts: &attempts, unverified: false }, &settings)]
}

#[test]
fn blocks_have_their_exact_form() {
    let [switch, again, helper] = examples();
    assert_eq!(
        switch,
        "--- PROVIDER SWITCH CONTEXT ---\n\
         Previous provider (gemini) failed: rate limit exceeded\n\
         Previous attempt created: src/auth/login.ts, src/auth/session.ts, tests/login.test.ts\n\
         Previous attempt modified: src/index.ts, package.json\n\
         Validation error: \"File src/auth/token.ts does not exist\"\n\
         Continue from where gemini left off. Avoid recreating existing files.\n\
         --- END CONTEXT ---\n\n"
    );
    assert_eq!(
        again,
        "--- RETRY CONTEXT ---\n\
         Attempt #2 - Previous validation failures:\n\
         - File src/auth/token.ts does not exist\n\
         - Test suite failed: 2 tests\n\
         - Missing export: login\n\
         Already created: src/auth/login.ts\n\
         Already modified: src/index.ts\n\
         Focus on fixing validation failures listed above.\n\
         --- END CONTEXT ---\n\n"
    );
    assert_eq!(
        helper,
        "--- HELPER AGENT CONTEXT ---\n\
         Attempt #3 (2 previous retries) - validation failed\n\
         Attempt 2 touched: src/auth/login.ts - error: \"Test suite failed\"\n\
         Attempt 3 touched: no files - error: \"Test suite failed\"\n\
         Task appears stuck in validation loop - try different approach\n\
         Generate commands to verify ALL failed criteria from ALL attempts.\n\
         --- END CONTEXT ---\n\n"
    );
}

#[test]
fn a_helper_is_not_told_of_a_failure_where_there_is_none() {
    let files = strings(&["a.txt"]);
    let attempts =
        [Failed { number: 1, files: &files, error: "E1" }, Failed { number: 2, files: &files, error: "" }];
    assert_eq!(
        helper(&Helper { attempts: &attempts, unverified: true }, &Settings::default()),
        "--- HELPER AGENT CONTEXT ---\n\
         Attempt #2 (1 previous retries) - criteria not verified\n\
         Attempt 1 touched: a.txt - error: \"E1\"\n\
         Attempt 2 touched: a.txt\n\
         Generate commands to verify ALL criteria.\n\
         --- END CONTEXT ---\n\n"
    );
}

#[test]
fn the_examples_are_cheap() {
    // The tables of a public tokenizer make these 82, 68 and 80.
    assert_eq!(examples().map(|block| tokens(&block)), [80, 70, 80]);
}

#[test]
fn tokens_are_estimated() {
    let table = [
        ("", 0),
        ("word", 1),
        ("src/auth/login.ts", 4),
        ("understandably", 2),
        ("123456", 2),
        ("---", 1),
        ("a, b", 3),
        ("\"#", 2),
        ("a\n\nb", 4),
        ("日本", 4),
    ];
    for (text, expected) in table {
        assert_eq!(tokens(text), expected, "{text:?}");
    }
}

#[test]
fn long_errors_get_shorter_before_files_are_left_out() {
    let errors = strings(&[
        "error[E0308]: mismatched types --> crates/core/src/pre_context.rs:120:17 expected `usize`, found `u32`",
        "thread 'main' panicked at 'assertion failed: `(left == right)`', src/main.rs:4:5",
        "TypeError: Cannot read properties of undefined (reading 'map')",
    ]);
    let files = strings(&["src/a.rs", "src/b.rs", "src/c.rs"]);
    let block = retry(
        &Retry { attempt: 2, errors: &errors, created: &files, ..Default::default() },
        &Settings::default(),
    );
    assert!(block.contains("\n- error[E0308]: mismatched types --"), "{block}");
    assert!(block.contains("…\n- TypeError"), "{block}");
    assert!(block.contains("Already created: src/a.rs, src/b.rs"), "{block}");
}

#[test]
fn what_is_not_known_is_not_said() {
    let settings = Settings::default();
    assert_eq!(
        provider_switch(&ProviderSwitch { provider: "a", reason: "crash", ..Default::default() }, &settings),
        "--- PROVIDER SWITCH CONTEXT ---\n\
         Previous provider (a) failed: crash\n\
         Continue from where a left off. Avoid recreating existing files.\n\
         --- END CONTEXT ---\n\n"
    );
    let errors = strings(&["", "  \n", "it fails"]);
    assert_eq!(
        retry(&Retry { attempt: 3, errors: &errors, ..Default::default() }, &settings),
        "--- RETRY CONTEXT ---\n\
         Attempt #3 - Previous validation failures:\n\
         - it fails\n\
         Focus on fixing validation failures listed above.\n\
         --- END CONTEXT ---\n\n"
    );
    let one = [Failed { number: 1, files: &[], error: "" }];
    assert_eq!(
        helper(&Helper { attempts: &one, unverified: false }, &settings),
        "--- HELPER AGENT CONTEXT ---\n\
         Attempt #1 (0 previous retries) - validation failed\n\
         Generate commands to verify ALL failed criteria from ALL attempts.\n\
         --- END CONTEXT ---\n\n"
    );
    assert_eq!(provider_switch(&ProviderSwitch::default(), &settings), "");
    assert_eq!(retry(&Retry { attempt: 2, created: &errors, ..Default::default() }, &settings), "");
    assert_eq!(helper(&Helper::default(), &settings), "");
}

#[test]
fn only_three_equal_errors_are_a_loop() {
    let table: [(&[&str], bool); 6] = [
        (&["a", "a"], false),
        (&["a", "a", "a"], true),
        (&["b", "a", "a", "a"], true),
        (&["a", "a", "b"], false),
        (&["a", "b", "a", "a"], false),
        (&["", "", ""], false),
    ];
    for (errors, expected) in table {
        let attempts: Vec<Failed<'_>> =
            (1..).zip(errors).map(|(number, error)| Failed { number, files: &[], error }).collect();
        let block = helper(&Helper { attempts: &attempts, unverified: false }, &Settings::default());
        assert_eq!(block.contains("stuck in validation loop"), expected, "{errors:?}");
    }
}

#[test]
fn an_item_is_one_short_harmless_line() {
    let table = [
        ("one\ntwo\r\n\tthree", "one two three"),
        ("  spaces   around  ", "spaces around"),
        ("say \"no\"", "say 'no'"),
        ("\x1b[31mred\x1b[0m\x07", "[31mred [0m"),
        ("--- END CONTEXT ---", "-- END CONTEXT --"),
        ("-\u{200b}-\u{200b}-\u{200b}- x", "-- x"),
        ("- - -", "- - -"),
        ("a\u{202e}b\u{2028}c\u{85}d", "ab c d"),
        ("日本語", "日本語"),
        ("1234567890123456789012345", "1234567890123456789…"),
        ("1234567890123456789 12345", "1234567890123456789…"),
        ("12345678901234567890", "12345678901234567890"),
    ];
    for (text, expected) in table {
        let mut folded = String::new();
        fold(text, 20, &mut folded);
        assert_eq!(folded, expected, "{text:?}");
    }
    let mut name = String::new();
    fold_name("a/very/long/path/to/the/file.rs", 12, &mut name);
    assert_eq!(name, "…the/file.rs");
    let huge = "é".repeat(5_000) + "/end.rs";
    name.clear();
    fold_name(&huge, 12, &mut name);
    assert_eq!(name, "…éééé/end.rs");
}

#[test]
fn too_many_lines_lose_the_least_useful_ones() {
    let (files, errors) = (strings(&["f"]), strings(&["e1", "e2", "e3"]));
    let lines = |max_lines| {
        let settings = Settings { max_lines, ..Settings::default() };
        let block =
            retry(&Retry { attempt: 2, errors: &errors, created: &files, modified: &files }, &settings);
        block.trim_end().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (first, last) =
        ("Attempt #2 - Previous validation failures:", "Focus on fixing validation failures listed above.");
    let title = TITLES[1];
    assert_eq!(lines(8), [title, first, "- e1", "- e2", "- e3", "Already modified: f", last, END]);
    assert_eq!(lines(6), [title, first, "- e1", "- e2", last, END]);
    assert_eq!(lines(5), [title, first, "- e1", last, END]);
    assert_eq!(lines(4), [title, first, "- e1", END]);
    assert_eq!(lines(3), [title, first, END]);
    for too_few in [0, 1, 2] {
        assert!(lines(too_few).is_empty());
    }
}

#[test]
fn settings_are_obeyed() {
    let files = strings(&["a", "b", "c", "d"]);
    let switch = ProviderSwitch { provider: "p", reason: "r", created: &files, ..Default::default() };
    for (max_files, expected) in [(1, "created: a\n"), (2, "created: a, b\n"), (9, "created: a, b, c, d\n")] {
        let settings = Settings { max_files, ..Settings::default() };
        assert!(provider_switch(&switch, &settings).contains(expected), "{max_files}");
    }
    let none = Settings { max_files: 0, ..Settings::default() };
    assert!(!provider_switch(&switch, &none).contains("created"));
    let attempts = [1, 2, 3].map(|number| Failed { number, files: &files, error: "e" });
    let told = |helper_max_attempts| {
        let settings = Settings { helper_max_attempts, max_files: 0, ..Settings::default() };
        helper(&Helper { attempts: &attempts, unverified: false }, &settings)
            .matches("touched: 4 files")
            .count()
    };
    assert_eq!([0, 1, 2, 3, 9].map(told), [0, 1, 2, 3, 3]);
    let off = Settings { enabled: false, ..Settings::default() };
    assert_eq!(provider_switch(&switch, &off), "");
    let some = Settings { types: vec![Kind::Retry], ..Settings::default() };
    assert_eq!(provider_switch(&switch, &some), "");
    assert_eq!(helper(&Helper { attempts: &attempts, unverified: false }, &some), "");
    assert_ne!(retry(&Retry { attempt: 2, errors: &files, ..Default::default() }, &some), "");
}

#[test]
fn the_environment_is_heard() {
    let heard = |variables: &[(&str, &str)]| {
        Settings::default().with_environment(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    };
    assert_eq!(heard(&[]), Ok(Settings::default()));
    assert_eq!(heard(&[("PRE_CONTEXT_MAX_LINES", " ")]), Ok(Settings::default()));
    let all = [
        ("ENABLE_PRE_CONTEXT_INJECTION", "False"),
        ("PRE_CONTEXT_MAX_LINES", "6"),
        ("PRE_CONTEXT_TYPES", "retry, helper"),
        ("HELPER_CONTEXT_MAX_ATTEMPTS", "1"),
        ("PRE_CONTEXT_MAX_FILES", "2"),
    ];
    assert_eq!(
        heard(&all),
        Ok(Settings {
            enabled: false,
            max_lines: 6,
            types: vec![Kind::Retry, Kind::Helper],
            helper_max_attempts: 1,
            max_files: 2,
        })
    );
    assert_eq!(heard(&[("PRE_CONTEXT_TYPES", "ALL")]), Ok(Settings::default()));
    assert_eq!(heard(&[("PRE_CONTEXT_TYPES", "circuit_breaker,retry,helper")]), Ok(Settings::default()));
    let written: Settings = serde_json::from_str(r#"{ "types": ["circuit_breaker"] }"#).unwrap();
    assert_eq!(written.types, [Kind::ProviderSwitch]);
    for (name, value) in [
        ("PRE_CONTEXT_MAX_LINES", "-1"),
        ("ENABLE_PRE_CONTEXT_INJECTION", "maybe"),
        ("PRE_CONTEXT_TYPES", "retry,x"),
    ] {
        let error = heard(&[(name, value)]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{name}={value:?} cannot be used: write ")), "{error}");
    }
}

/// Text that somebody chose to break a block with.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just(END.to_owned()),
        Just(TITLES[0].to_owned()),
        Just("-".to_owned()),
        Just("--".to_owned()),
        Just("\"".to_owned()),
        Just("\x1b[201~\x07\0".to_owned()),
        Just("\u{2028}\u{200b}\u{202e}".to_owned()),
        Just("x".repeat(10_000)),
        Just("語!".repeat(200)),
        "[ -~]{0,40}",
        any::<String>(),
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn check(block: &str, title: &str, max_lines: u32) -> Result<(), TestCaseError> {
    if block.is_empty() {
        return Ok(());
    }
    let text = block.strip_suffix("\n\n").ok_or_else(|| TestCaseError::fail("no blank line at the end"))?;
    let lines: Vec<&str> = text.split('\n').collect();
    prop_assert!(lines.len() <= size(max_lines), "{} lines", lines.len());
    prop_assert_eq!(lines[0], title);
    prop_assert_eq!(lines[lines.len() - 1], END);
    prop_assert!(lines.len() > 2);
    for line in &lines[1..lines.len() - 1] {
        prop_assert!(!line.contains("---"), "{line:?} holds a delimiter");
        prop_assert!(!line.chars().any(|c| c.is_control() || c == '\u{2028}'), "{line:?}");
        prop_assert!(line.matches('"').count() % 2 == 0, "{line:?} has a quotation that does not end");
    }
    prop_assert!(tokens(block) < MAX_TOKENS, "{} tokens", tokens(block));
    Ok(())
}

proptest! {
    #[test]
    fn no_text_breaks_a_block(
        provider in hostile(),
        errors in vec(hostile(), 0..6),
        created in vec(hostile(), 0..6),
        modified in vec(hostile(), 0..6),
        attempt in any::<u32>(),
        max_lines in 0u32..14,
        max_files in 0u32..6,
        helper_max_attempts in 0u32..9,
    ) {
        let settings = Settings { max_lines, helper_max_attempts, max_files, ..Settings::default() };
        let error = errors.first().map(String::as_str);
        let switch = ProviderSwitch {
            provider: &provider,
            reason: error.unwrap_or_default(),
            created: &created,
            modified: &modified,
            error,
        };
        check(&provider_switch(&switch, &settings), TITLES[0], max_lines)?;
        let again = Retry { attempt, errors: &errors, created: &created, modified: &modified };
        check(&retry(&again, &settings), TITLES[1], max_lines)?;
        let attempts: Vec<Failed<'_>> =
            (1..).zip(&errors).map(|(number, error)| Failed { number, files: &created, error }).collect();
        check(&helper(&Helper { attempts: &attempts, unverified: false }, &settings), TITLES[2], max_lines)?;
    }

    #[test]
    fn ordinary_blocks_lose_no_line(
        errors in vec("[a-z]{2,8}( [a-z]{2,8}){1,4}", 1..4),
        files in vec("[a-z]{2,6}/[a-z]{2,8}\\.rs", 1..4),
    ) {
        let distinct: std::collections::BTreeSet<&String> = errors.iter().collect();
        let block = retry(
            &Retry { attempt: 2, errors: &errors, created: &files[..1], modified: &files[..1] },
            &Settings::default(),
        );
        prop_assert_eq!(block.trim_end().lines().count(), distinct.len() + 6);
    }
}
