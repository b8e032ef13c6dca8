//! Lines between two delimiters.

const END: &str = "--- END CONTEXT ---";

/// A block that is being written.
pub(super) struct Block {
    title: &'static str,
    text: String,
    lines: Vec<Line>,
}

struct Line {
    /// Where it ends in the text.
    end: usize,
    /// How soon it is left out.
    rank: u8,
    kept: bool,
}

impl Block {
    /// An empty block. The title is its first delimiter.
    pub(super) fn new(title: &'static str) -> Self {
        Self { title, text: String::with_capacity(512), lines: Vec::with_capacity(8) }
    }

    /// Adds a line. When there are too many, those of the highest rank are left out first.
    pub(super) fn line(&mut self, rank: u8, write: impl FnOnce(&mut String)) {
        write(&mut self.text);
        self.lines.push(Line { end: self.text.len(), rank, kept: true });
    }

    /// Leaves out lines until there are no more than so many, delimiters included.
    pub(super) fn fit(mut self, max_lines: usize) -> Self {
        for _ in max_lines..self.lines.len() + 2 {
            self.leave_out();
        }
        self
    }

    /// Leaves out a line.
    pub(super) fn leave_out(&mut self) {
        if let Some(line) = self.lines.iter_mut().filter(|line| line.kept).max_by_key(|line| line.rank) {
            line.kept = false;
        }
    }

    /// The block with its delimiters and a blank line, or nothing if there is no line between them.
    pub(super) fn write(&self) -> String {
        if self.lines.iter().all(|line| !line.kept) {
            return String::new();
        }
        let size = self.title.len() + self.text.len() + self.lines.len() + END.len() + 3;
        let mut text = String::with_capacity(size);
        text.push_str(self.title);
        text.push('\n');
        let mut start = 0;
        for line in &self.lines {
            if line.kept {
                text.push_str(&self.text[start..line.end]);
                text.push('\n');
            }
            start = line.end;
        }
        text.push_str(END);
        text.push_str("\n\n");
        text
    }
}
