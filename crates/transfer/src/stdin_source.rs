//! A sender's source of the bytes of standard input, whose end is not known beforehand.

use super::content_source::ContentSource;
use super::run_ring::{RunFiller, RunRing, run_ring};
use caudal_rbt::BlockSource;
use caudal_sys::poll::poll_readable;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

/// The bytes of a run.
const RUN_BYTES: usize = 256 << 10;
/// Runs read ahead, and kept until they are acknowledged.
const RUNS: usize = 32;
/// Interval at which a waiting reader checks whether its runs are still wanted.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A sender's source of the bytes of a pipe or terminal.
pub(super) struct StdinSource {
    ring: RunRing,
}

impl StdinSource {
    /// The source of what can be read from `input`.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn start(input: File) -> io::Result<Self> {
        let (ring, filler) = run_ring(RUNS, RUN_BYTES, 0, None);
        thread::Builder::new()
            .name("standard input".to_owned())
            .spawn(move || fill(input, filler))?;
        Ok(Self { ring })
    }
}

/// The outcome of filling a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FillState {
    /// More may come.
    Open,
    /// The end was reached.
    Ended,
    /// Nobody takes what is read any more.
    Dropped,
}

/// Reads to the end, as there is room.
fn fill(mut input: File, mut filler: RunFiller) {
    let mut hasher = blake3::Hasher::new();
    while let Some(mut run) = filler.empty_run() {
        match fill_run(&mut input, &mut run, &filler) {
            Ok((count, state)) => {
                hasher.update(&run[..count]);
                if count > 0 {
                    filler.push(run, count);
                }
                match state {
                    FillState::Open => {}
                    FillState::Ended => return filler.end(hasher.finalize().into()),
                    FillState::Dropped => return,
                }
            }
            Err(cause) => return filler.fail(format!("standard input cannot be read: {cause}")),
        }
    }
}

/// Reads until the run is full or nothing more is there yet: the bytes read.
fn fill_run(
    input: &mut File,
    run: &mut [u8],
    filler: &RunFiller,
) -> io::Result<(usize, FillState)> {
    let mut count = 0;
    while count < run.len() {
        let timeout = match count {
            0 => CHECK_INTERVAL,
            _ => Duration::ZERO,
        };
        if !poll_readable(&[input.as_fd()], Some(timeout))?.contains(&true) {
            if filler.is_dropped() {
                return Ok((count, FillState::Dropped));
            }
            if count > 0 {
                break;
            }
            continue;
        }
        match input.read(&mut run[count..]) {
            Ok(0) => return Ok((count, FillState::Ended)),
            Ok(read) => count += read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok((count, FillState::Open))
}

impl BlockSource for StdinSource {
    fn available(&self) -> u64 {
        self.ring.available()
    }

    fn total(&self) -> Option<u64> {
        self.ring.total()
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) {
        self.ring.read(offset, out);
    }

    fn release(&mut self, below: u64) {
        self.ring.release(below);
    }
}

impl ContentSource for StdinSource {
    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn digest(&self) -> Option<[u8; 32]> {
        self.ring.digest()
    }

    fn failure(&self) -> Option<String> {
        self.ring.failure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::OwnedFd;

    #[test]
    fn the_end_and_the_digest_are_known_when_the_writer_has_closed() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut source = StdinSource::start(File::from(OwnedFd::from(reader))).unwrap();
        writer.write_all(b"first ").unwrap();
        while source.available() < 6 {
            thread::yield_now();
        }
        assert_eq!((source.total(), source.digest()), (None, None));
        writer.write_all(b"second").unwrap();
        drop(writer);
        while source.total().is_none() {
            thread::yield_now();
        }
        let mut out = [0; 12];
        source.read(0, &mut out);
        assert_eq!(&out, b"first second");
        assert_eq!(source.digest(), Some(blake3::hash(&out).into()));
    }
}
