//! Sending without copying, by splice(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;
use rustix::param::page_size;
use rustix::pipe::{SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, splice, tee};

use crate::raw::{Pages, count};

/// A source that sends the same pages again and again without copying them.
///
/// One pipe holds the pages. Each send duplicates them into a second pipe (`tee`) and moves the content of that one to
/// the socket (`splice`), so the kernel passes references and does not touch the payload.
#[derive(Debug)]
pub struct SplicedSource {
    held: Pipe,
    duplicated: Pipe,
    /// The bytes duplicated and not sent yet.
    waiting: usize,
}

impl SplicedSource {
    /// Maximum bytes duplicated by one call: larger blocks make loopback slower again.
    const MAX_BLOCK: usize = 256 * 1024;

    /// A source whose pages repeat after `block` bytes, rounded up to pages and limited to 256 KiB.
    ///
    /// The pages hold a pattern that cannot be compressed. Where pipes may not grow that far, as for an ordinary user
    /// with many of them, the pages repeat sooner.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE` and `ENOMEM` without free descriptors or memory.
    pub fn new(block: usize) -> io::Result<Self> {
        let wanted = block
            .clamp(1, Self::MAX_BLOCK)
            .next_multiple_of(page_size());
        let (held, duplicated) = (Pipe::new(wanted)?, Pipe::new(wanted)?);
        let length = wanted.min(held.capacity()?);
        let mut pages = Pages::map(length)?;
        fill_with_random(pages.bytes_mut());
        // The pipe holds the pages themselves, so they outlive the mapping that is dropped here.
        let mut filled = 0;
        while filled < length {
            let rest = &pages.bytes()[filled..];
            let part = libc::iovec {
                iov_base: rest.as_ptr().cast_mut().cast(),
                iov_len: rest.len(),
            };
            let pipe = held.writer.as_raw_fd();
            // SAFETY: `part` is live and names readable pages, which are not written to from here on.
            filled += count(unsafe { libc::vmsplice(pipe, &part, 1, libc::SPLICE_F_NONBLOCK) })?;
        }
        Ok(Self {
            held,
            duplicated,
            waiting: 0,
        })
    }

    /// Sends up to `max` bytes, at most 256 KiB a call, and returns their number.
    ///
    /// A closed connection raises `SIGPIPE`, which
    /// [`crate::signal::ignore_sigpipe`] turns off.
    ///
    /// # Errors
    /// Those of [`super::send_some`].
    pub fn send_some(&mut self, socket: impl AsFd, max: usize) -> io::Result<usize> {
        if let Some(missing @ 1..) = max.checked_sub(self.waiting) {
            let (from, to) = (&self.held.reader, &self.duplicated.writer);
            match tee(from, to, missing, SpliceFlags::NONBLOCK) {
                Ok(duplicated) => self.waiting += duplicated,
                // Small remainders can fill the pipe's slots before its bytes; they are sent first.
                Err(Errno::AGAIN) if self.waiting > 0 => {}
                Err(error) => return Err(error.into()),
            }
        }
        let length = self.waiting.min(max);
        if length == 0 {
            return Ok(0);
        }
        let from = &self.duplicated.reader;
        let sent = splice(from, None, socket, None, length, SpliceFlags::MOVE)?;
        self.waiting -= sent;
        Ok(sent)
    }
}

#[derive(Debug)]
struct Pipe {
    reader: io::PipeReader,
    writer: io::PipeWriter,
}

impl Pipe {
    /// A pipe with room for `bytes` where permitted, else of the default size.
    fn new(bytes: usize) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let _ = fcntl_setpipe_size(&writer, bytes);
        Ok(Self { reader, writer })
    }

    fn capacity(&self) -> io::Result<usize> {
        Ok(fcntl_getpipe_size(&self.writer)?)
    }
}

/// Fills `bytes` with pseudo-random numbers.
///
/// Source: Marsaglia, "Xorshift RNGs", 2003; the triple 13, 7, 17.
fn fill_with_random(bytes: &mut [u8]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for chunk in bytes.chunks_exact_mut(size_of::<u64>()) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk.copy_from_slice(&state.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::{discard_all, pair};
    use crate::tcp::{send_some, set_zero_linger, shutdown_write};
    use std::io::Read;
    use std::thread;

    #[test]
    fn a_spliced_source_sends_no_more_than_its_maximum() -> io::Result<()> {
        for block in [0, 1, 5000, 131_072, 10_000_000] {
            let (near, far) = pair()?;
            let reader = thread::spawn(move || discard_all(&far));
            let mut source = SplicedSource::new(block)?;
            let mut total = 0;
            assert_eq!(source.send_some(&near, 0)?, 0);
            for max in (1..200).chain([4096, 100_001, 262_144, 3_000_000, 7]) {
                let sent = source.send_some(&near, max)?;
                assert!(
                    (1..=max).contains(&sent),
                    "{sent} of {max} with block {block}"
                );
                total += sent;
            }
            shutdown_write(&near)?;
            assert_eq!(reader.join().unwrap()?, total);
        }
        Ok(())
    }

    #[test]
    fn a_spliced_source_repeats_its_block() -> io::Result<()> {
        let (near, mut far) = pair()?;
        let mut source = SplicedSource::new(8192)?;
        for _ in 0..2 {
            assert_eq!(source.send_some(&near, 8192)?, 8192);
        }
        let (mut first, mut second) = ([0; 8192], [0; 8192]);
        far.read_exact(&mut first)?;
        far.read_exact(&mut second)?;
        assert_eq!(first, second);
        assert!(
            first
                .chunks(8)
                .zip(first.chunks(8).skip(1))
                .all(|(here, next)| here != next)
        );
        Ok(())
    }

    #[test]
    fn a_spliced_source_that_cannot_send_now_loses_nothing() -> io::Result<()> {
        let (near, far) = pair()?;
        near.set_nonblocking(true)?;
        let mut source = SplicedSource::new(131_072)?;
        let mut total = 0;
        let refusal = loop {
            match source.send_some(&near, 131_072) {
                Ok(sent) => total += sent,
                Err(error) => break error,
            }
        };
        assert_eq!(refusal.kind(), io::ErrorKind::WouldBlock);
        near.set_nonblocking(false)?;
        let reader = thread::spawn(move || discard_all(&far));
        for _ in 0..20 {
            total += source.send_some(&near, 131_072)?;
        }
        shutdown_write(&near)?;
        assert_eq!(reader.join().unwrap()?, total);
        Ok(())
    }

    #[test]
    fn sending_to_a_peer_that_is_gone_is_an_error() -> io::Result<()> {
        crate::signal::ignore_sigpipe()?;
        let (near, far) = pair()?;
        set_zero_linger(&far)?;
        drop(far);
        // The first send may succeed.
        let mut source = SplicedSource::new(4096)?;
        let attempts = (0..3)
            .map(|_| source.send_some(&near, 4096))
            .collect::<io::Result<Vec<_>>>();
        assert!(attempts.is_err());
        assert!(send_some(&near, &[0]).is_err());
        Ok(())
    }
}
