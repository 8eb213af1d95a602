//! A content on its way from a stream into a sink, with the trailer behind it.

use super::content_source::ContentCounts;
use super::failure::TransferFailure;
use super::in_band_end::{InBandTrailer, TRAILER_BYTES};
use super::mover_terms::MoverControl;
use super::run_sink::RunSink;
use caudal_core::plan::RESUME_UNIT_BYTES;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes handed to the sink at once.
const RUN_BYTES: usize = RESUME_UNIT_BYTES as usize;
/// Maximum bytes of one read.
const READ_BYTES: usize = 512 << 10;

/// A content on its way from a stream into a sink, with the trailer behind it.
pub(crate) struct ArrivingContent {
    /// The last bytes so far may be the trailer: they stay here.
    buffer: Vec<u8>,
    filled: usize,
    /// The bytes of the stream, the trailer with them.
    received: u64,
    /// The bytes that the receiver had before.
    from: u64,
    /// The size of the whole content, where it is known.
    expected: Option<u64>,
}

impl ArrivingContent {
    /// A content of which nothing has arrived behind its first `from` bytes.
    pub(crate) fn new(from: u64, expected: Option<u64>) -> Self {
        Self {
            buffer: vec![0; RUN_BYTES + TRAILER_BYTES],
            filled: 0,
            received: 0,
            from,
            expected,
        }
    }

    /// Room for what arrives next; never empty.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let room = (self.buffer.len() - self.filled).min(READ_BYTES);
        &mut self.buffer[self.filled..self.filled + room]
    }

    /// The first `count` bytes of the room were filled at `now_ns`: a whole run goes to the sink.
    ///
    /// # Errors
    /// Why it cannot be stored; the content is larger than the sender has said.
    pub(crate) fn take(
        &mut self,
        count: usize,
        now_ns: u64,
        sink: &mut dyn RunSink,
        control: MoverControl<'_>,
        counts: &mut ContentCounts,
    ) -> Result<(), TransferFailure> {
        if counts.first_byte_ns == 0 {
            counts.first_byte_ns = now_ns;
        }
        counts.last_byte_ns = now_ns;
        self.filled += count;
        self.received += count as u64;
        counts.bytes = self.received.saturating_sub(TRAILER_BYTES as u64);
        control.bytes.store(counts.bytes, Relaxed);
        let total = self.from + counts.bytes;
        if self.expected.is_some_and(|expected| total > expected) {
            return Err(self.other_size(total));
        }
        if self.filled == self.buffer.len() {
            sink.write(&self.buffer[..RUN_BYTES])
                .map_err(TransferFailure::Storage)?;
            self.buffer.copy_within(RUN_BYTES.., 0);
            self.filled = TRAILER_BYTES;
        }
        Ok(())
    }

    /// The stream has ended: the rest goes to the sink, and the trailer is what is left.
    ///
    /// # Errors
    /// Why it cannot be stored; the content has another size than the sender has said.
    pub(crate) fn end(self, sink: &mut dyn RunSink) -> Result<InBandTrailer, TransferFailure> {
        let total = self.from + self.received.saturating_sub(TRAILER_BYTES as u64);
        let content = self.filled.saturating_sub(TRAILER_BYTES);
        let trailer = self.buffer[content..self.filled]
            .first_chunk()
            .map(InBandTrailer::decode);
        let is_expected = self.expected.is_none_or(|size| size == total);
        match trailer {
            Some(trailer) if trailer.total == total && is_expected => {
                if content > 0 {
                    sink.write(&self.buffer[..content])
                        .map_err(TransferFailure::Storage)?;
                }
                Ok(trailer)
            }
            _ => Err(self.other_size(total)),
        }
    }

    /// The failure of a sender that has sent another size than it announced.
    fn other_size(&self, received: u64) -> TransferFailure {
        let of = self
            .expected
            .map_or_else(String::new, |expected| format!(" of {expected}"));
        TransferFailure::Connection(format!("the sender ended after {received}{of} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_doubles::MemorySink;
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    /// What comes out of a stream that arrives in pieces of `piece` bytes.
    fn pass(
        wire: &[u8],
        piece: usize,
        from: u64,
        expected: Option<u64>,
    ) -> Result<(MemorySink, InBandTrailer), TransferFailure> {
        let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = MoverControl {
            stop: &stop,
            bytes: &bytes,
        };
        let (mut sink, mut counts) = (MemorySink::default(), ContentCounts::default());
        let mut arriving = ArrivingContent::new(from, expected);
        let mut left = wire;
        while !left.is_empty() {
            let count = arriving.room().len().min(piece).min(left.len());
            arriving.room()[..count].copy_from_slice(&left[..count]);
            left = &left[count..];
            arriving.take(count, 1, &mut sink, control, &mut counts)?;
        }
        let trailer = arriving.end(&mut sink)?;
        Ok((sink, trailer))
    }

    fn wire(size: usize, total: u64) -> Vec<u8> {
        let digest = [7; 32];
        let mut wire: Vec<u8> = (0..size).map(|at| (at / 3) as u8).collect();
        wire.extend_from_slice(&InBandTrailer { total, digest }.encode());
        wire
    }

    #[test]
    fn the_trailer_is_kept_apart_from_content_of_any_size() {
        let sizes = [
            0,
            1,
            39,
            40,
            41,
            1000,
            RUN_BYTES - 1,
            RUN_BYTES,
            3 * RUN_BYTES + 5,
        ];
        for size in sizes {
            let wire = wire(size, size as u64);
            for piece in [1009, 65_536, usize::MAX] {
                let (sink, trailer) = pass(&wire, piece, 0, None).unwrap();
                assert!(sink.content == wire[..size], "{size} in pieces of {piece}");
                assert_eq!(trailer.total, size as u64);
                assert!(sink.max_run <= RUN_BYTES);
            }
        }
    }

    #[test]
    fn another_size_than_the_sender_has_said_is_a_failure() {
        assert!(pass(&wire(100, 150), 10, 50, Some(150)).is_ok());
        for (wire, from, expected) in [
            (wire(100, 100), 0, Some(101)),
            (wire(100, 100), 0, Some(99)),
            (wire(100, 101), 0, None),
            (wire(100, 100), 50, None),
            (vec![0; 39], 0, None),
            (Vec::new(), 0, None),
        ] {
            assert!(pass(&wire, 10, from, expected).is_err());
        }
    }
}
