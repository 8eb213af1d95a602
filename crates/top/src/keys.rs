//! The keys that are typed, from the bytes that a terminal sends for them.

use crate::state::Key;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Where keys are typed: standard input, or the terminal of this process where that is something else, such as a file to be sent.
pub(crate) struct Keyboard(OwnedFd);

impl Keyboard {
    /// The keyboard of this process.
    ///
    /// # Errors
    /// When it has none.
    pub(crate) fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return stdin.as_fd().try_clone_to_owned().map(Self);
        }
        File::open("/dev/tty").map(|terminal| Self(terminal.into()))
    }
}

impl AsFd for Keyboard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The sequences that terminals send for keys without a character, with the longest first where one begins another.
///
/// Source: `console_codes`(4), xterm's control sequences.
const SEQUENCES: [(&[u8], Key); 18] = [
    (b"\x1b[A", Key::Up),
    (b"\x1b[B", Key::Down),
    (b"\x1b[C", Key::Right),
    (b"\x1b[D", Key::Left),
    (b"\x1bOA", Key::Up),
    (b"\x1bOB", Key::Down),
    (b"\x1bOC", Key::Right),
    (b"\x1bOD", Key::Left),
    (b"\x1b[5~", Key::PageUp),
    (b"\x1b[6~", Key::PageDown),
    (b"\x1b[H", Key::Home),
    (b"\x1b[F", Key::End),
    (b"\x1bOH", Key::Home),
    (b"\x1bOF", Key::End),
    (b"\x1b[1~", Key::Home),
    (b"\x1b[4~", Key::End),
    (b"\x1b[7~", Key::Home),
    (b"\x1b[8~", Key::End),
];

/// The keys of what was read at once.
pub(crate) fn keys_of(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        if let Some((sequence, key)) = SEQUENCES.iter().find(|(one, _)| bytes.starts_with(one)) {
            keys.push(*key);
            bytes = &bytes[sequence.len()..];
            continue;
        }
        bytes = rest;
        match first {
            0x1b if rest.is_empty() => keys.push(Key::Escape),
            0x1b => bytes = after_unknown(rest),
            b'\t' => keys.push(Key::Tab),
            1..=26 => keys.push(Key::Control(char::from(b'a' + first - 1))),
            b' '..=b'~' => keys.push(Key::Char(char::from(first))),
            _ => {}
        }
    }
    keys
}

/// What follows a sequence that no key here has.
fn after_unknown(bytes: &[u8]) -> &[u8] {
    match bytes.split_first() {
        Some((b'[', rest)) => {
            let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
            end.map_or(&[], |end| &rest[end + 1..])
        }
        Some((_, rest)) => rest,
        None => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_the_bytes_of_terminals() {
        for (bytes, keys) in [
            (&b"q"[..], vec![Key::Char('q')]),
            (b"\x03", vec![Key::Control('c')]),
            (b"\x1a\x0c", vec![Key::Control('z'), Key::Control('l')]),
            (b"\t \x1b", vec![Key::Tab, Key::Char(' '), Key::Escape]),
            (b"\x1b[A\x1bOD", vec![Key::Up, Key::Left]),
            (b"\x1b[5~\x1b[6~", vec![Key::PageUp, Key::PageDown]),
            (b"\x1b[H\x1b[4~", vec![Key::Home, Key::End]),
            // A key of its own with modifiers, a function key, a character outside ASCII: nothing here has a use for them.
            (b"\x1b[1;5Cq", vec![Key::Char('q')]),
            (b"\x1b[15~u", vec![Key::Char('u')]),
            ("éu".as_bytes(), vec![Key::Char('u')]),
            (b"\x1b[", vec![]),
            (b"", vec![]),
        ] {
            assert_eq!(keys_of(bytes), keys, "{bytes:?}");
        }
    }

    #[test]
    fn no_bytes_are_too_much() {
        for first in 0..=255 {
            for second in 0..=255 {
                keys_of(&[0x1b, first, second]);
                keys_of(&[first, second]);
            }
        }
    }
}
