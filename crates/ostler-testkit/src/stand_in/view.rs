//! The screen: header, transcript, spinner, composer or dialog, status row.

use std::time::Duration;

use super::app::{App, Block, Phase};
use super::frame::{Frame, Row, Size, Style, width, wrap};
use super::menu::{Menu, MenuKind};
use super::signals;

/// Shown in the empty composer.
const PLACEHOLDER: &str = "Type a message, or /exit to leave";

/// Narrower terminals get a cropped screen.
const NARROWEST: usize = 20;

/// Lays out the whole screen; what does not fit leaves at the top.
pub(super) fn screen(app: &App, size: Size) -> Frame {
    let cols = usize::from(size.cols).max(NARROWEST);
    let mut frame = Frame::default();
    match &app.phase {
        Phase::Blank { .. } if !app.is_flashing() => return frame,
        Phase::Greeting(menu) => frame.rows = dialog(menu, cols),
        Phase::Blank { .. } | Phase::Idle { .. } => body(app, &mut frame, cols, size, None),
        Phase::Working(turn) => body(app, &mut frame, cols, size, Some(turn.started)),
        Phase::Lying { since } => body(app, &mut frame, cols, size, Some(*since)),
        Phase::Asking { menu, .. } => {
            frame.rows = transcript(app, cols, usize::from(size.rows));
            frame.rows.extend(dialog(menu, cols));
        }
    }
    let surplus = frame.rows.len().saturating_sub(usize::from(size.rows));
    frame.rows.drain(..surplus);
    frame.rows.iter_mut().for_each(|row| row.crop(usize::from(size.cols)));
    frame.cursor = frame
        .cursor
        .map(|(row, col)| (row.saturating_sub(surplus), col.min(usize::from(size.cols).saturating_sub(1))));
    frame
}

fn plain(text: &str) -> Row {
    Row::default().with(Style::Plain, text)
}

fn dim(text: &str) -> Row {
    Row::default().with(Style::Dim, text)
}

fn body(app: &App, frame: &mut Frame, cols: usize, size: Size, busy: Option<Duration>) {
    frame.rows = transcript(app, cols, usize::from(size.rows));
    if let Some(since) = busy {
        frame.rows.push(spinner(since, app.now));
        frame.rows.push(Row::default());
    }
    for message in &app.queue {
        let start: String = message.chars().take(cols - 4).collect();
        frame.rows.push(dim(&format!("  > {start}")));
    }
    if !app.queue.is_empty() {
        frame.rows.push(dim("  Queued until the turn ends"));
    }
    composer(app, frame, cols, size);
    let hint = match (app.exit_armed, busy) {
        (Some(_), _) => "  Press Ctrl-C again to exit".into(),
        (None, Some(_)) => "  esc to interrupt".into(),
        (None, None) => match app.refused {
            Some(at) => format!("  Not yet, try again ({} s ago)", app.now.saturating_sub(at).as_secs()),
            None if app.is_loading() => "  Loading".into(),
            None => "  ? for shortcuts".into(),
        },
    };
    frame.rows.push(dim(&hint));
}

fn spinner(since: Duration, now: Duration) -> Row {
    let seconds = now.saturating_sub(since).as_secs();
    Row::default()
        .with(Style::Accent, &format!("{} Working… ", signals::spinner(since, now)))
        .with(Style::Dim, &format!("({seconds}s · esc to interrupt)"))
}

fn transcript(app: &App, cols: usize, rows: usize) -> Vec<Row> {
    let look = &app.options.look;
    let mut blocks = Vec::new();
    let mut height = 0;
    for at in (0..app.transcript.len()).rev() {
        // Blocks above the top of the screen are never laid out.
        if height > rows {
            break;
        }
        let mut lines = block(&app.transcript[at], cols, look.history_echo);
        if !matches!(app.transcript.get(at + 1), Some(Block::Note(_))) {
            lines.push(Row::default());
        }
        height += lines.len();
        blocks.push(lines);
    }
    let mut all = vec![
        Row::default()
            .with(Style::Accent, "✻ ")
            .with(Style::Bold, &format!("{} v{}", look.name, look.release)),
        dim("  a scripted agent for tests and demos"),
        Row::default(),
    ];
    all.extend(blocks.into_iter().rev().flatten());
    all
}

