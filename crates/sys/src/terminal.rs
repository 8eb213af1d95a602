//! Terminals: the echo of their input, single keys, and their size.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

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

/// A terminal whose keys are read one by one, without echo. It is as it was before when this is dropped.
///
/// Source: termios(3), `ICANON`, `ECHO`.
#[derive(Debug)]
pub struct KeyInput<T: AsFd> {
    terminal: T,
    before: Termios,
}

impl<T: AsFd> KeyInput<T> {
    /// The keys of a terminal; `None` where it is none, or another job has it.
    pub fn of(terminal: T) -> Option<Self> {
        let before = tcgetattr(&terminal)
            .ok()
            .filter(|_| is_in_foreground(&terminal))?;
        let mut single = before.clone();
        single
            .local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &single).ok()?;
        Some(Self { terminal, before })
    }

    /// The next key, as a byte, within this time; `None` without one.
    pub fn key(&self, patience: Duration) -> Option<u8> {
        let timeout = Timespec::try_from(patience).ok()?;
        let mut ready = [PollFd::new(&self.terminal, PollFlags::IN)];
        let count = poll(&mut ready, Some(&timeout)).ok()?;
        // A job in the background that reads is stopped.
        if count == 0 || !is_in_foreground(&self.terminal) {
            return None;
        }
        let mut key = [0];
        let read = rustix::io::read(&self.terminal, &mut key).ok()?;
        (read == 1).then_some(key[0])
    }
}

impl<T: AsFd> Drop for KeyInput<T> {
    fn drop(&mut self) {
        if is_in_foreground(&self.terminal) {
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }
}

/// What a terminal had to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalInput {
    /// So many bytes.
    Bytes(usize),
    /// Nothing, or another job has the terminal.
    Nothing,
    /// The terminal is gone.
    Closed,
}

/// Reads what is typed at a terminal in raw mode within this time. A terminal that is gone is told as such, not as endless input.
///
/// Source: poll(2), `POLLHUP`; read(2), `EIO`.
pub fn read_input(terminal: impl AsFd, buffer: &mut [u8], patience: Duration) -> TerminalInput {
    let Ok(timeout) = Timespec::try_from(patience) else {
        return TerminalInput::Nothing;
    };
    let mut ready = [PollFd::new(&terminal, PollFlags::IN)];
    match poll(&mut ready, Some(&timeout)) {
        Ok(0) => return TerminalInput::Nothing,
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return TerminalInput::Nothing,
        Err(_) => return TerminalInput::Closed,
    }
    let is_gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if ready[0].revents().intersects(is_gone) {
        return TerminalInput::Closed;
    }
    // A job in the background that reads is stopped.
    if !is_in_foreground(&terminal) {
        std::thread::sleep(patience);
        return TerminalInput::Nothing;
    }
    match rustix::io::read(&terminal, buffer) {
        Ok(0) => TerminalInput::Closed,
        Ok(count) => TerminalInput::Bytes(count),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => TerminalInput::Nothing,
        Err(_) => TerminalInput::Closed,
    }
}

/// `true` unless the terminal controls this process and another job has it.
fn is_in_foreground(terminal: impl AsFd) -> bool {
    tcgetpgrp(terminal).map_or(true, |group| group == getpgrp())
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
    fn a_terminal_that_is_gone_is_no_endless_input() {
        let (reader, writer) = io::pipe().unwrap();
        let mut buffer = [0; 8];
        let patience = Duration::from_millis(1);
        let mut read = || read_input(&reader, &mut buffer, patience);
        assert_eq!(read(), TerminalInput::Nothing);
        rustix::io::write(&writer, b"q").unwrap();
        assert_eq!(read(), TerminalInput::Bytes(1));
        drop(writer);
        assert_eq!(read(), TerminalInput::Closed);
    }

    #[test]
    fn keys_are_read_one_by_one_and_the_terminal_is_left_as_it_was() {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let terminal = rustix::fs::open(&*name, flags, rustix::fs::Mode::empty()).unwrap();
        let modes = || tcgetattr(&terminal).unwrap().local_modes;
        let before = modes();
        let keys = KeyInput::of(&terminal).unwrap();
        assert!(!modes().contains(LocalModes::ICANON));
        assert_eq!(keys.key(Duration::ZERO), None);
        rustix::io::write(&keyboard, b"q").unwrap();
        assert_eq!(keys.key(Duration::from_secs(10)), Some(b'q'));
        drop(keys);
        assert_eq!(modes(), before);
        let (reader, _writer) = io::pipe().unwrap();
        assert!(KeyInput::of(&reader).is_none());
    }

    #[test]
    fn a_pipe_has_no_size() {
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!((columns(&reader), lines(&reader)), (None, None));
    }
}
