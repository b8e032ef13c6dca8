//! The last bytes of output, addressed by absolute offsets.
//!
//! The ring lives in a file of the session directory, mapped into memory, so what a program said last can
//! still be read when its holder was killed. Where the file's blocks cannot be had (a full disk), it lives
//! in anonymous memory instead and ends with the holder. Blocks are reserved before they are mapped: a
//! mapping with holes would turn a full disk into a bus error.

#![expect(unsafe_code, reason = "memory mapping")]

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;

use rustix::fs::FallocateFlags;
use rustix::mm::{MapFlags, ProtFlags};

/// Bytes in front of the data: magic, version, capacity, bytes written so far.
const HEADER: usize = 64;
const MAGIC: [u8; 8] = *b"ostring1";
const CAPACITY_AT: usize = 8;
const WRITTEN_AT: usize = 16;

/// A window on the most recent output.
#[derive(Debug)]
pub struct Ring {
    map: NonNull<u8>,
    capacity: usize,
    written: u64,
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
        let mut ring = Self { map, capacity, written: 0 };
        ring.header(0, &MAGIC);
        ring.header(CAPACITY_AT, &(capacity as u64).to_le_bytes());
        Ok(ring)
    }

    /// Total bytes written, which is the offset of the next one.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Offset of the oldest byte still here.
    pub fn oldest(&self) -> u64 {
        self.written.saturating_sub(self.capacity as u64)
    }

    /// Bytes the ring can keep.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Fills the space behind the newest byte by `read`, which returns how much it wrote. What it overwrites
    /// is the oldest output.
    pub fn fill<E>(&mut self, read: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<usize, E> {
        let head = self.position(self.written);
        // SAFETY: `head < capacity`, so the slice lies inside the mapping, which `&mut self` lends alone.
        let space = unsafe {
            std::slice::from_raw_parts_mut(self.map.as_ptr().add(HEADER + head), self.capacity - head)
        };
        let len = space.len();
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
    let oldest = written.saturating_sub(capacity);
    let len = usize::try_from(written - oldest).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    let start = oldest % capacity;
    let first = len.min(usize::try_from(capacity - start).map_err(io::Error::other)?);
    file.read_exact_at(&mut bytes[..first], HEADER as u64 + start)?;
    file.read_exact_at(&mut bytes[first..], HEADER as u64)?;
    Ok(Remains { oldest, bytes })
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
        fn keeps_exactly_the_newest(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..30)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("ring");
            let mut ring = Ring::create(&path, 64).unwrap();
            let mut all = Vec::new();
            for piece in &pieces {
                push(&mut ring, piece);
                all.extend_from_slice(piece);
            }
            prop_assert_eq!(ring.written(), all.len() as u64);
            let kept = &all[all.len().saturating_sub(64)..];
            prop_assert_eq!(contents(&ring, 0), kept);
            prop_assert_eq!(contents(&ring, ring.written()), b"");
            drop(ring);
            let remains = read_remains(&path).unwrap();
            prop_assert_eq!(remains.oldest, (all.len() - kept.len()) as u64);
            prop_assert_eq!(remains.bytes, kept);
        }
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
