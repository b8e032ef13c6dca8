//! Programs that no preset knows: how they look, what they show at work, what moves all the time, and what their
//! processes tell.

use ostler_core::State;
use ostler_core::detector::ProcessSample;

use super::play::{COLS, Play, ROWS};

/// How a program looks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Look {
    /// It writes lines and asks with this; the prompt is gone while it works.
    Lines { prompt: &'static str, editor: bool, toolbar: bool },
    /// It draws the whole screen; its prompt is always there.
    Full(Frame),
}

/// Where on a whole screen things are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// What stands before the input.
    pub(crate) prompt: &'static str,
    /// What stands behind it at the end of the row.
    pub(crate) close: &'static str,
    /// The row above the input, which is repeated over the width if it is one character.
    pub(crate) above: &'static str,
    /// The row below.
    pub(crate) below: &'static str,
    /// The status bar is the last row, the first, or right above the input.
    pub(crate) status: Status,
    /// It draws its own cursor.
    pub(crate) own_cursor: &'static str,
    /// What it shows in an empty input, faint.
    pub(crate) hint: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Bottom,
    Top,
    Above,
}

/// What it shows at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Nothing: it computes, waits for its model, or runs another program.
    Computes,
    Asks,
    Runs,
    /// A word that stands still.
    Word,
    /// Something that moves.
    Spinner,
    Counter,
    Bar,
}

/// What moves all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    None,
    Clock,
    Uptime,
    Blink,
    Redraw,
}

/// What its processes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It reads from its terminal and does nothing else meanwhile.
    Reads,
    /// It waits for events, whatever it does.
    Events,
    /// They cannot be seen.
    Hidden,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) look: Look,
    pub(crate) work: Work,
    pub(crate) noise: Noise,
    pub(crate) kind: Kind,
}

/// A program that runs.
struct Running<'a> {
    program: Program,
    play: &'a mut Play,
    history: Vec<String>,
    input: String,
    /// Since when it has worked.
    busy: Option<u64>,
}

impl Program {
    /// What it does can be known at all: by what it shows, or by its processes.
    pub(crate) fn can_be_known(&self) -> bool {
        let shown = matches!(self.work, Work::Spinner | Work::Counter | Work::Bar | Work::Word);
        match self.look {
            // Any output may end so: that it waits for a line, its processes tell.
            Look::Lines { editor: false, .. } => self.kind == Kind::Reads,
            Look::Lines { .. } => true,
            Look::Full(_) => shown || self.kind != Kind::Hidden,
        }
    }

    /// It starts, is asked two things, and rests after each.
    pub(crate) fn play(self) -> Play {
        let mut play = Play::default();
        let mut running =
            Running { program: self, play: &mut play, history: Vec::new(), input: String::new(), busy: None };
        running.start();
        running.rest(15_000);
        running.turn("what is in here", &[4_000, 300, 700, 1_800, 400, 500]);
        running.rest(20_000);
        running.turn("and now do it", &[9_000, 200, 200]);
        running.rest(25_000);
        play
    }
}

