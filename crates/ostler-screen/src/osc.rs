//! OSC sequences to signals.

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::signal::{BlockKind, ProgramState, ProgramStatus, ProgressState, PromptMark, Signal};
use crate::text::one_line;

/// Base64 as programs write it, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Longest key in an OSC 7501 sequence.
const MAX_KEY: usize = 16;
/// Longest message in an OSC 7501 sequence, decoded.
const MAX_MESSAGE: usize = 2048;
/// Longest name or id, in characters.
const MAX_NAME: usize = 128;
/// Longest title, in characters.
const MAX_TITLE: usize = 256;

/// Returns what an OSC sequence says; `payload` is what stands between the introducer and the terminator.
///
/// Questions are not answered here.
pub(crate) fn parse(payload: &[u8]) -> Option<Signal> {
    let payload = String::from_utf8_lossy(payload);
    let (code, rest) = payload.split_once(';')?;
    match code {
        "0" | "2" => Some(Signal::Title(one_line(rest, MAX_TITLE))),
        "9" => progress(rest).or_else(|| notification_9(rest)),
        "99" => notification_99(rest),
        "133" => prompt_mark(rest).map(Signal::PromptMark),
        "777" => notification_777(rest),
        "7501" => program_status(rest).map(Signal::ProgramStatus),
        _ => None,
    }
}

fn progress(rest: &str) -> Option<Signal> {
    let mut fields = rest.split(';');
    if fields.next() != Some("4") {
        return None;
    }
    let state = match fields.next()? {
        "0" => ProgressState::Cleared,
        "1" => ProgressState::Normal,
        "2" => ProgressState::Error,
        "3" => ProgressState::Indeterminate,
        "4" => ProgressState::Paused,
        _ => return None,
    };
    let has_percent = matches!(state, ProgressState::Normal | ProgressState::Error | ProgressState::Paused);
    let percent = fields.next().and_then(|percent| percent.parse().ok()).filter(|percent| *percent <= 100);
    Some(Signal::Progress { state, percent: percent.filter(|_| has_percent) })
}

fn notification_9(rest: &str) -> Option<Signal> {
    // A leading number is one of ConEmu's commands, not a text.
    let first = rest.split(';').next().unwrap_or_default();
    if first.parse::<u8>().is_ok() {
        return None;
    }
    notification(9, None, rest)
}

fn notification_99(rest: &str) -> Option<Signal> {
    let (metadata, payload) = rest.split_once(';')?;
    let value =
        |key: &str| metadata.split(':').filter_map(|field| field.split_once('=')).find(|(k, _)| *k == key);
    let text = match value("e") {
        Some((_, "1")) => String::from_utf8_lossy(&BASE64.decode(payload).ok()?).into_owned(),
        _ => payload.to_owned(),
    };
    match value("p").map_or("title", |(_, part)| part) {
        "title" => notification(99, Some(&text), ""),
        "body" => notification(99, None, &text),
        _ => None,
    }
}

fn notification_777(rest: &str) -> Option<Signal> {
    let rest = rest.strip_prefix("notify;")?;
    let (title, body) = rest.split_once(';').unwrap_or((rest, ""));
    notification(777, Some(title), body)
}

fn notification(source: u16, title: Option<&str>, body: &str) -> Option<Signal> {
    let title = title.map(|title| one_line(title, MAX_TITLE)).filter(|title| !title.is_empty());
    let body = one_line(body, MAX_MESSAGE);
    (title.is_some() || !body.is_empty()).then_some(Signal::Notification { source, title, body })
}

fn prompt_mark(rest: &str) -> Option<PromptMark> {
    let mut fields = rest.split(';');
    match fields.next()? {
        "A" => Some(PromptMark::PromptStart),
        "B" => Some(PromptMark::InputStart),
        "C" => Some(PromptMark::OutputStart),
        "D" => Some(PromptMark::Finished { exit: fields.next().and_then(|exit| exit.parse().ok()) }),
        _ => None,
    }
}

