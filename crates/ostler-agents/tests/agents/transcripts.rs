//! The built-in descriptions of transcripts, over what the real programs wrote.
//!
//! `<agent>/<scene>.jsonl` is a transcript, `<agent>/<scene>.facts` what it tells, in short.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use ostler_agents::transcript::{Decoder, Fill, Memory, Skipped, TranscriptSpec, fuzz_line};
use ostler_core::{Fact, Usage};
use proptest::prelude::*;

struct Scene {
    name: String,
    spec: TranscriptSpec,
    decoder: Decoder,
    lines: Vec<String>,
    facts: String,
}

static SCENES: LazyLock<Vec<Scene>> = LazyLock::new(|| {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut scenes = Vec::new();
    for agent in fs::read_dir(home.join("tests/transcripts")).unwrap() {
        let agent = agent.unwrap().path();
        for file in fs::read_dir(&agent).into_iter().flatten() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                scenes.push(scene(home, &agent, &file));
            }
        }
    }
    assert!(scenes.len() >= 9);
    scenes
});

fn scene(home: &Path, agent: &Path, file: &Path) -> Scene {
    // Only the table at hand: the rest of a preset has tests of its own.
    #[derive(serde::Deserialize)]
    struct Described {
        transcript: TranscriptSpec,
    }
    let preset = home.join("agents").join(agent.file_name().unwrap()).with_extension("toml");
    let spec = toml::from_str::<Described>(&fs::read_to_string(preset).unwrap()).unwrap().transcript;
    Scene {
        name: file.display().to_string(),
        decoder: Decoder::new(&spec).unwrap(),
        spec,
        lines: fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect(),
        facts: fs::read_to_string(file.with_extension("facts")).unwrap_or_default(),
    }
}

/// One fact in a word: prompts and words of the agent by their first, calls without their ids.
fn word(fact: &Fact) -> String {
    match fact {
        Fact::PromptSubmitted { text } => {
            format!("prompt:{}", text.as_deref().unwrap_or("?").split_whitespace().next().unwrap_or(""))
        }
        Fact::Said { text } => format!("said:{}", text.split_whitespace().next().unwrap_or("")),
        Fact::TurnFailed { failure, .. } => format!("failed:{}", failure.as_str()),
        Fact::Retrying { failure } => format!("retrying:{}", failure.as_str()),
        Fact::Asked { kind } => format!("asked:{}", kind.as_str()),
        Fact::ToolStarted { id } => format!("tool{}", if id.is_some() { "" } else { "?" }),
        Fact::ToolEnded { id } => format!("result{}", if id.is_some() { "" } else { "?" }),
        Fact::TurnEnded { .. } => "end".into(),
        Fact::TurnStarted => "start".into(),
        Fact::TurnProgressed => "on".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// What happened, a line for each prompt, and at the end what was spent in all.
fn story(facts: &[Fact]) -> String {
    let mut total = Usage::default();
    let mut story = String::new();
    for fact in facts {
        if let Fact::Used(used) = fact {
            total.input += used.input;
            total.cached += used.cached;
            total.output += used.output;
            total.cost_micros += used.cost_micros;
            continue;
        }
        let word = word(fact);
        if !story.is_empty() {
            story.push(if word.starts_with("prompt:") { '\n' } else { ' ' });
        }
        story.push_str(&word);
    }
    let Usage { input, cached, output, cost_micros } = total;
    format!("{story}\ninput {input} cached {cached} output {output} cost {cost_micros}\n")
}

fn told(decoder: &mut Decoder, lines: &[String]) -> Vec<Fact> {
    lines.iter().flat_map(|line| decoder.line(line)).collect()
}

#[test]
fn every_transcript_tells_its_story() {
    for scene in SCENES.iter() {
        let mut decoder = scene.decoder.clone();
        let story = story(&told(&mut decoder, &scene.lines));
        assert!(story == scene.facts, "{} tells:\n{story}", scene.name);
        assert_eq!(decoder.skipped(), Skipped::default(), "{}", scene.name);
    }
}

#[test]
fn every_transcript_tells_whose_it_is_within_its_first_lines() {
    for scene in SCENES.iter() {
        let owner =
            scene.lines.iter().take(10).filter_map(|line| scene.decoder.owner(line)).find(|owner| {
                owner.session.is_some() && (owner.cwd.is_some() || scene.spec.cwd_file.is_some())
            });
        let owner = owner.unwrap_or_else(|| panic!("{}", scene.name));
        assert!(owner.cwd.is_none_or(|cwd| cwd.starts_with("/home/dev")), "{}", scene.name);
    }
}

#[test]
fn every_description_has_a_place() {
    for scene in SCENES.iter() {
        let fill = Fill { cwd: "/home/dev/my_proj.x", session: Some("0123456789abcdef") };
        assert!(scene.spec.pattern(fill).unwrap().is_some());
        assert!(scene.spec.pattern(Fill { session: None, ..fill }).unwrap().is_some());
    }
}

#[test]
fn a_stop_and_a_new_start_at_any_record_change_nothing() {
    for scene in SCENES.iter() {
        let whole = told(&mut scene.decoder.clone(), &scene.lines);
        for cut in 0..=scene.lines.len() {
            let mut decoder = scene.decoder.clone();
            let mut parts = told(&mut decoder, &scene.lines[..cut]);
            let kept = serde_json::to_string(decoder.memory()).unwrap();
            assert!(kept.len() < 16 << 10, "{}", kept.len());
            let memory: Memory = serde_json::from_str(&kept).unwrap();
            parts.extend(told(&mut scene.decoder.clone().resume(memory), &scene.lines[cut..]));
            assert_eq!(parts, whole, "{} cut before line {cut}", scene.name);
        }
    }
}

#[test]
fn a_file_that_is_written_anew_tells_nothing_twice() {
    for scene in SCENES.iter() {
        let mut decoder = scene.decoder.clone();
        told(&mut decoder, &scene.lines);
        decoder.rewound();
        assert_eq!(told(&mut decoder, &scene.lines), [], "{}", scene.name);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for scene in SCENES.iter() {
            fuzz_line(&mut scene.decoder.clone(), &bytes);
        }
    }

    #[test]
    fn damaged_records_are_survived(
        which in any::<prop::sample::Index>(),
        line in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let scene = which.get(&SCENES);
        let mut bytes = line.get(&scene.lines).as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        fuzz_line(&mut scene.decoder.clone(), &bytes);
        fuzz_line(&mut scene.decoder.clone(), &bytes[..at]);
    }
}