impl Running<'_> {
    fn start(&mut self) {
        self.processes();
        self.play.wait(200);
        if let Look::Full(_) = self.program.look {
            self.play.draw("\x1b[?1049h\x1b[2J");
        }
        self.history.push("A program of which nothing is known, version 3.1".into());
        match self.program.look {
            Look::Full(_) => self.paint(),
            Look::Lines { .. } => {
                self.play.draw("A program of which nothing is known, version 3.1\r\n\r\n");
                self.prompt();
            }
        }
        self.play.is(State::Idle);
    }

    fn prompt(&mut self) {
        let Look::Lines { prompt, editor, toolbar } = self.program.look else { return };
        let mode = if editor { "\x1b[?2004h" } else { "" };
        self.play.draw(format!("{mode}{prompt}"));
        if toolbar {
            self.toolbar();
        }
    }

    /// The row below the prompt, drawn from it and back.
    fn toolbar(&mut self) {
        let Look::Lines { prompt, .. } = self.program.look else { return };
        let column = prompt.lines().last().unwrap_or_default().chars().count() + self.input.chars().count();
        let status = self.status();
        self.play.draw(format!("\r\n\x1b[7m{status:<79}\x1b[m\x1b[A\r\x1b[{column}C"));
    }

    fn rest(&mut self, ms: u64) {
        let until = self.play.now() + ms;
        self.noisy_until(until);
    }

    /// Lets time pass, with what moves in it.
    fn noisy_until(&mut self, until: u64) {
        let spins = self.busy.is_some() && self.program.work == Work::Spinner;
        let step = match (spins, self.program.noise) {
            (true, _) => 100,
            (_, Noise::Blink) => 500,
            _ => 1_000,
        };
        while self.play.now() + step <= until {
            self.play.wait(step);
            self.stir();
        }
        self.play.wait(until - self.play.now());
    }

    fn stir(&mut self) {
        let moves =
            self.busy.is_some() && matches!(self.program.work, Work::Spinner | Work::Counter | Work::Bar);
        if self.program.noise == Noise::None && !moves {
            return;
        }
        match self.program.look {
            Look::Full(_) => self.paint(),
            Look::Lines { .. } if moves => {
                let shown = self.activity();
                self.play.draw(format!("\r{shown}\x1b[K"));
            }
            Look::Lines { toolbar: true, .. } if self.busy.is_none() => self.toolbar(),
            Look::Lines { .. } => {}
        }
    }

    fn turn(&mut self, text: &str, pauses: &[u64]) {
        for letter in text.chars() {
            self.play.typed(false);
            self.play.wait(10);
            self.input.push(letter);
            match self.program.look {
                Look::Full(_) => self.paint(),
                Look::Lines { .. } => self.play.draw(letter.to_string()),
            }
            self.play.wait(80);
        }
        self.play.typed(true);
        self.busy = Some(self.play.now());
        self.play.is(State::Working);
        self.processes();
        self.play.wait(20);
        let asked = format!("you: {}", std::mem::take(&mut self.input));
        self.history.push(asked);
        match self.program.look {
            Look::Full(_) => self.paint(),
            Look::Lines { editor, .. } => {
                self.play.draw(if editor { "\x1b[?2004l\r\r\n\x1b[J" } else { "\r\n" });
                if self.program.work == Work::Word {
                    self.play.draw("thinking...");
                }
            }
        }
        for (index, pause) in pauses.iter().enumerate() {
            let until = self.play.now() + pause;
            self.noisy_until(until);
            let line = format!("line {index} of what it has to say about all this");
            self.history.push(line.clone());
            match self.program.look {
                Look::Full(_) => self.paint(),
                Look::Lines { .. } => self.play.draw(format!("\r{line}\x1b[K\r\n")),
            }
        }
        self.play.wait(30);
        self.busy = None;
        self.play.is(State::Idle);
        self.processes();
        match self.program.look {
            Look::Full(_) => self.paint(),
            Look::Lines { .. } => self.prompt(),
        }
    }

    fn processes(&mut self) {
        let rest = ProcessSample {
            reads_terminal: self.program.kind == Kind::Reads,
            single_threaded: true,
            ..ProcessSample::default()
        };
        let calm = ProcessSample::default();
        let sample = match (self.busy, self.program.work) {
            (None, _) => rest,
            (_, Work::Computes) => ProcessSample { cpu_percent: 97, ..calm },
            (_, Work::Asks) => ProcessSample { awaits_answer: true, ..calm },
            (_, Work::Runs) => ProcessSample { children: 1, ..calm },
            _ => calm,
        };
        self.play.processes((self.program.kind != Kind::Hidden).then_some(sample));
    }

    /// What it shows of its work, if anything.
    fn activity(&self) -> String {
        let Some(since) = self.busy else { return String::new() };
        let ms = self.play.now() - since;
        match self.program.work {
            Work::Word => "thinking...".into(),
            Work::Spinner => {
                format!("{} working", ['-', '\\', '|', '/'][usize::try_from(ms / 100 % 4).unwrap_or(0)])
            }
            Work::Counter => format!("working {}s", ms / 1_000),
            Work::Bar => format!("[{:<20}]", "#".repeat(usize::try_from(ms / 1_000).unwrap_or(0).min(20))),
            _ => String::new(),
        }
    }

    fn status(&self) -> String {
        let second = self.play.now() / 1_000;
        let noise = match self.program.noise {
            Noise::Clock => format!("14:{:02}:{:02}", second / 60, second % 60),
            Noise::Uptime => format!("up {second} s"),
            _ => "local".into(),
        };
        let shown = self.activity();
        let word = match (self.busy, shown.is_empty()) {
            (Some(_), false) => shown,
            _ => "model x".into(),
        };
        format!(" {word} | {noise} | 80x24 ")
    }

    fn paint(&mut self) {
        let Look::Full(frame) = self.program.look else { return };
        let wide = usize::from(COLS);
        let line = |text: &str| {
            let one = text.chars().count() == 1;
            if one { text.repeat(wide) } else { text.to_owned() }
        };
        let status = format!("\x1b[7m{:<wide$}\x1b[m", self.status());
        let on = self.program.noise != Noise::Blink || (self.play.now() / 500).is_multiple_of(2);
        let cursor = if on { frame.own_cursor } else { "" };
        let hint = if self.input.is_empty() { frame.hint } else { "" };
        let written = format!("{}{}{cursor}", frame.prompt, self.input);
        let fill = wide.saturating_sub(written.chars().count() + frame.close.chars().count() + hint.len());
        let input = format!("{written}\x1b[2m{hint}\x1b[m{}{}", " ".repeat(fill), frame.close);
        let mut bottom: Vec<String> = Vec::new();
        if frame.status == Status::Above {
            bottom.push(status.clone());
        }
        bottom.extend((!frame.above.is_empty()).then(|| line(frame.above)));
        let input_row = bottom.len();
        bottom.push(input);
        bottom.extend((!frame.below.is_empty()).then(|| line(frame.below)));
        if frame.status == Status::Bottom {
            bottom.push(status.clone());
        }
        let rows = usize::from(ROWS);
        let mut top: Vec<String> = Vec::new();
        top.push(if frame.status == Status::Top { status } else { "\x1b[1m chat \x1b[m".into() });
        let room = rows - bottom.len() - top.len();
        let skip = self.history.len().saturating_sub(room);
        top.extend(self.history.iter().skip(skip).cloned());
        top.resize(rows - bottom.len(), String::new());
        let input_row = top.len() + input_row + 1;
        top.extend(bottom);
        let body: Vec<String> =
            top.iter().enumerate().map(|(row, text)| format!("\x1b[{};1H{text}\x1b[K", row + 1)).collect();
        let column = frame.prompt.chars().count() + self.input.chars().count() + 1;
        let visible = if frame.own_cursor.is_empty() { 'h' } else { 'l' };
        self.play.draw(format!("\x1b[?25l{}\x1b[{input_row};{column}H\x1b[?25{visible}", body.concat()));
    }
}
