//! The programs that a line for the shell names, where that can be told without being a shell.

/// Words at the beginning of a command behind which a line is more than commands one after the other.
const GRAMMAR: [&str; 16] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function",
    "select", "{", "}",
];

/// The programs at the beginning of each command, and whether a `!` stands before them. Nothing is said of a line that
/// does more than run commands one after the other, or that changes where programs are sought.
pub(super) fn programs(line: &str) -> Vec<(String, bool)> {
    let Some(commands) = commands(line) else { return Vec::new() };
    if commands.iter().flatten().any(|word| word.starts_with("PATH=")) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for words in commands {
        let negated = words.first().is_some_and(|word| word == "!");
        match words.into_iter().find(|word| word != "!" && !is_assignment(word)) {
            Some(program) if GRAMMAR.contains(&program.as_str()) => return Vec::new(),
            Some(program) => found.push((program, negated)),
            None => {}
        }
    }
    found
}

/// The words of each command; none if it takes a shell to understand the line. Redirections are left out, and a word that is
/// quoted keeps a quotation mark, so that it is no plain name.
fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    let mut reader = Reader::default();
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' | '"' => {
                let inside: String = characters.by_ref().take_while(|next| *next != character).collect();
                if character == '"' && inside.contains(['`', '\\', '(']) {
                    return None;
                }
                reader.word.push_str(&inside);
                reader.word.push('"');
            }
            '(' | ')' | '`' | '\\' => return None,
            '<' if characters.peek() == Some(&'<') => return None,
            '<' | '>' => {
                // The number before it is a handle.
                if reader.word.bytes().all(|byte| byte.is_ascii_digit()) {
                    reader.word.clear();
                }
                reader.end_word();
                while characters.next_if(|next| matches!(next, '>' | '&' | '|')).is_some() {}
                reader.skips = true;
            }
            ';' | '&' | '|' | '\n' => reader.end_command(),
            '#' if reader.word.is_empty() => while characters.next_if(|next| *next != '\n').is_some() {},
            character if character.is_whitespace() => reader.end_word(),
            character => reader.word.push(character),
        }
    }
    reader.end_command();
    Some(reader.commands)
}

#[derive(Default)]
struct Reader {
    word: String,
    /// The next word says where a redirection leads.
    skips: bool,
    words: Vec<String>,
    commands: Vec<Vec<String>>,
}

impl Reader {
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if !word.is_empty() && !std::mem::take(&mut self.skips) {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.skips = false;
        self.commands.push(std::mem::take(&mut self.words));
    }
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_at_the_beginning_of_commands() {
        let table: [(&str, &[(&str, bool)]); 18] = [
            ("cargo test", &[("cargo", false)]),
            ("! grep -q TODO src", &[("grep", true)]),
            ("cd web && npm test", &[("cd", false), ("npm", false)]),
            ("CI=1 RUST_LOG=a=b cargo test", &[("cargo", false)]),
            ("a; b || ! c | d & e", &[("a", false), ("b", false), ("c", true), ("d", false), ("e", false)]),
            ("make 2>&1 >log </dev/null | tee x", &[("make", false), ("tee", false)]),
            ("> out cat in", &[("cat", false)]),
            ("echo 'a && b' # c && d", &[("echo", false)]),
            ("echo \"a; b\" && x", &[("echo", false), ("x", false)]),
            ("'my tool' x", &[("my tool\"", false)]),
            ("$TOOL x && y", &[("$TOOL", false), ("y", false)]),
            ("X=1", &[]),
            ("", &[]),
            // Only a shell knows.
            ("if a; then b; fi", &[]),
            ("(cd x; y)", &[]),
            ("test $(a) = b", &[]),
            ("cat <<END\na\nEND", &[]),
            ("PATH=$PWD/bin:$PATH tool", &[]),
        ];
        for (line, expected) in table {
            let expected: Vec<_> = expected.iter().map(|(name, not)| ((*name).to_owned(), *not)).collect();
            assert_eq!(programs(line), expected, "{line}");
        }
    }
}
