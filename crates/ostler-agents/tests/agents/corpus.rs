//! What is fuzzed, over the corpus that is kept, with a stable compiler.

use std::path::Path;

#[expect(unreachable_pub, reason = "a library elsewhere")]
#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

/// How often each file is tried with changes of chance.
const MUTATIONS: u64 = 20;

/// The bytes with a few changes; the same seed makes the same.
fn mutated(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or(0) % limit.max(1)
    };
    let mut bytes = bytes.to_vec();
    for _ in 0..=below(6) {
        let (from, len) = (below(bytes.len()), 1 + below(16));
        let piece: Vec<u8> = bytes.iter().skip(from).take(len).copied().collect();
        match below(4) {
            0 => drop(bytes.drain(from..from + piece.len())),
            1 => drop(bytes.splice(from..from, piece.repeat(2))),
            2 => bytes.extend(piece),
            _ => bytes.iter_mut().skip(from).take(1).for_each(|byte| *byte ^= 1 << below(8)),
        }
    }
    bytes
}

#[test]
fn every_target_takes_its_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for (name, target) in targets::ALL {
        let mut files: Vec<_> = std::fs::read_dir(root.join("corpus").join(name))
            .unwrap_or_else(|error| panic!("corpus/{name}: {error}"))
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(files.len() > 2, "the corpus of {name} is too small");
        for file in files {
            println!("{}", file.display());
            let bytes = std::fs::read(&file).unwrap();
            target(&bytes);
            // Whatever is cut short is read too.
            for end in (0..bytes.len().min(2_000)).step_by(97) {
                target(&bytes[..end]);
            }
            for seed in 1..=MUTATIONS {
                target(&mutated(&bytes, seed));
            }
        }
        target(b"");
    }
    let programs = std::fs::read_dir(root.join("fuzz_targets")).unwrap().count();
    assert_eq!(programs, targets::ALL.len(), "every target has its program");
}
