//! A block of ours in a file that people write: an agent's instructions.
//!
//! A file may hold one block of each session, between two lines that bear the session's id. Whatever is outside
//! is somebody else's, and passes through byte for byte: files have all kinds of line ends and encodings. Where a
//! file ends without a line end, the block brings the one that separates it and leaves out its own; so taking it
//! out gives back what was there.

use ostler_screen::SafeText;

/// Longest text of a block: agents read the whole file at every start.
pub const MAX_BODY: usize = 64 << 10;

/// First line of a file that was not there before ostler wrote it.
const MADE: &[u8] = b"<!-- ostler:made -->\n";
const OPENING: &str = "<!-- ostler:";
/// What an opening of ours becomes in the text of a block.
const HARMLESS: &str = "<! -- ostler:";

/// Names a block: the id of the session that it is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlockId(String);

/// No block can be put into a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The id could be taken for something else.
    #[error("{0:?} cannot name a block: use 1 to 64 letters, digits, '.', '_' or '-'")]
    Id(String),
    /// The text is too long.
    #[error("{0} bytes are too many for a file that an agent reads at every start (at most {MAX_BODY})")]
    TooLong(usize),
    /// Bytes of ours would be nonsense there.
    #[error("it is UTF-16 text, and a block is not")]
    Utf16,
}

impl BlockId {
    /// Takes an id that is plainly one.
    pub fn new(id: &str) -> Result<Self, BlockError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if (1..=64).contains(&id.len()) && id.bytes().all(plain) {
            Ok(Self(id.to_owned()))
        } else {
            Err(BlockError::Id(id.to_owned()))
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Puts the block of `id` into a file, in the place of the one that is there or at the end. `None` is a file that
/// is not there.
pub fn put(before: Option<&[u8]>, id: &BlockId, body: &str) -> Result<Vec<u8>, BlockError> {
    if body.len() > MAX_BODY {
        return Err(BlockError::TooLong(body.len()));
    }
    let Some(before) = before else {
        return Ok([MADE, &block(id, body, "\n"), b"\n"].concat());
    };
    if before.starts_with(b"\xff\xfe") || before.starts_with(b"\xfe\xff") {
        return Err(BlockError::Utf16);
    }
    let mine: Vec<Block<'_>> = blocks(before).into_iter().filter(|block| block.id == id.as_str()).collect();
    let Some((first, copies)) = mine.split_first() else { return Ok(append(before, id, body)) };
    let end_of_line = if first.crlf { "\r\n" } else { "\n" };
    // From the back, so that places stay what they are.
    let mut after = before.to_vec();
    for copy in copies.iter().rev() {
        after.drain(copy.with_line_end(before));
    }
    after.splice(first.start..first.end, block(id, body, end_of_line));
    Ok(after)
}

/// What is left of a file from which blocks were taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remains {
    /// There was none: nothing changes.
    Same,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing but what ostler wrote was in it, and ostler made it: it can go.
    Nothing,
}

/// Takes the block of `id` out of a file, or all blocks.
pub fn remove(before: &[u8], id: Option<&BlockId>) -> Remains {
    let all = blocks(before);
    let is_meant = |block: &Block<'_>| id.is_none_or(|id| block.id == id.as_str());
    if !all.iter().any(is_meant) {
        return Remains::Same;
    }
    let mut after = before.to_vec();
    for block in all.iter().rev().filter(|block| is_meant(block)) {
        // What is before it has not moved, and what is behind it is as it will be.
        let range = block.with_line_end(&after);
        after.drain(range);
    }
    if !all.iter().all(is_meant) {
        return Remains::Bytes(after);
    }
    match after.strip_prefix(MADE) {
        Some([]) => Remains::Nothing,
        Some(rest) => Remains::Bytes(rest.to_vec()),
        None => Remains::Bytes(after),
    }
}

/// The ids of the blocks in a file, in their order.
pub fn ids(file: &[u8]) -> Vec<String> {
    blocks(file).into_iter().map(|block| block.id.to_owned()).collect()
}

/// One block of a file.
#[derive(Debug)]
struct Block<'a> {
    id: &'a str,
    /// Where its first line begins.
    start: usize,
    /// Where its last line ends, without the line end.
    end: usize,
    /// Its lines end in CR and LF.
    crlf: bool,
}

