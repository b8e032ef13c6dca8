//! What each key does in each phase.

use std::time::Duration;

use super::app::{App, Block, Phase};
use super::decode::Key;
use super::event::Ending;
use super::menu::{Menu, MenuKind};
use super::options::{Refusal, StatusMode};
use super::record::Record;
use super::reply::{Reply, ReplyKind};
use super::turn::{Outcome, Turn};

/// How long an ESC may be the start of a sequence.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);

/// How long a first Ctrl-C waits for the second.
const EXIT_WAIT: Duration = Duration::from_secs(2);

impl App {
    /// Takes one read: keys in one read belong to one frame.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        self.received += bytes.len() as u64;
        let escaped = bytes.escape_ascii().to_string();
        self.log(Record::Bytes { len: bytes.len(), total: self.received, escaped });
        if let Phase::Greeting(menu) | Phase::Asking { menu, .. } = &mut self.phase {
            menu.settle();
        }
        for key in self.decoder.feed(bytes) {
            self.press(key);
        }
        self.escape_due = self.decoder.has_lone_escape().then_some(self.now + ESCAPE_WAIT);
    }

    /// Presses Esc if one waited long enough.
    pub(super) fn expire_escape(&mut self) {
        if self.escape_due.is_some_and(|due| self.now >= due) {
            self.escape_due = None;
            if let Some(key) = self.decoder.expire_escape() {
                self.press(key);
            }
        }
    }

    fn press(&mut self, key: Key) {
        if let Key::Reply(reply) = key {
            return self.answered_by_terminal(reply);
        }
        if self.now < self.options.startup.swallow_early {
            self.refuse();
            return self.swallow(&key);
        }
        // The line discipline of a cooked terminal turns Enter into a newline.
        let cooked_enter = self.options.look.cooked && key == Key::Newline;
        let key = if cooked_enter { Key::Enter } else { key };
        match &self.phase {
            Phase::Greeting(_) | Phase::Asking { .. } => self.press_in_menu(key),
            Phase::Blank { .. } if matches!(key, Key::Enter) => self.swallow(&key),
            Phase::Blank { .. } | Phase::Idle { .. } | Phase::Working(_) | Phase::Lying { .. } => {
                self.press_at_prompt(key);
            }
        }
    }

    fn answered_by_terminal(&mut self, reply: Reply) {
        if reply.kind == ReplyKind::ProgramStatus && self.options.look.status == Some(StatusMode::Answered) {
            self.status_on = true;
        }
        self.log(Record::Reply(reply));
    }

    fn press_at_prompt(&mut self, key: Key) {
        let due = match self.options.input.slow_echo {
            Duration::ZERO => Duration::ZERO,
            delay => self.now + delay,
        };
        match key {
            Key::Text(text) => {
                self.last_text = Some(self.now);
                self.composer.push(&text, due);
            }
            Key::Paste(mut text) => {
                self.last_text = Some(self.now);
                let kept = self.options.input.cut_pastes.unwrap_or(usize::MAX);
                text.truncate(text.floor_char_boundary(kept));
                if let Some(damage) = self.options.input.damage {
                    text = damage.apply(&text);
                }
                match self.options.input.collapse_pastes {
                    Some(limit) if text.len() > limit => self.composer.push_collapsed(text, due),
                    _ => self.composer.push(&text, due),
                }
            }
            Key::Newline => self.composer.push("\n", due),
            Key::Enter => self.enter(),
            Key::Backspace => self.composer.backspace(),
            Key::KillLine => self.composer.clear(),
            Key::Escape => self.interrupt(),
            Key::Interrupt => self.interrupt_or_exit(),
            Key::EndOfInput if self.composer.is_empty() => self.end(0, Ending::Clean),
            Key::EndOfInput | Key::Tab | Key::Up | Key::Down | Key::Left | Key::Right | Key::Reply(_) => {}
        }
    }

    fn enter(&mut self) {
        let burst = self.options.input.paste_burst;
        if self.last_text.is_some_and(|last| self.now < last + burst) {
            // The newline extends the burst, as a long paste without brackets must not be cut by its own line ends.
            self.last_text = Some(self.now);
            return self.composer.push("\n", Duration::ZERO);
        }
        if self.enters_to_swallow > 0 {
            self.enters_to_swallow -= 1;
            self.refuse();
            return self.swallow(&Key::Enter);
        }
        let text = match (&self.options.look.ghost, self.composer.is_empty()) {
            (_, false) => self.composer.take(),
            (Some(ghost), true) => ghost.clone(),
            (None, true) => return,
        };
        if let Some(how) = self.options.input.refuse_commands.filter(|_| text.starts_with('/')) {
            let name = text.split_whitespace().next().unwrap_or_default();
            self.transcript.push(Block::Note(format!("Unknown command: {name}")));
            if how == Refusal::Keep {
                self.composer.push(&text, Duration::ZERO);
            }
        } else if !text.trim().is_empty() {
            self.submit(text);
        }
    }

    /// Stops the running turn.
    fn interrupt(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Idle { outcome: Outcome::Fresh }) {
            Phase::Working(turn) | Phase::Asking { turn, .. } => {
                self.log(Record::Interrupted);
                if self.options.input.restore_draft && !turn.spoke {
                    self.composer.push(&turn.prompt, Duration::ZERO);
                }
                self.transcript.push(Block::Note("Interrupted · What should I do instead?".into()));
                self.rest(Outcome::Interrupted);
            }
            Phase::Lying { .. } => {}
            other => self.phase = other,
        }
    }

    fn interrupt_or_exit(&mut self) {
        if self.exit_armed.is_some() {
            return self.end(0, Ending::Clean);
        }
        self.exit_armed = Some(self.now + EXIT_WAIT);
        self.interrupt();
        self.composer.clear();
    }

    fn press_in_menu(&mut self, key: Key) {
        let (Phase::Greeting(menu) | Phase::Asking { menu, .. }) = &mut self.phase else { return };
        match key {
            Key::Up => menu.up(),
            Key::Down => menu.down(),
            Key::Enter => {
                let row = menu.confirmed();
                self.choose(row);
            }
            Key::Text(text) if menu.kind.takes_characters() => {
                // Every character is a key of its own: a `y` inside a sentence approves, and the rest of the sentence
                // falls into the composer.
                let kind = menu.kind;
                let hit = text.char_indices().find_map(|(at, c)| Some((at + c.len_utf8(), kind.row_of(c)?)));
                let Some((end, row)) = hit else { return self.swallow(&Key::Text(text)) };
                self.choose(row);
                if end < text.len() {
                    self.press(Key::Text(text[end..].to_owned()));
                }
            }
            Key::Escape | Key::Interrupt if matches!(self.phase, Phase::Asking { .. }) => self.interrupt(),
            Key::Escape | Key::Interrupt => self.end(1, Ending::Clean),
            other => self.swallow(&other),
        }
    }

    fn choose(&mut self, row: usize) {
        match std::mem::replace(&mut self.phase, Phase::Idle { outcome: Outcome::Fresh }) {
            Phase::Greeting(menu) => {
                self.log_answer(&menu, row);
                match (menu.kind, row) {
                    (MenuKind::Trust, 0) => self.end(1, Ending::Clean),
                    _ => self.greet(),
                }
            }
            Phase::Asking { turn, menu } => {
                self.log_answer(&menu, row);
                self.go_on(turn, &menu, row);
            }
            other => self.phase = other,
        }
    }

    fn go_on(&mut self, mut turn: Turn, menu: &Menu, row: usize) {
        match (menu.kind, row) {
            (MenuKind::Permission, 2) => {
                self.log(Record::Interrupted);
                self.transcript.push(Block::Note("Refused · What should I do instead?".into()));
                self.rest(Outcome::Interrupted);
            }
            (kind, _) => {
                self.always_allowed |= kind == MenuKind::Permission && row == 1;
                if kind == MenuKind::Question {
                    self.transcript.push(Block::Note(format!("Answered: {}", kind.rows()[row])));
                }
                turn.resume(self.now, kind);
                self.phase = Phase::Working(turn);
            }
        }
    }

    fn log_answer(&mut self, menu: &Menu, row: usize) {
        self.log(Record::Answered { kind: menu.kind.name(), choice: menu.kind.rows()[row] });
    }

    /// Says for some seconds that a key is ignored, and how long ago that was.
    fn refuse(&mut self) {
        self.refused = Some(self.now).filter(|_| !self.options.input.ignore_quietly);
    }

    fn swallow(&mut self, key: &Key) {
        let (key, len) = match key {
            Key::Text(text) => ("text", text.len()),
            Key::Paste(text) => ("paste", text.len()),
            Key::Enter => ("enter", 0),
            _ => ("other", 0),
        };
        self.log(Record::Swallowed { key, len });
    }
}
