//! The little JSON that writing needs.

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

/// Appends `text` as the inside of a JSON string.
pub(crate) fn push_escaped(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x00..=0x1f | 0x7f => b'u',
            _ => continue,
        };
        out.extend_from_slice(&bytes[plain..i]);
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            out.extend_from_slice(&[b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        plain = i + 1;
    }
    out.extend_from_slice(&bytes[plain..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_json_forbids_and_nothing_else() {
        for (text, expected) in [
            ("", r#""""#),
            ("plain é ─ 🦀", r#""plain é ─ 🦀""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\r\n\t", r#""\r\n\t""#),
            ("\x1b[0m\0\x7f", r#""\u001b[0m\u0000\u007f""#),
        ] {
            let mut out = Vec::new();
            push_string(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
