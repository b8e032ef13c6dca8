//! The last bytes of output, addressed by absolute offsets.
//!
//! The ring lives in a file of the session directory, mapped into memory, so what a program said last can
//! still be read when its holder was killed. Where the file's blocks cannot be had (a full disk), it lives
//! in anonymous memory instead and ends with the holder. Blocks are reserved before they are mapped: a
//! mapping with holes would turn a full disk into a bus error.
//!
//! What the ring is about to forget passes through a scanner of terminal modes. So the oldest byte that is kept
//! begins a character or a sequence, and the modes at that place are known, however much was lost before it.

#![expect(unsafe_code, reason = "memory mapping")]

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;

use rustix::fs::FallocateFlags;
use rustix::mm::{MapFlags, ProtFlags};

use crate::modes::{Modes, Scanner};

/// Bytes in front of the data: magic, capacity, bytes written so far; offset of the oldest byte and the modes there,
/// all zero if a holder wrote it that did not know them.
const HEADER: usize = 64;
const MAGIC: [u8; 8] = *b"ostring1";
const CAPACITY_AT: usize = 8;
const WRITTEN_AT: usize = 16;
const OLDEST_AT: usize = 24;
const MODES_AT: usize = 32;
/// Most bytes that are taken in at once. As many are given up before, for nobody knows how many will come.
const STEP: usize = 4096;

/// A window on the most recent output.
#[derive(Debug)]
pub struct Ring {
    map: NonNull<u8>,
    capacity: usize,
    written: u64,
    /// Offset of the oldest byte that is kept.
    oldest: u64,
    /// What came before that byte.
    forgotten: Scanner,
}

impl Ring {
    /// Creates the ring file at `path`, or a ring in memory if the disk has no room for it.
    pub fn create(path: &Path, capacity: usize) -> io::Result<Self> {
        let len = HEADER + capacity;
        let map = map_new_file(path, len).or_else(|_| {
            // A leftover without blocks would be taken for a ring.
            let _ = std::fs::remove_file(path);
            // SAFETY: a fresh anonymous mapping aliases nothing.
            unsafe {
                rustix::mm::mmap_anonymous(
                    std::ptr::null_mut(),
                    len,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::PRIVATE,
                )
            }
        })?;
        let map = NonNull::new(map.cast()).ok_or_else(|| io::Error::other("mapping at address zero"))?;
        let mut ring = Self { map, capacity, written: 0, oldest: 0, forgotten: Scanner::default() };
        ring.header(0, &MAGIC);
        ring.header(CAPACITY_AT, &(capacity as u64).to_le_bytes());
        ring.header(MODES_AT, &Modes::default().to_bytes());
        Ok(ring)
    }

    /// Total bytes written, which is the offset of the next one.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Offset of the oldest byte still here. It begins a character or a sequence, unless that is longer than any
    /// that counts.
    pub fn oldest(&self) -> u64 {
        self.oldest
    }

    /// The modes of the terminal before the oldest byte.
    pub fn modes(&self) -> Modes {
        self.forgotten.modes()
    }

    /// Bytes the ring can keep.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Fills the space behind the newest byte by `read`, which returns how much it wrote. What it overwrites
    /// is the oldest output.
    pub fn fill<E>(&mut self, read: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
        let head = self.position(self.written);
        let len = self.step().min(self.capacity - head);
        self.forget((self.written + len as u64).saturating_sub(self.capacity as u64));
        // SAFETY: `head + len <= capacity`, so the slice lies inside the mapping, which `&mut self` lends alone.
        let space = unsafe { std::slice::from_raw_parts_mut(self.map.as_ptr().add(HEADER + head), len) };
        let count = read(space)?.min(len);
        self.written += count as u64;
        self.header(WRITTEN_AT, &self.written.to_le_bytes());
        Ok(count)
    }