impl Block<'_> {
    /// The block with one line end: the one behind it, or the one before it if it is the end of the file.
    fn with_line_end(&self, file: &[u8]) -> std::ops::Range<usize> {
        if let Some(length) = line_end(&file[self.end..]) {
            return self.start..self.end + length;
        }
        let before = &file[..self.start];
        let own: &[u8] = if self.crlf { b"\r\n" } else { b"\n" };
        let separator = if before.ends_with(own) { own.len() } else { 0 };
        self.start - separator..self.end
    }
}

/// All whole blocks: a first line, and a last line of the same id with no such line between them. Lines that do not
/// fit together are somebody's text.
fn blocks(file: &[u8]) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Block<'_>> = None;
    let mut at = 0;
    while at < file.len() {
        let length = file[at..].iter().position(|byte| *byte == b'\n').unwrap_or(file.len() - at);
        let line = &file[at..at + length];
        // At the end of the file this may be half a line end: it must mean the same when the rest comes.
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        // Behind a last line without a line end somebody may have written on.
        let text = open.as_ref().and_then(|open| last_line(open.id, text)).unwrap_or(text);
        match marker(text) {
            Some(Marker::Begin(id)) => {
                open = Some(Block { id, start: at, end: at, crlf: text.len() < line.len() });
            }
            Some(Marker::End(id)) => {
                let block = open.take().filter(|open| open.id == id);
                found.extend(block.map(|block| Block { end: at + text.len(), ..block }));
            }
            None => {}
        }
        at += length + 1;
    }
    found
}

/// The last line of a block at the beginning of bytes.
fn last_line<'a>(id: &str, text: &'a [u8]) -> Option<&'a [u8]> {
    let end = format!("{OPENING}end {id} -->");
    text.starts_with(end.as_bytes()).then(|| &text[..end.len()])
}

enum Marker<'a> {
    Begin(&'a str),
    End(&'a str),
}

fn marker(line: &[u8]) -> Option<Marker<'_>> {
    let inner = line.strip_prefix(OPENING.as_bytes())?.strip_suffix(b" -->")?;
    let (kind, id) = std::str::from_utf8(inner).ok()?.split_once(' ')?;
    BlockId::new(id).ok()?;
    match kind {
        "begin" => Some(Marker::Begin(id)),
        "end" => Some(Marker::End(id)),
        _ => None,
    }
}

/// Length of the line end that bytes begin with.
fn line_end(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

fn append(before: &[u8], id: &BlockId, body: &str) -> Vec<u8> {
    let last = before.iter().rposition(|byte| *byte == b'\n');
    let crlf = last.is_some_and(|last| before[..last].ends_with(b"\r"));
    let end_of_line = if crlf { "\r\n" } else { "\n" };
    let block = block(id, body, end_of_line);
    if before.is_empty() || before.ends_with(b"\n") {
        [before, &block, end_of_line.as_bytes()].concat()
    } else {
        [before, end_of_line.as_bytes(), &block].concat()
    }
}

/// The block without a line end behind it.
fn block(id: &BlockId, body: &str, end_of_line: &str) -> Vec<u8> {
    let id = id.as_str();
    let mut lines = vec![format!("{OPENING}begin {id} -->")];
    lines.extend(harmless(body).trim_end().lines().map(str::to_owned));
    lines.push(format!("{OPENING}end {id} -->"));
    lines.join(end_of_line).into_bytes()
}

/// Text that stays what it is in a file that agents read: it ends no block, and what agents take for a file to be
/// read in its place (`@path`) is only text.
fn harmless(body: &str) -> String {
    let body = SafeText::new(body);
    let body = body.as_str().replace(OPENING, HARMLESS);
    let mut text = String::with_capacity(body.len());
    let mut before = '\n';
    for character in body.chars() {
        if character == '@' && before.is_whitespace() {
            text.push('\\');
        }
        text.push(character);
        before = character;
    }
    text
}

#[cfg(test)]
mod tests;
