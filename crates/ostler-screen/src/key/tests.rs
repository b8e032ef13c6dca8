use super::*;

const CTRL_ALT: Modifiers = Modifiers { ctrl: true, alt: true, shift: false, super_: false };

fn sent(key: Key, modifiers: Modifiers, modes: &Modes) -> String {
    String::from_utf8(encode(key, modifiers, modes)).unwrap().replace('\x1b', "^")
}

fn kitty(flags: u8) -> Modes {
    Modes { kitty_keyboard: flags, ..Modes::default() }
}

#[test]
fn legacy_keys() {
    use Modifiers as M;
    let modes = Modes::default();
    for (key, modifiers, expected) in [
        (Key::Enter, M::NONE, "\r"),
        (Key::Enter, M::SHIFT, "\r"),
        (Key::Enter, M::ALT, "^\r"),
        (Key::Escape, M::NONE, "^"),
        (Key::Tab, M::NONE, "\t"),
        (Key::Tab, M::SHIFT, "^[Z"),
        (Key::BackTab, M::NONE, "^[Z"),
        (Key::Backspace, M::NONE, "\x7f"),
        (Key::Backspace, M::CTRL, "\x08"),
        (Key::Backspace, M::ALT, "^\x7f"),
        (Key::Delete, M::NONE, "^[3~"),
        (Key::Insert, M::SHIFT, "^[2;2~"),
        (Key::PageUp, M::NONE, "^[5~"),
        (Key::PageDown, M::CTRL, "^[6;5~"),
        (Key::Up, M::NONE, "^[A"),
        (Key::Down, M::SHIFT, "^[1;2B"),
        (Key::Right, M::CTRL, "^[1;5C"),
        (Key::Left, CTRL_ALT, "^[1;7D"),
        (Key::Home, M::NONE, "^[H"),
        (Key::End, M { super_: true, ..M::NONE }, "^[1;9F"),
        (Key::Function(1), M::NONE, "^OP"),
        (Key::Function(4), M::SHIFT, "^[1;2S"),
        (Key::Function(5), M::NONE, "^[15~"),
        (Key::Function(12), M::CTRL, "^[24;5~"),
        (Key::Function(20), M::NONE, "^[34~"),
        (Key::Function(0), M::NONE, ""),
        (Key::Function(36), M::NONE, ""),
        (Key::Char('a'), M::NONE, "a"),
        (Key::Char('a'), M::SHIFT, "A"),
        (Key::Char('ß'), M::SHIFT, "ß"),
        (Key::Char('é'), M::ALT, "^é"),
        (Key::Char('c'), M::CTRL, "\x03"),
        (Key::Char('C'), M::CTRL, "\x03"),
        (Key::Char('['), M::CTRL, "^"),
        (Key::Char(' '), M::CTRL, "\0"),
        (Key::Char('?'), M::CTRL, "\x7f"),
        (Key::Char('x'), CTRL_ALT, "^\x18"),
        (Key::Char('1'), M::CTRL, "1"),
        (Key::Char('\x1b'), M::NONE, ""),
        (Key::Char('\u{9b}'), M::NONE, ""),
    ] {
        assert_eq!(sent(key, modifiers, &modes), expected, "{key:?} {modifiers:?}");
    }
}

#[test]
fn application_cursor_keys() {
    let modes = Modes { application_cursor: true, ..Modes::default() };
    for (key, modifiers, expected) in [
        (Key::Up, Modifiers::NONE, "^OA"),
        (Key::Home, Modifiers::NONE, "^OH"),
        (Key::Up, Modifiers::SHIFT, "^[1;2A"),
        (Key::Delete, Modifiers::NONE, "^[3~"),
    ] {
        assert_eq!(sent(key, modifiers, &modes), expected, "{key:?} {modifiers:?}");
    }
}

#[test]
fn kitty_disambiguates() {
    use Modifiers as M;
    let modes = Modes { application_cursor: true, ..kitty(DISAMBIGUATE) };
    for (key, modifiers, expected) in [
        (Key::Escape, M::NONE, "^[27u"),
        (Key::Enter, M::NONE, "\r"),
        (Key::Enter, M::SHIFT, "^[13;2u"),
        (Key::Tab, M::NONE, "\t"),
        (Key::BackTab, M::NONE, "^[9;2u"),
        (Key::Backspace, M::ALT, "^[127;3u"),
        (Key::Char('a'), M::NONE, "a"),
        (Key::Char('a'), M::SHIFT, "A"),
        (Key::Char('c'), M::CTRL, "^[99;5u"),
        (Key::Char('C'), M::CTRL, "^[99;6u"),
        (Key::Up, M::NONE, "^[A"),
        (Key::Function(1), M::NONE, "^[P"),
        (Key::Function(3), M::NONE, "^[13~"),
        (Key::Function(13), M::NONE, "^[57376u"),
        (Key::PageUp, M::CTRL, "^[5;5~"),
    ] {
        assert_eq!(sent(key, modifiers, &modes), expected, "{key:?} {modifiers:?}");
    }
}

#[test]
fn kitty_reports_all_keys() {
    use Modifiers as M;
    for (flags, key, modifiers, expected) in [
        (REPORT_ALL, Key::Enter, M::NONE, "^[13u"),
        (REPORT_ALL, Key::Char('a'), M::NONE, "^[97u"),
        (REPORT_ALL, Key::Char('A'), M::NONE, "^[97;2u"),
        (REPORT_ALL | ALTERNATES, Key::Char('a'), M::SHIFT, "^[97:65;2u"),
        (REPORT_ALL | TEXT, Key::Char('a'), M::NONE, "^[97;;97u"),
        (REPORT_ALL | TEXT, Key::Char('a'), M::SHIFT, "^[97;2;65u"),
        (REPORT_ALL | TEXT, Key::Char('a'), M::CTRL, "^[97;5u"),
        (TEXT, Key::Char('a'), M::NONE, "a"),
    ] {
        assert_eq!(sent(key, modifiers, &kitty(flags)), expected, "{flags} {key:?} {modifiers:?}");
    }
}