    /// Up to `max` bytes from `from` on, in two parts where they wrap. `from` must be within the ring.
    pub fn slices(&self, from: u64, max: usize) -> (&[u8], &[u8]) {
        let from = from.clamp(self.oldest(), self.written);
        let len = usize::try_from(self.written - from).unwrap_or(usize::MAX).min(max);
        let start = self.position(from);
        let first = len.min(self.capacity - start);
        // SAFETY: both parts lie inside the mapping and are only read while `&self` lives.
        unsafe {
            let data = self.map.as_ptr().add(HEADER);
            (
                std::slice::from_raw_parts(data.add(start), first),
                std::slice::from_raw_parts(data, len - first),
            )
        }
    }

    fn step(&self) -> usize {
        STEP.min(self.capacity / 8).max(1)
    }

    /// Gives up what lies before `end`, and the rest of a sequence or character that this would cut in two.
    fn forget(&mut self, end: u64) {
        if end <= self.oldest {
            return;
        }
        let mut scanner = self.forgotten;
        let gone = usize::try_from(end - self.oldest).unwrap_or(usize::MAX);
        let (first, second) = self.slices(self.oldest, gone);
        scanner.feed(first);
        scanner.feed(second);
        let (first, second) = self.slices(end, self.step());
        let mut rest = scanner.finish(first);
        if rest == first.len() {
            rest += scanner.finish(second);
        }
        self.oldest = end + rest as u64;
        self.forgotten = scanner;
        // Before anything is overwritten: who reads the file of a killed holder is not misled.
        self.header(OLDEST_AT, &self.oldest.to_le_bytes());
        self.header(MODES_AT, &scanner.modes().to_bytes());
    }

    fn position(&self, offset: u64) -> usize {
        usize::try_from(offset % self.capacity as u64).unwrap_or(0)
    }

    fn header(&mut self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= HEADER);
        // SAFETY: the header is inside the mapping and `&mut self` lends it alone.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_ptr().add(at), bytes.len()) }
            .copy_from_slice(bytes);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and is not used after.
        let _ = unsafe { rustix::mm::munmap(self.map.as_ptr().cast(), HEADER + self.capacity) };
    }
}

fn map_new_file(path: &Path, len: usize) -> rustix::io::Result<*mut std::ffi::c_void> {
    use rustix::fs::{Mode, OFlags};
    let file = rustix::fs::open(
        path,
        OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC,
        Mode::RUSR | Mode::WUSR,
    )?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, len as u64)?;
    // SAFETY: the file was created by this call and nobody else maps it for writing.
    unsafe {
        rustix::mm::mmap(
            std::ptr::null_mut(),
            len,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED,
            &file,
            0,
        )
    }
}

/// The output that a holder left in its ring file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// Absolute offset of the first byte.
    pub oldest: u64,
    /// Sequences that give a new terminal the modes it had at that byte; none if the holder did not know them.
    pub modes: Vec<u8>,
    /// The bytes, oldest first.
    pub bytes: Vec<u8>,
}