/// Reads `state=…:app=…:kind=…:msg=<base64>:id=…`. Unknown keys say nothing, an unknown state nothing at all.
fn program_status(rest: &str) -> Option<ProgramStatus> {
    let value = |wanted: &str| {
        let fields = rest.split(':').filter_map(|field| field.split_once('='));
        fields.filter(|(key, _)| key.len() <= MAX_KEY).find(|(key, _)| *key == wanted).map(|(_, value)| value)
    };
    let name = |key| value(key).map(|name| one_line(name, MAX_NAME)).filter(|name| !name.is_empty());
    let message = |encoded: &str| {
        let decoded = BASE64.decode(encoded).ok().filter(|decoded| decoded.len() <= MAX_MESSAGE)?;
        Some(one_line(&String::from_utf8_lossy(&decoded), MAX_MESSAGE))
    };
    Some(ProgramStatus {
        state: match value("state")? {
            "idle" => ProgramState::Idle,
            "working" => ProgramState::Working,
            "blocked" => ProgramState::Blocked,
            "done" => ProgramState::Done,
            "error" => ProgramState::Error,
            "clear" => ProgramState::Clear,
            _ => return None,
        },
        app: name("app"),
        kind: match value("kind") {
            Some("permission") => Some(BlockKind::Permission),
            Some("question") => Some(BlockKind::Question),
            Some("auth") => Some(BlockKind::Auth),
            _ => None,
        },
        message: value("msg").and_then(message),
        id: name("id"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> Option<ProgramStatus> {
        match parse(text.as_bytes()) {
            Some(Signal::ProgramStatus(status)) => Some(status),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn program_status_reads_every_field() {
        let blocked =
            status("7501;state=blocked:app=agent:kind=permission:msg=UnVuIHJtPw==:id=42:later=x").unwrap();
        assert_eq!(
            blocked,
            ProgramStatus {
                state: ProgramState::Blocked,
                app: Some("agent".into()),
                kind: Some(BlockKind::Permission),
                message: Some("Run rm?".into()),
                id: Some("42".into()),
            }
        );
        let bare = |state| ProgramStatus { state, app: None, kind: None, message: None, id: None };
        for (name, state) in [
            ("idle", ProgramState::Idle),
            ("working", ProgramState::Working),
            ("done", ProgramState::Done),
            ("error", ProgramState::Error),
            ("clear", ProgramState::Clear),
        ] {
            assert_eq!(status(&format!("7501;state={name}")), Some(bare(state)));
        }
        // Padding is optional, an unreadable or oversized message or an unknown kind is left out.
        assert_eq!(status("7501;state=idle:msg=aGk").unwrap().message.as_deref(), Some("hi"));
        let huge = BASE64.encode([b'x'; MAX_MESSAGE + 1]);
        for field in ["msg=%%%", &format!("msg={huge}"), "kind=coffee", "a_key_that_is_too_long=1"] {
            assert_eq!(status(&format!("7501;state=idle:{field}")), Some(bare(ProgramState::Idle)));
        }
    }

    #[test]
    fn an_unknown_status_is_no_status() {
        for text in ["7501;", "7501;state=", "7501;state=dancing", "7501;app=x", "7501;?", "7501"] {
            assert_eq!(status(text), None, "{text}");
        }
    }

    #[test]
    fn messages_lose_their_control_characters() {
        let message = BASE64.encode("a\x1b[31mb\r\nc\u{9b}d");
        assert_eq!(
            status(&format!("7501;state=done:msg={message}")).unwrap().message.as_deref(),
            Some("a[31mb cd")
        );
    }

    #[test]
    fn other_sequences() {
        let note = |source, title: Option<&str>, body: &str| {
            Some(Signal::Notification { source, title: title.map(str::to_owned), body: body.to_owned() })
        };
        let progress = |state, percent| Some(Signal::Progress { state, percent });
        for (payload, expected) in [
            ("0;✳ title; with \u{9c}more", Some(Signal::Title("✳ title; with more".into()))),
            ("2;", Some(Signal::Title(String::new()))),
            ("1;icon", None),
            ("9;Turn done", note(9, None, "Turn done")),
            ("9;", None),
            ("9;1;200", None),
            ("9;4;1;50", progress(ProgressState::Normal, Some(50))),
            ("9;4;3;50", progress(ProgressState::Indeterminate, None)),
            ("9;4;0", progress(ProgressState::Cleared, None)),
            ("9;4;1;500", progress(ProgressState::Normal, None)),
            ("9;4;9;5", None),
            ("99;i=1:d=0;Hello", note(99, Some("Hello"), "")),
            ("99;i=1:p=body:e=1;aGVsbG8=", note(99, None, "hello")),
            ("99;p=?;", None),
            ("777;notify;Title;Body; more", note(777, Some("Title"), "Body; more")),
            ("777;other;x", None),
            ("133;A;cl=m", Some(Signal::PromptMark(PromptMark::PromptStart))),
            ("133;D;1", Some(Signal::PromptMark(PromptMark::Finished { exit: Some(1) }))),
            ("133;D", Some(Signal::PromptMark(PromptMark::Finished { exit: None }))),
            ("133;Z", None),
            ("52;c;aGk=", None),
        ] {
            assert_eq!(parse(payload.as_bytes()), expected, "{payload}");
        }
    }
}