fn block(block: &Block, cols: usize, history_echo: bool) -> Vec<Row> {
    let (lead, text, style) = match block {
        Block::Prompt(text) if history_echo => return boxed(&wrap(text, cols - 6), cols),
        Block::Prompt(text) => ("> ", text, Style::Dim),
        Block::Reply(text) | Block::Call(text) => ("● ", text, Style::Plain),
        Block::Note(text) => ("  ⎿  ", text, Style::Dim),
        Block::Error(text) => ("● ", text, Style::Alarm),
    };
    let indent = width(lead);
    let lines = wrap(text, cols - indent);
    let first = |at| if at == 0 { lead.to_owned() } else { " ".repeat(indent) };
    lines.iter().enumerate().map(|(at, line)| plain(&first(at)).with(style, line)).collect()
}

fn composer(app: &App, frame: &mut Frame, cols: usize, size: Size) {
    let height = usize::from(size.rows / 2).max(1);
    let text = app.composer.visible(app.now, cols * height * 4);
    frame.rows.push(plain(&format!("╭{}╮", "─".repeat(cols - 2))));
    let top = frame.rows.len();
    if text.is_empty() {
        let hint = app.options.look.ghost.as_deref().unwrap_or(PLACEHOLDER);
        let hint: String = hint.chars().take(cols - 6).collect();
        let gap = " ".repeat(cols - 6 - width(&hint).min(cols - 6));
        frame.rows.push(plain("│ > ").with(Style::Dim, &hint).with(Style::Plain, &format!("{gap} │")));
        frame.cursor = Some((top, 4));
    } else {
        let mut lines = wrap(&text, cols - 6);
        lines.drain(..lines.len().saturating_sub(height));
        frame.cursor = lines.last().map(|last| (top + lines.len() - 1, 4 + width(last)));
        frame.rows.extend(boxed(&lines, cols));
    }
    frame.rows.push(plain(&format!("╰{}╯", "─".repeat(cols - 2))));
}

/// Rows of the composer box.
fn boxed(lines: &[String], cols: usize) -> Vec<Row> {
    let row = |(at, line): (usize, &String)| {
        let lead = if at == 0 { "│ > " } else { "│   " };
        let gap = " ".repeat((cols - 6).saturating_sub(width(line)));
        plain(&format!("{lead}{line}{gap} │"))
    };
    lines.iter().enumerate().map(row).collect()
}

fn dialog(menu: &Menu, cols: usize) -> Vec<Row> {
    let mut rows = vec![dim(&"─".repeat(cols))];
    let (title, lines, foot): (_, &[&str], _) = match menu.kind {
        MenuKind::Theme => (
            "Choose the text style that looks best with your terminal",
            &["To change this later, run /theme"],
            "Enter to confirm",
        ),
        MenuKind::Trust => (
            "Accessing workspace:",
            &["Quick safety check: Is this a project you created or one you trust?"],
            "Enter to confirm · Esc to cancel",
        ),
        MenuKind::Permission => {
            ("Shell command", &[&menu.subject, "", "Do you want to proceed?"], "Esc to cancel")
        }
        MenuKind::Question => ("Question", &[&menu.subject], "Enter to select · Esc to cancel"),
    };
    rows.push(Row::default().with(Style::Bold, &format!(" {title}")));
    rows.push(Row::default());
    rows.extend(lines.iter().flat_map(|text| wrap(text, cols - 2)).map(|line| plain(&format!(" {line}"))));
    rows.push(Row::default());
    for (at, text) in menu.kind.rows().iter().enumerate() {
        let number = if menu.kind.takes_characters() { format!("{}. ", at + 1) } else { String::new() };
        rows.push(if at == menu.selected {
            Row::default().with(Style::Accent, &format!(" ❯ {number}{text}"))
        } else {
            plain(&format!("   {number}{text}"))
        });
    }
    rows.push(Row::default());
    rows.push(dim(&format!(" {foot}")));
    rows
}