/// Reads a ring file whose holder is gone.
pub fn read_remains(path: &Path) -> io::Result<Remains> {
    use std::os::unix::fs::FileExt;
    let file = File::open(path)?;
    let mut header = [0u8; HEADER];
    file.read_exact_at(&mut header, 0)?;
    let number = |at: usize| header[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let (capacity, written) = (number(CAPACITY_AT), number(WRITTEN_AT));
    let size = file.metadata()?.len();
    if header[..8] != MAGIC || capacity == 0 || size != HEADER as u64 + capacity {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a ring file"));
    }
    let modes = header[MODES_AT..].first_chunk().and_then(|bytes| Modes::from_bytes(*bytes));
    let known = modes.map(|modes| (number(OLDEST_AT), modes)).filter(|(oldest, _)| *oldest <= written);
    let oldest = written.saturating_sub(capacity).max(known.map_or(0, |(oldest, _)| oldest));
    let modes = known.map(|(_, modes)| modes.to_sequences()).unwrap_or_default();
    let len = usize::try_from(written - oldest).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    let start = oldest % capacity;
    let first = len.min(usize::try_from(capacity - start).map_err(io::Error::other)?);
    file.read_exact_at(&mut bytes[..first], HEADER as u64 + start)?;
    file.read_exact_at(&mut bytes[first..], HEADER as u64)?;
    Ok(Remains { oldest, modes, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn push(ring: &mut Ring, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = ring
                .fill(|space| {
                    let count = space.len().min(bytes.len());
                    space[..count].copy_from_slice(&bytes[..count]);
                    Ok::<_, io::Error>(count)
                })
                .unwrap();
            bytes = &bytes[count..];
        }
    }

    fn contents(ring: &Ring, from: u64) -> Vec<u8> {
        let (first, second) = ring.slices(from, usize::MAX);
        [first, second].concat()
    }

    proptest! {
        #[test]
        fn keeps_the_newest(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..30)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("ring");
            let mut ring = Ring::create(&path, 64).unwrap();
            let mut all = Vec::new();
            for piece in &pieces {
                push(&mut ring, piece);
                all.extend_from_slice(piece);
            }
            prop_assert_eq!(ring.written(), all.len() as u64);
            // Less what may be overwritten next, and what that would leave of a sequence.
            let kept = contents(&ring, 0);
            prop_assert!(all.ends_with(&kept));
            prop_assert!(kept.len() >= all.len().min(64 - 8 - 8), "{}", kept.len());
            prop_assert_eq!(ring.oldest(), (all.len() - kept.len()) as u64);
            prop_assert_eq!(contents(&ring, ring.written()), b"");
            let modes = ring.modes();
            drop(ring);
            let remains = read_remains(&path).unwrap();
            prop_assert_eq!(remains.oldest, (all.len() - kept.len()) as u64);
            prop_assert_eq!(remains.bytes, kept);
            prop_assert_eq!(remains.modes, modes.to_sequences());
        }
    }

    #[test]
    fn the_oldest_byte_is_in_the_middle_of_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut ring = Ring::create(&dir.path().join("ring"), 256).unwrap();
        let pieces = ["\x1b[?2004h", "\x1b[38;2;1;2;3m", "\u{1f600}", "x", "\x1b]0;title\x07", "\x1b[?2004l"];
        let mut all = Vec::new();
        for round in 0..2000 {
            push(&mut ring, pieces[round % pieces.len()].as_bytes());
            all.extend_from_slice(pieces[round % pieces.len()].as_bytes());
            let kept = contents(&ring, 0);
            let kept = std::str::from_utf8(&kept).unwrap();
            assert!(kept.is_empty() || pieces.iter().any(|piece| kept.starts_with(piece)), "{kept:?}");
            let mut scanner = Scanner::default();
            scanner.feed(&all[..usize::try_from(ring.oldest()).unwrap()]);
            assert_eq!(ring.modes(), scanner.modes());
        }
    }

    #[test]
    fn a_ring_of_an_older_holder_is_read_without_modes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ring");
        let mut ring = Ring::create(&path, 64).unwrap();
        push(&mut ring, &[b'x'; 100]);
        ring.header(OLDEST_AT, &[0; HEADER - OLDEST_AT]);
        drop(ring);
        let remains = read_remains(&path).unwrap();
        assert_eq!((remains.oldest, remains.bytes.len(), remains.modes.len()), (36, 64, 0));
    }

    #[test]
    fn falls_back_to_memory_where_the_disk_refuses() {
        let mut ring = Ring::create(Path::new("/proc/no-such-place/ring"), 16).unwrap();
        push(&mut ring, b"still works");
        assert_eq!(contents(&ring, 0), b"still works");
    }

    #[test]
    fn a_foreign_file_is_not_a_ring() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ring");
        std::fs::write(&path, [0u8; 200]).unwrap();
        assert!(read_remains(&path).is_err());
    }
}
