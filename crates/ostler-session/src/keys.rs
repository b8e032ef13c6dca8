//! Keys by the names that presets give them.

use ostler_screen::{Key, Modes, Modifiers, encode};

/// The bytes of these keys, one after the other; names that are not known are passed over.
pub(crate) fn bytes(names: &[String], modes: &Modes) -> Vec<u8> {
    names
        .iter()
        .filter_map(|name| key(name))
        .flat_map(|(key, modifiers)| encode(key, modifiers, modes))
        .collect()
}

/// A key by its name: `enter`, `escape`, `ctrl-u`, `shift-tab`, `y`.
fn key(name: &str) -> Option<(Key, Modifiers)> {
    let mut modifiers = Modifiers::NONE;
    let mut rest = name;
    loop {
        if let Some(key) = rest.strip_prefix("ctrl-") {
            modifiers.ctrl = true;
            rest = key;
        } else if let Some(key) = rest.strip_prefix("alt-") {
            modifiers.alt = true;
            rest = key;
        } else if let Some(key) = rest.strip_prefix("shift-") {
            modifiers.shift = true;
            rest = key;
        } else {
            break;
        }
    }
    let key = match rest {
        "enter" => Key::Enter,
        "escape" => Key::Escape,
        "tab" => Key::Tab,
        "backspace" => Key::Backspace,
        "delete" => Key::Delete,
        "up" => Key::Up,
        "down" => Key::Down,
        "left" => Key::Left,
        "right" => Key::Right,
        "home" => Key::Home,
        "end" => Key::End,
        "space" => Key::Char(' '),
        _ => {
            let mut characters = rest.chars();
            let (Some(character), None) = (characters.next(), characters.next()) else { return None };
            Key::Char(character)
        }
    };
    Some((key, modifiers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_keys() {
        let bytes = |name: &str| bytes(&[name.to_owned()], &Modes::default());
        for (name, expected) in [
            ("enter", &b"\r"[..]),
            ("escape", b"\x1b"),
            ("ctrl-u", b"\x15"),
            ("down", b"\x1b[B"),
            ("y", b"y"),
            ("nonsense", b""),
        ] {
            assert_eq!(bytes(name), expected, "{name}");
        }
    }
}
