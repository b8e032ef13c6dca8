//! The kitty keyboard protocol's flags.

/// Entries kept per screen; older ones fall off the bottom.
const DEPTH: usize = 16;

/// Flags the protocol defines.
const ALL: u8 = 0b1_1111;

/// The keyboard flags of one screen: those in force and those to come back to.
///
/// Kept here and not by the emulator, whose own stack panics when a program pushes often enough.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyboardFlags {
    current: u8,
    saved: Vec<u8>,
}

/// How new flags combine with those in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    Replace,
    Add,
    Remove,
}

impl KeyboardFlags {
    pub(crate) fn current(&self) -> u8 {
        self.current
    }

    pub(crate) fn set(&mut self, flags: u8, combine: Combine) {
        let flags = flags & ALL;
        self.current = match combine {
            Combine::Replace => flags,
            Combine::Add => self.current | flags,
            Combine::Remove => self.current & !flags,
        };
    }

    pub(crate) fn push(&mut self, flags: u8) {
        if self.saved.len() == DEPTH {
            self.saved.remove(0);
        }
        self.saved.push(self.current);
        self.current = flags & ALL;
    }

    pub(crate) fn pop(&mut self, count: u16) {
        for _ in 0..usize::from(count).min(DEPTH + 1) {
            self.current = self.saved.pop().unwrap_or(0);
        }
    }

    /// Appends the sequences that build these flags from none.
    pub(crate) fn push_restore(&self, out: &mut Vec<u8>) {
        let mut levels = self.saved.iter().chain([&self.current]);
        if let Some(bottom) = levels.next().filter(|bottom| **bottom != 0) {
            out.extend_from_slice(format!("\x1b[={bottom}u").as_bytes());
        }
        for level in levels {
            out.extend_from_slice(format!("\x1b[>{level}u").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push_and_pop_come_back_to_what_was() {
        let mut flags = KeyboardFlags::default();
        flags.set(1, Combine::Replace);
        flags.push(0b1000);
        flags.set(1, Combine::Add);
        assert_eq!(flags.current(), 0b1001);
        flags.set(0b1000, Combine::Remove);
        flags.push(0xff);
        assert_eq!(flags.current(), 0b1_1111);
        flags.pop(1);
        assert_eq!(flags.current(), 1);
        flags.pop(u16::MAX);
        assert_eq!(flags, KeyboardFlags::default());
    }

    #[test]
    fn the_stack_is_bounded() {
        let mut flags = KeyboardFlags::default();
        for _ in 0..10_000 {
            flags.push(1);
        }
        assert_eq!(flags.saved.len(), DEPTH);
    }
}
