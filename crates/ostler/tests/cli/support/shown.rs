//! What commands print, with what differs from run to run replaced by what it is.

use std::sync::LazyLock;

use regex::Regex;

use super::{Done, TestHome, ostler};

/// What differs, and what is written in its place; the first that fits counts.
static DIFFERENCES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[id]"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| UTC)?", "[time]"),
        (r"\b\d+(\.\d+)? ?(ms|seconds?|s|min|h|d)\b( \d+ (s|min|h)\b)?", "[for]"),
        (r"\b(pid|process|daemon|holder|held by|group) +\d+", "$1 [pid]"),
        (r"(?m)^(\S+ +\w+ +\[for\]) +\d+", "$1  [pid]"),
        (r"\d+ bytes of output", "[n] bytes of output"),
        // What is seen first depends on the moment; that it was seen does not.
        (r"\b(screen|program status): the (composer was emptied|agent went to work)[^)\n]*", "[proof]"),
        (r"(?m)^(  processes +).*", "$1[seen]"),
        (r"\S (Working…)", "* $1"),
        (r"\b0\.\d+ sure", "[n] sure"),
        (r"\b\d+ MiB", "[n] MiB"),
        (r"Linux \S+", "Linux [n]"),
        (r"(mean) \d+\.\d+", "$1 [n]"),
        // Columns are as wide as what stands in them.
        (r"(\S)  +", "$1  "),
    ]
    .map(|(pattern, instead)| (Regex::new(pattern).unwrap(), instead))
    .into()
});

impl TestHome {
    /// A text as it would be in any home, at any time.
    pub(crate) fn neutral(&self, text: &str) -> String {
        let text = text.replace(ostler().to_str().unwrap(), "[ostler]");
        let text = text.replace(ostler().parent().unwrap().to_str().unwrap(), "[bin]");
        let text = text.replace(self.scratch().to_str().unwrap(), "[test]");
        DIFFERENCES
            .iter()
            .fold(text, |text, (pattern, instead)| pattern.replace_all(&text, *instead).into_owned())
    }

    /// Runs commands one after the other, as a person would type them, and returns all that they said.
    pub(crate) fn session_of(&self, commands: &[&[&str]]) -> String {
        commands.iter().map(|args| self.transcript(args, &self.run(*args))).collect()
    }

    /// A command and what it said.
    pub(crate) fn transcript(&self, args: &[&str], done: &Done) -> String {
        let code = if done.code == 0 { String::new() } else { format!("(status {})\n", done.code) };
        let quoted = |arg: &&str| {
            if arg.contains(' ') || arg.is_empty() { format!("'{arg}'") } else { (*arg).to_owned() }
        };
        let args: Vec<String> = args.iter().map(quoted).collect();
        self.neutral(&format!("$ ostler {}\n{}{}{code}", args.join(" "), done.out, done.err))
    }
}
