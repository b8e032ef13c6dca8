//! The command that an agent runs.

use std::path::Path;

use super::spec::{EventSpec, HookSpec};

/// Marks a command that ostler wrote into a settings file, so that it knows its own again wherever the binary has
/// moved to.
pub const BY_OSTLER: &str = "--by-ostler";
/// Marks a command that was given to one session alone.
pub const PER_SESSION: &str = "--per-session";
/// Says that the answer may be context for the agent, which is worth waiting for.
pub const CONTEXT: &str = "--context";
/// Says what is printed where there is no answer.
pub const PRINT: &str = "--print";

/// The command for one event.
///
/// An agent whose ostler was removed must not stumble over its hooks, so the shell looks for the binary first.
/// This is understood by every POSIX shell, and by fish.
pub(super) fn line(
    ostler: &Path,
    agent: &str,
    (name, event): (&str, &EventSpec),
    spec: &HookSpec,
    mark: &str,
) -> String {
    let binary = quoted(&ostler.to_string_lossy());
    let mut line = format!("test ! -x {binary} || {binary} hook {} --agent {}", quoted(name), quoted(agent));
    if event.context.is_some() {
        line = format!("{line} {CONTEXT}");
    }
    if let Some(text) = spec.printed(event) {
        line = format!("{line} {PRINT} {}", quoted(text));
    }
    format!("{line} {mark}")
}

/// Whether ostler wrote this command into a settings file.
pub(super) fn is_ours(command: &str) -> bool {
    command.contains(" hook ") && command.trim_end().ends_with(BY_OSTLER)
}

/// A word as a shell takes it: as it is where it is plain, else in single quotes.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:=@,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_survives_odd_paths_and_is_known_again() {
        let spec = HookSpec { print: Some("{}".into()), ..HookSpec::default() };
        let event = EventSpec { context: Some("{text}".into()), ..EventSpec::default() };
        let command = line(Path::new("/opt/it's here/ostler"), "a", ("Stop", &event), &spec, BY_OSTLER);
        assert_eq!(
            command,
            r"test ! -x '/opt/it'\''s here/ostler' || '/opt/it'\''s here/ostler' hook Stop --agent a --context --print '{}' --by-ostler"
        );
        assert!(is_ours(&command));
        assert!(!is_ours("ostler hook Stop"));
        assert!(!is_ours("my-tool --by-ostler"));
    }
}
