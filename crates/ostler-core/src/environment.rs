//! What a program under care inherits.

/// The variables to drop, as data: see the file for its form.
const DROPPED: &str = include_str!("../data/inherited-environment.txt");

/// Says whether a variable of the caller's environment is to be kept from the program.
pub fn is_dropped(name: &[u8], value: &[u8]) -> bool {
    rules().any(|rule| rule.matches(name, value))
}

/// Whether a pattern means this variable: its name, or with `*` at the end how its name begins.
pub fn matches_name(pattern: &str, name: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix.as_bytes()),
        None => name == pattern.as_bytes(),
    }
}

#[derive(Debug, Clone, Copy)]
struct Rule {
    name: &'static str,
    value_contains: Option<&'static str>,
}

impl Rule {
    fn matches(self, name: &[u8], value: &[u8]) -> bool {
        matches_name(self.name, name)
            && self
                .value_contains
                .is_none_or(|text| value.windows(text.len()).any(|window| window == text.as_bytes()))
    }
}

fn rules() -> impl Iterator<Item = Rule> {
    DROPPED.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        match line.split_once('~') {
            Some((name, text)) => Rule { name, value_contains: Some(text) },
            None => Rule { name: line, value_contains: None },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_another_terminal_or_another_parent_is_dropped() {
        let table: [(&str, &str, bool); 8] = [
            ("TMUX", "/tmp/x,1,0", true),
            ("TMUX_PANE", "%1", true),
            ("TMUXINATOR", "1", false),
            ("KITTY_WINDOW_ID", "1", true),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("NODE_OPTIONS", "--require x --inspect-brk=9229", true),
            ("PATH", "/bin", false),
            ("HOME", "/home/x", false),
        ];
        for (name, value, dropped) in table {
            assert_eq!(is_dropped(name.as_bytes(), value.as_bytes()), dropped, "{name}={value}");
        }
    }
}
