//! The content of a transfer over a stream, and the loops of both ends.

use super::arriving_content::ArrivingContent;
use super::content_source::{ContentCounts, ContentSource};
use super::digest_time::time_for_digest;
use super::failure::TransferFailure;
use super::in_band_end::{InBandTrailer, closed};
use super::mover_terms::MoverControl;
use super::run_sink::RunSink;
use super::stall_watch::StallWatch;
use caudal_core::units::BitRate;
use caudal_flow::{TestLimit, WritePace, WritePacer, paced_block};
use caudal_sys::clock::monotonic_ns;
use std::io::{Read, Write};
use std::sync::atomic::Ordering::Relaxed;

/// Maximum wait for a source that has less than a block, ns.
pub(crate) const BLOCK_WAIT_NS: u64 = 2_000_000;
/// Interval at which an empty source is polled, ns.
pub(crate) const LOOK_NS: u64 = 50_000;

/// The rate of a sender, and what it has sent so far.
pub(crate) struct ContentPacer {
    pacer: Option<WritePacer>,
    block: usize,
    sent: u64,
}

impl ContentPacer {
    /// The pacer of a sender that writes `block` bytes at once, less where that is much at its rate.
    pub(crate) fn new(rate: Option<BitRate>, block: usize) -> Self {
        Self {
            pacer: rate.map(|rate| WritePacer::new(monotonic_ns(), WritePace::from_rate(rate))),
            block: rate.map_or(block, |rate| paced_block(rate, block)),
            sent: 0,
        }
    }

    /// The bytes to write at once.
    pub(crate) const fn block(&self) -> usize {
        self.block
    }

    /// Waits until `next` bytes may be written.
    ///
    /// # Errors
    /// When the transfer is stopped meanwhile.
    pub(crate) fn wait(
        &mut self,
        next: usize,
        watch: &mut StallWatch<'_>,
    ) -> Result<(), TransferFailure> {
        let now_ns = monotonic_ns();
        watch.sleep_until(now_ns + self.wait_ns(next, now_ns))?;
        self.written(next);
        Ok(())
    }

    /// The time to wait at `now_ns` until `next` bytes may be written, ns.
    pub(crate) fn wait_ns(&self, next: usize, now_ns: u64) -> u64 {
        self.pacer
            .map_or(0, |pacer| pacer.wait_ns(now_ns, self.sent, next as u64))
    }

    /// Takes note that `next` bytes are written.
    pub(crate) fn written(&mut self, next: usize) {
        if let Some(pacer) = &mut self.pacer {
            pacer.written(monotonic_ns());
        }
        self.sent += next as u64;
    }
}

/// Checks that a source can be read.
pub(crate) fn check_source(source: &dyn ContentSource) -> Result<(), TransferFailure> {
    match source.failure() {
        Some(reason) => Err(TransferFailure::Storage(reason)),
        None => Ok(()),
    }
}

/// What a source has for its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadyBlock {
    /// A whole block, or the last one, of this many bytes.
    Whole(usize),
    /// Fewer bytes than a block, or none, of which more are to come.
    Part(usize),
    /// Nothing any more: the content has ended.
    End,
}

impl ReadyBlock {
    /// What a source has at `offset` for a sender of blocks of `block` bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn look(
        source: &dyn ContentSource,
        offset: u64,
        block: usize,
    ) -> Result<Self, TransferFailure> {
        let (available, total) = (source.available(), source.total());
        let ready = available.saturating_sub(offset).min(block as u64) as usize;
        if ready == block || (ready > 0 && total == Some(available)) {
            return Ok(Self::Whole(ready));
        }
        if total == Some(offset) {
            return Ok(Self::End);
        }
        check_source(source)?;
        Ok(Self::Part(ready))
    }
}

/// The bytes to send next at `offset`, `block` at most; `None` at the end of the content.
fn next_block(
    source: &dyn ContentSource,
    offset: u64,
    block: usize,
    watch: &mut StallWatch<'_>,
) -> Result<Option<usize>, TransferFailure> {
    let give_up_ns = monotonic_ns() + BLOCK_WAIT_NS;
    loop {
        let part = match ReadyBlock::look(source, offset, block)? {
            ReadyBlock::Whole(ready) => return Ok(Some(ready)),
            ReadyBlock::End => return Ok(None),
            ReadyBlock::Part(part) => part,
        };
        let now_ns = monotonic_ns();
        if part > 0 && now_ns >= give_up_ns {
            return Ok(Some(part));
        }
        watch.sleep_until(now_ns + LOOK_NS)?;
    }
}

/// Writes the content from `offset` to its end.
///
/// # Errors
/// Why it could not be read or written.
pub(crate) fn send_content(
    stream: &mut impl Write,
    source: &mut dyn ContentSource,
    offset: u64,
    mut pacer: ContentPacer,
    control: MoverControl<'_>,
    counts: &mut ContentCounts,
) -> Result<(), TransferFailure> {
    let mut watch = StallWatch::new(control);
    let mut buffer = vec![0; pacer.block()];
    let mut offset = offset;
    while let Some(ready) = next_block(source, offset, pacer.block(), &mut watch)? {
        source.read(offset, &mut buffer[..ready]);
        check_source(source)?;
        pacer.wait(ready, &mut watch)?;
        if counts.first_byte_ns == 0 {
            counts.first_byte_ns = monotonic_ns();
        }
        let mut at = 0;
        while at < ready {
            counts.calls += 1;
            let Some(count) = watch.moved(stream.write(&buffer[at..ready]))? else {
                return Err(closed());
            };
            at += count;
            counts.bytes += count as u64;
            control.bytes.fetch_add(count as u64, Relaxed);
        }
        offset += ready as u64;
        source.release(offset);
    }
    counts.last_byte_ns = monotonic_ns();
    Ok(())
}

/// Reads the content behind its first `from` bytes, and the trailer.
///
/// # Errors
/// Why it could not be read or stored; the content has another size than the sender says.
pub(crate) fn receive_content(
    stream: &mut impl Read,
    sink: &mut dyn RunSink,
    (from, expected): (u64, Option<u64>),
    limit: Option<&TestLimit>,
    control: MoverControl<'_>,
    counts: &mut ContentCounts,
) -> Result<InBandTrailer, TransferFailure> {
    let mut watch = StallWatch::patient(control, expected.map(time_for_digest));
    let mut arriving = ArrivingContent::new(from, expected);
    loop {
        if let Some(limit) = limit {
            let now_ns = monotonic_ns();
            watch.sleep_until(now_ns + limit.wait_ns(now_ns))?;
        }
        let room = arriving.room();
        let max = limit.map_or(room.len(), |limit| limit.max_read(room.len()));
        counts.calls += 1;
        let Some(count) = watch.moved(stream.read(&mut room[..max]))? else {
            return arriving.end(sink);
        };
        if count == 0 {
            continue;
        }
        let now_ns = monotonic_ns();
        if let Some(limit) = limit {
            limit
                .take_stream(count as u64, now_ns)
                .map_err(|reached| TransferFailure::Connection(reached.to_string()))?;
        }
        arriving.take(count, now_ns, sink, control, counts)?;
    }
}
