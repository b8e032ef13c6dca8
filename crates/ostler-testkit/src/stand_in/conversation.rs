//! Messages and turns: what is taken, what runs, what waits.

use super::app::{App, Block, Phase};
use super::event::{Effect, Ending};
use super::menu::{Menu, MenuKind};
use super::record::Record;
use super::turn::{Act, Outcome, Turn};

/// Lines of a prompt that the transcript shows.
const LINES_SHOWN: usize = 8;

/// Characters of a prompt that the transcript shows.
const CHARACTERS_SHOWN: usize = 2000;

impl App {
    /// Takes a message, now or after the running turn.
    pub(super) fn submit(&mut self, text: String) {
        let idle = matches!(self.phase, Phase::Idle { .. });
        if text.trim() == "/exit" {
            return self.end(0, Ending::Clean);
        }
        if self.options.input.lie {
            self.log(Record::Lied { len: text.len() });
            self.transcript.push(Block::Prompt(preview(&text)));
            if idle {
                self.phase = Phase::Lying { since: self.now };
            }
            return;
        }
        self.log(Record::Submitted { len: text.len(), text: text.clone(), queued: !idle });
        if self.options.process.die_on_submit {
            self.die();
        } else if idle {
            self.begin(text);
        } else {
            self.queue.push_back(text);
        }
    }

    fn begin(&mut self, prompt: String) {
        self.log(Record::Turn { len: prompt.len() });
        let steps = self.playbook.answer(&prompt);
        self.transcript.push(Block::Prompt(preview(&prompt)));
        self.phase = Phase::Working(Turn::new(self.now, prompt, steps, self.options.look.word_pace));
    }

    /// Goes back to the prompt, or on to the next queued message.
    pub(super) fn rest(&mut self, outcome: Outcome) {
        self.phase = Phase::Idle { outcome };
        if let Some(next) = self.queue.pop_front() {
            self.begin(next);
        }
    }

    pub(super) fn perform(&mut self, act: Act) {
        match act {
            Act::Begin => self.transcript.push(Block::Reply(String::new())),
            Act::Append(word) => {
                if let Some(Block::Reply(text)) = self.transcript.last_mut() {
                    text.push_str(&word);
                }
            }
            Act::Call(text) => self.transcript.push(Block::Call(text)),
            Act::Result(text) => self.transcript.push(Block::Note(text.to_owned())),
            Act::Ask(menu) => self.ask(menu),
            Act::Write { file, content } => {
                self.transcript.push(Block::Note(format!("Wrote {} bytes", content.len())));
                self.effects.push(Effect::WriteFile { file, content });
            }
            Act::Fail { text, outcome } => {
                self.transcript.push(Block::Error(text));
                self.log(Record::Done { outcome: outcome.name() });
                self.rest(outcome);
            }
            Act::Exit(code) => self.end(code, Ending::Clean),
            Act::Crash => self.end(137, Ending::Killed),
            Act::Finish => {
                self.log(Record::Done { outcome: Outcome::Done.name() });
                self.rest(Outcome::Done);
            }
        }
    }

    fn ask(&mut self, menu: Menu) {
        if menu.kind == MenuKind::Permission {
            self.transcript.push(Block::Call(format!("Shell({})", menu.subject)));
        }
        match std::mem::replace(&mut self.phase, Phase::Idle { outcome: Outcome::Fresh }) {
            Phase::Working(mut turn) if menu.kind == MenuKind::Permission && self.always_allowed => {
                turn.resume(self.now, menu.kind);
                self.phase = Phase::Working(turn);
            }
            Phase::Working(turn) => {
                self.log(Record::Dialog { kind: menu.kind.name() });
                self.phase = Phase::Asking { turn, menu };
            }
            other => self.phase = other,
        }
    }
}

/// What the transcript shows of a prompt: its start, if it is long.
fn preview(prompt: &str) -> String {
    let lines = prompt.lines().count();
    let start: Vec<&str> = prompt.lines().take(LINES_SHOWN).collect();
    let start: String = start.join("\n").chars().take(CHARACTERS_SHOWN).collect();
    match lines.saturating_sub(LINES_SHOWN) {
        0 => start,
        more => format!("{start}\n… +{more} lines"),
    }
}
