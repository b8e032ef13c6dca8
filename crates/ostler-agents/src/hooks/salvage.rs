//! What is left of a payload that was cut short.

/// Makes a whole JSON object of the beginning of one: its members up to the last that is complete.
///
/// Payloads are kept up to a limit, and what makes one long (the contents of a file, the output of a command)
/// stands behind what says what it is about.
pub(super) fn whole_members(cut: &[u8]) -> Option<Vec<u8>> {
    let start = cut.iter().position(|byte| !byte.is_ascii_whitespace())?;
    if cut[start] != b'{' {
        return None;
    }
    let (mut depth, mut in_string, mut escaped, mut end) = (0_u32, false, false, None);
    for (at, byte) in cut.iter().enumerate().skip(start) {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            // Behind a comma of the outermost object everything before it is complete.
            b',' if depth == 1 => end = Some(at),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    let mut whole = cut[start..end?].to_vec();
    whole.push(b'}');
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_members_are_kept() {
        let table: [(&str, Option<&str>); 9] = [
            (r#"{"a":1,"b":"two","c":"thr"#, Some(r#"{"a":1,"b":"two"}"#)),
            (r#"{"a":{"x":[1,2,{"y":3}]},"b":{"x":1,"#, Some(r#"{"a":{"x":[1,2,{"y":3}]}}"#)),
            (r#"  {"a":"}],\"","b"#, Some(r#"{"a":"}],\""}"#)),
            (r#"{"a":"\\","b":tru"#, Some(r#"{"a":"\\"}"#)),
            (r#"{"a":1"#, None),
            (r#"{"a":"\"#, None),
            ("[1,2,3", None),
            ("", None),
            ("nonsense", None),
        ];
        for (cut, expected) in table {
            let found = whole_members(cut.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), expected, "{cut}");
        }
    }
}
