//! Terminals: the echo of their input, and their size.

use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetwinsize, tcsetattr};

/// Calls `reading` with the terminal's echo off; just calls it where `terminal` is not a terminal.
///
/// Source: termios(3), `ECHO`.
pub fn without_echo<T>(terminal: impl AsFd, reading: impl FnOnce() -> T) -> T {
    let Ok(before) = tcgetattr(&terminal) else {
        return reading();
    };
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    let _ = tcsetattr(&terminal, OptionalActions::Now, &silent);
    let read = reading();
    let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
    read
}

/// The columns of a terminal; `None` where it is none, or does not know.
///
/// Source: ioctl_tty(2), `TIOCGWINSZ`.
pub fn columns(terminal: impl AsFd) -> Option<u16> {
    let size = tcgetwinsize(&terminal).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

/// The lines of a terminal; `None` where it is none, or does not know.
///
/// Source: ioctl_tty(2), `TIOCGWINSZ`.
pub fn lines(terminal: impl AsFd) -> Option<u16> {
    let size = tcgetwinsize(&terminal).ok()?;
    Some(size.ws_row).filter(|lines| *lines > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn input_that_is_not_a_terminal_is_read_too() {
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(without_echo(&reader, || 7), 7);
    }

    #[test]
    fn a_pipe_has_no_size() {
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!((columns(&reader), lines(&reader)), (None, None));
    }
}
