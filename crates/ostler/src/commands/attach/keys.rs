//! Finding the detach key among what a person types.

use crate::cli::DetachKey;

/// Splits what was typed at the detach key: what comes before it, and whether it is there. The terminal may
/// send it as a control character or, in the newer keyboard protocols, as an escape sequence.
pub(super) fn split_at_detach(keys: &[u8], detach: DetachKey) -> (&[u8], bool) {
    let character = match detach.0 {
        letter @ 1..=26 => letter | 0x60,
        other => other | 0x40,
    };
    let forms = [
        vec![detach.0],
        format!("\x1b[{character};5u").into_bytes(),
        format!("\x1b[{character};5:1u").into_bytes(),
        format!("\x1b[27;5;{character}~").into_bytes(),
    ];
    let found =
        forms.iter().filter_map(|form| keys.windows(form.len()).position(|window| window == form)).min();
    match found {
        Some(at) => (&keys[..at], true),
        None => (keys, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_detach_key_is_known_in_every_form_a_terminal_sends() {
        let backslash = DetachKey(0x1C);
        for typed in ["ab\x1c", "ab\x1b[92;5u", "ab\x1b[92;5:1u", "ab\x1b[27;5;92~", "ab\x1ccd"] {
            assert_eq!(split_at_detach(typed.as_bytes(), backslash), (&b"ab"[..], true), "{typed:?}");
        }
        assert_eq!(split_at_detach(b"ab\x1b[A", backslash), (&b"ab\x1b[A"[..], false));
        assert_eq!(split_at_detach(b"\x1b[97;5u", DetachKey(1)), (&b""[..], true));
    }
}
