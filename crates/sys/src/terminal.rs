//! What a terminal shows of what is typed.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use crate::raw::number;

/// Does `reading` while the terminal does not show what is typed; simply does it where there is none.
///
/// Source: termios(3), `ECHO`.
pub fn without_echo<T>(terminal: impl AsFd, reading: impl FnOnce() -> T) -> T {
    let fd = terminal.as_fd().as_raw_fd();
    let Ok(before) = attributes(fd) else {
        return reading();
    };
    let mut silent = before;
    silent.c_lflag &= !libc::ECHO;
    let _ = set(fd, &silent);
    let read = reading();
    let _ = set(fd, &before);
    read
}

fn attributes(fd: i32) -> io::Result<libc::termios> {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: `attributes` has room for what the call fills.
    number(unsafe { libc::tcgetattr(fd, attributes.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded, so it has filled it.
    Ok(unsafe { attributes.assume_init() })
}

fn set(fd: i32, attributes: &libc::termios) -> io::Result<()> {
    // SAFETY: `attributes` is a live structure of the type the call reads.
    number(unsafe { libc::tcsetattr(fd, libc::TCSANOW, attributes) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_terminal_is_read_all_the_same() {
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(without_echo(&reader, || 7), 7);
    }
}
