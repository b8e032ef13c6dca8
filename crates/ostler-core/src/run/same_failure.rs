//! Whether two attempts failed in the same way.

/// Whether the complaints are the same but for what differs from one run of a check to the next: times, numbers, addresses
/// and paths.
pub(super) fn is_same(one: &[String], other: &[String]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| plain_failure(one) == plain_failure(other))
}

/// What a complaint says without numbers and without the directories of files.
pub fn plain_failure(complaint: &str) -> String {
    let words = complaint.split_whitespace().map(|word| {
        // A file is known by its name, wherever a check has put it.
        let name = word.rsplit_once('/').map_or(word, |(_, name)| name);
        let mut plain = String::with_capacity(name.len());
        let mut characters = name.chars().peekable();
        while let Some(character) = characters.next() {
            if !character.is_ascii_digit() {
                plain.push(character);
                continue;
            }
            plain.push('#');
            // Numbers with points, times, and hexadecimal ones are one number.
            while characters
                .next_if(|next| next.is_ascii_hexdigit() || matches!(next, 'x' | '.' | ':'))
                .is_some()
            {}
        }
        plain
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_numbers_and_paths_make_no_other_failure() {
        let table = [
            ("test failed after 0.31s", "test failed after 12.7s", true),
            ("12:01:59 FAILED test_parse", "12:04:03 FAILED test_parse", true),
            ("panicked at src/lib.rs:10:5", "panicked at src/lib.rs:12:9", true),
            ("cannot open /tmp/run.1a2b/out.txt", "cannot open /tmp/run.99ff/out.txt", true),
            ("at 0x7ffe12ab", "at 0x55d0ffee", true),
            ("FAILED test_parse", "FAILED test_print", false),
            ("cannot open /tmp/a/out.txt", "cannot open /tmp/a/in.txt", false),
            ("`cargo test` ended with status 1", "`cargo fmt` ended with status 1", false),
        ];
        for (one, other, same) in table {
            assert_eq!(is_same(&[one.into()], &[other.into()]), same, "{one} / {other}");
        }
        let all = ["one", "two"].map(str::to_owned);
        assert!(!is_same(&all, &all[..1]), "a check less fails: that is progress");
    }
}
