//! What reads bytes of strangers, one function each: any bytes, no panic.
//!
//! The programs in `fuzz_targets/` call these; `crates/ostler-agents/tests/agents/corpus.rs` runs them over `corpus/`.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ostler_agents::transcript::{Decoder, fuzz_line};
use ostler_agents::{BUILT_IN, Layer, Preset, Reader, Registry};
use ostler_screen::asciicast::{Encoder, EventKind, Header, Recording, header_line};
use ostler_screen::{Screen, Signal, Size};

/// A function that takes any bytes.
pub type Target = fn(&[u8]);

/// All of them by name.
pub const ALL: &[(&str, Target)] = &[
    ("rules", rules),
    ("hook_json", hook_json),
    ("transcript_line", transcript_line),
    ("tap", tap),
    ("cast", cast),
];

/// A preset, a zero byte, and output: looking now and then sees the same as looking afresh.
pub fn rules(bytes: &[u8]) {
    let (text, output) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[][..]),
    };
    let text = String::from_utf8_lossy(text).into_owned();
    let registry = Registry::new(&[Layer { agent: "x".into(), file: "x".into(), text }]);
    for problem in registry.problems() {
        let _ = problem.to_string();
    }
    let Some(agent) = registry.get("x") else { return };
    let Ok(book) = registry.rulebook(agent, None) else { return };
    let (book, mut screen) = (Arc::new(book), Screen::new(Size::clamped(40, 12), 0));
    let mut reader = Reader::new(book.clone());
    for piece in output.chunks(64) {
        screen.feed(piece);
        reader.look(&mut screen);
        let mut fresh = Reader::new(book.clone());
        fresh.look(&mut screen);
        assert_eq!((reader.reading(), reader.composer()), (fresh.reading(), fresh.composer()));
    }
}

/// A payload of a hook.
pub fn hook_json(bytes: &[u8]) {
    ostler_agents::hooks::fuzz_decode(bytes);
}

/// Lines of a transcript, read as every agent's.
pub fn transcript_line(bytes: &[u8]) {
    static DECODERS: LazyLock<Vec<Decoder>> = LazyLock::new(|| {
        let layer = |(agent, text): &(&str, &str)| Layer {
            agent: (*agent).into(),
            file: "built-in".into(),
            text: (*text).into(),
        };
        let presets = BUILT_IN.iter().filter_map(|built_in| layer(built_in).read::<Preset>().ok());
        presets.filter_map(|preset| Decoder::new(&preset.transcript?).ok()).collect()
    });
    for decoder in DECODERS.iter() {
        let mut decoder = decoder.clone();
        for line in bytes.split(|byte| *byte == b'\n') {
            fuzz_line(&mut decoder, line);
        }
    }
}

/// Output of a program: however it is cut, the screen and the signals are the same.
pub fn tap(bytes: &[u8]) {
    let (&cut, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    let size = Size::clamped(20, 6);
    let (mut whole, mut pieces) = (Screen::new(size, 10), Screen::new(size, 10));
    let told = whole.feed(bytes);
    let told_in_pieces: Vec<Signal> =
        bytes.chunks(usize::from(cut.max(1))).flat_map(|piece| pieces.feed(piece)).collect();
    let placeless = |signals: Vec<Signal>| -> Vec<Signal> {
        let placeless = |signal| match signal {
            Signal::Reply { bytes, .. } => Signal::Reply { at: 0, bytes },
            other => other,
        };
        signals.into_iter().map(placeless).collect()
    };
    assert_eq!(placeless(told), placeless(told_in_pieces));
    assert_eq!(whole.snapshot(), pieces.snapshot());
    whole.resize(Size::clamped(u16::from(cut), 3));
    let _ = (whole.text(), whole.to_restore(), whole.history_text());
}

/// A recording; and any bytes recorded, which must read back.
pub fn cast(bytes: &[u8]) {
    let _ = Recording::parse(&String::from_utf8_lossy(bytes));
    let (mut encoder, mut lines) = (Encoder::new(), Vec::new());
    for piece in bytes.chunks(7) {
        encoder.output(Duration::ZERO, piece, &mut lines);
    }
    encoder.finish(Duration::ZERO, &mut lines);
    let header = Header { width: 80, height: 24, ..Header::default() };
    let text = format!("{}\n{}", header_line(&header).trim_end(), String::from_utf8_lossy(&lines));
    let read = Recording::parse(&text).map(|recording| recording.events).unwrap_or_default();
    let output: String = read
        .into_iter()
        .map(|event| match event.kind {
            EventKind::Output(text) => text,
            other => panic!("output was read as {other:?}"),
        })
        .collect();
    assert_eq!(output, String::from_utf8_lossy(bytes));
}
