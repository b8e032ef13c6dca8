//! The screen of `--cooked`: finished paragraphs as plain lines and a bare prompt.

use super::app::{App, Block, Phase};
use super::frame::Size;

/// Remembers what was printed.
#[derive(Debug, Default)]
pub(super) struct LinePrinter {
    /// Blocks of the transcript printed so far.
    printed: usize,
    /// What the prompt printed last was for.
    prompted: &'static str,
}

impl LinePrinter {
    /// Returns what is new since the last call.
    pub(super) fn update(&mut self, app: &App, size: Size) -> String {
        let streaming =
            matches!((&app.phase, app.transcript.last()), (Phase::Working(_), Some(Block::Reply(_))));
        let finished = app.transcript.len() - usize::from(streaming);
        let mut out = String::new();
        for block in &app.transcript[self.printed.min(finished)..finished] {
            match block {
                // The terminal has echoed it already.
                Block::Prompt(_) => {}
                Block::Reply(text) | Block::Call(text) | Block::Note(text) | Block::Error(text) => {
                    out.push_str(text);
                    out.push('\n');
                }
            }
        }
        let place = match &app.phase {
            Phase::Blank { .. } | Phase::Working(_) | Phase::Lying { .. } => "",
            Phase::Idle { .. } => "idle",
            Phase::Greeting(menu) | Phase::Asking { menu, .. } => menu.kind.name(),
        };
        if !place.is_empty() && (place != self.prompted || finished > self.printed) {
            if place != "idle" {
                out.push_str(&app.render(size).text());
            }
            out.push_str("> ");
        }
        self.printed = finished;
        self.prompted = place;
        out
    }
}
